/* SPDX-License-Identifier: Apache-2.0 */
/* What trsm and trmm have in common on every place. */
#include "gemm/triangle.h"

#include "core/call.h"
#include "cpu/blas.h"

enum {
    A,
    B,
    HOWS = WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A | WEFT_UPPER_TRIANGLE | WEFT_UNIT_DIAGONAL | WEFT_RIGHT
};

/* ---- the call ---- */

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const wi_triangle_request *const r = user;
    wi_triangle_args args = r->args;
    args.a = part->p[A];
    args.lda = part->ld[A];
    args.b = part->p[B];
    args.ldb = part->ld[B];
    return wi_run(ctx, r->ladder, call->name, args.type, &args);
}

static weft_status check(weft_context *ctx, const char *name, unsigned how, weft_type type) {
    const weft_status known = wi_check_wide_float(ctx, name, type);
    if (known != WEFT_OK)
        return known;
    if (how & ~(unsigned)HOWS)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: how is %u; it takes WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_UPPER_TRIANGLE, "
            "WEFT_UNIT_DIAGONAL and WEFT_RIGHT of weft/gemm.h",
            name, how);
    return WEFT_OK;
}

/* What is stored by rows is the transpose of what is stored by columns: A is on the other side of
 * it, and its other triangle is there. */
static wi_triangle_args by_columns(const wi_triangle_args *args) {
    wi_triangle_args swapped = *args;
    swapped.right = !args->right;
    swapped.upper = !args->upper;
    swapped.m = args->n;
    swapped.n = args->m;
    return swapped;
}

void wi_triangle_describe(wi_call *call, const wi_triangle_request *r, size_t order, size_t columns,
                          size_t length) {
    const wi_triangle_args *const g = &r->args;
    const unsigned lines = r->by_rows ? 0 : WI_COLUMNS;
    wi_call_begin(call, r->name, 0, 0);
    wi_call_add(call, wi_matrix("a", g->a, columns, order, "lda", g->lda, g->type, WI_IN | lines));
    wi_call_add(call,
                wi_matrix("b", g->b, g->n, length, "ldb", g->ldb, g->type, WI_IN | WI_OUT | lines));
}

static weft_status run_here(weft_context *ctx, wi_triangle_request *r) {
    const wi_triangle_args *const g = &r->args;
    const size_t order = g->alpha == 0 ? 0 : g->right ? g->n : g->m;
    wi_call call;
    wi_triangle_describe(&call, r, order, order, g->m);
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->m == 0 || g->n == 0)
        return status;
    return wi_triangle_wants_gpus(ctx, r) ? wi_triangle_over_gpus(ctx, r)
                                          : wi_call_run(ctx, &call, run, r);
}

weft_status wi_triangle_call(weft_context *ctx, const wi_ladder *ladder, const char *name,
                             unsigned how, weft_type type, size_t m, size_t n, double alpha,
                             const void *a, size_t lda, void *b, size_t ldb) {
    wi_triangle_request r = {.ladder = ladder,
                             .name = name,
                             .by_rows = how & WEFT_ROW_MAJOR,
                             .args = {.type = type,
                                      .right = how & WEFT_RIGHT,
                                      .upper = how & WEFT_UPPER_TRIANGLE,
                                      .transposed = how & WEFT_TRANSPOSE_A,
                                      .unit = how & WEFT_UNIT_DIAGONAL,
                                      .m = m,
                                      .n = n,
                                      .alpha = type == WEFT_F32 ? (float)alpha : alpha,
                                      .a = a,
                                      .lda = lda,
                                      .b = b,
                                      .ldb = ldb}};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = check(ctx, name, how, type);
    if (r.by_rows)
        r.args = by_columns(&r.args);
    if (wi_is_dist(ctx))
        return wi_triangle_over_ranks(ctx, &r, status);
    return status == WEFT_OK ? run_here(ctx, &r) : status;
}

/* ---- one way to see it ---- */

/* B op(A) is the transpose of op(A)' B'. So op(A), or its transpose, is on the left; if it is
 * upper, the last row and column come first. */
