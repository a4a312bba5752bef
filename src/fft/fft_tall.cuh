/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that fill a multiprocessor: `wide` lines of n = R1 R2 R3 numbers next to each other, in
 * the shared memory of one block, or of the two blocks of a cluster. Blocks go from tile to tile.
 * `wide` numbers of a row are 64 or 128 bytes: with 32 a pass takes a third longer, though others
 * have the rest of a line of the cache at the same time.
 *
 * Stage 1 takes numbers j + k n / R1, of which a block has the j of its share, and hands result k
 * to the block that has the k: position j R1 + k of Stockham's order. From there on position p goes
 * only to positions with the same p mod R1, so that the other two stages stay in a block, in which
 * they look as if R1 were R1 / blocks.
 *
 * Beside the tile there is room for the first rows of the next one, which come meanwhile; the
 * others come where this tile was, when its last stage has read it. So memory does not rest while a
 * block computes. */
#ifndef WI_FFT_TALL_CUH
#define WI_FFT_TALL_CUH

#include "cuda/ahead.cuh"
#include "cuda/anew.cuh"
#include "cuda/async.cuh"
#include "fft/fft_cut.cuh"
#include "fft/fft_few.cuh"

/* How lines lie in an array. Not folded: number r of line c at r stride + c near. Folded: tiles of
 * 2^line_bits lines, each in one piece, in which boxes of 2^number_bits numbers of all its lines
 * follow each other; in a box are 2^fold_bits lines side by side, number by number, and then the
 * next such lines. */
struct wi_fft_tall_side {
    bool folds;
    unsigned line_bits, number_bits, fold_bits;
    size_t tile; /* numbers */

    /* Of number r of line c. */
    __device__ __forceinline__ size_t at(unsigned r, unsigned c) const {
        const unsigned line = c & ((1u << line_bits) - 1), number = r & ((1u << number_bits) - 1);
        return (c >> line_bits) * tile + ((size_t)(r - number) << line_bits) +
               ((((line >> fold_bits) << number_bits) + number) << fold_bits) +
               (line & ((1u << fold_bits) - 1));
    }
};

template <class T>
struct wi_fft_tall_params {
    wi_fft_pass<T> p;
    wi_fft_tall_side in, out;
    unsigned tiles;
    bool pairs; /* rows begin at multiples of 16 bytes */
};

template <class T, unsigned blocks_, unsigned threads_, unsigned wide_, int R1_, int R2_, int R3_,
          unsigned room = 227u << 10>
struct wi_fft_tall_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned blocks = blocks_, threads = threads_, wide = wide_;
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_;
    static constexpr unsigned n = R1 * R2 * R3, own = n / blocks; /* rows, of a block */
    static constexpr unsigned share = R1 / blocks;     /* results of stage 1, of a block */
    static constexpr unsigned width = n / R1 / blocks; /* sets of stage 1 in a column */
    static constexpr unsigned radix[] = {(unsigned)R1, (unsigned)R2, (unsigned)R3};
    /* A row is left out after `share` rows, so that threads that write rows so far apart meet
     * different banks. */
    static constexpr unsigned gap = share;
    static constexpr unsigned line = wi_fft_spread<gap>(own) * wide, turns = R3 * wide;
    /* Copies of 16 bytes: a thread brings so many numbers of a row, and all threads so many rows
     * at once. */
    static constexpr unsigned each = 16 / (unsigned)sizeof(number);
    static constexpr unsigned rows = threads * each / wide, copies = own / rows;
    static constexpr unsigned unit = rows > width ? rows : width; /* of what comes early */
    static constexpr unsigned most = (room - 256) / (unsigned)sizeof(number);
    static constexpr unsigned fit = (most - line - turns) / (unit * wide) * unit;
    static constexpr unsigned early = fit < own ? fit : own; /* rows */
    static constexpr size_t bytes = (line + turns + early * wide) * sizeof(number);
    static_assert(rows * copies == own && unit % rows == 0 && unit % width == 0, "whole copies");
    static_assert(share * blocks == R1 && own / R2 % gap == 0, "blocks have equal shares");
};

