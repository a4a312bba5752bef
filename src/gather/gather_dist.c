/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter over ranks. Each index is a position in the whole, so an element of one rank.
 * Gather sends every rank the positions that are wanted of it, and gets the elements back; scatter
 * sends positions and elements there, in the order of the whole, so that of several for one place
 * the last stays if that is asked for. GPUs that read each other's memory gather without that. */
#include <string.h>

#include "comm/deal.h"
#include "gather/gather.h"

/* A call while it runs. */
typedef struct work {
    weft_context *ctx;
    const wi_call *call;
    const wi_gather_request *moves;
    uint64_t *begins; /* of each rank: where its m elements begin in the whole; then all m */
    uint64_t before;  /* indices of lower ranks */
    uint64_t first_bad;
    wi_deal deal;
    void *index;                        /* a copy in host memory */
    uint64_t *asked, *wanted;           /* positions in the parts of others; in this part */
    void *sent[WEFT_GATHERED_MOST];     /* elements on their way: of each array those that */
    void *received[WEFT_GATHERED_MOST]; /* this rank sends, and gets */
} work;

static const wi_array *array_of(const work *w, size_t f, bool y) {
    return &w->call->array[WI_GATHER_ARRAYS + 2 * f + y];
}

/* ---- where everything is ---- */

static weft_status meet(work *w) {
    const wi_gather_args *const a = &w->moves->args;
    const size_t ranks = (size_t)w->ctx->comm->size;
    const uint64_t own[2] = {a->n, a->m}, *all = NULL;
    void *begins = NULL;
    weft_status status =
        wi_agree(w->ctx, 0, wi_dist_take(w->ctx, ranks + 1, sizeof *w->begins, &begins));
    w->begins = begins;
    if (status == WEFT_OK)
        status = wi_all_words(w->ctx, own, 2, &all);
    if (status != WEFT_OK)
        return status;
    w->begins[0] = 0;
    for (size_t r = 0; r < ranks; r++) {
        w->before += r < (size_t)w->ctx->comm->rank ? all[2 * r] : 0;
        w->begins[r + 1] = w->begins[r] + all[2 * r + 1];
    }
    if (w->moves->shared) { /* each rank counts the same m */
        w->begins[ranks] = a->m;
        w->before = w->moves->first;
    }
    return WEFT_OK;
}

/* Finds the first index of this rank that is out of range; without `bad` it is refused. */
static weft_status check_indices(work *w) {
    const wi_gather_args *const a = &w->moves->args;
    weft_context *const child = w->ctx->child;
    wi_gather_args whole = *a;
    whole.m = (size_t)w->begins[w->ctx->comm->size];
    weft_status status =
        weft_gather_arrays(child, a->n, a->index_type, a->index, whole.m, 0, NULL, &w->first_bad);
    if (status == WEFT_OK && w->first_bad != WEFT_NOWHERE && !w->moves->queued)
        status = wi_gather_refuse(child, w->call->name, &whole, w->first_bad, w->moves->first,
                                  w->moves->shared ? "" : " of all ranks");
    return wi_local(w->ctx, status);
}

/* All ranks learn the first bad index of the whole. */
static weft_status put_bad(const work *w) {
    const uint64_t nowhere = WEFT_NOWHERE;
    const uint64_t own = w->first_bad == nowhere ? nowhere : w->before + w->first_bad, *all = NULL;
    void *const bad = (void *)(uintptr_t)w->call->array[WI_GATHER_BAD].p;
    uint64_t first = nowhere;
    const weft_status status = wi_all_words(w->ctx, &own, 1, &all);
    for (int r = 0; r < w->ctx->comm->size && status == WEFT_OK; r++)
        first = all[r] < first ? all[r] : first;
    return status == WEFT_OK ? wi_local(w->ctx, weft_copy(w->ctx->child, bad, &first, sizeof first))
                             : status;
}

/* ---- dealing ---- */

/* The rank that has this position. */
static size_t rank_of(const work *w, uint64_t position) {
    size_t first = 0, n = (size_t)w->ctx->comm->size;
    while (n > 1) {
        const size_t half = n / 2;
        const bool behind = w->begins[first + half] <= position;
        first = behind ? first + half : first;
        n = behind ? n - half : half;
    }
    return first;
}

static weft_status deal(work *w) {
    wi_gather_args a = w->moves->args;
    const size_t bytes = weft_type_size(a.index_type);
    const uint64_t all = w->begins[w->ctx->comm->size];
    void *asked = NULL;
    weft_status status = wi_deal_open(w->ctx, &w->deal, a.n);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a.n, bytes, &w->index);
    if (status == WEFT_OK)
        status = wi_dist_take(w->ctx, a.n, sizeof *w->asked, &asked);
    w->asked = asked;
    if (status == WEFT_OK && a.n > 0)
        status = wi_local(w->ctx, weft_copy(w->ctx->child, w->index, a.index, a.n * bytes));
    if (status != WEFT_OK)
        return status;
    a.index = w->index;
    for (size_t i = 0; i < a.n; i++) {
        const uint64_t k = wi_gather_index(&a, i);
        w->deal.order[i] = k < all ? rank_of(w, k) : WI_DEAL_NOWHERE;
    }
    wi_deal_place(w->ctx, &w->deal);
    for (size_t i = 0; i < a.n; i++) {
        const uint64_t k = wi_gather_index(&a, i);
        if (k < all)
            w->asked[w->deal.order[i]] = k - w->begins[rank_of(w, k)];
    }
    return WEFT_OK;
}

