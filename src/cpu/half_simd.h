/* SPDX-License-Identifier: Apache-2.0 */
/* Converts runs of 16-bit floats to f32 and back, by the processor's own instructions for f16 where
 * it has them; the bits are the same as those of half.h. For *_simd.c files. */
#ifndef WI_CPU_HALF_SIMD_H
#define WI_CPU_HALF_SIMD_H

#include "cpu/half.h"
#include "cpu/vector.h"

WI_INLINE void wi_f16_widen_run(size_t n, const uint16_t *from, float *to) {
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#endif
#pragma omp simd
    for (size_t k = i; k < n; k++)
        to[k] = wi_f16_widen(from[k]);
}

WI_INLINE void wi_f16_narrow_run(size_t n, const float *from, uint16_t *to) {
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(from + i),
                                            _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
#pragma omp simd
    for (size_t k = i; k < n; k++)
        to[k] = wi_f16_narrow(from[k]);
}

WI_INLINE void wi_bf16_widen_run(size_t n, const uint16_t *from, float *to) {
#pragma omp simd
    for (size_t k = 0; k < n; k++)
        to[k] = wi_bf16_widen(from[k]);
}

WI_INLINE void wi_bf16_narrow_run(size_t n, const float *from, uint16_t *to) {
#pragma omp simd
    for (size_t k = 0; k < n; k++)
        to[k] = wi_bf16_narrow(from[k]);
}

#endif
