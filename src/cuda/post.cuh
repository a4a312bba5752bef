/* SPDX-License-Identifier: Apache-2.0 */
/* Words in shared memory by which a block's warps tell each other how far they are (release and
 * acquire), where a barrier would make each wait for all. Whoever reads a word by wi_hear sees all
 * that was written before wi_tell wrote it. */
#ifndef WI_POST_CUH
#define WI_POST_CUH

#include <stdint.h>

#ifdef WEFT_EMU
inline void wi_tell(uint32_t *word, uint32_t now) {
    atomicExch(word, now);
}
inline uint32_t wi_hear(uint32_t *word) {
    return atomicAdd(word, 0u);
}
#else
/* Called by one lane. After a __syncwarp it also publishes what the other lanes of its warp wrote.
 */
__device__ inline void wi_tell(uint32_t *word, uint32_t now) {
    asm volatile(
        "st.release.cta.shared.u32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(word)),
        "r"(now)
        : "memory");
}
__device__ inline uint32_t wi_hear(const uint32_t *word) {
    uint32_t now;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                 : "=r"(now)
                 : "r"((uint32_t)__cvta_generic_to_shared(word))
                 : "memory");
    return now;
}
#endif

#endif
