/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of trsm. */
#include "gemm/trsm.h"

weft_status weft_trsm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                      double alpha, const void *a, size_t lda, void *b, size_t ldb) {
    return wi_triangle_call(ctx, &wi_trsm_ladder, "weft_trsm", how, type, m, n, alpha, a, lda, b,
                            ldb);
}
