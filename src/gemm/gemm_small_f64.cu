/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of f64 on tensor cores, by small tiles of single elements. Those of 48 x 48 bring
 * a third less from the second-level cache, for products that have about one for each
 * multiprocessor. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_shape_f64.cuh"

using tile = wi_gemm_f64_shape<wi_gemm_extents<32, 32, 32, 2, 2, 3, 3, true>>;
using wide = wi_gemm_f64_shape<wi_gemm_extents<48, 48, 32, 3, 2, 3, 1, true>>;

weft_status wi_gemm_small_f64(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_prefers_wide_f64(ctx, g) && wi_gemm_has_room<wide>(ctx)
               ? wi_gemm_by_layout<wide>(ctx, g)
               : wi_gemm_by_layout<tile>(ctx, g);
}
