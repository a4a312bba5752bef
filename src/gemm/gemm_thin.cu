/* SPDX-License-Identifier: Apache-2.0 */
/* The thin rung of gemm. */
#include "gemm/gemm_thin.cuh"

weft_status wi_gemm_thin(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    return g->type == WEFT_F64 ? wi_gemm_thin_f64(ctx, g) : wi_gemm_thin_f32(ctx, g);
}
