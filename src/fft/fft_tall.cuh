/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that fill a multiprocessor: `wide` lines of n = R1 R2 R3 numbers next to each other, in
 * the shared memory of one block, or of the two blocks of a cluster. Blocks go from tile to tile.
 * `wide` numbers of a row are 64 or 128 bytes: with 32 a pass takes a third longer, though others
 * have the rest of a line of the cache at the same time.
 *
 * Stage 1 takes numbers j + k n / R1, of which a block has the j of its share, and hands result k
 * to the block that has the k: position j R1 + k of Stockham's order. From there on position p goes
 * only to positions with the same p mod R1, so that the other two stages stay in a block, in which
 * they look as if R1 were R1 / blocks. A thread has two columns next to each other (f64: one), so
 * that all accesses to shared memory, and messages, are of 16 bytes.
 *
 * Beside the tile there is room for the first rows of the next one, which come meanwhile; the
 * others come where this tile was, when its last stage has read it. So memory does not rest while a
 * block computes. */
#ifndef WI_FFT_TALL_CUH
#define WI_FFT_TALL_CUH

#include "cuda/ahead.cuh"
#include "cuda/anew.cuh"
#include "cuda/async.cuh"
#include "fft/fft_few.cuh"
#include "fft/fft_tall_shape.cuh"

/* A thread has `each` columns of a set. */
template <class Shape>
struct wi_fft_tall_block {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr unsigned wide = Shape::wide, threads = Shape::threads, each = Shape::each;
    static constexpr unsigned pieces = Shape::pieces, share = Shape::share, flips = Shape::flips;
    static constexpr int R1 = Shape::R1, R2 = Shape::R2, R3 = Shape::R3;
    using chunk = wi_fft_chunk<T, each>;
    const wi_fft_tall_params<T> &all;
    number *line, *turns, *ahead; /* shared */
    wi_barrier *arrived;
    unsigned rank;

    template <int R>
    static constexpr int sets = (int)(Shape::own *pieces / R / threads);

    __device__ __forceinline__ chunk *chunks() const {
        return (chunk *)line;
    }
    /* Where row r is, in rows. */
    static __device__ __forceinline__ unsigned place(unsigned r) {
        return r ^ (r / share & flips);
    }

    static constexpr unsigned width = Shape::width, rows = Shape::rows, apart = Shape::n / R1;
    /* Rows from a thread's first one to that of copy i. */
    static __device__ __forceinline__ constexpr unsigned on(unsigned i) {
        return rows >= width ? i * (rows / width) * apart
                             : i * rows / width * apart + i * rows % width;
    }
    __device__ __forceinline__ const number *source(const wi_fft_place &at, unsigned r,
                                                    unsigned column) const {
        const wi_fft_pass<T> &p = all.p;
        const unsigned row = r / width * apart + rank * width + r % width;
        return p.x + at.in + (all.in.folds ? all.in.at(row, column) : row * p.stride_in + column);
    }
    /* Row number i rows + r of this block's, from the array. */
    template <bool is_early>
    __device__ __forceinline__ void bring(const wi_fft_place &at) const {
        constexpr unsigned from = is_early ? 0 : Shape::early / rows;
        constexpr unsigned to = is_early ? Shape::early / rows : Shape::copies;
        const number *const x = source(at, threadIdx.x / pieces, threadIdx.x % pieces * each);
        number *const here = (is_early ? ahead : line) + threadIdx.x * each;
#pragma unroll
        for (unsigned i = from; i < to; i++) {
            number *const put = here + (i - from) * rows * wide;
            const number *const get = x + on(i) * all.p.stride_in;
            if (sizeof(T) == 8 || all.pairs) {
                wi_async_copy<16, true>(put, get, true);
            } else {
                wi_async_copy<8>(put, get);
                wi_async_copy<8>(put + 1, get + 1);
            }
        }
        wi_async_commit();
    }
    /* Asks for the rows that come late, a row for each thread. */
    __device__ __forceinline__ void ask(const wi_fft_place &at) const {
        for (unsigned r = Shape::early + threadIdx.x; r < Shape::own; r += threads)
            wi_prefetch(source(at, r, 0));
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

    __device__ __forceinline__ void take(unsigned b, T (*re)[R1], T (*im)[R1]) const {
        constexpr unsigned early = Shape::early / width;
        const T sign = all.p.sign_in;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R1; k++) {
            const chunk v =
                wi_fft_load_chunk((const chunk *)(k < early ? ahead + k * width * wide
                                                            : line + (k - early) * width * wide) +
                                  b);
#pragma unroll
            for (unsigned c = 0; c < each; c++) {
                re[c][k] = v.v[c].re;
                im[c][k] = v.v[c].im * sign;
            }
        }
    }

