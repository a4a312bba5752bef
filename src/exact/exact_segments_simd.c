/* SPDX-License-Identifier: Apache-2.0 */
/* Cascades over short segments, for one instruction set. */
#include "exact/exact_segments_simd.h"

#include "cpu/half_simd.h"
#include "cpu/lanes.h"
#include "exact/exact_cascade.h"

enum {
    VECTORS_FROM =
        4 * WI_WIDE /* elements: with fewer, joining the lanes costs more than it saves */
};

/* A cascade in each lane. */
typedef struct lanes {
    wi_doubles high, low, lost;
} lanes;

WI_INLINE wi_doubles magnitudes(wi_doubles v) {
    return (wi_doubles)((wi_longs)v & INT64_MAX);
}

WI_INLINE wi_doubles two_sum(wi_doubles a, wi_doubles b, wi_doubles *rest) {
    const wi_doubles sum = a + b, part = sum - a;
    *rest = (a - (sum - part)) + (b - part);
    return sum;
}

WI_INLINE void add_low(lanes *l, wi_doubles x) {
    wi_doubles rest;
    l->low = two_sum(l->low, x, &rest);
    l->lost += magnitudes(rest);
}

WI_INLINE void add(lanes *l, wi_doubles x) {
    wi_doubles rest;
    l->high = two_sum(l->high, x, &rest);
    add_low(l, rest);
}

/* Squares of f32 are exact. */
WI_INLINE void add_square(lanes *l, wi_doubles x, bool is_f64) {
    const wi_doubles product = x * x;
    add(l, product);
    if (!is_f64)
        return;
    const wi_longs faint = (product < WI_FAINT_PRODUCT) & (x != 0);
    add_low(l, wi_plus_product(x, x, -product));
    l->lost += (wi_doubles)(faint & (wi_longs)wi_splat((double)INFINITY));
}

WI_INLINE wi_doubles vector_at(const void *x, bool is_f64, size_t i) {
    return is_f64 ? wi_load((const double *)x + i) : wi_doubles_of_f32((const float *)x + i);
}

WI_INLINE double element_at(const void *x, bool is_f64, size_t i) {
    return is_f64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The sum of n elements of f64 or f32. */
WI_INLINE wi_cascade sum_of(const void *x, bool is_f64, wi_exact_terms terms, size_t n) {
    wi_cascade c = wi_cascade_empty();
    size_t i = 0;
    if (n >= VECTORS_FROM) {
        lanes l = {wi_splat(-0.0), (wi_doubles){0}, (wi_doubles){0}};
        for (; i + WI_WIDE <= n; i += WI_WIDE) {
            const wi_doubles v = vector_at(x, is_f64, i);
            if (terms == WI_EXACT_SQUARES)
                add_square(&l, v, is_f64);
            else
                add(&l, terms == WI_EXACT_NRM1 ? magnitudes(v) : v);
        }
        for (int k = 0; k < WI_WIDE; k++)
            wi_cascade_merge(&c, &(wi_cascade){l.high[k], l.low[k], l.lost[k]});
    }
    for (; i < n; i++) {
        const double v = element_at(x, is_f64, i);
        if (terms == WI_EXACT_SQUARES)
            wi_cascade_add_product(&c, v, v);
        else
            wi_cascade_add(&c, terms == WI_EXACT_NRM1 ? fabs(v) : v);
    }
    return c;
}

WI_INLINE wi_cascade sum_by(const void *x, bool is_f64, wi_exact_terms terms, size_t n) {
    if (terms == WI_EXACT_SUM)
        return sum_of(x, is_f64, WI_EXACT_SUM, n);
    return terms == WI_EXACT_NRM1 ? sum_of(x, is_f64, WI_EXACT_NRM1, n)
                                  : sum_of(x, is_f64, WI_EXACT_SQUARES, n);
}

static wi_cascade sum_of_f64(const wi_group_args *a, wi_exact_terms terms, size_t first, size_t n) {
    return sum_by((const double *)a->x + first, true, terms, n);
}

static wi_cascade sum_of_f32(const wi_group_args *a, wi_exact_terms terms, size_t first, size_t n) {
    return sum_by((const float *)a->x + first, false, terms, n);
}

/* Elements of 16 bits are widened first. */
static wi_cascade sum_of_half(const wi_group_args *a, wi_exact_terms terms, size_t first,
                              size_t n) {
    const uint16_t *const x = (const uint16_t *)a->x + first;
    float wide[WI_EXACT_SHORT];
    if (a->type == WEFT_F16)
        wi_f16_widen_run(n, x, wide);
    else
        wi_bf16_widen_run(n, x, wide);
    return sum_by(wide, false, terms, n);
}

static size_t cascades(const wi_group_args *a, size_t segments, size_t s, size_t end) {
    const wi_exact_terms terms = wi_exact_segment_terms(a);
    const size_t size = weft_type_size(a->result_type);
    wi_cascade (*const sum)(const wi_group_args *, wi_exact_terms, size_t, size_t) =
        a->type == WEFT_F64   ? sum_of_f64
        : a->type == WEFT_F32 ? sum_of_f32
                              : sum_of_half;
    for (; s < end; s++) {
        const size_t first = wi_group_start(a, s), n = wi_group_end(a, segments, s) - first;
        uint64_t bits = 0;
        if (n > WI_EXACT_SHORT)
            return s;
        if (n > 0) {
            const wi_cascade c = sum(a, terms, first, n);
            if (!wi_cascade_round(&c, terms == WI_EXACT_SQUARES, a->result_type, &bits))
                return s;
        }
        wi_exact_store(a->result_type, bits, (char *)a->y + s * size);
    }
    return end;
}

const wi_exact_segments_simd WI_FOR_ISA(wi_exact_segments_simd) = {.cascades = cascades};
