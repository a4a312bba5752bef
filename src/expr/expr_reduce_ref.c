/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of weft_expr_reduce: each element is computed and taken in. */
#include "expr/expr_reduce.h"

weft_status wi_expr_reduce_serial(weft_context *ctx, const void *arguments) {
    const wi_expr_reduce_args *const args = arguments;
    const wi_expr_fold *const fold = &args->fold;
    wi_expr_state state = wi_fold_none(fold);
    (void)ctx;
    for (size_t i = 0; i < args->expr.n; i++)
        state = wi_fold_join(fold, state, wi_fold_one(fold, wi_expr_value_at(&args->expr, i), i));
    wi_expr_reduce_end(args, state);
    return WEFT_OK;
}
