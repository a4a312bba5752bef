/* SPDX-License-Identifier: Apache-2.0 */
/* expr over ranks: every rank computes its own part; elements before the first come from the rank
 * before. */
#include "comm/dist.h"
#include "expr/expr_neighbours.h"

weft_status wi_expr_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_expr_args args = *(const wi_expr_args *)dist->args;
    if (args.neighbours)
        return wi_expr_neighbours_ranks(ctx, dist);
    wi_call call = *dist->call;
    return wi_local(ctx, wi_expr_call_run(ctx->child, &call, &args));
}
