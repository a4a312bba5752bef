/* SPDX-License-Identifier: Apache-2.0 */
/* trsm and trmm over ranks. Blocks of A's columns are passed to all, one after the other, and every
 * rank takes them from its own columns of B, or adds them: which is all of one block step of
 * substitution, or of a product, whether A is transposed or not. If A stands on the right, what it
 * stands beside are rows of B: the ranks first exchange columns of B for rows, and back at the end.
 */
#include <string.h>

#include "comm/gpus.h"
#include "core/rowcopy.h"
#include "core/smaller.h"
#include "gemm/transpose.h"
#include "gemm/trmm.h"
#include "gemm/trsm.h"

enum {
    A,
    B,
    BLOCK = 256 /* columns of A that are passed at a time */
};

#define LEAST_PRODUCTS 0x1p34 /* less is done faster by one GPU */

typedef struct work {
    weft_context *ctx;
    const wi_triangle_request *r;
    bool solves, transposed;
    const size_t *starts; /* of A's columns */
    size_t order, width;
    const char *a; /* this rank's columns, */
    size_t lda;
    char *x; /* `count` columns of order rows: B's, or its rows */
    size_t ldx, count;
    void *rows;         /* memory of the latter */
    void *wire, *piece; /* a block of A: where the communicator reaches it, and the place (the same
                           if it does, too) */
    weft_status status; /* of this rank's own steps */
} work;

#define STEP(w, call) WI_LOCAL_STEP((w)->ctx, (w)->status, call)

/* Columns first ... of A, in the rows that belong to its triangle: those of the square on the
 * diagonal and `others` more, which come after it in the lower triangle and before it in the upper
 * one. They are `high` together, and at `l` and `square` in the message. */
typedef struct block {
    size_t first, columns;
    size_t row, other, others, high;
    const char *l, *square;
} block;

static block block_at(const work *w, size_t first, size_t end) {
    const bool upper = w->r->args.upper;
    block b = {.first = first, .columns = wi_smaller(BLOCK, end - first)};
    b.row = upper ? 0 : first;
    b.other = upper ? 0 : first + b.columns;
    b.others = upper ? first : w->order - b.other;
    b.high = b.columns + b.others;
    b.l = (const char *)w->piece + (upper ? 0 : b.columns) * w->width;
    b.square = (const char *)w->piece + (upper ? first : 0) * w->width;
    return b;
}

/* ---- one block ---- */

static weft_status pass(work *w, const block *b, int owner) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    const size_t line = b->high * w->width, elements = b->high * b->columns;
    const bool own = ctx->comm->rank == owner;
    if (own) {
        const char *const from =
            w->a + (b->row + (b->first - w->starts[owner]) * w->lda) * w->width;
        STEP(w, wi_copy_rows(child, (wi_pitched){w->piece, line},
                             (wi_pitched){(char *)(uintptr_t)from, w->lda * w->width}, b->columns,
                             line));
        if (w->wire)
            STEP(w, weft_copy(child, w->wire, w->piece, elements * w->width));
        else
            STEP(w, weft_sync(child));
    }
    const weft_status status = ctx->comm->calls->broadcast(ctx, w->wire ? w->wire : w->piece,
                                                           elements, w->r->args.type, owner);
    if (status == WEFT_OK && w->wire && !own)
        STEP(w, weft_copy(child, w->piece, w->wire, elements * w->width));
    return status;
}

/* The square: X(block) = alpha op(square)^-1 X(block), or its product. */
static void take_square(work *w, const block *b, double alpha) {
    const wi_triangle_args *const g = &w->r->args;
    weft_context *const child = w->ctx->child;
    const wi_ladder *const ladder = w->solves ? &wi_trsm_ladder : &wi_trmm_ladder;
    const wi_triangle_args t = {.type = g->type,
                                .upper = g->upper,
                                .transposed = w->transposed,
                                .unit = g->unit,
                                .m = b->columns,
                                .n = w->count,
                                .alpha = alpha,
                                .a = b->square,
                                .lda = b->high,
                                .b = w->x + b->first * w->width,
                                .ldb = w->ldx};
    STEP(w, wi_pick(child, ladder, t.type, &t)->run(child, &t));
}

/* The other rows: X(others) = alpha L X(block) + beta X(others) or, transposed, X(block) = alpha L'
 * X(others) + beta X(block). */
static void take_others(work *w, const block *b, double alpha, double beta) {
    weft_context *const child = w->ctx->child;
    char *const block_rows = w->x + b->first * w->width, *const others = w->x + b->other * w->width;
    const wi_gemm_args g = {.type = w->r->args.type,
                            .out = w->r->args.type,
                            .transposed_a = w->transposed,
                            .m = w->transposed ? b->columns : b->others,
                            .n = w->count,
                            .k = w->transposed ? b->others : b->columns,
                            .alpha = alpha,
                            .beta = beta,
                            .a = b->l,
                            .lda = b->high,
                            .b = w->transposed ? others : block_rows,
                            .ldb = w->ldx,
                            .c = w->transposed ? block_rows : others,
                            .ldc = w->ldx};
    if (b->others > 0)
        STEP(w, wi_pick(child, &wi_gemm_ladder, g.type, &g)->run(child, &g));
}

