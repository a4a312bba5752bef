/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksort of whole keys of 4 bytes with vectors of 32 bytes, for AVX2, which has no minima of 8.
 * A partition permutes the keys of a vector so that those below the pivot are in front, and stores
 * all of them at the left end of the other array and at its right end. Few keys are sorted in
 * registers: columns of eight rows by a network, and then rows are merged. */
#ifndef WI_SORT_AVX2_SIMD_H
#define WI_SORT_AVX2_SIMD_H

#include "cpu/to_front.h"

enum {
    LANES = 8,
    ROWS = 8 /* that are sorted in registers */
};

WI_INLINE void order_rows(__m256i *v, int a, int b) {
    const __m256i low = _mm256_min_epu32(v[a], v[b]);
    v[b] = _mm256_max_epu32(v[a], v[b]);
    v[a] = low;
}

/* Sorts every column, by Batcher's network. */
WI_INLINE void sort_columns(__m256i *v) {
    static const unsigned char pairs[][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6},
                                             {5, 7}, {1, 2}, {5, 6}, {0, 4}, {1, 5}, {2, 6}, {3, 7},
                                             {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 32
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        order_rows(v, pairs[k][0], pairs[k][1]);
}

/* Columns become rows. */
WI_INLINE void turn(__m256i *v) {
    __m256i two[ROWS], four[ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r += 2) {
        two[r] = _mm256_unpacklo_epi32(v[r], v[r + 1]);
        two[r + 1] = _mm256_unpackhi_epi32(v[r], v[r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < ROWS; r += 4)
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

/* Sorts a row that is bitonic: that rises and then falls, or a rotation of it. */
WI_INLINE __m256i sorted_row(__m256i v) {
    __m256i other = _mm256_permute2x128_si256(v, v, 1);
    v = _mm256_blend_epi32(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other), 0xf0);
    other = _mm256_shuffle_epi32(v, 0x4e);
    v = _mm256_blend_epi32(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other), 0xcc);
    other = _mm256_shuffle_epi32(v, 0xb1);
    return _mm256_blend_epi32(_mm256_min_epu32(v, other), _mm256_max_epu32(v, other), 0xaa);
}

/* Merges the sorted halves of groups of rows. The greater halves are bitonic from either end. */
WI_INLINE void merge_rows(__m256i *v, int group) {
    const __m256i reversed = _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i merged[ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++)
        if (r % group < group / 2) {
            const __m256i other =
                _mm256_permutevar8x32_epi32(v[r / group * group + group - 1 - r % group], reversed);
            merged[r] = _mm256_min_epu32(v[r], other);
            merged[r + group / 2] = _mm256_max_epu32(v[r], other);
        }
    for (int r = 0; group == 8 && r < ROWS; r += 4) {
        order_rows(merged, r, r + 2);
        order_rows(merged, r + 1, r + 3);
    }
    for (int r = 0; group >= 4 && r < ROWS; r += 2)
        order_rows(merged, r, r + 1);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++)
        v[r] = sorted_row(merged[r]);
}

/* Sorts n <= ROWS * LANES keys. */
static __attribute__((noinline)) void sort_few_u32(const uint32_t *from, uint32_t *to, size_t n) {
    const __m256i iota = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    uint32_t last[LANES];
    __m256i v[ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
        const __m256i filled = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n - r * LANES), iota);
        const __m256i keys = _mm256_maskload_epi32((const int *)(from + r * LANES), filled);
        v[r] = _mm256_or_si256(keys, _mm256_xor_si256(filled, _mm256_set1_epi32(-1)));
    }
    sort_columns(v);
    turn(v);
    merge_rows(v, 2);
    merge_rows(v, 4);
    merge_rows(v, 8);
#pragma GCC unroll 8
    for (size_t r = 0; r < ROWS; r++) {
        if ((r + 1) * LANES <= n) {
            _mm256_storeu_si256((__m256i *)(void *)(to + r * LANES), v[r]);
        } else if (r * LANES < n) {
            _mm256_storeu_si256((__m256i *)(void *)last, v[r]);
            memcpy(to + r * LANES, last, (n - r * LANES) * sizeof *to);
        }
    }
}

