/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of conv, on every place, in all three passes: layouts, types, strides, padding,
 * dilation, groups, images smaller than a filter, none at all; host and device memory. The oracle
 * sums in long double. On whole numbers results must be exact, those of f16 and bf16 but for one
 * rounding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gemm/matrix_rig.h"
#include "limits.h"
#include "nn/conv.h"

enum {
    X,
    F,
    Y,
    ARRAYS,
    PASSES = 3,
    LAYOUTS = 2,
    MOST_OFFSET = 3,
    GUARD = 64, /* room for an offset */
    ALL_ON_DEVICE = 7
};

#ifdef WEFT_EMU
enum {
    SLOW_PLACE = 1
};
static const size_t most_products = 60000, capacity = 1 << 18;
#else
enum {
    SLOW_PLACE = 0
};
static const size_t most_products = 3000000, capacity = 1 << 22;
#endif

/* Of images, and how they are multiplied. */
static const struct numbers {
    weft_type type;
    unsigned how;
} numbers[] = {{WEFT_F32, 0},  {WEFT_F64, 0},         {WEFT_F16, 0},
               {WEFT_BF16, 0}, {WEFT_F32, WEFT_TF32}, {WEFT_BF16, WEFT_F32_WEIGHTS}};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers
};

/* A case: the call, and how it is made. */
typedef struct layer {
    const wi_row *row;
    wi_conv_pass pass;
    weft_images x, y;
    weft_conv c;
    size_t offset[ARRAYS];
    test_pattern pattern;
    unsigned device;
} layer;

static const char *describe(const rig *r, const layer *l) {
    static const char *const passes[] = {"forward", "backward data", "backward weights"};
    static char text[500];
    const weft_conv *const c = &l->c;
    snprintf(
        text, sizeof text,
        "%s, %s, how %#x on %s, variant %s, %s, x %zu x %zu x %zu x %zu, y %zu x %zu x %zu, kernel "
        "%zu x %zu, stride %zu %zu, pad %zu %zu, dilation %zu %zu, groups %zu, offsets %zu "
        "%zu %zu, device %#x",
        passes[l->pass], test_type_name(l->x.type), c->how, weft_place(r->ctx),
        l->row ? l->row->name : "auto", l->x.layout == WEFT_NCHW ? "NCHW" : "NHWC", l->x.n, l->x.c,
        l->x.h, l->x.w, l->y.c, l->y.h, l->y.w, c->kernel_h, c->kernel_w, c->stride_h, c->stride_w,
        c->pad_h, c->pad_w, c->dilation_h, c->dilation_w, c->groups, l->offset[X], l->offset[F],
        l->offset[Y], l->device);
    return text;
}

/* ---- the oracle ---- */

static size_t image_at(const weft_images *x, size_t n, size_t c, size_t h, size_t w) {
    return x->layout == WEFT_NCHW ? ((n * x->c + c) * x->h + h) * x->w + w
                                  : ((n * x->h + h) * x->w + w) * x->c + c;
}

static size_t one(size_t given) {
    return given ? given : 1;
}

static size_t count_of(size_t extent, size_t kernel, size_t stride, size_t pad, size_t dilation) {
    const long long room =
        (long long)(extent + 2 * pad) - (long long)(one(dilation) * (kernel - 1));
    return room < 1 ? 0 : ((size_t)room - 1) / one(stride) + 1;
}

static size_t elements_of(const layer *l, int array) {
    const weft_conv *const c = &l->c;
    if (array == F)
        return c->filters * (l->x.c / one(c->groups)) * c->kernel_h * c->kernel_w;
    const weft_images *const of = array == X ? &l->x : &l->y;
    return of->n * of->c * of->h * of->w;
}

static weft_type type_of(const layer *l, int array) {
    const bool wide = array == F && l->pass == WI_CONV_WEIGHTS && l->c.how & WEFT_F32_WEIGHTS;
    return wide ? WEFT_F32 : l->x.type;
}

static bool is_half(const layer *l) {
    return l->x.type == WEFT_F16 || l->x.type == WEFT_BF16;
}

typedef struct sums {
    long double *exact, *magnitude;
} sums;

