/* SPDX-License-Identifier: Apache-2.0 */
/* Systems with the factors of lu. */
#include "comm/gpus.h"
#include "core/call.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "gemm/transpose.h"
#include "gemm/trsm.h"
#include "lu/lu_dist.h"
#include "lu/lu_streamed.h"

enum {
    PIVOT,
    B,
    LU, /* last, so that a call can leave it where it is */
    HOWS = WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A
};

static const char name[] = "weft_lu_solve";

weft_status wi_lu_check_pivots(weft_context *ctx, const char *call, size_t n,
                               const int64_t *pivot) {
    if (!wi_is_host(ctx, pivot))
        return WEFT_OK;
    for (size_t k = 0; k < n; k++)
        if (pivot[k] < (int64_t)k || (uint64_t)pivot[k] >= n)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: pivot[%zu] is %lld, not a row from %zu to %zu; pass what "
                           "weft_lu_factor gave",
                           call, k, (long long)pivot[k], k, n - 1);
    return WEFT_OK;
}

/* ---- one system ---- */

/* X = op(T) \ X for one of the two triangles. What is stored by rows is the transpose of what is
 * stored by columns, and the other triangle. */
static weft_status solve_triangle(weft_context *ctx, const wi_lu_system *s, bool upper, void *x) {
    const wi_triangle_args t = {.type = s->type,
                                .upper = upper != s->by_rows,
                                .transposed = s->transposed != s->by_rows,
                                .unit = !upper,
                                .m = s->n,
                                .n = s->nrhs,
                                .alpha = 1,
                                .a = s->lu,
                                .lda = s->lda,
                                .b = x,
                                .ldb = s->n};
    return wi_pick(ctx, &wi_trsm_ladder, s->type, &t)->run(ctx, &t);
}

static weft_status exchange(weft_context *ctx, const wi_lu_system *s, void *x) {
    return wi_lu_swap_rows(ctx, s->type, s->nrhs, x, s->n, s->n, s->pivot, !s->transposed);
}

/* A = P' L U: X = U \ (L \ P B); of the transpose, X = P' (L' \ (U' \ B)). */
weft_status wi_lu_solve_columns(weft_context *ctx, const wi_lu_system *s, void *x) {
    weft_status status = s->transposed ? WEFT_OK : exchange(ctx, s, x);
    if (status == WEFT_OK)
        status = solve_triangle(ctx, s, s->transposed, x);
    if (status == WEFT_OK)
        status = solve_triangle(ctx, s, !s->transposed, x);
    return status == WEFT_OK && s->transposed ? exchange(ctx, s, x) : status;
}

weft_status wi_lu_solve_streamed(weft_context *ctx, const wi_host_matrix *s, bool transposed,
                                 size_t nrhs, const int64_t *pivot, void *x, size_t ldx) {
    const wi_host_triangle both[] = {{*s, transposed, !transposed, transposed},
                                     {*s, !transposed, transposed, transposed}};
    weft_status status = WEFT_OK;
    if (!transposed)
        status = wi_lu_swap_rows(ctx, s->type, nrhs, x, ldx, s->n, pivot, true);
    for (int k = 0; k < 2 && status == WEFT_OK; k++)
        status = wi_host_triangle_solve(ctx, &both[k], nrhs, x, ldx);
    if (status == WEFT_OK && transposed)
        status = wi_lu_swap_rows(ctx, s->type, nrhs, x, ldx, s->n, pivot, false);
    return status;
}

weft_status wi_lu_move_system(weft_context *ctx, const wi_lu_system *s, void *x, bool back) {
    const size_t width = weft_type_size(s->type);
    if (s->by_rows) {
        const wi_transpose_args there = {width, s->nrhs, s->n, s->b, s->ldb, x, s->n};
        const wi_transpose_args return_ = {width, s->n, s->nrhs, x, s->n, s->b, s->ldb};
        return wi_transpose_part(ctx, back ? &return_ : &there);
    }
    const wi_pitched theirs = {s->b, s->ldb * width}, ours = {x, s->n * width};
    return wi_copy_rows(ctx, back ? theirs : ours, back ? ours : theirs, s->nrhs, s->n * width);
}

/* Puts X in the place of B, which is unchanged if this fails. The factors are in memory of the
 * place or, where that is too small for them, `beyond` it in host memory. */
static weft_status solve_one(weft_context *ctx, const wi_lu_system *s,
                             const wi_host_matrix *beyond) {
    void *x;
    weft_status status = weft_alloc(ctx, &x, s->n * s->nrhs * weft_type_size(s->type));
    if (status != WEFT_OK)
        return status;
    status = wi_lu_move_system(ctx, s, x, false);
    if (status == WEFT_OK)
        status = beyond
                     ? wi_lu_solve_streamed(ctx, beyond, s->transposed, s->nrhs, s->pivot, x, s->n)
                     : wi_lu_solve_columns(ctx, s, x);
    if (status == WEFT_OK)
        status = wi_lu_move_system(ctx, s, x, true);
    const weft_status freed = weft_free(ctx, x);
    return status == WEFT_OK ? freed : status;
}

