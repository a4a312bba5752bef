/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "tiles" of expr: 16 elements a thread, or 8 if some value has 64 bits. */
#include "expr/expr_cuda.cuh"
#include "expr/expr_neighbours.h"

weft_status wi_expr_tiles(weft_context *ctx, const void *arguments) {
    const wi_expr_args *args = (const wi_expr_args *)arguments;
    if (args->neighbours)
        return wi_expr_compare(ctx, args);
    return args->program->wide ? wi_expr_start<uint64_t, 4, 2>(ctx, args)
                               : wi_expr_start<uint32_t, 4, 4>(ctx, args);
}
