/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of ger, and its rungs. */
#include "gemm/ger.h"

enum {
    X,
    Y,
    A
};

static const char name[] = "weft_ger";

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the two loops you would write",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .run = wi_ger_serial},
    {.name = "threads",
     .what = "vector registers, all cores",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_ger_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "naive",
     .what = "one thread for one element",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .run = wi_ger_naive},
#    endif
    {.name = "vector",
     .what = "16 bytes a load and store, eight columns a thread",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_ger_vector},
#endif
};

const wi_ladder wi_ger_ladder = {"ger", rows, sizeof rows / sizeof rows[0]};

/* The checked call, by columns, and strides as the caller gave them. */
typedef struct request {
    wi_ger_args args;
    bool by_rows;
    ptrdiff_t incx, incy;
} request;

/* The transpose of x yt is y xt: of a matrix stored by rows the vectors change places. */
static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    wi_ger_args args = r->args;
    const size_t m = r->by_rows ? args.columns : args.rows;
    const size_t n = r->by_rows ? args.rows : args.columns;
    const wi_strided x = wi_vector_in(part, X, m, r->incx, args.type);
    const wi_strided y = wi_vector_in(part, Y, n, r->incy, args.type);
    args.x = r->by_rows ? y : x;
    args.y = r->by_rows ? x : y;
    args.a = part->p[A];
    args.lda = part->ld[A];
    return wi_run(ctx, &wi_ger_ladder, call->name, args.type, &args);
}

static weft_status check_type(weft_context *ctx, weft_type type) {
    if (wi_check_type(ctx, name, type) != WEFT_OK)
        return WEFT_EARG;
    if (wi_type_is_float(type))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; there are f64, f32, f16 and bf16", name,
                   weft_type_name(type));
}

weft_status weft_ger(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                     double alpha, const void *x, ptrdiff_t incx, const void *y, ptrdiff_t incy,
                     void *a, size_t lda) {
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = check_type(ctx, type);
    if (status == WEFT_OK)
        status = wi_check_flags(ctx, name, how, WEFT_ROW_MAJOR, "WEFT_ROW_MAJOR or 0");
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incx", incx);
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incy", incy);
    if (status != WEFT_OK)
        return status;
    const bool by_rows = how & WEFT_ROW_MAJOR;
    const double scale = type == WEFT_F64 ? alpha : (float)alpha;
    request r = {.args = {.type = type,
                          .rows = by_rows ? n : m,
                          .columns = by_rows ? m : n,
                          .alpha_x = by_rows ? scale : 1,
                          .alpha_y = by_rows ? 1 : scale},
                 .by_rows = by_rows,
                 .incx = incx,
                 .incy = incy};
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_vector_of("x", x, m, "incx", incx, type, WI_IN));
    wi_call_add(&call, wi_vector_of("y", y, n, "incy", incy, type, WI_IN));
    wi_call_add(&call, by_rows ? wi_matrix("a", a, m, n, "lda", lda, type, WI_IN | WI_OUT)
                               : wi_columns("a", a, m, n, "lda", lda, type, WI_IN | WI_OUT));
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || m == 0 || n == 0 || scale == 0)
        return status;
    return wi_call_run(ctx, &call, run, &r);
}
