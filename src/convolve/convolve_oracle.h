/* SPDX-License-Identifier: Apache-2.0 */
/* What convolve must give, for its tests: the sums in the order that the header promises, to the
 * bit, and beside them the same in long double, so that the order itself is held against the
 * mathematics. Shares no code with the rungs. */
#ifndef WI_CONVOLVE_ORACLE_H
#define WI_CONVOLVE_ORACLE_H

#include <math.h>
#include <stdlib.h>

#include "testing.h"
#include "weft/convolve.h"

/* A call as it is made, and its input. */
typedef struct oracle {
    weft_convolution c;
    const void *x;
    bool by_factors;
    double *column, *row; /* of each filter, as correlations use them */
} oracle;

/* Outputs along a side of n pixels. */
static inline size_t oracle_side(const oracle *o, size_t n, size_t filter) {
    if (o->c.border != WEFT_BORDER_VALID)
        return n;
    return n < filter ? 0 : n - filter + 1;
}
static inline size_t oracle_width(const oracle *o) {
    return oracle_side(o, o->c.width, o->c.filter_width);
}
static inline size_t oracle_height(const oracle *o) {
    return oracle_side(o, o->c.height, o->c.filter_height);
}

static inline bool oracle_sums_f64(const oracle *o) {
    return o->c.type == WEFT_F64 || o->c.how & WEFT_SUMS_F64;
}

/* Pixel i of a line of n, step by step; -1: 0. */
static inline ptrdiff_t oracle_pixel(weft_border border, ptrdiff_t i, ptrdiff_t n) {
    while (i < 0 || i >= n) {
        if (border == WEFT_BORDER_ZERO || border == WEFT_BORDER_VALID)
            return -1;
        if (border == WEFT_BORDER_CLAMP)
            i = i < 0 ? 0 : n - 1;
        else if (border == WEFT_BORDER_WRAP)
            i += i < 0 ? n : -n;
        else
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
    }
    return i;
}

/* Weight (j, i) of filter f, laid on the image as it is. */
static inline double oracle_weight(const oracle *o, size_t f, size_t j, size_t i) {
    const size_t w = o->c.filter_width, h = o->c.filter_height;
    const bool turned = !(o->c.how & WEFT_CORRELATE);
    return o->c.filter[f * w * h + (turned ? (h - 1 - j) * w + (w - 1 - i) : j * w + i)];
}

/* The factors of all filters, as the header says; false if there are none. */
static inline bool oracle_factor(oracle *o) {
    const size_t w = o->c.filter_width, h = o->c.filter_height;
    const size_t filters = o->c.filters ? o->c.filters : 1;
    const double within = oracle_sums_f64(o) ? 0x1p-51 : 0x1p-22;
    if (w + h >= w * h)
        return false;
    for (size_t f = 0; f < filters; f++) {
        size_t row = 0, column = 0;
        for (size_t j = 0; j < h; j++)
            for (size_t i = 0; i < w; i++)
                if (fabs(oracle_weight(o, f, j, i)) > fabs(oracle_weight(o, f, row, column))) {
                    row = j;
                    column = i;
                }
        const double largest = oracle_weight(o, f, row, column);
        for (size_t j = 0; j < h; j++)
            o->column[f * h + j] = oracle_weight(o, f, j, column);
        for (size_t i = 0; i < w; i++)
            o->row[f * w + i] = largest == 0 ? 0 : oracle_weight(o, f, row, i) / largest;
        for (size_t j = 0; j < h; j++)
            for (size_t i = 0; i < w; i++) {
                const double weight = oracle_weight(o, f, j, i);
                if (!(fabs(o->column[f * h + j] * o->row[f * w + i] - weight) <=
                      within * fabs(weight)))
                    return false;
            }
    }
    return true;
}

/* A number as the sums take it. */
static inline double oracle_round(const oracle *o, double v) {
    return oracle_sums_f64(o) ? v : (float)v;
}
static inline double oracle_add(const oracle *o, double weight, double x, double sum) {
    return oracle_sums_f64(o) ? fma(weight, x, sum)
                              : (double)fmaf((float)weight, (float)x, (float)sum);
}

