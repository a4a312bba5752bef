/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems on a GPU: a thread has a row of A in registers from the first column to the last,
 * and its elements of a few right-hand sides. Systems of up to 32 rows share warps. No row moves:
 * each thread keeps account of which row of the result it has.
 *
 * Orders are rounded up to 8, 16, 32 or 64. Loops over columns are unrolled for eight of them; then
 * the columns turn in the registers, so that those to be done next come first.
 *
 * A symmetric matrix is eliminated without exchanges: U is then D L' of A = L D L'. */
#ifndef WI_SOLVE_BATCH_CUDA_CUH
#define WI_SOLVE_BATCH_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_size.cuh"
#include "solve_batch/solve_batch.h"

constexpr size_t wi_batch_most_blocks = 1 << 20; /* which take turns beyond that */

template <class T>
struct wi_batch_place {
    T *p;
    size_t row, column, stride;

    __device__ T *at(size_t system, int i, size_t j) const {
        return p + system * stride + (size_t)i * row + j * column;
    }
};

template <class T>
struct wi_solve_batch_params {
    wi_batch_task task;
    bool transposed;
    int n;
    size_t nrhs, count;
    wi_batch_place<T> a, b;
    int32_t *pivot, *info;
};

template <class Element, int order_, int rhs_, bool spd_>
struct wi_batch_shape {
    using T = Element;
    static constexpr int order = order_, rhs = rhs_;
    static constexpr bool spd = spd_;
    static constexpr int threads = order > 32 ? order : 128, systems = threads / order;
    static constexpr int warps = order > 32 ? order / 32 : 1; /* of a system */
    static constexpr int run = 8, runs = order / run;         /* of columns */
    static constexpr int width = 16 / (int)sizeof(T);
    /* On a multiprocessor, so many that registers suffice: each step is a chain of waits. */
    static constexpr int blocks = sizeof(T) == 8 ? (order == 8    ? 5
                                                    : order == 16 ? 4
                                                                  : 3)
                                                 : (order == 8    ? 8
                                                    : order == 16 ? 6
                                                    : order == 32 ? 4
                                                                  : 3);
};

/* What the threads of a system tell each other, of two steps in turn. */
template <class Shape>
struct alignas(16) wi_batch_board {
    using T = typename Shape::T;
    T line[2][Shape::warps][Shape::order]; /* the pivot's row, one that each warp proposes */
    T known[2][Shape::rhs];                /* unknowns */
    T scale[Shape::order];
    wi_lu_candidate best[2][Shape::warps];
};

template <class Shape>
struct wi_batch_system {
    using T = typename Shape::T;
    static constexpr int order = Shape::order, rhs = Shape::rhs, run = Shape::run;
    static constexpr int runs = Shape::runs, warps = Shape::warps, width = Shape::width;

    const wi_solve_batch_params<T> &p;
    wi_batch_board<Shape> &board;
    size_t system;
    bool there; /* is there such a system? */
    int i;      /* the thread's row */

    T a[order] = {};
    T x[rhs] = {};
    int place = -1;       /* the row of the result that it has; -1: it has none */
    int32_t exchange = 0; /* the pivot of column i */
    int32_t info = 0;
    T diagonal = 1; /* the element of the row's own place */

    /* Between the threads of a system. */
    __device__ static void meet() {
        if (warps > 1)
            __syncthreads();
        else
            __syncwarp();
    }

    /* f(k, c) for the columns k of the system, in order or backwards; a[c] is k's element. While f
     * runs, columns of the run r are a[0 ... run - 1], and those after it follow. */
    template <class F>
    __device__ void each_column(const F &f) {
#pragma unroll 1
        for (int r = 0; r < runs; r++) {
#pragma unroll
            for (int c = 0; c < run; c++)
                if (r * run + c < p.n)
                    f(r, r * run + c, c);
            turn<run>();
        }
    }
    template <class F>
    __device__ void each_column_backwards(const F &f) {
#pragma unroll 1
        for (int r = runs - 1; r >= 0; r--) {
            turn<order - run>();
#pragma unroll
            for (int c = run - 1; c >= 0; c--)
                if (r * run + c < p.n)
                    f(r, r * run + c, c);
        }
    }
    /* a[c] becomes a[c + by], in a circle. */
    template <int by>
    __device__ void turn() {
        if constexpr (runs > 1) {
            T old[order];
#pragma unroll
            for (int c = 0; c < order; c++)
                old[c] = a[c];
#pragma unroll
            for (int c = 0; c < order; c++)
                a[c] = old[(c + by) % order];
        }
    }

