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

#endif
