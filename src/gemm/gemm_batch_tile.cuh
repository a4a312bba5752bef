/* SPDX-License-Identifier: Apache-2.0 */
/* Small products: a block has several at a time, each a tile of C. Asynchronous copies bring the
 * next ones' A and B, or the next of k, to shared memory while these are multiplied; larger
 * matrices are several tiles. A Shape says how large everything is:
 *
 *   T                        the type
 *   tile_m, tile_n, depth    of C's tile; of a step of k
 *   one_tile                 it always holds all of C
 *   each, group              products that a block has at a time, and threads for one
 *   stages                   steps in shared memory at once
 *   blocks                   on a multiprocessor at once, at least
 *   stride_a, stride_b       elements from one k of A, or one column of B, to the next in shared
 *                            memory: so that lanes find theirs in different banks
 *   apart                    elements between the products' parts of shared memory, for the same
 *   Sums                     what a thread adds up, and how
 *
 * In shared memory A always lies by columns and B along k; what lies otherwise, or is not aligned,
 * is copied by single elements. So there is one kernel for all layouts, and a product has the same
 * bits wherever it lies. */
#ifndef WI_GEMM_BATCH_TILE_CUH
#define WI_GEMM_BATCH_TILE_CUH

#include "cuda/async.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "gemm/gemm_batch_cuda.cuh"

/* Of a launch: each does several turns. */
WI_LIMIT(size_t, wi_gemm_batch_blocks, (size_t)1 << 30)

/* One operand's part of shared memory, `lines` of `along` elements. */
template <class Shape, int along_, int lines_, int stride_>
struct wi_gemm_batch_slab {
    static constexpr int along = along_, lines = lines_, stride = stride_;
    static constexpr int wide = 16 / (int)sizeof(typename Shape::T);
    static constexpr int pieces = along / wide * lines;
    static_assert(along % wide == 0 && stride % wide == 0, "pieces of 16 bytes");
};

/* Which part of an operand's matrix a step takes: the elements of the matrix from the first on, and
 * where it lies. */
struct wi_gemm_batch_part {
    size_t first_along, first_line, extent_along, extent_line, ld;
    bool turned; /* lines of shared memory cross those of the matrix */
};

/* The first `there` of some sums to C, where they lie `step` apart. Called for edges, and short in
 * code: in place, it would be half of a kernel. */
template <class T>
__device__ __attribute__((noinline)) void wi_gemm_batch_store(T *to, size_t step, int there,
                                                              T alpha, wi_vector<T> sum, T beta) {
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        if (e < there)
            wi_gemm_update(to + (size_t)e * step, alpha, sum.at[e], beta);
}

template <class Shape>
struct wi_gemm_batch_block {
    using T = typename Shape::T;
    using Sums = typename Shape::Sums;
    using Params = wi_gemm_batch_params<T, T, T>;
    using A = wi_gemm_batch_slab<Shape, Shape::tile_m, Shape::depth, Shape::stride_a>;
    using B = wi_gemm_batch_slab<Shape, Shape::depth, Shape::tile_n, Shape::stride_b>;
    static constexpr int threads = Shape::each * Shape::group;
    static constexpr int b_at = A::stride * A::lines;
    static constexpr int product = b_at + B::stride * B::lines + Shape::apart;
    static constexpr int stage = product * Shape::each;
    static constexpr size_t shared_bytes = (size_t)stage * Shape::stages * sizeof(T);
    static constexpr int wide = A::wide;

    const Params &x;
    T *shared;
    size_t down, tiles, items, turns, steps;

    __device__ wi_gemm_batch_block(const Params &x_, T *shared_)
        : x(x_), shared(shared_), down(wi_gemm_pieces(x_.one.m, Shape::tile_m)) {
        tiles = down * wi_gemm_pieces(x.one.n, Shape::tile_n);
        items = x.count * tiles;
        turns = wi_gemm_pieces(items, Shape::each);
        steps = x.one.k == 0 ? 1 : wi_gemm_pieces(x.one.k, Shape::depth);
    }