template <class Shape>
struct wi_fft_tall_block {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr unsigned wide = Shape::wide, threads = Shape::threads;
    static constexpr int R1 = Shape::R1, R2 = Shape::R2, R3 = Shape::R3;
    const wi_fft_tall_params<T> &all;
    number *line, *turns, *ahead; /* shared */
    wi_barrier *arrived;
    unsigned rank;

    template <int R>
    static constexpr int sets = (int)(Shape::own *wide / R / threads);

    /* Row number i rows + r of this block's, from the array. */
    template <bool is_early>
    __device__ __forceinline__ void bring(const wi_fft_place &at) const {
        constexpr unsigned pieces = wide / Shape::each, rows = Shape::rows, width = Shape::width;
        constexpr unsigned from = is_early ? 0 : Shape::early / rows;
        constexpr unsigned to = is_early ? Shape::early / rows : Shape::copies;
        const wi_fft_pass<T> &p = all.p;
        const unsigned r = threadIdx.x / pieces, column = threadIdx.x % pieces * Shape::each;
        const unsigned row = r / width * (Shape::n / R1) + rank * width + r % width;
        const number *const x =
            p.x + at.in + (all.in.folds ? all.in.at(row, column) : row * p.stride_in + column);
        number *const here = (is_early ? ahead : line) + threadIdx.x * Shape::each;
#pragma unroll
        for (unsigned i = from; i < to; i++) {
            constexpr unsigned apart = Shape::n / R1;
            const unsigned on = rows >= width ? i * (rows / width) * apart
                                              : i * rows / width * apart + i * rows % width;
            number *const put = here + (i - from) * rows * wide;
            const number *const get = x + on * p.stride_in;
            if (sizeof(T) == 8 || all.pairs) {
                wi_async_copy<16, true>(put, get, true);
            } else {
                wi_async_copy<8>(put, get);
                wi_async_copy<8>(put + 1, get + 1);
            }
        }
        wi_async_commit();
    }

    /* w^(l R1 R2 k) for each line l of the tile. */
    __device__ __forceinline__ void fill_turns(const wi_fft_place &at) const {
        const wi_fft_pass<T> &p = all.p;
        if (p.turning < 0)
            return;
        for (unsigned i = threadIdx.x; i < Shape::turns; i += threads) {
            const number w =
                p.circle.template at<T>((size_t)(at.first + i % wide) * (R1 * R2) * (i / wide));
            turns[i] = w;
        }
    }

