/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f32. By fused multiply-adds a thread has 8 elements of the long side and up to
 * 16 of the thin one; on tensor cores each of four warps has 32 of the long side. */
#include "gemm/gemm_batch_split.cuh"
#include "gemm/gemm_thin.cuh"

/* The long side as rows, and as columns; both sides short. */
template <int m, int n, int depth_, int rows_, int columns_, int each_, int stages_, int blocks_,
          bool n_first_, bool one_tile_>
struct thin_tile_f32 {
    using T = float;
    using Sums = wi_gemm_batch_fma<thin_tile_f32>;
    static constexpr int tile_m = m, tile_n = n, depth = depth_;
    static constexpr int rows = rows_, columns = columns_;
    static constexpr int group = m / rows * (n / columns), each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = m + 4, stride_b = depth + 4;
    static constexpr bool one_tile = one_tile_, n_first = n_first_;
};

template <int thin, int share, int stages, int blocks>
using tall = thin_tile_f32<256, thin, 16, 8, share, 1, stages, blocks, false, false>;
template <int thin, int share, int blocks>
using flat = thin_tile_f32<thin, 256, 16, share, 8, 1, 2, blocks, true, false>;

using square64 = thin_tile_f32<64, 64, 32, 8, 8, 1, 2, 6, false, true>;

static weft_status multiply_tall(weft_context *ctx, const wi_gemm_thin_product<float> &g) {
    if (g.thin <= 16)
        return wi_gemm_thin_launch<tall<16, 8, 3, 4>>(ctx, g.x);
    if (g.thin <= 24)
        return wi_gemm_thin_launch<tall<24, 12, 3, 4>>(ctx, g.x);
    if (g.thin <= 36)
        return wi_gemm_thin_launch<tall<36, 12, 3, 3>>(ctx, g.x);
    return wi_gemm_thin_launch<tall<64, 16, 3, 2>>(ctx, g.x);
}

static weft_status multiply_flat(weft_context *ctx, const wi_gemm_thin_product<float> &g) {
    if (g.thin <= 16)
        return wi_gemm_thin_launch<flat<16, 8, 4>>(ctx, g.x);
    if (g.thin <= 24)
        return wi_gemm_thin_launch<flat<24, 12, 4>>(ctx, g.x);
    if (g.thin <= 36)
        return wi_gemm_thin_launch<flat<36, 12, 4>>(ctx, g.x);
    return wi_gemm_thin_launch<flat<64, 16, 2>>(ctx, g.x);
}

/* On tensor cores: the same. */
template <int thin, int stages, int blocks>
using split_tall = wi_gemm_batch_split_tile<128, thin, 32, 4, 1, 1, stages, blocks, false>;
template <int thin, int stages, int blocks>
using split_flat = wi_gemm_batch_split_tile<thin, 128, 32, 1, 4, 1, stages, blocks, false>;

using split_square32 = wi_gemm_batch_split_tile<32, 32, 32, 1, 1, 4, 2, 3, true>;
using split_square64 = wi_gemm_batch_split_tile<64, 64, 32, 2, 2, 1, 3, 3, true>;

static weft_status split_long(weft_context *ctx, const wi_gemm_thin_product<float> &g) {
    if (g.along_k)
        return g.thin <= 32 ? wi_gemm_thin_launch<split_flat<32, 3, 3>>(ctx, g.x)
                            : wi_gemm_thin_launch<split_flat<64, 3, 2>>(ctx, g.x);
    if (g.thin <= 16)
        return wi_gemm_thin_launch<split_tall<16, 3, 3>>(ctx, g.x);
    if (g.thin <= 40)
        return wi_gemm_thin_launch<split_tall<40, 3, 3>>(ctx, g.x);
    return wi_gemm_thin_launch<split_tall<64, 3, 2>>(ctx, g.x);
}

weft_status wi_gemm_thin_add_slices(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x,
                                    const wi_gemm_thin_partial<float> &partial) {
    return wi_gemm_thin_add(ctx, x, partial);
}

weft_status wi_gemm_thin_f32(weft_context *ctx, const wi_gemm_args *args) {
    const wi_gemm_thin_product<float> g = wi_gemm_thin_of<float>(args);
    const bool may_split = wi_gemm_may_split(args);
    if (g.length <= 32)
        return may_split ? wi_gemm_thin_launch<split_square32>(ctx, g.x)
                         : wi_gemm_thin_square_f32(ctx, g.x);
    if (g.length <= 64)
        return may_split ? wi_gemm_thin_launch<split_square64>(ctx, g.x)
                         : wi_gemm_thin_launch<square64>(ctx, g.x);
    if (may_split)
        return split_long(ctx, g);
    return g.along_k ? multiply_flat(ctx, g) : multiply_tall(ctx, g);
}
