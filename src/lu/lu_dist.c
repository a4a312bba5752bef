/* SPDX-License-Identifier: Apache-2.0 */
/* lu over ranks: columns are dealt out in turn, block by block. The owner of a block factors it as
 * on one place; its multipliers and the numbers of its pivots go to all ranks, and each eliminates
 * in its own columns. */
#include "lu/lu_dist.h"
#include "core/smaller.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "gemm/trsm.h"
#include "lu/sweep.h"

static const char name[] = "weft_lu_factor";

typedef struct work {
    wi_cyclic c;
    wi_sweep sweep;
    const wi_lu_call *call;
    char *tails; /* of all messages, in memory of the place: the pivots, and the words of a rung */
    int64_t *host;  /* a copy */
    uint32_t *from; /* numbers of rows, for what is exchanged at the end: a column for each block
                       of this rank; NULL: all is exchanged at once */
    void *copy;     /* room for the columns of a block */
} work;

/* ---- blocks and messages ---- */

/* Block k: rows first ... m - 1 of its columns. A message about it has its multipliers, `pivots`
 * columns `pitch` apart, and then its pivots and the words of the rung that factored it, which
 * count rows and columns from `first` on. */
typedef struct block {
    size_t first, rows, columns, pivots, pitch;
} block;

static block block_at(const work *w, size_t k) {
    block b = {.first = wi_sweep_first(&w->sweep, k)};
    b.rows = w->c.given.m - b.first;
    b.columns = wi_smaller(wi_sweep_first(&w->sweep, k + 1), w->c.all) - b.first;
    b.pivots = wi_smaller(b.rows, b.columns);
    b.pitch = wi_cyclic_pitch(b.rows);
    return b;
}

static size_t width_of(const work *w) {
    return weft_type_size(w->c.given.type);
}

static int64_t *tail_of(const work *w, const block *b, const char *message) {
    return (int64_t *)(void *)(uintptr_t)(message + b->pitch * b->pivots * width_of(w));
}

static size_t tail_bytes(const block *b) {
    return (b->pivots + WI_LU_WORDS) * sizeof(int64_t);
}

/* Where the tail of block k is kept, in int64_t. */
static size_t tail_at(const work *w, size_t k) {
    return wi_sweep_first(&w->sweep, k) + k * WI_LU_WORDS;
}

static size_t message_bytes(const void *user, size_t k) {
    const work *const w = user;
    const block b = block_at(w, k);
    return b.pitch * b.pivots * width_of(w) + tail_bytes(&b);
}

/* ---- the steps of a sweep ---- */

#ifdef WEFT_CUDA
/* No rung that forks lanes may run on the side lane of a GPU. A cluster is asked for before all
 * that comes beside it, kernels for many blocks after that. */
static weft_status factor_on_gpu(weft_context *child, const wi_lu_args *panel, wi_sweep_part part) {
    if (wi_lu_cluster_width(child, panel->m) > 0)
        return part & WI_SWEEP_BEGIN ? wi_lu_cluster(child, panel) : WEFT_OK;
    return part & WI_SWEEP_REST ? wi_lu_halves(child, panel) : WEFT_OK;
}
#endif

static weft_status factor_panel(weft_context *child, const wi_lu_args *panel, wi_sweep_part part) {
#ifdef WEFT_CUDA
    if (child->gpu)
        return factor_on_gpu(child, panel, part);
#endif
    (void)part; /* all */
    return wi_run(child, &wi_lu_ladder, name, panel->type, panel);
}