    /* A tile of C, and whose. */
    struct tile {
        size_t index, row, column;
    };
    __device__ tile tile_of(size_t item) const {
        if constexpr (Shape::one_tile)
            return {item, 0, 0};
        if (items <= UINT32_MAX) { /* for short divisions */
            const unsigned i = (unsigned)item, all = (unsigned)tiles, high = (unsigned)down;
            return {i / all, (size_t)(i % all % high) * Shape::tile_m,
                    (size_t)(i % all / high) * Shape::tile_n};
        }
        return {item / tiles, item % tiles % down * Shape::tile_m,
                item % tiles / down * Shape::tile_n};
    }

    /* The most threads that share `pieces` evenly, each at the same place of its lines, of which
     * there are `across`. */
    static constexpr int sharers(int pieces, int across) {
        int count = threads < pieces ? threads : pieces;
        while (pieces % count != 0 || count % across != 0)
            count--;
        return count;
    }

    /* How the block's threads divide an operand's pieces: those of several products, or some turns
     * of lines of one. */
    template <class Slab>
    struct shares {
        static constexpr int across = Slab::along / wide;
        static constexpr int at_once = sharers(Slab::pieces, across);
        static constexpr int turns = Slab::pieces / at_once;
        static constexpr int slots = Shape::each == 1 ? 1 : threads / at_once;
        static_assert(Shape::each % slots == 0, "whole shares");
    };

    /* How many of the elements from `first` on there are, of at most `most`. */
    __device__ static int left_of(size_t extent, size_t first, int most) {
        const size_t left = first < extent ? extent - first : 0;
        return left < (size_t)most ? (int)left : most;
    }

    /* Does the matrix end within the thread's pieces? */
    template <class Slab>
    __device__ static bool is_cut(const wi_gemm_batch_part &part) {
        const int place = (int)threadIdx.x % shares<Slab>::across * wide;
        const int there = left_of(part.extent_along, part.first_along + (size_t)place, wide);
        return there > 0 && there < wide;
    }

    /* Starts the copies of a thread's pieces, whole ones, from lines that begin at multiples of 16
     * bytes. */
    template <class Slab>
    __device__ static void copy_lines(T *slab, const T *from, const wi_gemm_batch_part &part) {
        using Share = shares<Slab>;
        constexpr int step = Share::at_once / Share::across;
        const int piece = (int)threadIdx.x % Share::at_once;
        const int line = piece / Share::across, place = piece % Share::across * wide;
        const bool there = part.first_along + (size_t)place < part.extent_along;
        const int lines = left_of(part.extent_line, part.first_line, Slab::lines);
        const T *source =
            from + part.first_along + (size_t)place + (part.first_line + (size_t)line) * part.ld;
        T *const to = slab + line * Slab::stride + place;
#pragma unroll 4
        for (int turn = 0; turn < Share::turns; turn++) {
            wi_async_copy<16, true>(to + turn * step * Slab::stride, source,
                                    there && line + turn * step < lines);
            source += (size_t)step * part.ld;
        }
    }

    /* The same by single elements. Neighbouring threads have neighbours of a line of the matrix. */
    template <class Slab>
    __device__ static void copy_elements(T *slab, const T *from, const wi_gemm_batch_part &part) {
        using Share = shares<Slab>;
        constexpr int width = (int)sizeof(T);
        const int lines = left_of(part.extent_line, part.first_line, Slab::lines);
        const size_t along_step = part.turned ? part.ld : 1, line_step = part.turned ? 1 : part.ld;
#pragma unroll 1
        for (int turn = 0; turn < Share::turns; turn++) {
            const int piece = (int)threadIdx.x % Share::at_once + turn * Share::at_once;
            const int line = part.turned ? piece % Slab::lines : piece / Share::across;
            const int place = (part.turned ? piece / Slab::lines : piece % Share::across) * wide;
            const size_t first = part.first_along + (size_t)place;
            const int there = line < lines ? left_of(part.extent_along, first, wide) : 0;
            const T *const source =
                from + first * along_step + (part.first_line + (size_t)line) * line_step;
#pragma unroll
            for (int e = 0; e < wide; e++)
                wi_async_copy<width>(slab + line * Slab::stride + place + e,
                                     source + (size_t)e * along_step, e < there);
        }
    }

