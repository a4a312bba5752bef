/* SPDX-License-Identifier: Apache-2.0 */
/* is_sorted and search over ranks. */
#include <string.h>

#include "comm/dist.h"
#include "sort/sort_run.h"
#include "sort/sort_scalar.h"
#include "weft/reduce.h"

/* The bits of x[i], which may be in device memory. */
static weft_status read_element(weft_context *ctx, const void *x, size_t i, size_t size,
                                uint64_t *bits) {
    *bits = 0;
    return wi_local(ctx, weft_copy(ctx->child, bits, (const char *)x + i * size, size));
}

/* ---- is it in order? ---- */

/* What all know of a rank's part. */
enum {
    COUNT,
    FIRST, /* the key of its first element, and of the last */
    LAST,
    FALL, /* where it is not in order */
    WORDS
};

static weft_status look_at_part(weft_context *ctx, const wi_sorted_args *a, uint64_t own[WORDS]) {
    const size_t size = weft_type_size(a->type);
    const wi_sort_key key = wi_sort_key_of(a->type, a->descending);
    const size_t at[2] = {0, a->n > 0 ? a->n - 1 : 0};
    own[COUNT] = a->n;
    weft_status status =
        wi_local(ctx, weft_is_sorted(ctx->child, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING,
                                     a->type, a->n, a->x, &own[FALL]));
    for (int k = 0; k < 2 && a->n > 0 && status == WEFT_OK; k++) {
        uint64_t bits;
        status = read_element(ctx, a->x, at[k], size, &bits);
        own[FIRST + k] = wi_sort_key_at(&key, size, &bits, 0);
    }
    return status;
}

/* The first fall in the whole. */
static uint64_t first_fall(const uint64_t *all, int size) {
    uint64_t before = 0, last = 0;
    for (int r = 0; r < size; r++, all += WORDS) {
        if (all[COUNT] > 0 && before > 0 && all[FIRST] < last)
            return before;
        if (all[FALL] != WEFT_NOWHERE)
            return before + all[FALL];
        last = all[COUNT] > 0 ? all[LAST] : last;
        before += all[COUNT];
    }
    return WEFT_NOWHERE;
}

weft_status wi_is_sorted_ranks(weft_context *ctx, const void *arguments) {
    const wi_sorted_args *const a = ((const wi_dist_args *)arguments)->args;
    uint64_t own[WORDS] = {0};
    const uint64_t *all = NULL;
    weft_status status = wi_agree(ctx, 0, look_at_part(ctx, a, own));
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, WORDS, &all);
    if (status != WEFT_OK)
        return status;
    const uint64_t fall = first_fall(all, ctx->comm->size);
    return wi_local(ctx, weft_copy(ctx->child, a->position, &fall, sizeof fall));
}

/* ---- where does it belong? ---- */

/* A search while it runs, in host memory. */
typedef struct work {
    weft_context *ctx;
    const wi_search_args *args;
    size_t size;              /* of an element */
    uint64_t before;          /* elements on lower ranks */
    uint64_t *ends;           /* of each rank with elements: its number, and its last key */
    size_t parts;             /* how many those are */
    size_t *sent, *got, *at;  /* for each rank: elements wanted there, wanted here, the next one */
    void *copy;               /* of wanted */
    uint64_t *order;          /* where each wanted element is among those sent */
    void *asked;              /* the wanted elements, in the order of their ranks */
    uint64_t *answers;        /* to those */
    void *others;             /* what others want here */
    uint64_t *others_answers; /* and where it belongs */
    size_t n_others;
} work;

static weft_status take(work *w) {
    const size_t ranks = (size_t)w->ctx->comm->size, m = w->args->m;
    void *of_ranks, *of_wanted;
    weft_status status = wi_dist_take(w->ctx, ranks, 5 * sizeof(uint64_t), &of_ranks);
    w->ends = of_ranks;
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, m, 2 * sizeof(uint64_t), &of_wanted);
    if (status != WEFT_OK)
        return status;
    w->sent = (size_t *)(w->ends + 2 * ranks);
    w->got = w->sent + ranks;
    w->at = w->got + ranks;
    w->order = of_wanted;
    w->answers = m > 0 ? w->order + m : NULL;
    status = wi_dist_take(w->ctx, m, w->size, &w->asked);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, m, w->size, &w->copy);
    return status;
}

static void give(work *w) {
    wi_host_free(w->ends);
    wi_host_free(w->order);
    wi_host_free(w->asked);
    wi_host_free(w->copy);
    wi_host_free(w->others);
    wi_host_free(w->others_answers);
}

