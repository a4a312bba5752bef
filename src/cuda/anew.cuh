/* SPDX-License-Identifier: Apache-2.0 */
/* For what is cheaper computed again than kept. */
#ifndef WI_ANEW_CUH
#define WI_ANEW_CUH

#include <stdint.h>

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

/* The same object in shared memory, whose address the compiler keeps: one that it knows it computes
 * at each use, from the number of the block in its cluster, which takes long to read. What is there
 * is accessed by types that are aligned as they should be: the compiler knows no more of it. */
#ifdef WEFT_EMU
template <class T>
inline T &wi_shared_anew(T &x) {
    return x;
}
#else
template <class T>
__device__ inline T &wi_shared_anew(T &x) {
    uint32_t address = (uint32_t)__cvta_generic_to_shared(&x);
    asm volatile("" : "+r"(address));
    return *(T *)__cvta_shared_to_generic(address);
}
#endif

#endif
