/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of trmm. */
#include "gemm/trmm.h"

weft_status weft_trmm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                      double alpha, const void *a, size_t lda, void *b, size_t ldb) {
    return wi_triangle_call(ctx, &wi_trmm_ladder, "weft_trmm", how, type, m, n, alpha, a, lda, b,
                            ldb);
}
