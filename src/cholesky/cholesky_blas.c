/* SPDX-License-Identifier: Apache-2.0 */
/* The openblas rung of cholesky. */
#include <math.h>

#include "cholesky/cholesky.h"
#include "cpu/blas.h"

weft_status wi_cholesky_openblas(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    const char *const triangle = g->upper ? "U" : "L";
    const int n = (int)g->n, lda = (int)g->lda, before = blas->get_threads();
    int info;
    blas->set_threads(ctx->threads);
    if (g->type == WEFT_F64)
        blas->dpotrf(triangle, &n, g->a, &lda, &info);
    else
        blas->spotrf(triangle, &n, g->a, &lda, &info);
    blas->set_threads(before);
    g->first[WI_CHOLESKY_INDEFINITE] = g->first[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    if (info <= 0)
        return WEFT_OK;
    const size_t k = (size_t)info - 1;
    const double pivot =
        wi_element_value(g->type, (const char *)g->a + k * (g->lda + 1) * weft_type_size(g->type));
    g->first[isfinite(pivot) ? WI_CHOLESKY_INDEFINITE : WI_CHOLESKY_INFINITE] = (int64_t)k;
    return WEFT_OK;
}
