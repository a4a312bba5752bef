/* SPDX-License-Identifier: Apache-2.0 */
/* sort_avx2_simd.inc for keys of 4 and 8 bytes, and what it needs of vectors of either. */
#ifndef WI_SORT_AVX2_SIMD_H
#define WI_SORT_AVX2_SIMD_H

#include "cpu/to_front.h"

enum {
    MOST_ROWS = 8 /* that are sorted in registers */
};

/* ---- keys of 4 bytes ---- */

WI_INLINE __m256i splat_u32(uint32_t key) {
    return _mm256_set1_epi32((int)key);
}

WI_INLINE __m256i load_first_u32(const uint32_t *from, int n) {
    const __m256i iota = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i filled = _mm256_cmpgt_epi32(_mm256_set1_epi32(n), iota);
    const __m256i keys = _mm256_maskload_epi32((const int *)from, filled);
    return _mm256_or_si256(keys, _mm256_xor_si256(filled, _mm256_set1_epi32(-1)));
}

WI_INLINE __m256i form_u32(__m256i v) {
    return v;
}

WI_INLINE __m256i lesser_u32(__m256i a, __m256i b) {
    return _mm256_min_epu32(a, b);
}

WI_INLINE __m256i greater_u32(__m256i a, __m256i b) {
    return _mm256_max_epu32(a, b);
}

WI_INLINE unsigned below_u32(__m256i v, __m256i p, bool equal) {
    const __m256i most = equal ? lesser_u32(v, p) : greater_u32(v, p);
    const unsigned is = (unsigned)_mm256_movemask_ps((__m256)_mm256_cmpeq_epi32(most, v));
    return equal ? is : is ^ 0xff;
}

WI_INLINE __m256i reversed_u32(__m256i v) {
    return _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

WI_INLINE __m256i sorted_row_u32(__m256i v) {
    __m256i other = _mm256_permute2x128_si256(v, v, 1);
    v = _mm256_blend_epi32(lesser_u32(v, other), greater_u32(v, other), 0xf0);
    other = _mm256_shuffle_epi32(v, 0x4e);
    v = _mm256_blend_epi32(lesser_u32(v, other), greater_u32(v, other), 0xcc);
    other = _mm256_shuffle_epi32(v, 0xb1);
    return _mm256_blend_epi32(lesser_u32(v, other), greater_u32(v, other), 0xaa);
}

/* Columns become rows. */
WI_INLINE void turn_u32(__m256i *v) {
    __m256i two[MOST_ROWS], four[MOST_ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < MOST_ROWS; r += 2) {
        two[r] = _mm256_unpacklo_epi32(v[r], v[r + 1]);
        two[r + 1] = _mm256_unpackhi_epi32(v[r], v[r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < MOST_ROWS; r += 4)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            four[r + 2 * k] = _mm256_unpacklo_epi64(two[r + k], two[r + k + 2]);
            four[r + 2 * k + 1] = _mm256_unpackhi_epi64(two[r + k], two[r + k + 2]);
        }
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        v[r] = _mm256_permute2x128_si256(four[r], four[r + 4], 0x20);
        v[r + 4] = _mm256_permute2x128_si256(four[r], four[r + 4], 0x31);
    }
}

/* ---- keys of 8 bytes: they compare as signed integers, with the upper bit flipped ---- */

WI_INLINE __m256i splat_u64(uint64_t key) {
    return _mm256_set1_epi64x((long long)key);
}

WI_INLINE __m256i load_first_u64(const uint64_t *from, int n) {
    const __m256i filled = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0));
    const __m256i keys = _mm256_maskload_epi64((const long long *)from, filled);
    return _mm256_or_si256(keys, _mm256_xor_si256(filled, _mm256_set1_epi64x(-1)));
}

WI_INLINE __m256i form_u64(__m256i v) {
    return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN));
}

WI_INLINE __m256i chosen(__m256i a, __m256i b, __m256i takes_b) {
    return (__m256i)_mm256_blendv_pd((__m256d)a, (__m256d)b, (__m256d)takes_b);
}

WI_INLINE __m256i lesser_u64(__m256i a, __m256i b) {
    return chosen(a, b, _mm256_cmpgt_epi64(a, b));
}

WI_INLINE __m256i greater_u64(__m256i a, __m256i b) {
    return chosen(b, a, _mm256_cmpgt_epi64(a, b));
}

WI_INLINE unsigned below_u64(__m256i v, __m256i p, bool equal) {
    const __m256i is = equal ? _mm256_cmpgt_epi64(v, p) : _mm256_cmpgt_epi64(p, v);
    const unsigned lanes = (unsigned)_mm256_movemask_pd((__m256d)is);
    return equal ? lanes ^ 0xf : lanes;
}

WI_INLINE __m256i reversed_u64(__m256i v) {
    return _mm256_permute4x64_epi64(v, 0x1b);
}

WI_INLINE __m256i sorted_row_u64(__m256i v) {
    __m256i other = _mm256_permute4x64_epi64(v, 0x4e);
    v = _mm256_blend_epi32(lesser_u64(v, other), greater_u64(v, other), 0xf0);
    other = _mm256_shuffle_epi32(v, 0x4e);
    return _mm256_blend_epi32(lesser_u64(v, other), greater_u64(v, other), 0xcc);
}

/* Columns become pairs of rows. */
WI_INLINE void turn_u64(__m256i *v) {
    __m256i turned[MOST_ROWS];
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        const __m256i *const from = v + 4 * h;
        const __m256i a = _mm256_unpacklo_epi64(from[0], from[1]);
        const __m256i b = _mm256_unpackhi_epi64(from[0], from[1]);
        const __m256i c = _mm256_unpacklo_epi64(from[2], from[3]);
        const __m256i d = _mm256_unpackhi_epi64(from[2], from[3]);
        turned[h] = _mm256_permute2x128_si256(a, c, 0x20);
        turned[h + 2] = _mm256_permute2x128_si256(b, d, 0x20);
        turned[h + 4] = _mm256_permute2x128_si256(a, c, 0x31);
        turned[h + 6] = _mm256_permute2x128_si256(b, d, 0x31);
    }
#pragma GCC unroll 8
    for (int r = 0; r < MOST_ROWS; r++)
        v[r] = turned[r];
}

#define NAME(f) f##_u32
#define T uint32_t
#define LANES 8
#define BITS 32
#define SORTED 1
#define TO_FRONT wi_bring_to_front_4
#include "sort/sort_avx2_simd.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define LANES 4
#define BITS 64
#define SORTED 2
#define TO_FRONT wi_bring_to_front_8
#include "sort/sort_avx2_simd.inc"

#endif