/* Adds all products of one filter at one pixel of y. */
static void add_window(const layer *l, test_value *const value[ARRAYS], const sums *to, size_t n,
                       size_t k, size_t p, size_t q) {
    const weft_conv *const c = &l->c;
    const size_t channels = l->x.c / one(c->groups);
    const size_t first = k / (c->filters / one(c->groups)) * channels;
    const weft_images f = {l->x.type, l->x.layout, c->filters, channels, c->kernel_h, c->kernel_w};
    const size_t to_y = image_at(&l->y, n, k, p, q);
    for (size_t j = 0; j < channels; j++)
        for (size_t r = 0; r < c->kernel_h; r++)
            for (size_t s = 0; s < c->kernel_w; s++) {
                const long long row = (long long)(p * one(c->stride_h) + r * one(c->dilation_h)) -
                                      (long long)c->pad_h;
                const long long column =
                    (long long)(q * one(c->stride_w) + s * one(c->dilation_w)) -
                    (long long)c->pad_w;
                if (row < 0 || column < 0 || row >= (long long)l->x.h ||
                    column >= (long long)l->x.w)
                    continue;
                const size_t at[ARRAYS] = {
                    image_at(&l->x, n, first + j, (size_t)row, (size_t)column),
                    image_at(&f, k, j, r, s), to_y};
                const int result = l->pass == WI_CONV_FORWARD ? Y : l->pass == WI_CONV_DATA ? X : F;
                long double product = 1;
                for (int a = 0; a < ARRAYS; a++)
                    if (a != result)
                        product *= value[a][at[a]].f;
                to->exact[at[result]] += product;
                to->magnitude[at[result]] += fabsl(product);
            }
}

static void sum_up(const layer *l, test_value *const value[ARRAYS], const sums *to) {
    for (size_t n = 0; n < l->y.n; n++)
        for (size_t k = 0; k < l->y.c; k++)
            for (size_t p = 0; p < l->y.h; p++)
                for (size_t q = 0; q < l->y.w; q++)
                    add_window(l, value, to, n, k, p, q);
}

static double terms_of(const layer *l) {
    if (l->pass == WI_CONV_WEIGHTS)
        return (double)(l->y.n * l->y.h * l->y.w) + 16;
    const size_t channels = l->pass == WI_CONV_FORWARD ? l->x.c : l->c.filters;
    return (double)(channels / one(l->c.groups) * l->c.kernel_h * l->c.kernel_w) + 16;
}

/* ---- drawing a case ---- */

static size_t draw_to(rig *r, size_t most) {
    return 1 + test_below(&r->random, most);
}

static void draw_window(rig *r, weft_conv *c) {
    c->kernel_h = draw_to(r, 4);
    c->kernel_w = test_below(&r->random, 3) ? c->kernel_h : draw_to(r, 5);
    c->stride_h = test_below(&r->random, 4);
    c->stride_w = test_below(&r->random, 3) ? c->stride_h : test_below(&r->random, 4);
    c->pad_h = test_below(&r->random, 3);
    c->pad_w = test_below(&r->random, 3) ? c->pad_h : test_below(&r->random, 6);
    c->dilation_h = test_below(&r->random, 3);
    c->dilation_w = test_below(&r->random, 3) ? c->dilation_h : test_below(&r->random, 4);
    if (test_below(&r->random, 4) == 0) {
        c->kernel_h = c->kernel_w = 1;
        c->pad_h = c->pad_w = 0;
        c->stride_h = c->stride_w = test_below(&r->random, 3);
    }
}

static void draw_channels(rig *r, layer *l) {
    const size_t kind = test_below(&r->random, 4);
    const bool depthwise = l->row && strcmp(l->row->name, "depthwise") == 0;
    if (depthwise || kind == 0) {
        l->c.groups = l->x.c = draw_to(r, 12);
        l->c.filters = depthwise || kind == 1 ? l->x.c : l->x.c * draw_to(r, 3);
    } else if (kind == 1) {
        l->c.groups = draw_to(r, 4);
        l->x.c = l->c.groups * draw_to(r, 5);
        l->c.filters = l->c.groups * draw_to(r, 70);
    } else {
        l->c.groups = test_below(&r->random, 2);
        l->x.c = draw_to(r, kind == 2 ? 80 : 9);
        l->c.filters = draw_to(r, kind == 2 ? 140 : 9);
    }
}

