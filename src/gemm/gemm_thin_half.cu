/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f16 and bf16, on tensor cores. Each of four warps has a quarter of a tile's 128
 * rows. Blocks have 96 KB of the long factor on their way to each multiprocessor, which is several
 * times what memory needs to be busy. */
#include "gemm/gemm_launch.cuh"

template <class T>
using narrow = wi_gemm_half_shape<T, wi_gemm_extents<128, 16, 64, 4, 1, 3, 3>>;
template <class T>
using wide = wi_gemm_half_shape<T, wi_gemm_extents<128, 64, 64, 4, 1, 3, 2>>;

weft_status wi_gemm_thin_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_thickness<narrow<__half>, wide<__half>>(ctx, g);
}

weft_status wi_gemm_thin_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_thickness<narrow<__nv_bfloat16>, wide<__nv_bfloat16>>(ctx, g);
}
