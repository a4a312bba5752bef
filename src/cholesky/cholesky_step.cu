/* SPDX-License-Identifier: Apache-2.0 */
/* A step: 64 columns become columns of L in one kernel, and those after them are brought up to
 * date. Some blocks of threads have a tile of these columns each, and the tile on the diagonal: one
 * warp factors it, and four make their tile's rows rows of L, a strip of 16 columns behind. All
 * find the same factor, which nobody has to wait for. Other blocks take what the step before left
 * to be taken from the tiles beyond.
 *
 * Nothing that a block reads is written in the same step: the tile on the diagonal is read from a
 * copy, which the step before left; and columns are brought up to date one step late, but for the
 * tiles on the diagonal, which the owner of their row has. */
#include <limits.h>

#include "cholesky/cholesky_factorer.cuh"
#include "cuda/async.cuh"

#include "cuda/tensor_f64.cuh"

constexpr int side = wi_cholesky_side;
constexpr int copiers = 256;
constexpr int solvers = 32 * wi_strips, threads = solvers + 32;

template <class T>
struct wi_cholesky_step_params {
    T *a; /* L(i, j) is a[i * down + j * across] */
    size_t down, across, n;
    unsigned tiles;      /* rows of tiles */
    unsigned column;     /* of tiles: this step's */
    unsigned begin, end; /* the columns of tiles that are taken from each other */
    unsigned solving;    /* blocks that have tiles of this column */
    const T *in;         /* the tile on the diagonal, by columns without gaps */
    T *out;              /* the next one */
    int64_t *first;
    bool clears; /* the words of `first`, before all steps */

    __device__ T *tile(unsigned i, unsigned j) const {
        return a + (size_t)i * side * down + (size_t)j * side * across;
    }
    __device__ int rows(unsigned i) const {
        const size_t left = n - (size_t)i * side;
        return left < side ? (int)left : side;
    }
};

template <class T>
struct step_memory {
    wi_tile_factor<T> factor;
    T left[wi_tile_size];  /* L(i, column - 1), then tile (i, column) */
    T right[wi_tile_size]; /* L(column, column - 1), then tile (i, i) */
};

template <class T>
struct cholesky_step {
    const wi_cholesky_step_params<T> &p;
    step_memory<T> &m;
    int warp;
    wi_cholesky_strip_sums<T, side / 8> sums; /* of a warp's strip of tile (i, column) */

    __device__ bool factors() const {
        return warp == wi_strips;
    }
    __device__ int strip_row() const {
        return warp * wi_strip;
    }

    /* ---- tiles from and to memory ---- */

