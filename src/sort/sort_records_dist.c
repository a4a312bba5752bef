/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of equal records, and bounds, over ranks. */
#include <string.h>

#include "comm/borders.h"
#include "comm/deal.h"
#include "sort/sort_fields.h"

/* ---- runs ---- */

/* What all know of a rank's runs. */
enum {
    RUNS,
    FIRST_LENGTH,
    WORDS
};

static weft_status find_own(weft_context *ctx, const wi_record_runs_request *r, uint64_t *own) {
    const wi_record_runs_args *const a = &r->args;
    const wi_fields *const f = &a->fields;
    weft_context *const child = ctx->child;
    const weft_status status =
        a->length_bytes > 0
            ? weft_run_length_records(child, a->n, f->record_bytes, a->records, a->out, r->fields,
                                      f->count, r->length_type, a->lengths, own)
            : weft_unique_records(child, a->n, f->record_bytes, a->records, a->out, r->fields,
                                  f->count, own);
    return wi_local(ctx, status);
}

/* Is the last run of rank r that of the first on rank s? */
static bool are_joined(const wi_fields *f, const wi_borders *b, int r, int s) {
    return r >= 0 && s >= 0 &&
           wi_fields_compare(f, wi_borders_last(b, r), wi_borders_first(b, s)) == 0;
}

/* How many records the last run of rank r has on the ranks behind it. */
static uint64_t length_behind(const wi_fields *f, const wi_borders *b, const uint64_t *all, int r) {
    uint64_t length = 0;
    for (int next = wi_borders_next(b, r, 1); are_joined(f, b, r, next);
         r = next, next = wi_borders_next(b, r, 1)) {
        length += all[next * WORDS + FIRST_LENGTH];
        if (all[next * WORDS + RUNS] > 1)
            break;
    }
    return length;
}

/* The first run may belong to a rank before, and the last go on behind. */
static weft_status join_runs(weft_context *ctx, const wi_record_runs_request *r,
                             const wi_borders *b, uint64_t *own) {
    const wi_record_runs_args *const a = &r->args;
    const int rank = ctx->comm->rank;
    uint64_t words[WORDS] = {[RUNS] = *own};
    const uint64_t *all = NULL;
    weft_status status = WEFT_OK;
    if (a->length_bytes > 0 && *own > 0)
        status =
            wi_local(ctx, weft_copy(ctx->child, &words[FIRST_LENGTH], a->lengths, a->length_bytes));
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, words, WORDS, &all);
    if (status != WEFT_OK || *own == 0)
        return status;
    const bool first_goes = are_joined(&a->fields, b, wi_borders_next(b, rank, -1), rank);
    if (a->length_bytes > 0 && !(first_goes && *own == 1))
        status = wi_dist_add(ctx, (char *)a->lengths + (*own - 1) * a->length_bytes, 1,
                             a->length_bytes, length_behind(&a->fields, b, all, rank));
    if (first_goes && status == WEFT_OK)
        status = wi_dist_drop_first(ctx, a->out, *own, a->fields.record_bytes);
    if (first_goes && a->length_bytes > 0 && status == WEFT_OK)
        status = wi_dist_drop_first(ctx, a->lengths, *own, a->length_bytes);
    *own -= first_goes;
    return status;
}

weft_status wi_record_runs_ranks(weft_context *ctx, const void *request) {
    const wi_record_runs_request *const r = request;
    const wi_record_runs_args *const a = &r->args;
    const size_t bytes = a->fields.record_bytes;
    uint64_t own = 0, before, count = 0;
    wi_borders b;
    weft_status status = wi_all_counts(ctx, a->n, &before, &count);
    if (status == WEFT_OK && a->length_bytes > 0)
        status = wi_check_index_type(ctx, a->call, "length_type", r->length_type, count);
    if (status != WEFT_OK)
        return status; /* the same on all ranks */
    status = wi_agree(ctx, 0, find_own(ctx, r, &own));
    if (status != WEFT_OK)
        return status;
    status =
        wi_borders_meet(ctx, &b, bytes, a->n, a->out, own > 0 ? a->out + (own - 1) * bytes : NULL);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, join_runs(ctx, r, &b, &own));
    wi_borders_close(&b);
    if (status == WEFT_OK)
        status = wi_all_counts(ctx, own, &before, &count);
    ctx->comm->own_count = own;
    return status == WEFT_OK ? wi_local(ctx, weft_copy(ctx->child, a->count, &count, sizeof count))
                             : status;
}

/* ---- bounds ---- */

