/* SPDX-License-Identifier: Apache-2.0 */
/* A few right-hand sides: T is read once. A block of threads has 64 rows at a time; it takes what
 * is left of the diagonal from its right-hand sides as the unknowns before it become known, then
 * multiplies by the inverse of the block on the diagonal, and publishes its own unknowns. Parts of
 * T are on their way before the unknowns that they meet are known, so a link of the chain is what
 * it takes to hand over 64 numbers and to multiply twice.
 *
 * In shared memory and registers rows and columns are counted as they lie in memory: backwards in T
 * if its rows are counted from the last to the first. */
#include "cuda/async.cuh"
#include "cuda/lookback.cuh"
#include "cuda/tensor_f64.cuh"
#include "gemm/triangle_work.cuh"
#include "gemm/trsm.h"

constexpr int chain_warps = 8, chain_threads = 32 * chain_warps;
constexpr int share = wi_triangle_side / chain_warps; /* columns of a block of T for each warp */
constexpr size_t urgent = 4; /* rows of blocks beyond the last known one that wait without a rest */

/* One call. Tickets and the number of the launch are in the header; published unknowns, each with
 * that number, in words. */
template <class T>
struct wi_chain_params {
    const T *t; /* T(0, 0) */
    ptrdiff_t t_row, t_column;
    T *x;
    ptrdiff_t x_row, x_column;
    size_t order, lda;
    int count;
    bool backwards, aligned;
    T alpha;
    wi_triangle_inverses<T> known;
    wi_lookback line; /* of which only the header is used */
    wi_pair *words;
};

/* `rhs` right-hand sides, of which the last may not be there. */
template <class Element, int rhs_, bool by_rows_>
struct chain_shape {
    using T = Element;
    static constexpr int rhs = rhs_, side = wi_triangle_side, unknowns = side * rhs;
    static constexpr bool by_rows = by_rows_; /* neighbours in memory are of one row */
    static constexpr int slots = 16 / (int)sizeof(T);
    static constexpr int width = 16 / (int)sizeof(T), stride = side + width, size = side * stride;
    static constexpr int own = (unknowns + chain_threads - 1) / chain_threads; /* of a thread */
    static constexpr size_t shared_bytes = ((size_t)slots * size + 2 * unknowns) * sizeof(T);
    static_assert(chain_warps * unknowns <= size, "the warps' sums fit a slot");
};

template <class T>
struct alignas(2 * sizeof(T)) two_rows {
    T at[2];
};

/* A thread's part of a block: two rows, and the warp's columns. */
template <class Shape>
struct chain_tile {
    using T = typename Shape::T;
    T at[share][2];

    __device__ static int column() {
        return (int)threadIdx.x / 32 * share;
    }
    /* The two rows, where neighbours are of one column (and of inverses), and of one row. */
    __device__ static int row(bool by_rows, int h) {
        return by_rows ? wi_lane() + 32 * h : 2 * wi_lane() + h;
    }
    __device__ void load_columns(const T *slot) {
#pragma unroll
        for (int c = 0; c < share; c++) {
            const two_rows<T> v =
                *(const two_rows<T> *)(slot + 2 * wi_lane() + (column() + c) * Shape::stride);
            at[c][0] = v.at[0];
            at[c][1] = v.at[1];
        }
    }
    __device__ void load_rows(const T *slot) {
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int c = 0; c < share; c += Shape::width) {
                const wi_vector<T> v =
                    *(const wi_vector<T> *)(slot + column() + c + row(true, h) * Shape::stride);
#pragma unroll
                for (int e = 0; e < Shape::width; e++)
                    at[c + e][h] = v.at[e];
            }
    }
    __device__ void load(const T *slot, bool by_rows) {
        if (by_rows)
            load_rows(slot);
        else
            load_columns(slot);
    }
    /* sums += the block times x, of elements for which keeps(row, column) holds. */
    template <class Keeps>
    __device__ void add(const T *x, T (&sums)[2][Shape::rhs], Keeps keeps) const {
#pragma unroll
        for (int c = 0; c < share; c++)
#pragma unroll
            for (int r = 0; r < Shape::rhs; r++) {
                const T at_c = x[(column() + c) * Shape::rhs + r];
#pragma unroll
                for (int h = 0; h < 2; h++)
                    if (keeps(h, column() + c))
                        sums[h][r] = wi_fma(at[c][h], at_c, sums[h][r]);
            }
    }
};