    /* f(i, j, element in the tile, element in memory) for some of a tile's elements, of which
     * `count` threads see all; neighbours in memory by neighbouring threads. */
    template <int count, class F>
    __device__ void each(int thread, T *tile, T *memory, F f) const {
        constexpr int lines = count < side ? 1 : count / side;
        const bool by_columns = p.down == 1;
        const int along = by_columns ? 1 : wi_tile_pitch, across = by_columns ? wi_tile_pitch : 1;
        const size_t line = by_columns ? p.across : p.down;
        for (int u = thread % side; u < side; u += count) {
            T *in_tile = tile + u * along + thread / side * across;
            T *in_memory = memory + u + thread / side * line;
#pragma unroll 4
            for (int v = thread / side; v < side; v += lines) {
                f(by_columns ? u : v, by_columns ? v : u, in_tile, in_memory);
                in_tile += lines * across;
                in_memory += lines * line;
            }
        }
    }
    /* Starts a copy of the tile; of one on the diagonal the lower triangle, and zeros. */
    __device__ void fetch(T *to, unsigned row, unsigned column) const {
        const int rows = p.rows(row);
        each<solvers>((int)threadIdx.x, to, p.tile(row, column),
                      [&](int i, int j, T *own, const T *from) {
                          const bool there = i < rows && (row != column || i >= j);
                          wi_async_copy<(int)sizeof(T)>(own, there ? from : p.a, there);
                      });
    }
    __device__ void fetch_diagonal() const {
        constexpr int width = wi_vector<T>::count, packs = side / width;
        for (int e = (int)threadIdx.x; e < packs * side; e += threads)
            wi_async_copy<16>(m.factor.tile + e % packs * width + e / packs * wi_tile_pitch,
                              p.in + e * width);
    }
    /* f(x, place, row, column) of each of a lane's sums of a warp's strip of a tile. */
    template <class F>
    __device__ void each_place(T *tile, size_t down, size_t across, F f) {
        const int row = strip_row() + sums.row(0);
        T *at = tile + row * down + sums.column(0, 0) * across;
#pragma unroll
        for (int c = 0; c < side / 8; c++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int lower = sums.row(e) - sums.row(0);
                const int right = sums.column(0, e) - sums.column(0, 0);
                f(sums.at[c][e], at + lower * down + right * across, row + lower,
                  sums.column(c, e));
            }
            at += (sums.column(1, 0) - sums.column(0, 0)) * across;
        }
    }
    /* f(x, place) of those of tile (i, j) that are there. */
    template <class F>
    __device__ void each_sum(unsigned i, unsigned j, F f) {
        const int rows = p.rows(i);
        each_place(p.tile(i, j), p.down, p.across, [&](T &x, T *at, int row, int) {
            if (row < rows)
                f(x, at);
        });
    }
    __device__ void load_sums(unsigned i, unsigned j) {
        sums = {};
        each_sum(i, j, [](T &x, const T *from) { x = *from; });
    }
    __device__ void store_sums(unsigned i, unsigned j) {
        each_sum(i, j, [](T &x, T *to) { *to = x; });
    }
    /* A tile to memory, as each() goes through it. Elements are read some at a time before they are
     * written: a compiler that knows of no order between the two would wait for each. */
    template <class F>
    __device__ void put(const T *tile, T *memory, F there) const {
        constexpr int lines = solvers / side, batch = 8;
        const bool by_columns = p.down == 1;
        const int along = by_columns ? 1 : wi_tile_pitch, across = by_columns ? wi_tile_pitch : 1;
        const size_t line = by_columns ? p.across : p.down;
        const int u = (int)threadIdx.x % side;
#pragma unroll 1
        for (int first = (int)threadIdx.x / side; first < side; first += batch * lines) {
            T x[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                x[k] = tile[u * along + (first + k * lines) * across];
#pragma unroll
            for (int k = 0; k < batch; k++) {
                const int v = first + k * lines;
                if (there(by_columns ? u : v))
                    memory[u + v * line] = x[k];
            }
        }
    }
    __device__ void store_rows(unsigned i) const {
        const int rows = p.rows(i);
        T *const to = p.tile(i, p.column);
        if (rows == side)
            put(m.left, to, [](int) { return true; });
        else
            put(m.left, to, [=](int row) { return row < rows; });
    }
    /* By the warps that factor, of all blocks: each stores some columns, or rows. */
    __device__ void store_factor() const {
        const bool by_columns = p.down == 1;
        const int along = by_columns ? 1 : wi_tile_pitch, across = by_columns ? wi_tile_pitch : 1;
        const size_t line = by_columns ? p.across : p.down;
        const int rows = p.rows(p.column);
        T *const to = p.tile(p.column, p.column);
        for (int v = (int)blockIdx.x; v < side; v += (int)p.solving)
#pragma unroll
            for (int u = wi_lane(); u < side; u += 32) {
                const int i = by_columns ? u : v, j = by_columns ? v : u;
                if (i < rows && j <= i)
                    to[u + v * line] = m.factor.tile[u * along + v * across];
            }
    }
    /* By one of them, of a factor that failed: the columns before, and the pivot. */
    __device__ void store_failed() const {
        const int rows = p.rows(p.column), done = m.factor.done;
        each<32>(wi_lane(), m.factor.tile, p.tile(p.column, p.column),
                 [&](int i, int j, const T *own, T *to) {
                     if (i < rows && j <= i && (j < done || (j == done && i == done)))
                         *to = j == done ? m.factor.pivot : *own;
                 });
    }

    /* ---- parts of a step ---- */

    static constexpr int warps = threads / 32;
    static constexpr int meetings = 2 * wi_strips + 1; /* of a tile */
    /* Where all threads of the block meet, whichever part they have. */
    __device__ static void meet() {
        __syncthreads();
    }
    /* All warps take the strips before strip b of the diagonal's tile from it. */
    __device__ void share_update(int b) const {
        wi_factorer<T>{m.factor}.update(b, warp, warps);
    }
    /* Tile (i, i), in m.right, loses what `count` columns of row i, from `first` on, have with
     * themselves. */
    __device__ void subtract_from_diagonal(int first, int count) {
        const T *const columns = m.left + first * wi_tile_pitch;
        sums.subtract(columns + strip_row(), columns, count);
    }
    /* The next tile is left for the next step, as one of 64 x 64. */
    __device__ void store_diagonal(unsigned i) {
        const int rows = p.rows(i);
        if (i == p.column + 1)
            each_place(p.out, 1, side,
                       [&](T &x, T *to, int u, int v) { *to = u < rows ? x : (T)(u == v); });
        else
            each_place(p.tile(i, i), p.down, p.across, [&](T &x, T *to, int u, int v) {
                if (u < rows && u >= v)
                    *to = x;
            });
    }
    /* m.left = tile (i, column), brought up to date. */
    __device__ void bring(unsigned i, bool there, bool is_first) {
        const bool takes = there && p.column > p.begin;
        T *const own = m.left + strip_row();
        if (takes) {
            fetch(m.left, i, p.column - 1);
            fetch(m.right, p.column, p.column - 1);
        }
        wi_async_commit();
        if (there)
            load_sums(i, p.column);
        wi_async_wait<0>();
        meet();
        if (is_first)
            share_update(1);
        meet();
        if (takes)
            sums.subtract(own, m.right, side);
        __syncwarp();
        sums.store(own);
    }
    /* What solving warps do with tile i while the factor's strips become known: `is_first` of the
     * block's tiles; between two meetings each does what the others are done with. Of the next
     * tile on the diagonal, two strips are taken while the last strip of the factor is made. False
     * if a pivot is none. */
    __device__ bool solve(unsigned i, bool is_first) {
        static_assert(wi_strips == 4, "the order of meetings is for four strips");
        const bool there = i < p.tiles, has_diagonal = there && i < p.end;
        T *const own = m.left + strip_row();
        wi_async_wait<0>();
        meet();
        bring(i, there, is_first);
        meet();
        if (has_diagonal)
            fetch(m.right, i, i);
        wi_async_commit();
        if (is_first)
            share_update(2);
        meet();
        wi_substitute(m.factor, own, 0);
        wi_substitute(m.factor, own, 1);
        wi_async_wait<0>();
        meet();
        if (is_first)
            share_update(3);
        meet();
        if (has_diagonal) {
            sums.load(m.right + strip_row());
            subtract_from_diagonal(0, 2 * wi_strip);
        }
        wi_substitute(m.factor, own, 2);
        meet();
        if (m.factor.done < side)
            return false;
        if (has_diagonal)
            subtract_from_diagonal(2 * wi_strip, wi_strip);
        wi_substitute(m.factor, own, 3);
        meet();
        if (has_diagonal) {
            subtract_from_diagonal(3 * wi_strip, wi_strip);
            store_diagonal(i);
        }
        if (there)
            store_rows(i);
        return true;
    }
    /* Tells of a pivot that is none. The next diagonal has none either. */
    __device__ void fail() const {
        if (blockIdx.x > 0)
            return;
        if (!wi_cholesky_has_failed(p.first)) {
            store_failed();
            __syncwarp();
            if (wi_lane() == 0)
                wi_cholesky_tell(p.first, m.factor.pivot, (int64_t)p.column * side + m.factor.done);
        }
        if (wi_lane() == 0 && p.column + 1 < p.end)
            p.out[0] = -1;
    }
    __device__ void factor() const {
        wi_async_wait<0>();
        meet();
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            if (b > 0) {
                meet();
                share_update(b);
                meet();
            }
            wi_factorer<T>{m.factor}.run(b);
        }
        meet();
        if (m.factor.done < side) {
            fail();
            return;
        }
        meet();
        for (unsigned i = p.column + 1 + blockIdx.x + p.solving; i < p.tiles; i += p.solving)
            for (int k = 0; k < meetings; k++)
                meet();
        store_factor();
    }
    __device__ void run() {
        unsigned i = p.column + 1 + blockIdx.x;
        if (threadIdx.x == 0)
            m.factor.done = side;
        fetch_diagonal();
        wi_async_commit();
        if (factors()) {
            factor();
            return;
        }
        bool is_first = true, goes_on;
        do {
            goes_on = solve(i, is_first);
            is_first = false;
            i += p.solving;
        } while (goes_on && i < p.tiles);
    }
    /* A tile beyond this column, from the top of a column of tiles to its end. */
    __device__ void update(unsigned number) {
        unsigned j = p.column + 1;
        for (unsigned below; number >= (below = p.tiles - 1 - j); j++)
            number -= below;
        const unsigned i = j + 1 + number;
        if (!factors()) {
            fetch(m.left, i, p.column - 1);
            fetch(m.right, j, p.column - 1);
            load_sums(i, j);
        }
        wi_async_commit();
        wi_async_wait<0>();
        __syncthreads();
        if (!factors()) {
            sums.subtract(m.left + strip_row(), m.right, side);
            store_sums(i, j);
        }
    }
};

