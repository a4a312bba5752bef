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

/* The same of twice as many f32, of magnitudes. */
typedef float floats __attribute__((vector_size(WI_VECTOR_BYTES)));

WI_INLINE floats larger_magnitude(const float *p, floats b) {
    typedef int32_t ints __attribute__((vector_size(WI_VECTOR_BYTES)));
    floats v;
    memcpy(&v, p, sizeof v);
    const floats a = (floats)((ints)v & INT32_MAX);
#if defined(__AVX512F__)
    return (floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (floats)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (floats)_mm_max_ps((__m128)a, (__m128)b);
#else
    const ints above = a > b;
    return (floats)(((ints)a & above) | ((ints)b & ~above));
#endif
}

/* bits, and those in which a and b differ. */
WI_INLINE wi_longs with_differing(wi_longs bits, wi_doubles a, wi_doubles b) {
#if defined(__AVX512F__)
    return (wi_longs)_mm512_ternarylogic_epi64((__m512i)bits, (__m512i)a, (__m512i)b, 0xf6);
#else
    return bits | ((wi_longs)a ^ (wi_longs)b);
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
    floats largest_f32[CHAINS / 2];
    wi_longs left, lost;
} lanes;

/* Adds x in folds first, first + 1, ... Nothing is left of it if what the last one takes has the
 * same bits, or the other sign of 0. A NaN may have the same bits, but stays in the fold. */
WI_INLINE void take(lanes *l, int chain, int first, int folds, wi_doubles x) {
#pragma GCC unroll 4
    for (int f = first; f < folds; f++) {
        const wi_doubles s = l->s[f][chain] + x, taken = s - l->s[f][chain];
        l->s[f][chain] = s;
        if (f + 1 < folds)
            x = x - taken;
        else
            l->left = with_differing(l->left, x, taken);
    }
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
    const bool of_products = shape == WI_EXACT_PRODUCTS || shape == WI_EXACT_FLOAT_PRODUCTS;
    const size_t width = wide ? sizeof(double) : sizeof(float), piece = STEP * width;
    const size_t k = (run->in_stretch + i * width) / piece;
    const size_t at =
        WI_EXACT_STRETCH - run->in_stretch + wi_fetch_order(k, WI_EXACT_STRETCH / piece) * piece;
    wi_fetch((const char *)run->x + at, piece);
    if (of_products && run->y != run->x)
        wi_fetch((const char *)run->y + at, piece);
}

/* One fold of f32, of which no magnitudes are wanted: their largest is found before they become
 * doubles. */
WI_INLINE void take_floats(lanes *l, const wi_exact_run *run) {
    for (size_t i = 0; i < run->n; i += STEP) {
        const float *const x = (const float *)run->x + i;
        if (run->more)
            look_ahead(run, WI_EXACT_FLOATS, i);
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            if (c % 2 == 0)
                l->largest_f32[c / 2] = larger_magnitude(x + c * WI_WIDE, l->largest_f32[c / 2]);
            take(l, c, 0, 1, wi_doubles_of_f32(x + c * WI_WIDE));
        }
    }
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
    for (int c = 0; c < CHAINS / 2; c++)
        l->largest_f32[c] = (floats){0};
    l->left = l->lost = (wi_longs){0};
}

/* Sums of bits, which wrap where elements are too large for the run, and are of no use. */
typedef uint64_t counts __attribute__((vector_size(WI_VECTOR_BYTES)));

static void finish(const lanes *l, const wi_exact_run *run, wi_exact_block *block) {
    wi_doubles largest = l->largest[0];
    wi_longs special = {0}; /* NaN and infinities */
    int64_t left = 0, lost = 0;
    for (int c = 1; c < CHAINS; c++)
        largest = larger(largest, l->largest[c]);
    for (int c = 0; c < CHAINS / 2; c++) {
        float size[2 * WI_WIDE];
        memcpy(size, &l->largest_f32[c], sizeof size);
        largest = larger(wi_doubles_of_f32(size), largest);
        largest = larger(wi_doubles_of_f32(size + WI_WIDE), largest);
    }
    block->largest = 0;
    for (int k = 0; k < WI_WIDE; k++)
        block->largest = largest[k] > block->largest ? largest[k] : block->largest;
    for (int f = 0; f < run->folds; f++) {
        uint64_t sum = 0;
        counts lane = (counts){0} - STEP / WI_WIDE * wi_exact_bits(first_of(run, f));
        for (int c = 0; c < CHAINS; c++) {
            lane += (counts)l->s[f][c];
            special |= l->s[f][c] - l->s[f][c] != 0;
        }
        for (int k = 0; k < WI_WIDE; k++)
            sum += lane[k];
        block->sum[f] = (int64_t)sum;
    }
    for (int k = 0; k < WI_WIDE; k++) {
        left |= (l->left[k] & INT64_MAX) | special[k]; /* a fold takes 0.0 of -0.0 */
        lost |= l->lost[k];
    }
    block->left = left != 0;
    block->lost = lost != 0;
}

WI_INLINE void take_by(lanes *l, const wi_exact_run *run, wi_exact_shape shape) {
    if (shape == WI_EXACT_FLOATS && run->folds == 1 && !run->magnitudes)
        take_floats(l, run);
    else if (shape == WI_EXACT_FLOATS && run->folds == 1)
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