static weft_status factor(void *user, size_t k, char *message, wi_sweep_part part) {
    work *const w = user;
    weft_context *const child = w->c.ctx->child;
    const block b = block_at(w, k);
    const size_t width = width_of(w);
    int64_t *const tail = tail_of(w, &b, message);
    char *const a =
        wi_cyclic_at(&w->c, b.first, wi_cyclic_below(&w->c, w->c.ctx->comm->rank, b.first));
    const wi_lu_args panel = {.type = w->c.given.type,
                              .m = b.rows,
                              .n = b.columns,
                              .a = a,
                              .lda = w->c.ld,
                              .pivot = tail,
                              .first = tail + b.pivots};
    const weft_status status = factor_panel(child, &panel, part);
    if (status != WEFT_OK || !(part & WI_SWEEP_REST))
        return status;
    return wi_copy_rows(child, (wi_pitched){message, b.pitch * width},
                        (wi_pitched){a, w->c.ld * width}, b.pivots, b.rows * width);
}

static bool in_cluster(const void *user, size_t k) {
#ifdef WEFT_CUDA
    const work *const w = user;
    const weft_context *const child = w->c.ctx->child;
    return child->gpu && wi_lu_cluster_width(child, block_at(w, k).rows) > 0;
#else
    (void)user, (void)k;
    return false;
#endif
}

static weft_status arrived(void *user, size_t k, const char *message) {
    work *const w = user;
    const block b = block_at(w, k);
    return weft_copy(w->c.ctx->child, w->tails + tail_at(w, k) * sizeof(int64_t),
                     tail_of(w, &b, message), tail_bytes(&b));
}

static weft_status exchange_rows(void *user, size_t k, const char *message, size_t first,
                                 size_t n) {
    const work *const w = user;
    const block b = block_at(w, k);
    return wi_lu_swap_rows(w->c.ctx->child, w->c.given.type, n, wi_cyclic_at(&w->c, b.first, first),
                           w->c.ld, b.pivots, tail_of(w, &b, message), true);
}

/* Columns that were dealt out together have one column of numbers; rows of those of this block are
 * exchanged at once. */
static weft_status update_left(void *user, size_t k, const char *message, size_t n) {
    const work *const w = user;
    const block b = block_at(w, k);
    const size_t numbered = w->from ? n / w->c.block : 0, done = numbered * w->c.block;
    const weft_status status =
        numbered == 0 ? WEFT_OK
                      : wi_lu_swap_rows(w->c.ctx->child, WEFT_F32, numbered, w->from + b.first,
                                        w->c.given.m, b.pivots, tail_of(w, &b, message), true);
    return status == WEFT_OK && done < n ? exchange_rows(user, k, message, done, n - done) : status;
}

/* U12 = L11 \ A12 */
static weft_status solve(const work *w, const block *b, const char *l, char *x, size_t n) {
    weft_context *const child = w->c.ctx->child;
    const wi_triangle_args t = {.type = w->c.given.type,
                                .unit = true,
                                .m = b->pivots,
                                .n = n,
                                .alpha = 1,
                                .a = l,
                                .lda = b->pitch,
                                .b = x,
                                .ldb = w->c.ld};
    return b->pivots == 1 ? WEFT_OK : wi_pick(child, &wi_trsm_ladder, t.type, &t)->run(child, &t);
}

/* A22 -= L21 U12 */
static weft_status multiply(const work *w, const block *b, const char *l, char *x, size_t n,
                            bool beside) {
    weft_context *const child = w->c.ctx->child;
    const size_t width = width_of(w), below = b->pivots;
    const wi_gemm_args g = {.type = w->c.given.type,
                            .out = w->c.given.type,
                            .m = b->rows - below,
                            .n = n,
                            .k = b->pivots,
                            .alpha = -1,
                            .beta = 1,
                            .a = l + below * width,
                            .lda = b->pitch,
                            .b = x,
                            .ldb = w->c.ld,
                            .c = x + below * width,
                            .ldc = w->c.ld,
                            .blocks_most = beside ? wi_sweep_blocks_beside(child) : 0};
    return g.m == 0 ? WEFT_OK : wi_pick(child, &wi_gemm_ladder, g.type, &g)->run(child, &g);
}

