/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread of rung folds has in shared memory: integers of 128 bits, 64 bits apart, to
 * which it adds what its folds have, and what they cannot take. */
#ifndef WI_EXACT_BINS_CUH
#define WI_EXACT_BINS_CUH

#include "exact/exact_cuda.cuh"

constexpr int wi_exact_bins = 33;
constexpr int wi_exact_bin_unit = -1088;     /* exponent of the unit of bin 0 */
constexpr unsigned wi_exact_bin_adds = 1900; /* before bins are carried: 2^11 could overflow */

struct alignas(16) wi_exact_bin {
    uint64_t low, high; /* two's complement */
};

__device__ inline wi_exact_bin wi_exact_plus(wi_exact_bin a, wi_exact_bin b) {
    const uint64_t low = a.low + b.low;
    return {low, a.high + b.high + (low < a.low)};
}

/* The bins of a thread. Those of a block's threads are interleaved, so that the lanes of a warp use
 * different banks. */
struct wi_exact_thread_bins {
    wi_exact_bin *mine;
    __device__ wi_exact_bin &at(int b) const {
        return mine[b * (int)blockDim.x];
    }
    /* Adds m 2^exponent. */
    __device__ void add(int64_t m, int exponent) const {
        const unsigned at_bit = (unsigned)(exponent - wi_exact_bin_unit), shift = at_bit % 64;
        wi_exact_bin &to = at((int)(at_bit / 64));
        to = wi_exact_plus(to, {(uint64_t)m << shift, (uint64_t)((m >> 1) >> (63 - shift))});
    }
    __device__ void add(double x) const {
        const uint64_t bits = wi_bit_cast<uint64_t>(x);
        uint64_t m;
        const int exponent = wi_exact_split(bits, &m);
        add(bits >> 63 ? -(int64_t)m : (int64_t)m, exponent);
    }
    /* Leaves 64 bits in each bin but the last. */
    __device__ void carry() const {
        wi_exact_bin over = {0, 0};
#pragma unroll 1
        for (int b = 0; b < wi_exact_bins; b++) {
            const wi_exact_bin sum = wi_exact_plus(at(b), over);
            const bool top = b == wi_exact_bins - 1;
            over = {sum.high, (uint64_t)((int64_t)sum.high >> 63)};
            at(b) = {sum.low, top ? sum.high : 0};
        }
    }
};

/* The sum of many numbers of 128 bits, whose halves are added up apart. */
struct wi_exact_bin_halves {
    wi_exact_bin low, high;
};

__device__ inline wi_exact_bin_halves wi_exact_with_halves(wi_exact_bin_halves a,
                                                           wi_exact_bin_halves b) {
    return {wi_exact_plus(a.low, b.low), wi_exact_plus(a.high, b.high)};
}

/* Adds a number of 128 bits in units of 2^(32 first) of the device's number. */
__device__ inline void wi_exact_add_bin(wi_exact_shared_sum *sum, int first, wi_exact_bin value) {
    wi_exact_to_word(sum, first, (int64_t)(value.low & UINT32_MAX));
    wi_exact_to_word(sum, first + 1, (int64_t)(value.low >> 32));
    wi_exact_to_word(sum, first + 2, (int64_t)value.high);
}

/* Adds the bins of all threads of the block to the device's number: of W warps, warp w takes bins
 * w, w + W, and so on. */
__device__ inline void wi_exact_gather_bins(wi_exact_shared_sum *sum, const wi_exact_bin *all) {
    constexpr int first_word = (wi_exact_bin_unit - WI_EXACT_UNIT) / 32;
    const int threads = (int)blockDim.x;
    for (int b = (int)threadIdx.x / 32; b < wi_exact_bins; b += threads / 32) {
        wi_exact_bin_halves total = {};
        for (int t = wi_lane(); t < threads; t += 32) {
            const wi_exact_bin of_thread = all[b * threads + t];
            const uint64_t sign = (uint64_t)((int64_t)of_thread.high >> 63);
            total = wi_exact_with_halves(total, {{of_thread.low, 0}, {of_thread.high, sign}});
        }
        const bool none = (total.low.low | total.low.high | total.high.low | total.high.high) == 0;
        if (__all_sync(wi_all_lanes, none))
            continue;
        total = wi_warp_reduce(total, wi_exact_with_halves);
        if (wi_lane() == 0) {
            wi_exact_add_bin(sum, first_word + 2 * b, total.low);
            wi_exact_add_bin(sum, first_word + 2 * b + 2, total.high);
        }
    }
}

#endif
