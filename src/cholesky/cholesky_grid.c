/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky over a grid of ranks: one rank factors the block on the diagonal; the column of ranks
 * that has the blocks below makes them L; each sends its rows of L along its row of the grid; in
 * the columns of the grid the ranks pass each other the rows that their columns are multiplied
 * with. The next panel is made and sent while the rest is multiplied. */
#include <string.h>

#include "cholesky/cholesky_dist.h"
#include "core/rowcopy.h"
#include "gemm/syrk.h"
#include "gemm/trsm.h"
#include "lu/grid.h"

typedef struct work {
    wi_rank_grid g;
    const wi_cholesky_call *call;
    size_t blocks, width;
    char *message[2]; /* about a panel, in host memory: see `block` */
    char *place[2];   /* and its L on a GPU; else the same */
    char *give, *got; /* rows of L, of this rank and of all in its column */
    char *rows;       /* those of own columns, in their order, */
    char *turned;     /* and on a GPU; else the same */
    size_t *counts;   /* of what the ranks of a column pass */
    size_t *next;     /* where the next row of each is */
    int64_t words[WI_CHOLESKY_WORDS];
} work;

/* Panel k. A message about it has the words, the block on the diagonal, and the rows of L below
 * that the rank has; by rows. */
typedef struct block {
    size_t first, columns;
    size_t row, below, column; /* own rows before it, before those below; own columns before it */
    size_t l11, l21, bytes;
    bool own, holds; /* the panel is this column's; and the diagonal is this rank's */
} block;

static block block_at(const work *w, size_t k) {
    const wi_rank_grid *const g = &w->g;
    block b = {.first = k * g->c.block};
    b.columns = wi_smaller(g->c.block, g->c.all - b.first);
    b.row = wi_rank_grid_rows_below(g, b.first);
    b.below = wi_rank_grid_rows_below(g, b.first + b.columns);
    b.column = wi_rank_grid_columns_below(g, b.first);
    b.l11 = WI_CHOLESKY_WORDS * sizeof(int64_t);
    b.l21 = b.l11 + g->c.block * g->c.block * w->width;
    b.bytes = b.l21 + (g->rows - b.below) * b.columns * w->width;
    b.own = k % g->q == g->j;
    b.holds = b.own && k % g->p == g->i;
    return b;
}

static weft_context *child_of(const work *w) {
    return w->g.ctx->child;
}

static char *l_of(const work *w, size_t k, size_t at) {
    const block b = block_at(w, k);
    return w->place[0] ? w->place[k % 2] + (at - b.l11) : w->message[k % 2] + at;
}

/* ---- panels ---- */

/* Rows of panel k between the place and the message. */
static void move_rows(work *w, const block *b, size_t row, size_t rows, char *host, bool back) {
    const size_t line = b->columns * w->width;
    const wi_pitched theirs = {wi_rank_grid_at(&w->g, row, b->column), w->g.ld * w->width},
                     ours = {host, line};
    if (rows == 0)
        return;
    WI_GRID_STEP(&w->g,
                 wi_copy_rows(child_of(w), back ? theirs : ours, back ? ours : theirs, rows, line));
    WI_GRID_STEP(&w->g, weft_sync(child_of(w)));
}

/* The block on the diagonal, on the host: few of all operations. */
static void factor_diagonal(work *w, const block *b, char *message) {
    int64_t *const words = (int64_t *)(void *)message;
    const wi_cholesky_args a = {.type = w->g.c.given.type,
                                .upper = true, /* as memory has it by columns */
                                .n = b->columns,
                                .a = message + b->l11,
                                .lda = b->columns,
                                .first = words};
    move_rows(w, b, b->row, b->columns, message + b->l11, false);
    WI_GRID_STEP(&w->g, wi_cholesky_serial(child_of(w), &a));
    for (int word = 0; word < WI_CHOLESKY_WORDS && w->g.status == WEFT_OK; word++)
        if (words[word] != WI_CHOLESKY_NONE)
            words[word] += (int64_t)b->first;
    move_rows(w, b, b->row, b->columns, message + b->l11, true);
}

