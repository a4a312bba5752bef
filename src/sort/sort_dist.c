/* SPDX-License-Identifier: Apache-2.0 */
/* sort over ranks: every rank sorts its part, the parts are cut where the ranks' shares begin, the
 * pieces go to their ranks, and every rank merges or sorts what it got. Pieces arrive in the order
 * of ranks, and both are stable, so the whole sort is. The cuts are exact: no keys can make one
 * rank's share larger than another's. */
#include "sort/sort_cut.h"
#include "sort/sort_run.h"
#include "weft/map.h"

/* A call while it runs, in memory that the communicator takes. */
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
        status = wi_dist_take_near(w->ctx, a->n, size, &w->keys);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->n, size, &w->got_keys);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->n, a->value_bytes, &w->values);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->n, a->value_bytes, &w->got_values);
    return status;
}

static void give(work *w) {
    wi_sort_cut_close(&w->cut);
    wi_dist_give_near(w->ctx, w->keys);
    wi_dist_give_near(w->ctx, w->got_keys);
    wi_dist_give_near(w->ctx, w->values);
    wi_dist_give_near(w->ctx, w->got_values);
}

/* The values of a call that asks for positions: those in the whole. Their memory is free until the
 * exchange. */
static weft_status positions_from(work *w, uint64_t first, const void **values) {
    const bool wide = w->args->value_bytes == 8;
    const uint32_t first_u32 = (uint32_t)first, one_u32 = 1;
    const uint64_t one = 1;
    *values = w->got_values;
    return wi_local(w->ctx, weft_iota(w->ctx->child, wide ? WEFT_U64 : WEFT_U32, w->args->n,
                                      wide ? (const void *)&first : &first_u32,
                                      wide ? (const void *)&one : &one_u32, w->got_values));
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
        status = positions_from(w, before, &part.values);
    w->cut.x[0] = w->keys;
    return status != WEFT_OK ? status : wi_local(w->ctx, wi_sort_run_here(w->ctx->child, &part));
}

/* ---- the share, which has arrived as one run from each rank ---- */

/* Memory of a share: keys, and maybe values. */
typedef struct place {
    char *keys, *values;
} place;

static place at(place p, const wi_sort_args *a, size_t i) {
    return (place){p.keys + i * weft_type_size(a->type),
                   p.values ? p.values + i * a->value_bytes : NULL};
}

static weft_status merge_two(work *w, place from, size_t na, size_t nb, place to) {
    const wi_sort_args *const a = w->args;
    const place b = at(from, a, na);
    return wi_local(w->ctx,
                    weft_merge(w->ctx->child, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING,
                               a->type, na, from.keys, nb, b.keys, to.keys, a->value_bytes,
                               from.values, b.values, to.values));
}

/* Merges runs 2 k and 2 k + 1 of `from` into `to`. */
static weft_status merge_pairs(work *w, size_t *runs, size_t *count, place from, place to) {
    weft_status status = WEFT_OK;
    size_t first = 0;
    for (size_t k = 0; k < *count && status == WEFT_OK; k += 2) {
        const size_t na = runs[k], nb = k + 1 < *count ? runs[k + 1] : 0;
        status = merge_two(w, at(from, w->args, first), na, nb, at(to, w->args, first));
        runs[k / 2] = na + nb;
        first += na + nb;
    }
    *count = (*count + 1) / 2;
    return status;
}

/* The part's memory is free again: the ranks have fetched from it what they wanted. */
static weft_status merge_share(work *w) {
    const wi_sort_args *const a = w->args;
    place from = {w->got_keys, w->got_values}, to = {w->keys, w->values};
    size_t count = (size_t)w->ctx->comm->size;
    weft_status status = WEFT_OK;
    while (count > 2 && status == WEFT_OK) {
        const place next = from;
        status = merge_pairs(w, w->cut.got[0], &count, from, to);
        from = to;
        to = next;
    }
    const place last = {a->y ? a->y : to.keys, a->values_out}; /* keys may not be wanted */
    return status == WEFT_OK ? merge_pairs(w, w->cut.got[0], &count, from, last) : status;
}

/* Merging compares whole keys; on cores sorting again is as fast. */
static bool merges(const work *w) {
    const bool whole =
        w->args->first_bit == 0 && w->args->end_bit == 8 * (unsigned)weft_type_size(w->args->type);
    return whole && wi_dist_stays(w->ctx) && w->args->n > 0;
}

static weft_status sort_share(work *w) {
    wi_sort_args part = *w->args;
    part.x = w->got_keys;
    part.y = part.y ? part.y : w->got_keys; /* keys not wanted */
    if (merges(w))
        return merge_share(w);
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
