/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of conv share: a case, its oracle, which sums in long double, and how it is run.
 * On whole numbers results must be exact, those of f16 and bf16 but for one rounding; by transforms
 * their error is relative to whole planes. */
#ifndef WEFT_CONV_RIG_H
#define WEFT_CONV_RIG_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gemm/matrix_rig.h"
#include "nn/conv.h"
#include "nn/image_at.h"

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

static inline const char *describe(const rig *r, const layer *l) {
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

static inline size_t one(size_t given) {
    return given ? given : 1;
}

static inline size_t count_of(size_t extent, size_t kernel, size_t stride, size_t pad,
                              size_t dilation) {
    const long long room =
        (long long)(extent + 2 * pad) - (long long)(one(dilation) * (kernel - 1));
    return room < 1 ? 0 : ((size_t)room - 1) / one(stride) + 1;
}

static inline size_t elements_of(const layer *l, int array) {
    const weft_conv *const c = &l->c;
    if (array == F)
        return c->filters * (l->x.c / one(c->groups)) * c->kernel_h * c->kernel_w;
    const weft_images *const of = array == X ? &l->x : &l->y;
    return of->n * of->c * of->h * of->w;
}

static inline weft_type type_of(const layer *l, int array) {
    const bool wide = array == F && l->pass == WI_CONV_WEIGHTS && l->c.how & WEFT_F32_WEIGHTS;
    return wide ? WEFT_F32 : l->x.type;
}

static inline bool is_half(const layer *l) {
    return l->x.type == WEFT_F16 || l->x.type == WEFT_BF16;
}

typedef struct sums {
    long double *exact, *magnitude;
} sums;

/* Adds all products of one filter at one pixel of y. */
static inline void add_window(const layer *l, test_value *const value[ARRAYS], const sums *to,
                              size_t n, size_t k, size_t p, size_t q) {
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

static inline void sum_up(const layer *l, test_value *const value[ARRAYS], const sums *to) {
    for (size_t n = 0; n < l->y.n; n++)
        for (size_t k = 0; k < l->y.c; k++)
            for (size_t p = 0; p < l->y.h; p++)
                for (size_t q = 0; q < l->y.w; q++)
                    add_window(l, value, to, n, k, p, q);
}

static inline double terms_of(const layer *l) {
    if (l->pass == WI_CONV_WEIGHTS)
        return (double)(l->y.n * l->y.h * l->y.w) + 16;
    const size_t channels = l->pass == WI_CONV_FORWARD ? l->x.c : l->c.filters;
    return (double)(channels / one(l->c.groups) * l->c.kernel_h * l->c.kernel_w) + 16;
}

/* ---- a case ---- */

static inline bool may_refuse(const layer *l) {
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

static inline weft_status call(rig *r, const layer *l) {
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
static inline double transforms_room(const layer *l) {
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

static inline void compare(rig *r, const layer *l, int result, const void *got, const sums *right) {
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
static inline void check(rig *r, const layer *l, int result) {
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

static inline bool run_case(rig *r, layer *l) {
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

#endif
