/* SPDX-License-Identifier: Apache-2.0 */
/* quantile over ranks: the key of a wanted rank is found digit by digit, the highest first. Every
 * rank counts which digit follows the digits that are known, among the keys of its part that begin
 * with these; the sums over all ranks tell the next digit. So nothing but counts is sent, and all
 * ranks find the same keys. */
#include <string.h>

#include "comm/dist.h"
#include "core/gpu.h"
#include "quantile/quantile.h"

/* The key of one rank, while it is looked for. */
typedef struct search {
    wi_quantile_prefix prefix; /* of its key; counted in this rank's part */
    uint64_t need;             /* the position of the key among all those with the prefix */
    unsigned row;              /* of the counts of its prefix */
} search;

/* Counts of the digits that follow one prefix. */
typedef uint64_t row[WI_QUANTILE_DIGITS];

typedef struct work {
    weft_context *ctx;
    const wi_quantile_request *request;
    wi_quantile_args part; /* this rank's elements, where its place can read them */
    uint64_t total;        /* elements of all ranks */
    wi_quantile_job *jobs;
    search *searches; /* of a job, then of the rank behind it if it has a fraction */
    size_t count;
    row *own, *all; /* WI_QUANTILE_GROUP each */
    void *copy;     /* of x; or NULL */
    void *results;
} work;

/* ---- memory ---- */

static void list_searches(work *w) {
    for (size_t j = 0; j < w->request->m; j++) {
        const wi_quantile_job *const job = &w->jobs[j];
        for (unsigned k = 0; k < 1u + (job->fraction > 0); k++)
            w->searches[w->count++] =
                (search){.prefix = {.inside = w->part.n}, .need = job->rank + k};
    }
}

/* Elements in host memory are copied to a GPU once, for all digits. */
static weft_status reach_elements(work *w) {
    const wi_quantile_request *const r = w->request;
    weft_context *const child = w->ctx->child;
    const size_t bytes = r->n * weft_type_size(r->type);
    w->part.x = r->x;
    if (child->kind == WI_CPU || bytes == 0 || wi_is_device(child, r->x))
        return WEFT_OK;
    weft_status status = weft_alloc(child, &w->copy, bytes);
    if (status == WEFT_OK)
        status = weft_copy(child, w->copy, r->x, bytes);
    w->part.x = w->copy;
    return wi_local(w->ctx, status);
}

static weft_status take(work *w) {
    const wi_quantile_request *const r = w->request;
    void *searches = NULL, *rows = NULL;
    weft_status status = wi_quantile_take_jobs(w->ctx, r, w->total, &w->jobs);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, r->m, 2 * sizeof *w->searches, &searches);
    w->searches = searches;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, (size_t)2 * WI_QUANTILE_GROUP, sizeof(row), &rows);
    w->own = rows;
    w->all = rows ? w->own + WI_QUANTILE_GROUP : NULL;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, r->m, sizeof(uint64_t), &w->results);
    if (status == WEFT_OK)
        list_searches(w);
    return status == WEFT_OK ? reach_elements(w) : status;
}

static void give(work *w) {
    wi_host_free(w->jobs);
    wi_host_free(w->searches);
    wi_host_free(w->own);
    wi_host_free(w->results);
    weft_free(w->ctx->child, w->copy);
}

/* ---- one digit ---- */

/* Gives searches of the same prefix one row; returns how many prefixes there are. */
static unsigned share_rows(search *searches, unsigned count, wi_quantile_prefix *prefixes) {
    unsigned rows = 0;
    for (unsigned j = 0; j < count; j++) {
        unsigned k = 0;
        while (k < rows && prefixes[k].bits != searches[j].prefix.bits)
            k++;
        if (k == rows)
            prefixes[rows++] = searches[j].prefix;
        searches[j].row = k;
    }
    return rows;
}

static void choose_digit(const work *w, search *s) {
    const uint64_t *const own = w->own[s->row], *const all = w->all[s->row];
    size_t digit = 0;
    while (s->need >= all[digit]) {
        s->need -= all[digit];
        s->prefix.below += own[digit++];
    }
    s->prefix.inside = own[digit];
    s->prefix.bits = s->prefix.bits << WI_QUANTILE_DIGIT_BITS | digit;
}

static weft_status find_group(work *w, search *searches, unsigned count) {
    weft_context *const ctx = w->ctx;
    wi_quantile_prefix prefixes[WI_QUANTILE_GROUP];
    weft_status status = WEFT_OK;
    unsigned shift = 8 * (unsigned)weft_type_size(w->part.type);
    for (; shift > 0 && status == WEFT_OK; shift -= WI_QUANTILE_DIGIT_BITS) {
        const unsigned rows = share_rows(searches, count, prefixes);
        memset(w->own, 0, rows * sizeof *w->own);
        if (w->part.n > 0)
            status = wi_local(
                ctx, wi_quantile_count(ctx->child, &w->part, prefixes, rows, shift, w->own));
        status = wi_agree(ctx, 0, status);
        if (status == WEFT_OK)
            status = ctx->comm->calls->all_reduce(
                ctx, w->own, w->all, (size_t)rows * WI_QUANTILE_DIGITS, WEFT_U64, WEFT_SUM);
        for (unsigned j = 0; j < count && status == WEFT_OK; j++)
            choose_digit(w, &searches[j]);
    }
    return status;
}

/* ---- the rung ---- */

static weft_status put_out(work *w) {
    const wi_quantile_request *const r = w->request;
    const wi_quantile_args out = {.type = r->type,
                                  .jobs = w->jobs,
                                  .elements = wi_quantile_wants_elements(r),
                                  .out = w->results};
    const search *s = w->searches;
    for (size_t j = 0; j < r->m; j++, s++) {
        const uint64_t key = s->prefix.bits;
        s += w->jobs[j].fraction > 0;
        if (w->total > 0)
            wi_quantile_put(&out, j, key, s->prefix.bits);
        else
            ((double *)w->results)[j] = NAN;
    }
    if (r->silent)
        return WEFT_OK;
    return wi_local(w->ctx, weft_copy(w->ctx->child, r->results, w->results,
                                      r->m * weft_type_size(r->result_type)));
}

static weft_status run(work *w) {
    uint64_t before;
    weft_status status = wi_all_counts(w->ctx, w->part.n, &before, &w->total);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, take(w));
    for (size_t j = 0; j < w->count && w->total > 0 && status == WEFT_OK; j += WI_QUANTILE_GROUP) {
        const size_t left = w->count - j;
        status = find_group(w, w->searches + j,
                            (unsigned)(left < WI_QUANTILE_GROUP ? left : WI_QUANTILE_GROUP));
    }
    return status == WEFT_OK ? put_out(w) : status;
}

weft_status wi_quantile_ranks(weft_context *ctx, const void *request) {
    const wi_quantile_request *const r = request;
    work w = {.ctx = ctx, .request = r, .part = {.call = r->call, .type = r->type, .n = r->n}};
    if (r->m == 0)
        return WEFT_OK;
    const weft_status status = run(&w);
    give(&w);
    return status;
}
