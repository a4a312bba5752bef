/* SPDX-License-Identifier: Apache-2.0 */
/* gemm's tiles, launched for one triangle of C. Blocks go down in bands of columns of tiles, as
 * gemm's do, from the diagonal or to it; of the few in a band that have nothing of the triangle,
 * each ends at once. */
#ifndef WI_SYRK_TILE_CUH
#define WI_SYRK_TILE_CUH

#include "gemm/gemm_launch.cuh"

struct wi_syrk_band {
    size_t column, width; /* in tiles */
    size_t begin, end;    /* rows, in tiles */
    __host__ __device__ size_t count() const {
        return (end - begin) * width;
    }
};

/* The band that begins at a column of tiles, of a triangle of order n. */
template <class Shape>
__host__ __device__ wi_syrk_band wi_syrk_band_at(size_t column, size_t n, bool upper) {
    constexpr size_t most = 8, ratio = Shape::tile_n / Shape::tile_m;
    static_assert(Shape::tile_n % Shape::tile_m == 0, "a tile is as wide as some are high");
    const size_t tiles_m = wi_gemm_pieces(n, Shape::tile_m);
    const size_t left = wi_gemm_pieces(n, Shape::tile_n) - column;
    const size_t width = left < most ? left : most, below = (column + width) * ratio;
    wi_syrk_band band = {column, width, upper ? 0 : column * ratio, tiles_m};
    if (upper && below < tiles_m)
        band.end = below;
    return band;
}

template <class Shape>
size_t wi_syrk_tile_count(size_t n, bool upper) {
    const size_t tiles_n = wi_gemm_pieces(n, Shape::tile_n);
    size_t count = 0;
    for (size_t column = 0; column < tiles_n;) {
        const wi_syrk_band band = wi_syrk_band_at<Shape>(column, n, upper);
        count += band.count();
        column += band.width;
    }
    return count;
}

template <class Shape>
__device__ wi_gemm_place wi_syrk_place_of(size_t block, size_t n, bool upper) {
    wi_syrk_band band = wi_syrk_band_at<Shape>(0, n, upper);
    while (block >= band.count()) {
        block -= band.count();
        band = wi_syrk_band_at<Shape>(band.column + band.width, n, upper);
    }
    return {(band.begin + block / band.width) * Shape::tile_m,
            (band.column + block % band.width) * Shape::tile_n};
}

template <class Shape, bool by_k>
__global__ void __launch_bounds__(32 * Shape::warps_m * Shape::warps_n, Shape::blocks)
    wi_syrk_tiles(wi_gemm_params<typename Shape::T, typename Shape::T, typename Shape::T> g,
                  bool upper, wi_gemm_condition when) {
    using Block = wi_gemm_block<Shape, by_k, by_k>;
    WEFT_DYNAMIC_SHARED(memory);
    const wi_gemm_place at = wi_syrk_place_of<Shape>(blockIdx.x, g.n, upper);
    const size_t last_row = at.row + Shape::tile_m - 1, last_column = at.column + Shape::tile_n - 1;
    if (!wi_gemm_holds(when) || (upper ? at.row > last_column : last_row < at.column))
        return;
    const Block block = {g, (typename Shape::T *)memory, at.row, at.column, 0, g.k};
    typename Block::Sums sums;
    if (g.k > 0)
        block.add_up(sums);
    block.each(sums, [&](size_t i, size_t j, typename Shape::T sum) {
        if (upper ? i <= j : i >= j)
            wi_gemm_store(g, i, j, sum);
    });
}

template <class Shape, bool by_k>
weft_status wi_syrk_launch_layout(weft_context *ctx, const wi_gemm_args *g, bool upper) {
    using T = typename Shape::T;
    using Block = wi_gemm_block<Shape, by_k, by_k>;
    return WEFT_LAUNCH((wi_syrk_tiles<Shape, by_k>), ctx,
                       (unsigned)wi_syrk_tile_count<Shape>(g->n, upper), Block::threads,
                       Block::shared_bytes, (wi_gemm_typed<T, T, T>(g)), upper, g->when);
}

template <class Shape>
weft_status wi_syrk_launch(weft_context *ctx, const wi_gemm_args *g, bool upper) {
    return g->transposed_a ? wi_syrk_launch_layout<Shape, true>(ctx, g, upper)
                           : wi_syrk_launch_layout<Shape, false>(ctx, g, upper);
}

/* Large tiles where there are enough of them for every multiprocessor; the least where a block has
 * less shared memory. */
template <class Large, class Small, class Least>
weft_status wi_syrk_by_size(weft_context *ctx, const wi_gemm_args *g, bool upper) {
    const size_t units = (size_t)ctx->gpu->multiprocessors;
    if (wi_gemm_has_room<Large>(ctx) && wi_syrk_tile_count<Large>(g->n, upper) >= units)
        return wi_syrk_launch<Large>(ctx, g, upper);
    return wi_gemm_has_room<Small>(ctx) ? wi_syrk_launch<Small>(ctx, g, upper)
                                        : wi_syrk_launch<Least>(ctx, g, upper);
}

/* The types' own, each compiled apart; g's lines begin at multiples of 16 bytes. */
weft_status wi_syrk_tiles_f64(weft_context *ctx, const wi_gemm_args *g, bool upper);
weft_status wi_syrk_tiles_f32(weft_context *ctx, const wi_gemm_args *g, bool upper);

#endif
