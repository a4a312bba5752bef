/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of one block, compiled for each instruction set. Groups of 64 bytes are scanned in the same
 * order by all sets, and so the bits are the same. */
#ifndef WI_SCAN_SIMD_H
#define WI_SCAN_SIMD_H

#include "cpu/isa.h"
#include "scan/scan.h"

enum {
    WI_SCAN_BLOCK = 1 << 14 /* elements of a block; the last one may have fewer */
};

/* What is carried from block to block: f64 for sums and products of floats; for integers the
 * element's bits; for minima and maxima a key that sorts as the elements do, the smaller the
 * better.
 */
typedef union wi_scan_carry {
    uint64_t integer;
    double value;
} wi_scan_carry;

/* One block. `flip` is xor-ed to the bits of integers and keys on the way in and out: it turns a
 * maximum into a minimum, and into or. So op is SUM, PRODUCT, MIN, OR or XOR. */
typedef struct wi_scan_run {
    weft_op op;
    size_t n;
    const void *x;
    void *y;
    wi_scan_carry carry;
    uint64_t flip;
    bool exclusive;
    bool stream;      /* write past the cache */
    const void *next; /* the block to bring into cache meanwhile, or NULL */
} wi_scan_run;

typedef struct wi_scan_simd {
    void (*arithmetic[WEFT_TYPE_COUNT])(const wi_scan_run *run); /* every op but MIN */
    void (*ordering[WEFT_TYPE_COUNT])(const wi_scan_run *run);   /* MIN */
    /* OR or XOR of a block of integers, of which only the low bits count. */
    uint64_t (*bitwise[WEFT_TYPE_COUNT])(const wi_scan_run *run);
    /* The product of a block of floats; false, if it could not be had but one by one. */
    bool (*product[WEFT_TYPE_COUNT])(const wi_scan_run *run, double *product);
    /* What a sum or product of floats carries past the block, one by one from run->carry. */
    double (*carry_over[WEFT_TYPE_COUNT])(const wi_scan_run *run);
} wi_scan_simd;

WI_DECLARE_ISAS(wi_scan_simd, wi_scan_simd);

#endif
