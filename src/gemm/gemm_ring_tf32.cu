/* SPDX-License-Identifier: Apache-2.0 */
/* tf32 by a ring of boxes: tensor cores take such elements from shared memory along k alone. So B
 * lies along k; A does too, or goes through registers, or is turned first. Where both lie across,
 * both may go through registers. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"
#include "gemm/gemm_groups_across.cuh"
#include "gemm/gemm_warps_across.cuh"

using large_tf32 = wi_gemm_groups_shape<float, float, float, 256, 4, 550>;
using small_tf32 = wi_gemm_groups_shape<float, float, float, 128, 6, 500>;
using narrow_tf32 = wi_gemm_one_group_shape<float, float, float, 128, 8, 330>;
using square_tf32 = wi_gemm_one_group_shape<float, float, float, 64, 12, 290>;
using large_across = wi_gemm_across_shape<256, 4, 600>;
using small_across = wi_gemm_across_shape<128, 6, 510>;
using narrow_across = wi_gemm_across_shape<64, 9, 340>;
using tall_across = wi_gemm_tall_across_shape<64, 5, 350>;
using large_both = wi_gemm_warps_across_shape<128, 256, 2, 4, 4, 340>;
using small_both = wi_gemm_warps_across_shape<128, 128, 2, 4, 6, 310>;

static wi_gemm_choice choose_along(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    wi_gemm_consider<large_tf32>(ctx, g, wi_gemm_launch_boxed<large_tf32, true, true>, &best);
    wi_gemm_consider<small_tf32>(ctx, g, wi_gemm_launch_boxed<small_tf32, true, true>, &best);
    wi_gemm_consider<narrow_tf32>(ctx, g, wi_gemm_launch_boxed<narrow_tf32, true, true>, &best);
    wi_gemm_consider<square_tf32>(ctx, g, wi_gemm_launch_boxed<square_tf32, true, true>, &best);
    return best;
}

/* Of a thin C: does A come by lines that memory has in pieces? */
static bool has_pieces_of_lines(const wi_gemm_args *g) {
    constexpr size_t piece = 64;
    return g->n <= (size_t)tall_across::tile_n && g->lda * sizeof(float) % piece != 0;
}

/* C goes its way in pairs of elements, which costs nothing where it is only written; where it is
 * read first, its reads wait for one another. */
static wi_gemm_choice choose_across(const weft_context *ctx, const wi_gemm_args *g) {
    const double bytes = (double)sizeof(float) * (double)g->m * (double)g->n;
    const double way = wi_seconds_moving(wi_machine_of(ctx), bytes);
    wi_gemm_choice best = {};
    if (has_pieces_of_lines(g) || wi_gemm_only_tile_m > 0)
        wi_gemm_consider<tall_across>(ctx, g, wi_gemm_launch_boxed<tall_across, false, true>,
                                      &best);
    wi_gemm_consider<large_across>(ctx, g, wi_gemm_launch_boxed<large_across, false, true>, &best);
    wi_gemm_consider<small_across>(ctx, g, wi_gemm_launch_boxed<small_across, false, true>, &best);
    wi_gemm_consider<narrow_across>(ctx, g, wi_gemm_launch_boxed<narrow_across, false, true>,
                                    &best);
    best.seconds += g->beta == 0 ? 0 : 6 * way;
    return best;
}

/* Neither has to be turned. */
static wi_gemm_choice choose_both(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    wi_gemm_consider<large_both>(ctx, g, wi_gemm_launch_boxed<large_both, false, false>, &best);
    wi_gemm_consider<small_both>(ctx, g, wi_gemm_launch_boxed<small_both, false, false>, &best);
    return best;
}

static double turning_seconds(const weft_context *ctx, size_t lines, size_t length) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = 2 * sizeof(float) * (double)lines * (double)length;
    return m->launch_s + wi_seconds_moving(m, bytes);
}

/* Of an A that lies across, is it better left so? */
static bool is_better_left(const weft_context *ctx, const wi_gemm_args *g,
                           const wi_gemm_choice &across, const wi_gemm_choice &along) {
    return across.run &&
           (!along.run || across.seconds < along.seconds + turning_seconds(ctx, g->m, g->k));
}

/* A host that launches small products asks these often: no choice is made that does not count. */
double wi_gemm_ring_tf32_seconds(const weft_context *ctx, const wi_gemm_args *g, bool *leaves_a) {
    const wi_gemm_choice along = choose_along(ctx, g);
    const wi_gemm_choice across = g->transposed_a ? wi_gemm_choice{} : choose_across(ctx, g);
    *leaves_a = is_better_left(ctx, g, across, along);
    return *leaves_a ? across.seconds : along.seconds;
}
bool wi_gemm_ring_tf32_wants_across(const weft_context *ctx, const wi_gemm_args *g) {
    return !g->transposed_a && is_better_left(ctx, g, choose_across(ctx, g), choose_along(ctx, g));
}
weft_status wi_gemm_ring_tf32(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g,
                              g->transposed_a ? choose_along(ctx, g) : choose_across(ctx, g));
}

/* Are both factors across k, and better left so? */
bool wi_gemm_ring_tf32_wants_both_across(const weft_context *ctx, const wi_gemm_args *g) {
    if (g->transposed_a || !g->transposed_b || g->c_by_rows || g->wanted != WI_ALL)
        return false;
    const wi_gemm_choice both = choose_both(ctx, g), across = choose_across(ctx, g);
    return both.run &&
           (!across.run || both.seconds < across.seconds + turning_seconds(ctx, g->n, g->k));
}
double wi_gemm_ring_tf32_seconds_both_across(const weft_context *ctx, const wi_gemm_args *g) {
    return choose_both(ctx, g).seconds;
}
weft_status wi_gemm_ring_tf32_both_across(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose_both(ctx, g));
}
