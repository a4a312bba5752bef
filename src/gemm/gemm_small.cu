/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of f32, tf32 and 16-bit floats: small tiles, so that many multiprocessors work, of
 * single elements, so that operands may lie anywhere. Multiply-adds of f32 wait for their operands:
 * two warps share their part of a tile's k. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_launch.cuh"

using tile_f32 = wi_gemm_fma_shape<float, wi_gemm_extents<32, 32, 32, 1, 2, 3, 4, true, 2>>;
using tile_tf32 = wi_gemm_tf32_shape<wi_gemm_extents<32, 32, 32, 2, 2, 4, 4, true>>;
using wide_tf32 = wi_gemm_tf32_shape<wi_gemm_extents<64, 64, 32, 2, 2, 3, 3, true>>;
template <class T>
using tile_half = wi_gemm_half_shape<T, wi_gemm_extents<32, 32, 32, 2, 2, 3, 6, true>>;
template <class T>
using wide_half = wi_gemm_half_shape<T, wi_gemm_extents<64, 64, 32, 2, 2, 3, 4, true>>;

weft_status wi_gemm_small_f32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile_f32>(ctx, g);
}
weft_status wi_gemm_small_tf32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_size<wide_tf32, tile_tf32>(ctx, g);
}
weft_status wi_gemm_small_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_size<wide_half<__half>, tile_half<__half>>(ctx, g);
}
weft_status wi_gemm_small_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_size<wide_half<__nv_bfloat16>, tile_half<__nv_bfloat16>>(ctx, g);
}