template <class T>
__global__ void __launch_bounds__(threads, 2) step_of_columns(wi_cholesky_step_params<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    const int warp = wi_shuffle((int)threadIdx.x / 32, 0); /* known to be the same in all lanes */
    cholesky_step<T> s = {p, *(step_memory<T> *)memory, warp, {}};
    if (blockIdx.x < p.solving)
        s.run();
    else
        s.update(blockIdx.x - p.solving);
}

/* Before the first step of some: the copy of the tile on the diagonal. */
template <class T>
__global__ void __launch_bounds__(copiers) begin_steps(wi_cholesky_step_params<T> p) {
    const T *const from = p.tile(p.begin, p.begin);
    const int rows = p.rows(p.begin);
    const bool failed = !p.clears && wi_cholesky_has_failed(p.first);
    __syncthreads();
    if (p.clears && threadIdx.x < WI_CHOLESKY_WORDS)
        p.first[threadIdx.x] = WI_CHOLESKY_NONE;
    for (int e = (int)threadIdx.x; e < side * side; e += copiers) {
        const int i = p.down == 1 ? e % side : e / side, j = p.down == 1 ? e / side : e % side;
        const T x = i < rows && j <= i ? from[i * p.down + j * p.across] : (T)(i == j);
        p.out[i + j * side] = failed ? (T)-1 : x;
    }
}

