/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of f32, by fused multiply-adds; large ones on tensor cores too. */
#include "gemm/gemm_batch_split.cuh"
#include "gemm/gemm_batch_whole.cuh"
#include "gemm/gemm_thin.cuh"

template <int side, int depth_, int rows_, int columns_, int each_, int stages_, int blocks_,
          int apart_, bool one_tile_ = side != 64>
struct fma_tile {
    using T = float;
    using Sums = wi_gemm_batch_whole_fma<fma_tile>;
    static constexpr int tile_m = side, tile_n = side, depth = depth_;
    static constexpr int rows = rows_, columns = columns_;
    static constexpr int group = side / rows * (side / columns), each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = apart_;
    static constexpr int stride_a = side + 4, stride_b = depth + 4;
    static constexpr bool one_tile = one_tile_, n_first = false;
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

template <class Tile, int waves>
using in_waves = wi_gemm_batch_in_waves<Tile, waves>;
template <class... Tiles>
using either = wi_gemm_batch_either<Tiles...>;
using whole16 = either<in_waves<fma_tile<16, 16, 4, 4, 8, 2, 5, 16>, 0>>;
using whole32 = either<in_waves<fma_tile<32, 16, 8, 4, 1, 3, 16, 0>, 0>>;
using whole64 = either<in_waves<fma_tile<64, 32, 8, 8, 1, 2, 6, 0, true>, 1>>;
using wholes = either<in_waves<tile64, 0>, in_waves<tile64, 1>>;

weft_status wi_gemm_batch_tiles_f32(weft_context *ctx, const wi_gemm_batch_args *g) {
    weft_status status = WEFT_OK;
    const bool splits = wi_gemm_may_split(&g->one);
    if (wi_gemm_batch_by_whole<whole16, whole32>(ctx, g, &status) ||
        (!splits && wi_gemm_batch_by_whole<whole64, wholes>(ctx, g, &status)))
        return status;
    if (splits)
        return wi_gemm_batch_by_size<tile8, tile16, tile24, tile32, tile48, split64, split96,
                                     split64>(ctx, g);
    return wi_gemm_batch_by_size<tile8, tile16, tile24, tile32, tile48, tile64, tile96, tile64>(ctx,
                                                                                                g);
}

weft_status wi_gemm_thin_square_f32(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x) {
    return wi_gemm_thin_launch<tile32>(ctx, x);
}