    /* Starts the copies of one operand for a step of all products of a turn. */
    template <class Slab, class Part>
    __device__ void load_operand(T *slabs, const wi_gemm_batch_place &place, size_t turn,
                                 const Part &part_of) const {
        using Share = shares<Slab>;
        if (Share::slots * Share::at_once < threads &&
            (int)threadIdx.x >= Share::slots * Share::at_once)
            return;
#pragma unroll
        for (int first = 0; first < Shape::each; first += Share::slots) {
            const int slot = first + (int)threadIdx.x / Share::at_once;
            const size_t item = turn * Shape::each + (size_t)slot;
            const tile t = tile_of(item < items ? item : items - 1);
            const wi_gemm_batch_part part = part_of(t);
            const T *const from = (const T *)place.at(t.index);
            T *const slab = slabs + slot * product;
            if (!part.turned && part.ld % wide == 0 && wi_is_aligned(from) && !is_cut<Slab>(part))
                copy_lines<Slab>(slab, from, part);
            else
                copy_elements<Slab>(slab, from, part);
        }
    }

    __device__ void load(size_t turn, size_t step, int slot) const {
        T *const slabs = shared + slot * stage;
        const size_t p = step * Shape::depth;
        const auto &g = x.one;
        if (turn < turns && g.k > 0) {
            load_operand<A>(slabs, x.a, turn, [&](const tile &t) {
                return wi_gemm_batch_part{t.row, p, g.m, x.depth(t.index), g.lda, x.transposed_a};
            });
            load_operand<B>(slabs + b_at, x.b, turn, [&](const tile &t) {
                return wi_gemm_batch_part{p,   t.column, x.depth(t.index),
                                          g.n, g.ldb,    x.transposed_b};
            });
        }
        wi_async_commit();
    }

    /* The sums go to a tile that C has all of, `wide` elements of a column at a time. */
    __device__ static void store_whole(const wi_gemm_params<T, T, T> &g, T *to, const Sums &sums) {
#pragma unroll
        for (int v = 0; v < Sums::vectors; v++) {
            const wi_vector<T> sum = sums.at(v);
            T *const at = to + (size_t)Sums::column_at(v) * g.ldc + Sums::row_at(v);
            wi_vector<T> c = {};
            if (g.beta != 0)
                c = *(const wi_vector<T> *)at;
#pragma unroll
            for (int e = 0; e < wide; e++)
                wi_gemm_update(&c.at[e], g.alpha, sum.at[e], g.beta);
            *(wi_vector<T> *)at = c;
        }
    }

    /* Or to a part of one, of `rows` x `columns`. */
    __device__ void store_part(const wi_gemm_params<T, T, T> &g, T *to, const Sums &sums, int rows,
                               int columns) const {
        const size_t row_step = x.c_by_rows ? g.ldc : 1, column_step = x.c_by_rows ? 1 : g.ldc;
#pragma unroll
        for (int v = 0; v < Sums::vectors; v++) {
            const int i = Sums::row_at(v), j = Sums::column_at(v);
            if (i < rows && j < columns)
                wi_gemm_batch_store(to + (size_t)i * row_step + (size_t)j * column_step, row_step,
                                    rows - i, g.alpha, sums.at(v), g.beta);
        }
    }

