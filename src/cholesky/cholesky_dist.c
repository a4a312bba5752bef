/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky over ranks: columns are dealt out in turn, block by block. The owner of a block makes
 * its columns columns of L, which go to all ranks; each subtracts their products from its own. */
#include "cholesky/cholesky_dist.h"
#include "cholesky/cholesky_aside.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/smaller.h"
#include "gemm/syrk.h"
#include "gemm/trsm.h"
#include "lu/sweep.h"

static const char name[] = "weft_cholesky_factor";

typedef struct work {
    wi_cyclic c;
    wi_sweep sweep;
    const wi_cholesky_call *call;
    wi_cholesky_aside aside;
    char *words; /* of all messages, in memory of the place */
} work;

/* Block k: columns first ... of L, from row `first` on. A message about it has these, `pitch`
 * apart, and then the words of the rung that factored the diagonal, which counts from `first`. */
typedef struct block {
    size_t first, rows, columns, pitch;
} block;

enum {
    WORDS_BYTES = WI_CHOLESKY_WORDS * sizeof(int64_t)
};

static block block_at(const work *w, size_t k) {
    const size_t first = k * w->c.block, rows = w->c.all - first;
    return (block){first, rows, rows < w->c.block ? rows : w->c.block, wi_cyclic_pitch(rows)};
}

static size_t width_of(const work *w) {
    return weft_type_size(w->c.given.type);
}

static size_t words_at(const work *w, const block *b) {
    return b->pitch * b->columns * width_of(w);
}

static size_t message_bytes(const void *user, size_t k) {
    const work *const w = user;
    const block b = block_at(w, k);
    return words_at(w, &b) + WORDS_BYTES;
}

/* ---- the steps of a sweep ---- */

static weft_status factor_on_cpu(work *w, const wi_cholesky_args *columns) {
    weft_context *const child = w->c.ctx->child;
    wi_cholesky_args diagonal = *columns;
    diagonal.n = columns->columns;
    diagonal.columns = 0;
    /* L21 = A21 / L11' */
    const wi_triangle_args below = {.type = columns->type,
                                    .right = true,
                                    .transposed = true,
                                    .m = columns->n - diagonal.n,
                                    .n = diagonal.n,
                                    .alpha = 1,
                                    .a = columns->a,
                                    .lda = columns->lda,
                                    .b = (char *)columns->a +
                                         diagonal.n * weft_type_size(columns->type),
                                    .ldb = columns->lda};
    const weft_status status = wi_run(child, &wi_cholesky_ladder, name, diagonal.type, &diagonal);
    if (status != WEFT_OK || below.m == 0)
        return status;
    return wi_pick(child, &wi_trsm_ladder, below.type, &below)->run(child, &below);
}

static weft_status factor(void *user, size_t k, char *message, wi_sweep_part part) {
    work *const w = user;
    weft_context *const child = w->c.ctx->child;
    const block b = block_at(w, k);
    const size_t width = width_of(w);
    char *const a = wi_cyclic_at(&w->c, b.first, wi_cyclic_own_before(&w->c, k));
    const wi_cholesky_args columns = {.type = w->c.given.type,
                                      .n = b.rows,
                                      .a = a,
                                      .lda = w->c.ld,
                                      .first = (int64_t *)(void *)(message + words_at(w, &b)),
                                      .columns = b.columns};
    weft_status status;
    (void)part; /* all */
#ifdef WEFT_CUDA
    if (child->gpu)
        status = wi_cholesky_flow(child, &columns);
    else
#endif
        status = factor_on_cpu(w, &columns);
    if (status != WEFT_OK)
        return status;
    return wi_copy_rows(child, (wi_pitched){message, b.pitch * width},
                        (wi_pitched){a, w->c.ld * width}, b.columns, b.rows * width);
}

static weft_status arrived(void *user, size_t k, const char *message) {
    work *const w = user;
    const block b = block_at(w, k);
    return weft_copy(w->c.ctx->child, w->words + k * WORDS_BYTES, message + words_at(w, &b),
                     WORDS_BYTES);
}

static weft_status sent(void *user, size_t k) {
    const work *const w = user;
    return wi_cholesky_give(&w->aside, k);
}

/* A(J, J) -= L(J, K) L(J, K)', the lower triangle; A(below J, J) -= L(below J, K) L(J, K)': J are
 * the own columns from number `own` on. */
static weft_status subtract(const work *w, const block *b, const char *message, size_t own,
                            const block *j) {
    const wi_syrk_args g = {.type = w->c.given.type,
                            .n = j->columns,
                            .k = b->columns,
                            .alpha = -1,
                            .beta = 1,
                            .a = message + (j->first - b->first) * width_of(w),
                            .lda = b->pitch,
                            .c = wi_cyclic_at(&w->c, j->first, own),
                            .ldc = w->c.ld};
    return wi_syrk_and_below(w->c.ctx->child, &g, j->rows - j->columns);
}

