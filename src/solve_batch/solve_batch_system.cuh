/* SPDX-License-Identifier: Apache-2.0 */
/* One small system on a GPU: elimination and substitution, its rows and their elements of a few
 * right-hand sides being in registers.
 *
 * A symmetric matrix is eliminated without exchanges: U is then D L' of A = L D L'. */
#ifndef WI_SOLVE_BATCH_SYSTEM_CUH
#define WI_SOLVE_BATCH_SYSTEM_CUH

#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "solve_batch/solve_batch_divisor.cuh"
#include "solve_batch/solve_batch_rows.cuh"

template <class Shape>
struct wi_batch_system : wi_batch_rows<Shape> {
    using base = wi_batch_rows<Shape>;
    using T = typename Shape::T;
    using base::a, base::board, base::i, base::p, base::place, base::system, base::there;
    using base::each_column, base::each_column_backwards, base::is_live, base::meet, base::row;
    using base::load, base::store, base::used;
    static constexpr int order = Shape::order, rows = Shape::rows, team = Shape::team;
    static constexpr int rhs = Shape::rhs, run = Shape::run, width = Shape::width;
    static constexpr int warps = Shape::warps;
    static constexpr int teams = warps > 1 ? 1 : 32 / team; /* of a warp */

    T x[rows][rhs] = {};
    int32_t info = 0;

    /* ---- the pivot ---- */

    /* The largest of the team's words. */
    __device__ static uint32_t most(uint32_t x) {
        if constexpr (team >= 32) {
            return wi_warp_max(x);
        } else {
#pragma unroll
            for (int step = team / 2; step > 0; step /= 2) {
                const uint32_t other = wi_shuffle_xor(x, step);
                x = other > x ? other : x;
            }
            return x;
        }
    }

    /* A thread's own row that may become the pivot, or `rows`. */
    struct candidate {
        int q;
        T reciprocal;
    };
    /* Writes the pivot's row, from column k on, where all threads of the system read it. */
    __device__ void propose(int r, int k, int c) {
        const candidate chosen = Shape::spd ? of_place(k, c) : find(k, c);
#pragma unroll
        for (int q = 0; q < rows; q++)
            if (chosen.q == q)
                write(q, r, k, c, chosen.reciprocal);
    }
    __device__ candidate of_place(int k, int c) const {
        candidate chosen = {rows, 0};
#pragma unroll
        for (int q = 0; q < rows; q++)
            if (place[q] == k)
                chosen = {q, a[q][c]};
        chosen.reciprocal = wi_reciprocal(chosen.reciprocal);
        return chosen;
    }
    /* Of the rows in a warp; mostly the first word alone decides. While lanes ask each other, each
     * finds the reciprocal of its own candidate. */
    __device__ candidate find(int k, int c) {
        uint32_t size[rows], largest = 0;
        T best = a[0][c];
#pragma unroll
        for (int q = 0; q < rows; q++) {
            size[q] = place[q] >= k ? wi_batch_size(a[q][c]).high : 0;
            best = size[q] > largest ? a[q][c] : best;
            largest = size[q] > largest ? size[q] : largest;
        }
        candidate chosen = {rows, wi_reciprocal(best)};
        largest = most(largest);
        int found = 0;
#pragma unroll
        for (int q = 0; q < rows; q++) {
            const bool equal = size[q] == largest && (warps == 1 || largest != 0);
            found += __popc(__ballot_sync(wi_all_lanes, equal));
            chosen.q = equal ? q : chosen.q;
        }
        if (warps > 1 && found == 0 && i % 32 == 0)
            board.from[i / 32][k] = -1;
        return found > teams ? first_of_equals(size, largest, c) : chosen;
    }
    __device__ candidate first_of_equals(const uint32_t *size, uint32_t largest, int c) const {
        uint32_t low[rows], lowest = 0, first = 0;
#pragma unroll
        for (int q = 0; q < rows; q++) {
            low[q] = size[q] == largest ? wi_batch_size(a[q][c]).low : 0;
            lowest = low[q] > lowest ? low[q] : lowest;
        }
        lowest = most(lowest);
#pragma unroll
        for (int q = 0; q < rows; q++)
            if (size[q] == largest && low[q] == lowest && ~(uint32_t)place[q] > first)
                first = ~(uint32_t)place[q];
        return of_place((int)~most(first), c);
    }
    __device__ void write(int q, int r, int k, int c, T reciprocal) {
        const int warp = warps > 1 && !Shape::spd ? i / 32 : 0;
        T *const line = board.line[k % 2][warp];
        board.pivot[warp][k] = {a[q][c], reciprocal};
        board.from[warp][k] = place[q];
#pragma unroll
        for (int first = 0; first < order; first += run)
            if (is_live(r, first))
#pragma unroll
                for (int e = first; e < first + run; e += width)
                    if (e + width > c + 1)
                        write(line + e, a[q] + e);
        if (p.task == WI_BATCH_SOLVE)
#pragma unroll
            for (int s = 0; s < rhs; s++)
                line[order + s] = x[q][s];
    }
    __device__ static void write(T *to, const T *from) {
        wi_vector<T> v;
#pragma unroll
        for (int e = 0; e < width; e++)
            v.at[e] = from[e];
        *(wi_vector<T> *)to = v;
    }
    /* Of two warps' proposals, which is taken. */
    __device__ int settle(int k) {
        if (warps == 1 || Shape::spd)
            return 0;
        const int taken = proposal(warps - 1, k).precedes(proposal(0, k)) ? warps - 1 : 0;
        if (i == 0)
            board.taken[k] = taken;
        return taken;
    }
    __device__ wi_lu_candidate proposal(int warp, int k) const {
        const int from = board.from[warp][k];
        return from < 0 ? wi_lu_candidate{{0, 0}, wi_lu_no_row}
                        : wi_lu_candidate{wi_batch_size(board.pivot[warp][k].x), (uint32_t)from};
    }
    /* Whose proposal was taken, after the elimination. */
    __device__ int taken(int k) const {
        return warps == 1 || Shape::spd ? 0 : board.taken[k];
    }

