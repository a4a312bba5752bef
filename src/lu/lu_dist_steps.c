/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs over ranks: see lu_dist.c for what all rungs over ranks do. */
#include "lu/lu_dist.h"

/* The textbook's way: columns are dealt out one by one; the owner of a column finds the pivot and
 * sends its row number and the multipliers to all; all ranks eliminate. */
weft_status wi_lu_ranks_columns(weft_context *ctx, const void *args) {
    enum {
        COLUMNS = 1
    };
    return wi_lu_over_ranks(ctx, args, COLUMNS, false);
}

/* Blocks of columns, so that a product of matrices eliminates many columns at once. All ranks wait
 * while a block is factored and sent. */
weft_status wi_lu_ranks_blocks(weft_context *ctx, const void *args) {
    enum {
        COLUMNS = 0 /* as many as is usual */
    };
    return wi_lu_over_ranks(ctx, args, COLUMNS, false);
}
