/* SPDX-License-Identifier: Apache-2.0 */
/* The openblas rungs of trsm and trmm. */
#include "cpu/blas.h"
#include "gemm/trmm.h"
#include "gemm/trsm.h"

/* A call in its words. */
typedef struct words {
    const char *side, *triangle, *op, *diagonal;
    int m, n, lda, ldb, threads_before;
} words;

static words begin(const weft_context *ctx, const wi_blas *blas, const wi_triangle_args *g) {
    const words w = {.side = g->right ? "R" : "L",
                     .triangle = g->upper ? "U" : "L",
                     .op = g->transposed ? "T" : "N",
                     .diagonal = g->unit ? "U" : "N",
                     .m = (int)g->m,
                     .n = (int)g->n,
                     .lda = (int)g->lda,
                     .ldb = (int)g->ldb,
                     .threads_before = blas->get_threads()};
    blas->set_threads(ctx->threads);
    return w;
}

weft_status wi_trsm_openblas(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const words w = begin(ctx, blas, g);
    const float alpha = (float)g->alpha;
    if (g->type == WEFT_F64)
        blas->dtrsm(w.side, w.triangle, w.op, w.diagonal, &w.m, &w.n, &g->alpha, g->a, &w.lda, g->b,
                    &w.ldb);
    else
        blas->strsm(w.side, w.triangle, w.op, w.diagonal, &w.m, &w.n, &alpha, g->a, &w.lda, g->b,
                    &w.ldb);
    blas->set_threads(w.threads_before);
    return WEFT_OK;
}

weft_status wi_trmm_openblas(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const words w = begin(ctx, blas, g);
    const float alpha = (float)g->alpha;
    if (g->type == WEFT_F64)
        blas->dtrmm(w.side, w.triangle, w.op, w.diagonal, &w.m, &w.n, &g->alpha, g->a, &w.lda, g->b,
                    &w.ldb);
    else
        blas->strmm(w.side, w.triangle, w.op, w.diagonal, &w.m, &w.n, &alpha, g->a, &w.lda, g->b,
                    &w.ldb);
    blas->set_threads(w.threads_before);
    return WEFT_OK;
}
