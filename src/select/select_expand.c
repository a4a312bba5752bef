/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expand, the inverse of a select: the next element of x goes to each position that is
 * selected. Over ranks every rank selects among its own positions, and fetches the elements that
 * belong there, which follow one another in the whole x. */
#include "comm/gpus.h"
#include "select/select.h"

static const char name[] = "weft_expand";

typedef struct work {
    weft_context *ctx;
    const wi_select_request *request;
    size_t width;
    uint64_t selected;  /* positions of this rank that are selected */
    size_t *sent, *got; /* elements of x to and from each rank */
    size_t came;        /* elements for this rank's positions */
    void *own;          /* what this rank sends, */
    void *wanted;       /* and what it gets */
} work;

/* The elements that ranges [a, a + an) and [b, b + bn) share. */
static size_t shared(uint64_t a, uint64_t an, uint64_t b, uint64_t bn) {
    const uint64_t from = a > b ? a : b, end = a + an < b + bn ? a + an : b + bn;
    return end > from ? (size_t)(end - from) : 0;
}

/* How many elements of x go from rank to rank: selected position k, counted over all ranks, gets
 * element k of the whole x. */
static weft_status count_shared(work *w) {
    const wi_select_args *const a = w->request->args;
    const size_t ranks = (size_t)w->ctx->comm->size, me = (size_t)w->ctx->comm->rank;
    const uint64_t own[2] = {w->selected, a->packed}, *all = NULL;
    uint64_t my_position = 0, my_element = 0, position = 0, element = 0;
    const weft_status status = wi_all_words(w->ctx, own, 2, &all);
    for (size_t r = 0; r < me && status == WEFT_OK; r++) {
        my_position += all[2 * r];
        my_element += all[2 * r + 1];
    }
    for (size_t r = 0; r < ranks && status == WEFT_OK; r++) {
        w->sent[r] = shared(my_element, a->packed, position, all[2 * r]);
        w->got[r] = shared(my_position, w->selected, element, all[2 * r + 1]);
        w->came += w->got[r];
        position += all[2 * r];
        element += all[2 * r + 1];
    }
    return status;
}

static weft_status count_selected(work *w) {
    const wi_select_request *const r = w->request;
    void *counts;
    const weft_status status =
        wi_dist_take(w->ctx, (size_t)w->ctx->comm->size, 2 * sizeof *w->sent, &counts);
    w->sent = counts;
    w->got = counts ? w->sent + w->ctx->comm->size : NULL;
    return status == WEFT_OK
               ? wi_local(w->ctx, weft_select_count(w->ctx->child, r->expanded, r->args->n,
                                                    r->call->array[WI_SELECT_S].p, &w->selected))
               : status;
}

static weft_status take(work *w) {
    const size_t bytes = w->request->args->packed * w->width;
    weft_status status = wi_dist_take_near(w->ctx, w->request->args->packed, w->width, &w->own);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, w->came, w->width, &w->wanted);
    return status == WEFT_OK && bytes > 0
               ? wi_local(w->ctx, weft_copy(w->ctx->child, w->own,
                                            w->request->call->array[WI_SELECT_X].p, bytes))
               : status;
}

static weft_status expand(work *w) {
    const wi_select_request *const r = w->request;
    const wi_array *const array = r->call->array;
    weft_status status = wi_agree(w->ctx, 0, count_selected(w));
    if (status == WEFT_OK)
        status = count_shared(w);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, take(w));
    if (status == WEFT_OK)
        status = wi_dist_exchange(w->ctx, w->own, w->sent, w->wanted, w->got, w->width);
    if (status != WEFT_OK)
        return status;
    return wi_local(w->ctx,
                    weft_expand(w->ctx->child, r->expanded, r->args->n, array[WI_SELECT_S].p,
                                w->width, w->came, w->wanted, array[WI_SELECT_FILL].p,
                                (void *)(uintptr_t)array[WI_SELECT_Y].p));
}

