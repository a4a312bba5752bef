/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder "sparse_order": in which order to eliminate columns. Each rung fills perm, the same on
 * every run and for any number of threads. */
#ifndef WI_SPARSE_ORDER_H
#define WI_SPARSE_ORDER_H

#include <stdatomic.h>

#include "core/rows.h"
#include "sparse/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const wi_ladder wi_sparse_order_ladder;

/* The rungs; args is a wi_order_args. */
weft_status wi_order_natural(weft_context *ctx, const void *args);
weft_status wi_order_given(weft_context *ctx, const void *args);
weft_status wi_order_rcm(weft_context *ctx, const void *args);
weft_status wi_order_md(weft_context *ctx, const void *args);
weft_status wi_order_mmd(weft_context *ctx, const void *args);
weft_status wi_order_amd(weft_context *ctx, const void *args);
weft_status wi_order_nd(weft_context *ctx, const void *args);
weft_status wi_order_dissect(weft_context *ctx, const void *args);
weft_status wi_order_best(weft_context *ctx, const void *args);

/* A number of flops, which another thread may lower. */
typedef struct wi_order_limit {
    _Atomic double flops;
} wi_order_limit;

static inline bool wi_order_is_above(const wi_order_limit *limit, double flops) {
    return limit && flops > atomic_load_explicit(&limit->flops, memory_order_relaxed);
}

/* The number of neighbours from which a column is set aside by `amd` and `dissect`, to come last.
 */
double wi_order_dense(int64_t n);

/* Does a ball in the graph show that `dissect` is the better ordering? *guess: the flops of `amd`
 * in the whole graph, by how they grow with the ball; INFINITY if there is no ball. *clear: they
 * are well above `least`, and those of `dissect` in the ball well below those of `amd` there. */
weft_status wi_order_sample(const wi_order_args *args, double least, double *guess, bool *clear);

/* wi_order_amd with indices of 32 bits, for graphs whose entries they can number, and of 64. */
weft_status wi_order_amd_i32(weft_context *ctx, const wi_order_args *args);
weft_status wi_order_amd_i64(weft_context *ctx, const wi_order_args *args);
bool wi_order_fits_i32(const wi_pattern *graph);

#ifdef __cplusplus
}
#endif
#endif