static weft_status update(void *user, size_t k, const char *message, size_t first, size_t n,
                          wi_sweep_part part, bool beside) {
    work *const w = user;
    const block b = block_at(w, k);
    char *const x = wi_cyclic_at(&w->c, b.first, first);
    weft_status status = WEFT_OK;
    if (part & WI_SWEEP_BEGIN)
        status = exchange_rows(user, k, message, first, n);
    if (part & WI_SWEEP_BEGIN && status == WEFT_OK)
        status = solve(w, &b, message, x, n);
    if (part & WI_SWEEP_REST && status == WEFT_OK)
        status = multiply(w, &b, message, x, n, beside);
    return status;
}

static const wi_sweep_steps steps = {.message_bytes = message_bytes,
                                     .factor = factor,
                                     .in_cluster = in_cluster,
                                     .arrived = arrived,
                                     .update = update,
                                     .update_left = update_left};

/* ---- columns that are done with ---- */

/* May kernels of this rank's GPU write the columns where the call passed them? */
static bool goes_directly(const work *w) {
    const wi_given *const given = &w->c.given;
    const char *why;
    return given->shared && !given->by_rows && wi_is_device(w->c.ctx->child, given->a) &&
           wi_dealt_reaches(wi_gpus_dealt(w->c.ctx), &why);
}

#ifdef WEFT_CUDA
static size_t own_blocks(const work *w) {
    return (w->c.own + w->c.block - 1) / w->c.block;
}

/* On a GPU their rows are exchanged at the end, all at once: each element then moves twice, or once
 * to where the call passed it, where an exchange would move whole sectors for each of a row.
 * Without memory for that they are not. */
static weft_status number_rows(work *w) {
    weft_context *const child = w->c.ctx->child;
    const size_t rows = w->c.given.m, width = width_of(w);
    void *from = NULL;
    if (!child->gpu || w->c.own == 0 || rows > UINT32_MAX)
        return WEFT_OK;
    if ((goes_directly(w) || weft_alloc(child, &w->copy, rows * w->c.block * width) == WEFT_OK) &&
        weft_alloc(child, &from, rows * own_blocks(w) * sizeof *w->from) == WEFT_OK)
        w->from = from;
    return w->from ? wi_lu_number_rows(child, w->from, rows, own_blocks(w)) : WEFT_OK;
}

static weft_status permute_rows(const work *w) {
    weft_context *const child = w->c.ctx->child;
    const wi_given *const given = &w->c.given;
    const size_t width = w->c.block, round = (size_t)w->c.ctx->comm->size * width;
    const size_t first = (size_t)w->c.ctx->comm->rank * width;
    char *const to = (char *)given->a + first * given->lda * width_of(w);
    const wi_lu_permute_args args = {.type = given->type,
                                     .rows = given->m,
                                     .columns = w->c.own,
                                     .width = width,
                                     .first = first + width,
                                     .step = round,
                                     .a = w->c.a,
                                     .lda = w->c.ld,
                                     .from = w->from,
                                     .copy = w->copy,
                                     .to = goes_directly(w) ? to : NULL,
                                     .ldt = given->lda,
                                     .apart = round};
    const weft_status status = w->from ? wi_lu_permute(child, &args) : WEFT_OK;
    return status == WEFT_OK ? weft_sync(child) : status;
}
#else
static weft_status number_rows(work *w) {
    (void)w;
    return WEFT_OK;
}
static weft_status permute_rows(const work *w) {
    (void)w;
    return WEFT_OK;
}
#endif

static weft_status give_columns(work *w) {
    weft_context *const ctx = w->c.ctx;
    weft_status status = wi_local(ctx, permute_rows(w));
    if (!w->c.given.shared) {
        status = wi_agree(ctx, 0, status);
        return status == WEFT_OK ? wi_cyclic_return(&w->c) : status;
    }
    if (status == WEFT_OK && !(w->from && goes_directly(w)))
        status = wi_cyclic_move_some(&w->c, 0, w->c.all, true);
    return wi_agree(ctx, 0, status);
}

