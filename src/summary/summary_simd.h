/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of one block, compiled for each instruction set. Blocks, and lanes within them, are
 * the same for all sets, and so are the bits. */
#ifndef WI_SUMMARY_SIMD_H
#define WI_SUMMARY_SIMD_H

#include "cpu/isa.h"
#include "sort/sort.h"
#include "summary/summary.h"

enum {
    WI_SUMMARY_BLOCK = 512, /* elements: few, so that their mean is near each, and in cache */
    WI_SUMMARY_LANES = 16
};

/* A block of n elements at x. */
typedef struct wi_summary_run {
    weft_type type;
    wi_sort_key form; /* ascending */
    size_t n;         /* 1 to WI_SUMMARY_BLOCK */
    const void *x;
    uint64_t at; /* the position of x[0] */
} wi_summary_run;

typedef struct wi_summary_simd {
    /* The block's state; as the positions of its extremes that of x[0]. */
    void (*block)(const wi_summary_run *run, wi_summary_state *state);
    /* How many elements of the block come before the first with this key. */
    size_t (*find)(const wi_summary_run *run, uint64_t key);
} wi_summary_simd;

WI_DECLARE_ISAS(wi_summary_simd, wi_summary_simd);

#endif
