/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of unsigned numbers whose outcome is added up: the carry of a subtraction is added by
 * the next instruction, where a comparison would first become a number. */
#ifndef WI_CARRY_CUH
#define WI_CARRY_CUH

#include "cuda/bits.cuh"

/* The word in which numbers of type U are subtracted. */
template <class U>
using wi_carry_word = typename wi_choose<sizeof(U) == 8, uint64_t, uint32_t>::type;

/* wi_subtract_counting: a - b; adds 1 to *count if a >= b.
 * wi_mark_up_to: *mask, moved up by one bit, and a <= most in bit 0. */
#ifdef WEFT_EMU
template <class Word>
inline Word wi_subtract_counting(Word a, Word b, uint32_t *count) {
    *count += a >= b;
    return a - b;
}
template <class Word>
inline void wi_mark_up_to(Word a, Word most, uint32_t *mask) {
    *mask = 2 * *mask + (a <= most);
}
#else
__device__ inline uint32_t wi_subtract_counting(uint32_t a, uint32_t b, uint32_t *count) {
    uint32_t less;
    asm("sub.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %1, 0;"
        : "=&r"(less), "+r"(*count)
        : "r"(a), "r"(b));
    return less;
}
__device__ inline uint64_t wi_subtract_counting(uint64_t a, uint64_t b, uint32_t *count) {
    uint64_t less;
    asm("sub.cc.u64 %0, %2, %3;\n\taddc.u32 %1, %1, 0;"
        : "=&l"(less), "+r"(*count)
        : "l"(a), "l"(b));
    return less;
}

__device__ inline void wi_mark_up_to(uint32_t a, uint32_t most, uint32_t *mask) {
    asm("{\n\t.reg .u32 less;\n\tsub.cc.u32 less, %1, %2;\n\taddc.u32 %0, %0, %0;\n\t}"
        : "+r"(*mask)
        : "r"(most), "r"(a));
}
__device__ inline void wi_mark_up_to(uint64_t a, uint64_t most, uint32_t *mask) {
    asm("{\n\t.reg .u64 less;\n\tsub.cc.u64 less, %1, %2;\n\taddc.u32 %0, %0, %0;\n\t}"
        : "+r"(*mask)
        : "l"(most), "l"(a));
}
#endif

#endif