/* ---- the result ---- */

/* The first column that one of the words names, in the numbering of the whole. */
static void note_word(int64_t *first, int64_t word, const block *b) {
    if (word != WI_LU_NONE && *first == WI_LU_NONE)
        *first = word + (int64_t)b->first;
}

/* Makes one list of pivots of the tails: at the beginning of w->host. */
static void join_tails(work *w, int64_t *words) {
    words[WI_LU_SINGULAR] = words[WI_LU_INFINITE] = WI_LU_NONE;
    for (size_t k = 0; k < w->sweep.blocks; k++) {
        const block b = block_at(w, k);
        const int64_t *const tail = w->host + tail_at(w, k);
        for (int word = 0; word < WI_LU_WORDS; word++)
            note_word(&words[word], tail[b.pivots + (size_t)word], &b);
        for (size_t i = 0; i < b.pivots; i++)
            w->host[b.first + i] = tail[i] + (int64_t)b.first;
    }
}

static weft_status give_pivots(work *w) {
    weft_context *const ctx = w->c.ctx, *const child = ctx->child;
    const size_t count = wi_smaller(w->c.given.m, w->c.all);
    const size_t bytes = tail_at(w, w->sweep.blocks) * sizeof *w->host;
    weft_status status = wi_local(ctx, weft_copy(child, w->host, w->tails, bytes));
    if (status != WEFT_OK)
        return status;
    join_tails(w, w->call->words);
    if (w->c.given.shared && ctx->comm->rank > 0)
        return WEFT_OK;
    return wi_local(ctx, weft_copy(child, w->call->args.pivot, w->host, count * sizeof *w->host));
}

/* ---- the rungs ---- */

weft_status wi_lu_check_ranks_pivot(weft_context *ctx, const wi_lu_call *call, size_t count) {
    const wi_lu_args *const args = &call->args;
    const size_t width = weft_type_size(args->type);
    const size_t lines = call->by_rows ? args->m : args->n;
    const size_t length = call->by_rows ? args->n : args->m;
    const weft_status status = wi_check_array(ctx, name, "pivot", args->pivot, count, WEFT_I64);
    if (status != WEFT_OK || args->n == 0 ||
        !wi_overlap(args->a, ((lines - 1) * args->lda + length) * width, args->pivot,
                    count * sizeof *args->pivot))
        return status;
    return wi_fail(ctx, WEFT_EARG, "%s: a and pivot overlap; pass separate arrays", name);
}

enum {
    MANY = 16, /* wide blocks of a GPU */
    LAST = 12  /* of these are factored by halves */
};

/* The columns of a block that is dealt out where each GPU has many; 0: there are few. Products of
 * f32 would not hide wider ones. */
static size_t wide_block(const work *w) {
#ifdef WEFT_CUDA
    const size_t wide = wi_lu_dealt_columns();
    if (w->c.ctx->child->gpu && w->c.all / (size_t)w->c.ctx->comm->size >= MANY * wide)
        return w->c.given.type == WEFT_F64 ? wide : wide / 2;
#endif
    (void)w;
    return 0;
}

/* Products with longer sums gain more than wider panels lose, as long as products hide these; what
 * hides the first one takes less. Seen on two H200. */
static void cut(work *w, bool ahead) {
    const size_t wide = wide_block(w), round = wide * (size_t)w->c.ctx->comm->size;
    if (ahead) {
        wi_sweep_add(&w->sweep, wide, wide / 2);
        wi_sweep_add(&w->sweep, w->c.all / wide * wide - LAST * round, wide);
    }
    wi_sweep_add(&w->sweep, SIZE_MAX, wide / 2);
}

