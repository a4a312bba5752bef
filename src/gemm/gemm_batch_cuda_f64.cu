/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of f64: the smallest, and those of 24, by fused multiply-adds, others on tensor cores. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_batch_tensor.cuh"
#include "gemm/gemm_batch_whole.cuh"
#include "gemm/gemm_thin.cuh"

template <int side, int columns_, int each_, int blocks_, int apart_>
struct f64_tile {
    using T = double;
    using Sums = wi_gemm_batch_fma<f64_tile>;
    static constexpr int tile_m = side, tile_n = side, depth = side, rows = 4, columns = columns_;
    static constexpr int group = side / rows * (side / columns), each = each_;
    static constexpr int stages = 2, blocks = blocks_, apart = apart_;
    static constexpr int stride_a = side + 2, stride_b = side + 2;
    static constexpr bool one_tile = true, n_first = false;
};

template <int side, int depth_, int warps_m_, int warps_n_, int each_, int stages_, int blocks_,
          bool one_tile_ = side != 64>
struct tensor_tile {
    using T = double;
    using Sums = wi_gemm_batch_tensor_f64<tensor_tile>;
    static constexpr int tile_m = side, tile_n = side, depth = depth_;
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int group = 32 * warps_m * warps_n, each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = side + 2, stride_b = depth + 8;
    static constexpr bool one_tile = one_tile_;
};

using tile8 = f64_tile<8, 4, 16, 5, 4>;
using tile16 = tensor_tile<16, 16, 1, 1, 4, 3, 3>;
using tile24 = f64_tile<24, 6, 4, 2, 0>;
using tile32 = tensor_tile<32, 32, 1, 2, 2, 2, 3>;
using tile48 = tensor_tile<48, 48, 3, 2, 1, 2, 2>;
using tile64 = tensor_tile<64, 32, 2, 2, 1, 2, 2>;
using tile96 = tensor_tile<96, 16, 3, 4, 1, 3, 1>;

template <class Tile, int waves>
using in_waves = wi_gemm_batch_in_waves<Tile, waves>;
template <class... Tiles>
using either = wi_gemm_batch_either<Tiles...>;
using whole16 = either<in_waves<tensor_tile<16, 16, 1, 1, 1, 2, 20>, 0>>;
using whole32 = either<in_waves<tensor_tile<32, 16, 1, 2, 1, 3, 7>, 0>,
                       in_waves<tensor_tile<32, 32, 1, 2, 1, 2, 6>, 0>>;
using whole64 = either<in_waves<tensor_tile<64, 16, 2, 2, 1, 3, 3, true>, 0>,
                       in_waves<tensor_tile<64, 32, 2, 2, 1, 3, 2, true>, 0>>;
using wholes = either<in_waves<tensor_tile<64, 32, 2, 2, 1, 3, 2>, 1>>;

weft_status wi_gemm_batch_tiles_f64(weft_context *ctx, const wi_gemm_batch_args *g) {
    weft_status status = WEFT_OK;
    if (wi_gemm_batch_by_whole<whole16, whole32, whole64, wholes>(ctx, g, &status))
        return status;
    return wi_gemm_batch_by_size<tile8, tile16, tile24, tile32, tile48, tile64, tile96, tile64>(ctx,
                                                                                                g);
}

weft_status wi_gemm_thin_square_f64(weft_context *ctx,
                                    const wi_gemm_batch_params<double, double, double> &x) {
    return wi_gemm_thin_launch<tile32>(ctx, x);
}
