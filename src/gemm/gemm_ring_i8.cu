/* SPDX-License-Identifier: Apache-2.0 */
/* i8 by a ring of boxes: tensor cores take such elements along k alone. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"

using large = wi_gemm_groups_shape<int8_t, int32_t, int32_t, 256, 4>;
using small = wi_gemm_groups_shape<int8_t, int32_t, int32_t, 128, 6>;

weft_status wi_gemm_ring_i8(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_prefers_large<large, small>(ctx, g)
               ? wi_gemm_launch_boxed<large, true, true>(ctx, g)
               : wi_gemm_launch_boxed<small, true, true>(ctx, g);
}
