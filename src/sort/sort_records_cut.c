/* SPDX-License-Identifier: Apache-2.0 */
/* Every share's first record is looked for among those of all ranks: the rank with the most records
 * that may be it proposes the one in the middle; all count how many of theirs belong before it, and
 * how many are equal to it; the sums tell on which side of it the share begins, or that it begins
 * among its equals, which are then divided in the order of ranks. All shares are looked for at
 * once. */
#include "sort/sort_records_cut.h"

#include "sort/sort_cut.h"

#include <string.h>

#include "weft/records.h"

/* Words for each share but the first; some for each array. */
enum {
    WANTED, /* the position in the whole where the share begins */
    DONE,
    LEFT, /* records of this rank that may be its first */
    LOW,  /* from LOW to HIGH, where the cut is; the cut itself if it is found */
    HIGH = LOW + 2,
    LOWER = HIGH + 2, /* records of this rank that belong before the proposed one */
    EQUAL = LOWER + 2,
    ALL = EQUAL + 2, /* the same four of all ranks, and of lower ranks */
    BEFORE = ALL + 4,
    CHOSEN = BEFORE + 4, /* 1 + the number of the record, if this rank's proposal is taken */
    LINES = CHOSEN + 2
};

typedef struct work {
    weft_context *ctx;
    wi_records_cut *cut;
    size_t targets;        /* shares but for the first, which begins at 0 */
    uint64_t *line[LINES]; /* a word for each of them */
    uint64_t *left;        /* that of all ranks */
    char *own, *all;       /* proposed records: of this rank, and of all */
    char *pivots;          /* one of those for each share */
} work;

static weft_status take(work *w) {
    weft_context *const ctx = w->ctx;
    const size_t ranks = (size_t)ctx->comm->size, records = (ranks + 2) * w->targets;
    const size_t words = (LINES + ranks) * w->targets + 4 * ranks;
    const size_t word = sizeof(uint64_t);
    const size_t bytes = (records * w->cut->record_bytes + word - 1) / word;
    void *room = NULL;
    const weft_status status = wi_dist_take(ctx, words + bytes, word, &room);
    w->cut->room = room;
    if (status != WEFT_OK)
        return status;
    memset(room, 0, (words + bytes) * word);
    uint64_t *at = room;
    for (int k = 0; k < 2; k++) {
        w->cut->sent[k] = (size_t *)at;
        w->cut->got[k] = (size_t *)(at + ranks);
        at += 2 * ranks;
    }
    for (int k = 0; k < LINES; k++, at += w->targets)
        w->line[k] = at;
    w->left = at;
    w->all = (char *)(at + ranks * w->targets);
    w->own = w->all + ranks * w->targets * w->cut->record_bytes;
    w->pivots = w->own + w->targets * w->cut->record_bytes;
    return WEFT_OK;
}

static weft_status begin(work *w) {
    const wi_records_cut *const cut = w->cut;
    const uint64_t own = cut->n[0] + (cut->runs > 1 ? cut->n[1] : 0), *all = NULL;
    const weft_status status = wi_all_words(w->ctx, &own, 1, &all);
    uint64_t total = 0, before = 0;
    for (int r = 0; r < w->ctx->comm->size && status == WEFT_OK; r++)
        total += all[r];
    for (size_t t = 0; t < w->targets && status == WEFT_OK; t++) {
        before += all[t];
        w->line[WANTED][t] = before;
        w->line[DONE][t] = before == 0 || before == total;
        for (int k = 0; k < cut->runs; k++) {
            w->line[LOW + k][t] = before == total ? cut->n[k] : 0;
            w->line[HIGH + k][t] = before == 0 ? 0 : cut->n[k];
        }
    }
    return status;
}

/* Proposes, for each share, the record in the middle of the longer rest. */
static weft_status propose(work *w) {
    const size_t bytes = w->cut->record_bytes;
    weft_status status = WEFT_OK;
    for (size_t t = 0; t < w->targets && status == WEFT_OK; t++) {
        size_t rest[2] = {0, 0};
        for (int k = 0; k < w->cut->runs; k++)
            rest[k] = w->line[HIGH + k][t] - w->line[LOW + k][t];
        const int k = rest[1] > rest[0];
        const uint64_t middle = w->line[LOW + k][t] + rest[k] / 2;
        w->line[LEFT][t] = w->line[DONE][t] ? 0 : rest[0] + rest[1];
        if (w->line[LEFT][t] > 0)
            status = weft_copy(w->ctx->child, w->own + t * bytes,
                               (const char *)w->cut->x[k] + middle * bytes, bytes);
        w->line[CHOSEN + k][t] = middle + 1;
        w->line[CHOSEN + !k][t] = 0;
    }
    return wi_local(w->ctx, status);
}

/* Chooses the proposals of the ranks with the most left. Where nothing is left, of an array that is
 * not in order, the share begins where the search has ended. */
static void choose(work *w) {
    const size_t bytes = w->cut->record_bytes, ranks = (size_t)w->ctx->comm->size;
    for (size_t t = 0; t < w->targets; t++) {
        size_t most = 0;
        for (size_t r = 1; r < ranks; r++)
            most = w->left[r * w->targets + t] > w->left[most * w->targets + t] ? r : most;
        if (most != (size_t)w->ctx->comm->rank)
            w->line[CHOSEN][t] = w->line[CHOSEN + 1][t] = 0;
        memcpy(w->pivots + t * bytes, w->all + (most * w->targets + t) * bytes, bytes);
        w->line[DONE][t] = w->line[DONE][t] || w->left[most * w->targets + t] == 0;
    }
}

