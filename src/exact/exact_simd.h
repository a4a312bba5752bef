/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of doubles added up without rounding, compiled for each instruction set.
 *
 * A fold begins with s = 1.5 2^p in each lane, which stays between 2^p and 2^(p+1), so that the
 * distance between neighbours is u = 2^(p-52) throughout. Adding x rounds x to a multiple of u: s
 * takes that multiple, and what is left of x, at most u / 2, goes to the next fold, whose p is less
 * by WI_EXACT_FOLD_BITS. The bits of s, as an integer, less those of its first value, are the sum
 * in units of u. docs/precision.md has the proof. */
#ifndef WI_EXACT_SIMD_H
#define WI_EXACT_SIMD_H

#include "cpu/isa.h"
#include "exact/exact.h"

enum {
    WI_EXACT_BLOCK = 1024,   /* doubles of a block, at most: 128 for each of 8 lanes */
    WI_EXACT_FOLDS = 3,      /* of a block, at most */
    WI_EXACT_FOLD_BITS = 44, /* 52 less the bits that 128 additions may carry, less one for half */
    WI_EXACT_FIRST = 8,      /* p of the first fold is this above the window */
    WI_EXACT_TOP_MOST = 1014,
    WI_EXACT_TOP_LEAST = -942 /* the last u is 2^-1074 then: nothing is left */
};

/* One block. */
typedef struct wi_exact_run {
    size_t n;           /* at most WI_EXACT_BLOCK; with rest, half of it */
    const double *v;    /* the terms, and */
    const double *rest; /* as many of at most 2^-53 of them, to be added, too; NULL: none */
    int folds;
    int top;             /* the window: every term is to be below 2^top */
    const double *ahead; /* n doubles that are wanted next, or NULL */
} wi_exact_run;

/* What has become of it. */
typedef struct wi_exact_block {
    int64_t sum[WI_EXACT_FOLDS]; /* in units of u of each fold */
    double largest;              /* of the terms; NaN may be missing */
    bool left;                   /* after the last fold something is left, or was NaN */
} wi_exact_block;

typedef struct wi_exact_simd {
    void (*fold)(const wi_exact_run *run, wi_exact_block *block);
    /* Makes the terms of n elements; false if they must be added one by one. `rest` is for products
     * of f64. */
    bool (*terms)(const wi_exact_args *args, size_t from, size_t n, double *v, double *rest);
} wi_exact_simd;

WI_DECLARE_ISAS(wi_exact_simd, wi_exact_simd);

#endif
