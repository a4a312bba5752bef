/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several rows becomes the pivot. */
#ifndef WI_LU_SIZE_CUH
#define WI_LU_SIZE_CUH

#include <string.h>

#include "cuda/warp.cuh"
#include "lu/lu.h"

/* How large a number is, so that they compare as integers; NaN is larger than all, and equal to
 * other NaN. */
struct wi_lu_size {
    uint32_t high, low;
};
__device__ inline wi_lu_size wi_lu_size_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? wi_lu_size{~0u, 0}
                  : wi_lu_size{(uint32_t)(bits >> 32) & ~(1u << 31), (uint32_t)bits};
}
__device__ inline wi_lu_size wi_lu_size_of(float x) {
    constexpr uint32_t not_a_number = 0x7f800001u; /* the least */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~(1u << 31);
    return {bits < not_a_number ? bits : not_a_number, 0};
}
/* The number of that size, with the sign in the top bit. */
__device__ inline void wi_lu_number(wi_lu_size size, uint32_t sign, double &x) {
    const uint64_t bits = (uint64_t)(size.high | sign) << 32 | size.low;
    memcpy(&x, &bits, sizeof x);
}
__device__ inline void wi_lu_number(wi_lu_size size, uint32_t sign, float &x) {
    const uint32_t bits = size.high | sign;
    memcpy(&x, &bits, sizeof x);
}
template <class T>
__device__ bool wi_lu_is_finite(wi_lu_size s) {
    return s.high < (sizeof(T) == 8 ? 0x7ff00000u : 0x7f800000u);
}

/* A row that may become the pivot: how large its element is, and which row it is now. */
constexpr uint32_t wi_lu_no_row = ~0u;
struct wi_lu_candidate {
    wi_lu_size size;
    uint32_t row;

    __device__ bool precedes(const wi_lu_candidate &other) const {
        const bool same_high = size.high == other.size.high, same_low = size.low == other.size.low;
        return (size.high > other.size.high) | (same_high & (size.low > other.size.low)) |
               (same_high & same_low & (row < other.row));
    }
};

/* Which lanes may have the best candidate, and which one has, a bit each. Mostly the high word
 * alone decides. */
__device__ inline unsigned wi_lu_best_lanes(const wi_lu_candidate &mine) {
    return __ballot_sync(wi_all_lanes, mine.size.high == wi_warp_max(mine.size.high));
}
__device__ inline unsigned wi_lu_best_of(unsigned lanes, const wi_lu_candidate &mine) {
    if (lanes & (lanes - 1)) {
        bool in = lanes >> wi_lane() & 1;
        const uint32_t low = wi_warp_max(in ? mine.size.low : 0);
        in = in && mine.size.low == low;
        const uint32_t row = wi_warp_min(in ? mine.row : wi_lu_no_row);
        lanes = __ballot_sync(wi_all_lanes, in && mine.row == row);
        lanes &= 0 - lanes;
    }
    return lanes;
}
/* The number of that lane, mostly known before it is known that it is the only one. */
__device__ inline int wi_lu_best_lane(const wi_lu_candidate &mine) {
    const unsigned lanes = wi_lu_best_lanes(mine);
    int best = wi_highest_bit(lanes);
    if (lanes & (lanes - 1))
        best = wi_highest_bit(wi_lu_best_of(lanes, mine));
    return best;
}

__device__ inline wi_lu_candidate wi_lu_shuffle(const wi_lu_candidate &c, int lane) {
    return {{wi_shuffle(c.size.high, lane), wi_shuffle(c.size.low, lane)}, wi_shuffle(c.row, lane)};
}

/* Is a pivot 0, or no number? */
template <class T>
__device__ bool wi_lu_is_odd(wi_lu_size pivot) {
    return !wi_lu_is_finite<T>(pivot) || (pivot.high | pivot.low) == 0;
}
/* Records that it is. By one thread; columns come in order. */
template <class T>
__device__ void wi_lu_tell(int64_t *first, wi_lu_size pivot, int64_t column) {
    const int word = wi_lu_is_finite<T>(pivot) ? WI_LU_SINGULAR : WI_LU_INFINITE;
    if (wi_lu_is_odd<T>(pivot) && first[word] == WI_LU_NONE)
        first[word] = column;
}

#endif
