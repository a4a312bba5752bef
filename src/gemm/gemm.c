/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of gemm. */
#include "gemm/gemm.h"

#include <math.h>

#include "comm/dist.h"
#include "core/call.h"

enum {
    A,
    B,
    C,
    HOWS = WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A | WEFT_TRANSPOSE_B | WEFT_F32_STRICT | WEFT_TF32
};

static const char name[] = "weft_gemm";

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_gemm_args args = *(const wi_gemm_args *)user;
    args.a = part->p[A];
    args.lda = part->ld[A];
    args.b = part->p[B];
    args.ldb = part->ld[B];
    args.c = part->p[C];
    args.ldc = part->ld[C];
    return wi_run(ctx, &wi_gemm_ladder, call->name, args.type, &args);
}

/* ---- checks ---- */

static bool is_offered(weft_type type, weft_type out) {
    switch (type) {
    case WEFT_F64:
    case WEFT_F32:
        return out == type;
    case WEFT_F16:
    case WEFT_BF16:
        return out == type || out == WEFT_F32;
    case WEFT_I8:
        return out == WEFT_I32;
    default:
        return false;
    }
}

static weft_status check_types(weft_context *ctx, const char *call, weft_type type, weft_type out) {
    if (wi_check_type(ctx, call, type) != WEFT_OK || wi_check_type(ctx, call, out) != WEFT_OK)
        return WEFT_EARG;
    if (is_offered(type, out))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "%s: type is %s and out is %s; there are f64 and f64, f32 and f32, f16 and f16 "
                   "or f32, bf16 and bf16 or f32, i8 and i32",
                   call, weft_type_name(type), weft_type_name(out));
}

weft_status wi_gemm_check_accuracy(weft_context *ctx, const char *call, unsigned how,
                                   weft_type type, wi_accuracy *to) {
    const unsigned accuracy = how & (WEFT_F32_STRICT | WEFT_TF32);
    *to = how & WEFT_F32_STRICT ? WI_STRICT_F32 : how & WEFT_TF32 ? WI_TF32 : WI_FULL_F32;
    if (accuracy == (WEFT_F32_STRICT | WEFT_TF32))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how has both WEFT_F32_STRICT and WEFT_TF32; pass one of them", call);
    if (accuracy && type != WEFT_F32)
        return wi_fail(ctx, WEFT_EARG, "%s: how has %s, which is of f32, and type is %s", call,
                       accuracy == WEFT_TF32 ? "WEFT_TF32" : "WEFT_F32_STRICT",
                       weft_type_name(type));
    return WEFT_OK;
}

static weft_status check_how(weft_context *ctx, const char *call, unsigned how, wi_gemm_args *g) {
    if (how & ~(unsigned)HOWS)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: how is %u; it takes WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_TRANSPOSE_B, "
            "WEFT_F32_STRICT and WEFT_TF32",
            call, how);
    return wi_gemm_check_accuracy(ctx, call, how, g->type, &g->accuracy);
}

/* *x as the type of the sums has it. */
static weft_status check_scalar(weft_context *ctx, const char *call, const char *which,
                                weft_type type, double *x) {
    if (type == WEFT_I8 && !(*x >= INT32_MIN && *x <= INT32_MAX && *x == floor(*x)))
        return wi_fail(ctx, WEFT_EARG, "%s: %s is %.17g; sums of i8 take a whole number of 32 bits",
                       call, which, *x);
    if (type != WEFT_F64 && type != WEFT_I8)
        *x = (float)*x;
    return WEFT_OK;
}

weft_status wi_gemm_describe(weft_context *ctx, const char *call, unsigned how, wi_gemm_args *g) {
    weft_status status = check_types(ctx, call, g->type, g->out);
    if (status == WEFT_OK)
        status = check_how(ctx, call, how, g);
    if (status == WEFT_OK)
        status = check_scalar(ctx, call, "alpha", g->type, &g->alpha);
    if (status == WEFT_OK)
        status = check_scalar(ctx, call, "beta", g->type, &g->beta);
    g->transposed_a = how & WEFT_TRANSPOSE_A;
    g->transposed_b = how & WEFT_TRANSPOSE_B;
    g->k = g->alpha == 0 ? 0 : g->k;
    return status;
}

wi_gemm_args wi_gemm_by_columns(const wi_gemm_args *g) {
    wi_gemm_args swapped = *g;
    swapped.m = g->n;
    swapped.n = g->m;
    swapped.transposed_a = g->transposed_b;
    swapped.transposed_b = g->transposed_a;
    return swapped;
}

/* The arrays of a call, in the order in which they are multiplied when stored by columns. Over
 * ranks, this one has own_k of the k columns (rows, by rows) of its first factor. */
static void describe_arrays(wi_call *call, const wi_gemm_args *g, bool by_rows, size_t own_k) {
    const size_t a_cols = by_rows ? g->k : own_k, b_rows = by_rows ? own_k : g->k;
    const wi_array a = wi_gemm_matrix("a", g->a, g->m, a_cols, g->transposed_a, by_rows, "lda",
                                      g->lda, g->type, WI_IN);
    const wi_array b = wi_gemm_matrix("b", g->b, b_rows, g->n, g->transposed_b, by_rows, "ldb",
                                      g->ldb, g->type, WI_IN);
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, by_rows ? b : a);
    wi_call_add(call, by_rows ? a : b);
    wi_call_add(call, wi_gemm_matrix("c", g->c, g->m, g->n, false, by_rows, "ldc", g->ldc, g->out,
                                     g->beta == 0 ? WI_OUT : WI_IN | WI_OUT));
    call->distributed = true;
}

weft_status wi_gemm_call_run(weft_context *ctx, wi_call *call, wi_gemm_args *args) {
#ifdef WEFT_CUDA
    if (wi_gemm_wants_panels(ctx, call, args))
        return wi_gemm_in_panels(ctx, call, args);
#endif
    return wi_call_run(ctx, call, run, args);
}

weft_status weft_gemm(weft_context *ctx, unsigned how, weft_type type, weft_type out, size_t m,
                      size_t n, size_t k, double alpha, const void *a, size_t lda, const void *b,
                      size_t ldb, double beta, void *c, size_t ldc) {
    wi_gemm_args args = {.type = type,
                         .out = out,
                         .m = m,
                         .n = n,
                         .k = k,
                         .alpha = alpha,
                         .beta = beta,
                         .a = a,
                         .b = b,
                         .lda = lda,
                         .ldb = ldb,
                         .c = c,
                         .ldc = ldc};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const bool by_rows = how & WEFT_ROW_MAJOR;
    weft_status status = wi_gemm_describe(ctx, name, how, &args);
    const size_t own_k = args.k;
    if (wi_is_dist(ctx))
        status = wi_gemm_join(ctx, name, &args, status);
    if (status != WEFT_OK)
        return status;
    wi_call call;
    describe_arrays(&call, &args, by_rows, own_k);
    status = wi_call_check(ctx, &call);
    if (by_rows)
        args = wi_gemm_by_columns(&args);
    if (wi_is_dist(ctx))
        return wi_gemm_over_ranks(ctx, &call, &args, own_k, status);
    if (status != WEFT_OK || m == 0 || n == 0)
        return status;
    if (wi_gemm_wants_gpus(ctx, &call, &args))
        return wi_gemm_over_gpus(ctx, &call, &args);
    return wi_gemm_call_run(ctx, &call, &args);
}
