/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of f64 on tensor cores, by small tiles of single elements. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_shape_f64.cuh"

using tile = wi_gemm_f64_shape<wi_gemm_extents<32, 32, 32, 2, 2, 3, 3, true>>;

weft_status wi_gemm_small_f64(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<tile>(ctx, g);
}