    template <int R>
    static __device__ __forceinline__ chunk chunk_of(const T (*re)[R], const T (*im)[R],
                                                     unsigned k) {
        chunk v;
#pragma unroll
        for (unsigned c = 0; c < each; c++)
            v.v[c] = {re[c][k], im[c][k]};
        return v;
    }

    /* Result k of set j: in the block that has k, position j share + k mod share. */
    __device__ __forceinline__ void hand_over(unsigned b, const T (*re)[R1],
                                              const T (*im)[R1]) const {
        const unsigned j = rank * width + b / pieces, odd = j & flips;
        chunk *const to = chunks() + j * share * pieces + b % pieces;
        chunk *const even_to = to + odd * pieces, *const odd_to = to - odd * pieces;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R1; k++) {
            chunk *const here = (k & 1 ? odd_to : even_to) + k % share * pieces;
            if constexpr (Shape::blocks == 1)
                wi_fft_store_chunk<false>(here, chunk_of<R1>(re, im, k));
            else
                wi_fft_send_chunk(here, chunk_of<R1>(re, im, k), arrived, k / share);
        }
    }

    template <int R>
    __device__ __forceinline__ void fetch(unsigned b, T (*re)[R], T (*im)[R]) const {
        const chunk *const from = chunks() + place(b / pieces) * pieces + b % pieces;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R; k++) {
            const chunk v = wi_fft_load_chunk(from + k * (Shape::own / R) * pieces);
#pragma unroll
            for (unsigned c = 0; c < each; c++) {
                re[c][k] = v.v[c].re;
                im[c][k] = v.v[c].im;
            }
        }
    }

    template <int R>
    __device__ __forceinline__ static void turn(const wi_fft_few<R, T> &w, T (*re)[R], T (*im)[R]) {
#pragma unroll
        for (int k = 1; k < R; k++) {
            const number by = w.at(k);
#pragma unroll
            for (unsigned c = 0; c < each; c++) {
                const number v = wi_fft_product(number{re[c][k], im[c][k]}, by);
                re[c][k] = v.re;
                im[c][k] = v.im;
            }
        }
    }
    template <int R>
    __device__ __forceinline__ static void transform(T (*re)[R], T (*im)[R]) {
#pragma unroll
        for (unsigned c = 0; c < each; c++)
            wi_fft_butterfly<R>(re[c], im[c]);
    }

    __device__ __forceinline__ void keep(unsigned b, const T (*re)[R2], const T (*im)[R2]) const {
        const unsigned j = b / pieces, row = j / share * share * R2 + j % share;
        chunk *const even_to = chunks() + row * pieces + b % pieces;
        chunk *const odd_to = chunks() + (row ^ flips) * pieces + b % pieces;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)R2; k++)
            wi_fft_store_chunk<false>((k & 1 ? odd_to : even_to) + k * share * pieces,
                                      chunk_of<R2>(re, im, k));
    }

    /* The number, before stage 3, of position j of this block's: of all its blocks'. */
    __device__ __forceinline__ unsigned whole(unsigned j) const {
        return j / share * R1 + rank * share + j % share;
    }

    __device__ __forceinline__ void store(const wi_fft_place &at, unsigned b, const number *start,
                                          T (*re)[R3], T (*im)[R3]) const {
        const wi_fft_pass<T> &p = all.p;
        const unsigned r = whole(b / pieces), column = b % pieces * each;
        /* line and number change places: a result is a number of the second pass's line r */
        const size_t first = at.out + (all.out.folds ? all.out.at(column, r)
                                                     : column * p.near_out + r * p.stride_out);
        const size_t step = all.out.folds
                                ? ((unsigned)(R1 * R2) >> all.out.line_bits) * all.out.tile
                                : R1 * R2 * p.stride_out;
        const size_t next =
            all.out.folds ? (size_t)1 << (all.out.number_bits - 1 + all.out.fold_bits) : p.near_out;
        number *const to = p.y + first;
        if (p.turning >= 0) {
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++) {
                const chunk w = wi_fft_load_chunk((const chunk *)(turns + k * wide + column));
#pragma unroll
                for (unsigned c = 0; c < each; c++) {
                    const number v = wi_fft_product(number{re[c][k], im[c][k]},
                                                    wi_fft_product(start[c], w.v[c]));
                    to[k * step + c * next] = v;
                }
            }
            return;
        }
