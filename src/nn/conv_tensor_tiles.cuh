/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung tensor: gemm's tiles, with one factor gathered from images (conv_tensor.cuh says
 * which). Asynchronous copies run Shape::stages - 1 steps ahead. */
#ifndef WI_CONV_TENSOR_TILES_CUH
#define WI_CONV_TENSOR_TILES_CUH

#include <type_traits>

#include "gemm/gemm_shapes.cuh"
#include "nn/conv_tensor_plan.cuh"

/* Gathers what a block needs of the images for each step into a slab of shared memory, in chunks of
 * 16 bytes. Lines of the slab are pixels and places in them taps. With Taps pixels are terms and
 * taps columns of the result; without, taps are terms and pixels rows. */
template <class T, class Slab, int threads, bool Taps>
struct wi_conv_gatherer {
    static constexpr int chunk = 16 / (int)sizeof(T), chunks = Slab::length / chunk;
    static constexpr int step = threads / chunks, turns = Slab::lines / step;
    static_assert(threads % chunks == 0 && Slab::lines % step == 0, "each thread makes as many");
    static constexpr int spots = Taps ? 0 : Slab::lines; /* kept in shared memory */

    const wi_conv_view &v;
    const T *from;
    wi_conv_spot *spot;
    wi_conv_spot own;     /* with Taps: the thread's tap */
    int line, place, end; /* the thread's first line and its place in lines; where terms end */
    bool valid;           /* the thread's tap exists */

    /* Line l is pixel first + l or, with Taps, place p is tap first + p; those from `count` on do
     * not exist. */
    __device__ wi_conv_gatherer(const wi_conv_view &v_, const T *from_, wi_conv_spot *spot_,
                                int first, int count, int end_)
        : v(v_), from(from_), spot(spot_), own(), line((int)threadIdx.x / chunks),
          place((int)threadIdx.x % chunks * chunk), end(end_), valid(true) {
        if constexpr (Taps) {
            valid = first + place < count;
            own = wi_conv_way_of(v, first + place);
        } else {
            for (int i = (int)threadIdx.x; i < Slab::lines; i += threads) {
                spot[i] = wi_conv_spot_of(v, first + i);
                if (first + i >= count)
                    spot[i].row = INT32_MIN / 2; /* outside, whatever the tap */
            }
            __syncthreads();
        }
    }

    __device__ void load(T *slab, int term) const {
        wi_conv_spot tap = own;
        if constexpr (!Taps)
            tap = wi_conv_way_of(v, term + place);
#pragma unroll
        for (int turn = 0; turn < turns; turn++) {
            const int l = line + turn * step;
            T *const to = slab + Slab::at_line(l, place);
            if constexpr (Taps)
                wi_conv_fetch(v, to, from, wi_conv_spot_of(v, term + l), tap,
                              valid & (term + l < end));
            else
                wi_conv_fetch(v, to, from, spot[l], tap, term + place < end);
        }
    }
};

template <class Shape, bool Taps>
struct wi_conv_tensor_block {
    using T = typename Shape::T;
    using Product = wi_gemm_block<Shape, !Taps, !Taps>;
    using A = typename Product::A;
    using B = typename Product::B;
    using Gathered = std::conditional_t<Taps, B, A>;
    using Plain = std::conditional_t<Taps, A, B>;
    using Gatherer = wi_conv_gatherer<T, Gathered, Product::threads, Taps>;
    static constexpr int threads = Product::threads;
    static constexpr size_t sum_bytes = wi_conv_sums_bytes(Shape::tile_m, Shape::tile_n);
    static constexpr size_t spot_bytes = Gatherer::spots * sizeof(wi_conv_spot);
    static constexpr size_t shared_bytes =
        spot_bytes + (Product::operand_bytes > sum_bytes ? Product::operand_bytes : sum_bytes);
};

