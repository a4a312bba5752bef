/* SPDX-License-Identifier: Apache-2.0 */
/* i8 on tensor cores. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"

using tile = wi_gemm_bytes_shape<wi_gemm_extents<128, 128, 64, 2, 4, 3, 1>>;

weft_status wi_gemm_tensor_i8(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile>(ctx, g);
}