    __device__ void finish(const Sums &sums, size_t turn) const {
        const size_t item = turn * Shape::each + threadIdx.x / Shape::group;
        if (item >= items)
            return;
        const tile t = tile_of(item);
        const wi_gemm_params<T, T, T> g = x.at(t.index);
        const int rows = x.c_is_padded ? Shape::tile_m : left_of(g.m, t.row, Shape::tile_m);
        const int columns = x.c_is_padded ? Shape::tile_n : left_of(g.n, t.column, Shape::tile_n);
        T *const to = g.c + (x.c_by_rows ? t.row * g.ldc + t.column : t.row + t.column * g.ldc);
        if (!x.c_by_rows && rows == Shape::tile_m && columns == Shape::tile_n &&
            g.ldc % wide == 0 && wi_is_aligned(to))
            store_whole(g, to, sums);
        else
            store_part(g, to, sums, rows, columns);
    }

    /* Copies run `stages` - 1 steps ahead, into the next turns' products too. */
    __device__ void run() const {
        size_t ahead = blockIdx.x, ahead_step = 0;
        const auto load_next = [&](int slot) {
            load(ahead, ahead_step, slot);
            ahead_step++;
            if (ahead_step == steps) {
                ahead_step = 0;
                ahead += gridDim.x;
            }
        };
#pragma unroll 1
        for (int slot = 0; slot < Shape::stages - 1; slot++)
            load_next(slot);
        int now = 0, free = Shape::stages - 1;
        const int mine = (int)threadIdx.x / Shape::group * product;
        for (size_t turn = blockIdx.x; turn < turns; turn += gridDim.x) {
            Sums sums;
            for (size_t step = 0; step < steps; step++) {
                wi_async_wait<Shape::stages - 2>();
                __syncthreads(); /* this step is here, and the one before used up */
                load_next(free);
                const size_t left = x.one.k - step * Shape::depth;
                const T *const slab = shared + now * stage + mine;
                sums.add(slab, slab + b_at, left < Shape::depth ? (int)left : Shape::depth);
                free = now;
                now = now + 1 == Shape::stages ? 0 : now + 1;
            }
            finish(sums, turn);
        }
        wi_async_wait<0>();
    }
};

/* One fused multiply-add after the other, in the order of k. A thread has rows x columns sums, and
 * neighbouring threads have neighbouring rows, or columns if Shape::n_first. */
template <class Shape>
struct wi_gemm_batch_fma {
    using T = typename Shape::T;
    static constexpr int wide = 16 / (int)sizeof(T);
    static constexpr int rows = Shape::rows, columns = Shape::columns, high = rows / wide;
    static constexpr int lanes_m = Shape::tile_m / rows, lanes_n = Shape::tile_n / columns;
    static_assert(lanes_m * lanes_n == Shape::group && rows % wide == 0, "whole tiles");

    T sum[rows][columns];

    __device__ wi_gemm_batch_fma() {
#pragma unroll
        for (int i = 0; i < rows; i++)
#pragma unroll
            for (int j = 0; j < columns; j++)
                sum[i][j] = 0;
    }

    /* The first row of the thread's i-th group of rows; its j-th column. */
    __device__ static int row(int i) {
        const int lane = (int)threadIdx.x % Shape::group;
        return ((Shape::n_first ? lane / lanes_n : lane % lanes_m) + i * lanes_m) * wide;
    }
    __device__ static int column(int j) {
        const int lane = (int)threadIdx.x % Shape::group;
        return (Shape::n_first ? lane % lanes_n : lane / lanes_m) + j * lanes_n;
    }

    __device__ static void take_a(const T *a, int p, wi_vector<T> (&v)[high]) {
#pragma unroll
        for (int i = 0; i < high; i++)
            v[i] = *(const wi_vector<T> *)(a + p * Shape::stride_a + row(i));
    }
    struct alignas(2 * sizeof(T)) pair {
        T at[2];
    };
    __device__ void add_column(const wi_vector<T> (&v)[high], T y, int j) {
#pragma unroll
        for (int i = 0; i < rows; i++)
            sum[i][j] = wi_fma(v[i / wide].at[i % wide], y, sum[i][j]);
    }

