/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of whole tiles: extents are multiples of the tile's, all lines begin at multiples
 * of 16 bytes, and matrices are a stride apart. So nothing is asked for each copy, and a kernel has
 * half as many instructions as that of gemm_batch_tile.cuh, whose Shapes and Sums it has; sums are
 * made in the same order, so a product has the same bits by both. A product's threads copy what
 * they multiply, and no other's.
 *
 * Further of a Shape:
 *   waves    turns of blocks for each place on a multiprocessor: 1, or some, so that blocks that
 *            begin later take what is left; 0: as many as there are products
 *
 * A may be stored as its transpose, in lines of k: it lies so in shared memory too, and Sums take
 * it so by add_whole(). Pieces of such a line of 16 bytes change places, so that lanes that read
 * the same piece of several lines find it in different banks; Sums::exchange() says how. */
#ifndef WI_GEMM_BATCH_WHOLE_CUH
#define WI_GEMM_BATCH_WHOLE_CUH

#include "cuda/anew.cuh"
#include "gemm/gemm_batch_tile.cuh"

template <class Shape, bool turned_a>
struct wi_gemm_batch_whole {
    using T = typename Shape::T;
    using Sums = typename Shape::Sums;
    using Params = wi_gemm_batch_params<T, T, T>;
    static constexpr int wide = 16 / (int)sizeof(T);
    static constexpr int threads = Shape::each * Shape::group, ahead = Shape::stages - 1;
    static constexpr int b_at = Shape::stride_a * Shape::depth;
    static constexpr int product = b_at + Shape::stride_b * Shape::tile_n + Shape::apart;
    static constexpr int stage = product * Shape::each;
    static constexpr size_t shared_bytes = (size_t)stage * Shape::stages * sizeof(T);
    static_assert(Shape::stride_a >= Shape::tile_m && ahead > 0, "A fits either way");

    /* How a product's threads share `lines` of `along` elements: each has one piece of 16 bytes of
     * some lines, `step` apart. */
    template <int along, int lines>
    struct share {
        static constexpr int across = along / wide, step = Shape::group / across;
        static constexpr int pieces = lines / step;
        static_assert(along % wide == 0 && Shape::group % across == 0 && lines % step == 0,
                      "whole shares");
        __device__ static int line() {
            return lane() / across;
        }
        __device__ static int place() {
            return lane() % across;
        }
    };
    using ShareA =
        share<turned_a ? Shape::depth : Shape::tile_m, turned_a ? Shape::tile_m : Shape::depth>;
    using ShareB = share<Shape::depth, Shape::tile_n>;

    const Params &x;
    T *mine; /* the product's part of the first stage */
    unsigned down, tiles, items, turns, steps;

    __device__ wi_gemm_batch_whole(const Params &x_, T *shared)
        : x(x_), mine(shared + (int)threadIdx.x / Shape::group * product),
          down((unsigned)(x_.one.m / Shape::tile_m)),
          tiles(down * (unsigned)(x_.one.n / Shape::tile_n)), items((unsigned)x_.count * tiles),
          turns((items + Shape::each - 1) / Shape::each),
          steps((unsigned)(x_.one.k / Shape::depth)) {}

    __device__ static int lane() {
        return (int)threadIdx.x % Shape::group;
    }

    /* A tile of C, and whose. */
    struct tile {
        size_t index, row, column;
        bool there;
    };
    __device__ tile tile_of(unsigned turn) const {
        const unsigned item = turn * Shape::each + threadIdx.x / Shape::group;
        const bool there = Shape::each == 1 ? turn < turns : item < items;
        const unsigned i = there ? item : items - 1;
        if constexpr (Shape::one_tile)
            return {i, 0, 0, there};
        const unsigned among = i % tiles;
        return {i / tiles, (size_t)(among % down) * Shape::tile_m,
                (size_t)(among / down) * Shape::tile_n, there};
    }

    /* Where the thread's next pieces are. */
    struct sources {
        const T *a, *b;
    };
    __device__ sources sources_of(unsigned turn) const {
        const tile t = tile_of(turn);
        const T *const a = (const T *)(x.a.first + t.index * x.a.stride_bytes);
        const T *const b = (const T *)(x.b.first + t.index * x.b.stride_bytes);
        const size_t line_a = (turned_a ? t.row : 0) + (size_t)ShareA::line();
        const size_t line_b = t.column + (size_t)ShareB::line();
        return {a + line_a * x.one.lda + (turned_a ? 0 : t.row) + ShareA::place() * wide,
                b + line_b * x.one.ldb + ShareB::place() * wide};
    }

