/* SPDX-License-Identifier: Apache-2.0 */
/* syrk over ranks. Every rank has the rows of op(A) that belong to its columns of C, as lines of
 * memory, once ranks that pass columns of op(A) have exchanged them. One after the other passes
 * these lines to all, and each multiplies them with its own: a block of C. C by rows is in memory
 * its own transpose by columns, with the other triangle. k is never cut. */
#include <math.h>
#include <string.h>

#include "comm/gpus.h"
#include "core/rowcopy.h"
#include "core/smaller.h"
#include "gemm/syrk.h"
#include "gemm/transpose.h"

enum {
    A,
    C,
    MOST_LINES = 512,        /* that a rank passes at a time, */
    PIECE_BYTES = 256 << 20, /* or fewer, if they are longer than this together */
};

#define LEAST_PRODUCTS 0x1p34 /* less is done faster by one GPU */

static const char name[] = "weft_syrk";

typedef struct work {
    weft_context *ctx;
    const wi_syrk_call *g;
    size_t all_n, all_k, width;
    size_t most;       /* lines of a piece */
    bool upper;        /* triangle of C as memory has it by columns */
    const char *lines; /* own rows of op(A), in memory of the place, */
    size_t ld;         /* and elements from one to the next */
    char *c;
    size_t ldc;
    void *own, *turned; /* memory of the lines, and on the way there, unless A has them */
    void *wire, *piece; /* lines that are passed: where the communicator reaches them, and the place
                           (the same if it does, too) */
    weft_status status; /* of this rank's own steps */
} work;

#define STEP(w, call) WI_LOCAL_STEP((w)->ctx, (w)->status, call)

/* ---- own rows of op(A) as lines ---- */

static void take_place(work *w, size_t n, void **p) {
    if (n > 0)
        STEP(w, weft_alloc(w->ctx->child, p, n * w->width));
}

/* Does the rank pass rows of op(A), or columns? */
static bool passes_rows(const wi_syrk_call *g) {
    return g->how & WEFT_ROW_MAJOR;
}

static void take(work *w) {
    const wi_syrk_call *const g = w->g;
    const bool transposed = g->how & WEFT_TRANSPOSE_A;
    const size_t line = w->all_k * w->width;
    if (line == 0)
        return;
    w->most = wi_smaller(MOST_LINES, PIECE_BYTES / line + 1);
    if (!passes_rows(g) || transposed)
        take_place(w, g->n * w->all_k, &w->own);
    if (!passes_rows(g) && transposed)
        take_place(w, w->all_n * g->k, &w->turned);
    take_place(w, w->most * w->all_k, &w->piece);
    if (w->status == WEFT_OK && !wi_dist_reaches(w->ctx))
        w->status = wi_dist_take(w->ctx, w->most, line, &w->wire);
}

static void give(work *w) {
    weft_context *const child = w->ctx->child;
    weft_free(child, w->own);
    weft_free(child, w->turned);
    weft_free(child, w->piece);
    wi_host_free(w->wire);
}

/* Lines of `length` elements become elements of `lines` lines. */
static void turn(work *w, size_t lines, size_t length, const char *from, size_t ld, void *to) {
    const wi_transpose_args t = {w->width, length, lines, from, ld, to, lines};
    if (lines > 0 && length > 0)
        STEP(w, wi_transpose_part(w->ctx->child, &t));
}

/* Ranks that pass columns of op(A), or rows of its transpose, exchange them for rows. */
static weft_status find_lines(work *w, const char *a, size_t lda) {
    const wi_syrk_call *const g = w->g;
    const bool transposed = g->how & WEFT_TRANSPOSE_A;
    w->lines = w->own ? w->own : a;
    w->ld = w->own ? w->all_k : lda;
    if (passes_rows(g) && transposed)
        turn(w, w->all_k, g->n, a, lda, w->own);
    if (passes_rows(g) || w->all_k == 0)
        return WEFT_OK;
    if (transposed)
        turn(w, w->all_n, g->k, a, lda, w->turned);
    weft_status status = wi_agree(w->ctx, 0, w->status);
    const wi_transpose_request r = {.args = {.width = w->width,
                                             .rows = w->all_n,
                                             .columns = g->k,
                                             .a = transposed ? w->turned : a,
                                             .lda = transposed ? w->all_n : lda,
                                             .b = w->own,
                                             .ldb = w->all_k},
                                    .columns = WI_COLUMNS,
                                    .has_share = true,
                                    .share = g->n};
    return status == WEFT_OK ? wi_transpose_ranks(w->ctx, &r) : status;
}

/* ---- products ---- */

