/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f16 and bf16, on tensor cores. Blocks have 96 to 128 KB on their way to each
 * multiprocessor, several times what memory needs to be busy. */
#include "cuda/ahead.cuh"
#include "gemm/gemm_thin_tiles.cuh"

template <class T>
using across = wi_gemm_half_shape<T, wi_gemm_extents<256, 16, 32, 8, 1, 5, 2>>;
template <class T>
using along = wi_gemm_half_shape<T, wi_gemm_extents<64, 16, 128, 4, 1, 3, 3>>;
template <class T>
using wide = wi_gemm_half_shape<T, wi_gemm_extents<128, 64, 64, 4, 1, 3, 2>>;

weft_status wi_gemm_thin_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_thickness<across<__half>, along<__half>, wide<__half>>(ctx, g);
}

weft_status wi_gemm_thin_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_thickness<across<__nv_bfloat16>, along<__nv_bfloat16>, wide<__nv_bfloat16>>(
        ctx, g);
}
