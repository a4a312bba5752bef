/* SPDX-License-Identifier: Apache-2.0 */
/* The first ways over ranks: see lu_dist.c for what all of them do. */
#include "lu/lu_dist.h"

/* As the texts have it: columns are dealt out one by one; the owner finds the pivot; its row's
 * number and the multipliers go to all; all eliminate. */
weft_status wi_lu_ranks_columns(weft_context *ctx, const void *args) {
    return wi_lu_over_ranks(ctx, args, 1, false);
}

/* Blocks, so that a product of matrices eliminates many columns at once. All wait while one of them
 * is factored and sent. */
weft_status wi_lu_ranks_blocks(weft_context *ctx, const void *args) {
    return wi_lu_over_ranks(ctx, args, 0, false);
}