/* Substitution takes the square before what it is multiplied with, transposed after; a product the
 * other way round. In substitution the first to touch rows of B multiplies them with alpha. */
static void change(work *w, const block *b, bool is_first) {
    const double alpha = w->r->args.alpha;
    const double left = w->transposed || is_first ? alpha : 1;
    if (w->count == 0)
        return;
    if (w->solves && w->transposed)
        take_others(w, b, -1, left);
    else if (!w->solves && !w->transposed)
        take_others(w, b, alpha, 1);
    take_square(w, b, w->solves && !is_first ? 1 : alpha);
    if (w->solves && !w->transposed)
        take_others(w, b, -1, left);
    else if (!w->solves && w->transposed)
        take_others(w, b, alpha, 1);
}

/* ---- all blocks ---- */

/* Those of a rank, from the first to the last or the other way. */
static weft_status change_by(work *w, int owner, bool up, bool *is_first) {
    const size_t begin = w->starts[owner], end = w->starts[owner + 1];
    const size_t blocks = (end - begin + BLOCK - 1) / BLOCK;
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < blocks && status == WEFT_OK; k++) {
        const block b = block_at(w, begin + (up ? k : blocks - 1 - k) * BLOCK, end);
        status = pass(w, &b, owner);
        if (status == WEFT_OK)
            change(w, &b, *is_first);
        *is_first = false;
    }
    return status;
}

static weft_status change_all(work *w) {
    const int size = w->ctx->comm->size;
    const bool up = (w->r->args.upper == w->transposed) == w->solves;
    bool is_first = true;
    weft_status status = WEFT_OK;
    for (int r = 0; r < size && status == WEFT_OK; r++)
        status = change_by(w, up ? r : size - 1 - r, up, &is_first);
    return status;
}

/* ---- rows of B, where A stands on the right ---- */

static weft_status exchange(work *w, const wi_part *part, bool back) {
    const wi_triangle_args *const g = &w->r->args;
    void *const b = part->p[B];
    const size_t ldb = part->ld[B];
    const wi_transpose_request there = {.args = {w->width, g->m, g->n, b, ldb, w->rows, w->order},
                                        .columns = WI_COLUMNS,
                                        .has_share = true,
                                        .share = w->count};
    const wi_transpose_request home = {
        .args = {w->width, w->order, w->count, w->rows, w->order, b, ldb},
        .columns = WI_COLUMNS,
        .has_share = true,
        .share = g->n};
    return wi_transpose_ranks(w->ctx, back ? &home : &there);
}

static void take_place(work *w, size_t n, void **p) {
    if (n > 0)
        STEP(w, weft_alloc(w->ctx->child, p, n * w->width));
}

static void take(work *w) {
    const size_t elements = w->order * wi_smaller(BLOCK, w->order);
    if (w->r->args.right)
        take_place(w, w->order * w->count, &w->rows);
    take_place(w, elements, &w->piece);
    if (w->status == WEFT_OK && !wi_dist_reaches(w->ctx))
        w->status = wi_dist_take(w->ctx, elements, w->width, &w->wire);
}

static void give(work *w) {
    weft_free(w->ctx->child, w->rows);
    weft_free(w->ctx->child, w->piece);
    wi_host_free(w->wire);
}

static weft_status run_steps(weft_context *ctx, const wi_part *part, void *user) {
    work *const w = user;
    const bool right = w->r->args.right;
    take(w);
    w->a = part->p[A];
    w->lda = part->ld[A];
    w->x = right ? w->rows : part->p[B];
    w->ldx = right ? w->order : part->ld[B];
    weft_status status = wi_agree(ctx, 0, w->status);
    if (status == WEFT_OK && right)
        status = exchange(w, part, false);
    if (status == WEFT_OK)
        status = change_all(w);
    STEP(w, weft_sync(ctx->child));
    status = wi_agree(ctx, 0, status == WEFT_OK ? w->status : status);
    return status == WEFT_OK && right ? exchange(w, part, true) : status;
}

static weft_status clear(weft_context *ctx, const wi_part *part, void *user) {
    wi_triangle_args g = *(const wi_triangle_args *)user;
    const weft_status status = wi_agree(ctx, 0, WEFT_OK);
    g.b = part->p[B];
    g.ldb = part->ld[B];
    if (status != WEFT_OK || g.m == 0 || g.n == 0)
        return status;
    return wi_local(ctx, wi_triangle_zero(ctx->child, &g));
}

/* ---- calls ---- */

/* What this rank passes, length x args.n of B. */
static size_t describe_part(weft_context *ctx, const wi_triangle_request *r, wi_call *call) {
    const wi_triangle_args *const g = &r->args;
    const size_t order = wi_starts_all(ctx, g->right ? r->starts.n : r->starts.m);
    const size_t length = g->right ? g->m : order;
    if (g->alpha == 0)
        wi_triangle_describe(call, r, 0, 0, length);
    else
        wi_triangle_describe(call, r, order, g->right ? g->n : g->m, length);
    call->distributed = true;
    return length;
}

