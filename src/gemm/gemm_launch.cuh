/* SPDX-License-Identifier: Apache-2.0 */
/* How a product by tiles is launched: which layouts the matrices have, and whether k is cut so that
 * a small C keeps the whole device busy. All lines of A and B begin at multiples of 16 bytes. */
#ifndef WI_GEMM_LAUNCH_CUH
#define WI_GEMM_LAUNCH_CUH

#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_join.cuh"
#include "gemm/gemm_shapes.cuh"

/* Of a slice: fewer do not repay the sums' way to memory. */
WI_LIMIT(size_t, wi_gemm_least_steps, 8)
constexpr size_t wi_gemm_most_slices = 512;

template <class Shape, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(wi_gemm_block<Shape, a_by_k, b_by_k>::threads, Shape::blocks)
    wi_gemm_tiles(wi_gemm_params<typename Shape::T, typename Shape::Out, typename Shape::Sum> g,
                  wi_gemm_slices<typename Shape::Sum> slices) {
    using Block = wi_gemm_block<Shape, a_by_k, b_by_k>;
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    WEFT_DYNAMIC_SHARED(memory);
    const size_t tiles_m = wi_gemm_pieces(g.m, Shape::tile_m);
    const size_t tiles_n = wi_gemm_pieces(g.n, Shape::tile_n);
    const size_t tile = blockIdx.x % (tiles_m * tiles_n), slice = blockIdx.x / (tiles_m * tiles_n);
    const wi_gemm_place place = wi_gemm_place_of<8>(tile, tiles_m, tiles_n);
    const size_t row = place.row * Shape::tile_m, column = place.column * Shape::tile_n;
    const size_t first = slice * slices.depth;
    const size_t end = g.k - first < slices.depth ? g.k : first + slices.depth;
    const Block block = {g, (typename Shape::T *)memory, row, column, first, end};
    typename Block::Sums sums;
    if (first < end)
        block.add_up(sums);
    block.each(sums, [&](size_t i, size_t j, typename Shape::Sum sum) {
        wi_gemm_store_slice(g, slices, slice, i, j, sum);
    });
}

/* The sum of slices first, first + 1, ... of a run of elements, which slice s has at at(s): several
 * are read at once, before any is added. */
template <int count, class Sum, class At>
__device__ inline wi_gemm_run<Sum, count> wi_gemm_sum_of_slices(size_t first, size_t past,
                                                                const At &at) {
    using run = wi_gemm_run<Sum, count>;
    constexpr int at_once = 8;
    run sum = {};
    for (size_t s = first; s < past; s += at_once) {
        run x[at_once] = {};
#pragma unroll
        for (int q = 0; q < at_once; q++)
            if (s + (size_t)q < past)
                x[q] = *(const run *)at(s + (size_t)q);
#pragma unroll
        for (int q = 0; q < at_once; q++)
#pragma unroll
            for (int r = 0; r < count; r++)
                if (s + (size_t)q < past)
                    sum.at[r] = wi_plus(sum.at[r], x[q].at[r]);
    }
    return sum;
}

/* Stores a run of sums that lie together in a slice: from one column to the next where they are not
 * of one. */
template <class T, class Out, class Sum, int count>
__device__ void wi_gemm_store_combined(const wi_gemm_params<T, Out, Sum> &g, size_t e,
                                       const wi_gemm_run<Sum, count> &sum) {
    size_t j = e / g.m, i = e - j * g.m;
    if (g.m % count == 0)
        return wi_gemm_store_run(g, i, j, sum);
#pragma unroll
    for (int q = 0; q < count; q++) {
        wi_gemm_store_either(g, i, j, sum.at[q]);
        if (++i == g.m) {
            i = 0;
            j++;
        }
    }
}

/* C from the sums of all slices: `lanes` of a block's threads have a run of `count` elements each,
 * and so many groups of them as there are add up some slices each, in their order; the first then
 * adds up what the groups have. */
