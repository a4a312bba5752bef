/* SPDX-License-Identifier: Apache-2.0 */
/* convolve's climb: one image of eighths, filtered by a square of powers of two that is the product
 * of a column and a row, so that all rungs can be seen and all sums are exact. The problem is a
 * wi_data whose x is the image and whose z is the output, of f32 or, of f64 images, f64; the
 * extents of its setup are the rows and columns of the image and the side of the filter. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "convolve/convolve.h"

enum {
    ROWS,
    COLUMNS,
    SIDE,
    USUAL_N = 8192, /* rows and columns */
    USUAL_SIDE = 5,
    MOST_SIDE = 129,
    FIRST_N = 64
};

static weft_type out_of(weft_type type) {
    return type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
}

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    for (int e = ROWS; e <= COLUMNS; e++)
        if (own.extent[e] == 0 || own.extent[e] > setup->n)
            own.extent[e] = setup->n;
    if (own.extent[SIDE] == 0)
        own.extent[SIDE] = USUAL_SIDE;
    if (own.extent[SIDE] > MOST_SIDE)
        return wi_fail(setup->ctx, WEFT_EARG,
                       "climb: a filter of %zu x %zu is too large to check; choose --k up to %d",
                       own.extent[SIDE], own.extent[SIDE], MOST_SIDE);
    if (__builtin_mul_overflow(own.extent[ROWS], own.extent[COLUMNS], &own.n) ||
        own.n > SIZE_MAX / 8)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: an image of %zu x %zu exceeds the address space; choose a smaller "
                       "--n",
                       own.extent[ROWS], own.extent[COLUMNS]);
    return wi_data_make(&own, WI_DATA_PLACE, false, own.n * weft_type_size(out_of(own.type)),
                        problem);
}

/* 1, 2, 4, 1, 2 ...: the factors of the filter's column and row. */
static int64_t factor(size_t k) {
    return (int64_t)1 << k % 3;
}

static weft_status filter_with(const wi_data *data, unsigned how) {
    const wi_setup *const s = &data->setup;
    const size_t side = s->extent[SIDE];
    double filter[MOST_SIDE * MOST_SIDE];
    for (size_t k = 0; k < side * side; k++)
        filter[k] = (double)(factor(k / side) * factor(k % side));
    const weft_convolution c = {.type = s->type,
                                .out = out_of(s->type),
                                .width = s->extent[COLUMNS],
                                .height = s->extent[ROWS],
                                .channels = 1,
                                .images = 1,
                                .border = WEFT_BORDER_CLAMP,
                                .how = WEFT_CORRELATE | how,
                                .filter_width = side,
                                .filter_height = side,
                                .filter = filter};
    return weft_convolve(s->ctx, &c, data->x, data->z);
}

/* A rung that computes all products is told to, and one that does otherwise is allowed to. */
static weft_status call(void *problem) {
    static const unsigned how[] = {0, WEFT_DENSE, WEFT_ANY_ORDER};
    weft_status status = WEFT_EUNSUPPORTED;
    for (size_t k = 0; k < sizeof how / sizeof *how && status == WEFT_EUNSUPPORTED; k++)
        status = filter_with(problem, how[k]);
    return status;
}

/* ---- the oracle: 64-bit integers ---- */

static size_t clamped(size_t at, size_t before, size_t n) {
    return at < before ? 0 : at - before >= n ? n - 1 : at - before;
}

/* Row `row` of x, filtered by the row of the filter. `x` has room for a row. */
static void filter_row(const wi_data *data, size_t row, int64_t *x, int64_t *to) {
    const size_t width = data->setup.extent[COLUMNS], side = data->setup.extent[SIDE];
    for (size_t c = 0; c < width; c += WI_DATA_CHUNK)
        wi_data_draw(data, 0, row * width + c,
                     width - c < WI_DATA_CHUNK ? width - c : WI_DATA_CHUNK, x + c);
    for (size_t c = 0; c < width; c++) {
        to[c] = 0;
        for (size_t i = 0; i < side; i++)
            to[c] += factor(i) * x[clamped(c + i, side / 2, width)];
    }
}

/* All rungs give exact sums but the one by transforms, whose error the largest sums limit. */
static double roundoff_of(const wi_data *data) {
    const wi_setup *const s = &data->setup;
    double sum = 0;
    for (size_t k = 0; k < s->extent[SIDE]; k++)
        sum += (double)factor(k);
    if (strcmp(weft_used(s->ctx, "convolve"), "transforms") != 0)
        return 0;
    return sum * sum * 127 * (s->type == WEFT_F64 ? 0x1p-45 : 0x1p-20);
}

/* Does output row `row` hold the sums of the filtered rows? */
static bool compare_row(const wi_data *data, size_t row, const int64_t *kept, char *why,
                        size_t bytes) {
    const wi_setup *const s = &data->setup;
    const size_t width = s->extent[COLUMNS], side = s->extent[SIDE];
    const weft_type out = out_of(s->type);
    const double scale = wi_type_is_float(s->type) ? 8 : 1;
    const double allowed = roundoff_of(data) / scale;
    for (size_t c = 0; c < width; c++) {
        int64_t right = 0;
        for (size_t j = 0; j < side; j++)
            right +=
                factor(j) * kept[clamped(row + j, side / 2, s->extent[ROWS]) % side * width + c];
        const double found = wi_element_value(out, (const char *)data->host_z +
                                                       (row * width + c) * weft_type_size(out));
        if (fabs(found - (double)right / scale) <= allowed)
            continue;
        snprintf(why, bytes, "row %zu, column %zu is %.9g, should be %.9g", row, c, found,
                 (double)right / scale);
        return false;
    }
    return true;
}

static bool compare(const wi_data *data, char *why, size_t bytes) {
    const size_t height = data->setup.extent[ROWS], width = data->setup.extent[COLUMNS];
    const size_t side = data->setup.extent[SIDE];
    int64_t *const room = wi_host_alloc((side + 1) * width * sizeof *room);
    size_t filtered = 0; /* rows; the latest `side` are kept */
    bool is_right = true;
    if (!room) {
        snprintf(why, bytes, "no memory to check the image");
        return false;
    }
    for (size_t row = 0; row < height && is_right; row++) {
        const size_t last = clamped(row + side - 1, side / 2, height);
        for (; filtered <= last; filtered++)
            filter_row(data, filtered, room + side * width, room + filtered % side * width);
        is_right = compare_row(data, row, room, why, bytes);
    }
    wi_host_free(room);
    return is_right;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && compare(problem, why, bytes);
}

/* The image is read once and written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    (void)rung;
    *facts = (wi_facts){
        .size = {{s->extent[ROWS], s->extent[COLUMNS], s->extent[SIDE]}},
        .bytes = (double)s->n * (double)(weft_type_size(s->type) + weft_type_size(out_of(s->type))),
        .roof = WI_ROOF_COPY};
}

const wi_climb wi_convolve_climb = {
    .ladder = &wi_convolve_ladder,
    .example = "separable filter of an image",
    .type = WEFT_F32,
    .types = WI_TYPE(WEFT_U8) | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_F32) |
             WI_TYPE(WEFT_F64),
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
