/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks added up without rounding, for one instruction set. */
#include "exact/exact_simd.h"

#include <math.h>
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

/* The state of a block, in registers. */
typedef struct lanes {
    wi_doubles s[WI_EXACT_FOLDS][CHAINS];
    wi_doubles largest[CHAINS];
    wi_longs left;
} lanes;

/* Adds x in folds first, first + 1, ... */
WI_INLINE void take(lanes *l, int chain, int first, int folds, wi_doubles x) {
#pragma GCC unroll 3
    for (int f = first; f < folds; f++) {
        const wi_doubles s = l->s[f][chain] + x;
        x = x - (s - l->s[f][chain]);
        l->s[f][chain] = s;
    }
    l->left |= (wi_longs)x;
}

WI_INLINE void take_block(lanes *l, const wi_exact_run *run, int folds, bool has_rest) {
    for (size_t i = 0; i < run->n; i += STEP) {
        if (run->ahead)
            wi_fetch(run->ahead + i, STEP * sizeof *run->ahead);
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            const wi_doubles x = wi_doubles_of_f64(run->v + i + (size_t)c * WI_WIDE);
            l->largest[c] = larger(magnitudes(x), l->largest[c]);
            take(l, c, 0, folds, x);
            if (has_rest)
                take(l, c, 1, folds, wi_doubles_of_f64(run->rest + i + (size_t)c * WI_WIDE));
        }
    }
}

static void start(lanes *l, const wi_exact_run *run) {
    for (int f = 0; f < run->folds; f++) {
        const double first = 1.5 * power(run->top + WI_EXACT_FIRST - f * WI_EXACT_FOLD_BITS);
        for (int c = 0; c < CHAINS; c++)
            l->s[f][c] = first - (wi_doubles){0};
    }
    for (int c = 0; c < CHAINS; c++)
        l->largest[c] = (wi_doubles){0};
    l->left = (wi_longs){0};
}

static void finish(const lanes *l, const wi_exact_run *run, wi_exact_block *block) {
    double largest[STEP];
    int64_t left = 0;
    memcpy(largest, l->largest, sizeof largest);
    block->largest = 0;
    for (int k = 0; k < STEP; k++)
        block->largest = largest[k] > block->largest ? largest[k] : block->largest;
    for (int f = 0; f < run->folds; f++) {
        const double first = 1.5 * power(run->top + WI_EXACT_FIRST - f * WI_EXACT_FOLD_BITS);
        wi_longs sum = {0};
        for (int c = 0; c < CHAINS; c++)
            sum += (wi_longs)l->s[f][c] - (int64_t)wi_exact_bits(first);
        block->sum[f] = 0;
        for (int k = 0; k < WI_WIDE; k++)
            block->sum[f] += sum[k];
    }
    for (int k = 0; k < WI_WIDE; k++)
        left |= l->left[k] & INT64_MAX; /* what is left of -0.0 is -0.0 */
    block->left = left != 0;
}

/* run->n is a multiple of STEP. */
static void fold(const wi_exact_run *run, wi_exact_block *block) {
    lanes l;
    start(&l, run);
    if (run->rest)
        take_block(&l, run, WI_EXACT_FOLDS, true);
    else if (run->folds == 1)
        take_block(&l, run, 1, false);
    else if (run->folds == 2)
        take_block(&l, run, 2, false);
    else
        take_block(&l, run, WI_EXACT_FOLDS, false);
    finish(&l, run, block);
}

/* n floats as f32. */
static const float *as_f32(weft_type type, const void *x, size_t from, size_t n, float *room) {
    if (type == WEFT_F32)
        return (const float *)x + from;
    if (type == WEFT_F16)
        wi_f16_widen_run(n, (const uint16_t *)x + from, room);
    else
        wi_bf16_widen_run(n, (const uint16_t *)x + from, room);
    return room;
}

/* The products of two f32 fit a double, whatever they are. */
static void narrow_terms(const wi_exact_args *args, size_t from, size_t n, double *v) {
    float room_x[WI_EXACT_BLOCK], room_y[WI_EXACT_BLOCK];
    const float *const x = as_f32(args->type, args->x, from, n, room_x);
    const float *y = x;
    if (args->terms == WI_EXACT_DOT)
        y = as_f32(args->type, args->y, from, n, room_y);
    if (args->terms == WI_EXACT_SUM) {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            v[i] = (double)x[i];
    } else if (args->terms == WI_EXACT_NRM1) {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            v[i] = __builtin_fabs((double)x[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            v[i] = (double)x[i] * (double)y[i];
    }
}

/* x y = v + rest exactly, unless the product is so small that rest would lose bits. An infinity or
 * NaN makes what is left after the folds a NaN. */
static bool wide_products(const double *x, const double *y, size_t n, double *v, double *rest) {
    int64_t small = 0;
#pragma omp simd reduction(| : small)
    for (size_t i = 0; i < n; i++) {
        v[i] = x[i] * y[i];
        rest[i] = __builtin_fma(x[i], y[i], -v[i]);
        small |= -(int64_t)((__builtin_fabs(v[i]) < 0x1p-960) & (x[i] != 0) & (y[i] != 0));
    }
    return small == 0;
}

static bool terms(const wi_exact_args *args, size_t from, size_t n, double *v, double *rest) {
    if (args->type != WEFT_F64) {
        narrow_terms(args, from, n, v);
        return true;
    }
    const double *const x = (const double *)args->x + from;
    if (args->terms == WI_EXACT_DOT)
        return wide_products(x, (const double *)args->y + from, n, v, rest);
    if (args->terms == WI_EXACT_SQUARES)
        return wide_products(x, x, n, v, rest);
    if (args->terms == WI_EXACT_SUM) {
        memcpy(v, x, n * sizeof *v);
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            v[i] = __builtin_fabs(x[i]);
    }
    return true;
}

const wi_exact_simd WI_FOR_ISA(wi_exact_simd) = {.fold = fold, .terms = terms};
