/* SPDX-License-Identifier: Apache-2.0 */
/* The openblas rung of syrk. */
#include "cpu/blas.h"
#include "gemm/syrk.h"

/* It wants leading dimensions above 0, even of empty matrices. */
static int leading(size_t ld) {
    return ld > 0 ? (int)ld : 1;
}

weft_status wi_syrk_openblas(weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    const int n = (int)g->n, k = (int)g->k, lda = leading(g->lda), ldc = leading(g->ldc),
              before = blas->get_threads();
    const char *const triangle = g->upper ? "U" : "L", *const op = g->transposed ? "T" : "N";
    blas->set_threads(ctx->threads);
    if (g->type == WEFT_F64) {
        blas->dsyrk(triangle, op, &n, &k, &g->alpha, g->a, &lda, &g->beta, g->c, &ldc);
    } else {
        const float alpha = (float)g->alpha, beta = (float)g->beta;
        blas->ssyrk(triangle, op, &n, &k, &alpha, g->a, &lda, &beta, g->c, &ldc);
    }
    blas->set_threads(before);
    return WEFT_OK;
}
