/* SPDX-License-Identifier: Apache-2.0 */
/* f16 by a ring of boxes. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"

using large = wi_gemm_groups_shape<__half, __half, float, 256, 4, 1100>;
using small = wi_gemm_groups_shape<__half, __half, float, 128, 6, 1000>;

static wi_gemm_choice choose(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    wi_gemm_consider<large>(ctx, g, wi_gemm_boxed_by_layout<large>, &best);
    wi_gemm_consider<small>(ctx, g, wi_gemm_boxed_by_layout<small>, &best);
    return best;
}

double wi_gemm_ring_f16_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return choose(ctx, g).seconds;
}
weft_status wi_gemm_ring_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose(ctx, g));
}