/* ---- launches ---- */

template <class T>
static weft_status launch_step(weft_context *ctx, wi_cholesky_step_params<T> p,
                               unsigned blocks_most) {
    const unsigned below = p.tiles - 1 - p.column;
    size_t updates = 0;
    if (p.column > p.begin)
        for (unsigned j = p.column + 1; j < p.end; j++)
            updates += p.tiles - 1 - j;
    p.solving = below < blocks_most ? below : blocks_most;
    p.solving = p.solving > 0 ? p.solving : 1;
    return WEFT_LAUNCH(step_of_columns<T>, ctx, (unsigned)(p.solving + updates), threads,
                       sizeof(step_memory<T>), p);
}

template <class T>
static weft_status run(weft_context *ctx, const wi_cholesky_args *g, const wi_cholesky_steps *s) {
    T *const copy[2] = {(T *)s->copies, (T *)s->copies + side * side};
    wi_cholesky_step_params<T> p = {};
    p.a = (T *)g->a;
    p.down = g->upper ? g->lda : 1;
    p.across = g->upper ? 1 : g->lda;
    p.n = g->n;
    p.tiles = (unsigned)((g->n - 1) / side + 1);
    p.begin = (unsigned)(s->first / side);
    p.end = (unsigned)((s->first + s->columns - 1) / side + 1);
    p.first = g->first;
    p.clears = s->first == 0;
    p.out = copy[p.begin % 2];
    weft_status status = WEFT_LAUNCH(begin_steps<T>, ctx, 1, copiers, 0, p);
    for (p.column = p.begin; p.column < p.end && status == WEFT_OK; p.column++) {
        p.in = copy[p.column % 2];
        p.out = copy[(p.column + 1) % 2];
        status = launch_step(ctx, p, 2 * s->units);
    }
    return status;
}

weft_status wi_cholesky_copies(weft_context *ctx, void **copies) {
    return wi_cholesky_memory(ctx, 2 * side * side * sizeof(double), copies);
}

weft_status wi_cholesky_run_steps(weft_context *ctx, const wi_cholesky_args *args,
                                  const wi_cholesky_steps *steps) {
    return args->type == WEFT_F64 ? run<double>(ctx, args, steps) : run<float>(ctx, args, steps);
}

weft_status wi_cholesky_stepwise(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = (const wi_cholesky_args *)args;
    wi_cholesky_steps all = {0, g->n, UINT_MAX / 2, NULL, NULL, NULL};
    const weft_status status = wi_cholesky_copies(ctx, &all.copies);
    return status == WEFT_OK ? wi_cholesky_run_steps(ctx, g, &all) : status;
}
