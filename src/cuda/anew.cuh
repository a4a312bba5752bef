/* SPDX-License-Identifier: Apache-2.0 */
/* For what is cheaper computed again than kept. */
#ifndef WI_ANEW_CUH
#define WI_ANEW_CUH

/* x, of which the compiler no longer knows that it is the same each time: what depends on it stays
 * where it is in a loop, and takes no registers before. */
#ifdef WEFT_EMU
inline unsigned wi_anew(unsigned x) {
    return x;
}
#else
__device__ inline unsigned wi_anew(unsigned x) {
    asm volatile("" : "+r"(x));
    return x;
}
#endif

/* The number of this thread, anew each time: in a kernel of several parts, what the compiler
 * computes from it in one part does not take registers in the others. */
#ifdef WEFT_EMU
inline int wi_thread_here() {
    return (int)threadIdx.x;
}
#else
__device__ inline int wi_thread_here() {
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}
#endif

#endif