template <class Shape>
struct chain_rows {
    using T = typename Shape::T;
    using Tile = chain_tile<Shape>;
    static constexpr int side = Shape::side, rhs = Shape::rhs, unknowns = Shape::unknowns;

    const wi_chain_params<T> &p;
    T *slots, *known; /* shared: blocks of T, and unknowns of two blocks of rows */
    uint64_t epoch;
    size_t row; /* of blocks */

    __device__ T *slot(size_t step) const {
        return slots + step % Shape::slots * Shape::size;
    }
    __device__ T *known_of(size_t block) const {
        return known + block % 2 * unknowns;
    }
    /* Row u of a block, as they lie in memory. */
    __device__ size_t row_at(size_t block, int u) const {
        return block * side + (size_t)(p.backwards ? side - 1 - u : u);
    }

    /* ---- blocks of T on their way ---- */

    __device__ void fetch_whole(T *to, const T *from) const {
        constexpr int packs = side / Shape::width;
#pragma unroll 2
        for (int e = (int)threadIdx.x; e < packs * side; e += chain_threads) {
            const int u = e % packs * Shape::width, v = e / packs;
            wi_async_copy<16>(to + u + v * Shape::stride, from + u + (size_t)v * p.lda);
        }
    }
    /* Element by element; of the last block there may be fewer rows. */
    __device__ void fetch_elements(T *to, const T *from) const {
#pragma unroll 2
        for (int e = (int)threadIdx.x; e < side * side; e += chain_threads) {
            const int u = e % side, v = e / side;
            const bool there = row_at(row, Shape::by_rows ? v : u) < p.order;
            wi_async_copy<(int)sizeof(T)>(to + u + v * Shape::stride,
                                          there ? from + u + (size_t)v * p.lda : p.t, there);
        }
    }
    /* The inverse lies by columns of T. */
    __device__ void fetch_inverse(T *to) const {
        const T *const from = p.known.inverse + row * wi_triangle_block;
#pragma unroll 2
        for (int e = (int)threadIdx.x; e < (int)wi_triangle_block; e += chain_threads)
            wi_async_copy<(int)sizeof(T)>(to + e % side + e / side * Shape::stride,
                                          from +
                                              (p.backwards ? (int)wi_triangle_block - 1 - e : e));
    }
    /* Starts the copy that the row's step needs; the last step is for the diagonal. */
    __device__ void fetch(size_t step) const {
        if (step < row) {
            const T *const from =
                p.t + (ptrdiff_t)row_at(row, 0) * p.t_row + (ptrdiff_t)row_at(step, 0) * p.t_column;
            if (p.aligned && (row + 1) * side <= p.order)
                fetch_whole(slot(step), from);
            else
                fetch_elements(slot(step), from);
        } else if (step == row) {
            fetch_inverse(slot(step));
        }
        wi_async_commit();
    }

    /* ---- unknowns ---- */

    /* f(k, e): unknown e of a block is the k-th of this thread. */
    template <class F>
    __device__ static void each_own(const F &f) {
#pragma unroll
        for (int k = 0; k < Shape::own; k++) {
            const int e = (int)threadIdx.x + k * chain_threads;
            if (unknowns % chain_threads == 0 || e < unknowns)
                f(k, e);
        }
    }
    __device__ wi_pair *word_of(size_t block, int e) const {
        return p.words + block * unknowns + e;
    }
    __device__ void look(size_t block, wi_pair (&seen)[Shape::own]) const {
        each_own([&](int k, int e) { seen[k] = wi_read_pair(word_of(block, e)); });
    }
    /* The unknowns of a block to shared memory, once they are known. */
    __device__ void receive(size_t block, wi_pair (&seen)[Shape::own]) const {
        each_own([&](int k, int e) {
            while (seen[k].flag != epoch) {
                if (row - block <= urgent)
                    wi_spin();
                else
                    wi_rest();
                seen[k] = wi_read_pair(word_of(block, e));
            }
            known_of(block)[e] = wi_bit_cast<T>((wi_bits<T>)seen[k].value);
        });
    }
    /* Where unknown e of the block's own rows is in X; NULL if there is none. */
    __device__ T *place_of(int e) const {
        const size_t i = row_at(row, e / rhs);
        return i < p.order && e % rhs < p.count
                   ? p.x + (ptrdiff_t)i * p.x_row + e % rhs * p.x_column
                   : NULL;
    }

