/* SPDX-License-Identifier: Apache-2.0 */
/* The openblas rung of gemm. */
#include "cpu/blas.h"
#include "gemm/gemm.h"

/* Its names for the ways to store a matrix. */
static const char *stored(bool transposed) {
    return transposed ? "T" : "N";
}

/* It wants leading dimensions above 0, even of empty matrices. */
static int leading(size_t ld) {
    return ld > 0 ? (int)ld : 1;
}

weft_status wi_gemm_openblas(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k, lda = leading(g->lda),
              ldb = leading(g->ldb), ldc = leading(g->ldc), before = blas->get_threads();
    const char *const a_is = stored(g->transposed_a), *const b_is = stored(g->transposed_b);
    blas->set_threads(ctx->threads);
    if (g->type == WEFT_F64) {
        blas->dgemm(a_is, b_is, &m, &n, &k, &g->alpha, g->a, &lda, g->b, &ldb, &g->beta, g->c,
                    &ldc);
    } else {
        const float alpha = (float)g->alpha, beta = (float)g->beta;
        blas->sgemm(a_is, b_is, &m, &n, &k, &alpha, g->a, &lda, g->b, &ldb, &beta, g->c, &ldc);
    }
    blas->set_threads(before);
    return WEFT_OK;
}
