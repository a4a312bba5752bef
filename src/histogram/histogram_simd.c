/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that find slots and number pairs of bytes, written so that compilers vectorise them. */
#include "histogram/histogram_simd.h"

#include "cpu/vector.h"

/* The slot of a value that is `at` bins above the first edge: 0 if at < 0, else the bin's number
 * plus 1, at most count + 1. NaN gives 0. Clamped first, as only then it fits an integer. */
WI_INLINE uint32_t slot_at(double at, double count) {
    const double not_below = at >= 0 ? at : -1;
    const double inside = not_below < count ? not_below : count;
    return (uint32_t)((int32_t)inside + 1);
}

#define ELEMENT uint16_t
#define SHIFT_SLOTS shift_slots_16
#define LINEAR_SLOTS linear_slots_16
#include "histogram/histogram_simd_int.inc"
#define ELEMENT uint32_t
#define SHIFT_SLOTS shift_slots_32
#define LINEAR_SLOTS linear_slots_32
#include "histogram/histogram_simd_int.inc"
#define ELEMENT uint64_t
#define SHIFT_SLOTS shift_slots_64
#define LINEAR_SLOTS linear_slots_64
#include "histogram/histogram_simd_int.inc"

#define ELEMENT float
#define LINEAR_SLOTS linear_slots_f32
#include "histogram/histogram_simd_float.inc"
#define ELEMENT double
#define LINEAR_SLOTS linear_slots_f64
#include "histogram/histogram_simd_float.inc"

/* Two bytes wherever they lie: gcc 13 does not vectorise a loop with memcpy. */
typedef uint16_t two_bytes __attribute__((aligned(1), may_alias));

/* 256 times the distance of the two bytes modulo 256, plus the byte from which counting up that far
 * gives the other (wi_pairs_run). Without conditions: a compiler that makes branches of them cannot
 * vectorise the loop, and half of those would be predicted wrongly. */
static void number_pairs(size_t n, const uint8_t *x, uint16_t *pairs) {
#pragma omp simd
    for (size_t k = 0; k < n; k++) {
        const uint16_t both = ((const two_bytes *)x)[k];
        /* 256 times (high - low), modulo 256 and signed; and all bits set if that is negative */
        const int16_t up = (int16_t)((both - (both << 8)) & 0xff00);
        const uint16_t falls = (uint16_t)(up >> 15);
        const uint16_t from = (uint16_t)((both >> 8 & falls) | (both & 0xff & ~falls));
        pairs[k] = (uint16_t)((uint16_t)((up ^ falls) - falls) | from);
    }
}

const wi_histogram_simd WI_FOR_ISA(wi_histogram_simd) = {
    .shift = {[WEFT_I16] = shift_slots_16,
              [WEFT_U16] = shift_slots_16,
              [WEFT_I32] = shift_slots_32,
              [WEFT_U32] = shift_slots_32,
              [WEFT_I64] = shift_slots_64,
              [WEFT_U64] = shift_slots_64},
    .linear = {[WEFT_I16] = linear_slots_16,
               [WEFT_U16] = linear_slots_16,
               [WEFT_I32] = linear_slots_32,
               [WEFT_U32] = linear_slots_32,
               [WEFT_I64] = linear_slots_64,
               [WEFT_U64] = linear_slots_64,
               [WEFT_F32] = linear_slots_f32,
               [WEFT_F64] = linear_slots_f64},
    .pairs = number_pairs,
};