/* L21 = A21 / L11'; as memory has it by columns, L21' = L11 \ A21'. */
static void substitute(work *w, size_t k, const block *b) {
    const wi_triangle_args t = {.type = w->g.c.given.type,
                                .upper = true,
                                .transposed = true,
                                .m = b->columns,
                                .n = w->g.rows - b->below,
                                .alpha = 1,
                                .a = l_of(w, k, b->l11),
                                .lda = b->columns,
                                .b = wi_rank_grid_at(&w->g, b->below, b->column),
                                .ldb = w->g.ld};
    if (t.n > 0)
        WI_GRID_STEP(&w->g,
                     wi_pick(child_of(w), &wi_trsm_ladder, t.type, &t)->run(child_of(w), &t));
}

/* Makes panel k, which is this column's, columns of L, and fills the message. */
static weft_status factor(work *w, size_t k) {
    const block b = block_at(w, k);
    char *const message = w->message[k % 2];
    weft_context *const column = w->g.column;
    const size_t square = b.columns * b.columns * w->width;
    if (!b.own)
        return WEFT_OK;
    if (b.holds)
        factor_diagonal(w, &b, message);
    const weft_status status =
        wi_comm_part(w->g.ctx, column,
                     column->comm->calls->broadcast(column, message, b.l11 + square, WEFT_U8,
                                                    (int)(k % w->g.p)));
    if (status != WEFT_OK)
        return status;
    if (w->place[0])
        WI_GRID_STEP(&w->g, weft_copy(child_of(w), l_of(w, k, b.l11), message + b.l11, square));
    substitute(w, k, &b);
    move_rows(w, &b, b.below, w->g.rows - b.below, message + b.l21, false);
    return WEFT_OK;
}

static void arrived(work *w, size_t k) {
    const block b = block_at(w, k);
    const char *const message = w->message[k % 2];
    int64_t words[WI_CHOLESKY_WORDS];
    memcpy(words, message, sizeof words);
    if (w->words[0] == WI_CHOLESKY_NONE && w->words[1] == WI_CHOLESKY_NONE)
        memcpy(w->words, words, sizeof words);
    if (w->place[0])
        WI_GRID_STEP(&w->g,
                     weft_copy(child_of(w), l_of(w, k, b.l11), message + b.l11, b.bytes - b.l11));
}

/* ---- rows that belong to own columns ---- */

/* Blocks of own columns, of those from number m on: the first. */
static size_t own_from(const wi_rank_grid *g, size_t m) {
    return m + (g->j + g->q - m % g->q) % g->q;
}

static size_t length_of(const work *w, size_t m) {
    return wi_smaller(w->g.c.block, w->g.c.all - m * w->g.c.block);
}

/* Passes the rows of L, in panel k, of own columns after it: each rank of the column those it has.
 */
static weft_status gather_rows(work *w, size_t k) {
    const wi_rank_grid *const g = &w->g;
    const block b = block_at(w, k);
    const size_t line = b.columns * w->width;
    const char *const l21 = w->message[k % 2] + b.l21;
    char *give = w->give;
    memset(w->counts, 0, g->p * sizeof *w->counts);
    for (size_t m = own_from(g, k + 1); m < w->blocks; m += g->q) {
        const size_t rows = length_of(w, m);
        w->counts[m % g->p] += rows * b.columns;
        if (m % g->p == g->i) {
            const size_t row = wi_rank_grid_rows_below(g, m * g->c.block) - b.below;
            memcpy(give, l21 + row * line, rows * line);
            give += rows * line;
        }
    }
    return wi_comm_part(g->ctx, g->column,
                        g->column->comm->calls->all_gather_v(g->column, w->give, w->got, w->counts,
                                                             g->c.given.type));
}

