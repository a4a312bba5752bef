/* SPDX-License-Identifier: Apache-2.0 */
/* sort over ranks: every rank sorts its part, the parts are cut where the ranks' shares begin, the
 * pieces go to their ranks, and every rank merges or sorts what it got. GPUs that reach each
 * other's memory merge the pieces from where they lie, so that they travel while they are merged;
 * if they have very many elements, these go to their ranks first (sort_dist_ranges.c).
 * Pieces come in the order of ranks, and both are stable, so the whole sort is. The cuts are exact:
 * no keys can make one rank's share larger than another's. */
#include "comm/gpus.h"
#include "core/gpu.h"
#include "sort/sort_cut.h"
#include "sort/sort_ranges.h"
#include "sort/sort_run.h"
#include "weft/map.h"

/* A call while it runs, in memory that the communicator takes. */
typedef struct work {
    weft_context *ctx;
    const wi_sort_args *args;
    wi_sort_cut cut;
    void *keys, *values;         /* this rank's part, sorted */
    void *got_keys, *got_values; /* its share */
    bool reaches;                /* kernels of this rank read other ranks' parts; on all or none */
} work;

/* Merging compares whole keys; on cores sorting again is as fast. */
static bool merges(const work *w) {
    const bool whole =
        w->args->first_bit == 0 && w->args->end_bit == 8 * (unsigned)weft_type_size(w->args->type);
    return whole && wi_dist_stays(w->ctx);
}

static bool reaches(const work *w) {
    const char *why;
    return merges(w) && w->ctx->gpus && wi_dealt_reaches(wi_gpus_dealt(w->ctx), &why);
}

/* Can a single merge of what others have be the result? */
static bool is_direct(const work *w) {
    const wi_sort_args *const a = w->args;
    weft_context *const child = w->ctx->child;
    return w->reaches && w->ctx->comm->size <= 2 && a->n > 0 && a->y && wi_is_device(child, a->y) &&
           (a->value_bytes == 0 || wi_is_device(child, a->values_out));
}

static bool asks_positions(const wi_sort_args *a) {
    return a->value_bytes > 0 && !a->values && a->n > 0;
}

static weft_status take(work *w) {
    const wi_sort_args *const a = w->args;
    const size_t size = weft_type_size(a->type);
    weft_status status = wi_sort_cut_open(w->ctx, &w->cut);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->n, size, &w->keys);
    const bool gets = !is_direct(w);
    if (status == WEFT_OK && gets)
        status = wi_dist_take_near(w->ctx, a->n, size, &w->got_keys);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->n, a->value_bytes, &w->values);
    if (status == WEFT_OK && (gets || asks_positions(a)))
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

