/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of gemv. */
#include "gemm/gemv.h"

enum {
    A,
    X,
    Y
};

static const char name[] = "weft_gemv";

/* The checked call, and strides as the caller gave them. */
typedef struct request {
    wi_gemv_args args;
    ptrdiff_t incx, incy;
} request;

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    wi_gemv_args args = r->args;
    args.a = part->p[A];
    args.lda = part->ld[A];
    args.x = wi_vector_in(part, X, args.terms, r->incx, args.type);
    args.y = wi_vector_in(part, Y, args.results, r->incy, args.out);
    return wi_run(ctx, &wi_gemv_ladder, call->name, args.type, &args);
}

static bool is_offered(weft_type type, weft_type out) {
    switch (type) {
    case WEFT_F64:
    case WEFT_F32:
        return out == type;
    case WEFT_F16:
    case WEFT_BF16:
        return out == type || out == WEFT_F32;
    default:
        return false;
    }
}

static weft_status check_types(weft_context *ctx, weft_type type, weft_type out) {
    if (wi_check_type(ctx, name, type) != WEFT_OK || wi_check_type(ctx, name, out) != WEFT_OK)
        return WEFT_EARG;
    if (is_offered(type, out))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "%s: type is %s and out is %s; there are f64 and f64, f32 and f32, f16 and f16 "
                   "or f32, bf16 and bf16 or f32",
                   name, weft_type_name(type), weft_type_name(out));
}

static weft_status check(weft_context *ctx, const wi_gemv_call *g) {
    weft_status status = check_types(ctx, g->type, g->out);
    if (status == WEFT_OK)
        status = wi_check_flags(ctx, name, g->how, WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A,
                                "WEFT_ROW_MAJOR and WEFT_TRANSPOSE_A");
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incx", g->incx);
    return status == WEFT_OK ? wi_check_stride(ctx, name, "incy", g->incy) : status;
}

void wi_gemv_describe(wi_call *call, const wi_gemv_call *g, size_t high, size_t wide) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR, across = g->how & WEFT_TRANSPOSE_A;
    const size_t height = across ? wide : high, width = across ? high : wide;
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, by_rows
                          ? wi_matrix("a", g->a, height, width, "lda", g->lda, g->type, WI_IN)
                          : wi_columns("a", g->a, height, width, "lda", g->lda, g->type, WI_IN));
    wi_call_add(call, wi_vector_of("x", g->x, g->n, "incx", g->incx, g->type, WI_IN));
    wi_call_add(call, wi_vector_of("y", g->y, g->m, "incy", g->incy, g->out,
                                   g->beta == 0 ? WI_OUT : WI_IN | WI_OUT));
}

static weft_status run_here(weft_context *ctx, const wi_gemv_call *g) {
    const bool transposed = !(g->how & WEFT_ROW_MAJOR) != !(g->how & WEFT_TRANSPOSE_A);
    request r = {.args = {.type = g->type,
                          .out = g->out,
                          .transposed = transposed,
                          .rows = transposed ? g->n : g->m,
                          .columns = transposed ? g->m : g->n,
                          .results = g->m,
                          .terms = g->n,
                          .alpha = g->alpha,
                          .beta = g->beta},
                 .incx = g->incx,
                 .incy = g->incy};
    wi_call call;
    wi_gemv_describe(&call, g, g->m, g->n);
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->m == 0)
        return status;
    return wi_gemv_wants_gpus(ctx, g) ? wi_gemv_over_gpus(ctx, g)
                                      : wi_call_run(ctx, &call, run, &r);
}

weft_status weft_gemv(weft_context *ctx, unsigned how, weft_type type, weft_type out, size_t m,
                      size_t n, double alpha, const void *a, size_t lda, const void *x,
                      ptrdiff_t incx, double beta, void *y, ptrdiff_t incy) {
    wi_gemv_call g = {.type = type,
                      .out = out,
                      .how = how,
                      .m = m,
                      .alpha = type == WEFT_F64 ? alpha : (float)alpha,
                      .beta = type == WEFT_F64 ? beta : (float)beta,
                      .a = a,
                      .lda = lda,
                      .x = x,
                      .incx = incx,
                      .y = y,
                      .incy = incy};
    g.n = g.alpha == 0 ? 0 : n;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = check(ctx, &g);
    if (wi_is_dist(ctx))
        return wi_gemv_over_ranks(ctx, &g, status);
    return status == WEFT_OK ? run_here(ctx, &g) : status;
}
