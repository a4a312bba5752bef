/* SPDX-License-Identifier: Apache-2.0 */
/* expr over ranks: every rank computes its own part. */
#include "comm/dist.h"
#include "expr/expr.h"

weft_status wi_expr_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_call call = *dist->call;
    wi_expr_args args = *(const wi_expr_args *)dist->args;
    return wi_local(ctx, wi_expr_call_run(ctx->child, &call, &args));
}