/* Halves what is large until the oracle can follow. */
static void shrink(layer *l) {
    for (;;) {
        l->y = (weft_images){
            l->x.type,
            l->x.layout,
            l->x.n,
            l->c.filters,
            count_of(l->x.h, l->c.kernel_h, l->c.stride_h, l->c.pad_h, l->c.dilation_h),
            count_of(l->x.w, l->c.kernel_w, l->c.stride_w, l->c.pad_w, l->c.dilation_w)};
        const size_t products = elements_of(l, Y) * (elements_of(l, F) / l->c.filters);
        size_t largest = 0;
        for (int k = 0; k < ARRAYS; k++)
            largest = elements_of(l, k) > largest ? elements_of(l, k) : largest;
        if (products <= most_products && largest * sizeof(double) + GUARD <= capacity)
            return;
        if (l->x.h > 3 || l->x.w > 3) {
            l->x.h -= l->x.h / 2;
            l->x.w -= l->x.w / 2;
        } else if (l->x.n > 1) {
            l->x.n -= l->x.n / 2;
        } else {
            l->c.filters -= l->c.filters / one(l->c.groups) / 2 * one(l->c.groups);
            l->x.c -= l->x.c / one(l->c.groups) / 2 * one(l->c.groups);
        }
    }
}

static void draw(rig *r, layer *l, size_t size) {
    draw_window(r, &l->c);
    draw_channels(r, l);
    l->x.n = test_below(&r->random, 12) ? draw_to(r, 5) : test_below(&r->random, 2) * 11;
    l->x.h = size ? draw_to(r, size) : 0;
    l->x.w = size ? size : 3;
    shrink(l);
    for (int k = 0; k < ARRAYS; k++)
        l->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    l->device =
        test_below(&r->random, 4) ? ALL_ON_DEVICE : (unsigned)test_below(&r->random, ALL_ON_DEVICE);
}

/* ---- a case ---- */

static bool may_refuse(const layer *l) {
    if (!l->row)
        return false;
    const weft_conv *const c = &l->c;
    const char *const name = l->row->name;
    const bool depthwise = one(c->groups) == l->x.c && c->filters == l->x.c;
    const bool pointwise = c->kernel_h == 1 && c->kernel_w == 1 && one(c->stride_h) == 1 &&
                           one(c->stride_w) == 1 && c->pad_h == 0 && c->pad_w == 0;
    if (strcmp(name, "depthwise") == 0)
        return !depthwise;
    if (strcmp(name, "unrolled") == 0)
        return is_half(l) && l->pass != WI_CONV_FORWARD &&
               (!pointwise || (l->pass == WI_CONV_WEIGHTS && l->x.layout == WEFT_NCHW));
    if (strcmp(name, "implicit") == 0)
        return is_half(l);
    if (strcmp(name, "fft") == 0)
        return is_half(l) || one(c->stride_h) > 1 || one(c->stride_w) > 1;
    if (strcmp(name, "ring") == 0)
        return !is_half(l) && !(c->how & WEFT_TF32 && l->pass != WI_CONV_WEIGHTS);
    return strcmp(name, "tensor") == 0 && !is_half(l) && !(c->how & WEFT_TF32);
}

static weft_status call(rig *r, const layer *l) {
    void *const x = rig_buffer(r, l->device, X)->p, *const f = rig_buffer(r, l->device, F)->p;
    void *const y = rig_buffer(r, l->device, Y)->p;
    if (l->pass == WI_CONV_FORWARD)
        return weft_conv_forward(r->ctx, &l->x, &l->c, x, f, y);
    if (l->pass == WI_CONV_DATA)
        return weft_conv_backward_data(r->ctx, &l->x, &l->c, y, f, x);
    return weft_conv_backward_weights(r->ctx, &l->x, &l->c, x, y, f);
}

/* Of transforms: each result has its part of the error of all planes that it is made of, relative
 * to the products of their norms. Numbers are at most 3. */
