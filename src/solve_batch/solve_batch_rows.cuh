/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a small system on a GPU, which a team of threads has in registers from the first
 * column to the last, some rows each. No row moves: each thread keeps account of which rows of the
 * result it has.
 *
 * Loops over columns are unrolled for eight of them; then the columns turn in the registers, so
 * that those to be done next come first. */
#ifndef WI_SOLVE_BATCH_ROWS_CUH
#define WI_SOLVE_BATCH_ROWS_CUH

#include "solve_batch/solve_batch_shape.cuh"

template <class Shape>
struct wi_batch_rows {
    using T = typename Shape::T;
    static constexpr int order = Shape::order, rows = Shape::rows, team = Shape::team;
    static constexpr int run = Shape::run, runs = Shape::runs, warps = Shape::warps;

    const wi_solve_batch_params<T> &p;
    wi_batch_board<Shape> &board;
    size_t system;
    bool there; /* is there such a system? */
    int i;      /* the thread's first row; the others are `team` apart */

    T a[rows][order] = {};
    int place[rows] = {}; /* the rows of the result that it has */

    /* Between the threads of a system. */
    __device__ static void meet() {
        if (warps > 1)
            __syncthreads();
        else
            __syncwarp();
    }
    __device__ int row(int q) const {
        return i + q * team;
    }

    /* f(r, k, c) for the columns k of the system, in order or backwards; a[q][c] is k's element.
     * While f runs, columns of the run r are a[q][0 ... run - 1], and those after it follow. A
     * system that ends within a run goes on as the unit matrix. */
    template <class F>
    __device__ void each_column(const F &f) {
        const int end = used_runs();
#pragma unroll 1
        for (int r = 0; r < runs; r++) {
            if (r < end)
#pragma unroll
                for (int c = 0; c < run; c++)
                    if (runs > 1 || c < p.n)
                        f(r, r * run + c, c);
            turn<run>();
        }
    }
    template <class F>
    __device__ void each_column_backwards(const F &f) {
        const int end = used_runs();
#pragma unroll 1
        for (int r = runs - 1; r >= 0; r--) {
            turn<order - run>();
            if (r < end)
#pragma unroll
                for (int c = run - 1; c >= 0; c--)
                    if (runs > 1 || c < p.n)
                        f(r, r * run + c, c);
        }
    }
    __device__ int used_runs() const {
        return runs == 1 ? 1 : (p.n + run - 1) / run;
    }
    __device__ int used() const {
        return runs == 1 ? p.n : used_runs() * run;
    }
    /* Is there something in the columns from this one on, which is among those that follow? */
    __device__ bool is_live(int r, int c) const {
        return c == 0 || r + c / run < used_runs();
    }
    /* a[q][c] becomes a[q][c + by], in a circle. */
    template <int by>
    __device__ void turn() {
        constexpr int forward = by == run;
        if constexpr (runs > 1)
#pragma unroll
            for (int q = 0; q < rows; q++)
#pragma unroll
                for (int c = 0; c < run; c++) {
                    constexpr int last = order - run;
                    const T kept = moved(a[q][forward ? c : last + c]);
#pragma unroll
                    for (int e = 0; e < last; e += run) {
                        const int to = forward ? e : last - e;
                        a[q][to + c] = moved(a[q][(forward ? to + run : to - run) + c]);
                    }
                    a[q][forward ? last + c : c] = kept;
                }
    }
    /* The same number. The compiler cannot know that: it would gather all moves of a turn in one
     * place, and need as many registers again. */
    __device__ T moved(T x) const {
        return x + p.nothing;
    }

    /* ---- memory ---- */

    /* Reads rows from column to column: 64-bit products for each element would be a sixth of the
     * kernel. A symmetric matrix is whole here, and so is L, with L' above: behind the diagonal the
     * row goes on as a column. A system that is not there is the unit matrix. */
    __device__ void load() {
        const size_t down = p.transposed ? p.a.column : p.a.row;
        const size_t across = p.transposed ? p.a.row : p.a.column;
#pragma unroll
        for (int q = 0; q < rows; q++) {
            const int own = row(q);
            const T *left = p.a.at(system, 0, 0) + (size_t)own * down;
            const T *below = p.a.at(system, 0, 0) + (size_t)own * across;
#pragma unroll
            for (int j = 0; j < order; j++) {
                const T *const element = Shape::spd && j > own ? below : left;
                a[q][j] = there && own < p.n && j < p.n ? *element : (T)(own == j ? 1 : 0);
                left += across;
                below += down;
            }
            place[q] = own;
        }
    }
    /* L of A = L L' has the roots of D more than what was eliminated. */
    __device__ void store() const {
#pragma unroll
        for (int q = 0; q < rows; q++) {
            T *to = p.a.at(system, place[q], 0);
#pragma unroll
            for (int j = 0; j < order; j++) {
                if (there && place[q] < p.n && j < p.n && (!Shape::spd || j <= row(q))) {
                    T kept = a[q][j];
                    if (Shape::spd)
                        kept = j == row(q) ? board.scale[j] : kept * board.scale[j];
                    *to = kept;
                }
                to += p.a.column;
            }
        }
    }
};

#endif
