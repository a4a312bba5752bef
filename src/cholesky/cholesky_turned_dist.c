/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky over ranks of an upper triangle, whose columns the ranks pass: they exchange them for
 * the columns of its transpose, a lower triangle, factor that, and exchange it back. */
#include "cholesky/cholesky_dist.h"
#include "gemm/transpose.h"

typedef struct work {
    weft_context *ctx;
    const wi_cholesky_call *call;
    size_t n, own, width;
    void *columns; /* what the rank passes, if that lies by rows, by columns */
    void *turned;  /* its columns of the transpose */
} work;

static weft_status check(const work *w) {
    const wi_cholesky_args *const g = &w->call->args;
    const unsigned use = WI_IN | WI_OUT;
    wi_call call;
    wi_call_begin(&call, w->ctx->comm->call, 0, 0);
    wi_call_add(&call, w->call->by_rows
                           ? wi_matrix("a", g->a, w->n, w->own, "lda", g->lda, g->type, use)
                           : wi_columns("a", g->a, w->n, w->own, "lda", g->lda, g->type, use));
    return wi_call_check(w->ctx->child, &call);
}

static weft_status take(work *w) {
    weft_context *const child = w->ctx->child;
    const size_t bytes = w->n * w->own * w->width;
    weft_status status = check(w);
    if (status == WEFT_OK && bytes > 0)
        status = weft_alloc(child, &w->turned, bytes);
    if (status == WEFT_OK && bytes > 0 && w->call->by_rows)
        status = weft_alloc(child, &w->columns, bytes);
    return wi_local(w->ctx, status);
}

/* Between what the rank passes by rows and its columns. */
static weft_status move(const work *w, bool back) {
    const wi_cholesky_args *const g = &w->call->args;
    weft_context *const child = w->ctx->child;
    if (!w->call->by_rows)
        return WEFT_OK;
    return wi_local(
        w->ctx,
        back ? weft_transpose(child, 0, w->width, w->n, w->own, w->columns, w->n, g->a, g->lda)
             : weft_transpose(child, 0, w->width, w->own, w->n, g->a, g->lda, w->columns, w->n));
}

static weft_status exchange(const work *w, bool back) {
    const wi_cholesky_args *const g = &w->call->args;
    void *const own = w->call->by_rows ? w->columns : g->a;
    const size_t ld = w->call->by_rows ? w->n : g->lda;
    const wi_transpose_request r = {.args = {.width = w->width,
                                             .rows = w->n,
                                             .columns = w->own,
                                             .a = back ? w->turned : own,
                                             .lda = back ? w->n : ld,
                                             .b = back ? own : w->turned,
                                             .ldb = back ? ld : w->n},
                                    .columns = WI_COLUMNS,
                                    .has_share = true,
                                    .share = w->own};
    return wi_transpose_ranks(w->ctx, &r);
}

weft_status wi_cholesky_turned(weft_context *ctx, const wi_cholesky_call *call,
                               weft_status (*rung)(weft_context *ctx, const void *args)) {
    work w = {.ctx = ctx,
              .call = call,
              .n = call->order,
              .own = call->args.n,
              .width = weft_type_size(call->args.type)};
    wi_cholesky_call lower = *call;
    weft_status status = wi_agree(ctx, 0, take(&w));
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, move(&w, false));
    if (status == WEFT_OK)
        status = exchange(&w, false);
    lower.by_rows = lower.args.upper = false;
    lower.args.a = w.turned;
    lower.args.lda = w.n;
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, rung(ctx, &lower));
    if (status == WEFT_OK)
        status = exchange(&w, true);
    if (status == WEFT_OK)
        status = move(&w, true);
    weft_free(ctx->child, w.turned);
    weft_free(ctx->child, w.columns);
    return status;
}