template <class T, class Out, class Sum, int count>
__global__ void __launch_bounds__(wi_gemm_joiners)
    wi_gemm_combine(wi_gemm_params<T, Out, Sum> g, wi_gemm_slices<Sum> slices, size_t of_slices,
                    int lanes) {
    using run = wi_gemm_run<Sum, count>;
    WEFT_SHARED(run, sums, [wi_gemm_joiners]);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    const int groups = wi_gemm_joiners / lanes;
    const int lane = (int)threadIdx.x % lanes, group = (int)threadIdx.x / lanes;
    const size_t runs = g.m * g.n / count, stride = (size_t)gridDim.x * (size_t)lanes;
    const size_t each = wi_gemm_pieces(of_slices, (size_t)groups), from = (size_t)group * each;
    const size_t past = from + each < of_slices ? from + each : of_slices;
    for (size_t first = (size_t)blockIdx.x * (size_t)lanes; first < runs; first += stride) {
        const size_t at = first + (size_t)lane;
        run sum = {};
        if (at < runs)
            sum = wi_gemm_sum_of_slices<count, Sum>(
                from, past, [&](size_t s) { return slices.partial + (s * runs + at) * count; });
        sums[threadIdx.x] = sum;
        __syncthreads();
        if (group == 0 && at < runs) {
            for (int other = 1; other < groups; other++)
#pragma unroll
                for (int q = 0; q < count; q++)
                    sum.at[q] = wi_plus(sum.at[q], sums[other * lanes + lane].at[q]);
            wi_gemm_store_combined(g, at * count, sum);
        }
        __syncthreads();
    }
}

template <int count, class T, class Out, class Sum>
weft_status wi_gemm_combine_runs(weft_context *ctx, const wi_gemm_params<T, Out, Sum> &g,
                                 const wi_gemm_slices<Sum> &slices, size_t of_slices) {
    const size_t units = (size_t)ctx->gpu->multiprocessors, most = units * 8;
    const size_t runs = g.m * g.n / count;
    const int lanes = wi_gemm_joining_lanes(units, runs, of_slices);
    const size_t blocks = wi_gemm_pieces(runs, (size_t)lanes);
    return WEFT_LAUNCH_AHEAD((wi_gemm_combine<T, Out, Sum, count>), ctx,
                             (unsigned)(blocks < most ? blocks : most), wi_gemm_joiners, 0, g,
                             slices, of_slices, lanes);
}
/* By 16 bytes, if they divide the elements. */
template <class T, class Out, class Sum>
weft_status wi_gemm_combine_after(weft_context *ctx, const wi_gemm_params<T, Out, Sum> &g,
                                  const wi_gemm_slices<Sum> &slices, size_t of_slices) {
    constexpr int wide = wi_gemm_joined_run<Sum>;
    return g.m * g.n % wide == 0 ? wi_gemm_combine_runs<wide>(ctx, g, slices, of_slices)
                                 : wi_gemm_combine_runs<1>(ctx, g, slices, of_slices);
}

/* Memory for the sums of slices, if there are several. */
template <class T, class Out, class Sum>
weft_status wi_gemm_borrow_slices(weft_context *ctx, const wi_gemm_params<T, Out, Sum> &g,
                                  size_t count, wi_gemm_slices<Sum> *slices) {
    return count == 1 ? WEFT_OK
                      : wi_gpu_borrow(ctx, &wi_gemm_partial_key, count * g.m * g.n * sizeof(Sum),
                                      (void **)&slices->partial);
}
/* Adds them up, if they have been queued, and gives their memory back. */
template <class T, class Out, class Sum>
weft_status wi_gemm_end_slices(weft_context *ctx, const wi_gemm_params<T, Out, Sum> &g,
                               const wi_gemm_slices<Sum> &slices, size_t count,
                               weft_status status) {
    if (count == 1)
        return status;
    if (status == WEFT_OK)
        status = wi_gemm_combine_after(ctx, g, slices, count);
    const weft_status freed = wi_gpu_hand_back(ctx, slices.partial);
    return status == WEFT_OK ? freed : status;
}

template <class Shape>
size_t wi_gemm_tile_count(const wi_gemm_args *g) {
    return wi_gemm_pieces(g->m, Shape::tile_m) * wi_gemm_pieces(g->n, Shape::tile_n);
}

/* Slices of k with which the tiles fill the device once. */
template <class Shape>
size_t wi_gemm_slice_count(const weft_context *ctx, const wi_gemm_args *g) {
    const size_t room = (size_t)ctx->gpu->multiprocessors * Shape::blocks;
    const size_t steps = wi_gemm_pieces(g->k, Shape::tile_k);
    size_t slices = room / wi_gemm_tile_count<Shape>(g);
    if (slices > steps / wi_gemm_least_steps)
        slices = steps / wi_gemm_least_steps;
    return slices < 2 ? 1 : slices < wi_gemm_most_slices ? slices : wi_gemm_most_slices;
}

/* More than a few blocks are not launched ahead: they would all go to the multiprocessors that the
 * earlier kernel leaves first, and some of these would have more than their part. */
