/* SPDX-License-Identifier: Apache-2.0 */
/* f64 on tensor cores. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_launch.cuh"
#include "gemm/gemm_shape_f64.cuh"

using large = wi_gemm_f64_shape<wi_gemm_extents<64, 128, 32, 2, 4, 3, 1>>;
using small = wi_gemm_f64_shape<wi_gemm_extents<64, 64, 32, 2, 2, 3, 2>>;
/* For blocks with less shared memory. */
using least = wi_gemm_f64_shape<wi_gemm_extents<64, 64, 32, 2, 2, 2, 1>>;
/* For operands that are not aligned. */
using elements = wi_gemm_f64_shape<wi_gemm_extents<64, 64, 32, 2, 2, 3, 2, true>>;

weft_status wi_gemm_tensor_f64_elements(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_layout<elements>(ctx, g);
}
bool wi_gemm_has_room_for_elements_f64(const weft_context *ctx) {
    return wi_gemm_has_room<elements>(ctx);
}
weft_status wi_gemm_tensor_f64(weft_context *ctx, const wi_gemm_args *g) {
    if (!wi_gemm_has_room<small>(ctx))
        return wi_gemm_by_layout<least>(ctx, g);
    return wi_gemm_by_size<large, small>(ctx, g);
}
