/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs of sums of floats: the same sum by ways that round less and less, up to the
 * one that is exact. */
#include <string.h>

#include "exact/exact.h"
#include "reduce/reduce.h"
#include "reduce/reduce_methods.h"

const char *wi_reduce_only_adds(const weft_context *ctx, const void *args) {
    const wi_reduce_args *const call = args;
    (void)ctx;
    return call->op == WI_RED_SUM ? NULL : "does nothing but WEFT_SUM";
}

static void store(const wi_reduce_args *call, double sum) {
    const float narrow = (float)sum;
    if (call->wide || call->type == WEFT_F64)
        memcpy(call->result, &sum, sizeof sum);
    else
        memcpy(call->result, &narrow, sizeof narrow);
}

static weft_status add_by(wi_method method, const wi_reduce_args *call) {
    store(call, wi_method_sum(method, call->type, call->n, call->x));
    return WEFT_OK;
}

weft_status wi_reduce_naive(weft_context *ctx, const void *args) {
    (void)ctx;
    return add_by(WI_NAIVE, args);
}

weft_status wi_reduce_pairwise(weft_context *ctx, const void *args) {
    (void)ctx;
    return add_by(WI_PAIRWISE, args);
}

weft_status wi_reduce_compensated(weft_context *ctx, const void *args) {
    (void)ctx;
    return add_by(WI_COMPENSATED, args);
}

weft_status wi_reduce_double_double(weft_context *ctx, const void *args) {
    (void)ctx;
    return add_by(WI_DOUBLE_DOUBLE, args);
}

/* An array of the host comes to a GPU in pieces, and between two of them this ladder keeps a sum
 * that is rounded. */
const char *wi_reduce_not_exact(const weft_context *ctx, const void *args) {
    const wi_reduce_args *const call = args;
    const char *const other = wi_reduce_only_adds(ctx, args);
    if (other)
        return other;
    return call->state_in || call->state_out
               ? "needs the whole array in the device's memory; weft_sum takes it in pieces"
               : NULL;
}

weft_status wi_reduce_exact(weft_context *ctx, const void *args) {
    const wi_reduce_args *const call = args;
    const wi_exact_args exact = {.terms = WI_EXACT_SUM,
                                 .type = call->type,
                                 .result_type =
                                     call->wide || call->type == WEFT_F64 ? WEFT_F64 : WEFT_F32,
                                 .n = call->n,
                                 .x = call->x,
                                 .last = true,
                                 .result = call->result};
    return wi_run(ctx, &wi_exact_ladder, "weft_reduce", call->type, &exact);
}
