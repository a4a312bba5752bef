/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky over ranks: columns are dealt out in turn, block by block. The owner of a block makes
 * its columns columns of L, which go to all ranks; each subtracts their products from its own. On
 * place gpus columns come while the first block is factored and multiplied, and those of a block go
 * back when all have their message. */
#include "cholesky/cholesky_dist.h"

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
    char *words;    /* of all messages, in memory of the place */
    bool aside;     /* columns come and go on the side lane */
    size_t brought; /* own blocks that come already */
    bool reserved;  /* memory for products */
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

/* ---- columns that come and go beside the work ---- */

static weft_status move_block(const work *w, size_t k, bool back) {
    const block b = block_at(w, k);
    return wi_cyclic_move_some(&w->c, b.first, b.first + b.columns, back);
}

#ifdef WEFT_CUDA
/* Queues copies of this rank's blocks up to number `own` of them. */
static weft_status bring_blocks(work *w, size_t own) {
    weft_context *const child = w->c.ctx->child;
    const size_t ranks = (size_t)w->c.ctx->comm->size, rank = (size_t)w->c.ctx->comm->rank;
    weft_status status = WEFT_OK;
    wi_gpu_take_side(child, true);
    for (; w->brought <= own && status == WEFT_OK; w->brought++) {
        const size_t k = w->brought * ranks + rank;
        status = k < w->sweep.blocks ? move_block(w, k, false) : WEFT_OK;
    }
    wi_gpu_take_side(child, false);
    return status;
}

static weft_status await_block(work *w, size_t own) {
    const weft_status status = bring_blocks(w, own);
    return status == WEFT_OK ? wi_gpu_join(w->c.ctx->child) : status;
}

/* The first block waits for nothing else. As many others come meanwhile as the time is enough for.
 */
static weft_status begin_aside(work *w) {
    enum {
        EARLY = 3
    };
    weft_status status = wi_gpu_fork(w->c.ctx->child);
    w->aside = true;
    w->sweep.forked = status == WEFT_OK;
    if (status == WEFT_OK && w->c.ctx->comm->rank == 0) {
        status = move_block(w, 0, false);
        w->brought = 1;
    }
    return status == WEFT_OK ? bring_blocks(w, EARLY - 1) : status;
}
#else
static weft_status await_block(work *w, size_t own) {
    (void)w, (void)own;
    return WEFT_OK;
}
#endif

static weft_status deal(work *w) {
#ifdef WEFT_CUDA
    if (w->c.given.shared && wi_is_device(w->c.ctx->child, w->c.given.a))
        return wi_agree(w->c.ctx, 0, wi_local(w->c.ctx, begin_aside(w)));
#endif
    return wi_cyclic_deal(&w->c);
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
    return w->aside ? move_block(w, k, true) : WEFT_OK;
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
        if (w->aside && k == 0)
            status = await_block(w, own);
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

/* What steps need on a GPU, so that none lacks memory when columns have gone back already. */
static weft_status reserve(work *w) {
#ifdef WEFT_CUDA
    weft_context *const child = w->c.ctx->child;
    enum {
        GAPS = 1 << 12 /* bytes between the memory of products */
    };
    const wi_cholesky_args columns = {
        .type = w->c.given.type, .n = w->c.all, .lda = w->c.ld, .columns = w->c.block};
    const wi_gemm_args product = {.type = columns.type,
                                  .out = columns.type,
                                  .transposed_b = true,
                                  .m = w->c.all,
                                  .n = w->c.block,
                                  .k = w->c.block,
                                  .lda = w->c.ld,
                                  .ldb = w->c.ld,
                                  .ldc = w->c.ld};
    if (!child->gpu)
        return WEFT_OK;
    weft_status status = wi_cholesky_flow_prepare(child, &columns);
    if (status == WEFT_OK)
        status = wi_gpu_reserve(child, wi_gemm_most_bytes(child, &product) + GAPS);
    w->reserved = status == WEFT_OK;
    return wi_local(w->c.ctx, status);
#else
    (void)w;
    return WEFT_OK;
#endif
}

static weft_status sweep(work *w) {
    weft_status status = wi_agree(w->c.ctx, 0, reserve(w));
    if (status == WEFT_OK)
        status = wi_sweep_run(&w->sweep);
#ifdef WEFT_CUDA
    if (w->reserved)
        wi_gpu_release(w->c.ctx->child);
#endif
    return status;
}

weft_status wi_cholesky_ranks(weft_context *ctx, const void *args) {
    const wi_cholesky_call *const call = args;
    const wi_cholesky_args *const g = &call->args;
    work w = {.call = call, .sweep = {.c = &w.c}};
    const wi_given given = {g->type, call->by_rows, call->shared, true, g->n, g->n, g->a, g->lda};
    if (g->upper)
        return wi_cholesky_turned(ctx, call, wi_cholesky_ranks);
    weft_status status = wi_cyclic_begin(&w.c, ctx, &given);
    w.c.lower = call->shared;
    call->words[WI_CHOLESKY_INDEFINITE] = call->words[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    if (status == WEFT_OK && w.c.all > 0) {
        status = wi_agree(ctx, 0, take(&w));
        if (status == WEFT_OK)
            status = deal(&w);
        if (status == WEFT_OK)
            status = sweep(&w);
        if (status == WEFT_OK)
            status = w.aside ? wi_agree(ctx, 0, WEFT_OK) : wi_cyclic_return(&w.c);
        if (status == WEFT_OK)
            status = give_words(&w);
    }
    wi_sweep_end(&w.sweep);
    weft_free(ctx->child, w.words);
    wi_cyclic_end(&w.c);
    return status;
}