template <class Shape, bool Taps>
static __global__ void __launch_bounds__(wi_conv_tensor_block<Shape, Taps>::threads, Shape::blocks)
    wi_conv_tensor_tiles(const __grid_constant__ wi_conv_tensor_job<typename Shape::T> p) {
    using Block = wi_conv_tensor_block<Shape, Taps>;
    using T = typename Shape::T;
    WEFT_DYNAMIC_SHARED(memory);
    T *const slabs = (T *)(memory + Block::spot_bytes);
    const wi_conv_tensor_tile b =
        wi_conv_tensor_tile_of<Shape::tile_m, Shape::tile_n>(p, blockIdx.x);
    const typename Block::Gatherer gatherer(p.view, p.gathered + (size_t)b.group * p.gathered_group,
                                            (wi_conv_spot *)memory, Taps ? b.column : b.row,
                                            Taps ? p.columns : p.rows, b.end);
    const wi_gemm_loader<T, typename Block::Plain, Block::threads, false, true> plain(
        p.plain + (size_t)b.group * p.plain_group, p.plain_pitch, (size_t)(Taps ? b.row : b.column),
        (size_t)(Taps ? p.plain_length : p.columns));
    typename Block::Product::Sums sums;
    int term = b.first;
    const auto load = [&](int slot) {
        T *const a = slabs + slot * Block::Product::stage, *const rest = a + Block::A::size;
        if (term < b.end) {
            const int left = b.end - term < Shape::tile_k ? b.end - term : Shape::tile_k;
            gatherer.load(Taps ? rest : a, term);
            plain.load(Taps ? a : rest, (size_t)term, left);
        }
        wi_async_commit();
        term += Shape::tile_k;
    };
    if (b.first < b.end) {
        const typename Block::Product::Params none = {};
        const typename Block::Product product = {none, slabs, 0, 0, 0, 0};
        for (int slot = 0; slot < Shape::stages - 1; slot++)
            load(slot);
        product.multiply(sums, wi_gemm_pieces((size_t)(b.end - b.first), Shape::tile_k), load);
        wi_async_wait<0>();
    }
    float *const tile = (float *)slabs;
    __syncthreads();
    sums.each(
        [&](int i, int j, float sum) { tile[i * (Shape::tile_n + wi_conv_sums_pad) + j] = sum; });
    __syncthreads();
    wi_conv_store_sums<Shape::tile_m, Shape::tile_n, Block::threads>(p, b, tile);
}

/* How the plan launches a job: tiles of 128 x 128 or, if `narrow`, 64 filters x 128. */
template <template <class> class Shape, class T>
struct wi_conv_tensor_engine {
    static constexpr int depth =
        Shape<wi_gemm_extents<128, 128, 64 / sizeof(T), 2, 2, 4, 2>>::tile_k;
    static constexpr int blocks = 2, together = 1;
    static constexpr bool across = false;

    static void cut(const weft_context *ctx, wi_conv_tensor_launch<T> *l, int count) {
        for (int k = 0; k < count; k++)
            wi_conv_tensor_cut<wi_conv_tensor_engine>(ctx, &l[k]);
    }

    template <int rows, int columns, bool Taps>
    static weft_status launch_tile(weft_context *ctx, const wi_conv_tensor_job<T> &job) {
        /* of the one tile for which registers would go to two blocks where three had room */
        constexpr int least = rows == 64 && Taps && sizeof(T) == 4 ? 3 : 2;
        using shape = Shape<wi_gemm_extents<rows, columns, 64 / sizeof(T), 2, 2, 4, least>>;
        using block = wi_conv_tensor_block<shape, Taps>;
        return WEFT_LAUNCH((wi_conv_tensor_tiles<shape, Taps>), ctx, job.blocks(), block::threads,
                           block::shared_bytes, job);
    }
    static weft_status launch(weft_context *ctx, const wi_conv_args *,
                              const wi_conv_tensor_launch<T> *l, int) {
        if (l->taps)
            return l->narrow ? launch_tile<64, 128, true>(ctx, l->job)
                             : launch_tile<128, 128, true>(ctx, l->job);
        return l->narrow ? launch_tile<128, 64, false>(ctx, l->job)
                         : launch_tile<128, 128, false>(ctx, l->job);
    }
};

#endif
