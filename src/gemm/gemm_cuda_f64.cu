/* SPDX-License-Identifier: Apache-2.0 */
/* f64 on tensor cores. */
#include "gemm/gemm_launch.cuh"

using large = wi_gemm_f64_shape<wi_gemm_extents<64, 128, 32, 2, 4, 3, 1>>;
using small = wi_gemm_f64_shape<wi_gemm_extents<64, 64, 32, 2, 2, 3, 2>>;

weft_status wi_gemm_tensor_f64(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_by_size<large, small>(ctx, g);
}
