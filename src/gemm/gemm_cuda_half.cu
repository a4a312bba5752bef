/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 on tensor cores. Their kernels differ in a bit of some instructions, so they are
 * compressed together. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"

template <class T>
using tile = wi_gemm_half_shape<T, wi_gemm_extents<128, 128, 32, 2, 2, 4, 2>>;

weft_status wi_gemm_tensor_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile<__half>>(ctx, g);
}

weft_status wi_gemm_tensor_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile<__nv_bfloat16>>(ctx, g);
}
