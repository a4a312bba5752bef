/* SPDX-License-Identifier: Apache-2.0 */
/* scan over ranks: the totals of the parts come to all ranks, and every rank scans its part from
 * where those before it end. Totals are carries, in f64 for floats, combined in the order of the
 * ranks. */
#include <math.h>

#include "comm/dist.h"
#include "reduce/reduce.h"
#include "scan/scan.h"

enum {
    STRIP = 1 << 20 /* elements that are scanned to find the total of AND, OR and XOR */
};

/* ---- the total of a part ---- */

/* Are all of a sum's terms -0.0? Then it is -0.0, too. */
static weft_status find_zero(weft_context *child, const wi_scan_args *args, double *total) {
    uint64_t bits = 0;
    double extreme[2] = {0};
    weft_status status = WEFT_OK;
    for (int k = 0; k < 2 && status == WEFT_OK; k++) {
        status = weft_reduce(child, k ? WEFT_MAX : WEFT_MIN, args->from, args->n, args->x, &bits);
        extreme[k] = wi_carry_value(wi_scan_carry_of(args->from, &bits));
    }
    if (extreme[0] == 0 && extreme[1] == 0 && signbit(extreme[1]))
        *total = -0.0;
    return status;
}

/* SUM and PRODUCT of floats, in f64. */
static weft_status total_of_floats(weft_context *child, const wi_scan_args *args, double *total) {
    wi_call call;
    wi_reduce_args sum = {.op = args->op == WEFT_SUM ? WI_RED_SUM : WI_RED_PRODUCT,
                          .type = args->from,
                          .n = args->n,
                          .x = args->x,
                          .result = total,
                          .wide = args->from != WEFT_F64};
    wi_reduce_describe(child, args->call, &sum, &call);
    weft_status status = wi_call_check(child, &call);
    if (status == WEFT_OK)
        status = wi_reduce_call_run(child, &call, &sum);
    if (status == WEFT_OK && args->op == WEFT_SUM && *total == 0)
        status = find_zero(child, args, total);
    return status;
}

/* AND, OR and XOR, which weft_reduce does not offer: the last elements of scans of strips. */
static weft_status total_of_bits(weft_context *child, const wi_scan_args *args, uint64_t *total) {
    const size_t size = weft_type_size(args->from), strip = args->n < STRIP ? args->n : STRIP;
    void *scanned;
    weft_status status = weft_alloc(child, &scanned, strip * size);
    *total = wi_scan_identity(args->op, args->from);
    for (size_t i = 0; i < args->n && status == WEFT_OK; i += strip) {
        const size_t n = args->n - i < strip ? args->n - i : strip;
        status = weft_scan(child, WEFT_INCLUSIVE, args->op, args->from, n,
                           (const char *)args->x + i * size, scanned, total);
        if (status == WEFT_OK)
            status = weft_copy(child, total, (char *)scanned + (n - 1) * size, size);
    }
    weft_free(child, scanned);
    *total = wi_scan_carry_of(args->from, total);
    return status;
}

weft_status wi_scan_total(weft_context *child, const wi_scan_args *args, uint64_t *total) {
    double sum = 0;
    weft_status status;
    if (args->op >= WEFT_AND)
        return total_of_bits(child, args, total);
    if (wi_type_is_float(args->from) && args->op <= WEFT_PRODUCT) {
        status = total_of_floats(child, args, &sum);
        *total = wi_scan_carry_of_double(sum);
        return status;
    }
    status = weft_reduce(child, args->op, args->from, args->n, args->x, total);
    *total = wi_scan_carry_of(args->op <= WEFT_PRODUCT ? args->type : args->from, total);
    return status;
}

weft_status wi_scan_from(weft_context *child, const wi_scan_args *args, uint64_t carry) {
    wi_scan_args scan = *args;
    wi_call call;
    scan.init = carry;
    wi_call_begin(&call, args->call, 1, args->n);
    wi_call_add(&call, wi_elements("x", args->x, args->n, args->from, WI_IN));
    wi_call_add(&call, wi_elements("y", args->y, args->n, args->type, WI_OUT))->in_place = 1;
    wi_call_add(&call, wi_elements("total", NULL, 1, args->type, WI_OUT | WI_OPTIONAL | WI_WHOLE));
    const weft_status status = wi_call_check(child, &call);
    return status == WEFT_OK ? wi_scan_call_run(child, &call, &scan) : status;
}

enum {
    COUNT,
    TOTAL,
    INIT,
    WORDS
};

weft_status wi_scan_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_scan_args args = *(const wi_scan_args *)dist->args;
    wi_call call = *dist->call;
    uint64_t own[WORDS] = {[COUNT] = args.n, [INIT] = args.init};
    const uint64_t *all = NULL;
    weft_status status = WEFT_OK;
    if (args.n > 0)
        status = wi_local(ctx, wi_scan_total(ctx->child, &args, &own[TOTAL]));
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, WORDS, &all);
    if (status != WEFT_OK)
        return status;
    args.init = all[INIT];
    for (int r = 0; r < ctx->comm->rank; r++, all += WORDS) {
        if (all[COUNT] > 0)
            args.init = wi_scan_combine(args.op, args.type, args.init, all[TOTAL]);
    }
    return wi_local(ctx, wi_scan_call_run(ctx->child, &call, &args));
}