/* Pixel (row, column) of a channel of an image; outside as the border says. */
static inline double oracle_load(const oracle *o, size_t image, size_t channel, ptrdiff_t row,
                                 ptrdiff_t column) {
    const weft_convolution *const c = &o->c;
    const ptrdiff_t r = oracle_pixel(c->border, row, (ptrdiff_t)c->height);
    const ptrdiff_t s = oracle_pixel(c->border, column, (ptrdiff_t)c->width);
    if (r < 0 || s < 0)
        return 0;
    const test_value v =
        test_load(c->type, o->x,
                  (image * c->apart_x + (size_t)r) * c->ldx + (size_t)s * c->channels + channel);
    return test_is_float(c->type) ? v.f : (double)v.u;
}

/* How many pixels of the filter lie before the one that is computed. */
static inline ptrdiff_t oracle_before(const oracle *o, size_t side) {
    if (o->c.border == WEFT_BORDER_VALID)
        return 0;
    return (ptrdiff_t)(o->c.how & WEFT_CORRELATE ? side / 2 : side - 1 - side / 2);
}

/* The sum for one output; and in long double, with the sum of magnitudes. */
static inline double oracle_sum(const oracle *o, size_t image, size_t channel, size_t row,
                                size_t column, long double *exact, long double *magnitude) {
    const size_t w = o->c.filter_width, h = o->c.filter_height;
    const size_t f = (image * o->c.channels + channel) % (o->c.filters ? o->c.filters : 1);
    double sum = 0;
    *exact = *magnitude = 0;
    for (size_t j = 0; j < h; j++) {
        double filtered = 0;
        for (size_t i = 0; i < w; i++) {
            const double x =
                oracle_load(o, image, channel, (ptrdiff_t)(row + j) - oracle_before(o, h),
                            (ptrdiff_t)(column + i) - oracle_before(o, w));
            const double weight = oracle_weight(o, f, j, i);
            *exact += (long double)weight * x;
            *magnitude += fabsl((long double)weight * x);
            if (o->by_factors)
                filtered = oracle_add(o, oracle_round(o, o->row[f * w + i]), x, filtered);
            else
                sum = oracle_add(o, oracle_round(o, weight), x, sum);
        }
        if (o->by_factors)
            sum = oracle_add(o, oracle_round(o, o->column[f * h + j]), filtered, sum);
    }
    return sum;
}

/* The root of the sum of squares of the pixels that the filter lies on. */
static inline double oracle_window(const oracle *o, size_t image, size_t channel, size_t row,
                                   size_t column) {
    const size_t w = o->c.filter_width, h = o->c.filter_height;
    double square = 0;
    for (size_t k = 0; k < w * h; k++) {
        const double x =
            oracle_load(o, image, channel, (ptrdiff_t)(row + k / w) - oracle_before(o, h),
                        (ptrdiff_t)(column + k % w) - oracle_before(o, w));
        square += x * x;
    }
    return sqrt(square);
}

/* A sum as an output element. */
static inline test_value oracle_output(const oracle *o, double sum) {
    test_value v = {.u = 0};
    if (test_is_float(o->c.out)) {
        v.f = test_round(o->c.out, sum);
        return v;
    }
    const double most = o->c.out == WEFT_U8 ? 255 : 65535;
    const double within = isnan(sum) || sum < 0 ? 0 : sum > most ? most : sum;
    v.u = (uint64_t)(o->c.how & WEFT_TRUNCATE ? floor(within) : nearbyint(within));
    return v;
}

/* Is the sum as near as the header promises? */
static inline bool oracle_is_near(const oracle *o, double sum, long double exact,
                                  long double magnitude) {
    const double w = (double)o->c.filter_width, h = (double)o->c.filter_height;
    const double terms = 1 + (o->by_factors ? w + h + 8 : w * h + 1);
    const weft_type sums = oracle_sums_f64(o) ? WEFT_F64 : WEFT_F32;
    /* A part of the sum may be infinite, and so may a filtered row where the sum is not. */
    if (!(2 * magnitude < test_largest_of(sums)) || (o->by_factors && !isfinite(sum)))
        return true;
    const long double tiny = sums == WEFT_F64 ? 0x1p-1074L : 0x1p-149L;
    return fabsl(sum - exact) <= terms * test_roundoff(sums) * magnitude + 2 * w * h * tiny;
}

#endif
