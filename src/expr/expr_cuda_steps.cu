/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung of expr: one element a thread, which fetches and branches on every code for it
 * alone. */
#include "expr/expr_cuda.cuh"

weft_status wi_expr_one_each(weft_context *ctx, const void *arguments) {
    return wi_expr_start<uint64_t, 1, 1>(ctx, (const wi_expr_args *)arguments);
}