static weft_status update(void *user, size_t k, const char *message, size_t first, size_t n,
                          wi_sweep_part part, bool beside) {
    work *const w = user;
    const size_t ranks = (size_t)w->c.ctx->comm->size, rank = (size_t)w->c.ctx->comm->rank;
    const block b = block_at(w, k);
    weft_status status = WEFT_OK;
    (void)part, (void)beside; /* all, and alone */
    for (size_t at = first; at < first + n && status == WEFT_OK;) {
        const size_t own = at / w->c.block;
        const block j = block_at(w, own * ranks + rank);
        if (k == 0)
            status = wi_cholesky_await(&w->aside, own);
        if (status == WEFT_OK)
            status = subtract(w, &b, message, at, &j);
        at += j.columns;
    }
    return status;
}

static const wi_sweep_steps steps = {.message_bytes = message_bytes,
                                     .factor = factor,
                                     .arrived = arrived,
                                     .sent = sent,
                                     .update = update};

/* ---- the rung ---- */

/* What the first block that was not positive definite has said. */
static weft_status give_words(work *w) {
    int64_t words[WI_CHOLESKY_WORDS];
    weft_status status = WEFT_OK;
    bool found = false;
    for (size_t k = 0; k < w->sweep.blocks && !found && status == WEFT_OK; k++) {
        status = wi_local(
            w->c.ctx, weft_copy(w->c.ctx->child, words, w->words + k * WORDS_BYTES, WORDS_BYTES));
        for (int word = 0; word < WI_CHOLESKY_WORDS && status == WEFT_OK; word++)
            if (words[word] != WI_CHOLESKY_NONE) {
                w->call->words[word] = words[word] + (int64_t)(k * w->c.block);
                found = true;
            }
    }
    return status;
}

/* Columns of a block. A GPU has whole tiles, and wide blocks: a product is the faster the longer
 * its sums, and a block costs a GPU that factors it alone less than others that wait for it. */
static size_t block_columns(const work *w) {
    enum {
        TILE = 64,
        MOST = 1024, /* of f64 */
        EACH = 8     /* blocks of a GPU */
    };
    const size_t most = w->c.given.type == WEFT_F64 ? MOST : 2 * MOST;
    const size_t even = w->c.all / (EACH * (size_t)w->c.ctx->comm->size) / TILE * TILE;
    if (!w->c.ctx->child->gpu)
        return wi_cyclic_usual_block(&w->c);
    return even < TILE ? TILE : wi_smaller(even, most);
}

static weft_status take(work *w) {
    void *words = NULL;
    const size_t columns = block_columns(w);
    weft_status status = wi_cyclic_take(&w->c, columns);
    w->sweep = (wi_sweep){.c = &w->c,
                          .steps = &steps,
                          .user = w,
                          .blocks = (w->c.all + columns - 1) / columns,
                          .ahead = true,
                          .in_turn = w->c.ctx->child->gpu};
    if (status == WEFT_OK)
        status = wi_sweep_take(&w->sweep);
    if (status == WEFT_OK)
        status =
            wi_local(w->c.ctx, weft_alloc(w->c.ctx->child, &words, w->sweep.blocks * WORDS_BYTES));
    w->words = words;
    return status;
}

static weft_status sweep(work *w) {
    weft_status status = wi_agree(w->c.ctx, 0, wi_cholesky_reserve(&w->aside));
    if (status == WEFT_OK)
        status = wi_sweep_run(&w->sweep);
    wi_cholesky_release(&w->aside);
    return status;
}

weft_status wi_cholesky_ranks(weft_context *ctx, const void *args) {
    const wi_cholesky_call *const call = args;
    const wi_cholesky_args *const g = &call->args;
    work w = {.call = call, .sweep = {.c = &w.c}, .aside = {.c = &w.c}};
    const wi_given given = {g->type, call->by_rows, call->shared, true, g->n, g->n, g->a, g->lda};
    if (g->upper)
        return wi_cholesky_turned(ctx, call, wi_cholesky_ranks);
    weft_status status = wi_cyclic_begin(&w.c, ctx, &given);
    w.c.lower = call->shared;
    call->words[WI_CHOLESKY_INDEFINITE] = call->words[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    if (status == WEFT_OK && w.c.all > 0) {
        status = wi_agree(ctx, 0, take(&w));
        if (status == WEFT_OK)
            status = wi_cholesky_deal(&w.aside);
        w.sweep.forked = w.aside.is_aside;
        if (status == WEFT_OK)
            status = sweep(&w);
        if (status == WEFT_OK)
            status = wi_cholesky_return(&w.aside);
        if (status == WEFT_OK)
            status = give_words(&w);
    }
    wi_sweep_end(&w.sweep);
    weft_free(ctx->child, w.words);
    wi_cyclic_end(&w.c);
    return status;
}
