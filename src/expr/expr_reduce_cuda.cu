/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "tiles" of weft_expr_reduce: 16 elements a thread, or 8 if some value has 64 bits. */
#include "expr/expr_reduce_cuda.cuh"

weft_status wi_expr_reduce_tiles(weft_context *ctx, const void *arguments) {
    const wi_expr_reduce_args *args = (const wi_expr_reduce_args *)arguments;
    return args->expr.program->wide ? wi_expr_reduce_start<uint64_t, 4, 2>(ctx, args)
                                    : wi_expr_reduce_start<uint32_t, 4, 4>(ctx, args);
}
