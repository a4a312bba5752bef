/* SPDX-License-Identifier: Apache-2.0 */
/* sort over ranks: every rank sorts its part, the parts are cut where the ranks' shares begin, the
 * pieces go to their ranks, and every rank sorts what it got. Pieces arrive in the order of ranks
 * and sorts are stable, so the whole sort is. The cuts are exact: no keys can make one rank's share
 * larger than another's. */
#include "sort/sort_cut.h"
#include "sort/sort_run.h"

/* A call while it runs, in host memory. */
typedef struct work {
    weft_context *ctx;
    const wi_sort_args *args;
    wi_sort_cut cut;
    void *keys, *values;         /* this rank's part, sorted */
    void *got_keys, *got_values; /* its share */
} work;

static weft_status take(work *w) {
    const wi_sort_args *const a = w->args;
    const size_t size = weft_type_size(a->type);
    weft_status status = wi_sort_cut_open(w->ctx, &w->cut);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->n, size, &w->keys);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->n, size, &w->got_keys);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->n, a->value_bytes, &w->values);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->n, a->value_bytes, &w->got_values);
    return status;
}

static void give(work *w) {
    wi_sort_cut_close(&w->cut);
    wi_host_free(w->keys);
    wi_host_free(w->got_keys);
    wi_host_free(w->values);
    wi_host_free(w->got_values);
}

/* The values of a call that asks for positions: those in the whole. */
static const void *positions_from(work *w, uint64_t first) {
    for (size_t i = 0; i < w->args->n; i++) {
        if (w->args->value_bytes == 4)
            ((uint32_t *)w->got_values)[i] = (uint32_t)(first + i);
        else
            ((uint64_t *)w->got_values)[i] = first + i;
    }
    return w->got_values; /* free until the exchange */
}

static bool asks_positions(const wi_sort_args *a) {
    return a->value_bytes > 0 && !a->values && a->n > 0;
}

static weft_status sort_part(work *w, uint64_t before) {
    wi_sort_args part = *w->args;
    weft_status status = take(w);
    if (status != WEFT_OK)
        return status;
    part.y = w->keys;
    part.values_out = w->values;
    if (asks_positions(w->args))
        part.values = positions_from(w, before);
    w->cut.x[0] = w->keys;
    return wi_local(w->ctx, wi_sort_run_here(w->ctx->child, &part));
}

static weft_status sort_share(work *w) {
    wi_sort_args part = *w->args;
    part.x = w->got_keys;
    part.y = part.y ? part.y : w->got_keys; /* keys not wanted */
    part.values = w->got_values;
    return wi_local(w->ctx, wi_sort_run_here(w->ctx->child, &part));
}

static weft_status run(work *w) {
    weft_context *const ctx = w->ctx;
    const wi_sort_args *const a = w->args;
    uint64_t before, total;
    weft_status status = wi_all_counts(ctx, a->n, &before, &total);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, sort_part(w, before));
    if (status == WEFT_OK)
        status = wi_sort_cut_find(ctx, &w->cut);
    if (status == WEFT_OK)
        status =
            wi_sort_cut_exchange(ctx, &w->cut, 0, w->keys, w->got_keys, weft_type_size(a->type));
    if (status == WEFT_OK && a->value_bytes > 0)
        status = wi_sort_cut_exchange(ctx, &w->cut, 0, w->values, w->got_values, a->value_bytes);
    return status == WEFT_OK ? sort_share(w) : status;
}

/* Are all positions in the whole numbers of the type that is asked for? */
static weft_status check_positions(weft_context *ctx, const wi_dist_args *dist) {
    const wi_array *const out = &dist->call->array[WI_SORT_VALUES_OUT];
    const wi_sort_args *const a = dist->args;
    uint64_t before, total;
    if (a->y || !out->name || out->use & WI_UNALIGNED)
        return WEFT_OK;
    const weft_status status = wi_all_counts(ctx, a->n, &before, &total);
    return status == WEFT_OK ? wi_check_index_type(ctx, a->call, "index_type", out->type,
                                                   total > 0 ? total - 1 : 0)
                             : status;
}

weft_status wi_sort_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    const wi_sort_args *const a = dist->args;
    work w = {.ctx = ctx,
              .args = a,
              .cut = {.type = a->type,
                      .descending = a->descending,
                      .first_bit = a->first_bit,
                      .end_bit = a->end_bit,
                      .runs = 1,
                      .n = {a->n}}};
    weft_status status = check_positions(ctx, dist);
    if (status == WEFT_OK)
        status = run(&w);
    give(&w);
    return status;
}
