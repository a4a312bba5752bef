/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of lu over ranks share. */
#ifndef WI_LU_DIST_H
#define WI_LU_DIST_H

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

/* Factors blocks of so many columns, 0: as many as is usual; with `ahead` the next one while other
 * columns are changed. */
weft_status wi_lu_over_ranks(weft_context *ctx, const void *call, size_t columns, bool ahead);

/* The rungs over ranks; args is a wi_lu_call. */
weft_status wi_lu_ranks_columns(weft_context *ctx, const void *args);
weft_status wi_lu_ranks_blocks(weft_context *ctx, const void *args);
weft_status wi_lu_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
