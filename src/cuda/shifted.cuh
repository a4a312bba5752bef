/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen bytes from anywhere by accesses of aligned ones. */
#ifndef WI_SHIFTED_CUH
#define WI_SHIFTED_CUH

#include <stdint.h>
#include <string.h>

#include "cuda/launch.cuh"

/* Sixteen bytes of 32, from byte `past` on, which is less than 16. */
__device__ inline uint4 wi_shift(const uint4 &low, const uint4 &high, unsigned past) {
    const uint32_t x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    uint32_t by_two[6], by_one[5], to[4];
#pragma unroll
    for (int q = 0; q < 6; q++)
        by_two[q] = past & 8 ? x[q + 2] : x[q];
#pragma unroll
    for (int q = 0; q < 5; q++)
        by_one[q] = past & 4 ? by_two[q + 1] : by_two[q];
#pragma unroll
    for (int q = 0; q < 4; q++)
        to[q] = (uint32_t)(((uint64_t)by_one[q + 1] << 32 | by_one[q]) >> (past % 4 * 8));
    return {to[0], to[1], to[2], to[3]};
}

/* The sixteen bytes at p, of an array that begins at `begin` and ends before `end`. */
struct wi_shifted_source {
    const char *begin, *end;

    /* Are the aligned ones that load() reads in the array? */
    __device__ bool has_all(const void *p) const {
        const uintptr_t low = (uintptr_t)p / 16 * 16;
        return low >= (uintptr_t)begin && low + 32 <= (uintptr_t)end;
    }
    __device__ static uint4 load(const void *p) {
        const unsigned past = (unsigned)((uintptr_t)p % 16);
        const uint4 *const low = (const uint4 *)((const char *)p - past);
        uint4 high = {};
        if (past > 0)
            high = low[1];
        return wi_shift(low[0], high, past);
    }
    /* By single bytes; those that are not in the array are 0. */
    __device__ uint4 load_bytes(const void *p) const {
        uint8_t bytes[16];
#pragma unroll
        for (int q = 0; q < 16; q++)
            bytes[q] = (const char *)p + q < end ? ((const uint8_t *)p)[q] : (uint8_t)0;
        uint4 x;
        memcpy(&x, bytes, sizeof x);
        return x;
    }
};

#endif