static void describe_sweep(work *w, bool ahead) {
    const size_t pivots = wi_smaller(w->c.given.m, w->c.all);
    w->sweep = (wi_sweep){.c = &w->c, .steps = &steps, .user = w, .ahead = ahead};
    if (w->c.given.type == WEFT_F64 && wide_block(w) == w->c.block)
        cut(w, ahead);
    while (wi_sweep_first(&w->sweep, w->sweep.blocks) < pivots)
        w->sweep.blocks++;
}

static weft_status take(work *w, size_t columns, bool ahead) {
    weft_context *const ctx = w->c.ctx;
    void *tails = NULL, *host = NULL;
    weft_status status = wi_lu_check_ranks_pivot(ctx, w->call, wi_smaller(w->c.given.m, w->c.all));
    if (status == WEFT_OK)
        status = wi_cyclic_take(&w->c, columns);
    if (status != WEFT_OK)
        return status;
    describe_sweep(w, ahead);
    const size_t words = tail_at(w, w->sweep.blocks);
    status = wi_sweep_take(&w->sweep);
    if (status == WEFT_OK)
        status = wi_local(ctx, weft_alloc(ctx->child, &tails, words * sizeof *w->host));
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, words, sizeof *w->host, &host);
    w->tails = tails;
    w->host = host;
    return status == WEFT_OK ? wi_local(ctx, number_rows(w)) : status;
}

#ifdef WEFT_CUDA
/* While the first block is factored the side lane still brings the other columns. */
static weft_status deal_aside(work *w) {
    weft_context *const child = w->c.ctx->child;
    const size_t first = wi_smaller(w->c.block, w->c.all);
    weft_status status = wi_cyclic_move_some(&w->c, 0, first, false);
    if (status == WEFT_OK)
        status = wi_local(w->c.ctx, wi_gpu_fork(child));
    if (status != WEFT_OK)
        return status;
    w->sweep.forked = true;
    wi_gpu_take_side(child, true);
    status = wi_cyclic_move_some(&w->c, first, w->c.all, false);
    wi_gpu_take_side(child, false);
    return status;
}
#endif

static weft_status deal(work *w) {
#ifdef WEFT_CUDA
    if (w->c.given.shared && wi_is_device(w->c.ctx->child, w->c.given.a))
        return wi_agree(w->c.ctx, 0, deal_aside(w));
#endif
    return wi_cyclic_deal(&w->c);
}

static weft_status factor_all(work *w, size_t columns, bool ahead) {
    const size_t wide = wide_block(w), usual = wide ? wide : wi_cyclic_usual_block(&w->c);
    weft_status status = wi_agree(w->c.ctx, 0, take(w, columns ? columns : usual, ahead));
    if (status == WEFT_OK)
        status = deal(w);
    if (status == WEFT_OK)
        status = wi_sweep_run(&w->sweep);
    if (status == WEFT_OK)
        status = give_columns(w);
    return status == WEFT_OK ? give_pivots(w) : status;
}

weft_status wi_lu_over_ranks(weft_context *ctx, const void *args, size_t columns, bool ahead) {
    const wi_lu_call *const call = args;
    const wi_lu_args *const g = &call->args;
    const wi_given given = {g->type, call->by_rows, call->shared, false, g->m, g->n, g->a, g->lda};
    work w = {.call = call, .sweep = {.c = &w.c}};
    weft_status status = wi_cyclic_begin(&w.c, ctx, &given);
    call->words[WI_LU_SINGULAR] = call->words[WI_LU_INFINITE] = WI_LU_NONE;
    if (status == WEFT_OK && g->m > 0 && w.c.all > 0)
        status = factor_all(&w, columns, ahead);
    wi_sweep_end(&w.sweep);
    weft_free(ctx->child, w.from);
    weft_free(ctx->child, w.copy);
    weft_free(ctx->child, w.tails);
    wi_host_free(w.host);
    wi_cyclic_end(&w.c);
    return status;
}

weft_status wi_lu_ranks(weft_context *ctx, const void *args) {
    return wi_lu_over_ranks(ctx, args, 0, true);
}
