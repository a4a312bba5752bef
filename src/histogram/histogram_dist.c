/* SPDX-License-Identifier: Apache-2.0 */
/* histogram over ranks: every rank counts its part, and the counts of all are added up on each. */
#include <string.h>

#include "comm/dist.h"
#include "histogram/histogram.h"

/* Counts of one kind, bins or outside: those of this rank, and of all. */
typedef struct tally {
    void *own, *all;
    size_t n;
} tally;

/* Counts are added modulo 2^32 or 2^64, so as unsigned numbers. */
static weft_type unsigned_of(weft_type type) {
    return weft_type_size(type) == 4 ? WEFT_U32 : WEFT_U64;
}

static weft_status take(weft_context *ctx, size_t n, size_t width, tally *t) {
    t->n = n;
    const weft_status status = wi_dist_take(ctx, n, width, &t->own);
    return status == WEFT_OK ? wi_dist_take(ctx, n, width, &t->all) : status;
}

static void give(tally *t) {
    wi_host_free(t->own);
    wi_host_free(t->all);
}

static void add(tally *t, size_t width) {
    for (size_t k = 0; k < t->n; k++) {
        if (width == 4)
            ((uint32_t *)t->all)[k] += ((const uint32_t *)t->own)[k];
        else
            ((uint64_t *)t->all)[k] += ((const uint64_t *)t->own)[k];
    }
}

/* Gives the caller the counts of all; `own` is free for the old ones. */
static weft_status put_out(weft_context *child, const wi_histogram_request *r, tally *t,
                           void *counts) {
    const size_t width = weft_type_size(r->count_type);
    weft_status status = WEFT_OK;
    if (r->counting == WEFT_ACCUMULATE) {
        status = weft_copy(child, t->own, counts, t->n * width);
        add(t, width);
    }
    if (status != WEFT_OK)
        return status;
    if (!wi_is_host(child, counts))
        return weft_copy(child, counts, t->all, t->n * width);
    memcpy(counts, t->all, t->n * width); /* which need not wait for the GPU */
    return WEFT_OK;
}

static weft_status count_own(weft_context *ctx, const wi_histogram_request *r, tally *bins,
                             tally *outside) {
    const size_t width = weft_type_size(r->count_type);
    const size_t n_outside = r->outside ? (size_t)WI_OUTSIDE * r->channels : 0;
    weft_status status = take(ctx, wi_histogram_bins(r) * r->channels, width, bins);
    if (status == WEFT_OK)
        status = take(ctx, n_outside, width, outside);
    if (status != WEFT_OK)
        return status;
    return wi_local(ctx, weft_histogram(ctx->child, r->type, r->n, r->channels, r->x, r->bins,
                                        WEFT_OVERWRITE, r->count_type, bins->own, outside->own));
}

weft_status wi_histogram_ranks(weft_context *ctx, const void *request) {
    const wi_histogram_request *const r = request;
    const wi_comm_table *const calls = ctx->comm->calls;
    const weft_type type = unsigned_of(r->count_type);
    tally bins = {0}, outside = {0};
    uint64_t before, total;
    weft_status status = wi_all_counts(ctx, r->n, &before, &total);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, ctx->comm->call, "count_type", r->count_type, total);
    if (status != WEFT_OK)
        return status; /* the same on all ranks */
    status = wi_agree(ctx, 0, count_own(ctx, r, &bins, &outside));
    if (status == WEFT_OK)
        status = calls->all_reduce(ctx, bins.own, bins.all, bins.n, type, WEFT_SUM);
    if (status == WEFT_OK && r->outside)
        status = calls->all_reduce(ctx, outside.own, outside.all, outside.n, type, WEFT_SUM);
    if (status == WEFT_OK)
        status = wi_local(ctx, put_out(ctx->child, r, &bins, r->counts));
    if (status == WEFT_OK && r->outside)
        status = wi_local(ctx, put_out(ctx->child, r, &outside, r->outside));
    give(&bins);
    give(&outside);
    return status;
}
