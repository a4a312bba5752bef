/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung of weft_expr_reduce: one element a thread at a time. */
#include "expr/expr_reduce_cuda.cuh"

weft_status wi_expr_reduce_one_each(weft_context *ctx, const void *arguments) {
    return wi_expr_reduce_start<uint64_t, 1, 1>(ctx, (const wi_expr_reduce_args *)arguments);
}