#pragma unroll
        for (unsigned c = 0; c < each; c++)
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++) {
                re[c][k] *= p.scale_re;
                im[c][k] *= p.scale_im;
            }
        if (sizeof(T) == 8 || (all.pairs_out && !all.out.folds)) {
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++)
                wi_fft_store_chunk<true>((chunk *)(to + k * step), chunk_of<R3>(re, im, k));
        } else {
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++)
#pragma unroll
                for (unsigned c = 0; c < each; c++)
                    to[k * step + c * next] = {re[c][k], im[c][k]};
        }
    }

    /* `meanwhile`: what to do when the early part of shared memory has been read. */
    template <class Work>
    __device__ __forceinline__ void first_stage(const Work &meanwhile) const {
        constexpr int count = sets<R1>;
        T re[count][each][R1], im[count][each][R1];
#pragma unroll
        for (int i = 0; i < count; i++)
            take(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
        if constexpr (Shape::blocks > 1)
            wi_cluster_arrive_read();
        __syncthreads();
        meanwhile();
#pragma unroll
        for (int i = 0; i < count; i++)
            transform<R1>(re[i], im[i]);
        if constexpr (Shape::blocks > 1)
            wi_cluster_wait();
#pragma unroll
        for (int i = 0; i < count; i++)
            hand_over(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
    }

    /* The same twiddles for all sets of a thread. */
    __device__ __forceinline__ void load_middle(wi_fft_few<R2, T> &w) const {
        static_assert(threads / pieces % share == 0, "sets of a thread have the same place");
        w.load(all.p.twiddles + rank * share + threadIdx.x / pieces % share, R1);
    }
    __device__ __forceinline__ void middle_stage(const wi_fft_few<R2, T> &w) const {
        constexpr int count = sets<R2>;
        T re[count][each][R2], im[count][each][R2];
#pragma unroll
        for (int i = 0; i < count; i++) {
            fetch<R2>(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
            turn<R2>(w, re[i], im[i]);
            transform<R2>(re[i], im[i]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < count; i++)
            keep(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
    }

    /* w^(l j) of each set of the last stage, and the turns of all: while results are on their way
     * to others and none wait in registers. */
    __device__ __forceinline__ void prepare_turns(const wi_fft_place &at,
                                                  number (*start)[each]) const {
        const wi_fft_pass<T> &p = all.p;
        if (p.turning < 0)
            return;
        fill_turns(at);
#pragma unroll
        for (int i = 0; i < sets<R3>; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
#pragma unroll
            for (unsigned c = 0; c < each; c++)
                start[i][c] = p.circle.template at<T>((size_t)(at.first + b % pieces * each + c) *
                                                      whole(b / pieces));
        }
    }

    /* Also waits until all have kept their results of the stage before. */
    template <class Work>
    __device__ __forceinline__ void last_stage(const wi_fft_place &at, const number (*start)[each],
                                               const Work &meanwhile) const {
        constexpr int count = sets<R3>;
        const wi_fft_pass<T> &p = all.p;
        T re[count][each][R3], im[count][each][R3];
        wi_fft_few<R3, T> w[count];
#pragma unroll
        for (int i = 0; i < count; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            w[i].load(p.twiddles + (R2 - 1) * R1 + whole(b / pieces), R1 * R2);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < count; i++)
            fetch<R3>(threadIdx.x + (unsigned)i * threads, re[i], im[i]);
        __syncthreads();
        meanwhile();
#pragma unroll
        for (int i = 0; i < count; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            turn<R3>(w[i], re[i], im[i]);
            transform<R3>(re[i], im[i]);
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
        block.first_stage([&] {
            if (!has_next)
                return;
            block.template bring<true>(next());
            if constexpr (Shape::asks)
                block.ask(next());
        });
        wi_fft_few<Shape::R2, typename Shape::Type> middle;
        block.load_middle(middle);
        number start[wi_fft_tall_block<Shape>::template sets<Shape::R3>][Shape::each];
        block.prepare_turns(here(), start);
        if constexpr (Shape::blocks > 1) {
            wi_receive(&arrived, parity);
            if (threadIdx.x == 0 && has_next)
                wi_barrier_arrive_expect(&arrived, bytes);
        } else {
            __syncthreads();
        }
        block.middle_stage(middle);
        block.last_stage(here(), start, [&] {
            if (has_next)
                block.template bring<false>(next());
        });
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
    all.pairs_out = (uintptr_t)l->y % 16 == 0 && l->stride_out % 2 == 0;
    for (int k = 1; k < l->loops.used; k++) {
        all.pairs = all.pairs && l->loops.in[k] % 2 == 0;
        all.pairs_out = all.pairs_out && l->loops.out[k] % 2 == 0;
    }
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
