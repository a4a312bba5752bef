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
    {.name = "ranks",
     .what = "every rank changes its lines; the vector along them is gathered",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_ger_ranks},
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

static weft_status check(weft_context *ctx, const wi_ger_call *g) {
    weft_status status = check_type(ctx, g->type);
    if (status == WEFT_OK)
        status = wi_check_flags(ctx, name, g->how, WEFT_ROW_MAJOR, "WEFT_ROW_MAJOR or 0");
    if (status == WEFT_OK)
        status = wi_check_stride(ctx, name, "incx", g->incx);
    return status == WEFT_OK ? wi_check_stride(ctx, name, "incy", g->incy) : status;
}

void wi_ger_describe(wi_call *call, const wi_ger_call *g, size_t high, size_t wide) {
    const unsigned use = WI_IN | WI_OUT;
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, wi_vector_of("x", g->x, g->m, "incx", g->incx, g->type, WI_IN));
    wi_call_add(call, wi_vector_of("y", g->y, g->n, "incy", g->incy, g->type, WI_IN));
    wi_call_add(call, g->how & WEFT_ROW_MAJOR
                          ? wi_matrix("a", g->a, high, wide, "lda", g->lda, g->type, use)
                          : wi_columns("a", g->a, high, wide, "lda", g->lda, g->type, use));
}

static weft_status run_here(weft_context *ctx, const wi_ger_call *g) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    request r = {.args = {.type = g->type,
                          .rows = by_rows ? g->n : g->m,
                          .columns = by_rows ? g->m : g->n,
                          .alpha_x = by_rows ? g->alpha : 1,
                          .alpha_y = by_rows ? 1 : g->alpha},
                 .by_rows = by_rows,
                 .incx = g->incx,
                 .incy = g->incy};
    wi_call call;
    wi_ger_describe(&call, g, g->m, g->n);
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->m == 0 || g->n == 0 || g->alpha == 0)
        return status;
    return wi_ger_wants_gpus(ctx, g) ? wi_ger_over_gpus(ctx, g) : wi_call_run(ctx, &call, run, &r);
}

weft_status weft_ger(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                     double alpha, const void *x, ptrdiff_t incx, const void *y, ptrdiff_t incy,
                     void *a, size_t lda) {
    const wi_ger_call g = {.type = type,
                           .how = how,
                           .m = m,
                           .n = n,
                           .alpha = type == WEFT_F64 ? alpha : (float)alpha,
                           .x = x,
                           .incx = incx,
                           .y = y,
                           .incy = incy,
                           .a = a,
                           .lda = lda};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = check(ctx, &g);
    if (wi_is_dist(ctx))
        return wi_ger_over_ranks(ctx, &g, status);
    return status == WEFT_OK ? run_here(ctx, &g) : status;
}