    /* ---- memory ---- */

    /* Reads row i, from column to column: 64-bit products for each would be a sixth of the kernel.
     * A symmetric matrix is whole here, and so is L, with L' above: behind the diagonal the row
     * goes on as a column. A system that is not there is the unit matrix. */
    __device__ void load() {
        const size_t down = p.transposed ? p.a.column : p.a.row;
        const size_t across = p.transposed ? p.a.row : p.a.column;
        const T *left = p.a.at(system, 0, 0) + (size_t)i * down;
        const T *below = p.a.at(system, 0, 0) + (size_t)i * across;
#pragma unroll
        for (int j = 0; j < order; j++) {
            const T *const element = Shape::spd && j > i ? below : left;
            a[j] = there && i < p.n && j < p.n ? *element : (T)(i == j ? 1 : 0);
            left += across;
            below += down;
        }
        place = i < p.n ? i : -1;
        info = 0;
        exchange = i;
    }
    /* L of A = L L' has the roots of D more than what was eliminated. */
    __device__ void store() const {
        T *to = p.a.at(system, place, 0);
#pragma unroll
        for (int j = 0; j < order; j++) {
            if (there && place >= 0 && j < p.n && (!Shape::spd || j <= i)) {
                T kept = a[j];
                if (Shape::spd)
                    kept = j == i ? board.scale[j] : kept * board.scale[j];
                *to = kept;
            }
            to += p.a.column;
        }
    }

    /* ---- elimination ---- */

    /* The place of the pivot, of which `line` becomes the row: from the step's first column on. */
    __device__ int choose(int k, int c, const T *&line) {
        const int buffer = k % 2, warp = warps > 1 ? i / 32 : 0;
        const bool active = place >= k;
        wi_lu_candidate mine = {{0, 0}, wi_lu_no_row};
        if (active)
            mine = {wi_lu_size_of(a[c]), (uint32_t)place};
        const uint32_t own = mine.row;
        if (Shape::spd) {
            mine.row = (uint32_t)k;
        } else if (order >= 32) {
            mine = wi_lu_shuffle(mine, wi_lu_best_lane(mine));
        } else {
#pragma unroll
            for (int step = order / 2; step > 0; step /= 2) {
                const wi_lu_candidate other = {
                    {wi_shuffle_xor(mine.size.high, step), wi_shuffle_xor(mine.size.low, step)},
                    wi_shuffle_xor(mine.row, step)};
                mine = other.precedes(mine) ? other : mine;
            }
        }
        if (active && own == mine.row)
            propose(board.line[buffer][Shape::spd ? 0 : warp], c);
        if (warps > 1 && i % 32 == 0)
            board.best[buffer][warp] = mine;
        meet();
        int from = 0;
        if (warps > 1 && !Shape::spd) {
            from = board.best[buffer][1].precedes(board.best[buffer][0]);
            mine = board.best[buffer][from];
        }
        line = board.line[buffer][from];
        return (int)mine.row;
    }
    __device__ void propose(T *line, int c) const {
#pragma unroll
        for (int e = 0; e < order; e += width)
            if (e + width > c) {
                wi_vector<T> v;
#pragma unroll
                for (int q = 0; q < width; q++)
                    v.at[q] = a[e + q];
                *(wi_vector<T> *)(line + e) = v;
            }
    }

    __device__ void tell(int k, T pivot) {
        const bool finite = wi_lu_is_finite<T>(wi_lu_size_of(pivot));
        if (!finite && (Shape::spd ? info == 0 : info >= 0))
            info = -(k + 1);
        if (finite && info == 0 && (Shape::spd ? !(pivot > 0) : pivot == 0))
            info = k + 1;
    }

