/* SPDX-License-Identifier: Apache-2.0 */
/* sort and merge of records over ranks: every rank sorts its part, the sorted parts are cut where
 * the ranks' shares begin, the pieces go to their ranks, and each sorts what it got. The pieces
 * come in the order of ranks, of a merge those of the first array first, and sorting is stable. */
#include <string.h>

#include "sort/sort_records_cut.h"
#include "sort/sort_run.h"
#include "weft/gather.h"
#include "weft/records.h"

/* A call while it runs. Records are in memory that the communicator takes, positions in host
 * memory. */
typedef struct work {
    weft_context *ctx;
    const wi_sort_records_request *request;
    wi_records_cut cut;
    void *sorted[2];               /* this rank's part of each array, in order */
    void *got;                     /* its share, in pieces */
    uint64_t *order;               /* of this rank's records, and of those it got */
    uint64_t *places, *got_places; /* positions in the whole */
    size_t all;                    /* records of this rank */
    uint64_t before;               /* on lower ranks */
} work;

static bool wants_positions(const work *w) {
    return w->request->args.index_bytes > 0;
}

static weft_status take(work *w) {
    const wi_sort_records_request *const r = w->request;
    const wi_records_args *const a = &r->args;
    void *order = NULL, *places = NULL, *got_places = NULL;
    weft_status status = wi_dist_take_near(w->ctx, a->n, a->record_bytes, &w->sorted[0]);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, r->nb, a->record_bytes, &w->sorted[1]);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, w->all, a->record_bytes, &w->got);
    if (status == WEFT_OK && wants_positions(w))
        status = wi_dist_take(w->ctx, a->n, sizeof *w->order, &order);
    w->order = order;
    if (status == WEFT_OK && wants_positions(w))
        status = wi_dist_take(w->ctx, a->n, sizeof *w->places, &places);
    w->places = places;
    if (status == WEFT_OK && wants_positions(w))
        status = wi_dist_take(w->ctx, a->n, sizeof *w->got_places, &got_places);
    w->got_places = got_places;
    return status;
}

static void give(work *w) {
    for (int k = 0; k < 2; k++)
        wi_dist_give_near(w->ctx, w->sorted[k]);
    wi_dist_give_near(w->ctx, w->got);
    wi_host_free(w->order);
    wi_host_free(w->places);
    wi_host_free(w->got_places);
    wi_records_cut_close(&w->cut);
}

/* The positions that order this rank's part, and its records in that order. */
static weft_status order_part(work *w) {
    const wi_records_args *const a = &w->request->args;
    weft_context *const child = w->ctx->child;
    weft_status status = weft_sort_records_indices(child, a->n, a->record_bytes, a->records,
                                                   a->fields, a->n_fields, WEFT_U64, w->order);
    for (size_t i = 0; i < a->n && status == WEFT_OK; i++)
        w->places[i] = w->before + w->order[i];
    return status == WEFT_OK ? weft_gather(child, a->n, a->record_bytes, WEFT_U64, w->order, a->n,
                                           a->records, w->sorted[0], NULL)
                             : status;
}

static weft_status prepare(work *w) {
    const wi_sort_records_request *const r = w->request;
    const wi_records_args *const a = &r->args;
    weft_context *const child = w->ctx->child;
    weft_status status = take(w);
    if (status != WEFT_OK)
        return status;
    if (r->merges) {
        if (a->n > 0)
            status = weft_copy(child, w->sorted[0], a->records, a->n * a->record_bytes);
        if (r->nb > 0 && status == WEFT_OK)
            status = weft_copy(child, w->sorted[1], r->b, r->nb * a->record_bytes);
    } else if (wants_positions(w)) {
        status = order_part(w);
    } else {
        status = weft_sort_records(child, a->n, a->record_bytes, a->records, w->sorted[0],
                                   a->fields, a->n_fields);
    }
    return wi_local(w->ctx, status);
}

static weft_status exchange(work *w) {
    const size_t bytes = w->request->args.record_bytes;
    char *to = w->got;
    weft_status status = WEFT_OK;
    for (int k = 0; k < w->cut.runs && status == WEFT_OK; k++) {
        status = wi_dist_exchange(w->ctx, w->sorted[k], w->cut.sent[k], to, w->cut.got[k], bytes);
        for (int r = 0; r < w->ctx->comm->size && to; r++)
            to += w->cut.got[k][r] * bytes;
    }
    if (status == WEFT_OK && wants_positions(w))
        status = wi_dist_exchange(w->ctx, w->places, w->cut.sent[0], w->got_places, w->cut.got[0],
                                  sizeof *w->places);
    return status;
}

/* Positions come in the order of the records that this rank got. */
static weft_status put_positions(work *w) {
    const wi_records_args *const a = &w->request->args;
    weft_context *const child = w->ctx->child;
    weft_status status = weft_sort_records_indices(child, a->n, a->record_bytes, w->got, a->fields,
                                                   a->n_fields, WEFT_U64, w->order);
    for (size_t i = 0; i < a->n && status == WEFT_OK; i++)
        memcpy((char *)w->places + i * a->index_bytes, &w->got_places[w->order[i]], a->index_bytes);
    return status == WEFT_OK ? weft_copy(child, a->indices, w->places, a->n * a->index_bytes)
                             : status;
}

static weft_status run(work *w) {
    const wi_sort_records_request *const r = w->request;
    const wi_records_args *const a = &r->args;
    uint64_t total;
    weft_status status = wi_all_counts(w->ctx, w->all, &w->before, &total);
    if (status == WEFT_OK && wants_positions(w))
        status = wi_check_index_type(w->ctx, a->call, "index_type", r->index_type,
                                     total > 0 ? total - 1 : 0);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, prepare(w));
    w->cut.x[0] = w->sorted[0];
    w->cut.x[1] = w->sorted[1];
    if (status == WEFT_OK)
        status = wi_records_cut_find(w->ctx, &w->cut);
    if (status == WEFT_OK)
        status = exchange(w);
    if (status != WEFT_OK || w->all == 0)
        return status;
    return wi_local(w->ctx, wants_positions(w)
                                ? put_positions(w)
                                : weft_sort_records(w->ctx->child, w->all, a->record_bytes, w->got,
                                                    a->out, a->fields, a->n_fields));
}

weft_status wi_sort_records_ranks(weft_context *ctx, const void *request) {
    const wi_sort_records_request *const r = request;
    work w = {.ctx = ctx,
              .request = r,
              .cut = {.record_bytes = r->args.record_bytes,
                      .n_fields = r->args.n_fields,
                      .fields = r->args.fields,
                      .runs = r->merges ? 2 : 1,
                      .n = {r->args.n, r->nb}},
              .all = r->args.n + r->nb};
    const weft_status status = run(&w);
    give(&w);
    return status;
}