WI_INLINE uint32_t middle_u32(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The median of three medians of three. */
static uint32_t pivot_u32(const uint32_t *x, size_t n) {
    const size_t step = n / 9;
    uint32_t of[3];
    for (size_t k = 0; k < 3; k++)
        of[k] = middle_u32(x[step * k], x[step * (k + 3)], x[step * (k + 6) + step / 2]);
    return middle_u32(of[0], of[1], of[2]);
}

/* Partitions: keys below the pivot or, with `equal`, up to it go left; returns how many. */
WI_INLINE size_t divide_u32(const uint32_t *from, uint32_t *to, size_t n, uint32_t pivot,
                            bool equal) {
    const __m256i all = _mm256_set1_epi32((int)pivot);
    size_t left = 0, right = n, i = 0;
    for (; i + 2 * LANES <= n; i += LANES) { /* two vectors have room in `to` */
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        const __m256i is =
            _mm256_cmpeq_epi32(equal ? _mm256_min_epu32(v, all) : _mm256_max_epu32(v, all), v);
        const unsigned mask = (unsigned)_mm256_movemask_ps((__m256)is);
        const unsigned lower = equal ? mask : mask ^ 0xff;
        const __m128i lanes = _mm_loadl_epi64((const __m128i *)(const void *)&wi_to_front[lower]);
        const __m256i both = _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(lanes));
        const unsigned count = (unsigned)__builtin_popcount(lower);
        _mm256_storeu_si256((__m256i *)(void *)(to + left), both);
        _mm256_storeu_si256((__m256i *)(void *)(to + right - LANES), both);
        left += count;
        right -= LANES - count;
    }
    for (; i < n; i++) {
        const bool lower = equal ? from[i] <= pivot : from[i] < pivot;
        to[lower ? left : right - 1] = from[i];
        left += lower;
        right -= !lower;
    }
    return left;
}

/* Sorts n keys, which are in `from`, and leaves them in `home`: that is `from` if depth is even,
 * else `other`. The two exchange roles with every step. */
static void vector_quick_u32(uint32_t *from, uint32_t *other, uint32_t *home, size_t n,
                             unsigned depth, next_lines *next) {
    while (n > ROWS * LANES) {
        if (depth-- == 0) {
            const wi_sort_range range = {
                .key_bytes = 4, .end_bit = 32, .n = n, .keys = from, .spare_keys = other};
            radix_u32(&range);
            return;
        }
        const uint32_t pivot = pivot_u32(from, n);
        size_t left = divide_u32(from, other, n, pivot, false);
        if (left == 0) { /* no key is below the pivot: separate those equal to it */
            left = divide_u32(from, other, n, pivot, true);
            for (size_t i = 0; i < left; i++)
                home[i] = pivot;
        } else {
            vector_quick_u32(other, from, home, left, depth, next);
        }
        uint32_t *const swapped = from + left;
        from = other + left;
        other = swapped;
        home += left;
        n -= left;
    }
    bring_some(next);
    sort_few_u32(from, home, n);
}

/* Is the range for vectors: whole keys of 4 bytes, without values? */
static bool is_for_vectors(const wi_sort_range *range) {
    return range->value_bytes == 0 && range->first_bit == 0 && range->key_bytes == 4 &&
           range->end_bit == 32;
}

static void vector_sort(const wi_sort_range *range) {
    const char *const ahead = range->next;
    next_lines next = {ahead, ahead ? ahead + range->next_bytes : NULL};
    unsigned depth = 8; /* must be even */
    for (size_t n = range->n; n > 0; n /= 2)
        depth += 2;
    if (range->n <= ROWS * LANES)
        sort_few_u32(range->keys, range->keys, range->n);
    else if (first_fall_u32(range->n, range->keys, UINT32_MAX) < range->n)
        vector_quick_u32(range->keys, range->spare_keys, range->keys, range->n, depth, &next);
}

#endif