    /* Takes the pivot's row, from the columns behind it on, from this one. */
    __device__ void take(int r, int c, const T *line) {
        const T factor = quotient(a[c], wi_divisor<T>(line[c]));
        a[c] = factor;
#pragma unroll
        for (int e = 0; e < run; e++)
            if (e > c)
                a[e] = wi_fma(-factor, line[e], a[e]);
        if constexpr (runs > 1)
#pragma unroll
            for (int e = run; e < order; e++)
                if (r + e / run < runs)
                    a[e] = wi_fma(-factor, line[e], a[e]);
    }
    /* Also where the quick way leaves the range. */
    __device__ static T quotient(T y, const wi_divisor<T> &by) {
        const T q = by.of(y);
        return wi_lu_is_finite<T>(wi_lu_size_of(q)) ? q : y / by.x;
    }

    __device__ void eliminate() {
        each_column([&](int r, int k, int c) {
            const T *line;
            const int with = choose(k, c, line);
            const T pivot = line[c];
            if (place >= 0)
                place = place == with ? k : place == k ? with : place;
            exchange = i == k ? with : exchange;
            tell(k, pivot);
            if (place > k && pivot != 0)
                take(r, c, line);
        });
    }

    /* The roots of D, for all threads. */
    __device__ void find_scale() {
        keep_diagonal();
        if (place >= 0)
            board.scale[i] = sqrt(diagonal);
        meet();
    }

    /* ---- substitution ---- */

    __device__ void keep_diagonal() {
        diagonal = 1;
        each_column([&](int, int k, int c) { diagonal = place == k ? a[c] : diagonal; });
    }
    /* The unknowns of row k, in all threads of the system. */
    __device__ const T *publish(int k) {
        T *const known = board.known[k % 2];
        if (place == k)
#pragma unroll
            for (int q = 0; q < rhs; q++)
                known[q] = x[q];
        meet();
        return known;
    }
    __device__ void divide(const wi_divisor<T> &by, int k) {
        if (place == k)
#pragma unroll
            for (int q = 0; q < rhs; q++)
                x[q] = quotient(x[q], by);
    }
    __device__ void take_known(const T *known, T factor) {
#pragma unroll
        for (int q = 0; q < rhs; q++)
            x[q] = wi_fma(-factor, known[q], x[q]);
    }
    /* x = L \ x, and x = U \ x, of the rows in registers; which of them has ones on its diagonal
     * depends on what they are of. */
    __device__ void substitute(bool lower_divides, bool upper_divides) {
        const wi_divisor<T> by(diagonal);
        each_column([&](int, int k, int c) {
            if (lower_divides)
                divide(by, k);
            const T *const known = publish(k);
            if (place > k)
                take_known(known, a[c]);
        });
        meet();
        each_column_backwards([&](int, int k, int c) {
            if (upper_divides)
                divide(by, k);
            const T *const known = publish(k);
            if (place >= 0 && place < k)
                take_known(known, a[c]);
        });
        meet();
    }

    /* The row of A, before all exchanges, that is row i of L U. */
    __device__ int origin() const {
        int from = i;
        for (int k = there ? p.n - 1 : -1; k >= 0; k--) {
            const int with = p.pivot[system * (size_t)p.n + (size_t)k];
            from = from == k ? with : from == with ? k : from;
        }
        return from;
    }

    /* The right-hand sides, `rhs` of them at a time; this thread reads one row of B and writes one
     * of X. */
    __device__ void solve(int from, int to, bool lower_divides, bool upper_divides) {
        keep_diagonal();
        for (size_t first = 0; first < p.nrhs; first += rhs) {
#pragma unroll
            for (int q = 0; q < rhs; q++)
                x[q] = there && place >= 0 && first + q < p.nrhs ? *p.b.at(system, from, first + q)
                                                                 : (T)0;
            substitute(lower_divides, upper_divides);
#pragma unroll
            for (int q = 0; q < rhs; q++)
                if (there && place >= 0 && info == 0 && first + q < p.nrhs)
                    *p.b.at(system, to, first + q) = x[q];
        }
    }

