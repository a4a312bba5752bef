/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of an element and the one before it. */
#ifndef WI_EXPR_NEIGHBOURS_H
#define WI_EXPR_NEIGHBOURS_H

#include "comm/dist.h"
#include "expr/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call; z[i] = x[i] op x[i - 1]. */
typedef struct wi_expr_neighbours {
    const char *name;
    weft_expr_op op; /* SUB or NE */
    weft_type type, out;
    size_t n;
    bool has_before;
    uint64_t before; /* bits of the element before x[0], which another rank has */
} wi_expr_neighbours;

/* The rung "tiles" of such a call, whose arguments have `neighbours`, n, x[0] and z. */
weft_status wi_expr_compare(weft_context *ctx, const wi_expr_args *args);

/* The call over ranks; its arguments have `neighbours`. */
weft_status wi_expr_neighbours_ranks(weft_context *ctx, const wi_dist_args *dist);

#ifdef __cplusplus
}
#endif
#endif
