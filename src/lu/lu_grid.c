/* SPDX-License-Identifier: Apache-2.0 */
/* lu over a grid of ranks: the column of ranks that has a panel factors it together; each of its
 * ranks sends its rows of L along its row of the grid; rows change places, and those of U are
 * found, in the columns of the grid; and each rank multiplies in its own part. The next panel is
 * factored and sent while the rest is multiplied. */
#include "lu/lu_grid.h"

#include <string.h>

#include "core/rowcopy.h"
#include "core/smaller.h"
#include "gemm/trsm.h"

enum {
    STRIPS = 8, /* in which columns are changed while a message is driven on */
    STRIP = 512
};

typedef struct work {
    wi_rank_grid g;
    const wi_lu_call *call;
    size_t blocks;
    size_t width;
    char *message[2];   /* about a panel, in host memory: see `block` */
    char *place[2];     /* and its L on a GPU; else the same */
    char *panel;        /* rows of a panel, */
    char *said, *heard; /* and messages about its pivots */
    char *give, *got;   /* rows that change places: of this rank, and of all in its column */
    char *u;            /* rows of U on a GPU; else `give` */
    size_t *lists;
    size_t *counts; /* elements that each rank of the column passes */
    wi_lu_moves moves;
    int64_t *pivot; /* of all panels */
    int64_t words[WI_LU_WORDS];
} work;

/* Panel k. A message about it has its pivots and words, the block on the diagonal, and the rows of
 * L below that the rank has; all by rows. */
typedef struct block {
    size_t first, columns, pivots;
    size_t row, below;      /* own rows before `first`, and before the rows below the diagonal */
    size_t column;          /* own columns before `first`, if the panel is this rank's */
    size_t l11, l21, bytes; /* where these begin in a message, and its length */
    bool own;
} block;

static block block_at(const work *w, size_t k) {
    const wi_rank_grid *const g = &w->g;
    block b = {.first = k * g->c.block};
    b.columns = wi_smaller(g->c.block, g->c.all - b.first);
    b.pivots = wi_smaller(b.columns, g->c.given.m - b.first);
    b.row = wi_rank_grid_rows_below(g, b.first);
    b.below = wi_rank_grid_rows_below(g, b.first + b.columns);
    b.column = wi_rank_grid_columns_below(g, b.first);
    b.own = k % g->q == g->j;
    b.l11 = (g->c.block + WI_LU_WORDS) * sizeof(int64_t);
    b.l21 = b.l11 + g->c.block * g->c.block * w->width;
    b.bytes = b.l21 + (g->rows - b.below) * b.columns * w->width;
    return b;
}

static weft_context *child_of(const work *w) {
    return w->g.ctx->child;
}

/* ---- panels ---- */

static int64_t *tail_of(const char *message) {
    return (int64_t *)(void *)(uintptr_t)message;
}

/* Between the place and w->panel. */
static void move_panel(work *w, size_t k, bool back) {
    const block b = block_at(w, k);
    const size_t line = b.columns * w->width, rows = w->g.rows - b.row;
    const wi_pitched theirs = {wi_rank_grid_at(&w->g, b.row, b.column), w->g.ld * w->width},
                     ours = {w->panel, line};
    if (!b.own || rows == 0)
        return;
    WI_GRID_STEP(&w->g,
                 wi_copy_rows(child_of(w), back ? theirs : ours, back ? ours : theirs, rows, line));
    WI_GRID_STEP(&w->g, weft_sync(child_of(w)));
}

/* Factors panel k, which is this column's, and fills the message. */
static weft_status factor(work *w, size_t k) {
    const block b = block_at(w, k);
    char *const message = w->message[k % 2];
    int64_t *const tail = tail_of(message), *const words = tail + w->g.c.block;
    const wi_lu_grid_panel panel = {.g = &w->g,
                                    .first = b.first,
                                    .columns = b.columns,
                                    .pivots = b.pivots,
                                    .rows = w->g.rows - b.row,
                                    .w = w->panel,
                                    .top = message + b.l11,
                                    .pivot = tail,
                                    .words = words,
                                    .said = w->said,
                                    .heard = w->heard};
    if (!b.own)
        return WEFT_OK;
    words[WI_LU_SINGULAR] = words[WI_LU_INFINITE] = WI_LU_NONE;
    const weft_status status = wi_lu_grid_factor(&panel);
    if (status != WEFT_OK)
        return status;
    if (b.bytes > b.l21)
        memcpy(message + b.l21, w->panel + (b.below - b.row) * b.columns * w->width,
               b.bytes - b.l21);
    move_panel(w, k, true);
    return WEFT_OK;
}