template <class Shape, bool a_by_k, bool b_by_k>
weft_status wi_gemm_launch(weft_context *ctx, const wi_gemm_args *args) {
    using T = typename Shape::T;
    using Out = typename Shape::Out;
    using Sum = typename Shape::Sum;
    using Block = wi_gemm_block<Shape, a_by_k, b_by_k>;
    const wi_gemm_params<T, Out, Sum> g = wi_gemm_typed<T, Out, Sum>(args);
    const size_t tiles = wi_gemm_tile_count<Shape>(args);
    const size_t wanted = wi_gemm_slice_count<Shape>(ctx, args);
    const size_t steps = wi_gemm_pieces(wi_gemm_pieces(g.k, Shape::tile_k), wanted);
    wi_gemm_slices<Sum> slices = {NULL, steps * Shape::tile_k, args->when};
    const size_t count = g.k == 0 ? 1 : wi_gemm_pieces(g.k, slices.depth);
    weft_status status = wi_gemm_borrow_slices(ctx, g, count, &slices);
    if (status != WEFT_OK)
        return status;
    const unsigned blocks = (unsigned)(tiles * count);
    const bool is_few = 2 * blocks <= (unsigned)ctx->gpu->multiprocessors;
    status = is_few ? WEFT_LAUNCH_AHEAD((wi_gemm_tiles<Shape, a_by_k, b_by_k>), ctx, blocks,
                                        Block::threads, Block::shared_bytes, g, slices)
                    : WEFT_LAUNCH((wi_gemm_tiles<Shape, a_by_k, b_by_k>), ctx, blocks,
                                  Block::threads, Block::shared_bytes, g, slices);
    return wi_gemm_end_slices(ctx, g, slices, count, status);
}

/* By where elements lie together: along m or k in A, along k or n in B. */
template <class Shape>
weft_status wi_gemm_by_layout(weft_context *ctx, const wi_gemm_args *g) {
    if (g->transposed_a)
        return g->transposed_b ? wi_gemm_launch<Shape, true, false>(ctx, g)
                               : wi_gemm_launch<Shape, true, true>(ctx, g);
    return g->transposed_b ? wi_gemm_launch<Shape, false, false>(ctx, g)
                           : wi_gemm_launch<Shape, false, true>(ctx, g);
}

/* Can a block of this device have as much shared memory as the shape takes, however A and B lie? */
template <class Shape>
bool wi_gemm_has_room(const weft_context *ctx) {
    const size_t room = ctx->gpu->shared_optin;
    return wi_gemm_block<Shape, false, false>::shared_bytes <= room &&
           wi_gemm_block<Shape, false, true>::shared_bytes <= room &&
           wi_gemm_block<Shape, true, false>::shared_bytes <= room &&
           wi_gemm_block<Shape, true, true>::shared_bytes <= room;
}

/* Large tiles where there are enough of them for every multiprocessor. */
template <class Large, class Small>
weft_status wi_gemm_by_size(weft_context *ctx, const wi_gemm_args *g) {
    const bool enough = wi_gemm_tile_count<Large>(g) >= (size_t)ctx->gpu->multiprocessors;
    return enough && wi_gemm_has_room<Large>(ctx) ? wi_gemm_by_layout<Large>(ctx, g)
                                                  : wi_gemm_by_layout<Small>(ctx, g);
}

/* The types' own, each compiled apart. */
weft_status wi_gemm_narrow_f32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_thin_tf32(weft_context *ctx, const wi_gemm_args *g);
bool wi_gemm_has_room_for_thin_tf32(const weft_context *ctx);
weft_status wi_gemm_thin_f16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_thin_bf16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_small_f64(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_small_f32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_small_tf32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_small_f16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_small_bf16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_pipeline_f32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_pipeline_f32_elements(weft_context *ctx, const wi_gemm_args *g);
bool wi_gemm_has_room_for_elements_f64(const weft_context *ctx);
weft_status wi_gemm_tensor_f64_elements(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_tensor_f64(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_tensor_tf32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_tensor_f16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_tensor_bf16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_tensor_i8(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_parts(weft_context *ctx, const wi_gemm_args *g, unsigned *unfit);
weft_status wi_gemm_ring_f32(weft_context *ctx, const wi_gemm_args *g);
/* The largest tiles of f32 want operands that lie across: are they the best with the time to turn
 * what lies along k? */
bool wi_gemm_ring_f32_wants_across(const weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_f32_across(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_f64(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_tf32(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_tf32_both_across(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_f16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_bf16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_i8(weft_context *ctx, const wi_gemm_args *g);

#endif
