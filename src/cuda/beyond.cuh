/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of numbers that are equally far apart, each one product of its own: where the compiler
 * sees the products of a loop that it unrolls, it makes chains of sums of them, or of one of 64
 * bits four instructions. */
#ifndef WI_BEYOND_CUH
#define WI_BEYOND_CUH

#include <stdint.h>

/* k pieces of so many bytes behind p: in shared, in global and in any memory. */
#ifdef WEFT_EMU
template <class T>
inline T *wi_beyond(T *p, int k, int bytes) {
    return (T *)((char *)p + (int64_t)k * bytes);
}
#    define wi_shared_beyond wi_beyond
#    define wi_global_beyond wi_beyond
#else
template <class T>
__device__ __forceinline__ T *wi_shared_beyond(T *p, int k, int bytes) {
    uint32_t address = (uint32_t)__cvta_generic_to_shared(p);
    if (k != 0)
        asm("mad.lo.s32 %0, %1, %2, %0;" : "+r"(address) : "r"(k), "r"(bytes));
    return (T *)__cvta_shared_to_generic(address);
}
template <class T>
__device__ __forceinline__ T *wi_global_beyond(T *p, int k, int bytes) {
    uint64_t address = (uint64_t)__cvta_generic_to_global(p);
    if (k != 0)
        asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(address) : "r"(k), "r"(bytes));
    return (T *)__cvta_global_to_generic(address);
}
template <class T>
__device__ __forceinline__ T *wi_beyond(T *p, int k, int bytes) {
    if (k != 0)
        asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(p) : "r"(k), "r"(bytes));
    return p;
}
#endif

#endif
