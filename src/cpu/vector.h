/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors as wide as the instruction set's registers. For *_simd.c files. */
#ifndef WI_CPU_VECTOR_H
#define WI_CPU_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#    include <immintrin.h>
#elif defined(__SSE2__) /* compiles in a tenth of the time that immintrin.h takes */
#    include <emmintrin.h>
#endif

#if defined(__AVX512F__)
#    define WI_VECTOR_BYTES 64
#elif defined(__AVX2__)
#    define WI_VECTOR_BYTES 32
#else
#    define WI_VECTOR_BYTES 16
#endif

typedef double wi_doubles __attribute__((vector_size(WI_VECTOR_BYTES)));
typedef int64_t wi_longs __attribute__((vector_size(WI_VECTOR_BYTES)));

#define WI_INLINE static inline __attribute__((always_inline))

enum {
    WI_WIDE = WI_VECTOR_BYTES / 8 /* doubles in a vector */
};

/* WI_WIDE elements from memory, converted. GCC 12 compiles __builtin_convertvector to three
 * instructions more than necessary, hence intrinsics for the most important types. */
WI_INLINE wi_doubles wi_doubles_of_f32(const float *p) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif defined(__SSE2__)
    return (wi_doubles)_mm_cvtps_pd(
        _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
#else
    return (wi_doubles){p[0], p[1]};
#endif
}

/* The larger of the two unsigned bytes in each place. */
WI_INLINE wi_longs wi_larger_bytes(wi_longs a, wi_longs b) {
#if defined(__AVX512BW__)
    return (wi_longs)_mm512_max_epu8((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (wi_longs)_mm256_max_epu8((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (wi_longs)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
    typedef uint8_t bytes __attribute__((vector_size(WI_VECTOR_BYTES)));
    const bytes is_a = (bytes)((bytes)a > (bytes)b);
    return (wi_longs)(((bytes)a & is_a) | ((bytes)b & ~is_a));
#endif
}

WI_INLINE wi_doubles wi_doubles_of_f64(const double *p) {
    wi_doubles v;
    memcpy(&v, p, sizeof v);
    return v;
}

WI_INLINE wi_doubles wi_doubles_of_i32(const int32_t *p) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    return (wi_doubles){p[0], p[1]};
#endif
}

WI_INLINE wi_doubles wi_doubles_of_u32(const uint32_t *p) {
#if defined(__AVX512F__)
    return (wi_doubles)_mm512_cvtepu32_pd(_mm256_loadu_si256((const __m256i *)(const void *)p));
#else
    wi_doubles v;
    for (int k = 0; k < WI_WIDE; k++)
        v[k] = p[k];
    return v;
#endif
}

WI_INLINE wi_doubles wi_doubles_of_i64(const int64_t *p) {
    wi_longs v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, wi_doubles);
}

WI_INLINE wi_doubles wi_doubles_of_u64(const uint64_t *p) {
    uint64_t v __attribute__((vector_size(WI_VECTOR_BYTES)));
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, wi_doubles);
}

#endif