    /* `wide` of k from p on. Operands stay in registers for all of them where there are few. */
    __device__ void add_wide(const T *a, const T *b, int p) {
        if constexpr (columns > rows) {
#pragma unroll
            for (int q = 0; q < wide; q += 2) {
                wi_vector<T> v[2][high];
                take_a(a, p + q, v[0]);
                take_a(a, p + q + 1, v[1]);
#pragma unroll
                for (int j = 0; j < columns; j++) {
                    const pair y = *(const pair *)(b + column(j) * Shape::stride_b + p + q);
                    add_column(v[0], y.at[0], j);
                    add_column(v[1], y.at[1], j);
                }
            }
        } else {
            wi_vector<T> y[columns];
#pragma unroll
            for (int j = 0; j < columns; j++)
                y[j] = *(const wi_vector<T> *)(b + column(j) * Shape::stride_b + p);
#pragma unroll
            for (int q = 0; q < wide; q++) {
                wi_vector<T> v[high];
                take_a(a, p + q, v);
#pragma unroll
                for (int j = 0; j < columns; j++)
                    add_column(v, y[j].at[q], j);
            }
        }
    }
    /* What is beyond k is 0. */
    __device__ void add(const T *a, const T *b, int k) {
#pragma unroll 1
        for (int p = 0; p < k; p += wide)
            add_wide(a, b, p);
    }

    /* The thread's sums, `wide` rows of a column at a time. */
    static constexpr int vectors = high * columns;
    __device__ static int row_at(int v) {
        return row(v % high);
    }
    __device__ static int column_at(int v) {
        return column(v / high);
    }
    __device__ wi_vector<T> at(int v) const {
        wi_vector<T> some;
#pragma unroll
        for (int e = 0; e < wide; e++)
            some.at[e] = sum[v % high * wide + e][v / high];
        return some;
    }
};

template <class Shape>
__global__ void __launch_bounds__(Shape::each *Shape::group, Shape::blocks) wi_gemm_batch_kernel(
    wi_gemm_batch_params<typename Shape::T, typename Shape::T, typename Shape::T> x) {
    WEFT_DYNAMIC_SHARED(memory);
    const wi_gemm_batch_block<Shape> block(x, (typename Shape::T *)memory);
    block.run();
}

/* Blocks of a kernel that the device holds at once. */
template <class Shape>
size_t wi_gemm_batch_room(const weft_context *ctx) {
    const size_t all = (size_t)ctx->gpu->multiprocessors * Shape::blocks;
    return all < wi_gemm_batch_blocks ? all : wi_gemm_batch_blocks;
}

template <class Shape>
weft_status wi_gemm_batch_launch(
    weft_context *ctx,
    const wi_gemm_batch_params<typename Shape::T, typename Shape::T, typename Shape::T> &x) {
    using Block = wi_gemm_batch_block<Shape>;
    const size_t tiles =
        wi_gemm_pieces(x.one.m, Shape::tile_m) * wi_gemm_pieces(x.one.n, Shape::tile_n);
    const size_t room = wi_gemm_batch_room<Shape>(ctx);
    const size_t turns = x.count > room * Shape::each
                             ? room /* else the product might overflow */
                             : wi_gemm_pieces(x.count * tiles, Shape::each);
    return WEFT_LAUNCH((wi_gemm_batch_kernel<Shape>), ctx, (unsigned)(turns < room ? turns : room),
                       Block::threads, Block::shared_bytes, x);
}

/* By the first tile that holds C, or else the last. */
template <class Tile, class... Others>
weft_status wi_gemm_batch_by_size(weft_context *ctx, const wi_gemm_batch_args *g) {
    using T = typename Tile::T;
    const size_t most = g->one.m > g->one.n ? g->one.m : g->one.n;
    if constexpr (sizeof...(Others) > 0)
        if (most > Tile::tile_m)
            return wi_gemm_batch_by_size<Others...>(ctx, g);
    return wi_gemm_batch_launch<Tile>(ctx, wi_gemm_batch_typed<T, T, T>(g));
}

#endif
