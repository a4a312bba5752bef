/* SPDX-License-Identifier: Apache-2.0 */
/* reduce over ranks: every rank reduces its part; the parts' results come to all ranks, and each
 * reduces them once more, in the order of the ranks. So all have the same bits, in every run. */
#include <math.h>
#include <string.h>

#include "comm/dist.h"
#include "reduce/reduce.h"

enum {
    WORDS = sizeof(wi_reduce_partial) / sizeof(uint64_t)
};

/* Is the part's result an f64 that is rounded to f32 at the end? */
static bool is_wide(wi_reduction op, weft_type type) {
    const bool sums = op == WI_RED_SUM || op == WI_RED_PRODUCT || op == WI_RED_NRM1 ||
                      op == WI_RED_NRM2 || op == WI_RED_DOT;
    return sums && type != WEFT_F64 && wi_type_is_float(type);
}

static bool is_position(wi_reduction op) {
    return op == WI_RED_ARGMIN || op == WI_RED_ARGMAX;
}

/* The type of a part's result, as it is combined with others. */
static weft_type partial_type(wi_reduction op, weft_type type) {
    if (is_wide(op, type))
        return WEFT_F64;
    return is_position(op) ? type : wi_reduce_result_type(op, type);
}

/* How results of parts are combined: as elements are, but for what the parts have done already. */
static wi_reduction combining(wi_reduction op, weft_type type) {
    if (op == WI_RED_NRM1 || op == WI_RED_DOT)
        return WI_RED_SUM;
    if (op == WI_RED_NRM2 && is_wide(op, type))
        return WI_RED_SUM; /* of squares */
    if (op == WI_RED_NRMINF && !wi_type_is_float(type))
        return WI_RED_MAX;
    return op;
}

weft_status wi_reduce_part(weft_context *ctx, const char *name, const wi_reduce_args *part,
                           wi_reduce_partial *own) {
    wi_reduce_args args = *part;
    weft_context *const child = ctx->child;
    wi_call call;
    *own = (wi_reduce_partial){.n = args.n};
    args.result = is_position(args.op) ? &own->at : &own->bits;
    args.wide = is_wide(args.op, args.type);
    wi_reduce_describe(child, name, &args, &call);
    weft_status status = wi_call_check(child, &call);
    if (status == WEFT_OK)
        status = wi_reduce_call_run(child, &call, &args);
    if (status == WEFT_OK && is_position(args.op) && args.n > 0) {
        const size_t size = weft_type_size(args.type);
        status = weft_copy(child, &own->bits, (const char *)args.x + own->at * size, size);
    }
    return wi_local(ctx, status);
}

/* Combines the results of parts into *result. */
static void combine(weft_context *ctx, wi_reduction op, weft_type type,
                    const wi_reduce_partial *parts, int count, uint64_t *result) {
    const weft_type of_parts = partial_type(op, type);
    const size_t width = weft_type_size(of_parts);
    char *const values = (char *)ctx->comm->words + (size_t)ctx->comm->size * sizeof *parts;
    wi_reduce_args last = {
        .op = combining(op, type), .type = of_parts, .x = values, .result = result};
    for (int k = 0; k < count; k++) {
        if (parts[k].n > 0)
            memcpy(values + width * last.n++, &parts[k].bits, width);
    }
    wi_reduce_serial(ctx, &last);
}

/* The element found is the `found`-th of the parts that have any: its position in all of them. */
static uint64_t position_of(const wi_reduce_partial *parts, int count, uint64_t found) {
    uint64_t before = 0;
    for (int k = 0; k < count && found != WEFT_NOWHERE; k++) {
        if (parts[k].n > 0 && found-- == 0)
            return before + parts[k].at;
        before += parts[k].n;
    }
    return WEFT_NOWHERE;
}

/* Rounds a wide result. */
static void narrow(wi_reduction op, void *result) {
    double value;
    memcpy(&value, result, sizeof value);
    const float rounded = (float)(op == WI_RED_NRM2 ? sqrt(value) : value);
    memcpy(result, &rounded, sizeof rounded);
}

void wi_reduce_join(weft_context *ctx, wi_reduction op, weft_type type,
                    const wi_reduce_partial *parts, int count, uint64_t *result) {
    *result = 0;
    combine(ctx, op, type, parts, count, result);
    if (is_wide(op, type))
        narrow(op, result);
    if (is_position(op))
        *result = position_of(parts, count, *result);
}

weft_status wi_reduce_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    const wi_reduce_args *const args = dist->args;
    wi_reduce_partial own;
    weft_status status = wi_agree(ctx, 0, wi_reduce_part(ctx, dist->call->name, args, &own));
    const uint64_t *words = NULL;
    uint64_t mine[WORDS], result;
    memcpy(mine, &own, sizeof mine);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, mine, WORDS, &words);
    if (status != WEFT_OK)
        return status;
    wi_reduce_join(ctx, args->op, args->type, (const void *)words, ctx->comm->size, &result);
    return wi_local(ctx, weft_copy(ctx->child, args->result, &result,
                                   weft_type_size(wi_reduce_result_type(args->op, args->type))));
}