/* Rows first ... of own columns of C, from `lines` of op(A); with k = 0: beta C. */
static void multiply(work *w, size_t first, size_t rows, const void *lines, size_t ld) {
    const wi_syrk_call *const g = w->g;
    weft_context *const child = w->ctx->child;
    const wi_gemm_args a = {.type = g->type,
                            .out = g->type,
                            .transposed_a = true,
                            .m = rows,
                            .n = g->n,
                            .k = w->all_k,
                            .alpha = w->all_k == 0 ? 0 : g->alpha,
                            .beta = g->beta,
                            .a = lines,
                            .lda = ld,
                            .b = w->lines,
                            .ldb = w->ld,
                            .c = w->c + first * w->width,
                            .ldc = w->ldc};
    if (a.m > 0 && a.n > 0)
        STEP(w, wi_pick(child, &wi_gemm_ladder, a.type, &a)->run(child, &a));
}

/* The square on the diagonal. */
static void multiply_own(work *w, size_t first) {
    const wi_syrk_call *const g = w->g;
    weft_context *const child = w->ctx->child;
    const wi_syrk_args a = {.type = g->type,
                            .upper = w->upper,
                            .transposed = true,
                            .n = g->n,
                            .k = w->all_k,
                            .alpha = w->all_k == 0 ? 0 : g->alpha,
                            .beta = g->beta,
                            .a = w->lines,
                            .lda = w->ld,
                            .c = w->c + first * w->width,
                            .ldc = w->ldc};
    if (a.n > 0)
        STEP(w, wi_pick(child, &wi_syrk_ladder, a.type, &a)->run(child, &a));
}

/* All get `rows` lines of rank r, its first being number `first` of the whole. */
static weft_status pass(work *w, int r, size_t first, size_t rows) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    const size_t line = w->all_k * w->width;
    void *const message = w->wire ? w->wire : w->piece;
    if (r == ctx->comm->rank) {
        const size_t before = first - w->g->starts.m[r];
        const wi_pitched from = {(char *)(uintptr_t)w->lines + before * w->ld * w->width,
                                 w->ld * w->width};
        STEP(w, wi_copy_rows(child, (wi_pitched){w->piece, line}, from, rows, line));
        if (w->wire)
            STEP(w, weft_copy(child, w->wire, w->piece, rows * line));
        else
            STEP(w, weft_sync(child));
    }
    const weft_status status =
        ctx->comm->calls->broadcast(ctx, message, rows * w->all_k, w->g->type, r);
    if (status == WEFT_OK && w->wire && r != ctx->comm->rank)
        STEP(w, weft_copy(child, w->piece, w->wire, rows * line));
    return status;
}

/* What the lines of rank r make: of the lower triangle in the columns before them. */
static weft_status pass_lines(work *w, int r) {
    const size_t *const starts = w->g->starts.m;
    const int own = w->ctx->comm->rank;
    weft_status status = WEFT_OK;
    if (r == own)
        multiply_own(w, starts[r]);
    if (w->upper ? starts[r + 1] == w->all_n : starts[r] == 0)
        return WEFT_OK; /* nobody has such columns */
    for (size_t i = starts[r]; i < starts[r + 1] && status == WEFT_OK; i += w->most) {
        const size_t rows = wi_smaller(w->most, starts[r + 1] - i);
        status = pass(w, r, i, rows);
        if (status == WEFT_OK && (w->upper ? r < own : r > own))
            multiply(w, i, rows, w->piece, w->all_k);
    }
    return status;
}

/* C = beta C */
static void scale(work *w) {
    const size_t *const starts = w->g->starts.m;
    const size_t first = starts[w->ctx->comm->rank], end = first + w->g->n;
    multiply_own(w, first);
    multiply(w, w->upper ? 0 : end, w->upper ? first : w->all_n - end, NULL, 1);
}

static weft_status multiply_all(weft_context *ctx, const wi_part *part, void *user) {
    work *const w = user;
    w->c = part->p[C];
    w->ldc = part->ld[C];
    take(w);
    weft_status status = wi_agree(ctx, 0, w->status);
    if (status == WEFT_OK)
        status = find_lines(w, part->p[A], part->ld[A]);
    if (status == WEFT_OK && w->all_k == 0)
        scale(w);
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK && w->all_k > 0; r++)
        status = pass_lines(w, r);
    STEP(w, weft_sync(ctx->child)); /* the pieces are in use till then */
    return wi_agree(ctx, 0, status == WEFT_OK ? w->status : status);
}

/* ---- ranks that reach all of both ---- */

/* Element (row, column) of a matrix as the call describes it. */
static char *at(const wi_syrk_call *g, const void *p, bool by_rows, size_t ld, size_t row,
                size_t column) {
    const size_t element = by_rows ? row * ld + column : column * ld + row;
    return (char *)(uintptr_t)p + element * weft_type_size(g->type);
}

/* Where the columns of a rank begin, if all have as much of the triangle. */
static size_t even_begin(size_t n, bool upper, int rank, int ranks) {
    const double share = (double)rank / ranks;
    const size_t begin = (size_t)((double)n * (upper ? sqrt(share) : 1 - sqrt(1 - share)));
    return rank == 0 ? 0 : rank == ranks ? n : wi_smaller(begin, n);
}

