/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses from the factors of lu: the unit matrix as right-hand sides. */
#include "core/call.h"
#include "core/gpu.h"
#include "core/rowcopy.h"
#include "gemm/transpose.h"
#include "gemm/triangle.h"
#include "lu/lu_dist.h"

enum {
    LU,
    PIVOT
};

static const char name[] = "weft_lu_inverse";

/* Memory of a call: X and a diagonal on the place, a diagonal on the host. */
typedef struct memory {
    void *x, *diagonal, *host;
} memory;

static weft_status take(weft_context *ctx, const wi_lu_system *s, memory *w) {
    const size_t line = s->n * weft_type_size(s->type);
    w->host = wi_host_alloc(line);
    if (!w->host)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for %zu bytes of a diagonal", name,
                       line);
    weft_status status = weft_alloc(ctx, &w->diagonal, line);
    return status == WEFT_OK ? weft_alloc(ctx, &w->x, s->n * line) : status;
}

static weft_status give(weft_context *ctx, memory *w, weft_status status) {
    const weft_status x = weft_free(ctx, w->x), diagonal = weft_free(ctx, w->diagonal);
    wi_host_free(w->host);
    return status != WEFT_OK ? status : x != WEFT_OK ? x : diagonal;
}

weft_status wi_lu_no_inverse(weft_context *ctx, size_t column) {
    return wi_fail(ctx, WEFT_ESINGULAR,
                   "%s: the diagonal of U is 0 in column %zu (counted from 0): the matrix is "
                   "singular and has no inverse",
                   name, column);
}

/* The first column whose diagonal element of U is 0 ends the call. */
static weft_status check_diagonal(weft_context *ctx, const wi_lu_system *s, const memory *w) {
    const wi_transpose_args along = {
        weft_type_size(s->type), 1, s->n, s->lu, s->lda + 1, w->diagonal, s->n};
    weft_status status = wi_transpose_part(ctx, &along);
    if (status == WEFT_OK)
        status = weft_copy(ctx, w->host, w->diagonal, s->n * weft_type_size(s->type));
    for (size_t k = 0; k < s->n && status == WEFT_OK; k++)
        if (wi_element_value(s->type, (const char *)w->host + k * weft_type_size(s->type)) == 0)
            status = wi_lu_no_inverse(ctx, k);
    return status;
}

static weft_status make_unit(weft_context *ctx, const wi_lu_system *s, const memory *w) {
    const size_t width = weft_type_size(s->type);
    const wi_triangle_args all = {.type = s->type, .m = s->n, .n = s->n, .b = w->x, .ldb = s->n};
    weft_status status = wi_triangle_zero(ctx, &all);
    for (size_t k = 0; k < s->n; k++)
        if (s->type == WEFT_F64)
            ((double *)w->host)[k] = 1;
        else
            ((float *)w->host)[k] = 1;
    if (status == WEFT_OK)
        status = weft_copy(ctx, w->diagonal, w->host, s->n * width);
    const wi_transpose_args ones = {width, s->n, 1, w->diagonal, s->n, w->x, s->n + 1};
    return status == WEFT_OK ? wi_transpose_part(ctx, &ones) : status;
}

/* X where the factors were. */
static weft_status put(weft_context *ctx, const wi_lu_system *s, void *lu, void *x) {
    const size_t width = weft_type_size(s->type), n = s->n;
    if (s->by_rows) {
        const wi_transpose_args turn = {width, n, n, x, n, lu, s->lda};
        return wi_transpose_part(ctx, &turn);
    }
    return wi_copy_rows(ctx, (wi_pitched){lu, s->lda * width}, (wi_pitched){x, n * width}, n,
                        n * width);
}

static weft_status invert(weft_context *ctx, const wi_lu_system *s, void *lu) {
    memory w = {NULL, NULL, NULL};
    weft_status status = take(ctx, s, &w);
    if (status == WEFT_OK)
        status = check_diagonal(ctx, s, &w);
    if (status == WEFT_OK)
        status = make_unit(ctx, s, &w);
    if (status == WEFT_OK)
        status = wi_lu_solve_columns(ctx, s, w.x);
    if (status == WEFT_OK)
        status = put(ctx, s, lu, w.x);
    return give(ctx, &w, status);
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_lu_system s = *(const wi_lu_system *)user;
    int before;
    (void)call;
    s.lu = part->p[LU];
    s.lda = part->ld[LU];
    s.pivot = part->p[PIVOT];
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = invert(ctx, &s, part->p[LU]);
    wi_gpu_leave(ctx, before);
    return status;
}

static weft_status run_here(weft_context *ctx, const wi_lu_inverting *g) {
    const size_t n = g->n;
    wi_lu_system s = {.type = g->type, .by_rows = g->by_rows, .n = n, .nrhs = n};
    const unsigned use = WI_IN | WI_OUT;
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, s.by_rows ? wi_matrix("lu", g->lu, n, n, "lda", g->lda, g->type, use)
                                 : wi_columns("lu", g->lu, n, n, "lda", g->lda, g->type, use));
    wi_call_add(&call, wi_elements("pivot", g->pivot, n, WEFT_I64, WI_IN));
    weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || n == 0)
        return status;
    status = wi_lu_check_pivots(ctx, name, n, g->pivot);
    if (status == WEFT_OK && ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: waits to tell whether the matrix is singular, and cannot be "
                         "captured; call it before the capture",
                         name);
    return status == WEFT_OK ? wi_call_run(ctx, &call, run, &s) : status;
}

weft_status weft_lu_inverse(weft_context *ctx, unsigned how, weft_type type, size_t n, void *lu,
                            size_t lda, const int64_t *pivot) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status =
        wi_lu_check(ctx, name, type, how, WEFT_ROW_MAJOR, "WEFT_ROW_MAJOR or 0");
    const wi_lu_inverting g = {type, how & WEFT_ROW_MAJOR, n, lu, lda, pivot};
    if (wi_is_dist(ctx))
        return wi_lu_inverse_ranks(ctx, &g, status);
    return status == WEFT_OK ? run_here(ctx, &g) : status;
}