static double transforms_room(const layer *l) {
    const double eps = test_roundoff(l->x.type), most = l->pattern == TEST_SMALL ? 9 : 1;
    const double x = (double)(l->x.h * l->x.w), y = (double)(l->y.h * l->y.w);
    const double f = (double)(l->c.kernel_h * l->c.kernel_w), groups = (double)one(l->c.groups);
    const double terms = l->pass == WI_CONV_FORWARD ? (double)l->x.c / groups
                         : l->pass == WI_CONV_DATA  ? (double)l->c.filters / groups
                                                    : (double)l->x.n;
    const double norms = most * (l->pass == WI_CONV_FORWARD ? sqrt(x * f)
                                 : l->pass == WI_CONV_DATA  ? sqrt(y * f)
                                                            : sqrt(x * y));
    return 2 * eps * log2(4 * x + 64) * terms * norms;
}

static void compare(rig *r, const layer *l, int result, const void *got, const sums *right) {
    const weft_type type = type_of(l, result);
    const weft_type of_sums = l->x.type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    const char *const used = weft_used(r->ctx, "conv");
    const bool by_transforms = used && strcmp(used, "fft") == 0;
    const double cut = l->c.how & WEFT_TF32 ? 0x1p-9 : 0; /* of both factors */
    const double each = cut + (is_half(l) ? 4 : 2) * terms_of(l) * test_roundoff(of_sums);
    for (size_t i = 0; i < elements_of(l, result); i++) {
        const double found = test_load(type, got, i).f, size = (double)fabsl(right->exact[i]);
        const double adding = by_transforms              ? transforms_room(l)
                              : l->pattern == TEST_SMALL ? 0
                                                         : each * (double)right->magnitude[i];
        const double room =
            adding + (type == of_sums ? 0 : size * test_roundoff(type) + test_half_tiny(type));
        if (!(fabs((double)(found - right->exact[i])) <= room))
            fail_msg("%s: element %zu is %.17g, should be %.17Lg", describe(r, l), i, found,
                     right->exact[i]);
    }
}

/* Inputs stay as they were, and the result is right. */
static void check(rig *r, const layer *l, int result) {
    test_value *value[ARRAYS];
    sums right = {calloc(elements_of(l, result) + 1, sizeof(long double)),
                  calloc(elements_of(l, result) + 1, sizeof(long double))};
    for (int k = 0; k < ARRAYS; k++) {
        const size_t n = elements_of(l, k);
        const void *const now = test_buffer_read(rig_buffer(r, l->device, k), describe(r, l));
        value[k] = malloc((n + 1) * sizeof *value[k]);
        assert_non_null(value[k]);
        test_widen(type_of(l, k), n, r->source[k], value[k]);
        if (k != result && memcmp(now, r->source[k], n * test_size_of(l->x.type)) != 0)
            fail_msg("%s: array %d was changed", describe(r, l), k);
    }
    sum_up(l, value, &right);
    compare(r, l, result, test_buffer_read(rig_buffer(r, l->device, result), describe(r, l)),
            &right);
    for (int k = 0; k < ARRAYS; k++)
        free(value[k]);
    free(right.exact);
    free(right.magnitude);
}

static bool run_case(rig *r, layer *l) {
    const int result = l->pass == WI_CONV_FORWARD ? Y : l->pass == WI_CONV_DATA ? X : F;
    for (int k = 0; k < ARRAYS; k++) {
        const weft_type type = type_of(l, k);
        const size_t n = elements_of(l, k), width = test_size_of(type);
        assert_true(n * width + GUARD <= capacity);
        test_fill(&r->random, k == result ? TEST_NANS : l->pattern, type, n, r->source[k]);
        test_buffer_load(rig_buffer(r, l->device, k), r->source[k], n * width,
                         l->offset[k] * width);
    }
    test_use(r->ctx, "conv", l->row);
    const weft_status status = call(r, l);
    if (status == WEFT_EUNSUPPORTED && may_refuse(l))
        return false;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, l), weft_status_name(status), weft_message(r->ctx));
    if (elements_of(l, result) > 0)
        test_used(r->ctx, "conv", l->row, describe(r, l));
    check(r, l, result);
    return elements_of(l, result) > 0;
}

