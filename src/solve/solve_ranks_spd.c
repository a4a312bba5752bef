/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric matrices over ranks, of which a call passes one triangle: every rank gets the other
 * part of its columns, from the ranks that have it as rows. The rest is done as with any matrix. */
#include "solve/solve_ranks.h"

#include "core/rowcopy.h"

/* Columns that rank r passes. */
static size_t columns_of(const wi_ranks *s, int r) {
    return (size_t)s->all[2 * (size_t)r];
}

/* A part of what the call passes: `rows` rows of own columns from row `first` on. */
static wi_grid part_of(const wi_ranks *s, size_t first, size_t rows, wi_half half) {
    wi_grid g = s->a;
    g.p = (const char *)g.p + first * g.down * weft_type_size(s->type);
    g.rows = rows;
    g.half = half;
    return g;
}

/* The block on the diagonal, and those rows of own columns that are beside it in the triangle. */
static wi_grid diagonal_of(const wi_ranks *s) {
    return part_of(s, s->first, s->own, s->args->upper ? WI_HALF_UPPER : WI_HALF_LOWER);
}

static size_t beside_first(const wi_ranks *s) {
    return s->args->upper ? 0 : s->first + s->own;
}

static wi_grid beside_of(const wi_ranks *s) {
    const size_t rows = s->args->upper ? s->first : s->n - s->first - s->own;
    return part_of(s, beside_first(s), rows, WI_HALF_ALL);
}

weft_status wi_ranks_check_triangle(wi_ranks *s) {
    const wi_grid diagonal = diagonal_of(s), beside = beside_of(s);
    const weft_status status = wi_ranks_check_finite(s, &diagonal, "a", s->first, s->first);
    return status == WEFT_OK ? wi_ranks_check_finite(s, &beside, "a", beside_first(s), s->first)
                             : status;
}

/* ---- what crosses ---- */

/* Does rank r have rows of what this rank passes as its columns, or the other way round? */
static bool goes_to(const wi_ranks *s, int r) {
    const int own = s->ctx->comm->rank;
    return s->args->upper ? r < own : r > own;
}

static bool comes_from(const wi_ranks *s, int r) {
    return r != s->ctx->comm->rank && !goes_to(s, r);
}

/* Blocks for other ranks, turned, one behind the other where factors will be; how many elements. */
static weft_status pack(wi_ranks *s, size_t *elements) {
    size_t row = 0;
    weft_status status = WEFT_OK;
    *elements = 0;
    for (int r = 0; r < s->ctx->comm->size && status == WEFT_OK; r++) {
        const size_t rows = columns_of(s, r);
        if (goes_to(s, r) && rows > 0 && s->own > 0) {
            const wi_grid block = part_of(s, row, rows, WI_HALF_ALL);
            const wi_grid turned = wi_grid_turned(&block);
            status = wi_local(s->ctx,
                              s->place->copy(s->child, &turned, s->type,
                                             s->f + *elements * weft_type_size(s->type), s->own));
            *elements += rows * s->own;
        }
        row += rows;
    }
    return status;
}

/* Blocks of other ranks, to their rows of own columns. */
static weft_status unpack(wi_ranks *s) {
    const size_t width = weft_type_size(s->type);
    size_t row = 0;
    char *from = s->f;
    weft_status status = WEFT_OK;
    for (int r = 0; r < s->ctx->comm->size && status == WEFT_OK; r++) {
        const size_t bytes = columns_of(s, r) * width;
        if (comes_from(s, r) && bytes > 0 && s->own > 0) {
            const wi_pitched block = {from, bytes}, whole = {s->whole + row * width, s->n * width};
            status = wi_local(s->ctx, wi_copy_rows(s->child, whole, block, s->own, bytes));
            from += bytes * s->own;
        }
        row += columns_of(s, r);
    }
    return status;
}

/* What the call passes of own columns, and the other half of the block on the diagonal. */
static weft_status copy_own(wi_ranks *s) {
    const wi_grid diagonal = diagonal_of(s), beside = beside_of(s),
                  mirrored = wi_grid_mirrored(&diagonal);
    char *const to = s->whole + s->first * weft_type_size(s->type);
    char *const away = s->whole + beside_first(s) * weft_type_size(s->type);
    weft_status status = wi_local(s->ctx, s->place->copy(s->child, &diagonal, s->type, to, s->n));
    if (status == WEFT_OK)
        status = wi_local(s->ctx, s->place->copy(s->child, &mirrored, s->type, to, s->n));
    if (status == WEFT_OK && beside.rows > 0)
        status = wi_local(s->ctx, s->place->copy(s->child, &beside, s->type, away, s->n));
    return status;
}

typedef struct crossing {
    size_t *sent, *got; /* elements for each rank */
    size_t sent_all, got_all;
    void *counts, *leave, *come;
} crossing;

static weft_status take(wi_ranks *s, crossing *c) {
    const size_t size = (size_t)s->ctx->comm->size, width = weft_type_size(s->type);
    weft_status status = wi_dist_take(s->ctx, 2 * size, sizeof *c->sent, &c->counts);
    if (status != WEFT_OK)
        return status;
    c->sent = c->counts;
    c->got = c->sent + size;
    for (int r = 0; r < s->ctx->comm->size; r++) {
        c->sent[r] = goes_to(s, r) ? columns_of(s, r) * s->own : 0;
        c->got[r] = comes_from(s, r) ? columns_of(s, r) * s->own : 0;
        c->sent_all += c->sent[r];
        c->got_all += c->got[r];
    }
    status = wi_dist_take_near(s->ctx, c->sent_all, width, &c->leave);
    return status == WEFT_OK ? wi_dist_take_near(s->ctx, c->got_all, width, &c->come) : status;
}

wi_grid wi_ranks_whole(const wi_ranks *s) {
    return (wi_grid){
        .type = s->type, .rows = s->n, .columns = s->own, .p = s->whole, .down = 1, .across = s->n};
}

weft_status wi_ranks_complete(wi_ranks *s) {
    const size_t width = weft_type_size(s->type);
    crossing c = {0};
    weft_status status = take(s, &c);
    size_t elements = 0;
    if (status == WEFT_OK && s->own > 0)
        status = pack(s, &elements);
    if (status == WEFT_OK && elements > 0)
        status = wi_ranks_move(s, c.leave, s->f, elements * width);
    status = wi_agree(s->ctx, 0, status);
    if (status == WEFT_OK)
        status = s->ctx->comm->calls->all_to_all_v(s->ctx, c.leave, c.sent, c.come, c.got, s->type);
    if (status == WEFT_OK && c.got_all > 0)
        status = wi_ranks_move(s, s->f, c.come, c.got_all * width);
    if (status == WEFT_OK && s->own > 0)
        status = unpack(s);
    if (status == WEFT_OK && s->own > 0)
        status = copy_own(s);
    if (c.leave)
        wi_dist_give_near(s->ctx, c.leave);
    if (c.come)
        wi_dist_give_near(s->ctx, c.come);
    wi_host_free(c.counts);
    s->a = wi_ranks_whole(s);
    return status;
}
