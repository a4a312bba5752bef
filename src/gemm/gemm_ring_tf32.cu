/* SPDX-License-Identifier: Apache-2.0 */
/* tf32 by a ring of boxes: tensor cores take such elements from shared memory along k alone. So B
 * lies along k; A does too, or goes through registers, or is turned first. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"
#include "gemm/gemm_groups_across.cuh"

using large_tf32 = wi_gemm_groups_shape<float, float, float, 256, 4, 550>;
using small_tf32 = wi_gemm_groups_shape<float, float, float, 128, 6, 500>;
using narrow_tf32 = wi_gemm_one_group_shape<float, float, float, 128, 8, 330>;
using square_tf32 = wi_gemm_one_group_shape<float, float, float, 64, 12, 290>;
using large_across = wi_gemm_across_shape<256, 4, 600>;
using small_across = wi_gemm_across_shape<128, 6, 510>;
using narrow_across = wi_gemm_across_shape<64, 9, 340>;

static wi_gemm_choice choose_along(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    wi_gemm_consider<large_tf32>(ctx, g, wi_gemm_launch_boxed<large_tf32, true, true>, &best);
    wi_gemm_consider<small_tf32>(ctx, g, wi_gemm_launch_boxed<small_tf32, true, true>, &best);
    wi_gemm_consider<narrow_tf32>(ctx, g, wi_gemm_launch_boxed<narrow_tf32, true, true>, &best);
    wi_gemm_consider<square_tf32>(ctx, g, wi_gemm_launch_boxed<square_tf32, true, true>, &best);
    return best;
}

/* C goes its way in pairs of elements, which costs nothing where it is only written; where it is
 * read first, its reads wait for one another. */
static wi_gemm_choice choose_across(const weft_context *ctx, const wi_gemm_args *g) {
    const double bytes = (double)sizeof(float) * (double)g->m * (double)g->n;
    const double way = wi_seconds_moving(wi_machine_of(ctx), bytes);
    wi_gemm_choice best = {};
    wi_gemm_consider<large_across>(ctx, g, wi_gemm_launch_boxed<large_across, false, true>, &best);
    wi_gemm_consider<small_across>(ctx, g, wi_gemm_launch_boxed<small_across, false, true>, &best);
    wi_gemm_consider<narrow_across>(ctx, g, wi_gemm_launch_boxed<narrow_across, false, true>,
                                    &best);
    best.seconds += g->beta == 0 ? 0 : 6 * way;
    return best;
}

static double turning_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = 2 * sizeof(float) * (double)g->m * (double)g->k;
    return m->launch_s + wi_seconds_moving(m, bytes);
}

bool wi_gemm_ring_tf32_wants_across(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_choice across = choose_across(ctx, g), along = choose_along(ctx, g);
    return !g->transposed_a && across.run &&
           (!along.run || across.seconds < along.seconds + turning_seconds(ctx, g));
}
double wi_gemm_ring_tf32_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_ring_tf32_wants_across(ctx, g) ? choose_across(ctx, g).seconds
                                                  : choose_along(ctx, g).seconds;
}
weft_status wi_gemm_ring_tf32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g,
                              g->transposed_a ? choose_along(ctx, g) : choose_across(ctx, g));
}