wi_triangle wi_triangle_of(const wi_triangle_args *args) {
    const bool turned = args->transposed != args->right; /* T(i, k) is element (k, i) of A */
    const size_t order = args->right ? args->n : args->m, width = weft_type_size(args->type);
    const ptrdiff_t lda = (ptrdiff_t)args->lda, ldb = (ptrdiff_t)args->ldb;
    wi_triangle t = {.type = args->type,
                     .unit = args->unit,
                     .order = order,
                     .count = args->right ? args->m : args->n,
                     .alpha = args->alpha,
                     .t = args->a,
                     .t_row = turned ? lda : 1,
                     .t_column = turned ? 1 : lda,
                     .x = args->b,
                     .x_row = args->right ? ldb : 1,
                     .x_column = args->right ? 1 : ldb,
                     .args = args,
                     .backwards = args->upper != turned};
    if (t.backwards) {
        const size_t last = order - 1;
        t.t = (const char *)t.t + last * (args->lda + 1) * width;
        t.x = (char *)t.x + last * (args->right ? args->ldb : 1) * width;
        t.t_row = -t.t_row;
        t.t_column = -t.t_column;
        t.x_row = -t.x_row;
    }
    return t;
}

/* ---- products ---- */

/* The first of these rows in memory. */
static size_t begin_of(const wi_triangle *t, wi_rows_part rows) {
    return t->backwards ? t->order - rows.first - rows.count : rows.first;
}

wi_gemm_args wi_triangle_part(const wi_triangle *t, wi_rows_part rows, wi_rows_part others,
                              double alpha, double beta) {
    const wi_triangle_args *const g = t->args;
    const size_t width = weft_type_size(g->type), ldx = g->right ? g->ldb : 1;
    const size_t i = begin_of(t, rows), k = begin_of(t, others);
    const bool turned = g->transposed != g->right;
    const void *const part =
        (const char *)g->a + (turned ? k + i * g->lda : i + k * g->lda) * width;
    const void *const from = (const char *)g->b + k * ldx * width;
    return (wi_gemm_args){.type = g->type,
                          .out = g->type,
                          .accuracy = WI_FULL_F32,
                          .transposed_a = !g->right && turned,
                          .transposed_b = g->right && !turned,
                          .m = g->right ? g->m : rows.count,
                          .n = g->right ? rows.count : g->n,
                          .k = others.count,
                          .alpha = alpha,
                          .beta = beta,
                          .a = g->right ? from : part,
                          .lda = g->right ? g->ldb : g->lda,
                          .b = g->right ? part : from,
                          .ldb = g->right ? g->lda : g->ldb,
                          .c = (char *)g->b + i * ldx * width,
                          .ldc = g->ldb};
}

size_t wi_triangle_bytes(const weft_context *ctx, const wi_triangle *t, wi_rows_part rows,
                         size_t unit, wi_gemm_bytes *bytes_of) {
    if (rows.count <= unit)
        return 0;
    const wi_rows_part above = wi_triangle_above(rows, unit), below = wi_triangle_below(rows, unit);
    const wi_gemm_args product = wi_triangle_part(t, below, above, 1, 1);
    const size_t own = bytes_of(ctx, &product);
    const size_t first = wi_triangle_bytes(ctx, t, above, unit, bytes_of);
    const size_t second = wi_triangle_bytes(ctx, t, below, unit, bytes_of);
    const size_t more = first > second ? first : second;
    return own > more ? own : more;
}

weft_status wi_triangle_zero(weft_context *ctx, const wi_triangle_args *args) {
    const wi_gemm_args nothing = {.type = args->type,
                                  .out = args->type,
                                  .accuracy = WI_FULL_F32,
                                  .m = args->m,
                                  .n = args->n,
                                  .c = args->b,
                                  .ldc = args->ldb};
    return wi_pick(ctx, &wi_gemm_ladder, args->type, &nothing)->run(ctx, &nothing);
}

/* ---- openblas ---- */

const char *wi_triangle_fits_openblas(const weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    (void)ctx;
    if (g->m > INT32_MAX || g->n > INT32_MAX || g->lda > INT32_MAX || g->ldb > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}
