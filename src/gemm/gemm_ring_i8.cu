/* SPDX-License-Identifier: Apache-2.0 */
/* i8 by a ring of boxes: tensor cores take such elements along k alone. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"

using large = wi_gemm_groups_shape<int8_t, int32_t, int32_t, 256, 4, 2000>;
using small = wi_gemm_groups_shape<int8_t, int32_t, int32_t, 128, 6, 1800>;

static wi_gemm_choice choose(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    wi_gemm_consider<large>(ctx, g, wi_gemm_launch_boxed<large, true, true>, &best);
    wi_gemm_consider<small>(ctx, g, wi_gemm_launch_boxed<small, true, true>, &best);
    return best;
}

double wi_gemm_ring_i8_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return choose(ctx, g).seconds;
}
weft_status wi_gemm_ring_i8(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose(ctx, g));
}
