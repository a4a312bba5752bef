/* SPDX-License-Identifier: Apache-2.0 */
/* conv's climb: 8 images through a layer of 3 x 3 filters with padding, as the middle of a
 * residual network has it. The extents of its setup are the filters, the channels, and the side of
 * the images. Inputs are whole numbers over 8, so that sums are exact, but for transforms and for
 * what f16 and bf16 round. The problem is a wi_data
 * whose x is the images, y the weights, each as far as it reaches, and z the result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "nn/conv.h"

enum {
    FILTERS,
    CHANNELS,
    SIDE,
    IMAGES = 8,
    KERNEL = 3,
    WINDOW = KERNEL * KERNEL,
    USUAL_N = 256,
    USUAL_SIDE = 28,
    FIRST_N = 8,
    MOST = 1 << 15
};

static weft_images images_of(const wi_setup *s) {
    return (weft_images){s->type,         WEFT_NCHW,      IMAGES, s->extent[CHANNELS],
                         s->extent[SIDE], s->extent[SIDE]};
}

static weft_conv layer_of(const wi_setup *s) {
    return (weft_conv){.filters = s->extent[FILTERS],
                       .kernel_h = KERNEL,
                       .kernel_w = KERNEL,
                       .pad_h = 1,
                       .pad_w = 1};
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    for (int e = FILTERS; e <= CHANNELS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (own.extent[SIDE] == 0)
        own.extent[SIDE] = USUAL_SIDE;
    for (int e = FILTERS; e <= SIDE; e++)
        if (own.extent[e] > MOST)
            return wi_fail(setup->ctx, WEFT_EARG,
                           "climb: %zu filters, %zu channels and images of %zu rows are too large "
                           "to check; choose up to %d",
                           own.extent[FILTERS], own.extent[CHANNELS], own.extent[SIDE], MOST);
    const size_t pixels = IMAGES * own.extent[SIDE] * own.extent[SIDE];
    const size_t images = pixels * own.extent[CHANNELS];
    const size_t weights = own.extent[FILTERS] * own.extent[CHANNELS] * WINDOW;
    own.n = images > weights ? images : weights;
    return wi_data_make(&own, WI_DATA_PLACE, true,
                        pixels * own.extent[FILTERS] * weft_type_size(own.type), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const weft_images x = images_of(&data->setup);
    const weft_conv layer = layer_of(&data->setup);
    return weft_conv_forward(data->setup.ctx, &x, &layer, data->x, data->y, data->z);
}

/* ---- the oracle: 64-bit integers ---- */

/* The filters together, each times a number of its own: with a filter that is the sum of them, the
 * layer must make the sum of the outputs. */
static int64_t share_of(size_t filter) {
    return 2 * (int64_t)(filter * 2654435761u % 4096) + 1;
}

static void draw_all(const wi_data *data, int stream, size_t n, int64_t *k) {
    for (size_t first = 0; first < n; first += WI_DATA_CHUNK)
        wi_data_draw(data, stream, first, n - first < WI_DATA_CHUNK ? n - first : WI_DATA_CHUNK,
                     k + first);
}

/* `images` and `weights` as whole numbers; to[c][r][s] = the sum of all filters' shares. */
static void add_filters(const wi_setup *s, const int64_t *weights, int64_t *to) {
    const size_t one = s->extent[CHANNELS] * WINDOW;
    for (size_t i = 0; i < one; i++)
        to[i] = 0;
    for (size_t k = 0; k < s->extent[FILTERS]; k++)
        for (size_t i = 0; i < one; i++)
            to[i] += share_of(k) * weights[k * one + i];
}

static int64_t right_sum(const wi_setup *s, const int64_t *x, const int64_t *filter, size_t p,
                         size_t q) {
    const size_t side = s->extent[SIDE];
    int64_t sum = 0;
    for (size_t c = 0; c < s->extent[CHANNELS]; c++)
        for (size_t r = 0; r < KERNEL; r++)
            for (size_t t = 0; t < KERNEL; t++)
                if (p + r - 1 < side && q + t - 1 < side)
                    sum += filter[(c * KERNEL + r) * KERNEL + t] *
                           x[(c * side + p + r - 1) * side + q + t - 1];
    return sum;
}