typedef struct request {
    wi_lu_system system;
    wi_host_matrix factors; /* as the caller has them */
} request;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    const bool beyond = call->count == LU;
    wi_lu_system s = r->system;
    int before;
    s.lu = part->p[LU];
    s.lda = part->ld[LU];
    s.pivot = part->p[PIVOT];
    s.b = part->p[B];
    s.ldb = part->ld[B];
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = solve_one(ctx, &s, beyond ? &r->factors : NULL);
    wi_gpu_leave(ctx, before);
    return status;
}

/* ---- over all GPUs: each has its share of the right-hand sides, and reads all factors ---- */

/* Few right-hand sides take as long as reading the factors, which one GPU does as well. */
static bool wants_gpus(weft_context *ctx, const wi_lu_solving *g) {
    enum {
        EACH = 64,
        LEAST = 4096
    };
    if (!wi_is_gpus(ctx) || g->nrhs == 0)
        return false;
    const bool many = g->columns >= LEAST && g->nrhs >= EACH * (size_t)wi_gpus_count(ctx);
    return (many || wi_is_forced(ctx, &wi_lu_ladder)) &&
           wi_gpus_wanted(ctx, &wi_lu_ladder, g->lu, g->columns * g->lda, weft_type_size(g->type));
}

static weft_status run_share(weft_context *rank, void *user) {
    const wi_lu_solving *const g = user;
    const size_t count = (size_t)rank->comm->size, own = (size_t)rank->comm->rank;
    const size_t first = g->nrhs * own / count, end = g->nrhs * (own + 1) / count;
    const size_t at = first * (g->by_rows ? 1 : g->ldb) * weft_type_size(g->type);
    const unsigned how = (g->by_rows ? WEFT_ROW_MAJOR : 0) | (g->transposed ? WEFT_TRANSPOSE_A : 0);
    return wi_local(rank, weft_lu_solve(rank->child, how, g->type, g->columns, end - first, g->lu,
                                        g->lda, g->pivot, (char *)g->b + at, g->ldb));
}

/* ---- the call ---- */

static weft_status run_one(weft_context *ctx, const wi_lu_solving *g) {
    const size_t n = g->columns, nrhs = g->nrhs;
    const unsigned use = WI_IN | WI_OUT;
    request r = {.system = {.type = g->type,
                            .by_rows = g->by_rows,
                            .transposed = g->transposed,
                            .n = n,
                            .nrhs = nrhs},
                 .factors = {name, g->type, g->by_rows, n, n, (void *)g->lu, g->lda}};
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_elements("pivot", g->pivot, n, WEFT_I64, WI_IN));
    wi_call_add(&call, g->by_rows ? wi_matrix("b", g->b, n, nrhs, "ldb", g->ldb, g->type, use)
                                  : wi_columns("b", g->b, n, nrhs, "ldb", g->ldb, g->type, use));
    wi_call_add(&call, g->by_rows ? wi_matrix("lu", g->lu, n, n, "lda", g->lda, g->type, WI_IN)
                                  : wi_columns("lu", g->lu, n, n, "lda", g->lda, g->type, WI_IN));
    weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || n == 0 || nrhs == 0)
        return status;
    status = wi_lu_check_pivots(ctx, name, n, g->pivot);
    if (status == WEFT_OK && wants_gpus(ctx, g))
        return wi_gpus_run(ctx, NULL, name, run_share, (void *)(uintptr_t)g);
    if (wi_wants_streaming(ctx, &r.factors, 1))
        call.count = LU;
    return status == WEFT_OK ? wi_call_run(ctx, &call, run, &r) : status;
}

weft_status weft_lu_solve(weft_context *ctx, unsigned how, weft_type type, size_t n, size_t nrhs,
                          const void *lu, size_t lda, const int64_t *pivot, void *b, size_t ldb) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status =
        wi_lu_check(ctx, name, type, how, HOWS, "WEFT_ROW_MAJOR and WEFT_TRANSPOSE_A");
    const wi_lu_solving g = {.call = name,
                             .type = type,
                             .by_rows = how & WEFT_ROW_MAJOR,
                             .transposed = how & WEFT_TRANSPOSE_A,
                             .columns = n,
                             .nrhs = nrhs,
                             .lu = lu,
                             .lda = lda,
                             .pivot = pivot,
                             .b = b,
                             .ldb = ldb};
    if (wi_is_dist(ctx))
        return wi_lu_solve_ranks(ctx, &g, status);
    return status == WEFT_OK ? run_one(ctx, &g) : status;
}
