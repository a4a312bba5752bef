/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the keys of a thread's share below, at the ends of and inside each bracket, and keeps
 * those inside, for one instruction set. */
#include "quantile/quantile_simd.h"

#include <string.h>

#include "cpu/stream.h"
#include "sort/sort_simd.h"

enum {
    BLOCK = 1024 /* elements at a time: their keys stay in the first-level cache */
};

/* The indices of the bytes that are set, of BLOCK bytes of 0 or 1; returns how many. */
WI_INLINE size_t list(const uint8_t *flags, uint16_t *at) {
    size_t count = 0;
    for (size_t i = 0; i < BLOCK; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, flags + i, sizeof word);
        for (; word != 0; word &= word - 1)
            at[count++] = (uint16_t)(i + (size_t)__builtin_ctzll(word) / 8);
    }
    return count;
}

#define NAME(f) f##_8
#define T uint8_t
#include "quantile/quantile_simd_pass.inc"

#define NAME(f) f##_16
#define T uint16_t
#include "quantile/quantile_simd_pass.inc"

#define NAME(f) f##_32
#define T uint32_t
#include "quantile/quantile_simd_pass.inc"

#define NAME(f) f##_64
#define T uint64_t
#include "quantile/quantile_simd_pass.inc"

static void pass(wi_quantile_share *share) {
    switch (weft_type_size(share->type)) {
    case 1:
        pass_8(share);
        break;
    case 2:
        pass_16(share);
        break;
    case 4:
        pass_32(share);
        break;
    default:
        pass_64(share);
    }
}

const wi_quantile_simd WI_FOR_ISA(wi_quantile_simd) = {.pass = pass};