/* By how much a pixel of y may be wrong: relative to itself, and for transforms to all. Numbers
 * drawn have mean squares of about 21. */
typedef struct slack {
    double relative, absolute;
} slack;

static slack slack_of(const wi_setup *s) {
    const char *const rung = weft_used(s->ctx, "conv");
    const double eps = s->type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    const double rms = 21 * sqrt((double)s->extent[CHANNELS] * WINDOW);
    slack of = {s->type == WEFT_F16 ? 0x1p-11 : s->type == WEFT_BF16 ? 0x1p-8 : 0, 0};
    if (rung && strcmp(rung, "fft") == 0)
        of.absolute = 16 * eps * log2((double)s->extent[SIDE] + 4) * rms;
    return of;
}

static bool compare_images(const wi_data *data, const int64_t *x, const int64_t *filter, char *why,
                           size_t bytes) {
    const wi_setup *const s = &data->setup;
    const size_t side = s->extent[SIDE], plane = side * side, width = weft_type_size(s->type);
    const slack may = slack_of(s);
    for (size_t at = 0; at < IMAGES * plane; at++) {
        const size_t image = at / plane, pixel = at % plane;
        double sum = 0, room = 0;
        for (size_t k = 0; k < s->extent[FILTERS]; k++) {
            const double found = wi_element_value(
                s->type, (const char *)data->host_z +
                             ((image * s->extent[FILTERS] + k) * plane + pixel) * width);
            sum += (double)share_of(k) * found;
            room += (double)share_of(k) * (may.absolute + may.relative * fabs(found));
        }
        const int64_t right = right_sum(s, x + image * s->extent[CHANNELS] * plane, filter,
                                        pixel / side, pixel % side);
        if (fabs(sum * 64 - (double)right) <= 64 * room)
            continue;
        snprintf(why, bytes,
                 "image %zu, row %zu, column %zu: the filters' outputs add up to %.9g, should be "
                 "%.9g",
                 image, pixel / side, pixel % side, sum, (double)right / 64);
        return false;
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const size_t weights = s->extent[CHANNELS] * WINDOW, all = s->extent[FILTERS] * weights;
    const size_t pixels = IMAGES * s->extent[CHANNELS] * s->extent[SIDE] * s->extent[SIDE];
    if (!wi_data_try(data, call, why, bytes))
        return false;
    int64_t *const room = wi_host_alloc((pixels + all + weights) * sizeof *room);
    if (!room) {
        snprintf(why, bytes, "no memory to check the images");
        return false;
    }
    draw_all(data, 0, pixels, room);
    draw_all(data, 1, all, room + pixels);
    add_filters(s, room + pixels, room + pixels + all);
    const bool is_right = compare_images(data, room, room + pixels + all, why, bytes);
    wi_host_free(room);
    return is_right;
}

static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    const double pixels = (double)IMAGES * (double)s->extent[SIDE] * (double)s->extent[SIDE];
    const double width = (double)weft_type_size(s->type);
    const double channels = (double)s->extent[CHANNELS], filters = (double)s->extent[FILTERS];
    (void)rung;
    *facts =
        (wi_facts){.size = {{s->extent[FILTERS], s->extent[CHANNELS], s->extent[SIDE]}},
                   .bytes = width * (pixels * (channels + filters) + channels * filters * WINDOW),
                   .flops = 2 * pixels * channels * filters * WINDOW,
                   .roof = s->type == WEFT_F64   ? WI_ROOF_FMA_F64
                           : s->type == WEFT_F32 ? WI_ROOF_FMA_F32
                                                 : WI_ROOF_TENSOR_BF16};
}

const wi_climb wi_conv_climb = {
    .ladder = &wi_conv_ladder,
    .example = "3 x 3 filters of 8 images",
    .type = WEFT_F32,
    .types = WI_FLOATS,
    .has_extents = true,
    .usual_k = USUAL_SIDE,
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