/* Learns the last key of every rank. */
static weft_status meet(work *w) {
    weft_context *const ctx = w->ctx;
    const wi_search_args *const a = w->args;
    const wi_sort_key key = wi_sort_key_of(a->type, a->descending);
    const uint64_t *all = NULL;
    uint64_t own[2] = {a->n, 0}, bits = 0;
    weft_status status = take(w);
    if (status == WEFT_OK && a->n > 0)
        status = read_element(ctx, a->x, a->n - 1, w->size, &bits);
    if (status == WEFT_OK && a->m > 0)
        status = wi_local(ctx, weft_copy(ctx->child, w->copy, a->wanted, a->m * w->size));
    own[1] = wi_sort_key_at(&key, w->size, &bits, 0);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, own, 2, &all);
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++, all += 2) {
        w->before += r < ctx->comm->rank ? all[0] : 0;
        if (all[0] > 0) {
            w->ends[2 * w->parts] = (uint64_t)r;
            w->ends[2 * w->parts++ + 1] = all[1];
        }
    }
    return status;
}

/* The rank where a key belongs: the first whose last element does not come before it. */
static size_t rank_of(const work *w, uint64_t key) {
    size_t first = 0, n = w->parts;
    while (n > 0) {
        const size_t half = n / 2;
        const uint64_t last = w->ends[2 * (first + half) + 1];
        const bool before = w->args->upper ? last <= key : last < key;
        first = before ? first + half + 1 : first;
        n = before ? n - half - 1 : half;
    }
    if (w->parts == 0)
        return (size_t)w->ctx->comm->rank;
    return (size_t)w->ends[2 * (first < w->parts ? first : w->parts - 1)];
}

/* Puts the wanted elements into the order of their ranks. */
static void deal(work *w) {
    const size_t ranks = (size_t)w->ctx->comm->size, m = w->args->m;
    const wi_sort_key key = wi_sort_key_of(w->args->type, w->args->descending);
    memset(w->sent, 0, ranks * sizeof *w->sent);
    for (size_t j = 0; j < m; j++) {
        w->order[j] = rank_of(w, wi_sort_key_at(&key, w->size, w->copy, j));
        w->sent[w->order[j]]++;
    }
    for (size_t r = 0, at = 0; r < ranks; at += w->sent[r++])
        w->at[r] = at;
    for (size_t j = 0; j < m; j++) {
        w->order[j] = w->at[w->order[j]]++;
        memcpy((char *)w->asked + w->order[j] * w->size, (const char *)w->copy + j * w->size,
               w->size);
    }
}

static weft_status take_others(work *w) {
    for (int r = 0; r < w->ctx->comm->size; r++)
        w->n_others += w->got[r];
    void *answers = NULL;
    weft_status status = wi_dist_take(w->ctx, w->n_others, w->size, &w->others);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, w->n_others, sizeof(uint64_t), &answers);
    w->others_answers = answers;
    return status;
}

/* Finds, in this rank's part, where the elements belong that ranks want here. */
static weft_status answer(work *w) {
    const wi_search_args *const a = w->args;
    const weft_status status =
        wi_local(w->ctx, weft_search(w->ctx->child, a->upper ? WEFT_UPPER : WEFT_LOWER,
                                     a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, a->type,
                                     a->n, a->x, w->n_others, w->others, w->others_answers));
    for (size_t j = 0; j < w->n_others && status == WEFT_OK; j++)
        w->others_answers[j] += w->before;
    return status;
}

/* Gives the caller the answers, in the order of the questions. */
static weft_status put_out(work *w) {
    uint64_t *const ordered = (uint64_t *)w->order; /* each is read before it is written */
    for (size_t j = 0; j < w->args->m; j++)
        ordered[j] = w->answers[w->order[j]];
    return wi_local(w->ctx, weft_copy(w->ctx->child, w->args->positions, ordered,
                                      w->args->m * sizeof *ordered));
}

static weft_status run(work *w) {
    weft_context *const ctx = w->ctx;
    const wi_comm_table *const calls = ctx->comm->calls;
    const weft_type type = w->args->type;
    weft_status status = meet(w);
    if (status != WEFT_OK)
        return status;
    deal(w);
    status = wi_exchange_counts(ctx, w->sent, w->got);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, take_others(w));
    if (status == WEFT_OK)
        status = calls->all_to_all_v(ctx, w->asked, w->sent, w->others, w->got, type);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, answer(w));
    if (status == WEFT_OK)
        status = calls->all_to_all_v(ctx, w->others_answers, w->got, w->answers, w->sent, WEFT_U64);
    return status == WEFT_OK ? put_out(w) : status;
}

weft_status wi_search_ranks(weft_context *ctx, const void *arguments) {
    const wi_search_args *const a = ((const wi_dist_args *)arguments)->args;
    work w = {.ctx = ctx, .args = a, .size = weft_type_size(a->type)};
    const weft_status status = run(&w);
    give(&w);
    return status;
}
