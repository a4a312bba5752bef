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

weft_status weft_gemv(weft_context *ctx, unsigned how, weft_type type, weft_type out, size_t m,
                      size_t n, double alpha, const void *a, size_t lda, const void *x,
                      ptrdiff_t incx, double beta, void *y, ptrdiff_t incy) {
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = check_types(ctx, type, out);
    if (status == WEFT_OK)
        status = wi_check_flags(ctx, name, how, WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A,
                                "WEFT_ROW_MAJOR and WEFT_TRANSPOSE_A");
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incx", incx);
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incy", incy);
    if (status != WEFT_OK)
        return status;
    const bool by_rows = how & WEFT_ROW_MAJOR, across = how & WEFT_TRANSPOSE_A;
    const double scale = type == WEFT_F64 ? alpha : (float)alpha;
    const size_t terms = scale == 0 ? 0 : n;
    request r = {.args = {.type = type,
                          .out = out,
                          .transposed = by_rows != across,
                          .results = m,
                          .terms = terms,
                          .alpha = scale,
                          .beta = type == WEFT_F64 ? beta : (float)beta},
                 .incx = incx,
                 .incy = incy};
    r.args.rows = r.args.transposed ? terms : m;
    r.args.columns = r.args.transposed ? m : terms;
    const size_t height = across ? terms : m, width = across ? m : terms;
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, by_rows ? wi_matrix("a", a, height, width, "lda", lda, type, WI_IN)
                               : wi_columns("a", a, height, width, "lda", lda, type, WI_IN));
    wi_call_add(&call, wi_vector_of("x", x, terms, "incx", incx, type, WI_IN));
    wi_call_add(&call, wi_vector_of("y", y, m, "incy", incy, out,
                                    r.args.beta == 0 ? WI_OUT : WI_IN | WI_OUT));
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || m == 0)
        return status;
    return wi_call_run(ctx, &call, run, &r);
}
