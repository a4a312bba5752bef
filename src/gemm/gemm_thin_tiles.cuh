/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a thin C, of at most 64 rows or columns, by tiles of gemm_tile.cuh. What has few
 * rows is turned, so the long factor is A. A tile takes pieces of its lines that are as long as
 * shared memory allows, for memory is slow to bring short ones: so tiles are high where these lines
 * lie across k, and deep where they lie along it. */
#ifndef WI_GEMM_THIN_TILES_CUH
#define WI_GEMM_THIN_TILES_CUH

#include "gemm/gemm_launch.cuh"

template <class Across, class Along>
weft_status wi_gemm_thin_by_layout(weft_context *ctx, const wi_gemm_args *g) {
    if (g->transposed_a)
        return g->transposed_b ? wi_gemm_launch<Along, true, false>(ctx, g)
                               : wi_gemm_launch<Along, true, true>(ctx, g);
    return g->transposed_b ? wi_gemm_launch<Across, false, false>(ctx, g)
                           : wi_gemm_launch<Across, false, true>(ctx, g);
}

/* By Wide where C has more columns than the others. */
template <class Across, class Along, class Wide>
weft_status wi_gemm_by_thickness(weft_context *ctx, const wi_gemm_args *g) {
    const wi_gemm_args tall = g->m < g->n ? wi_gemm_turned(g) : *g;
    return tall.n <= Across::tile_n ? wi_gemm_thin_by_layout<Across, Along>(ctx, &tall)
                                    : wi_gemm_by_layout<Wide>(ctx, &tall);
}

#endif
