/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 16 bytes in the memory of another GPU that carry a mark, by which the reader knows
 * that they have come: neither side needs a fence. Each four bytes lie beside the mark in a word of
 * eight, which is written and read as one. */
#ifndef WI_MARKED_CUH
#define WI_MARKED_CUH

#include <string.h>

#include "cuda/system.cuh"

struct alignas(16) wi_marked {
    uint64_t word[4];
};

#ifdef WEFT_EMU
/* There the bytes lie together, and one mark behind them: what was never written can be moved. */
inline void wi_marked_move(wi_marked *to, const void *from, size_t bytes, uint32_t mark,
                           EMU_SITE("wi_marked_move")) {
    emu_move(to, from, bytes);
    wi_publish(&to->word[2], mark, at);
}
template <class Vector>
bool wi_marked_read(const wi_marked *from, uint32_t mark, Vector *to, EMU_SITE("wi_marked_read")) {
    if (wi_observe(&from->word[2], at) != mark)
        return false;
    emu_move(to, from, sizeof *to);
    return true;
}
#else
template <class Vector>
__device__ void wi_marked_write(wi_marked *to, const Vector &from, uint32_t mark) {
    static_assert(sizeof(Vector) == 16, "half of what is marked");
    const uint64_t above = (uint64_t)mark << 32;
    uint32_t x[4];
    memcpy(x, &from, sizeof x);
#    pragma unroll
    for (int half = 0; half < 2; half++)
        asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};"
                     :
                     : "l"(&to->word[2 * half]), "l"(above | x[2 * half]),
                       "l"(above | x[2 * half + 1])
                     : "memory");
}
/* False if not all of it has come. */
template <class Vector>
__device__ bool wi_marked_read(const wi_marked *from, uint32_t mark, Vector *to) {
    static_assert(sizeof(Vector) == 16, "half of what is marked");
    uint64_t w[4];
    uint32_t x[4];
    bool all = true;
#    pragma unroll
    for (int half = 0; half < 2; half++)
        asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(w[2 * half]), "=l"(w[2 * half + 1])
                     : "l"(&from->word[2 * half])
                     : "memory");
#    pragma unroll
    for (int i = 0; i < 4; i++) {
        x[i] = (uint32_t)w[i];
        all = all && w[i] >> 32 == mark;
    }
    memcpy(to, x, sizeof x);
    return all;
}
#endif

#endif