/* Puts them in their order. */
static void order_rows(work *w, size_t k) {
    const wi_rank_grid *const g = &w->g;
    const size_t line = block_at(w, k).columns * w->width;
    size_t done = 0;
    for (size_t i = 0, at = 0; i < g->p; i++) {
        w->next[i] = at;
        at += w->counts[i] * w->width;
    }
    for (size_t m = own_from(g, k + 1); m < w->blocks; m += g->q) {
        const size_t bytes = length_of(w, m) * line;
        memcpy(w->rows + done, w->got + w->next[m % g->p], bytes);
        w->next[m % g->p] += bytes;
        done += bytes;
    }
    if (w->turned != w->rows && done > 0)
        WI_GRID_STEP(&w->g, weft_copy(child_of(w), w->turned, w->rows, done));
}

/* ---- products ---- */

/* Block m on the diagonal: A -= L L', the lower triangle. */
static void subtract_square(work *w, size_t m, const char *l, size_t k) {
    const size_t first = m * w->g.c.block, inner = block_at(w, k).columns;
    const wi_syrk_args s = {.type = w->g.c.given.type,
                            .upper = true, /* as memory has it by columns */
                            .transposed = true,
                            .n = length_of(w, m),
                            .k = inner,
                            .alpha = -1,
                            .beta = 1,
                            .a = l,
                            .lda = inner,
                            .c = wi_rank_grid_at(&w->g, wi_rank_grid_rows_below(&w->g, first),
                                                 wi_rank_grid_columns_below(&w->g, first)),
                            .ldc = w->g.ld};
    WI_GRID_STEP(&w->g, wi_pick(child_of(w), &wi_syrk_ladder, s.type, &s)->run(child_of(w), &s));
}

/* The blocks of column m, which is own, of panel k's products: A -= L21 L'. */
static void subtract(work *w, size_t m, size_t k) {
    const wi_rank_grid *const g = &w->g;
    const block b = block_at(w, k);
    const size_t first = m * g->c.block, column = wi_rank_grid_columns_below(g, first);
    const size_t before = wi_rank_grid_columns_below(g, b.first + b.columns);
    const size_t row = wi_rank_grid_rows_below(g, first + length_of(w, m));
    const char *const l = w->turned + (column - before) * b.columns * w->width;
    const wi_gemm_args a = {.type = g->c.given.type,
                            .out = g->c.given.type,
                            .transposed_a = true,
                            .m = length_of(w, m),
                            .n = g->rows - row,
                            .k = b.columns,
                            .alpha = -1,
                            .beta = 1,
                            .a = l,
                            .lda = b.columns,
                            .b = l_of(w, k, b.l21) + (row - b.below) * b.columns * w->width,
                            .ldb = b.columns,
                            .c = wi_rank_grid_at(g, row, column),
                            .ldc = g->ld};
    if (m % g->p == g->i)
        subtract_square(w, m, l, k);
    if (a.n > 0)
        WI_GRID_STEP(&w->g,
                     wi_pick(child_of(w), &wi_gemm_ladder, a.type, &a)->run(child_of(w), &a));
}

/* Takes panel k from own blocks of columns `from` to `end` - 1. */
static weft_status update(work *w, size_t k, size_t from, size_t end, bool *sent) {
    weft_status status = WEFT_OK;
    for (size_t m = own_from(&w->g, from); m < end && status == WEFT_OK; m += w->g.q) {
        subtract(w, m, k);
        status = wi_rank_grid_poll(&w->g, sent, false);
    }
    return status;
}

/* ---- all of it ---- */

static weft_status send(work *w, size_t k, bool *sent) {
    return wi_rank_grid_send(&w->g, w->message[k % 2], block_at(w, k).bytes, k, sent);
}

/* On a GPU products that are queued before the next panel would hold it up: it is in the same
 * queue. */
static weft_status step(work *w, size_t k) {
    const bool more = k + 1 < w->blocks;
    bool sent = false;
    weft_status status = more ? gather_rows(w, k) : WEFT_OK;
    if (status != WEFT_OK || !more)
        return status;
    order_rows(w, k);
    status = update(w, k, k + 1, k + 2, &sent);
    if (status == WEFT_OK)
        status = factor(w, k + 1);
    if (status == WEFT_OK)
        status = send(w, k + 1, &sent);
    if (status == WEFT_OK)
        status = update(w, k, k + 2, w->blocks, &sent);
    if (status == WEFT_OK)
        status = wi_rank_grid_poll(&w->g, &sent, true);
    if (status == WEFT_OK)
        arrived(w, k + 1);
    return status;
}

