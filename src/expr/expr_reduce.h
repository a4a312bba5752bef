/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expr_reduce: a formula whose values are reduced as they are computed. */
#ifndef WI_EXPR_REDUCE_H
#define WI_EXPR_REDUCE_H

#include "expr/expr.h"
#include "expr/expr_fold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory that the place can access. A long host array on a GPU becomes several calls,
 * one for each segment, which pass on a state. */
typedef struct wi_expr_reduce_args {
    wi_expr_args expr; /* its z is not used */
    wi_expr_fold fold;
    uint64_t first;                /* position of the first element in the whole */
    const wi_expr_state *state_in; /* on the device: of the elements before; NULL: none */
    void *result;                  /* the result, or with `raw` the state */
    bool raw;
} wi_expr_reduce_args;

extern const wi_ladder wi_expr_reduce_ladder;

/* How `op` combines values of a type that formulas work on. */
wi_expr_fold wi_expr_fold_of(weft_op op, weft_type type);

/* Runs a checked call, whose last array is the result, on this place alone. */
weft_status wi_expr_reduce_call_run(weft_context *ctx, wi_call *call, wi_expr_reduce_args *args);

/* Leaves the state of all elements, in host memory, as the result. */
void wi_expr_reduce_end(const wi_expr_reduce_args *args, wi_expr_state state);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_expr_reduce_serial(weft_context *ctx, const void *args);
weft_status wi_expr_reduce_blocks(weft_context *ctx, const void *args);
weft_status wi_expr_reduce_one_each(weft_context *ctx, const void *args);
weft_status wi_expr_reduce_tiles(weft_context *ctx, const void *args);
weft_status wi_expr_reduce_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
