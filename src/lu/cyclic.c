/* SPDX-License-Identifier: Apache-2.0 */
/* Where each column of a block-cyclic matrix lies, and the exchanges that deal columns out and give
 * them back. */
#include "lu/cyclic.h"

#include <string.h>

#include "core/rowcopy.h"
#include "gemm/transpose.h"

/* ---- which columns go where ---- */

size_t wi_cyclic_below(const wi_cyclic *c, int rank, size_t end) {
    const size_t round = c->block * (size_t)c->ctx->comm->size, before = (size_t)rank * c->block;
    const size_t bound = end < c->all ? end : c->all, rest = bound % round;
    const size_t of_last = rest <= before ? 0 : rest - before;
    return bound / round * c->block + (of_last < c->block ? of_last : c->block);
}

static void count_exchange(wi_cyclic *c) {
    const int own = c->ctx->comm->rank;
    for (int r = 0; r < c->ctx->comm->size; r++) {
        const size_t sent =
            wi_cyclic_below(c, r, c->before + c->given.n) - wi_cyclic_below(c, r, c->before);
        const size_t got =
            wi_cyclic_below(c, own, c->starts[r + 1]) - wi_cyclic_below(c, own, c->starts[r]);
        c->outgoing[r] = sent * c->ld;
        c->incoming[r] = got * c->ld;
    }
}

weft_status wi_cyclic_begin(wi_cyclic *c, weft_context *ctx, const wi_given *given) {
    const size_t size = (size_t)ctx->comm->size;
    const uint64_t *all;
    uint64_t own = given->shared ? 0 : given->n;
    *c = (wi_cyclic){.ctx = ctx, .given = *given};
    void *starts;
    weft_status status = wi_dist_take(ctx, 3 * size + 1, sizeof *c->starts, &starts);
    status = wi_agree(ctx, 0, status);
    c->starts = starts;
    if (status == WEFT_OK)
        status = wi_all_words(ctx, &own, 1, &all);
    if (status != WEFT_OK)
        return status;
    c->outgoing = c->starts + size + 1;
    c->incoming = c->outgoing + size;
    c->starts[0] = 0;
    for (size_t r = 0; r < size; r++)
        c->starts[r + 1] = c->starts[r] + all[r];
    c->all = given->shared ? given->n : c->starts[size];
    c->before = given->shared ? 0 : c->starts[ctx->comm->rank];
    c->given.m = given->square ? c->all : given->m;
    c->ld = wi_cyclic_pitch(c->given.m);
    return WEFT_OK;
}

size_t wi_cyclic_usual_block(const wi_cyclic *c) {
    enum {
        UNIT = 32,
        EACH = 8 /* blocks of a rank */
    };
    const size_t most = c->ctx->child->gpu ? 256 : 128;
    const size_t even = c->all / (EACH * (size_t)c->ctx->comm->size) / UNIT * UNIT;
    return even < UNIT ? UNIT : even < most ? even : most;
}

/* ---- memory ---- */

static weft_status take_columns(const wi_cyclic *c, size_t columns, bool near, char **p) {
    const size_t width = c->ld * weft_type_size(c->given.type);
    void *memory = NULL;
    weft_status status = WEFT_OK;
    if (near)
        status = wi_dist_take_near(c->ctx, columns, width, &memory);
    else if (columns > 0)
        status = wi_local(c->ctx, weft_alloc(c->ctx->child, &memory, columns * width));
    *p = memory;
    return status;
}

weft_status wi_cyclic_take(wi_cyclic *c, size_t block) {
    c->block = block;
    c->own = wi_cyclic_below(c, c->ctx->comm->rank, c->all);
    weft_status status = take_columns(c, c->own, false, &c->a);
    if (c->given.shared || status != WEFT_OK)
        return status;
    count_exchange(c);
    status = take_columns(c, c->given.n, true, &c->passed);
    if (status == WEFT_OK && wi_dist_reaches(c->ctx))
        c->dealt = c->a;
    else if (status == WEFT_OK)
        status = take_columns(c, c->own, true, &c->dealt);
    if (status == WEFT_OK && !wi_dist_reaches(c->ctx))
        status = take_columns(c, c->block, false, &c->piece);
    return status;
}

void wi_cyclic_end(wi_cyclic *c) {
    weft_context *const child = c->ctx->child;
    if (c->dealt && c->dealt != c->a)
        wi_dist_give_near(c->ctx, c->dealt);
    if (c->passed)
        wi_dist_give_near(c->ctx, c->passed);
    if (c->piece)
        weft_free(child, c->piece);
    if (c->a)
        weft_free(child, c->a);
    wi_host_free(c->starts);
}

/* ---- between the caller's matrix and columns without gaps but for the pitch ---- */

typedef struct moving {
    const wi_cyclic *c;
    size_t rows, n;
    char *columns;
    bool back;
} moving;

static weft_status move_part(weft_context *child, wi_call *call, const wi_part *part, void *user) {
    const moving *const m = user;
    const wi_given *const g = &m->c->given;
    const size_t width = weft_type_size(g->type), ld = part->ld[0];
    (void)call;
    if (g->by_rows) {
        const wi_transpose_args there = {width, m->n,       m->rows, part->p[0],
                                         ld,    m->columns, m->c->ld};
        const wi_transpose_args back = {width, m->rows, m->n, m->columns, m->c->ld, part->p[0], ld};
        return wi_transpose_part(child, m->back ? &back : &there);
    }
    const wi_pitched theirs = {part->p[0], ld * width}, ours = {m->columns, m->c->ld * width};
    return wi_copy_rows(child, m->back ? theirs : ours, m->back ? ours : theirs, m->n,
                        m->rows * width);
}

