/* SPDX-License-Identifier: Apache-2.0 */
/* Words by which the kernels of several GPUs, and the host, wait for each other: in device memory
 * that the others reach, or in pinned memory. All accesses to such a word are these. CUDA C has no
 * expression for the PTX used here. */
#ifndef WI_SYSTEM_CUH
#define WI_SYSTEM_CUH

#include <stdint.h>

#ifdef WEFT_EMU
inline void wi_publish(uint64_t *p, uint64_t word, EMU_SITE("wi_publish")) {
    __threadfence();
    emu_atomic(
        p, word, at, [](uint64_t, uint64_t now) { return now; }, EMU_WRITE | EMU_SYSTEM);
}
inline uint64_t wi_observe(const uint64_t *p, EMU_SITE("wi_observe")) {
    const uint64_t word = emu_atomic(
        (uint64_t *)p, 0, at, [](uint64_t old, uint64_t) { return old; }, EMU_READ | EMU_SYSTEM);
    __threadfence();
    return word;
}
inline void wi_tell(uint64_t *p, uint64_t word, EMU_SITE("wi_tell")) {
    wi_publish(p, word, at);
}
inline uint64_t wi_heard(const uint64_t *p, EMU_SITE("wi_heard")) {
    return wi_observe(p, at);
}
/* Call it in every iteration of a loop that waits for such a word. */
inline void wi_spin_far(EMU_SITE("wi_spin_far")) {
    emu_spin_far(at);
}
#else
/* Writes the word. Whoever reads it by wi_observe, on any GPU or the host, then sees what this
 * thread did before, and what others of the block did before a barrier that this thread has passed.
 */
__device__ inline void wi_publish(uint64_t *p, uint64_t word) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(p), "l"(word) : "memory");
}
__device__ inline uint64_t wi_observe(const uint64_t *p) {
    uint64_t word;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
    return word;
}
/* The same words without a promise about anything else in memory. */
__device__ inline void wi_tell(uint64_t *p, uint64_t word) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(p), "l"(word) : "memory");
}
__device__ inline uint64_t wi_heard(const uint64_t *p) {
    uint64_t word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
    return word;
}
__device__ inline void wi_spin_far() {}
#endif

#endif
