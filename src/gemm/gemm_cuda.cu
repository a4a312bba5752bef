/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that users get, by type. */
#include "gemm/gemm_launch.cuh"

weft_status wi_gemm_pipeline(weft_context *ctx, const void *args) {
    return wi_gemm_pipeline_f32(ctx, (const wi_gemm_args *)args);
}

weft_status wi_gemm_tensor(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = (const wi_gemm_args *)args;
    switch (g->type) {
    case WEFT_F64:
        return wi_gemm_tensor_f64(ctx, g);
    case WEFT_F32:
        return wi_gemm_tensor_tf32(ctx, g);
    case WEFT_F16:
        return wi_gemm_tensor_f16(ctx, g);
    case WEFT_BF16:
        return wi_gemm_tensor_bf16(ctx, g);
    default:
        return wi_gemm_tensor_i8(ctx, g);
    }
}
