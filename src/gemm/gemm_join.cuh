/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that adds up the slices of the tiles that gemm_deal.cuh has cut, on the whole device.
 * It reads them by 16 bytes, and what is the same for a block is computed by one thread: divisions
 * took longer than the sums when each thread made them for its own element. All of that is done
 * before the slices have ended. */
#ifndef WI_GEMM_JOIN_CUH
#define WI_GEMM_JOIN_CUH

#include "cuda/ahead.cuh"
#include "gemm/gemm_deal.cuh"

struct wi_gemm_tiling {
    unsigned tile_m, tile_n, band;
};

/* What a block adds up: a piece of one tile. */
struct wi_gemm_joined {
    size_t row, column; /* of the tile, in C */
    size_t cut, from, end;
};

template <class T, class Out, class Sum>
__device__ wi_gemm_joined wi_gemm_joined_by(const wi_gemm_params<T, Out, Sum> &g,
                                            const wi_gemm_deal<Sum> &deal, const wi_gemm_tiling &t,
                                            unsigned cut) {
    const wi_gemm_place at = wi_gemm_place_in(deal.whole + cut, wi_gemm_pieces(g.m, t.tile_m),
                                              wi_gemm_pieces(g.n, t.tile_n), t.band);
    return {at.row * t.tile_m, at.column * t.tile_n, cut, deal.first_share(cut),
            deal.last_share(cut) + 1};
}

/* Stores a run of sums, from (i, j) on. */
template <class T, class Out, class Sum, int count>
__device__ void wi_gemm_store_run(const wi_gemm_params<T, Out, Sum> &g, size_t i, size_t j,
                                  const wi_gemm_run<Sum, count> &sum) {
    using run = wi_gemm_run<Out, count>;
    Out *const to = g.c + i + j * g.ldc;
    if (g.c && !g.c_by_rows && i + count <= g.m && (uintptr_t)to % sizeof(run) == 0)
        wi_gemm_update_run((run *)to, g.alpha, sum, g.beta);
    else
#pragma unroll
        for (int q = 0; q < count; q++)
            if (i + (size_t)q < g.m)
                wi_gemm_store_either(g, i + (size_t)q, j, sum.at[q]);
}

/* `lanes` of a block's threads have a run each of a tile, and so many groups of them as there are
 * add up some slices each; the first then adds up what the groups have. */
template <class T, class Out, class Sum>
__global__ void __launch_bounds__(wi_gemm_joiners)
    wi_gemm_join_slices(wi_gemm_params<T, Out, Sum> g, wi_gemm_deal<Sum> deal, wi_gemm_tiling t,
                        int lanes) {
    constexpr int count = wi_gemm_joined_run<Sum>;
    using run = wi_gemm_run<Sum, count>;
    WEFT_SHARED(run, sums, [wi_gemm_joiners]);
    WEFT_SHARED(wi_gemm_joined, part, );
    const unsigned elements = t.tile_m * t.tile_n, of_block = (unsigned)(lanes * count);
    const unsigned pieces = elements / of_block;
    if (threadIdx.x == 0)
        part = wi_gemm_joined_by(g, deal, t, blockIdx.x / pieces);
    __syncthreads();
    const int groups = wi_gemm_joiners / lanes;
    const int lane = (int)threadIdx.x % lanes, group = (int)threadIdx.x / lanes;
    const unsigned e = blockIdx.x % pieces * of_block + (unsigned)(lane * count);
    const size_t i = part.row + e % t.tile_m, j = part.column + e / t.tile_m;
    const unsigned slices = (unsigned)(part.end - part.from);
    const unsigned each = (slices + (unsigned)groups - 1) / (unsigned)groups;
    const size_t first = part.from + (unsigned)group * each;
    const size_t past = first + each < part.end ? first + each : part.end;
    const bool is_there = i < g.m && j < g.n;
    wi_wait_for_earlier();
    if (!wi_gemm_holds(deal.when))
        return;
    run sum = {};
    if (is_there)
#pragma unroll 8
        for (size_t s = first; s < past; s++) {
            const run x = *(const run *)(deal.partial + deal.place(s, part.cut) * elements + e);
#pragma unroll
            for (int q = 0; q < count; q++)
                sum.at[q] = wi_plus(sum.at[q], x.at[q]);
        }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (group > 0 || !is_there)
        return;
    for (int other = 1; other < groups; other++)
#pragma unroll
        for (int q = 0; q < count; q++)
            sum.at[q] = wi_plus(sum.at[q], sums[other * lanes + lane].at[q]);
    wi_gemm_store_run(g, i, j, sum);
}

/* Adds up what slices have left. */
template <class Shape, class Params>
weft_status wi_gemm_join_after(weft_context *ctx, const Params &g, size_t units,
                               const wi_gemm_deal<typename Shape::Sum> &deal) {
    using Sum = typename Shape::Sum;
    constexpr size_t tile_m = Shape::tile_m, tile_n = wi_gemm_dealt_n<Shape>;
    constexpr size_t runs = tile_m * tile_n / wi_gemm_joined_run<Sum>;
    const wi_gemm_tiling t = {(unsigned)tile_m, (unsigned)tile_n, Shape::band};
    const size_t slices = wi_gemm_pieces(deal.steps, deal.share);
    const int lanes = wi_gemm_joining_lanes(units, deal.rest * runs, slices);
    const unsigned blocks = (unsigned)(deal.rest * (runs / (size_t)lanes));
    /* Blocks that are there ahead would wait on the multiprocessors that were left to others. */
    if (units < (size_t)ctx->gpu->multiprocessors)
        return WEFT_LAUNCH((wi_gemm_join_slices<typename Shape::T, typename Shape::Out, Sum>), ctx,
                           blocks, wi_gemm_joiners, 0, g, deal, t, lanes);
    return WEFT_LAUNCH_AHEAD((wi_gemm_join_slices<typename Shape::T, typename Shape::Out, Sum>),
                             ctx, blocks, wi_gemm_joiners, 0, g, deal, t, lanes);
}

#endif
