/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f64, on tensor cores. Each of four warps has a quarter of the long side. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_batch_tensor.cuh"
#include "gemm/gemm_thin.cuh"

template <int m, int n, int depth_, int warps_m_, int warps_n_, int each_, int stages_, int blocks_,
          bool one_tile_>
struct thin_tile_f64 {
    using T = double;
    using Sums = wi_gemm_batch_tensor_f64<thin_tile_f64>;
    static constexpr int tile_m = m, tile_n = n, depth = depth_;
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int group = 32 * warps_m * warps_n, each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = m + 2, stride_b = depth + 8;
    static constexpr bool one_tile = one_tile_;
};

/* The long side is rows. */
template <int thin, int blocks>
using tall = thin_tile_f64<128, thin, 16, 4, 1, 1, 3, blocks, false>;
/* The long side is columns. */
template <int thin, int stages, int blocks>
using flat = thin_tile_f64<thin, 128, 16, 1, 4, 1, stages, blocks, false>;

/* Both sides are short. */
using square64 = thin_tile_f64<64, 64, 32, 2, 2, 1, 2, 2, true>;

static weft_status multiply_tall(weft_context *ctx, const wi_gemm_thin_product<double> &g) {
    if (g.thin <= 8)
        return wi_gemm_thin_launch<tall<8, 4>>(ctx, g.x);
    if (g.thin <= 16)
        return wi_gemm_thin_launch<tall<16, 3>>(ctx, g.x);
    if (g.thin <= 32)
        return wi_gemm_thin_launch<tall<32, 3>>(ctx, g.x);
    return wi_gemm_thin_launch<tall<64, 2>>(ctx, g.x);
}

static weft_status multiply_flat(weft_context *ctx, const wi_gemm_thin_product<double> &g) {
    if (g.thin <= 16)
        return wi_gemm_thin_launch<flat<16, 2, 3>>(ctx, g.x);
    if (g.thin <= 32)
        return wi_gemm_thin_launch<flat<32, 2, 3>>(ctx, g.x);
    if (g.thin <= 48)
        return wi_gemm_thin_launch<flat<48, 3, 2>>(ctx, g.x);
    return wi_gemm_thin_launch<flat<64, 3, 2>>(ctx, g.x);
}

weft_status wi_gemm_thin_add_slices(weft_context *ctx,
                                    const wi_gemm_batch_params<double, double, double> &x,
                                    const wi_gemm_thin_partial<double> &partial) {
    return wi_gemm_thin_add(ctx, x, partial);
}

weft_status wi_gemm_thin_f64(weft_context *ctx, const wi_gemm_args *args) {
    const wi_gemm_thin_product<double> g = wi_gemm_thin_of<double>(args);
    if (g.length <= 32)
        return wi_gemm_thin_square_f64(ctx, g.x);
    if (g.length <= 64)
        return wi_gemm_thin_launch<square64>(ctx, g.x);
    return g.along_k ? multiply_flat(ctx, g) : multiply_tall(ctx, g);
}
