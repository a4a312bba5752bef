/* SPDX-License-Identifier: Apache-2.0 */
/* The triangle of C in f32, by fused multiply-adds. */
#include "cuda/ahead.cuh"
#include "gemm/syrk_tile.cuh"

using large = wi_gemm_fma_shape<float, wi_gemm_extents<128, 128, 16, 2, 2, 4, 2>>;
using small = wi_gemm_fma_shape<float, wi_gemm_extents<64, 64, 16, 1, 2, 4, 4>>;

weft_status wi_syrk_tiles_f32(weft_context *ctx, const wi_gemm_args *g, bool upper) {
    return wi_syrk_by_size<large, small, small>(ctx, g, upper);
}
