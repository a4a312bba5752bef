/* SPDX-License-Identifier: Apache-2.0 */
/* Fused arithmetic on vectors of f64 and f32, and loads and stores of some of the lanes of
 * wi_doubles. For *_simd.c files. */
#ifndef WI_CPU_LANES_H
#define WI_CPU_LANES_H

#include <math.h>

#include "cpu/vector.h"

WI_INLINE wi_doubles wi_splat(double x) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_set1_pd(x);
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_set1_pd(x);
#else
    return (wi_doubles){x, x};
#endif
}

/* A multiplication and addition, rounded once, is an instruction, and goes where it is used. On an
 * older processor it is a call of the C library for each number, and stands once in a file. */
#if defined(__x86_64__) && !defined(__FMA__)
#    define WI_FUSED static __attribute__((noinline, unused))
#else
#    define WI_FUSED WI_INLINE
#endif

/* c + a b, rounded once. */
WI_FUSED wi_doubles wi_plus_product(wi_doubles a, wi_doubles b, wi_doubles c) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (wi_doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return (wi_doubles){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1])};
#endif
}

/* c - a b, rounded once. */
WI_FUSED wi_doubles wi_minus_product(wi_doubles a, wi_doubles b, wi_doubles c) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (wi_doubles)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return (wi_doubles){fma(-a[0], b[0], c[0]), fma(-a[1], b[1], c[1])};
#endif
}

typedef float wi_floats __attribute__((vector_size(WI_VECTOR_BYTES)));

WI_INLINE wi_floats wi_splat_f32(float x) {
    return x - (wi_floats){0};
}

/* c + a b, rounded once. */
WI_FUSED wi_floats wi_plus_product_f32(wi_floats a, wi_floats b, wi_floats c) {
#if defined(__AVX512F__)
    return (wi_floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (wi_floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    for (int k = 0; k < WI_VECTOR_BYTES / 4; k++)
        c[k] = fmaf(a[k], b[k], c[k]);
    return c;
#endif
}

/* c - a b, rounded once. */
WI_FUSED wi_floats wi_minus_product_f32(wi_floats a, wi_floats b, wi_floats c) {
#if defined(__AVX512F__)
    return (wi_floats)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (wi_floats)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    for (int k = 0; k < WI_VECTOR_BYTES / 4; k++)
        c[k] = fmaf(-a[k], b[k], c[k]);
    return c;
#endif
}

/* A vector at any address. Loads and stores through memcpy use integer types, and GCC 12 then moves
 * sums from vector registers to memory. */
typedef double wi_doubles_there
    __attribute__((vector_size(WI_VECTOR_BYTES), aligned(8), may_alias));

WI_INLINE wi_doubles wi_load(const double *p) {
    return *(const wi_doubles_there *)p;
}

WI_INLINE void wi_store(double *p, wi_doubles v) {
    *(wi_doubles_there *)p = v;
}

typedef float wi_floats_there __attribute__((vector_size(WI_VECTOR_BYTES), aligned(4), may_alias));

WI_INLINE wi_floats wi_load_f32(const float *p) {
    return *(const wi_floats_there *)p;
}

WI_INLINE void wi_store_f32(float *p, wi_floats v) {
    *(wi_floats_there *)p = v;
}

/* Unlike the C library's, has no branch for negative x. */
WI_INLINE double wi_sqrt(double x) {
#if defined(__SSE2__)
    const __m128d v = _mm_set_sd(x);
    return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
#else
    return sqrt(x);
#endif
}

/* A set of vector lanes; lane k is element k. Elements outside the set load as 0 and are not
 * stored. */
#if defined(__AVX512F__)
typedef __mmask8 wi_lanes;
#else
typedef wi_longs wi_lanes;
#endif

/* Lanes from first to end - 1. */
WI_INLINE wi_lanes wi_lanes_between(int64_t first, int64_t end) {
#if defined(__AVX512F__)
    return (wi_lanes)(((1u << end) - 1) & ~((1u << first) - 1));
#elif defined(__AVX2__)
    const wi_longs lane = {0, 1, 2, 3};
    return (lane >= first) & (lane < end);
#else
    const wi_longs lane = {0, 1};
    return (lane >= first) & (lane < end);
#endif
}

/* 8 bytes at any address, of any type. */
typedef double wi_double_there __attribute__((aligned(1), may_alias));

WI_INLINE wi_doubles wi_load_lanes(const void *p, wi_lanes lanes) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_maskz_loadu_pd(lanes, p);
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_maskload_pd((const double *)p, (__m256i)lanes);
#else
    const wi_double_there *const from = p;
    return (wi_doubles){lanes[0] ? from[0] : 0, lanes[1] ? from[1] : 0};
#endif
}

WI_INLINE void wi_store_lanes(void *p, wi_lanes lanes, wi_doubles v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(p, lanes, (__m512d)v);
#elif defined(__AVX2__)
    _mm256_maskstore_pd((double *)p, (__m256i)lanes, (__m256d)v);
#else
    wi_double_there *const to = p;
    if (lanes[0])
        to[0] = v[0];
    if (lanes[1])
        to[1] = v[1];
#endif
}

/* The same for f32. */
#if defined(__AVX512F__)
typedef __mmask16 wi_lanes_f32;
#else
typedef int32_t wi_lanes_f32 __attribute__((vector_size(WI_VECTOR_BYTES)));
#endif

WI_INLINE wi_lanes_f32 wi_lanes_between_f32(int64_t first, int64_t end) {
#if defined(__AVX512F__)
    return (wi_lanes_f32)(((1u << end) - 1) & ~((1u << first) - 1));
#elif defined(__AVX2__)
    const wi_lanes_f32 lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (lane >= (int32_t)first) & (lane < (int32_t)end);
#else
    const wi_lanes_f32 lane = {0, 1, 2, 3};
    return (lane >= (int32_t)first) & (lane < (int32_t)end);
#endif
}

WI_INLINE wi_floats wi_load_lanes_f32(const float *p, wi_lanes_f32 lanes) {
#if defined(__AVX512F__)
    return (wi_floats)_mm512_maskz_loadu_ps(lanes, p);
#elif defined(__AVX2__)
    return (wi_floats)_mm256_maskload_ps(p, (__m256i)lanes);
#else
    wi_floats v = {0};
    for (int k = 0; k < WI_VECTOR_BYTES / 4; k++)
        v[k] = lanes[k] ? p[k] : 0;
    return v;
#endif
}

WI_INLINE void wi_store_lanes_f32(float *p, wi_lanes_f32 lanes, wi_floats v) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, lanes, (__m512)v);
#elif defined(__AVX2__)
    _mm256_maskstore_ps(p, (__m256i)lanes, (__m256)v);
#else
    for (int k = 0; k < WI_VECTOR_BYTES / 4; k++) {
        if (lanes[k])
            p[k] = v[k];
    }
#endif
}

#endif