    /* ---- elimination ---- */

    __device__ void tell(int k, T pivot) {
        const bool finite = wi_lu_is_finite<T>(wi_lu_size_of(pivot));
        if (!finite && (Shape::spd ? info == 0 : info >= 0))
            info = -(k + 1);
        if (finite && info == 0 && (Shape::spd ? !(pivot > 0) : pivot == 0))
            info = k + 1;
    }
    /* The pivot's row behind the pivot, as far as the run of its column goes. */
    struct front {
        wi_vector<T> v[run / width];
    };
    __device__ static void read(const T *line, int c, front &f) {
#pragma unroll
        for (int e = 0; e < run; e += width)
            if (e + width > c + 1)
                f.v[e / width] = *(const wi_vector<T> *)(line + e);
    }
    /* Quotients by the pivot, of rows below it; others get 0. */
    __device__ void divide(int k, int c, const wi_batch_pivot<T> &pivot, T *factor) {
        const wi_batch_divisor<T> by(pivot);
#pragma unroll
        for (int q = 0; q < rows; q++)
            factor[q] = by.quotient(place[q] > k ? a[q][c] : (T)0);
    }
    /* The same for any pivot: by 0 nothing is divided, and nothing is taken. */
    __device__ void divide_by_any(int k, int c, T pivot, T *factor, front &f, const T *&line) {
        const wi_batch_divisor<T> by(pivot);
        tell(k, pivot);
        const bool none = pivot == 0;
#pragma unroll
        for (int q = 0; q < rows; q++)
            factor[q] = place[q] > k && !none ? by.quotient(a[q][c]) * by.scale : (T)0;
        if (none) {
            line = board.nothing;
            read(line, c, f);
        }
    }
    __device__ static bool is_plain(T pivot) {
        return wi_batch_is_plain(pivot) && (!Shape::spd || pivot > 0);
    }
    __device__ void eliminate() {
        each_column([&](int r, int k, int c) {
            propose(r, k, c);
            meet();
            const int warp = settle(k);
            const wi_batch_pivot<T> pivot = board.pivot[warp][k];
            const int with = board.from[warp][k];
            const T *line = board.line[k % 2][warp];
            front ahead;
            read(line, c, ahead);
#pragma unroll
            for (int q = 0; q < rows; q++)
                place[q] = place[q] == with ? k : place[q] == k ? with : place[q];
            T factor[rows];
            divide(k, c, pivot, factor);
            if (!is_plain(pivot.x))
                divide_by_any(k, c, pivot.x, factor, ahead, line);
            take(r, k, c, line, ahead, factor);
        });
    }
    /* Takes the pivot's row, from column k on, from those below it. */
    __device__ void take(int r, int k, int c, const T *line, const front &ahead, const T *factor) {
#pragma unroll
        for (int q = 0; q < rows; q++)
            a[q][c] = place[q] > k ? factor[q] : a[q][c];
#pragma unroll
        for (int e = 0; e < run; e += width)
            if (e + width > c + 1)
                take_vector(e, c, ahead.v[e / width], factor);
#pragma unroll
        for (int first = run; first < order; first += run)
            if (is_live(r, first))
#pragma unroll
                for (int e = first; e < first + run; e += width)
                    take_vector(e, c, *(const wi_vector<T> *)(line + e), factor);
        if (p.task == WI_BATCH_SOLVE)
#pragma unroll
            for (int q = 0; q < rows; q++)
                take_known(q, factor[q], line + order);
    }
    __device__ void take_vector(int first, int c, const wi_vector<T> &v, const T *factor) {
#pragma unroll
        for (int e = 0; e < width; e++)
#pragma unroll
            for (int q = 0; q < rows; q++)
                if (first + e > c)
                    a[q][first + e] = wi_fma(-factor[q], v.at[e], a[q][first + e]);
    }
    __device__ void take_known(int q, T factor, const T *known) {
#pragma unroll
        for (int s = 0; s < rhs; s++)
            x[q][s] = wi_fma(-factor, known[s], x[q][s]);
    }

