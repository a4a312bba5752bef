/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 by a ring of boxes. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"

using large = wi_gemm_groups_shape<__nv_bfloat16, __nv_bfloat16, float, 256, 4>;
using small = wi_gemm_groups_shape<__nv_bfloat16, __nv_bfloat16, float, 128, 6>;

weft_status wi_gemm_ring_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_prefers_large<large, small>(ctx, g) ? wi_gemm_boxed_by_layout<large>(ctx, g)
                                                       : wi_gemm_boxed_by_layout<small>(ctx, g);
}