static weft_status run(work *w) {
    bool sent = false;
    weft_status status = factor(w, 0);
    if (status == WEFT_OK)
        status = send(w, 0, &sent);
    if (status == WEFT_OK)
        status = wi_rank_grid_poll(&w->g, &sent, true);
    if (status == WEFT_OK)
        arrived(w, 0);
    for (size_t k = 0; k < w->blocks && status == WEFT_OK; k++)
        status = step(w, k);
    WI_GRID_STEP(&w->g, weft_sync(child_of(w)));
    return wi_agree(w->g.ctx, 0, status == WEFT_OK ? w->g.status : status);
}

/* ---- memory ---- */

static weft_status take(work *w) {
    wi_rank_grid *const g = &w->g;
    const size_t bytes = block_at(w, 0).bytes, rows = g->c.block * g->columns;
    wi_rank_grid_take(g);
    for (int k = 0; k < 2; k++)
        wi_rank_grid_take_host(g, bytes, 1, &w->message[k]);
    wi_rank_grid_take_host(g, rows, w->width, &w->give);
    wi_rank_grid_take_host(g, rows, w->width, &w->got);
    wi_rank_grid_take_host(g, rows, w->width, &w->rows);
    wi_rank_grid_take_host(g, 2 * g->p, sizeof *w->counts, &w->counts);
    w->next = w->counts ? w->counts + g->p : NULL;
    w->turned = w->rows;
    if (child_of(w)->gpu) {
        wi_rank_grid_take_place(g, bytes, &w->place[0]);
        wi_rank_grid_take_place(g, bytes, &w->place[1]);
        wi_rank_grid_take_place(g, (rows + 1) * w->width, &w->turned);
    }
    return g->status;
}

static void give(work *w) {
    char *const of_host[] = {w->message[0], w->message[1], w->give, w->got, w->rows};
    if (w->turned && w->turned != w->rows)
        weft_free(child_of(w), w->turned);
    for (int k = 0; k < 2; k++)
        if (w->place[k])
            weft_free(child_of(w), w->place[k]);
    for (size_t k = 0; k < sizeof of_host / sizeof *of_host; k++)
        wi_host_free(of_host[k]);
    wi_host_free(w->counts);
    wi_rank_grid_end(&w->g);
}

/* ---- the rung ---- */

static weft_status factor_all(work *w) {
    w->blocks = (w->g.c.all + w->g.c.block - 1) / w->g.c.block;
    weft_status status = wi_agree(w->g.ctx, 0, take(w));
    if (status == WEFT_OK)
        status = wi_rank_grid_deal(&w->g);
    if (status == WEFT_OK)
        status = run(w);
    if (status == WEFT_OK)
        status = wi_rank_grid_back(&w->g);
    if (status == WEFT_OK)
        memcpy(w->call->words, w->words, sizeof w->words);
    return status;
}

weft_status wi_cholesky_ranks_grid(weft_context *ctx, const void *args) {
    const wi_cholesky_call *const call = args;
    const wi_cholesky_args *const a = &call->args;
    const wi_given given = {a->type, call->by_rows, false, true, a->n, a->n, a->a, a->lda};
    size_t rows;
    work w = {.call = call,
              .width = weft_type_size(a->type),
              .words = {WI_CHOLESKY_NONE, WI_CHOLESKY_NONE}};
    if (a->upper)
        return wi_cholesky_turned(ctx, call, wi_cholesky_ranks_grid);
    const weft_status told = wi_rank_grid_rows(ctx, &rows);
    weft_status status = wi_agree(ctx, rows, told);
    if (status != WEFT_OK)
        return status;
    call->words[WI_CHOLESKY_INDEFINITE] = call->words[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    status = wi_rank_grid_begin(&w.g, ctx, &given, rows);
    if (status == WEFT_OK && w.g.c.all > 0)
        status = factor_all(&w);
    give(&w);
    return status;
}
