/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of one block, compiled for each instruction set. Blocks, and lanes within them, are
 * the same for all sets, and so are the bits. */
#ifndef WI_REDUCE_SIMD_H
#define WI_REDUCE_SIMD_H

#include "cpu/isa.h"
#include "reduce/reduce.h"

enum {
    /* Elements of a block: few enough that 32-bit sums of 16-bit elements do not overflow. */
    WI_REDUCE_BLOCK = 1 << 14,
    /* Partial sums computed side by side: enough to fill the pipelines of the widest instruction
     * set. */
    WI_REDUCE_LANES = 32
};

/* The result of a block. The reduction and the type determine which member is used. */
typedef union wi_partial {
    uint64_t integer; /* sums, products and largest magnitudes of integers */
    double value;     /* the same for floats */
    struct {
        int64_t key; /* the smaller one wins */
        uint64_t at; /* start of the block where it was found */
    } best;
    struct {
        double small, medium, large; /* squares of f64, in three scales */
    } squares;
} wi_partial;

/* One block. */
typedef struct wi_reduce_run {
    size_t n; /* at most WI_REDUCE_BLOCK */
    const void *x, *y;
    uint64_t flip; /* xor mask for keys, which turns a maximum into a minimum */
    bool more;     /* this block is whole, and another follows it in memory */
} wi_reduce_run;

typedef void (*wi_reduce_block)(const wi_reduce_run *run, wi_partial *partial);

typedef struct wi_reduce_simd {
    wi_reduce_block blocks[WI_RED_DOT + 1][WEFT_TYPE_COUNT];
} wi_reduce_simd;

WI_DECLARE_ISAS(wi_reduce_simd, wi_reduce_simd);

/* The scales of squares: numbers above LARGE are multiplied by SHRINK before squaring, those below
 * SMALL by GROW, so that squares neither overflow nor underflow. */
#define WI_LARGE 0x1p486
#define WI_SMALL 0x1p-511
#define WI_SHRINK 0x1p-538
#define WI_GROW 0x1p537

#endif
