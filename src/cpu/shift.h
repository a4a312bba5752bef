/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes across a whole vector. C's vector extensions can express it, but compilers then do
 * not find the right instruction. For *_simd.c files. */
#ifndef WI_CPU_SHIFT_H
#define WI_CPU_SHIFT_H

#include "cpu/vector.h"

/* The bytes of `now` moved up by `bytes`, a power of two below WI_VECTOR_BYTES; the gap gets the
 * last bytes of `before`. */
#if defined(__AVX512F__)
WI_INLINE wi_longs wi_shift_in(wi_longs before, wi_longs now, int bytes) {
    const __m512i low = (__m512i)before, high = (__m512i)now;
    switch (bytes) {
    case 1:
        return (wi_longs)_mm512_alignr_epi8(high, _mm512_alignr_epi64(high, low, 6), 15);
    case 2:
        return (wi_longs)_mm512_alignr_epi8(high, _mm512_alignr_epi64(high, low, 6), 14);
    case 4:
        return (wi_longs)_mm512_alignr_epi32(high, low, 15);
    case 8:
        return (wi_longs)_mm512_alignr_epi64(high, low, 7);
    case 16:
        return (wi_longs)_mm512_alignr_epi64(high, low, 6);
    default:
        return (wi_longs)_mm512_alignr_epi64(high, low, 4);
    }
}
#elif defined(__AVX2__)
WI_INLINE wi_longs wi_shift_in(wi_longs before, wi_longs now, int bytes) {
    const __m256i high = (__m256i)now;
    const __m256i middle = _mm256_permute2x128_si256((__m256i)before, high, 0x21);
    switch (bytes) {
    case 1:
        return (wi_longs)_mm256_alignr_epi8(high, middle, 15);
    case 2:
        return (wi_longs)_mm256_alignr_epi8(high, middle, 14);
    case 4:
        return (wi_longs)_mm256_alignr_epi8(high, middle, 12);
    case 8:
        return (wi_longs)_mm256_alignr_epi8(high, middle, 8);
    default:
        return (wi_longs)middle;
    }
}
#elif defined(__SSE2__)
WI_INLINE wi_longs wi_shift_in(wi_longs before, wi_longs now, int bytes) {
    const __m128i low = (__m128i)before, high = (__m128i)now;
    switch (bytes) {
    case 1:
        return (wi_longs)_mm_or_si128(_mm_slli_si128(high, 1), _mm_srli_si128(low, 15));
    case 2:
        return (wi_longs)_mm_or_si128(_mm_slli_si128(high, 2), _mm_srli_si128(low, 14));
    case 4:
        return (wi_longs)_mm_or_si128(_mm_slli_si128(high, 4), _mm_srli_si128(low, 12));
    default:
        return (wi_longs)_mm_or_si128(_mm_slli_si128(high, 8), _mm_srli_si128(low, 8));
    }
}
#else
WI_INLINE wi_longs wi_shift_in(wi_longs before, wi_longs now, int bytes) {
    wi_longs both[2] = {before, now};
    memcpy(&now, (const char *)both + WI_VECTOR_BYTES - bytes, sizeof now);
    return now;
}
#endif

/* The last element of v, which has `bytes` bytes, in every element. */
#if defined(__AVX512F__)
WI_INLINE wi_longs wi_splat_last(wi_longs v, int bytes) {
    const __m512i from = (__m512i)v;
    switch (bytes) {
    case 1:
        return (wi_longs)_mm512_shuffle_epi8(_mm512_shuffle_i32x4(from, from, 0xff),
                                             _mm512_set1_epi8(15));
    case 2:
        return (wi_longs)_mm512_permutexvar_epi16(_mm512_set1_epi16(31), from);
    case 4:
        return (wi_longs)_mm512_permutexvar_epi32(_mm512_set1_epi32(15), from);
    default:
        return (wi_longs)_mm512_permutexvar_epi64(_mm512_set1_epi64(7), from);
    }
}
#elif defined(__AVX2__)
WI_INLINE wi_longs wi_splat_last(wi_longs v, int bytes) {
    const __m256i from = (__m256i)v;
    switch (bytes) {
    case 1:
        return (wi_longs)_mm256_shuffle_epi8(_mm256_permute4x64_epi64(from, 0xff),
                                             _mm256_set1_epi8(7));
    case 2:
        return (wi_longs)_mm256_shuffle_epi8(_mm256_permute4x64_epi64(from, 0xff),
                                             _mm256_set1_epi16(0x0706));
    case 4:
        return (wi_longs)_mm256_permutevar8x32_epi32(from, _mm256_set1_epi32(7));
    default:
        return (wi_longs)_mm256_permute4x64_epi64(from, 0xff);
    }
}
#else
WI_INLINE wi_longs wi_splat_last(wi_longs v, int bytes) {
    /* Repeats the element until it fills 64 bits, then the vector. */
    uint64_t last = (uint64_t)v[WI_WIDE - 1] >> (64 - 8 * bytes);
    for (int width = 8 * bytes; width < 64; width *= 2)
        last |= last << width;
    return (wi_longs){(int64_t)last, (int64_t)last};
}
#endif

#endif