    /* ---- sums ---- */

    /* The threads' sums of unknown e, from the first columns to the last, between two barriers. */
    template <class F>
    __device__ void join(const T (&sums)[2][rhs], bool by_rows, const F &f) const {
        T *const parts = slot(row + 1); /* nothing is on its way to it, and nobody needs it */
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int r = 0; r < rhs; r++)
                parts[(int)threadIdx.x / 32 * unknowns + Tile::row(by_rows, h) * rhs + r] =
                    sums[h][r];
        __syncthreads();
        each_own([&](int k, int e) {
            T sum = parts[e];
#pragma unroll
            for (int w = 1; w < chain_warps; w++)
                sum += parts[w * unknowns + e];
            f(k, e, sum);
        });
        __syncthreads();
    }

    /* sums = T(row, 0 ... row - 1) X; and then the tile is of the inverse. */
    __device__ void take_known(Tile &tile, T (&sums)[2][rhs]) const {
        wi_pair seen[Shape::own];
        for (size_t step = 0; step < (size_t)Shape::slots; step++)
            fetch(step);
        wi_async_wait<Shape::slots - 1>();
        __syncthreads();
        tile.load(slot(0), Shape::by_rows && row > 0);
        if (row > 0)
            look(0, seen);
        for (size_t step = 0; step < row; step++) {
            receive(step, seen);
            wi_async_wait<Shape::slots - 2>();
            __syncthreads(); /* and all have their part of the slot that is filled again */
            fetch(step + Shape::slots);
            if (step + 1 < row)
                look(step + 1, seen);
            tile.add(known_of(step), sums, [](int, int) { return true; });
            tile.load(slot(step + 1), Shape::by_rows && step + 1 < row);
        }
    }

    /* Is the element in the triangle that counts? Zeros beyond would make NaN of infinity. */
    __device__ bool keeps(int h, int column) const {
        const int i = Tile::row(false, h);
        return p.backwards ? column >= i : column <= i;
    }
    /* sums = a triangle of the blocks on the diagonal times `right`, with few registers. */
    __device__ void multiply(const T *blocks, const T *right, T (&sums)[2][rhs]) const {
        const T *const from = blocks + row * wi_triangle_block;
#pragma unroll 1
        for (int column = Tile::column(); column < Tile::column() + share; column++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int e = Tile::row(false, h) + column * side;
                const T at = from[p.backwards ? (int)wi_triangle_block - 1 - e : e];
#pragma unroll
                for (int r = 0; r < rhs; r++)
                    if (keeps(h, column))
                        sums[h][r] = wi_fma(at, right[column * rhs + r], sums[h][r]);
            }
    }
    /* x += inverse (rest - T x). Where infinity is among these there is nothing to correct. */
    __device__ void correct(T *rest, T (&x)[Shape::own]) const {
        T right[Shape::own], sums[2][rhs] = {}, more[2][rhs] = {};
        each_own([&](int k, int e) {
            right[k] = rest[e];
            rest[e] = x[k];
        });
        __syncthreads();
        multiply(p.known.block, rest, sums);
        join(sums, false,
             [&](int k, int e, T sum) { rest[e] = wi_triangle_finite(right[k] - sum); });
        multiply(p.known.inverse, rest, more);
        join(more, false, [&](int k, int, T sum) { x[k] += sum; });
    }

    /* X(row) = inverse (alpha B(row) - sums) */
    __device__ void run(bool &is_bad) const {
        if (threadIdx.x == 0)
            is_bad = wi_triangle_inverses<T>::is_bad(p.known.condition[row]);
        Tile tile;
        T sums[2][rhs] = {}, b[Shape::own];
        each_own([&](int k, int e) {
            const T *const from = place_of(e);
            b[k] = from ? *from : (T)0;
        });
        take_known(tile, sums);
        T *const rest = known_of(row);
        join(sums, Shape::by_rows, [&](int k, int e, T sum) { rest[e] = p.alpha * b[k] - sum; });
        T product[2][rhs] = {}, x[Shape::own];
        tile.add(rest, product, [&](int h, int column) { return keeps(h, column); });
        join(product, false, [&](int k, int, T sum) { x[k] = sum; });
        if (is_bad)
            correct(rest, x);
        each_own([&](int k, int e) {
            wi_write_pair(word_of(row, e), (uint64_t)wi_bit_cast<wi_bits<T>>(x[k]), epoch);
            T *const to = place_of(e);
            if (to)
                *to = x[k];
        });
    }
};

