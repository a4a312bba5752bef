/* SPDX-License-Identifier: Apache-2.0 */
/* f64 by a ring of boxes. The long and thin tiles are for a thin C; the square ones for a small C.
 * Large tiles of C have room beside a short ring, or go straight to a C that is only written, with
 * few terms. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_doubles.cuh"

using large = wi_gemm_doubles_shape<96, 128, 2, 4, 4, 180, false, true>;
using written = wi_gemm_doubles_shape<96, 128, 2, 4, 7, 180, false>;
using small = wi_gemm_doubles_shape<64, 128, 2, 4, 8, 175, true>;
using square = wi_gemm_doubles_shape<64, 64, 2, 4, 12, 160, false>;
using slim = wi_gemm_few_doubles_shape<64, 32, 16, 160>;
using thin32 = wi_gemm_doubles_shape<128, 32, 4, 2, 10, 155, true>;
using thin16 = wi_gemm_doubles_shape<128, 16, 8, 1, 11, 80, true>;

/* Has a small C a slim tile for most multiprocessors, and none two? Then k is best left whole. */
static bool suits_slim(const weft_context *ctx, const wi_gemm_args *g) {
    constexpr size_t most_k = 1024;
    const size_t tiles = wi_gemm_pieces(g->m, slim::tile_m) * wi_gemm_pieces(g->n, slim::tile_n);
    const size_t units = wi_gemm_units(ctx, g);
    return tiles <= units && 2 * tiles > units && g->k <= most_k;
}

/* Where a C is only written, and has so many terms, the long ring is worth more than room for C. */
WI_LIMIT(size_t, wi_gemm_least_written, 128)
static bool suits_written(const wi_gemm_args *g) {
    constexpr size_t most = 384;
    return g->beta == 0 && g->k >= wi_gemm_least_written && g->k <= most;
}

static wi_gemm_choice choose(const weft_context *ctx, const wi_gemm_args *g) {
    wi_gemm_choice best = {};
    if (suits_written(g))
        wi_gemm_consider<written>(ctx, g, wi_gemm_boxed_by_layout<written>, &best);
    else
        wi_gemm_consider<large>(ctx, g, wi_gemm_boxed_by_layout<large>, &best);
    wi_gemm_consider<small>(ctx, g, wi_gemm_boxed_by_layout<small>, &best);
    if (g->wanted != WI_ALL)
        return best;
    wi_gemm_consider<square>(ctx, g, wi_gemm_boxed_by_layout<square>, &best);
    if (suits_slim(ctx, g) || wi_gemm_only_tile_m > 0)
        wi_gemm_consider<slim>(ctx, g, wi_gemm_boxed_by_layout<slim>, &best);
    wi_gemm_consider<thin32>(ctx, g, wi_gemm_boxed_by_layout<thin32>, &best);
    wi_gemm_consider<thin16>(ctx, g, wi_gemm_boxed_by_layout<thin16>, &best);
    return best;
}

double wi_gemm_ring_f64_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return choose(ctx, g).seconds;
}
weft_status wi_gemm_ring_f64(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose(ctx, g));
}
