/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by fused multiply-adds in a ring of boxes, of operands that lie across. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_floats.cuh"

using tile = wi_gemm_floats_shape<128, 256, 4>;

weft_status wi_gemm_ring_f32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_launch_boxed<tile, false, false>(ctx, g);
}
