/* SPDX-License-Identifier: Apache-2.0 */
/* Systems with the factor of cholesky. */
#include "cholesky/cholesky_streamed.h"
#include "core/call.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "gemm/trsm.h"
#include "lu/lu_dist.h"

enum {
    B,
    L /* last, so that a call can leave it where it is */
};

static const char name[] = "weft_cholesky_solve";

/* ---- one system ---- */

/* B as it lies in memory. */
static size_t lines_of(const wi_cholesky_system *s) {
    return s->by_rows ? s->n : s->nrhs;
}
static size_t length_of(const wi_cholesky_system *s) {
    return s->by_rows ? s->nrhs : s->n;
}

/* X = op(T) \ X, where T is the triangle as memory has it by columns; or, if X lies by rows, its
 * transpose by X' = X' / op(T). */
static weft_status solve_triangle(weft_context *ctx, const wi_cholesky_system *s, bool transposed,
                                  void *x) {
    const wi_triangle_args t = {.type = s->type,
                                .right = s->by_rows,
                                .upper = s->upper != s->by_rows,
                                .transposed = transposed,
                                .m = length_of(s),
                                .n = lines_of(s),
                                .alpha = 1,
                                .a = s->l,
                                .lda = s->lda,
                                .b = x,
                                .ldb = length_of(s)};
    return wi_pick(ctx, &wi_trsm_ladder, s->type, &t)->run(ctx, &t);
}

/* By columns, A = T T' of the lower triangle and T' T of the upper one; by rows, where T is the
 * other triangle, the last factor is divided by first. In all cases L comes first, then L'. */
static weft_status solve_both(weft_context *ctx, const wi_cholesky_system *s, void *x) {
    const weft_status status = solve_triangle(ctx, s, s->upper, x);
    return status == WEFT_OK ? solve_triangle(ctx, s, !s->upper, x) : status;
}

weft_status wi_cholesky_solve_system(weft_context *ctx, const wi_cholesky_system *s) {
    const size_t width = weft_type_size(s->type), line = length_of(s) * width;
    void *x;
    weft_status status = weft_alloc(ctx, &x, lines_of(s) * line);
    if (status != WEFT_OK)
        return status;
    const wi_pitched theirs = {s->b, s->ldb * width}, ours = {x, line};
    status = wi_copy_rows(ctx, ours, theirs, lines_of(s), line);
    if (status == WEFT_OK)
        status = solve_both(ctx, s, x);
    if (status == WEFT_OK)
        status = wi_copy_rows(ctx, theirs, ours, lines_of(s), line);
    const weft_status freed = weft_free(ctx, x);
    return status == WEFT_OK ? freed : status;
}

/* ---- a factor that is larger than a GPU's memory ---- */

weft_status wi_cholesky_solve_streamed(weft_context *ctx, const wi_host_matrix *s, size_t nrhs,
                                       void *x, size_t ldx) {
    const wi_host_triangle l = {*s, false, false, false}, turned = {*s, false, false, true};
    const weft_status status = wi_host_triangle_solve(ctx, &l, nrhs, x, ldx);
    return status == WEFT_OK ? wi_host_triangle_solve(ctx, &turned, nrhs, x, ldx) : status;
}

static weft_status solve_streamed(weft_context *ctx, const wi_cholesky_system *s,
                                  const wi_host_matrix *l) {
    const wi_lu_system moved = {.type = s->type,
                                .by_rows = s->by_rows,
                                .n = s->n,
                                .nrhs = s->nrhs,
                                .b = s->b,
                                .ldb = s->ldb};
    void *x;
    weft_status status = weft_alloc(ctx, &x, s->n * s->nrhs * weft_type_size(s->type));
    if (status != WEFT_OK)
        return status;
    status = wi_lu_move_system(ctx, &moved, x, false);
    if (status == WEFT_OK)
        status = wi_cholesky_solve_streamed(ctx, l, s->nrhs, x, s->n);
    if (status == WEFT_OK)
        status = wi_lu_move_system(ctx, &moved, x, true);
    const weft_status freed = weft_free(ctx, x);
    return status == WEFT_OK ? freed : status;
}

/* ---- the call ---- */

typedef struct request {
    wi_cholesky_system system;
    wi_host_matrix factor; /* as the caller has it: a lower triangle */
} request;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    const bool beyond = call->count == L;
    wi_cholesky_system s = r->system;
    int before;
    s.l = part->p[L];
    s.lda = part->ld[L];
    s.b = part->p[B];
    s.ldb = part->ld[B];
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = beyond ? solve_streamed(ctx, &s, &r->factor) : wi_cholesky_solve_system(ctx, &s);
    wi_gpu_leave(ctx, before);
    return status;
}

static weft_status solve_ranks(weft_context *ctx, const wi_cholesky_system *s, weft_status status) {
    const wi_lu_solving call = {.call = name,
                                .type = s->type,
                                .by_rows = s->by_rows,
                                .spd = true,
                                .upper = s->upper,
                                .columns = s->n,
                                .nrhs = s->nrhs,
                                .lu = s->l,
                                .lda = s->lda,
                                .b = s->b,
                                .ldb = s->ldb};
    return wi_lu_solve_ranks(ctx, &call, status);
}

weft_status weft_cholesky_solve(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                size_t nrhs, const void *l, size_t lda, void *b, size_t ldb) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_cholesky_check(ctx, name, type, how);
    const wi_cholesky_system s = {.type = type,
                                  .by_rows = how & WEFT_ROW_MAJOR,
                                  .upper = how & WEFT_UPPER_TRIANGLE,
                                  .n = n,
                                  .nrhs = nrhs,
                                  .l = l,
                                  .lda = lda,
                                  .b = b,
                                  .ldb = ldb};
    if (wi_is_dist(ctx))
        return solve_ranks(ctx, &s, status);
    const unsigned use = WI_IN | WI_OUT;
    request r = {s, {name, type, s.upper != s.by_rows, n, n, (void *)(uintptr_t)l, lda}};
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, s.by_rows ? wi_matrix("b", b, n, nrhs, "ldb", ldb, type, use)
                                 : wi_columns("b", b, n, nrhs, "ldb", ldb, type, use));
    wi_call_add(&call, s.by_rows ? wi_matrix("l", l, n, n, "lda", lda, type, WI_IN)
                                 : wi_columns("l", l, n, n, "lda", lda, type, WI_IN));
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || n == 0 || nrhs == 0)
        return status;
    if (wi_wants_streaming(ctx, &r.factor, 1))
        call.count = L;
    return wi_call_run(ctx, &call, run, &r);
}
