/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks added up without rounding, for one instruction set. */
#include "exact/exact_simd.h"

#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/stream.h"

enum {
    CHAINS = 4, /* vectors of each fold that are added to side by side */
    STEP = CHAINS * WI_WIDE
};

/* 2^exponent, of a normal number. */
static double power(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

WI_INLINE wi_doubles magnitudes(wi_doubles v) {
    return (wi_doubles)((wi_longs)v & INT64_MAX);
}

/* The larger of each pair; b if either is NaN. */
WI_INLINE wi_doubles larger(wi_doubles a, wi_doubles b) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    return (wi_doubles)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    const wi_longs above = a > b;
    return (wi_doubles)(((wi_longs)a & above) | ((wi_longs)b & ~above));
#endif
}

/* a b + c, rounded once. */
WI_INLINE wi_doubles fused(wi_doubles a, wi_doubles b, wi_doubles c) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (wi_doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    wi_doubles sum;
    for (int k = 0; k < WI_WIDE; k++)
        sum[k] = __builtin_fma(a[k], b[k], c[k]);
    return sum;
#endif
}

/* The state of a block, in registers. */
typedef struct lanes {
    wi_doubles s[WI_EXACT_FOLDS][CHAINS];
    wi_doubles largest[CHAINS];
    wi_longs left, lost;
} lanes;

/* Adds x in folds first, first + 1, ... */
WI_INLINE void take(lanes *l, int chain, int first, int folds, wi_doubles x) {
#pragma GCC unroll 4
    for (int f = first; f < folds; f++) {
        const wi_doubles s = l->s[f][chain] + x;
        x = x - (s - l->s[f][chain]);
        l->s[f][chain] = s;
    }
    l->left |= (wi_longs)x;
}

/* Term + rest = x y, unless the product is so small that the rest would lose bits. */
WI_INLINE void take_product(lanes *l, int chain, int folds, wi_doubles x, wi_doubles y) {
    const wi_doubles term = x * y, size = magnitudes(term);
    l->largest[chain] = larger(size, l->largest[chain]);
    l->lost |= (size < 0x1p-960) & (x != 0) & (y != 0);
    take(l, chain, 0, folds, term);
    take(l, chain, 1, folds, fused(x, y, -term));
}

WI_INLINE wi_doubles term_at(const wi_exact_run *run, wi_exact_shape shape, size_t i) {
    wi_doubles x;
    if (shape == WI_EXACT_DOUBLES)
        x = wi_doubles_of_f64((const double *)run->x + i);
    else
        x = wi_doubles_of_f32((const float *)run->x + i);
    return shape == WI_EXACT_FLOAT_PRODUCTS ? x * wi_doubles_of_f32((const float *)run->y + i) : x;
}

/* Asks for a piece of the next stretch while that at i is added up. */
WI_INLINE void look_ahead(const wi_exact_run *run, wi_exact_shape shape, size_t i) {
    const bool wide = shape == WI_EXACT_DOUBLES || shape == WI_EXACT_PRODUCTS;
    const size_t width = wide ? sizeof(double) : sizeof(float), piece = STEP * width;
    const size_t k = (run->in_stretch + i * width) / piece;
    const size_t at =
        WI_EXACT_STRETCH - run->in_stretch + wi_fetch_order(k, WI_EXACT_STRETCH / piece) * piece;
    wi_fetch((const char *)run->x + at, piece);
    if (run->y && run->y != run->x)
        wi_fetch((const char *)run->y + at, piece);
}

