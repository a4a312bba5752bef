/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by fused multiply-adds. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"

using large = wi_gemm_fma_shape<float, wi_gemm_extents<128, 128, 16, 2, 2, 4, 2>>;
using small = wi_gemm_fma_shape<float, wi_gemm_extents<64, 64, 16, 1, 2, 4, 4>>;
/* For operands that are not aligned. */
using elements = wi_gemm_fma_shape<float, wi_gemm_extents<64, 64, 16, 1, 2, 4, 4, true>>;

weft_status wi_gemm_pipeline_f32_elements(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<elements>(ctx, g);
}
weft_status wi_gemm_pipeline_f32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_size<large, small>(ctx, g);
}