/* Axes: the pass, the layout, the type, the kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    layer l = {.row = row,
               .pass = (wi_conv_pass)at[0],
               .x = {.type = numbers[at[2]].type, .layout = (weft_layout)at[1]},
               .c = {.how = numbers[at[2]].how},
               .pattern = at[3] ? TEST_ANY : TEST_SMALL};
    draw(r, &l, n);
    return run_case(r, &l);
}

static void all_layers(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 28, 33};
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_conv_ladder,
                          .extent = {PASSES, LAYOUTS, NUMBERS, 2},
                          .must = 5,
                          .share = 80,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Layers that a drawn case seldom is: all of a tile and more, with sums in slices. */
static void large_layers(weft_context *ctx) {
    static const weft_conv large[] = {
        {.filters = 130, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1},
        {.filters = 70,
         .kernel_h = 3,
         .kernel_w = 3,
         .stride_h = 2,
         .stride_w = 2,
         .pad_h = 1,
         .pad_w = 1},
        {.filters = 64, .kernel_h = 1, .kernel_w = 1, .stride_h = 2, .stride_w = 2},
        {.filters = 65,
         .kernel_h = 7,
         .kernel_w = 7,
         .stride_h = 2,
         .stride_w = 2,
         .pad_h = 3,
         .pad_w = 3},
    };
    static const struct {
        const char *row;
        weft_type type;
        unsigned how;
    } by[] = {{"implicit", WEFT_F32, 0},
              {"tensor", WEFT_F16, 0},
              {"tensor", WEFT_F32, WEFT_TF32},
              {"ring", WEFT_BF16, WEFT_F32_WEIGHTS}};
    const size_t kinds = ctx->kind == WI_CUDA ? sizeof by / sizeof *by : 1;
    const size_t shapes = sizeof large / sizeof *large, turns = SLOW_PLACE ? 1 : shapes;
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t e = 0; e < PASSES * kinds; e++)
        for (size_t turn = 0; turn < turns; turn++) {
            const size_t k = turns == 1 ? test_below(&r.random, shapes) : turn;
            layer l = {.pass = (wi_conv_pass)(e / kinds),
                       .x = {by[e % kinds].type, (weft_layout)((k + e) % LAYOUTS), 2,
                             k == 3 ? 3 : 20, 9, 9},
                       .c = large[k],
                       .pattern = TEST_SMALL,
                       .device = ALL_ON_DEVICE};
            l.c.how = by[e % kinds].how;
            if (ctx->kind == WI_CUDA)
                l.row = test_row_named(&wi_conv_ladder, by[e % kinds].row);
            if (!test_case_wanted(&r.random))
                continue;
            weft_conv_output(ctx, &l.x, &l.c, &l.y);
            run_case(&r, &l);
        }
    rig_close(&r);
}

/* What only few drawn cases have: weights of a group that are f32 where images are not; and for
 * `ring` weights that are read as they lie, in several classes of pixels, of groups, in slices. */
static void groups_and_classes(weft_context *ctx) {
    static const struct {
        const char *row;
        wi_conv_pass pass;
        unsigned how;
        size_t channels;
        weft_conv c;
    } chosen[] = {
        {"unrolled",
         WI_CONV_WEIGHTS,
         WEFT_F32_WEIGHTS,
         12,
         {.filters = 20, .kernel_h = 1, .kernel_w = 1, .groups = 4}},
        {"ring",
         WI_CONV_DATA,
         0,
         32,
         {.filters = 128,
          .kernel_h = 3,
          .kernel_w = 3,
          .stride_h = 2,
          .stride_w = 2,
          .pad_h = 1,
          .pad_w = 1,
          .groups = 2}},
        {"ring",
         WI_CONV_DATA,
         0,
         136,
         {.filters = 128, .kernel_h = 2, .kernel_w = 3, .pad_w = 2, .dilation_w = 2}},
    };
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        layer l = {.row =
                       ctx->kind == WI_CUDA ? test_row_named(&wi_conv_ladder, chosen[k].row) : NULL,
                   .pass = chosen[k].pass,
                   .x = {WEFT_BF16, WEFT_NHWC, 2, chosen[k].channels, 6, 5},
                   .c = chosen[k].c,
                   .pattern = TEST_SMALL,
                   .device = ALL_ON_DEVICE};
        l.c.how = chosen[k].how;
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        assert_true(run_case(&r, &l));
    }
    rig_close(&r);
}

