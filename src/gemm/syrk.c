/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of syrk. */
#include "gemm/syrk.h"

#include "core/call.h"

enum {
    A,
    C,
    HOWS = WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A | WEFT_UPPER_TRIANGLE
};

static const char name[] = "weft_syrk";

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_syrk_args args = *(const wi_syrk_args *)user;
    args.a = part->p[A];
    args.lda = part->ld[A];
    args.c = part->p[C];
    args.ldc = part->ld[C];
    return wi_run(ctx, &wi_syrk_ladder, call->name, args.type, &args);
}

static weft_status check(weft_context *ctx, unsigned how, weft_type type) {
    const weft_status known = wi_check_wide_float(ctx, name, type);
    if (known != WEFT_OK)
        return known;
    if (how & ~(unsigned)HOWS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how is %u; it takes WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A and "
                       "WEFT_UPPER_TRIANGLE of weft/gemm.h",
                       name, how);
    return WEFT_OK;
}

static double rounded(weft_type type, double x) {
    return type == WEFT_F32 ? (float)x : x;
}

/* C is its own transpose, with the other triangle. */
static wi_syrk_args by_columns(const wi_syrk_args *args) {
    wi_syrk_args turned = *args;
    turned.upper = !args->upper;
    turned.transposed = !args->transposed;
    return turned;
}

void wi_syrk_describe(wi_call *call, const wi_syrk_call *g, size_t a_high, size_t a_wide,
                      size_t c_high, size_t c_wide) {
    const unsigned use = WI_IN | WI_OUT; /* of the other triangle all is kept */
    const bool by_rows = g->how & WEFT_ROW_MAJOR, transposed = g->how & WEFT_TRANSPOSE_A;
    wi_call_begin(call, name, 0, 0);
    wi_call_add(call, wi_gemm_matrix("a", g->a, a_high, a_wide, transposed, by_rows, "lda", g->lda,
                                     g->type, WI_IN));
    wi_call_add(call, wi_gemm_matrix("c", g->c, c_high, c_wide, false, by_rows, "ldc", g->ldc,
                                     g->type, use));
}

static weft_status run_here(weft_context *ctx, const wi_syrk_call *g) {
    wi_syrk_args args = {.type = g->type,
                         .upper = g->how & WEFT_UPPER_TRIANGLE,
                         .transposed = g->how & WEFT_TRANSPOSE_A,
                         .n = g->n,
                         .k = g->k,
                         .alpha = g->k == 0 ? 0 : g->alpha,
                         .beta = g->beta};
    wi_call call;
    wi_syrk_describe(&call, g, g->n, g->k, g->n, g->n);
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || g->n == 0)
        return status;
    if (g->how & WEFT_ROW_MAJOR)
        args = by_columns(&args);
    return wi_syrk_wants_gpus(ctx, g) ? wi_syrk_over_gpus(ctx, g)
                                      : wi_call_run(ctx, &call, run, &args);
}

weft_status weft_syrk(weft_context *ctx, unsigned how, weft_type type, size_t n, size_t k,
                      double alpha, const void *a, size_t lda, double beta, void *c, size_t ldc) {
    wi_syrk_call g = {.type = type,
                      .how = how,
                      .n = n,
                      .alpha = rounded(type, alpha),
                      .beta = rounded(type, beta),
                      .a = a,
                      .lda = lda,
                      .c = c,
                      .ldc = ldc};
    g.k = g.alpha == 0 ? 0 : k;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = check(ctx, how, type);
    if (wi_is_dist(ctx))
        return wi_syrk_over_ranks(ctx, &g, status);
    return status == WEFT_OK ? run_here(ctx, &g) : status;
}

wi_gemm_args wi_syrk_part(const wi_syrk_args *g, size_t row, size_t rows, size_t column,
                          size_t columns) {
    const size_t step = (g->transposed ? g->lda : 1) * weft_type_size(g->type);
    return (wi_gemm_args){.type = g->type,
                          .out = g->type,
                          .accuracy = WI_FULL_F32,
                          .transposed_a = g->transposed,
                          .transposed_b = !g->transposed,
                          .m = rows,
                          .n = columns,
                          .k = g->k,
                          .a = (const char *)g->a + row * step,
                          .lda = g->lda,
                          .b = (const char *)g->a + column * step,
                          .ldb = g->lda};
}

weft_status wi_syrk_and_below(weft_context *ctx, const wi_syrk_args *g, size_t below) {
    const wi_row *const row = wi_pick(ctx, &wi_syrk_ladder, g->type, g);
#ifdef WEFT_RING
    wi_syrk_args both = *g;
    both.below = below;
    if (row->run == wi_syrk_ring)
        return row->run(ctx, &both);
#endif
    const weft_status status = row->run(ctx, g);
    wi_gemm_args rest = wi_syrk_part(g, g->n, below, 0, g->n);
    rest.alpha = g->alpha;
    rest.beta = g->beta;
    rest.c = (char *)g->c + g->n * weft_type_size(g->type);
    rest.ldc = g->ldc;
    rest.blocks_most = g->blocks_most;
    if (status != WEFT_OK || below == 0)
        return status;
    return wi_pick(ctx, &wi_gemm_ladder, rest.type, &rest)->run(ctx, &rest);
}
