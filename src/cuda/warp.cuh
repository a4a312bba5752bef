/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles of any type, and reductions and scans over the 32 lanes of a warp. */
#ifndef WI_WARP_CUH
#define WI_WARP_CUH

#include <stdint.h>
#include <string.h>

constexpr unsigned wi_all_lanes = 0xffffffffu;

__device__ inline int wi_lane() {
    return (int)(threadIdx.x % 32);
}

/* What one shuffle moves: 32 bits. Emu moves more, as it takes long for lanes to meet. */
#ifdef WEFT_EMU
using wi_shuffle_word = uint64_t;
#else
using wi_shuffle_word = uint32_t;
#endif

/* Applies a shuffle to every word of x. */
template <class T, class Shuffle>
__device__ inline T wi_shuffle_words(T x, Shuffle shuffle) {
    constexpr int words = (sizeof(T) + sizeof(wi_shuffle_word) - 1) / sizeof(wi_shuffle_word);
    wi_shuffle_word word[words] = {};
    memcpy(word, &x, sizeof x);
#pragma unroll
    for (int i = 0; i < words; i++)
        word[i] = shuffle(word[i]);
    memcpy(&x, word, sizeof x);
    return x;
}

template <class T>
__device__ inline T wi_shuffle(T x, int lane) {
    return wi_shuffle_words(x,
                            [=](wi_shuffle_word w) { return __shfl_sync(wi_all_lanes, w, lane); });
}
template <class T>
__device__ inline T wi_shuffle_xor(T x, int mask) {
    return wi_shuffle_words(
        x, [=](wi_shuffle_word w) { return __shfl_xor_sync(wi_all_lanes, w, mask); });
}
template <class T>
__device__ inline T wi_shuffle_up(T x, int lanes) {
    return wi_shuffle_words(
        x, [=](wi_shuffle_word w) { return __shfl_up_sync(wi_all_lanes, w, lanes); });
}

/* The values of all 32 lanes combined, in every lane; in lane order, by the same tree every time.
 */
template <class T, class Combine>
__device__ inline T wi_warp_reduce(T x, Combine combine) {
    const int lane = wi_lane();
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T other = wi_shuffle_xor(x, step);
        x = lane & step ? combine(other, x) : combine(x, other);
    }
    return x;
}

/* The place of the highest bit that is set; x is not 0. */
__device__ inline int wi_highest_bit(uint32_t x) {
#ifdef WEFT_EMU
    return 31 - __clz((int)x);
#else
    int place;
    asm("bfind.u32 %0, %1;" : "=r"(place) : "r"(x));
    return place;
#endif
}

/* The lanes' sum, in every lane. */
__device__ inline uint32_t wi_warp_sum(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(wi_all_lanes, x);
#else
    return wi_warp_reduce(x, [](uint32_t a, uint32_t b) { return a + b; });
#endif
}

/* The largest, or the smallest, of the lanes' numbers, in every lane. */
__device__ inline uint32_t wi_warp_max(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(wi_all_lanes, x);
#else
    return wi_warp_reduce(x, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
#endif
}
__device__ inline uint32_t wi_warp_min(uint32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(wi_all_lanes, x);
#else
    return wi_warp_reduce(x, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
#endif
}

/* Lane i gets the sum of lanes 0..i. The shuffle instruction itself tells whether there is a lane
 * to add. */
__device__ inline uint32_t wi_warp_sum_scan(uint32_t x) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
#ifdef WEFT_EMU
        const uint32_t before = wi_shuffle_up(x, step);
        if (wi_lane() >= step)
            x += before;
#else
        asm volatile("{\n\t.reg .pred within;\n\t.reg .b32 before;\n\t"
                     "shfl.sync.up.b32 before|within, %0, %1, 0, -1;\n\t"
                     "@within add.u32 %0, %0, before;\n\t}"
                     : "+r"(x)
                     : "r"(step));
#endif
    }
    return x;
}

/* Lane i gets the values of lanes 0..i combined; only the first `lanes` need it. */
template <int lanes = 32, class T, class Combine>
__device__ inline T wi_warp_scan(T x, Combine combine) {
    const int lane = wi_lane();
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) {
        T before = wi_shuffle_up(x, step);
        if (lane >= step)
            x = combine(before, x);
    }
    return x;
}

#endif