/* The square on the diagonal, and what is below it, or above. */
static weft_status multiply_reached(weft_context *ctx, const wi_syrk_call *g) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR, transposed = g->how & WEFT_TRANSPOSE_A;
    const bool upper = g->how & WEFT_UPPER_TRIANGLE, lines = by_rows != transposed;
    const unsigned stored = g->how & WEFT_ROW_MAJOR;
    const int rank = ctx->comm->rank, ranks = ctx->comm->size;
    const size_t first = even_begin(g->n, upper, rank, ranks),
                 end = even_begin(g->n, upper, rank + 1, ranks);
    const size_t row = upper ? 0 : end, rows = upper ? first : g->n - end;
    const void *const own = at(g, g->a, lines, g->lda, first, 0);
    if (first == end)
        return WEFT_OK;
    weft_status status = wi_local(
        ctx, weft_syrk(ctx->child, g->how, g->type, end - first, g->k, g->alpha, own, g->lda,
                       g->beta, at(g, g->c, by_rows, g->ldc, first, first), g->ldc));
    if (status != WEFT_OK || rows == 0)
        return status;
    return wi_local(ctx, weft_gemm(ctx->child,
                                   stored | (transposed ? WEFT_TRANSPOSE_A : WEFT_TRANSPOSE_B),
                                   g->type, g->type, rows, end - first, g->k, g->alpha,
                                   at(g, g->a, lines, g->lda, row, 0), g->lda, own, g->lda, g->beta,
                                   at(g, g->c, by_rows, g->ldc, row, first), g->ldc));
}

/* ---- calls ---- */

/* What this rank passes: of both matrices columns or, by rows, rows. */
static void describe_part(weft_context *ctx, const wi_syrk_call *g, wi_call *call) {
    const size_t n = wi_starts_all(ctx, g->starts.m), k = wi_starts_all(ctx, g->starts.n);
    if (passes_rows(g))
        wi_syrk_describe(call, g, g->n, g->k, g->n, n);
    else
        wi_syrk_describe(call, g, n, k == 0 ? 0 : g->k, n, g->n);
    call->distributed = true;
}

weft_status wi_syrk_ranks(weft_context *ctx, const void *args) {
    const wi_syrk_call *const g = args;
    const bool upper = g->how & WEFT_UPPER_TRIANGLE;
    wi_call call;
    if (g->has_all)
        return multiply_reached(ctx, g);
    work w = {.ctx = ctx,
              .g = g,
              .all_n = wi_starts_all(ctx, g->starts.m),
              .all_k = passes_rows(g) ? g->k : wi_starts_all(ctx, g->starts.n),
              .width = weft_type_size(g->type),
              .upper = upper != passes_rows(g)};
    describe_part(ctx, g, &call);
    weft_status status = wi_agree(ctx, 0, wi_local(ctx, wi_call_check(ctx->child, &call)));
    if (status == WEFT_OK && w.all_n > 0)
        status = wi_dist_call_run(ctx, &call, multiply_all, &w);
    give(&w);
    return status;
}

static weft_status run_all(weft_context *ctx, const wi_syrk_call *g, weft_status status) {
    const double scalars[2] = {g->alpha, g->beta};
    const uint64_t alike = wi_alike(wi_alike(0, g->how), passes_rows(g) ? g->k : 0);
    return wi_dist_run(ctx, &wi_syrk_ladder, name, g->type,
                       wi_alike_bytes(alike, scalars, sizeof scalars), status, g);
}

weft_status wi_syrk_over_ranks(weft_context *ctx, const wi_syrk_call *call, weft_status status) {
    wi_syrk_call g = *call;
    wi_call arrays;
    status = wi_starts_join(ctx, name, g.n, g.k, status, &g.starts);
    if (status == WEFT_OK) {
        describe_part(ctx, &g, &arrays);
        status = run_all(ctx, &g, wi_call_check(ctx, &arrays));
    }
    wi_starts_give(&g.starts);
    return status;
}

bool wi_syrk_wants_gpus(weft_context *ctx, const wi_syrk_call *g) {
    const double products = (double)g->n * (double)g->n / 2 * (double)g->k;
    return (products >= LEAST_PRODUCTS || wi_gpus_forced(ctx, &wi_syrk_ladder)) &&
           wi_gpus_wanted(ctx, &wi_syrk_ladder, g->c, g->n * g->n, weft_type_size(g->type));
}

static weft_status run_share(weft_context *rank, void *user) {
    wi_syrk_call g = *(const wi_syrk_call *)user;
    g.has_all = true;
    return run_all(rank, &g, WEFT_OK);
}

weft_status wi_syrk_over_gpus(weft_context *ctx, const wi_syrk_call *g) {
    return wi_gpus_run(ctx, &wi_syrk_ladder, name, run_share, (void *)(uintptr_t)g);
}
