/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 on tensor cores. */
#include "gemm/gemm_launch.cuh"

using tile = wi_gemm_half_shape<__nv_bfloat16, wi_gemm_extents<128, 128, 32, 2, 2, 4, 2>>;

weft_status wi_gemm_tensor_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile>(ctx, g);
}
