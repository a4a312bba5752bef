/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of one block, compiled for each instruction set. All sets scan groups of 64 bytes in the
 * same order, so the bits are the same. */
#ifndef WI_SCAN_SIMD_H
#define WI_SCAN_SIMD_H

#include "cpu/isa.h"
#include "scan/scan.h"

enum {
    WI_SCAN_BLOCK = 1 << 14 /* elements of a block; the last one may have fewer */
};

/* What is carried from block to block: f64 for sums and products of floats; for integers the
 * element's bits; for minima and maxima a key, of which the smaller one wins. */
typedef union wi_scan_carry {
    uint64_t integer;
    double value;
} wi_scan_carry;

/* The threads of rung `blocked`. */
int wi_scan_team(const weft_context *ctx, const wi_scan_args *args);

/* One block. The bits of integers and keys are combined with `flip` by xor when read and when
 * written: it turns a maximum into a minimum, and AND into OR. So op is SUM, PRODUCT, MIN, OR or
 * XOR. */
typedef struct wi_scan_run {
    weft_op op;
    size_t n;
    const void *x;
    void *y;
    wi_scan_carry carry;
    uint64_t flip;
    bool exclusive;
    bool stream;      /* write with streaming stores */
    const void *next; /* the block to prefetch meanwhile, or NULL */
} wi_scan_run;

/* Returns the carry into the next block; of sums and products of floats it has other bits than one
 * computed from totals. */
typedef wi_scan_carry (*wi_scan_block_scan)(const wi_scan_run *run);

typedef struct wi_scan_simd {
    wi_scan_block_scan arithmetic[WEFT_TYPE_COUNT]; /* all operators but MIN */
    wi_scan_block_scan ordering[WEFT_TYPE_COUNT];   /* MIN */
    /* OR or XOR of a block of integers; only the low bits of the result count. */
    uint64_t (*bitwise[WEFT_TYPE_COUNT])(const wi_scan_run *run);
    /* The product of a block of floats; false if only multiplying one by one would give it. */
    bool (*product[WEFT_TYPE_COUNT])(const wi_scan_run *run, double *product);
    /* The carry after the block for a sum or product of floats, computed one by one from
     * run->carry. */
    double (*carry_over[WEFT_TYPE_COUNT])(const wi_scan_run *run);
} wi_scan_simd;

WI_DECLARE_ISAS(wi_scan_simd, wi_scan_simd);

#endif
