/* SPDX-License-Identifier: Apache-2.0 */
/* f32 on tensor cores, as tf32. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"

using tile = wi_gemm_tf32_shape<wi_gemm_extents<128, 128, 32, 2, 2, 3, 2>>;
/* For blocks with less shared memory. */
using least = wi_gemm_tf32_shape<wi_gemm_extents<64, 64, 32, 2, 2, 2, 1>>;

weft_status wi_gemm_tensor_tf32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_has_room<tile>(ctx) ? wi_gemm_by_layout<tile>(ctx, g)
                                       : wi_gemm_by_layout<least>(ctx, g);
}