weft_status wi_expand_ranks(weft_context *ctx, const wi_select_request *request) {
    work w = {.ctx = ctx, .request = request, .width = request->args->units};
    const weft_status status = expand(&w);
    wi_dist_give_near(ctx, w.own);
    wi_dist_give_near(ctx, w.wanted);
    wi_host_free(w.sent);
    return status;
}

/* ---- the call ---- */

static weft_status check_and_run(weft_context *ctx, wi_select_request *r, wi_call *call,
                                 wi_select_args *args, weft_status status);

/* On a place of several GPUs: each has a share of y, and one of x. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_select_request r = *(const wi_select_request *)user;
    wi_call call = *r.call;
    wi_select_args args = *r.args;
    wi_array *const s = &call.array[WI_SELECT_S], *const x = &call.array[WI_SELECT_X],
                    *const y = &call.array[WI_SELECT_Y];
    const wi_share of_y = wi_gpus_share(rank, y->p, args.n, y->width);
    const wi_share of_x = wi_gpus_share(rank, x->p, args.packed, x->width);
    args.n = of_y.n;
    args.packed = of_x.n;
    s->p = wi_share_of(s->p, of_y, s->width);
    y->p = wi_share_of(y->p, of_y, y->width);
    x->p = wi_share_of(x->p, of_x, x->width);
    s->cols = s->ld = y->cols = y->ld = of_y.n;
    x->cols = x->ld = of_x.n;
    return check_and_run(rank, &r, &call, &args, WEFT_OK);
}

/* `status` is what the checks of the arguments that are not arrays have said; if it is not WEFT_OK,
 * no other argument is valid. */
static weft_status check_and_run(weft_context *ctx, wi_select_request *r, wi_call *call,
                                 wi_select_args *args, weft_status status) {
    uint64_t alike = 0;
    r->call = call;
    r->args = args;
    if (status == WEFT_OK)
        status = wi_call_check(ctx, call);
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_select_ladder, call->array[WI_SELECT_Y].p, args->n, args->units))
        return wi_gpus_run(ctx, &wi_select_ladder, name, run_share, r);
    if (wi_is_dist(ctx)) {
        if (status == WEFT_OK) {
            alike = wi_alike(wi_alike(0, args->tested_bytes), args->units);
            alike = wi_alike(wi_alike(alike, args->range.low), args->range.span);
            alike = wi_alike(wi_alike(alike, args->range.negate), args->has_fill);
        }
        return wi_dist_run(ctx, &wi_select_ladder, name, WI_NO_TYPE, alike, status, r);
    }
    return status == WEFT_OK && args->n > 0 ? wi_select_run(ctx, call, args) : status;
}

weft_status weft_expand(weft_context *ctx, weft_predicate p, size_t n, const void *s, size_t width,
                        size_t m, const void *x, const void *fill, void *y) {
    wi_select_request r = {.expanded = p};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (wi_select_check_begin(ctx, name, &p) != WEFT_OK ||
        wi_select_check_width(ctx, name, width) != WEFT_OK)
        return check_and_run(ctx, &r, NULL, NULL, WEFT_EARG);
    wi_select_args args = wi_select_args_of(&p, n);
    args.job = WI_SELECT_EXPAND;
    args.units = width;
    args.moves = true;
    args.packed = m;
    args.has_fill = fill != NULL;
    const unsigned y_use = fill ? WI_OUT : WI_IN | WI_OUT; /* else unselected elements stay */
    wi_call call = {
        .name = name,
        .array = {[WI_SELECT_S] = wi_elements("s", s, n, p.type, WI_IN | WI_STRIDED),
                  [WI_SELECT_X] = wi_items("x", x, m, width, WI_IN | WI_STRIDED),
                  [WI_SELECT_Y] = wi_items("y", y, n, width, y_use),
                  [WI_SELECT_FILL] = wi_items("fill", fill, 1, width, WI_IN | WI_OPTIONAL)},
        .count = WI_SELECT_ARRAYS,
        .distributed = true};
    return check_and_run(ctx, &r, &call, &args, WEFT_OK);
}
