/* SPDX-License-Identifier: Apache-2.0 */
/* f32 cut into three bf16 each (gemm_parts.cuh), eight elements of a line by a thread, so 32 of k
 * by four. Which place of a product each of the 32 takes does not matter, if it is the same in both
 * factors: here those of thread t are 4t to 4t + 3 and 16 + 4t to 16 + 4t + 3, so that four threads
 * read 64 bytes that lie together. Two products of tensor cores take all of them, two words of each
 * of a thread's. */
#ifndef WI_GEMM_NARROW_CUT_CUH
#define WI_GEMM_NARROW_CUT_CUH

#include "cuda/bytes.cuh"
#include "cuda/tensor.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/gemm_narrow_slices.h"

constexpr int wi_cut_elements = 8, wi_cut_parts = 3, wi_cut_steps = 2, wi_cut_words = 4;
constexpr int wi_cut_depth = WI_NARROW_F32_DEPTH; /* of k, of four threads */

/* Which of 32 of k thread t of four has as its element q of eight. */
__device__ inline int wi_cut_k_of(int t, int q) {
    return q / 4 * 16 + 4 * t + q % 4;
}

/* Which parts are multiplied, the smallest products first. */
struct wi_cut_pair {
    int of_long, of_short;
};
constexpr int wi_cut_pairs = 6;
__device__ inline constexpr wi_cut_pair wi_cut_factors(int which) {
    constexpr wi_cut_pair all[wi_cut_pairs] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
    return all[which];
}

/* Has each of some elements parts? Their largest ones tell: see wi_gemm_has_no_parts. With the sign
 * set, and 1 less, halves are 0x7fff for 0 and from 0x8000 on for all others, in the order of their
 * magnitudes: as numbers without a sign 0 is the least of them, and with a sign the largest. */
__device__ inline bool wi_cut_is_fit(const uint32_t (&largest)[wi_cut_words]) {
    constexpr uint32_t signs = 0x80008000u, ones = 0x00010001u;
    constexpr uint32_t least = ((0x8000u | (127 - 100) << 7) - 1) * ones; /* of 2^-100 */
    constexpr uint32_t most = ((0x8000u | (127 + 127) << 7) - 2) * ones;  /* below 2^127 */
    uint32_t low = least, high = most;
#pragma unroll
    for (int w = 0; w < wi_cut_words; w++) {
        const uint32_t x = (largest[w] | signs) - ones;
        low = wi_min_signed_halves(low, x);
        high = wi_max_halves(high, x);
    }
    return low == least && high == most;
}

/* False if some of them are not the sums of their parts. */
__device__ inline bool wi_cut(const float (&x)[wi_cut_elements],
                              uint32_t (&to)[wi_cut_parts][wi_cut_words]) {
#pragma unroll
    for (int w = 0; w < wi_cut_words; w++) {
        float low = x[2 * w], high = x[2 * w + 1];
#pragma unroll
        for (int part = 0; part < wi_cut_parts; part++) {
            const uint32_t both = wi_pack_bf16(low, high);
            to[part][w] = both;
            low -= wi_low_bf16(both);
            high -= wi_high_bf16(both);
        }
    }
    return wi_cut_is_fit(to[0]);
}

#endif
