/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of f32, by fused multiply-adds; large ones on tensor cores too. */
#include "gemm/gemm_batch_split.cuh"
#include "gemm/gemm_thin.cuh"

template <int side, int depth_, int rows_, int columns_, int each_, int stages_, int blocks_,
          int apart_>
struct fma_tile {
    using T = float;
    using Sums = wi_gemm_batch_fma<fma_tile>;
    static constexpr int tile_m = side, tile_n = side, depth = depth_;
    static constexpr int rows = rows_, columns = columns_;
    static constexpr int group = side / rows * (side / columns), each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = apart_;
    static constexpr int stride_a = side + 4, stride_b = depth + 4;
    static constexpr bool one_tile = side != 64, n_first = false;
};

using tile8 = fma_tile<8, 8, 4, 4, 32, 2, 4, 8>;
using tile16 = fma_tile<16, 16, 4, 4, 8, 3, 3, 16>;
using tile24 = fma_tile<24, 24, 8, 3, 6, 2, 3, 0>;
using tile32 = fma_tile<32, 32, 8, 4, 4, 2, 3, 0>;
using tile48 = fma_tile<48, 24, 8, 6, 2, 2, 5, 0>;
using tile64 = fma_tile<64, 32, 8, 8, 1, 2, 6, 0>;
using tile96 = fma_tile<96, 16, 8, 6, 1, 3, 2, 0>;

using split64 = wi_gemm_batch_split_tile<64, 64, 32, 2, 2, 1, 3, 3, false>;
using split96 = wi_gemm_batch_split_tile<96, 96, 32, 3, 4, 1, 3, 1, true>;

weft_status wi_gemm_batch_tiles_f32(weft_context *ctx, const wi_gemm_batch_args *g) {
    if (wi_gemm_may_split(&g->one))
        return wi_gemm_batch_by_size<tile8, tile16, tile24, tile32, tile48, split64, split96,
                                     split64>(ctx, g);
    return wi_gemm_batch_by_size<tile8, tile16, tile24, tile32, tile48, tile64, tile96, tile64>(ctx,
                                                                                                g);
}

weft_status wi_gemm_thin_square_f32(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x) {
    return wi_gemm_thin_launch<tile32>(ctx, x);
}