    __device__ void copy(const sources &from, T *slab) const {
        const unsigned step_a = wi_anew((unsigned)(ShareA::step * x.one.lda * sizeof(T)));
        const unsigned step_b = wi_anew((unsigned)(ShareB::step * x.one.ldb * sizeof(T)));
        const char *a = (const char *)from.a, *b = (const char *)from.b;
#pragma unroll
        for (int piece = 0; piece < ShareA::pieces; piece++) {
            const int line = ShareA::line() + piece * ShareA::step, place = ShareA::place();
            const int at = turned_a ? line * Shape::depth + (place ^ Sums::exchange(line)) * wide
                                    : line * Shape::stride_a + place * wide;
            wi_async_copy<16, true>(slab + at, a, true);
            a += step_a;
        }
        T *const to = slab + b_at + ShareB::line() * Shape::stride_b + ShareB::place() * wide;
#pragma unroll
        for (int piece = 0; piece < ShareB::pieces; piece++) {
            wi_async_copy<16, true>(to + piece * ShareB::step * Shape::stride_b, b, true);
            b += step_b;
        }
    }

    template <bool adds>
    __device__ static void store(const wi_gemm_params<T, T, T> &g, T *to, const Sums &sums) {
        const unsigned ldc = wi_anew((unsigned)g.ldc);
#pragma unroll
        for (int v = 0; v < Sums::vectors; v++) {
            const wi_vector<T> sum = sums.at(v);
            T *const at = to + (size_t)Sums::column_at(v) * ldc + Sums::row_at(v);
            wi_vector<T> c = {};
            if constexpr (adds)
                c = *(const wi_vector<T> *)at;
#pragma unroll
            for (int e = 0; e < wide; e++)
                wi_gemm_update(&c.at[e], g.alpha, sum.at[e], adds ? g.beta : 0);
            *(wi_vector<T> *)at = c;
        }
    }
    __device__ void finish(const Sums &sums, unsigned turn) const {
        const tile t = tile_of(turn);
        if (!t.there)
            return;
        T *const to =
            (T *)(uintptr_t)(x.c.first + t.index * x.c.stride_bytes) + t.row + t.column * x.one.ldc;
        if (x.one.beta != 0)
            store<true>(x.one, to, sums);
        else
            store<false>(x.one, to, sums);
    }

    __device__ void run() const {
        unsigned next_turn = blockIdx.x, next_step = 0;
        sources next = sources_of(next_turn);
        const auto load_next = [&](int slot) {
            if (next_turn < turns) {
                copy(next, mine + slot * stage);
                next.a += turned_a ? (size_t)Shape::depth : Shape::depth * x.one.lda;
                next.b += Shape::depth;
                if (++next_step == steps) {
                    next_step = 0;
                    next_turn += gridDim.x;
                    next = sources_of(next_turn);
                }
            }
            wi_async_commit();
        };
#pragma unroll
        for (int slot = 0; slot < ahead; slot++)
            load_next(slot);
        int now = 0, free = ahead;
        for (unsigned turn = blockIdx.x; turn < turns; turn += gridDim.x) {
            Sums sums;
#pragma unroll 1
            for (unsigned step = 0; step < steps; step++) {
                wi_async_wait<ahead - 1>();
                __syncthreads(); /* this step is here, and the one before used up */
                load_next(free);
                const T *const slab = mine + now * stage;
                sums.template add_whole<turned_a>(slab, slab + b_at);
                free = now;
                now = now + 1 == Shape::stages ? 0 : now + 1;
            }
            finish(sums, turn);
        }
    }
};

template <class Shape, bool turned_a>
__global__ void __launch_bounds__(Shape::each *Shape::group, Shape::blocks)
    wi_gemm_batch_whole_kernel(
        wi_gemm_batch_params<typename Shape::T, typename Shape::T, typename Shape::T> x) {
    WEFT_DYNAMIC_SHARED(memory);
    const wi_gemm_batch_whole<Shape, turned_a> block(x, (typename Shape::T *)memory);
    block.run();
}

/* A tile for the above. */
template <class Tile, int waves_>
struct wi_gemm_batch_in_waves : Tile {
    static constexpr int waves = waves_;
};

/* Fused multiply-adds, also of an A that lies along k. */
template <class Shape>
struct wi_gemm_batch_whole_fma : wi_gemm_batch_fma<Shape> {
    using T = typename Shape::T;
    using Sums = wi_gemm_batch_fma<Shape>;
    using Sums::wide, Sums::rows, Sums::columns, Sums::sum;