/* Merges `count` runs. The part's memory is free again: the ranks have what they wanted of it. */
static weft_status merge_share(work *w, size_t count) {
    const wi_sort_args *const a = w->args;
    place from = {w->got_keys, w->got_values}, to = {w->keys, w->values};
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

static weft_status sort_share(work *w) {
    wi_sort_args part = *w->args;
    part.x = w->got_keys;
    part.y = part.y ? part.y : w->got_keys; /* keys not wanted */
    if (merges(w) && w->args->n > 0)
        return merge_share(w, (size_t)w->ctx->comm->size);
    part.values = w->got_values;
    return wi_local(w->ctx, wi_sort_run_here(w->ctx->child, &part));
}

/* ---- the share, still in the parts of the ranks ---- */

/* What rank r has for this one: where its sorted part lies, and where in it the piece begins. */
enum {
    KEYS,
    VALUES,
    WORDS
};

static place piece_of(const work *w, const uint64_t *all, const size_t *begin, size_t r) {
    const uint64_t *const words = all + r * WORDS;
    const place part = {(char *)(uintptr_t)words[KEYS], (char *)(uintptr_t)words[VALUES]};
    return at(part, w->args, begin[r]);
}

/* Kernels read both runs where they lie: no copies are made of memory of other GPUs. */
static weft_status merge_reached(work *w, place a, size_t na, place b, size_t nb, place to) {
    const wi_sort_args *const s = w->args;
    const wi_merge_args m = {.call = s->call,
                             .type = s->type,
                             .descending = s->descending,
                             .na = na,
                             .nb = nb,
                             .a = a.keys,
                             .b = b.keys,
                             .out = to.keys,
                             .value_bytes = s->value_bytes,
                             .a_values = a.values,
                             .b_values = b.values,
                             .values_out = to.values};
    return na + nb == 0
               ? WEFT_OK
               : wi_local(w->ctx, wi_run(w->ctx->child, &wi_merge_ladder, s->call, s->type, &m));
}

/* Merges the pieces of ranks 2 k and 2 k + 1 into `to`, one pair behind the other. */
static weft_status merge_pieces(work *w, const uint64_t *all, const size_t *begin, place to) {
    size_t *const n = w->cut.got[0];
    const size_t size = (size_t)w->ctx->comm->size;
    weft_status status = WEFT_OK;
    size_t first = 0;
    for (size_t r = 0; r < size && status == WEFT_OK; r += 2) {
        const bool pair = r + 1 < size;
        const size_t nb = pair ? n[r + 1] : 0;
        const place b = pair ? piece_of(w, all, begin, r + 1) : (place){NULL, NULL};
        status = merge_reached(w, piece_of(w, all, begin, r), n[r], b, nb, at(to, w->args, first));
        n[r / 2] = n[r] + nb;
        first += n[r / 2];
    }
    return status;
}

/* Where in each rank's part the piece for this rank begins. */
static weft_status exchange_begins(work *w, size_t *own, size_t *begin) {
    size_t before = 0;
    for (int r = 0; r < w->ctx->comm->size; r++) {
        own[r] = before;
        before += w->cut.sent[0][r];
    }
    return wi_exchange_counts(w->ctx, own, begin);
}

static weft_status merge_from_all(work *w) {
    const wi_sort_args *const a = w->args;
    const size_t size = (size_t)w->ctx->comm->size;
    const uint64_t own[WORDS] = {(uintptr_t)w->keys, (uintptr_t)w->values}, *all = NULL;
    const bool direct = is_direct(w);
    size_t begins[2 * WI_MOST_GPUS] = {0};
    weft_status status = exchange_begins(w, begins, begins + size);
    if (status == WEFT_OK)
        status = wi_local(w->ctx, weft_sync(w->ctx->child)); /* others read what it has sorted */
    status = wi_agree(w->ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(w->ctx, own, WORDS, &all);
    if (status != WEFT_OK)
        return status;
    status =
        merge_pieces(w, all, begins + size,
                     direct ? (place){a->y, a->values_out} : (place){w->got_keys, w->got_values});
    if (status == WEFT_OK)
        status = wi_local(w->ctx, weft_sync(w->ctx->child));
    status = wi_agree(w->ctx, 0, status); /* nobody reads the parts any more */
    return status == WEFT_OK && !direct && a->n > 0 ? merge_share(w, (size + 1) / 2) : status;
}

/* Sorts parts first; this one has `before` elements before it. */
static weft_status sort_parts(work *w, uint64_t before) {
    weft_context *const ctx = w->ctx;
    const wi_sort_args *const a = w->args;
    weft_status status = wi_agree(ctx, 0, sort_part(w, before));
    if (status == WEFT_OK)
        status = wi_sort_cut_find(ctx, &w->cut);
    if (status == WEFT_OK && w->reaches)
        return merge_from_all(w);
    if (status == WEFT_OK)
        status =
            wi_sort_cut_exchange(ctx, &w->cut, 0, w->keys, w->got_keys, weft_type_size(a->type));
    if (status == WEFT_OK && a->value_bytes > 0)
        status = wi_sort_cut_exchange(ctx, &w->cut, 0, w->values, w->got_values, a->value_bytes);
    return status == WEFT_OK ? sort_share(w) : status;
}

static weft_status run(work *w) {
    weft_context *const ctx = w->ctx;
    uint64_t before, total;
    bool done = false;
    weft_status status = wi_all_counts(ctx, w->args->n, &before, &total);
    if (status == WEFT_OK && w->reaches && !wi_forced_row(ctx->child, &wi_sort_ladder))
        status = wi_sort_by_ranges(ctx, w->args, total, &done);
    return status == WEFT_OK && !done ? sort_parts(w, before) : status;
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

weft_status wi_sort_ranks(weft_context *ctx, const void *args) {
    const wi_dist_args *const dist = args;
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
    w.reaches = reaches(&w);
    if (status == WEFT_OK)
        status = run(&w);
    give(&w);
    return status;
}
