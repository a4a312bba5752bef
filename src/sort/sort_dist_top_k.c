/* SPDX-License-Identifier: Apache-2.0 */
/* top_k over ranks: the first k of each part come to all ranks, and each takes the first k of
 * those. Parts come in the order of ranks, so of equal elements the first in the whole is taken
 * first. */
#include "comm/dist.h"
#include "sort/sort_run.h"

/* A call while it runs, in host memory. */
typedef struct work {
    weft_context *ctx;
    const wi_top_k_args *args;
    weft_order order;
    size_t own;   /* how many elements this rank offers */
    size_t all;   /* how many all ranks offer */
    size_t *of;   /* how many each rank offers */
    void *values; /* what this rank offers */
    uint64_t *positions;
    void *all_values;
    uint64_t *all_positions;
    uint64_t *found; /* the k results, as indices of all that is offered */
} work;

static weft_status take_words(work *w, size_t n, uint64_t **p) {
    void *memory = NULL;
    const weft_status status = wi_dist_take(w->ctx, n, sizeof(uint64_t), &memory);
    *p = memory;
    return status;
}

/* Refuses a k that is more than all ranks have. *before = how many elements the ranks before this
 * one have. */
static weft_status meet(work *w, uint64_t *before) {
    const wi_top_k_args *const a = w->args;
    uint64_t total;
    weft_status status = wi_all_counts(w->ctx, a->n, before, &total);
    if (status == WEFT_OK && a->k > total)
        return wi_fail(w->ctx, WEFT_EARG,
                       "%s: k is %zu, and there are %llu elements on all ranks; pass k <= that",
                       a->call, a->k, (unsigned long long)total);
    return status;
}

static weft_status offer(work *w, uint64_t before) {
    const wi_top_k_args *const a = w->args;
    const size_t ranks = (size_t)w->ctx->comm->size;
    uint64_t *of = NULL;
    w->own = a->k < a->n ? a->k : a->n;
    weft_status status = take_words(w, ranks, &of);
    w->of = (size_t *)of;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, w->own, weft_type_size(a->type), &w->values);
    if (status == WEFT_OK)
        status = take_words(w, w->own, &w->positions);
    if (status == WEFT_OK)
        status = wi_local(w->ctx, weft_top_k(w->ctx->child, w->order, a->type, a->n, a->x, w->own,
                                             w->values, w->positions));
    for (size_t j = 0; j < w->own && status == WEFT_OK; j++)
        w->positions[j] += before;
    return status;
}

static weft_status take_all(work *w, const uint64_t *of) {
    for (int r = 0; r < w->ctx->comm->size; r++) {
        w->of[r] = of[r];
        w->all += of[r];
    }
    weft_status status =
        wi_dist_take(w->ctx, w->all, weft_type_size(w->args->type), &w->all_values);
    if (status == WEFT_OK)
        status = take_words(w, w->all, &w->all_positions);
    return status == WEFT_OK ? take_words(w, w->args->k, &w->found) : status;
}

static weft_status gather(work *w) {
    const wi_comm_table *const calls = w->ctx->comm->calls;
    const uint64_t own = w->own, *of = NULL;
    weft_status status = wi_all_words(w->ctx, &own, 1, &of);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, take_all(w, of));
    if (status == WEFT_OK)
        status = calls->all_gather_v(w->ctx, w->values, w->all_values, w->of, w->args->type);
    if (status == WEFT_OK)
        status = calls->all_gather_v(w->ctx, w->positions, w->all_positions, w->of, WEFT_U64);
    return status;
}

static weft_status put_out(work *w) {
    const wi_top_k_args *const a = w->args;
    weft_context *const child = w->ctx->child;
    weft_status status =
        weft_top_k(child, w->order, a->type, w->all, w->all_values, a->k, a->values, w->found);
    for (size_t j = 0; j < a->k && status == WEFT_OK; j++)
        w->found[j] = w->all_positions[w->found[j]];
    if (status == WEFT_OK && a->positions && a->k > 0)
        status = weft_copy(child, a->positions, w->found, a->k * sizeof *w->found);
    return wi_local(w->ctx, status);
}

weft_status wi_top_k_ranks(weft_context *ctx, const void *arguments) {
    const wi_top_k_args *const a = ((const wi_dist_args *)arguments)->args;
    work w = {.ctx = ctx, .args = a, .order = a->descending ? WEFT_DESCENDING : WEFT_ASCENDING};
    uint64_t before;
    weft_status status = meet(&w, &before);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, offer(&w, before));
    if (status == WEFT_OK)
        status = gather(&w);
    if (status == WEFT_OK)
        status = put_out(&w);
    wi_host_free(w.of);
    wi_host_free(w.values);
    wi_host_free(w.positions);
    wi_host_free(w.all_values);
    wi_host_free(w.all_positions);
    wi_host_free(w.found);
    return status;
}
