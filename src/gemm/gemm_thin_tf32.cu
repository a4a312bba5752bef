/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f32 on tensor cores, as tf32: as those of 16-bit floats in gemm_thin_half.cu. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_thin_tiles.cuh"

using across = wi_gemm_tf32_shape<wi_gemm_extents<128, 16, 32, 4, 1, 3, 3>>;
using along = wi_gemm_tf32_shape<wi_gemm_extents<64, 16, 64, 4, 1, 3, 3>>;
using wide = wi_gemm_tf32_shape<wi_gemm_extents<128, 64, 32, 4, 1, 3, 2>>;

bool wi_gemm_has_room_for_thin_tf32(const weft_context *ctx) {
    return wi_gemm_has_room<across>(ctx) && wi_gemm_has_room<along>(ctx) &&
           wi_gemm_has_room<wide>(ctx);
}
weft_status wi_gemm_thin_tf32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_thickness<across, along, wide>(ctx, g);
}