/* Blocks take rows of blocks in order, so that those they wait for are done or under way. */
template <class Shape>
__global__ void __launch_bounds__(chain_threads, 2)
    solve_chain(wi_chain_params<typename Shape::T> p) {
    using T = typename Shape::T;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(uint64_t, taken, );
    WEFT_SHARED(bool, is_bad, ); /* read from memory long before it is asked for */
    T *const slots = (T *)memory, *const known = slots + Shape::slots * Shape::size;
    const uint64_t epoch = wi_lookback_epoch(p.line);
    for (;;) {
        if (threadIdx.x == 0)
            taken = wi_lookback_take_tile(p.line);
        __syncthreads();
        const size_t row = taken;
        if (row * Shape::side >= p.order)
            break;
        chain_rows<Shape>{p, slots, known, epoch, row}.run(is_bad);
    }
    if (threadIdx.x == 0)
        wi_lookback_leave(p.line, gridDim.x);
}

/* ---- launches ---- */

template <class T, int rhs, bool by_rows>
static weft_status launch(weft_context *ctx, const wi_chain_params<T> &p) {
    using Shape = chain_shape<T, rhs, by_rows>;
    const size_t rows = wi_gemm_pieces(p.order, Shape::side);
    const size_t fill = 2 * (size_t)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH(solve_chain<Shape>, ctx, (unsigned)(rows < fill ? rows : fill),
                       chain_threads, Shape::shared_bytes, p);
}

template <class T, int rhs>
static weft_status launch_layout(weft_context *ctx, const wi_chain_params<T> &p) {
    return p.t_column == 1 || p.t_column == -1 ? launch<T, rhs, true>(ctx, p)
                                               : launch<T, rhs, false>(ctx, p);
}

/* Are whole blocks made of packs of 16 bytes? */
template <class T>
static bool is_aligned(const wi_triangle *t) {
    const size_t past = t->order % wi_triangle_side; /* backwards, the last block is the first */
    const size_t first = t->backwards ? past * (t->args->lda + 1) : 0;
    return wi_is_aligned((const T *)t->args->a + first) && t->args->lda * sizeof(T) % 16 == 0;
}

template <class T>
static weft_status launch_count(weft_context *ctx, const wi_triangle *t, T *memory) {
    static const char key = 0;
    const int rhs = t->count < 3 ? (int)t->count : WI_TRSM_CHAIN_MOST;
    const size_t words = wi_gemm_pieces(t->order, wi_triangle_side) * wi_triangle_side * rhs;
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &key, sizeof(wi_lookback_header) + words * sizeof(wi_pair), &scratch);
    if (status != WEFT_OK)
        return status;
    wi_lookback line = {};
    line.header = (wi_lookback_header *)scratch;
    line.totals = {(wi_pair *)(line.header + 1), words};
    line.words = words;
    const wi_triangle_inverses<T> known(memory, wi_gemm_pieces(t->order, wi_triangle_side));
    const wi_chain_params<T> p = {(const T *)t->t, t->t_row,     t->t_column,      (T *)t->x,
                                  t->x_row,        t->x_column,  t->order,         t->args->lda,
                                  (int)t->count,   t->backwards, is_aligned<T>(t), (T)t->alpha,
                                  known,           line,         line.totals.word};
    switch (rhs) {
    case 1:
        return launch_layout<T, 1>(ctx, p);
    case 2:
        return launch_layout<T, 2>(ctx, p);
    default:
        return launch_layout<T, WI_TRSM_CHAIN_MOST>(ctx, p);
    }
}

template <class T>
static weft_status run(weft_context *ctx, const wi_triangle *t) {
    T *memory;
    weft_status status =
        wi_gpu_alloc(ctx, (void **)&memory, wi_triangle_diagonal_bytes<T>(t, true));
    if (status != WEFT_OK)
        return status;
    status = wi_trsm_invert(ctx, t, memory);
    if (status == WEFT_OK)
        status = launch_count<T>(ctx, t, memory);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_trsm_chain(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = (const wi_triangle_args *)args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return t.type == WEFT_F64 ? run<double>(ctx, &t) : run<float>(ctx, &t);
}
