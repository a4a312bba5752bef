/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a grid of ranks, its communicators, and the exchanges that deal blocks out and give
 * them back. */
#include "lu/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/smaller.h"
#include "gemm/transpose.h"

enum {
    BLOCK = 128,
    LEAST = 8
};

/* ---- the shape of the grid ---- */

/* Ranks are numbered down the columns: those of a column, which exchange most, are neighbours. */
weft_status wi_rank_grid_rows(weft_context *ctx, size_t *rows) {
    const size_t size = (size_t)ctx->comm->size;
    const char *const wish = getenv("WEFT_GRID");
    unsigned down = 0, across = 0;
    int end = 0;
    *rows = 1;
    if (!wish || !*wish) {
        for (size_t p = 1; p * p <= size; p++)
            *rows = size % p == 0 ? p : *rows;
        return WEFT_OK;
    }
    if (sscanf(wish, "%ux%u%n", &down, &across, &end) != 2 || wish[end] != '\0' ||
        (size_t)down * across != size)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: WEFT_GRID is \"%.64s\"; set it to rows times columns of %zu ranks, as "
                       "\"%zux1\", or unset it",
                       ctx->comm->call, wish, size, size);
    *rows = down;
    return WEFT_OK;
}

size_t wi_rank_grid_below(size_t block, size_t end, size_t at, size_t places) {
    const size_t round = block * places, before = at * block, rest = end % round;
    const size_t of_last = rest <= before ? 0 : rest - before;
    return end / round * block + wi_smaller(of_last, block);
}

/* So that each rank has several blocks, and products enough to do at a time. */
static size_t usual_block(const wi_rank_grid *g) {
    const size_t most = wi_smaller(g->c.given.m, g->c.all), places = g->p > g->q ? g->p : g->q;
    const size_t even = most / (4 * places) / LEAST * LEAST;
    return even < LEAST ? LEAST : wi_smaller(even, BLOCK);
}

/* Own columns of the part, among those that rank r passes. */
static size_t passed_by(const wi_rank_grid *g, size_t r, size_t j) {
    return wi_rank_grid_below(g->c.block, g->c.starts[r + 1], j, g->q) -
           wi_rank_grid_below(g->c.block, g->c.starts[r], j, g->q);
}

weft_status wi_rank_grid_begin(wi_rank_grid *g, weft_context *ctx, const wi_given *given,
                               size_t rows) {
    const size_t rank = (size_t)ctx->comm->rank;
    *g = (wi_rank_grid){.ctx = ctx, .p = rows, .q = (size_t)ctx->comm->size / rows};
    weft_status status = wi_cyclic_begin(&g->c, ctx, given);
    g->i = rank % g->p;
    g->j = rank / g->p;
    if (status == WEFT_OK)
        status = wi_comm_grid(ctx, rows, &g->row, &g->column);
    if (status != WEFT_OK)
        return status;
    g->c.block = usual_block(g);
    g->rows = wi_rank_grid_rows_below(g, g->c.given.m);
    g->columns = wi_rank_grid_columns_below(g, g->c.all);
    g->ld = wi_cyclic_pitch(g->columns);
    return WEFT_OK;
}

/* ---- memory ---- */

void wi_rank_grid_take_host(wi_rank_grid *g, size_t n, size_t width, void *p) {
    void *memory = NULL;
    if (g->status == WEFT_OK)
        g->status = wi_dist_take(g->ctx, n, width, &memory);
    memcpy(p, &memory, sizeof memory);
}

void wi_rank_grid_take_place(wi_rank_grid *g, size_t bytes, char **p) {
    void *memory = NULL;
    if (bytes > 0)
        WI_GRID_STEP(g, weft_alloc(g->ctx->child, &memory, bytes));
    *p = memory;
}

void wi_rank_grid_take(wi_rank_grid *g) {
    const size_t size = g->p * g->q, width = weft_type_size(g->c.given.type);
    wi_rank_grid_take_host(g, 2 * size, sizeof *g->outgoing, &g->outgoing);
    if (!g->outgoing)
        return;
    g->incoming = g->outgoing + size;
    for (size_t r = 0; r < size; r++) {
        const size_t rows = wi_rank_grid_below(g->c.block, g->c.given.m, r % g->p, g->p);
        g->outgoing[r] = rows * passed_by(g, (size_t)g->ctx->comm->rank, r / g->p);
        g->incoming[r] = g->rows * passed_by(g, r, g->j);
    }
    wi_rank_grid_take_host(g, g->c.given.n * g->c.ld, width, &g->passed);
    wi_rank_grid_take_host(g, g->c.given.n * g->c.given.m, width, &g->packed);
    wi_rank_grid_take_host(g, g->rows * g->columns, width, &g->own);
    wi_rank_grid_take_place(g, g->rows * g->ld * width, &g->a);
    if (g->ctx->child->gpu) {
        wi_rank_grid_take_place(g, g->rows * g->columns * width, &g->turned);
        wi_rank_grid_take_place(g, g->c.block * g->c.ld * width, &g->c.piece);
    }
}

