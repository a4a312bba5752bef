/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of lu over ranks share. */
#ifndef WI_LU_DIST_H
#define WI_LU_DIST_H

#include "comm/dist.h"
#include "lu/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call over ranks, as its user makes it. args.n counts the columns that this rank passes, and
 * args.pivot is the user's, of min(m, columns of the whole). */
typedef struct wi_lu_call {
    wi_lu_args args;
    bool by_rows;
    bool shared;    /* all ranks pass the same matrix, the whole one */
    int64_t *words; /* what the rung found, in the numbering of the whole, in host memory */
} wi_lu_call;

/* Factors in blocks of so many columns, 0: as many as is usual. With `ahead` the next block is
 * factored while the other columns are still being updated. */
weft_status wi_lu_over_ranks(weft_context *ctx, const void *call, size_t columns, bool ahead);

/* The rungs over ranks; args is a wi_lu_call. */
weft_status wi_lu_ranks_columns(weft_context *ctx, const void *args);
weft_status wi_lu_ranks_blocks(weft_context *ctx, const void *args);
weft_status wi_lu_ranks(weft_context *ctx, const void *args);
weft_status wi_lu_ranks_grid(weft_context *ctx, const void *args);

/* Refuses a pivot, of `count` elements, that is no memory or overlaps a. */
weft_status wi_lu_check_ranks_pivot(weft_context *ctx, const wi_lu_call *call, size_t count);

/* Is this matrix, whose memory all GPUs of the place reach, to be factored by all of them? */
bool wi_lu_wants_gpus(weft_context *ctx, const wi_lu_args *args);
/* Factors it so. `call` is the name of the public call; what the rung found is left in `words`, of
 * the host. */
weft_status wi_lu_run_gpus(weft_context *ctx, const char *call, const wi_lu_args *args,
                           bool by_rows, int64_t *words);

/* A call of weft_lu_solve over ranks, as its user makes it: `columns` of lu and `nrhs` of b are
 * what this rank passes. */
typedef struct wi_lu_solving {
    const char *call; /* its name */
    weft_type type;
    bool by_rows, transposed;
    bool spd;   /* lu is the factor of cholesky, and there is no pivot: L, */
    bool upper; /* or U = L' */
    bool last;  /* only the triangle that comes last, and no exchanges: U, or L' */
    size_t columns, nrhs;
    const void *lu;
    size_t lda;
    const int64_t *pivot;
    void *b;
    size_t ldb;
} wi_lu_solving;

/* Makes it; `status` is what the checks of type and flags have said. Collective. */
weft_status wi_lu_solve_ranks(weft_context *ctx, const wi_lu_solving *call, weft_status status);

/* Says that there is none, as the diagonal of U is 0 in this column. */
weft_status wi_lu_no_inverse(weft_context *ctx, size_t column);

/* A call of weft_lu_inverse over ranks, as its user makes it: n columns of lu. */
typedef struct wi_lu_inverting {
    weft_type type;
    bool by_rows;
    size_t n;
    void *lu;
    size_t lda;
    const int64_t *pivot;
} wi_lu_inverting;

/* Makes it; `status` is what the checks of type and flags have said. Collective. */
weft_status wi_lu_inverse_ranks(weft_context *ctx, const wi_lu_inverting *call, weft_status status);

#ifdef __cplusplus
}
#endif
#endif