WI_INLINE void take_block(lanes *l, const wi_exact_run *run, wi_exact_shape shape, int folds) {
    const wi_longs kept = (wi_longs){0} + (run->magnitudes ? INT64_MAX : -1);
    for (size_t i = 0; i < run->n; i += STEP) {
        if (run->more)
            look_ahead(run, shape, i);
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            const size_t at = i + (size_t)c * WI_WIDE;
            if (shape == WI_EXACT_PRODUCTS) {
                take_product(l, c, folds, wi_doubles_of_f64((const double *)run->x + at),
                             wi_doubles_of_f64((const double *)run->y + at));
                continue;
            }
            const wi_doubles x = (wi_doubles)((wi_longs)term_at(run, shape, at) & kept);
            l->largest[c] = larger(magnitudes(x), l->largest[c]);
            take(l, c, 0, folds, x);
        }
    }
}

static double first_of(const wi_exact_run *run, int fold) {
    return 1.5 * power(run->top + WI_EXACT_FIRST - fold * WI_EXACT_FOLD_BITS);
}

static void start(lanes *l, const wi_exact_run *run) {
    for (int f = 0; f < run->folds; f++) {
        for (int c = 0; c < CHAINS; c++)
            l->s[f][c] = first_of(run, f) - (wi_doubles){0};
    }
    for (int c = 0; c < CHAINS; c++)
        l->largest[c] = (wi_doubles){0};
    l->left = l->lost = (wi_longs){0};
}

/* Sums of bits, which wrap where elements are too large for the run, and are of no use. */
typedef uint64_t counts __attribute__((vector_size(WI_VECTOR_BYTES)));

static void finish(const lanes *l, const wi_exact_run *run, wi_exact_block *block) {
    wi_doubles largest = l->largest[0];
    int64_t left = 0, lost = 0;
    for (int c = 1; c < CHAINS; c++)
        largest = larger(largest, l->largest[c]);
    block->largest = 0;
    for (int k = 0; k < WI_WIDE; k++)
        block->largest = largest[k] > block->largest ? largest[k] : block->largest;
    for (int f = 0; f < run->folds; f++) {
        uint64_t sum = 0;
        counts lane = (counts){0} - STEP / WI_WIDE * wi_exact_bits(first_of(run, f));
        for (int c = 0; c < CHAINS; c++)
            lane += (counts)l->s[f][c];
        for (int k = 0; k < WI_WIDE; k++)
            sum += lane[k];
        block->sum[f] = (int64_t)sum;
    }
    for (int k = 0; k < WI_WIDE; k++) {
        left |= l->left[k] & INT64_MAX; /* what is left of -0.0 is -0.0 */
        lost |= l->lost[k];
    }
    block->left = left != 0;
    block->lost = lost != 0;
}

WI_INLINE void take_by(lanes *l, const wi_exact_run *run, wi_exact_shape shape) {
    if (shape == WI_EXACT_FLOATS && run->folds == 1)
        take_block(l, run, shape, 1);
    else if (shape != WI_EXACT_PRODUCTS && run->folds == 2)
        take_block(l, run, shape, 2);
    else if (run->folds == 3)
        take_block(l, run, shape, 3);
    else
        take_block(l, run, shape, WI_EXACT_FOLDS);
}

static void fold(const wi_exact_run *run, wi_exact_block *block) {
    lanes l;
    start(&l, run);
    switch (run->shape) {
    case WI_EXACT_DOUBLES:
        take_by(&l, run, WI_EXACT_DOUBLES);
        break;
    case WI_EXACT_FLOATS:
        take_by(&l, run, WI_EXACT_FLOATS);
        break;
    case WI_EXACT_PRODUCTS:
        take_by(&l, run, WI_EXACT_PRODUCTS);
        break;
    case WI_EXACT_FLOAT_PRODUCTS:
        take_by(&l, run, WI_EXACT_FLOAT_PRODUCTS);
        break;
    }
    finish(&l, run, block);
}

static void widen(weft_type type, size_t n, const void *from, float *to) {
    if (type == WEFT_F16)
        wi_f16_widen_run(n, from, to);
    else
        wi_bf16_widen_run(n, from, to);
}

const wi_exact_simd WI_FOR_ISA(wi_exact_simd) = {.fold = fold, .widen = widen};