    __device__ __forceinline__ void take(unsigned b, T *re, T *im) const {
        constexpr unsigned rows = Shape::early / Shape::width;
        const T sign = all.p.sign_in;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R1; k++) {
            const number v = (k < rows ? ahead + k * Shape::width * wide
                                       : line + (k - rows) * Shape::width * wide)[b];
            re[k] = v.re;
            im[k] = v.im * sign;
        }
    }

    /* Result k of set j: in the block that has k, position j share + k mod share. */
    __device__ __forceinline__ void hand_over(unsigned b, const T *re, const T *im) const {
        constexpr unsigned share = Shape::share;
        const unsigned j = rank * Shape::width + b / wide;
        number *const to = line + j * (share + 1) * wide + b % wide;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R1; k++) {
            const number v = {re[k], im[k]};
            if constexpr (Shape::blocks == 1)
                to[k * wide] = v;
            else
                wi_fft_send(to + k % share * wide, v, arrived, k / share);
        }
    }

    template <int R>
    __device__ __forceinline__ void fetch(unsigned b, T *re, T *im) const {
        const number *const from = line + wi_fft_spread<Shape::gap>(b / wide) * wide + b % wide;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R; k++) {
            const number v = from[wi_fft_spread<Shape::gap>(k * (Shape::own / R)) * wide];
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    template <int R>
    __device__ __forceinline__ static void turn(const wi_fft_few<R, T> &w, T *re, T *im) {
#pragma unroll
        for (int k = 1; k < R; k++) {
            const number v = wi_fft_product(number{re[k], im[k]}, w.at(k));
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    __device__ __forceinline__ void keep(unsigned b, const T *re, const T *im) const {
        constexpr unsigned share = Shape::share;
        const unsigned j = b / wide;
        number *const to = line + (j / share * (share + 1) * R2 + j % share) * wide + b % wide;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R2; k++)
            to[k * (share + 1) * wide] = {re[k], im[k]};
    }

    /* The number, before stage 3, of position j of this block's: of all its blocks'. */
    __device__ __forceinline__ unsigned whole(unsigned j) const {
        return j / Shape::share * R1 + rank * Shape::share + j % Shape::share;
    }

    __device__ __forceinline__ void store(const wi_fft_place &at, unsigned b, number start,
                                          const T *re, const T *im) const {
        const wi_fft_pass<T> &p = all.p;
        const unsigned r = whole(b / wide), column = b % wide;
        /* line and number change places: a result is a number of the second pass's line r */
        const size_t first = at.out + (all.out.folds ? all.out.at(column, r)
                                                     : column * p.near_out + r * p.stride_out);
        const size_t step = all.out.folds
                                ? ((unsigned)(R1 * R2) >> all.out.line_bits) * all.out.tile
                                : R1 * R2 * p.stride_out;
        number *const to = p.y + first;
        if (p.turning >= 0) {
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++) {
                const number v = wi_fft_product(number{re[k], im[k]},
                                                wi_fft_product(start, turns[k * wide + column]));
                to[k * step] = v;
            }
        } else {
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++)
                to[k * step] = {re[k] * p.scale_re, im[k] * p.scale_im};
        }
    }

    /* `next`: the tile that shall be brought meanwhile. */
    template <class Next>
    __device__ __forceinline__ void first_stage(bool has_next, const Next &next) const {
        constexpr int count = sets<R1>;
        T re[count][R1], im[count][R1];
#pragma unroll
        for (int i = 0; i < count; i++)
            take(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
        if constexpr (Shape::blocks > 1)
            wi_cluster_arrive_read();
        __syncthreads();
        if (has_next)
            bring<true>(next());
#pragma unroll
        for (int i = 0; i < count; i++)
            wi_fft_butterfly<R1>(re[i], im[i]);
        if constexpr (Shape::blocks > 1)
            wi_cluster_wait();
#pragma unroll
        for (int i = 0; i < count; i++)
            hand_over(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
    }

    /* The same twiddles for all sets of a thread. */
    __device__ __forceinline__ void load_middle(wi_fft_few<R2, T> &w) const {
        static_assert(threads / wide % Shape::share == 0, "sets of a thread have the same place");
        w.load(all.p.twiddles + rank * Shape::share + threadIdx.x / wide % Shape::share, R1);
    }
    __device__ __forceinline__ void middle_stage(const wi_fft_few<R2, T> &w) const {
        constexpr int count = sets<R2>;
        T re[count][R2], im[count][R2];
#pragma unroll
        for (int i = 0; i < count; i++) {
            fetch<R2>(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
            turn<R2>(w, re[i], im[i]);
            wi_fft_butterfly<R2>(re[i], im[i]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < count; i++)
            keep(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
    }

    /* w^(l j) of each set of the last stage, and the turns of all: while results are on their way
     * to others and none wait in registers. */
    __device__ __forceinline__ void prepare_turns(const wi_fft_place &at, number *start) const {
        const wi_fft_pass<T> &p = all.p;
        fill_turns(at);
#pragma unroll
        for (int i = 0; i < sets<R3>; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            if (p.turning >= 0)
                start[i] = p.circle.template at<T>((size_t)(at.first + b % wide) * whole(b / wide));
        }
    }

    /* Also waits until all have kept their results of the stage before. */
    template <class Next>
    __device__ __forceinline__ void last_stage(const wi_fft_place &at, const number *start,
                                               bool has_next, const Next &next) const {
        constexpr int count = sets<R3>;
        const wi_fft_pass<T> &p = all.p;
        T re[count][R3], im[count][R3];
        wi_fft_few<R3, T> w[count];
#pragma unroll
        for (int i = 0; i < count; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            w[i].load(p.twiddles + (R2 - 1) * R1 + whole(b / wide), R1 * R2);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < count; i++)
            fetch<R3>(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
        __syncthreads();
        if (has_next)
            bring<false>(next());
#pragma unroll
        for (int i = 0; i < count; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            turn<R3>(w[i], re[i], im[i]);
            wi_fft_butterfly<R3>(re[i], im[i]);
            store(at, b, start[i], re[i], im[i]);
        }
    }
};

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, 1)
    wi_fft_tall_columns(const __grid_constant__ wi_fft_tall_params<typename Shape::Type> all) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using number = wi_fft_number<typename Shape::Type>;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, );
    number *const line = (number *)shared, *const turns = line + Shape::line;
    const unsigned rank = Shape::blocks > 1 ? wi_cluster_rank() : 0;
    const unsigned step = gridDim.x / Shape::blocks, before = blockIdx.x / Shape::blocks;
    const wi_fft_tall_block<Shape> block = {all, line, turns, turns + Shape::turns, &arrived, rank};
    constexpr uint32_t bytes = Shape::own * Shape::wide * (uint32_t)sizeof(number);
    if (Shape::blocks > 1 && threadIdx.x == 0) {
        wi_barrier_init(&arrived, 1);
        wi_barrier_publish();
        wi_barrier_arrive_expect(&arrived, bytes);
    }
    wi_wait_for_earlier();
    block.template bring<true>(wi_fft_place_of(all.p.grid, before, -1));
    block.template bring<false>(wi_fft_place_of(all.p.grid, before, -1));
    unsigned parity = 0;
#    pragma unroll 1
    for (unsigned tile = before; tile < all.tiles; tile += step, parity ^= 1) {
        const bool has_next = tile + step < all.tiles;
        const auto next = [&] { return wi_fft_place_of(all.p.grid, wi_anew(tile) + step, -1); };
        const auto here = [&] { return wi_fft_place_of(all.p.grid, wi_anew(tile), -1); };
        wi_async_wait<0>();
        __syncthreads();
        block.first_stage(has_next, next);
        wi_fft_few<Shape::R2, typename Shape::Type> middle;
        block.load_middle(middle);
        number start[wi_fft_tall_block<Shape>::template sets<Shape::R3>];
        block.prepare_turns(here(), start);
        if constexpr (Shape::blocks > 1) {
            wi_receive(&arrived, parity);
            if (threadIdx.x == 0 && has_next)
                wi_barrier_arrive_expect(&arrived, bytes);
        } else {
            __syncthreads();
        }
        block.middle_stage(middle);
        block.last_stage(here(), start, has_next, next);
    }
#endif
}

/* ---- launches ---- */

/* Lines of Shape::n numbers, the first loop's next to each other. */
template <class Shape>
weft_status wi_fft_run_tall(weft_context *ctx, const wi_fft_lines *l, const wi_fft_tall_side &in,
                            const wi_fft_tall_side &out, bool queues) {
    using T = typename Shape::Type;
    constexpr const char *name = "wi_fft_tall_columns";
    wi_fft_tall_params<T> all = {};
    size_t held = 0;
    weft_status status =
        wi_fft_pass_of(ctx, l, Shape::radix, 3, Shape::wide, &all.p, queues ? &all.tiles : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    all.in = in;
    all.out = out;
    all.pairs = (uintptr_t)l->x % 16 == 0 && l->stride_in % 2 == 0;
    for (int k = 1; k < l->loops.used; k++)
        all.pairs = all.pairs && l->loops.in[k] % 2 == 0;
    if constexpr (Shape::blocks == 1) {
        status = wi_grant_shared(ctx, name, wi_fft_tall_columns<Shape>, Shape::bytes);
        if (status == WEFT_OK)
            status = wi_resident_blocks(ctx, wi_fft_tall_columns<Shape>, Shape::threads,
                                        Shape::bytes, &held);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH_AHEAD(wi_fft_tall_columns<Shape>, ctx,
                                 all.tiles < held ? all.tiles : (unsigned)held, Shape::threads,
                                 Shape::bytes, all);
    } else {
        status = wi_resident_clusters(ctx, name, wi_fft_tall_columns<Shape>, Shape::threads,
                                      Shape::blocks, Shape::bytes, &held);
        if (status != WEFT_OK)
            return status;
        const unsigned clusters = all.tiles < held || held == 0 ? all.tiles : (unsigned)held;
        return WEFT_LAUNCH_CLUSTER(wi_fft_tall_columns<Shape>, ctx, clusters * Shape::blocks,
                                   Shape::threads, Shape::blocks, Shape::bytes, all);
    }
}

#endif
