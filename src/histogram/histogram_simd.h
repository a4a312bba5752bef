/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of many elements at once. */
#ifndef WI_HISTOGRAM_SIMD_H
#define WI_HISTOGRAM_SIMD_H

#include "cpu/isa.h"
#include "histogram/histogram.h"

/* Finds the slots of n elements. */
typedef void (*wi_slots_run)(const wi_bins *bins, size_t n, const void *x, uint32_t *slots);

enum {
    WI_BYTE_PAIRS = 129 * 256
};

/* Numbers the pairs x[2 k], x[2 k + 1] of bytes for k < n, the same in either order, below
 * WI_BYTE_PAIRS: going up modulo 256, one of the two is at most 128 above the other. The number is
 * the other one, plus 256 times the distance. */
typedef void (*wi_pairs_run)(size_t n, const uint8_t *x, uint16_t *pairs);

/* Indexed by type; NULL for types that have none. Integers use the entries of their unsigned type.
 */
typedef struct wi_histogram_simd {
    wi_slots_run shift[WEFT_TYPE_COUNT];  /* for SHIFT */
    wi_slots_run linear[WEFT_TYPE_COUNT]; /* for LINEAR if it is right everywhere */
    wi_pairs_run pairs;
} wi_histogram_simd;

WI_DECLARE_ISAS(wi_histogram_simd, wi_histogram_simd);

#endif
