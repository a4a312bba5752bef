/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of f64: the smallest by fused multiply-adds, others on tensor cores. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_batch_tensor.cuh"

struct tile8 {
    using T = double;
    using Sums = wi_gemm_batch_fma<tile8>;
    static constexpr int tile_m = 8, tile_n = 8, depth = 8, rows = 4, columns = 4;
    static constexpr int group = 4, each = 16;
    static constexpr int stages = 2, blocks = 5, apart = 4;
    static constexpr int stride_a = 10, stride_b = 10;
    static constexpr bool one_tile = true, n_first = false;
};

template <int side, int depth_, int warps_m_, int warps_n_, int each_, int stages_, int blocks_>
struct tensor_tile {
    using T = double;
    using Sums = wi_gemm_batch_tensor_f64<tensor_tile>;
    static constexpr int tile_m = side, tile_n = side, depth = depth_;
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int group = 32 * warps_m * warps_n, each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = side + 2, stride_b = depth + 8;
    static constexpr bool one_tile = side < 64;
};

using tile16 = tensor_tile<16, 16, 1, 1, 4, 3, 3>;
using tile32 = tensor_tile<32, 32, 1, 2, 2, 2, 3>;
using tile64 = tensor_tile<64, 32, 2, 2, 1, 2, 2>;

weft_status wi_gemm_batch_tiles_f64(weft_context *ctx, const wi_gemm_batch_args *g) {
    return wi_gemm_batch_by_size<tile8, tile16, tile32, tile64>(ctx, g);
}