    __device__ static int exchange(int line) {
        constexpr int pieces = Shape::depth / wide;
        return line / wide & ((pieces < 8 ? pieces : 8) - 1);
    }
    __device__ void add_turned(const T *a, const T *b, int p) {
        wi_vector<T> x[rows];
#pragma unroll
        for (int i = 0; i < rows; i++) {
            const int line = Sums::row(i / wide) + i % wide;
            x[i] = *(const wi_vector<T> *)(a + line * Shape::depth + (p ^ exchange(line) * wide));
        }
#pragma unroll
        for (int j = 0; j < columns; j++) {
            const wi_vector<T> y =
                *(const wi_vector<T> *)(b + Sums::column(j) * Shape::stride_b + p);
#pragma unroll
            for (int q = 0; q < wide; q++)
#pragma unroll
                for (int i = 0; i < rows; i++)
                    sum[i][j] = wi_fma(x[i].at[q], y.at[q], sum[i][j]);
        }
    }
    template <bool turned_a>
    __device__ void add_whole(const T *a, const T *b) {
        if constexpr (turned_a) {
#pragma unroll 1
            for (int p = 0; p < Shape::depth; p += wide)
                add_turned(a, b, p);
        } else {
#pragma unroll 2
            for (int p = 0; p < Shape::depth; p += wide)
                Sums::add_wide(a, b, p);
        }
    }
};

/* Are all lines of some matrices at multiples of 16 bytes, and the matrices a stride apart? */
inline bool wi_gemm_batch_is_even(const wi_gemm_matrices &m, size_t ld, weft_type type) {
    const size_t wide = 16 / weft_type_size(type), most_ld = (size_t)1 << 24; /* for short steps */
    return !m.each && wi_is_aligned(m.first) && m.stride % wide == 0 && ld % wide == 0 &&
           ld <= most_ld;
}

template <class Shape, bool turned_a>
bool wi_gemm_batch_is_whole(const weft_context *ctx, const wi_gemm_batch_args *g) {
    const wi_gemm_args &one = g->one;
    return wi_gemm_batch_whole<Shape, turned_a>::shared_bytes <= ctx->gpu->shared_optin &&
           one.m % Shape::tile_m == 0 && one.n % Shape::tile_n == 0 && one.k > 0 &&
           one.k % Shape::depth == 0 && !one.transposed_b &&
           (!Shape::one_tile || (one.m == Shape::tile_m && one.n == Shape::tile_n)) &&
           g->count <= UINT32_MAX / 2 / (one.m / Shape::tile_m) / (one.n / Shape::tile_n) &&
           wi_gemm_batch_is_even(g->a, one.lda, one.type) &&
           wi_gemm_batch_is_even(g->b, one.ldb, one.type) &&
           wi_gemm_batch_is_even(g->c, one.ldc, one.type);
}

template <class Shape, bool turned_a>
weft_status wi_gemm_batch_launch_whole(weft_context *ctx, const wi_gemm_batch_args *g) {
    using T = typename Shape::T;
    using Block = wi_gemm_batch_whole<Shape, turned_a>;
    const size_t turns = wi_gemm_pieces(
        g->count * (g->one.m / Shape::tile_m) * (g->one.n / Shape::tile_n), Shape::each);
    const size_t room = wi_gemm_batch_room<Shape>(ctx) * (size_t)Shape::waves;
    return WEFT_LAUNCH((wi_gemm_batch_whole_kernel<Shape, turned_a>), ctx,
                       (unsigned)(room > 0 && room < turns ? room : turns), Block::threads,
                       Block::shared_bytes, (wi_gemm_batch_typed<T, T, T>(g)));
}

/* A shape for A as it is, and one for A stored as its transpose. */
template <class Straight_, class Turned_ = Straight_>
struct wi_gemm_batch_either {
    using Straight = Straight_;
    using Turned = Turned_;
};

/* By the first of some shapes whose tiles C is made of; returns whether there is one. */
template <class Either, class... Others>
bool wi_gemm_batch_by_whole(weft_context *ctx, const wi_gemm_batch_args *g, weft_status *status) {
    using Straight = typename Either::Straight;
    using Turned = typename Either::Turned;
    const bool turned = g->one.transposed_a;
    if (turned ? wi_gemm_batch_is_whole<Turned, true>(ctx, g)
               : wi_gemm_batch_is_whole<Straight, false>(ctx, g)) {
        *status = turned ? wi_gemm_batch_launch_whole<Turned, true>(ctx, g)
                         : wi_gemm_batch_launch_whole<Straight, false>(ctx, g);
        return true;
    }
    if constexpr (sizeof...(Others) > 0)
        return wi_gemm_batch_by_whole<Others...>(ctx, g, status);
    return false;
}

#endif