static void arrived(work *w, size_t k) {
    const block b = block_at(w, k);
    const char *const message = w->message[k % 2];
    const int64_t *const tail = tail_of(message), *const words = tail + w->g.c.block;
    memcpy(w->pivot + b.first, tail, b.pivots * sizeof *tail);
    for (int word = 0; word < WI_LU_WORDS; word++)
        if (w->words[word] == WI_LU_NONE)
            w->words[word] = words[word];
    wi_lu_moves_plan(&w->moves, &w->g, b.first, b.pivots, tail);
    if (w->place[0])
        WI_GRID_STEP(&w->g,
                     weft_copy(child_of(w), w->place[k % 2], message + b.l11, b.bytes - b.l11));
}

static const char *l_of(const work *w, size_t k, size_t at) {
    const block b = block_at(w, k);
    return w->place[0] ? w->place[k % 2] + (at - b.l11) : w->message[k % 2] + at;
}

/* ---- rows of the grid's columns ---- */

/* One row between host memory and own columns first ... first + n - 1 of row `row` of the whole. */
static void move_row(work *w, size_t row, size_t first, size_t n, char *host, bool back) {
    const size_t bytes = n * w->width;
    const wi_pitched there = {wi_rank_grid_at(&w->g, wi_rank_grid_rows_below(&w->g, row), first),
                              bytes},
                     here = {host, bytes};
    WI_GRID_STEP(&w->g,
                 wi_copy_rows(child_of(w), back ? there : here, back ? here : there, 1, bytes));
}

static bool is_here(const work *w, size_t row) {
    return wi_rank_grid_holder(&w->g, row) == w->g.i;
}

/* Passes what changes places to all ranks of the column. */
static weft_status gather_rows(work *w, size_t first, size_t n) {
    const wi_lu_moves *const m = &w->moves;
    const wi_comm *const comm = w->g.column->comm;
    size_t before = 0;
    for (size_t i = 0; i < w->g.p; i++) {
        w->counts[i] = m->passed[i] * n;
        before += i < w->g.i ? m->passed[i] : 0;
    }
    for (size_t k = 0; k < m->count; k++)
        if (m->slot[k] != SIZE_MAX && is_here(w, m->from[k]))
            move_row(w, m->from[k], first, n, w->give + (m->slot[k] - before) * n * w->width,
                     false);
    WI_GRID_STEP(&w->g, weft_sync(child_of(w)));
    return wi_comm_part(
        w->g.ctx, w->g.column,
        comm->calls->all_gather_v(w->g.column, w->give, w->got, w->counts, w->g.c.given.type));
}

/* Own columns first ... first + n - 1: rows change places; those that become rows of U are also in
 * w->u, n wide. */
static weft_status exchange(work *w, size_t first, size_t n) {
    const wi_lu_moves *const m = &w->moves;
    const size_t line = n * w->width;
    const weft_status status = gather_rows(w, first, n);
    if (status != WEFT_OK)
        return status;
    for (size_t k = 0; k < m->pivots; k++)
        memcpy(w->give + k * line, w->got + m->slot[k] * line, line);
    for (size_t k = m->pivots; k < m->count; k++)
        if (m->slot[k] != SIZE_MAX && is_here(w, m->to[k]))
            move_row(w, m->to[k], first, n, w->got + m->slot[k] * line, true);
    if (w->u != w->give)
        WI_GRID_STEP(&w->g, weft_copy(child_of(w), w->u, w->give, m->pivots * line));
    return WEFT_OK;
}

/* Rows of U to where they belong. */
static void put_rows(work *w, const block *b, size_t first, size_t n) {
    const size_t line = n * w->width;
    const wi_pitched to = {wi_rank_grid_at(&w->g, b->row, first), w->g.ld * w->width},
                     from = {w->u, line};
    if (is_here(w, b->first))
        WI_GRID_STEP(&w->g, wi_copy_rows(child_of(w), to, from, b->pivots, line));
}