/* Transforms of some images at a time, the last fewer. */
static void transforms_in_parts(weft_context *ctx) {
    static const weft_conv c = {
        .filters = 4, .kernel_h = 3, .kernel_w = 5, .pad_h = 1, .pad_w = 2, .groups = 2};
    rig r = rig_open(ctx, ARRAYS, capacity);
#ifdef WEFT_EMU
    const size_t before = wi_conv_fft_bytes;
    wi_conv_fft_bytes = 12000; /* two images' */
#endif
    for (int pass = 0; pass < PASSES; pass++) {
        layer l = {.row = ctx->kind == WI_CUDA ? test_row_named(&wi_conv_ladder, "fft") : NULL,
                   .pass = (wi_conv_pass)pass,
                   .x = {WEFT_F64, WEFT_NCHW, 3, 2, 9, 8},
                   .c = c,
                   .pattern = TEST_ANY,
                   .device = ALL_ON_DEVICE};
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        assert_true(run_case(&r, &l));
    }
#ifdef WEFT_EMU
    wi_conv_fft_bytes = before;
#endif
    rig_close(&r);
}

/* Strides and padding beyond what `implicit` can: another rung does it, and if it is forced it says
 * why it cannot. */
static void far_windows(weft_context *ctx) {
    static const weft_conv far[] = {
        {.filters = 3, .kernel_h = 3, .kernel_w = 3, .stride_h = 9, .stride_w = 9, .pad_h = 1},
        {.filters = 1, .kernel_h = 1, .kernel_w = 2, .dilation_w = 33000, .pad_w = 33000},
    };
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        layer l = {.pass = WI_CONV_DATA,
                   .x = {WEFT_F32, WEFT_NCHW, 1, 2, k ? 1 : 21, k ? 3 : 20},
                   .c = far[k],
                   .pattern = TEST_SMALL,
                   .device = ALL_ON_DEVICE};
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        run_case(&r, &l);
        if (ctx->kind == WI_CUDA) {
            assert_int_equal(weft_use(ctx, "conv", "implicit"), WEFT_OK);
            test_refused(ctx, call(&r, &l), WEFT_EUNSUPPORTED, "weft_conv_backward_data",
                         "implicit");
            assert_int_equal(weft_use(ctx, "conv", NULL), WEFT_OK);
        }
    }
    rig_close(&r);
}

/* A place gives the same bits each time and, on a cpu, whatever the threads. */
static void same_bits(weft_context *ctx) {
    enum {
        LENGTH = 2 * 6 * 9 * 9,
        WEIGHTS = 5 * 6 * 9
    };
    const weft_images x = {WEFT_F32, WEFT_NCHW, 2, 6, 9, 9};
    const weft_conv c = {.filters = 5, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
    static float data[LENGTH], dy[LENGTH], first[WEIGHTS], second[WEIGHTS];
    test_random random = test_random_at(3);
    test_fill(&random, TEST_ANY, WEFT_F32, LENGTH, data);
    test_fill(&random, TEST_ANY, WEFT_F32, LENGTH, dy);
    assert_int_equal(weft_conv_backward_weights(ctx, &x, &c, data, dy, first), WEFT_OK);
    assert_int_equal(weft_conv_backward_weights(ctx, &x, &c, data, dy, second), WEFT_OK);
    assert_memory_equal(first, second, sizeof first);
    if (ctx->kind == WI_CPU) {
        weft_context *const other = test_open("cpu:2");
        assert_int_equal(weft_conv_backward_weights(other, &x, &c, data, dy, second), WEFT_OK);
        assert_memory_equal(first, second, sizeof first);
        weft_close(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_layers),         TEST_ON_EACH_PLACE(large_layers),
        TEST_ON_EACH_PLACE(groups_and_classes), TEST_ON_EACH_PLACE(transforms_in_parts),
        TEST_ON_EACH_PLACE(far_windows),        TEST_ON_EACH_PLACE(same_bits),
    };
    return cmocka_run_group_tests_name("conv", tests, NULL, NULL);
}