/* Copies n columns from column `first` of what the call passes, or back; of a lower triangle the
 * rows from their block's first one on. */
static weft_status move_columns(const wi_cyclic *c, size_t first, size_t n, char *columns,
                                bool back) {
    const wi_given *const g = &c->given;
    weft_context *const child = c->ctx->child;
    const size_t width = weft_type_size(g->type), row = c->lower ? first / c->block * c->block : 0;
    moving m = {c, g->m - row, n, columns + row * width, back};
    const size_t at = g->by_rows ? first + row * g->lda : first * g->lda + row;
    char *const a = (char *)g->a + at * width;
    const unsigned use = back ? WI_OUT : WI_IN;
    wi_call call;
    wi_call_begin(&call, c->ctx->comm->call, 0, 0);
    wi_call_add(&call, g->by_rows ? wi_matrix("a", a, m.rows, n, "lda", g->lda, g->type, use)
                                  : wi_columns("a", a, m.rows, n, "lda", g->lda, g->type, use));
    weft_status status = wi_call_check(child, &call);
    if (status == WEFT_OK)
        status = wi_call_run(child, &call, move_part, &m);
    return wi_local(c->ctx, status);
}

/* The same by way of a block in memory of the place, where `host` is not. */
weft_status wi_cyclic_move(const wi_cyclic *c, size_t first, size_t n, char *host, bool back) {
    weft_context *const child = c->ctx->child;
    const size_t bytes = n * c->ld * weft_type_size(c->given.type);
    if (!c->piece)
        return move_columns(c, first, n, host, back);
    weft_status status = WEFT_OK;
    if (back)
        status = wi_local(c->ctx, weft_copy(child, c->piece, host, bytes));
    if (status == WEFT_OK)
        status = move_columns(c, first, n, c->piece, back);
    if (!back && status == WEFT_OK)
        status = wi_local(c->ctx, weft_copy(child, host, c->piece, bytes));
    return status;
}

/* Those of columns first ... end - 1 that go to rank r, one block after the other; first and end
 * are of what the call passes. */
static weft_status move_some(const wi_cyclic *c, int r, size_t first, size_t end, char **packed,
                             bool back) {
    const size_t size = (size_t)c->ctx->comm->size;
    const size_t round = c->block * size, width = c->ld * weft_type_size(c->given.type);
    weft_status status = WEFT_OK;
    for (size_t j = first / round * round + (size_t)r * c->block; j < end && status == WEFT_OK;
         j += round) {
        const size_t from = j > first ? j : first, to = j + c->block < end ? j + c->block : end;
        if (from >= to)
            continue;
        status = wi_cyclic_move(c, from - c->before, to - from, *packed, back);
        *packed += (to - from) * width;
    }
    return status;
}

static weft_status move_all(const wi_cyclic *c, bool back) {
    const size_t first = c->before, end = c->before + c->given.n;
    char *packed = c->given.shared ? c->a : c->passed;
    weft_status status = WEFT_OK;
    if (c->given.shared)
        return move_some(c, c->ctx->comm->rank, first, end, &packed, back);
    for (int r = 0; r < c->ctx->comm->size && status == WEFT_OK; r++)
        status = move_some(c, r, first, end, &packed, back);
    return status;
}

weft_status wi_cyclic_move_some(const wi_cyclic *c, size_t first, size_t end, bool back) {
    const int rank = c->ctx->comm->rank;
    char *packed = wi_cyclic_at(c, 0, wi_cyclic_below(c, rank, first));
    return move_some(c, rank, first, end, &packed, back);
}

/* ---- the exchange ---- */

weft_status wi_cyclic_deal(wi_cyclic *c) {
    weft_context *const ctx = c->ctx;
    weft_status status = wi_agree(ctx, 0, move_all(c, false));
    if (status != WEFT_OK || c->given.shared)
        return status;
    status = ctx->comm->calls->all_to_all_v(ctx, c->passed, c->outgoing, c->dealt, c->incoming,
                                            c->given.type);
    if (status != WEFT_OK || wi_dist_reaches(c->ctx))
        return status;
    const size_t bytes = c->own * c->ld * weft_type_size(c->given.type);
    return wi_agree(ctx, 0, wi_local(ctx, weft_copy(ctx->child, c->a, c->dealt, bytes)));
}

weft_status wi_cyclic_return(wi_cyclic *c) {
    weft_context *const ctx = c->ctx;
    const size_t bytes = c->own * c->ld * weft_type_size(c->given.type);
    weft_status status = WEFT_OK;
    if (!c->given.shared && !wi_dist_reaches(c->ctx))
        status = wi_agree(ctx, 0, wi_local(ctx, weft_copy(ctx->child, c->dealt, c->a, bytes)));
    if (status == WEFT_OK && !c->given.shared)
        status = ctx->comm->calls->all_to_all_v(ctx, c->dealt, c->incoming, c->passed, c->outgoing,
                                                c->given.type);
    return status == WEFT_OK ? wi_agree(ctx, 0, move_all(c, true)) : status;
}
