/* SPDX-License-Identifier: Apache-2.0 */
/* The openblas rung of lu. */
#include <math.h>

#include "cpu/blas.h"
#include "lu/lu.h"

/* Its pivots are int, and counted from 1. */
static void convert(const wi_lu_args *g, const int *pivot) {
    for (size_t k = 0; k < g->m && k < g->n; k++)
        g->pivot[k] = pivot[k] - 1;
}

/* Of the diagonal of U. */
static void find_words(const wi_lu_args *g) {
    const size_t width = weft_type_size(g->type);
    g->first[WI_LU_SINGULAR] = g->first[WI_LU_INFINITE] = WI_LU_NONE;
    for (size_t k = g->m < g->n ? g->m : g->n; k-- > 0;) {
        const double pivot =
            wi_element_value(g->type, (const char *)g->a + k * (g->lda + 1) * width);
        if (pivot == 0)
            g->first[WI_LU_SINGULAR] = (int64_t)k;
        if (!isfinite(pivot))
            g->first[WI_LU_INFINITE] = (int64_t)k;
    }
}

weft_status wi_lu_openblas(weft_context *ctx, const void *args) {
    const wi_lu_args *const g = args;
    const wi_blas *const blas = wi_blas_load();
    const size_t bytes = (g->m < g->n ? g->m : g->n) * sizeof(int);
    const int m = (int)g->m, n = (int)g->n, lda = (int)g->lda, before = blas->get_threads();
    int *const pivot = wi_host_alloc(bytes), info;
    if (!pivot)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_lu_factor: no memory for %zu bytes of pivots",
                       bytes);
    blas->set_threads(ctx->threads);
    if (g->type == WEFT_F64)
        blas->dgetrf(&m, &n, g->a, &lda, pivot, &info);
    else
        blas->sgetrf(&m, &n, g->a, &lda, pivot, &info);
    blas->set_threads(before);
    convert(g, pivot);
    find_words(g);
    wi_host_free(pivot);
    return WEFT_OK;
}