    /* ---- substitution ---- */

    /* The unknowns of row k, divided by its diagonal or not, in all threads of the system. */
    __device__ void publish(int k, bool divides, T *known) {
        T *const line = board.known[k % 2];
#pragma unroll
        for (int q = 0; q < rows; q++)
            if (place[q] == k)
#pragma unroll
                for (int s = 0; s < rhs; s++)
                    line[s] = x[q][s];
        meet();
#pragma unroll
        for (int s = 0; s < rhs; s++)
            known[s] = line[s];
        if (!divides)
            return;
        const wi_batch_divisor<T> by(board.pivot[0][k]);
#pragma unroll
        for (int s = 0; s < rhs; s++)
            known[s] = by.quotient(known[s]) * board.scale[k];
#pragma unroll
        for (int q = 0; q < rows; q++)
#pragma unroll
            for (int s = 0; s < rhs; s++)
                x[q][s] = place[q] == k ? known[s] : x[q][s];
    }
    /* x = L \ x, and x = U \ x, of the rows in registers; which of them has ones on its diagonal
     * depends on what they are of. */
    __device__ void substitute_down(bool divides) {
        each_column([&](int, int k, int c) {
            T known[rhs];
            publish(k, divides, known);
#pragma unroll
            for (int q = 0; q < rows; q++)
                if (place[q] > k)
                    take_known(q, a[q][c], known);
        });
        meet();
    }
    __device__ void substitute_up(bool divides) {
        each_column_backwards([&](int, int k, int c) {
            T known[rhs];
            publish(k, divides, known);
#pragma unroll
            for (int q = 0; q < rows; q++)
                if (place[q] < k)
                    take_known(q, a[q][c], known);
        });
        meet();
    }

