/* SPDX-License-Identifier: Apache-2.0 */
/* How a product by tiles is launched: which layouts the matrices have, and whether k is cut so that
 * a small C keeps the whole device busy. All lines of A and B begin at multiples of 16 bytes. */
#ifndef WI_GEMM_LAUNCH_CUH
#define WI_GEMM_LAUNCH_CUH

#include "cuda/ahead.cuh"
#include "cuda/limit.cuh"
#include "gemm/gemm_deal.cuh"
#include "gemm/gemm_shapes.cuh"

/* Of a slice: fewer do not repay the sums' way to memory. */
WI_LIMIT(size_t, wi_gemm_least_steps, 8)
constexpr size_t wi_gemm_most_slices = 512;

template <class Shape, bool a_by_k, bool b_by_k>
__global__ void __launch_bounds__(32 * Shape::warps_m * Shape::warps_n, Shape::blocks)
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
        if (slices.partial)
            slices.partial[(slice * g.n + j) * g.m + i] = sum;
        else
            wi_gemm_store_either(g, i, j, sum);
    });
}

/* C from the sums of all slices: `lanes` of a block's threads have an element each, and so many
 * groups of them as there are add up some slices each, in their order; the first then adds up what
 * the groups have. */
template <class T, class Out, class Sum>
__global__ void __launch_bounds__(wi_gemm_joiners)
    wi_gemm_combine(wi_gemm_params<T, Out, Sum> g, wi_gemm_slices<Sum> slices, size_t count,
                    int lanes) {
    WEFT_SHARED(Sum, sums, [wi_gemm_joiners]);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    const int groups = wi_gemm_joiners / lanes;
    const int lane = (int)threadIdx.x % lanes, group = (int)threadIdx.x / lanes;
    const size_t elements = g.m * g.n, stride = (size_t)gridDim.x * (size_t)lanes;
    const size_t each = wi_gemm_pieces(count, (size_t)groups), from = (size_t)group * each;
    const size_t past = from + each < count ? from + each : count;
    for (size_t first = (size_t)blockIdx.x * (size_t)lanes; first < elements; first += stride) {
        const size_t e = first + (size_t)lane;
        Sum sum = 0;
        if (e < elements)
#pragma unroll 8
            for (size_t s = from; s < past; s++)
                sum = wi_plus(sum, slices.partial[s * elements + e]);
        sums[threadIdx.x] = sum;
        __syncthreads();
        if (group == 0 && e < elements) {
            for (int other = 1; other < groups; other++)
                sum = wi_plus(sum, sums[other * lanes + lane]);
            wi_gemm_store_either(g, e % g.m, e / g.m, sum);
        }
        __syncthreads();
    }
}

template <class T, class Out, class Sum>
weft_status wi_gemm_combine_after(weft_context *ctx, const wi_gemm_params<T, Out, Sum> &g,
                                  const wi_gemm_slices<Sum> &slices, size_t count) {
    const size_t units = (size_t)ctx->gpu->multiprocessors, most = units * 8;
    const int lanes = wi_gemm_joining_lanes(units, g.m * g.n, count);
    const size_t blocks = wi_gemm_pieces(g.m * g.n, (size_t)lanes);
    return WEFT_LAUNCH_AHEAD((wi_gemm_combine<T, Out, Sum>), ctx,
                             (unsigned)(blocks < most ? blocks : most), wi_gemm_joiners, 0, g,
                             slices, count, lanes);
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
weft_status wi_gemm_ring_f16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_bf16(weft_context *ctx, const wi_gemm_args *g);
weft_status wi_gemm_ring_i8(weft_context *ctx, const wi_gemm_args *g);

#endif
