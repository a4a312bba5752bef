/* SPDX-License-Identifier: Apache-2.0 */
/* transpose over ranks: every rank transposes its lines, of which the parts that belong to one rank
 * then follow one another, sends these, and puts what it gets into its own lines. */
#include "comm/dist.h"
#include "fft/fft_dist.h"
#include "gemm/transpose.h"
#include "weft/gather.h"
#include "weft/gemm.h"

typedef struct work {
    weft_context *ctx;
    const wi_transpose_request *request;
    size_t all;          /* lines of A on all ranks: the length of a line of B */
    size_t own;          /* this rank's lines of B */
    size_t *sent, *got;  /* elements */
    size_t *first;       /* where the lines of A of each rank begin */
    void *packed, *came; /* what is sent, what came */
} work;

static weft_status take_counts(work *w) {
    void *counts;
    const size_t ranks = (size_t)w->ctx->comm->size;
    const weft_status status = wi_dist_take(w->ctx, ranks, 3 * sizeof *w->sent, &counts);
    w->sent = counts;
    w->got = counts ? w->sent + ranks : NULL;
    w->first = counts ? w->got + ranks : NULL;
    return status;
}

/* Learns how many lines all ranks have of both matrices. */
static weft_status count(work *w) {
    const wi_transpose_args *const a = &w->request->args;
    const size_t ranks = (size_t)w->ctx->comm->size, me = (size_t)w->ctx->comm->rank;
    const size_t even =
        wi_fft_even_begin(a->rows, me + 1, ranks) - wi_fft_even_begin(a->rows, me, ranks);
    w->own = w->request->has_share ? w->request->share : even;
    const uint64_t own[2] = {a->columns, w->own}, *all = NULL;
    const weft_status status = wi_all_words(w->ctx, own, 2, &all);
    for (size_t r = 0; r < ranks && status == WEFT_OK; r++) {
        w->first[r] = w->all;
        w->all += all[2 * r];
        w->sent[r] = a->columns * (size_t)all[2 * r + 1];
        w->got[r] = (size_t)all[2 * r] * w->own;
    }
    return status;
}

/* Now that the length of B's lines is known. */
static weft_status check(const work *w) {
    const wi_transpose_args *const a = &w->request->args;
    wi_call call;
    wi_call_begin(&call, "weft_transpose", 0, 0);
    wi_call_add(&call, wi_transpose_matrix("a", a->a, a->columns, a->rows, "lda", a->lda, a->width,
                                           WI_IN | w->request->columns));
    wi_call_add(&call, wi_transpose_matrix("b", a->b, w->own, w->all, "ldb", a->ldb, a->width,
                                           WI_OUT | w->request->columns));
    return wi_local(w->ctx, wi_call_check(w->ctx->child, &call));
}

static weft_status pack(work *w) {
    const wi_transpose_args *const a = &w->request->args;
    weft_status status = check(w);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, a->columns * a->rows, a->width, &w->packed);
    if (status == WEFT_OK)
        status = wi_dist_take_near(w->ctx, w->own * w->all, a->width, &w->came);
    if (status != WEFT_OK)
        return status;
    return wi_local(w->ctx, weft_transpose(w->ctx->child, 0, a->width, a->rows, a->columns, a->a,
                                           a->lda, w->packed, a->columns));
}

/* Puts `lines` lines of `length` bytes into B's, `stride` bytes apart, from byte `offset` on. */
static weft_status put_lines(const work *w, void *b, size_t lines, size_t stride, size_t offset,
                             size_t length, void *from) {
    const weft_table_column column = {offset, length, from};
    return lines > 0 ? weft_put_columns(w->ctx->child, lines, stride, b, 1, &column) : WEFT_OK;
}

/* What came of each rank is a part of every line. Behind the last line there may be no gap. */
static weft_status put(const work *w) {
    const wi_transpose_args *const a = &w->request->args;
    const size_t stride = a->ldb * a->width, whole = w->all * a->width;
    weft_status status = WEFT_OK;
    char *from = w->came;
    for (int r = 0; r < w->ctx->comm->size && status == WEFT_OK; r++) {
        const size_t length = w->own > 0 ? w->got[r] / w->own * a->width : 0;
        const size_t offset = w->first[r] * a->width, last = length * (w->own - (w->own > 0));
        if (length == 0)
            continue;
        status = put_lines(w, a->b, w->own - 1, stride, offset, length, from);
        if (status == WEFT_OK)
            status = put_lines(w, (char *)a->b + (w->own - 1) * stride, 1, whole, offset, length,
                               from + last);
        from += w->got[r] * a->width;
    }
    return wi_local(w->ctx, status);
}

static weft_status transpose(work *w) {
    weft_status status = wi_agree(w->ctx, 0, take_counts(w));
    if (status == WEFT_OK)
        status = count(w);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, pack(w));
    if (status == WEFT_OK)
        status =
            wi_dist_exchange(w->ctx, w->packed, w->sent, w->came, w->got, w->request->args.width);
    return status == WEFT_OK ? put(w) : status;
}

weft_status wi_transpose_ranks(weft_context *ctx, const void *request) {
    work w = {.ctx = ctx, .request = request};
    const weft_status status = transpose(&w);
    wi_dist_give_near(ctx, w.packed);
    wi_dist_give_near(ctx, w.came);
    wi_host_free(w.sent);
    return status;
}
