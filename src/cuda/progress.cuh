/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in device memory by which the blocks of a kernel tell each other how far they are. A
 * thread that reads a count also sees everything that was written before the additions that made
 * the count (release and acquire). CUDA C has no expression for the PTX used here, which takes less
 * time than fences around relaxed accesses. */
#ifndef WI_PROGRESS_CUH
#define WI_PROGRESS_CUH

#include <stdint.h>

#ifdef WEFT_EMU
inline void wi_advance(uint32_t *count, uint32_t by) {
    __threadfence();
    atomicAdd(count, by);
}
inline uint32_t wi_progress(const uint32_t *count) {
    const uint32_t now = atomicAdd((uint32_t *)count, 0u);
    __threadfence();
    return now;
}
#else
/* Called by one lane. After a __syncwarp it also publishes what the other lanes of the warp wrote.
 */
__device__ inline void wi_advance(uint32_t *count, uint32_t by) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(count), "r"(by) : "memory");
}
__device__ inline uint32_t wi_progress(const uint32_t *count) {
    uint32_t now;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    return now;
}
#endif

#endif