void wi_rank_grid_end(wi_rank_grid *g) {
    weft_context *const child = g->ctx->child;
    if (g->a)
        weft_free(child, g->a);
    if (g->turned)
        weft_free(child, g->turned);
    wi_host_free(g->passed);
    wi_host_free(g->packed);
    wi_host_free(g->own);
    wi_host_free(g->outgoing);
    wi_cyclic_end(&g->c);
}

/* ---- dealing ---- */

/* Between the caller's matrix and whole columns in host memory. */
static weft_status move_passed(wi_rank_grid *g, bool back) {
    const size_t width = weft_type_size(g->c.given.type);
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < g->c.given.n && status == WEFT_OK; k += g->c.block)
        status = wi_cyclic_move(&g->c, k, wi_smaller(g->c.block, g->c.given.n - k),
                                g->passed + k * g->c.ld * width, back);
    return status;
}

/* Column `column` of what is passed: its blocks for row i of the grid, to `packed` or back. Returns
 * how many bytes these are. */
static size_t pack_column(wi_rank_grid *g, size_t column, size_t i, char *packed, bool back) {
    const size_t width = weft_type_size(g->c.given.type), block = g->c.block;
    char *const from = g->passed + column * g->c.ld * width;
    size_t done = 0;
    for (size_t row = i * block; row < g->c.given.m; row += g->p * block) {
        const size_t bytes = wi_smaller(block, g->c.given.m - row) * width;
        if (back)
            memcpy(from + row * width, packed + done, bytes);
        else
            memcpy(packed + done, from + row * width, bytes);
        done += bytes;
    }
    return done;
}

static void pack(wi_rank_grid *g, bool back) {
    char *at = g->packed;
    for (size_t r = 0; r < g->p * g->q; r++)
        for (size_t k = 0; k < g->c.given.n; k++)
            if ((g->c.before + k) / g->c.block % g->q == r / g->p)
                at += pack_column(g, k, r % g->p, at, back);
}

/* Between this rank's part by columns, in host memory, and by rows. */
static weft_status turn(wi_rank_grid *g, bool back) {
    weft_context *const child = g->ctx->child;
    const size_t width = weft_type_size(g->c.given.type), bytes = g->rows * g->columns * width;
    char *const columns = g->turned ? g->turned : g->own;
    const wi_transpose_args there = {width, g->rows, g->columns, columns, g->rows, g->a, g->ld};
    const wi_transpose_args again = {width, g->columns, g->rows, g->a, g->ld, columns, g->rows};
    weft_status status = WEFT_OK;
    if (bytes == 0)
        return status;
    if (g->turned && !back)
        status = weft_copy(child, g->turned, g->own, bytes);
    if (status == WEFT_OK)
        status = wi_transpose_part(child, back ? &again : &there);
    if (status == WEFT_OK && g->turned && back)
        status = weft_copy(child, g->own, g->turned, bytes);
    if (status == WEFT_OK)
        status = weft_sync(child);
    return wi_local(g->ctx, status);
}

weft_status wi_rank_grid_deal(wi_rank_grid *g) {
    weft_status status = wi_agree(g->ctx, 0, move_passed(g, false));
    if (status != WEFT_OK)
        return status;
    pack(g, false);
    status = g->ctx->comm->calls->all_to_all_v(g->ctx, g->packed, g->outgoing, g->own, g->incoming,
                                               g->c.given.type);
    return status == WEFT_OK ? wi_agree(g->ctx, 0, turn(g, false)) : status;
}

weft_status wi_rank_grid_back(wi_rank_grid *g) {
    weft_status status = wi_agree(g->ctx, 0, turn(g, true));
    if (status == WEFT_OK)
        status = g->ctx->comm->calls->all_to_all_v(g->ctx, g->own, g->incoming, g->packed,
                                                   g->outgoing, g->c.given.type);
    if (status != WEFT_OK)
        return status;
    pack(g, true);
    return wi_agree(g->ctx, 0, move_passed(g, true));
}

/* ---- messages along rows of the grid ---- */

weft_status wi_rank_grid_send(const wi_rank_grid *g, char *message, size_t bytes, size_t k,
                              bool *under_way) {
    const wi_comm_table *const calls = g->row->comm->calls;
    const int root = (int)(k % g->q);
    *under_way = calls->begin_broadcast != NULL;
    return wi_comm_part(g->ctx, g->row,
                        (*under_way ? calls->begin_broadcast
                                    : calls->broadcast)(g->row, message, bytes, WEFT_U8, root));
}

weft_status wi_rank_grid_poll(const wi_rank_grid *g, bool *under_way, bool wait) {
    bool over = true;
    if (!*under_way)
        return WEFT_OK;
    const weft_status status = g->row->comm->calls->poll(g->row, wait, &over);
    *under_way = status == WEFT_OK && !over;
    return wi_comm_part(g->ctx, g->row, status);
}