/* The columns left of panel k, which are done. */
static weft_status exchange_left(work *w, size_t k) {
    const block b = block_at(w, k);
    if (b.column == 0)
        return WEFT_OK;
    const weft_status status = exchange(w, 0, b.column);
    put_rows(w, &b, 0, b.column);
    return status;
}

/* U12 = L11 \ A12; as memory has it by columns, U12' = A12' / L11'. */
static weft_status solve(const work *w, size_t k, size_t n) {
    const block b = block_at(w, k);
    const wi_triangle_args t = {.type = w->g.c.given.type,
                                .right = true,
                                .upper = true,
                                .unit = true,
                                .m = n,
                                .n = b.pivots,
                                .alpha = 1,
                                .a = l_of(w, k, b.l11),
                                .lda = b.columns,
                                .b = w->u,
                                .ldb = n};
    return wi_pick(child_of(w), &wi_trsm_ladder, t.type, &t)->run(child_of(w), &t);
}

/* A22 -= L21 U12 in own columns first ... first + n - 1; they begin at column `at` of w->u, which
 * is `all` wide. */
static weft_status multiply(const work *w, size_t k, size_t first, size_t n, size_t at,
                            size_t all) {
    const block b = block_at(w, k);
    const wi_gemm_args g = {.type = w->g.c.given.type,
                            .out = w->g.c.given.type,
                            .m = n,
                            .n = w->g.rows - b.below,
                            .k = b.pivots,
                            .alpha = -1,
                            .beta = 1,
                            .a = w->u + at * w->width,
                            .lda = all,
                            .b = l_of(w, k, b.l21),
                            .ldb = b.columns,
                            .c = wi_rank_grid_at(&w->g, b.below, first),
                            .ldc = w->g.ld};
    return g.n == 0 ? WEFT_OK
                    : wi_pick(child_of(w), &wi_gemm_ladder, g.type, &g)->run(child_of(w), &g);
}

/* Begins to send the message about panel k along the rows of the grid. */
static weft_status send(work *w, size_t k, bool *under_way) {
    return wi_rank_grid_send(&w->g, w->message[k % 2], block_at(w, k).bytes, k, under_way);
}

/* ---- all of it ---- */

/* Takes panel k from own columns first ... first + n - 1. */
static weft_status update(work *w, size_t k, size_t first, size_t n, bool *sent) {
    const block b = block_at(w, k);
    const size_t each = n / STRIPS > STRIP ? n / STRIPS : STRIP;
    weft_status status = WEFT_OK;
    if (n == 0)
        return status;
    status = exchange(w, first, n);
    if (status == WEFT_OK && b.pivots > 1)
        WI_GRID_STEP(&w->g, solve(w, k, n));
    put_rows(w, &b, first, n);
    for (size_t at = 0; at < n && status == WEFT_OK; at += each) {
        const size_t some = wi_smaller(each, n - at);
        WI_GRID_STEP(&w->g, multiply(w, k, first + at, some, at, n));
        status = wi_rank_grid_poll(&w->g, sent, false);
    }
    return status;
}

/* On a GPU the products are queued first, and run while the panel is factored on the host. */
static weft_status step(work *w, size_t k) {
    const bool more = k + 1 < w->blocks, queued = child_of(w)->gpu;
    const size_t first = wi_rank_grid_columns_below(&w->g, (k + 1) * w->g.c.block),
                 after = wi_rank_grid_columns_below(&w->g, (k + 2) * w->g.c.block),
                 next = more ? after - first : 0, rest = w->g.columns - first - next;
    bool sent = false;
    weft_status status = update(w, k, first, next, &sent);
    if (status == WEFT_OK && more)
        move_panel(w, k + 1, false);
    if (status == WEFT_OK && queued)
        status = update(w, k, first + next, rest, &sent);
    if (status == WEFT_OK && more)
        status = factor(w, k + 1);
    if (status == WEFT_OK && more)
        status = send(w, k + 1, &sent);
    if (status == WEFT_OK && !queued)
        status = update(w, k, first + next, rest, &sent);
    if (status == WEFT_OK)
        status = exchange_left(w, k);
    if (status == WEFT_OK)
        status = wi_rank_grid_poll(&w->g, &sent, true);
    if (status == WEFT_OK && more)
        arrived(w, k + 1);
    return status;
}

