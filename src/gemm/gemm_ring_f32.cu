/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by fused multiply-adds in a ring of boxes. Only the largest tiles want operands that lie
 * across; long and thin ones are for a thin C, square ones for a small C. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_floats.cuh"

using large = wi_gemm_floats_shape<128, 256, 8, 16, 4, 75, false>;
using small = wi_gemm_floats_shape<128, 128, 8, 8, 6, 62, false>;
using thin64 = wi_gemm_floats_shape<256, 64, 8, 8, 5, 62, true>;
using thin32 = wi_gemm_floats_shape<256, 32, 8, 4, 5, 55, true>;
using square = wi_gemm_floats_shape<64, 64, 4, 4, 10, 45, false>;

/* With the time to turn operands that do not lie across. */
static double turning_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double turned =
        (g->transposed_a ? (double)g->m : 0) + (g->transposed_b ? 0 : (double)g->n);
    const double bytes = 2 * sizeof(float) * turned * (double)g->k;
    return turned > 0 ? m->launch_s + wi_seconds_moving(m, bytes) : 0;
}
static wi_gemm_choice choose(const weft_context *ctx, const wi_gemm_args *g) {
    constexpr double both_along = 1.18; /* times as long, if A and B lie along k */
    wi_gemm_choice best = {};
    wi_gemm_consider<small>(ctx, g, wi_gemm_boxed_by_layout<small>, &best);
    wi_gemm_consider<square>(ctx, g, wi_gemm_boxed_by_layout<square>, &best);
    wi_gemm_consider<thin64>(ctx, g, wi_gemm_boxed_by_layout<thin64>, &best);
    wi_gemm_consider<thin32>(ctx, g, wi_gemm_boxed_by_layout<thin32>, &best);
    if (g->transposed_a && !g->transposed_b)
        best.seconds *= both_along;
    return best;
}

weft_status wi_gemm_ring_f32_across(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_launch_boxed<large, false, false>(ctx, g);
}

/* The best of all: are these the largest tiles? */
static bool wants_across(const weft_context *ctx, const wi_gemm_args *g, double *seconds) {
    const wi_gemm_choice others = choose(ctx, g);
    wi_gemm_choice best = {};
    wi_gemm_consider<large>(ctx, g, wi_gemm_ring_f32_across, &best);
    best.seconds += turning_seconds(ctx, g);
    const bool is_large = !others.run || (best.run && best.seconds < others.seconds);
    *seconds = is_large ? best.seconds : others.seconds;
    return is_large;
}

double wi_gemm_ring_f32_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    double seconds;
    (void)wants_across(ctx, g, &seconds);
    return seconds;
}
bool wi_gemm_ring_f32_wants_across(const weft_context *ctx, const wi_gemm_args *g) {
    double seconds;
    return wants_across(ctx, g, &seconds);
}
weft_status wi_gemm_ring_f32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose(ctx, g));
}
