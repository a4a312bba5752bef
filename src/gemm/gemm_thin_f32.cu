/* SPDX-License-Identifier: Apache-2.0 */
/* Thin products of f32, by fused multiply-adds: a thread has 8 elements of the long side and up to
 * 16 of the thin one. */
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

weft_status wi_gemm_thin_add_slices(weft_context *ctx,
                                    const wi_gemm_batch_params<float, float, float> &x,
                                    const wi_gemm_thin_partial<float> &partial) {
    return wi_gemm_thin_add(ctx, x, partial);
}

weft_status wi_gemm_thin_f32(weft_context *ctx, const wi_gemm_args *args) {
    if (wi_gemm_is_few(args))
        return wi_gemm_few_f32(ctx, args);
    const wi_gemm_thin_product<float> g = wi_gemm_thin_of<float>(args);
    if (g.length <= 32)
        return wi_gemm_thin_square_f32(ctx, g.x);
    if (g.length <= 64)
        return wi_gemm_thin_launch<square64>(ctx, g.x);
    return g.along_k ? multiply_flat(ctx, g) : multiply_tall(ctx, g);
}