    /* ---- the tasks ---- */

    /* Factors, and stores what was asked for; false: nothing is left to do. */
    __device__ bool factor() {
        eliminate();
        if (there && i == 0)
            p.info[system] = info;
        if (p.task == WI_BATCH_SOLVE)
            return true;
        if (Shape::spd)
            find_scale();
        store();
        if (!Shape::spd && there && i < p.n)
            p.pivot[system * (size_t)p.n + (size_t)i] = exchange;
        return false;
    }
    /* The tasks share a copy of the loads. Of a large system they share the substitution too, for
     * it is most of the kernel; of a small one what A's factors may need besides costs up to a
     * tenth. */
    __device__ void run_task() {
        const bool given = p.task == WI_BATCH_SUBSTITUTE;
        load();
        if (!given && !factor())
            return;
        if (order <= 16 && !given) {
            solve(i, place, false, true);
            return;
        }
        const int other = !given ? place : Shape::spd ? i : origin();
        const bool turned = given && p.transposed;
        solve(given && !turned ? other : i, given && !turned ? i : other,
              given && (Shape::spd || turned), !given || Shape::spd || !turned);
    }
};

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_batch_solve(wi_solve_batch_params<typename Shape::T> p) {
    WEFT_SHARED(wi_batch_board<Shape>, boards, [Shape::systems]);
    const int group = (int)threadIdx.x / Shape::order, i = (int)threadIdx.x % Shape::order;
    const size_t apart = (size_t)gridDim.x * Shape::systems;
    for (size_t first = (size_t)blockIdx.x * Shape::systems; first < p.count; first += apart) {
        const size_t system = first + (size_t)group;
        wi_batch_system<Shape> s = {p, boards[group], system, system < p.count, i};
        s.run_task();
        s.meet();
    }
}

/* ---- launches ---- */

template <class Shape>
weft_status wi_batch_launch(weft_context *ctx, const wi_solve_batch_args *g) {
    using T = typename Shape::T;
    const wi_solve_batch_params<T> p = {g->task,
                                        g->transposed,
                                        (int)g->n,
                                        g->nrhs,
                                        g->count,
                                        {(T *)g->a.p, g->a.row, g->a.column, g->a.stride},
                                        {(T *)g->b.p, g->b.row, g->b.column, g->b.stride},
                                        g->pivot,
                                        g->info};
    const size_t blocks = (g->count - 1) / Shape::systems + 1;
    return WEFT_LAUNCH(wi_batch_solve<Shape>, ctx,
                       (unsigned)(blocks < wi_batch_most_blocks ? blocks : wi_batch_most_blocks),
                       Shape::threads, 0, p);
}

template <class T, int order, int rhs>
weft_status wi_batch_of_kind(weft_context *ctx, const wi_solve_batch_args *g) {
    return g->spd ? wi_batch_launch<wi_batch_shape<T, order, rhs, true>>(ctx, g)
                  : wi_batch_launch<wi_batch_shape<T, order, rhs, false>>(ctx, g);
}

template <class T, int order>
weft_status wi_batch_of_order(weft_context *ctx, const wi_solve_batch_args *g) {
    constexpr int several = 16 / (int)sizeof(T);
    return g->nrhs < 2 ? wi_batch_of_kind<T, order, 1>(ctx, g)
                       : wi_batch_of_kind<T, order, several>(ctx, g);
}

template <class T>
weft_status wi_batch_of_type(weft_context *ctx, const wi_solve_batch_args *g) {
    return g->n <= 8    ? wi_batch_of_order<T, 8>(ctx, g)
           : g->n <= 16 ? wi_batch_of_order<T, 16>(ctx, g)
           : g->n <= 32 ? wi_batch_of_order<T, 32>(ctx, g)
                        : wi_batch_of_kind<T, 64, 2>(ctx, g);
}

weft_status wi_solve_batch_registers_f64(weft_context *ctx, const wi_solve_batch_args *g);
weft_status wi_solve_batch_registers_f32(weft_context *ctx, const wi_solve_batch_args *g);

#endif
