/* SPDX-License-Identifier: Apache-2.0 */
/* sort_vector_simd.inc for keys of 4 and 8 bytes. */
#ifndef WI_SORT_VECTOR_SIMD_H
#define WI_SORT_VECTOR_SIMD_H

#include "cpu/to_front.h"

enum {
    MOST_ROWS = 12 /* vectors that are sorted in registers, at most */
};

/* Stores a vector whose lanes in `lower` (so many) go to the left end of what is still free, and
 * the others to its right end, which is `right`. Whole vectors may be stored if two have room. */
WI_INLINE void put_u32(uint32_t *left, uint32_t *right, __m512i v, __mmask16 lower, unsigned count,
                       bool roomy) {
    (void)roomy;
    _mm512_storeu_si512(left, _mm512_maskz_compress_epi32(lower, v));
    _mm512_mask_storeu_epi32(right - (16 - count), (__mmask16)(0xFFFF >> count),
                             _mm512_maskz_compress_epi32(_knot_mask16(lower), v));
}

/* Here one permutation is faster than two compressions. */
WI_INLINE void put_u64(uint64_t *left, uint64_t *right, __m512i v, __mmask8 lower, unsigned count,
                       bool roomy) {
    const __m128i bytes = _mm_cvtsi64_si128((long long)wi_to_front[lower]);
    const __m512i lanes = _mm512_cvtepu8_epi64(bytes);
    const __m512i both = _mm512_permutexvar_epi64(lanes, v);
    _mm512_storeu_si512(left, both);
    if (roomy)
        _mm512_storeu_si512(right - 8, both);
    else
        _mm512_mask_storeu_epi64(right - 8, (__mmask8)(0xFF << count), both);
}

#define NAME(f) f##_u32
#define T uint32_t
#define LANES 16
#define EPI(f) _mm512_##f##_epi32
#define EPU(f) _mm512_##f##_epu32
#define EPU_MASK(f) _mm512_##f##_epu32_mask
#define MASK __mmask16
#define IOTA _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SPLAT(x) _mm512_set1_epi32((int)(x))
#define BITS 32
#include "sort/sort_vector_simd.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define LANES 8
#define EPI(f) _mm512_##f##_epi64
#define EPU(f) _mm512_##f##_epu64
#define EPU_MASK(f) _mm512_##f##_epu64_mask
#define MASK __mmask8
#define IOTA _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#define SPLAT(x) _mm512_set1_epi64((long long)(x))
#define BITS 64
#include "sort/sort_vector_simd.inc"

#endif