static weft_status run(work *w) {
    bool sent = false;
    move_panel(w, 0, false);
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
    const size_t most = 2 * g->c.block, bytes = block_at(w, 0).bytes;
    const size_t said = wi_lu_grid_said_bytes(g->c.given.type, g->c.block);
    wi_rank_grid_take(g);
    for (int k = 0; k < 2; k++)
        wi_rank_grid_take_host(g, bytes, 1, &w->message[k]);
    wi_rank_grid_take_host(g, g->rows * g->c.block, w->width, &w->panel);
    wi_rank_grid_take_host(g, said, 1, &w->said);
    wi_rank_grid_take_host(g, said, g->p, &w->heard);
    wi_rank_grid_take_host(g, most * g->columns, w->width, &w->give);
    wi_rank_grid_take_host(g, most * g->columns, w->width, &w->got);
    wi_rank_grid_take_host(g, 3 * most + 2 * g->p, sizeof *w->lists, &w->lists);
    wi_rank_grid_take_host(g, w->blocks * g->c.block, sizeof *w->pivot, &w->pivot);
    w->u = w->give;
    if (child_of(w)->gpu) {
        wi_rank_grid_take_place(g, bytes, &w->place[0]);
        wi_rank_grid_take_place(g, bytes, &w->place[1]);
        wi_rank_grid_take_place(g, g->c.block * (g->columns + 1) * w->width, &w->u);
    }
    if (!w->lists)
        return g->status;
    w->moves = (wi_lu_moves){.to = w->lists,
                             .from = w->lists + most,
                             .slot = w->lists + 2 * most,
                             .passed = w->lists + 3 * most};
    w->counts = w->moves.passed + g->p;
    return g->status;
}

static void give(work *w) {
    char *const of_host[] = {w->message[0], w->message[1], w->panel, w->said,
                             w->heard,      w->give,       w->got};
    for (size_t k = 0; k < sizeof of_host / sizeof *of_host; k++)
        wi_host_free(of_host[k]);
    wi_host_free(w->lists);
    wi_host_free(w->pivot);
    for (int k = 0; k < 2; k++)
        if (w->place[k])
            weft_free(child_of(w), w->place[k]);
    if (w->u && w->u != w->give)
        weft_free(child_of(w), w->u);
    wi_rank_grid_end(&w->g);
}

/* ---- the rung ---- */

static weft_status factor_all(work *w) {
    weft_context *const ctx = w->g.ctx;
    const size_t count = wi_smaller(w->g.c.given.m, w->g.c.all);
    w->blocks = (count + w->g.c.block - 1) / w->g.c.block;
    weft_status status = wi_lu_check_ranks_pivot(ctx, w->call, count);
    status = wi_agree(ctx, 0, status == WEFT_OK ? take(w) : status);
    if (status == WEFT_OK)
        status = wi_rank_grid_deal(&w->g);
    if (status == WEFT_OK)
        status = run(w);
    if (status == WEFT_OK)
        status = wi_rank_grid_back(&w->g);
    if (status != WEFT_OK)
        return status;
    memcpy(w->call->words, w->words, sizeof w->words);
    return wi_local(ctx,
                    weft_copy(ctx->child, w->call->args.pivot, w->pivot, count * sizeof *w->pivot));
}

weft_status wi_lu_ranks_grid(weft_context *ctx, const void *args) {
    const wi_lu_call *const call = args;
    const wi_lu_args *const a = &call->args;
    const wi_given given = {a->type, call->by_rows, false, false, a->m, a->n, a->a, a->lda};
    size_t rows;
    work w = {.call = call, .width = weft_type_size(a->type), .words = {WI_LU_NONE, WI_LU_NONE}};
    const weft_status told = wi_rank_grid_rows(ctx, &rows);
    weft_status status = wi_agree(ctx, rows, told);
    if (status != WEFT_OK)
        return status;
    call->words[WI_LU_SINGULAR] = call->words[WI_LU_INFINITE] = WI_LU_NONE;
    status = wi_rank_grid_begin(&w.g, ctx, &given, rows);
    if (status == WEFT_OK && a->m > 0 && w.g.c.all > 0)
        status = factor_all(&w);
    give(&w);
    return status;
}
