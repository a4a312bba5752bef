/* SPDX-License-Identifier: Apache-2.0 */
/* f64 by a ring of boxes. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_doubles.cuh"

using large = wi_gemm_doubles_shape<96, 128, 2, 4, 7>;
using small = wi_gemm_doubles_shape<64, 128, 2, 4, 8>;

weft_status wi_gemm_ring_f64(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_prefers_large<large, small>(ctx, g) ? wi_gemm_boxed_by_layout<large>(ctx, g)
                                                       : wi_gemm_boxed_by_layout<small>(ctx, g);
}