static weft_status count(work *w) {
    const wi_records_cut *const c = w->cut;
    weft_status status = WEFT_OK;
    for (int k = 0; k < c->runs && status == WEFT_OK; k++) {
        uint64_t *const lower = w->line[LOWER + k], *const equal = w->line[EQUAL + k];
        status = weft_search_records(w->ctx->child, WEFT_LOWER, c->n[k], c->record_bytes, c->x[k],
                                     w->targets, w->pivots, c->fields, c->n_fields, lower);
        if (status == WEFT_OK)
            status =
                weft_search_records(w->ctx->child, WEFT_UPPER, c->n[k], c->record_bytes, c->x[k],
                                    w->targets, w->pivots, c->fields, c->n_fields, equal);
        for (size_t t = 0; t < w->targets && status == WEFT_OK; t++)
            equal[t] -= lower[t] < equal[t] ? lower[t] : equal[t];
    }
    return wi_local(w->ctx, status);
}

static uint64_t at_most(uint64_t a, uint64_t most) {
    return a < most ? a : most;
}

/* Share t begins among the equals of its pivot, `among` of which are before it. */
static void settle(work *w, size_t t, uint64_t among) {
    for (int k = 0; k < w->cut->runs; k++) {
        const uint64_t of_run = at_most(among, w->line[ALL + 2 + k][t]);
        const uint64_t others = at_most(w->line[BEFORE + 2 + k][t], of_run);
        w->line[LOW + k][t] =
            w->line[LOWER + k][t] + at_most(of_run - others, w->line[EQUAL + k][t]);
        among -= of_run;
    }
    w->line[DONE][t] = 1;
}

/* Leaves the records that may still be the first of share t. */
static void narrow(work *w, size_t t) {
    const uint64_t wanted = w->line[WANTED][t];
    const uint64_t lower = w->line[ALL][t] + w->line[ALL + 1][t];
    const uint64_t upper = lower + w->line[ALL + 2][t] + w->line[ALL + 3][t];
    if (lower <= wanted && wanted <= upper) {
        settle(w, t, wanted - lower);
        return;
    }
    for (int k = 0; k < w->cut->runs; k++) {
        uint64_t *const low = &w->line[LOW + k][t], *const high = &w->line[HIGH + k][t];
        const uint64_t below = w->line[LOWER + k][t], end = below + w->line[EQUAL + k][t];
        if (wanted < lower)
            *high = below < *high ? below : *high;
        else
            *low = end > *low ? end : *low;
        /* of an array in order this is so already; of others it makes the search end */
        const uint64_t chosen = w->line[CHOSEN + k][t];
        if (chosen > 0 && wanted < lower)
            *high = chosen - 1 < *high ? chosen - 1 : *high;
        else if (chosen > *low)
            *low = chosen;
        *high = *high < *low ? *low : *high; /* of an array that is not in order */
    }
}

static weft_status narrow_all(work *w) {
    weft_context *const ctx = w->ctx;
    const wi_comm_table *const calls = ctx->comm->calls;
    const size_t t = w->targets;
    weft_status status = wi_agree(ctx, 0, propose(w));
    if (status == WEFT_OK)
        status = calls->all_gather(ctx, w->line[LEFT], w->left, t, WEFT_U64);
    if (status == WEFT_OK)
        status = calls->all_gather(ctx, w->own, w->all, t * w->cut->record_bytes, WEFT_U8);
    if (status != WEFT_OK)
        return status;
    choose(w);
    status = wi_agree(ctx, 0, count(w));
    if (status == WEFT_OK)
        status = calls->all_reduce(ctx, w->line[LOWER], w->line[ALL], 4 * t, WEFT_U64, WEFT_SUM);
    if (status == WEFT_OK)
        status = calls->exscan(ctx, w->line[LOWER], w->line[BEFORE], 4 * t, WEFT_U64, WEFT_SUM);
    for (size_t k = 0; k < t && status == WEFT_OK; k++) {
        if (!w->line[DONE][k])
            narrow(w, k);
    }
    return status;
}

static bool is_done(const work *w) {
    for (size_t t = 0; t < w->targets; t++)
        if (!w->line[DONE][t])
            return false;
    return true;
}

weft_status wi_records_cut_find(weft_context *ctx, wi_records_cut *cut) {
    work w = {.ctx = ctx, .cut = cut, .targets = (size_t)ctx->comm->size - 1};
    weft_status status = wi_agree(ctx, 0, take(&w));
    if (status == WEFT_OK)
        status = begin(&w);
    while (status == WEFT_OK && !is_done(&w))
        status = narrow_all(&w);
    for (int k = 0; k < cut->runs && status == WEFT_OK; k++) {
        size_t from = 0;
        for (size_t r = 0; r <= w.targets; r++) {
            size_t end = r < w.targets ? (size_t)w.line[LOW + k][r] : cut->n[k];
            end = end < from ? from : end; /* of an array that is not in order */
            cut->sent[k][r] = end - from;
            from = end;
        }
        status = wi_exchange_counts(ctx, cut->sent[k], cut->got[k]);
    }
    return status == WEFT_OK
               ? wi_agree(ctx, 0, wi_sort_check_share(ctx, cut->runs, cut->n, cut->got))
               : status;
}

void wi_records_cut_close(wi_records_cut *cut) {
    wi_host_free(cut->room);
}