/* A search while it runs, in host memory. */
typedef struct work {
    weft_context *ctx;
    const wi_search_records_request *request;
    wi_borders borders;
    wi_deal deal;
    unsigned char *wanted, *asked, *others; /* as passed; as sent; what others want here */
    uint64_t *answers, *others_answers;
} work;

/* The rank where a record belongs: the first whose last record does not come before it. */
static int rank_of(const work *w, const unsigned char *wanted) {
    const wi_search_records_args *const a = &w->request->args;
    int found = wi_borders_next(&w->borders, -1, 1);
    for (int next = found; next >= 0; next = wi_borders_next(&w->borders, next, 1)) {
        const int sign = wi_fields_compare(&a->fields, wi_borders_last(&w->borders, next), wanted);
        found = next;
        if (a->upper ? sign > 0 : sign >= 0)
            break;
    }
    return found >= 0 ? found : w->ctx->comm->rank;
}

static weft_status deal(work *w) {
    const wi_search_records_args *const a = &w->request->args;
    const size_t bytes = a->fields.record_bytes;
    void *wanted = NULL, *asked = NULL, *answers = NULL;
    weft_status status = wi_deal_open(w->ctx, &w->deal, a->m);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->m, bytes, &wanted);
    w->wanted = wanted;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->m, bytes, &asked);
    w->asked = asked;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a->m, sizeof *w->answers, &answers);
    w->answers = answers;
    if (status == WEFT_OK && a->m > 0)
        status = wi_local(w->ctx, weft_copy(w->ctx->child, wanted, a->wanted, a->m * bytes));
    if (status != WEFT_OK)
        return status;
    for (size_t j = 0; j < a->m; j++)
        w->deal.order[j] = (uint64_t)rank_of(w, w->wanted + j * bytes);
    wi_deal_place(w->ctx, &w->deal);
    for (size_t j = 0; j < a->m; j++)
        memcpy(w->asked + w->deal.order[j] * bytes, w->wanted + j * bytes, bytes);
    return WEFT_OK;
}

static weft_status take_others(work *w) {
    void *others = NULL, *answers = NULL;
    weft_status status =
        wi_dist_take(w->ctx, w->deal.n_got, w->request->args.fields.record_bytes, &others);
    w->others = others;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, w->deal.n_got, sizeof *w->others_answers, &answers);
    w->others_answers = answers;
    return status;
}

static weft_status answer(work *w) {
    const wi_search_records_args *const a = &w->request->args;
    const weft_status status = weft_search_records(
        w->ctx->child, a->upper ? WEFT_UPPER : WEFT_LOWER, a->n, a->fields.record_bytes, a->records,
        w->deal.n_got, w->others, w->request->fields, a->fields.count, w->others_answers);
    uint64_t before = 0;
    for (int r = 0; r < w->ctx->comm->rank; r++)
        before += w->borders.counts[r];
    for (size_t j = 0; j < w->deal.n_got && status == WEFT_OK; j++)
        w->others_answers[j] += before;
    return wi_local(w->ctx, status);
}

/* Gives the caller the answers, in the order of the questions. */
static weft_status put_out(work *w) {
    const size_t m = w->request->args.m;
    uint64_t *const ordered = w->deal.order; /* each is read before it is written */
    for (size_t j = 0; j < m; j++)
        ordered[j] = w->answers[ordered[j]];
    return wi_local(
        w->ctx, weft_copy(w->ctx->child, w->request->args.positions, ordered, m * sizeof *ordered));
}

static weft_status search(work *w) {
    weft_context *const ctx = w->ctx;
    const wi_search_records_args *const a = &w->request->args;
    const size_t bytes = a->fields.record_bytes;
    const unsigned char *const last = a->n > 0 ? a->records + (a->n - 1) * bytes : NULL;
    weft_status status = wi_borders_meet(ctx, &w->borders, bytes, a->n, a->records, last);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, deal(w));
    if (status == WEFT_OK)
        status = wi_deal_count(ctx, &w->deal);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, take_others(w));
    if (status == WEFT_OK)
        status = wi_deal_send(ctx, &w->deal, w->asked, w->others, bytes);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, answer(w));
    if (status == WEFT_OK)
        status = wi_deal_answer(ctx, &w->deal, w->others_answers, w->answers, sizeof *w->answers);
    return status == WEFT_OK ? put_out(w) : status;
}

weft_status wi_search_records_ranks(weft_context *ctx, const void *request) {
    work w = {.ctx = ctx, .request = request};
    const weft_status status = search(&w);
    wi_borders_close(&w.borders);
    wi_deal_close(&w.deal);
    wi_host_free(w.wanted);
    wi_host_free(w.asked);
    wi_host_free(w.others);
    wi_host_free(w.answers);
    wi_host_free(w.others_answers);
    return status;
}