    __device__ void read_sides(size_t first, const int *from) {
#pragma unroll
        for (int q = 0; q < rows; q++)
#pragma unroll
            for (int s = 0; s < rhs; s++)
                x[q][s] = there && place[q] < p.n && first + s < p.nrhs
                              ? *p.b.at(system, from[q], first + s)
                              : (T)0;
    }
    __device__ void write_sides(size_t first, const int *to) const {
#pragma unroll
        for (int q = 0; q < rows; q++)
#pragma unroll
            for (int s = 0; s < rhs; s++)
                if (there && place[q] < p.n && info == 0 && first + s < p.nrhs)
                    *p.b.at(system, to[q], first + s) = x[q][s];
    }
    /* The right-hand sides, `rhs` of them at a time; this thread reads some rows of B and writes
     * some of X. An elimination has done the first of them half. */
    __device__ void solve(const int *from, const int *to, bool down_divides, bool up_divides) {
        for (size_t first = 0; first < p.nrhs; first += rhs) {
            if (first > 0 || p.task == WI_BATCH_SUBSTITUTE) {
                read_sides(first, from);
                substitute_down(down_divides);
            }
            substitute_up(up_divides);
            write_sides(first, to);
        }
    }

    /* ---- the tasks ---- */

    __device__ void eliminate_and_solve() {
        int own[rows];
#pragma unroll
        for (int q = 0; q < rows; q++) {
            own[q] = row(q);
            board.nothing[own[q]] = 0;
        }
        if (i == 0)
#pragma unroll
            for (int s = 0; s < rhs; s++)
                board.nothing[order + s] = 0;
        if (p.task == WI_BATCH_SOLVE)
            read_sides(0, own);
        eliminate();
        meet();
        if (there && i == 0)
            p.info[system] = info;
        if (p.task == WI_BATCH_FACTOR) {
            keep_factors();
            return;
        }
#pragma unroll
        for (int q = 0; q < rows; q++)
            if (row(q) < used())
                keep_divisor(row(q), board.pivot[taken(row(q))][row(q)].x);
        meet();
        solve(own, place, false, true);
    }
    __device__ void keep_divisor(int k, T x) {
        const wi_batch_divisor<T> by(x);
        board.pivot[0][k] = {by.x, by.reciprocal};
        board.scale[k] = by.scale;
    }
    __device__ void keep_factors() {
#pragma unroll
        for (int q = 0; q < rows; q++) {
            const int k = row(q);
            if (Shape::spd && k < p.n)
                board.scale[k] = sqrt(board.pivot[0][k].x);
            if (!Shape::spd && there && k < p.n)
                p.pivot[system * (size_t)p.n + (size_t)k] = board.from[taken(k)][k];
        }
        meet();
        store();
    }

    /* The diagonal of given factors, and where rows were before all exchanges. */
    __device__ void find_diagonal() {
#pragma unroll
        for (int q = 0; q < rows; q++) {
            const int k = row(q);
            const bool known = there && k < p.n;
            const T diagonal = known ? *p.a.at(system, k, (size_t)k) : (T)1;
            keep_divisor(k, diagonal);
            board.from[0][k] = known && !Shape::spd ? p.pivot[system * (size_t)p.n + (size_t)k] : k;
        }
        meet();
    }
    __device__ void find_origins(int *from) const {
#pragma unroll
        for (int q = 0; q < rows; q++)
            from[q] = row(q);
#pragma unroll 8
        for (int k = Shape::spd ? -1 : order - 1; k >= 0; k--) {
            const int with = board.from[0][k];
#pragma unroll
            for (int q = 0; q < rows; q++)
                from[q] = from[q] == k ? with : from[q] == with ? k : from[q];
        }
    }
    __device__ void use_factors() {
        int own[rows], origin[rows];
        find_diagonal();
        find_origins(origin);
#pragma unroll
        for (int q = 0; q < rows; q++) {
            own[q] = p.transposed ? origin[q] : row(q);
            origin[q] = p.transposed ? row(q) : origin[q];
        }
        solve(origin, own, Shape::spd || p.transposed, Shape::spd || !p.transposed);
    }

    __device__ void run_task() {
        load();
        if (p.task == WI_BATCH_SUBSTITUTE)
            use_factors();
        else
            eliminate_and_solve();
    }
};

#endif