/* Of every array: elements for n items that are sent, or that come. */
static weft_status take_elements(work *w, void *elements[], size_t n) {
    weft_status status = WEFT_OK;
    for (size_t f = 0; f < w->moves->arrays && status == WEFT_OK; f++)
        status = wi_dist_take_near(w->ctx, n, w->moves->width[f], &elements[f]);
    return status;
}

static weft_status take_rest(work *w) {
    void *wanted = NULL;
    weft_status status = wi_dist_take(w->ctx, w->deal.n_got, sizeof *w->wanted, &wanted);
    w->wanted = wanted;
    if (status == WEFT_OK)
        status = take_elements(w, w->sent, w->deal.n_sent);
    return status == WEFT_OK ? take_elements(w, w->received, w->deal.n_got) : status;
}

/* Tells every rank which of its positions are meant. */
static weft_status send_positions(work *w) {
    weft_status status = wi_agree(w->ctx, 0, deal(w));
    if (status == WEFT_OK)
        status = wi_deal_count(w->ctx, &w->deal);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, take_rest(w));
    return status == WEFT_OK ? wi_deal_send(w->ctx, &w->deal, w->asked, w->wanted, sizeof *w->asked)
                             : status;
}

static void give(work *w) {
    wi_host_free(w->begins);
    wi_host_free(w->index);
    wi_host_free(w->asked);
    wi_host_free(w->wanted);
    for (size_t f = 0; f < w->moves->arrays; f++) {
        wi_dist_give_near(w->ctx, w->sent[f]);
        wi_dist_give_near(w->ctx, w->received[f]);
    }
    wi_deal_close(&w->deal);
}

/* ---- moving ---- */

/* Answers what others want of array f. */
static weft_status answer(work *w, size_t f) {
    return wi_local(w->ctx, weft_gather(w->ctx->child, w->deal.n_got, w->moves->width[f], WEFT_U64,
                                        w->wanted, w->moves->args.m, array_of(w, f, false)->p,
                                        w->received[f], NULL));
}

/* Gives the caller the answers to what this rank wanted. */
static weft_status put_answers(work *w, size_t f) {
    uint64_t not_sent;
    return wi_local(w->ctx, weft_gather(w->ctx->child, w->deal.n, w->moves->width[f], WEFT_U64,
                                        w->deal.order, w->deal.n_sent, w->sent[f],
                                        (void *)(uintptr_t)array_of(w, f, true)->p, &not_sent));
}

static weft_status gather_far(work *w) {
    weft_context *const ctx = w->ctx;
    weft_status status = send_positions(w);
    for (size_t f = 0; f < w->moves->arrays && status == WEFT_OK; f++) {
        status = wi_agree(ctx, 0, answer(w, f));
        if (status == WEFT_OK)
            status = wi_deal_answer(ctx, &w->deal, w->received[f], w->sent[f], w->moves->width[f]);
    }
    for (size_t f = 0; f < w->moves->arrays && status == WEFT_OK; f++)
        status = put_answers(w, f);
    return status;
}

/* Every rank reads all of x. */
static weft_status gather_shared(work *w) {
    const wi_gather_args *const a = &w->moves->args;
    weft_gathered array[WEFT_GATHERED_MOST];
    uint64_t bad;
    for (size_t f = 0; f < w->moves->arrays; f++)
        array[f] = (weft_gathered){w->moves->width[f], array_of(w, f, false)->p,
                                   (void *)(uintptr_t)array_of(w, f, true)->p};
    return wi_local(w->ctx, weft_gather_arrays(w->ctx->child, a->n, a->index_type, a->index, a->m,
                                               w->moves->arrays, array, &bad));
}

static weft_status scatter_far(work *w) {
    const wi_gather_args *const a = &w->moves->args;
    weft_context *const child = w->ctx->child;
    const size_t width = w->moves->width[0];
    uint64_t not_sent;
    weft_status status = send_positions(w);
    if (status == WEFT_OK)
        status = wi_local(w->ctx, weft_scatter(child, a->n, width, array_of(w, 0, false)->p,
                                               WEFT_U64, w->deal.order, WEFT_REPEATS_ANY,
                                               w->deal.n_sent, w->sent[0], &not_sent));
    status = wi_agree(w->ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_deal_send(w->ctx, &w->deal, w->sent[0], w->received[0], width);
    if (status != WEFT_OK)
        return status;
    return wi_local(w->ctx, weft_scatter(child, w->deal.n_got, width, w->received[0], WEFT_U64,
                                         w->wanted, a->last ? WEFT_REPEATS_LAST : WEFT_REPEATS_ANY,
                                         a->m, (void *)(uintptr_t)array_of(w, 0, true)->p, NULL));
}

/* ---- the rungs ---- */

static weft_status run(weft_context *ctx, const wi_dist_args *dist, weft_status (*move)(work *w)) {
    work w = {.ctx = ctx, .call = dist->call, .moves = dist->args, .first_bad = WEFT_NOWHERE};
    weft_status status = meet(&w);
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, check_indices(&w));
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, move(&w));
    if (status == WEFT_OK && w.moves->queued)
        status = put_bad(&w);
    give(&w);
    return status;
}

weft_status wi_gather_ranks(weft_context *ctx, const void *args) {
    const wi_dist_args *const dist = args;
    const wi_gather_request *const moves = dist->args;
    return run(ctx, dist, moves->shared ? gather_shared : gather_far);
}

weft_status wi_scatter_ranks(weft_context *ctx, const void *args) {
    return run(ctx, args, scatter_far);
}