static weft_status run_parts(weft_context *ctx, const wi_triangle_request *r, bool solves) {
    const wi_triangle_args *const g = &r->args;
    const int own = ctx->comm->rank, size = ctx->comm->size;
    wi_call call;
    wi_triangle_args part = *g;
    part.m = describe_part(ctx, r, &call);
    work w = {.ctx = ctx,
              .r = r,
              .solves = solves,
              .transposed = g->transposed != g->right,
              .starts = g->right ? r->starts.n : r->starts.m,
              .width = weft_type_size(g->type),
              .count = g->n};
    if (g->right)
        w.count = g->m / (size_t)size + ((size_t)own < g->m % (size_t)size);
    w.order = wi_starts_all(ctx, w.starts);
    const size_t all = g->right ? g->m : wi_starts_all(ctx, r->starts.n);
    weft_status status = wi_agree(ctx, 0, wi_local(ctx, wi_call_check(ctx->child, &call)));
    if (status != WEFT_OK || w.order == 0 || all == 0)
        return status;
    status = g->alpha == 0 ? wi_dist_call_run(ctx, &call, clear, &part)
                           : wi_dist_call_run(ctx, &call, run_steps, &w);
    give(&w);
    return status;
}

/* With all of A, what it is beside is shared out alone: columns of B that the GPU holds, or rows.
 */
static weft_status run_reached(weft_context *ctx, const wi_triangle_request *r, bool solves) {
    const wi_triangle_args *const g = &r->args;
    const size_t width = weft_type_size(g->type);
    const unsigned how = (g->right ? WEFT_RIGHT : 0) | (g->upper ? WEFT_UPPER_TRIANGLE : 0) |
                         (g->transposed ? WEFT_TRANSPOSE_A : 0) |
                         (g->unit ? WEFT_UNIT_DIAGONAL : 0);
    const wi_share share = g->right ? wi_gpus_share(ctx, NULL, g->m, width)
                                    : wi_gpus_share(ctx, g->b, g->n, g->ldb * width);
    char *const b = wi_share_of(g->b, share, g->right ? width : g->ldb * width);
    const size_t m = g->right ? share.n : g->m, n = g->right ? g->n : share.n;
    return wi_local(ctx, (solves ? weft_trsm : weft_trmm)(ctx->child, how, g->type, m, n, g->alpha,
                                                          g->a, g->lda, b, g->ldb));
}

static weft_status run_request(weft_context *ctx, const wi_triangle_request *r, bool solves) {
    return (r->has_all ? run_reached : run_parts)(ctx, r, solves);
}

weft_status wi_trsm_ranks(weft_context *ctx, const void *request) {
    return run_request(ctx, request, true);
}

weft_status wi_trmm_ranks(weft_context *ctx, const void *request) {
    return run_request(ctx, request, false);
}

static weft_status run_all(weft_context *ctx, const wi_triangle_request *r, weft_status status) {
    const wi_triangle_args *const g = &r->args;
    const unsigned flags = (unsigned)g->right | (unsigned)g->upper << 1 |
                           (unsigned)g->transposed << 2 | (unsigned)g->unit << 3 |
                           (unsigned)r->by_rows << 4;
    const uint64_t alike = wi_alike(wi_alike(0, flags), g->right ? g->m : 0);
    return wi_dist_run(ctx, r->ladder, r->name, g->type,
                       wi_alike_bytes(alike, &g->alpha, sizeof g->alpha), status, r);
}

weft_status wi_triangle_over_ranks(weft_context *ctx, const wi_triangle_request *request,
                                   weft_status status) {
    wi_triangle_request r = *request;
    wi_call arrays;
    status = wi_starts_join(ctx, r.name, r.args.m, r.args.n, status, &r.starts);
    if (status == WEFT_OK) {
        describe_part(ctx, &r, &arrays);
        status = run_all(ctx, &r, wi_call_check(ctx, &arrays));
    }
    wi_starts_give(&r.starts);
    return status;
}

bool wi_triangle_wants_gpus(weft_context *ctx, const wi_triangle_request *r) {
    const wi_triangle_args *const g = &r->args;
    const double order = (double)(g->right ? g->n : g->m);
    const double products = order / 2 * (double)g->m * (double)g->n;
    return (products >= LEAST_PRODUCTS || wi_gpus_forced(ctx, r->ladder)) &&
           wi_gpus_wanted(ctx, r->ladder, g->b, g->m * g->n, weft_type_size(g->type));
}

static weft_status run_share(weft_context *rank, void *user) {
    wi_triangle_request r = *(const wi_triangle_request *)user;
    r.has_all = true;
    return run_all(rank, &r, WEFT_OK);
}

weft_status wi_triangle_over_gpus(weft_context *ctx, const wi_triangle_request *r) {
    return wi_gpus_run(ctx, r->ladder, r->name, run_share, (void *)(uintptr_t)r);
}
