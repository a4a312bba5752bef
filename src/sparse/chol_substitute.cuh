/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of chol_substitute.cu share, and the small fronts, each of which is a warp's. A
 * front adds its children's parts of the right-hand sides in their order, so sums are the same in
 * every run. Squares on the diagonal are multiplied by their inverses, which lie above the
 * diagonal. */
#ifndef WI_CHOL_SUBSTITUTE_CUH
#define WI_CHOL_SUBSTITUTE_CUH

#include "cuda/number.cuh"
#include "sparse/chol_cuda.cuh"

constexpr int side = WI_PANEL;
constexpr int most = 8; /* right-hand sides of a block */

/* What the blocks of one substitution share. Where x is awaited, a block will write it. */
struct wi_sides {
    double *y, *x, *parts;
    int rhs;
    wi_subtree tree;
};

/* The front, or what takes part of it. */
__device__ static wi_front_record front_of(const wi_device_chol &d, const wi_sides &s, int number) {
    wi_front_record r = d.front[number];
    if (r.number < s.tree.first || r.number > s.tree.last) {
        r.columns = 0;
    } else if (r.number == s.tree.last && s.tree.columns > 0) {
        r.columns = s.tree.columns - 1;
        r.height = s.tree.columns;
    }
    return r;
}

/* The place in the front that row `row` of the analysis came to. */
__device__ static int place_of(const wi_device_chol &d, const wi_front_record &r, int row) {
    return d.pivots.place && row < r.columns ? d.pivots.place[r.first + row] - r.first : row;
}

/* Where in x row `row` of a front is. All rows of the last front of a direction are its own. */
__device__ static int row_of(const wi_device_chol &d, const wi_sides &s, const wi_front_record &r,
                             int row) {
    if (row < r.columns || r.number == s.tree.last)
        return r.first + row;
    const int32_t at = d.rows[r.rows + row];
    return d.pivots.place ? d.pivots.place[at] : at;
}

/* Element (i, j), i >= j, of the inverse of the square on the diagonal whose columns begin at
 * `begin`. */
template <class real>
__device__ static double inverse_at(const real *l, int ld, int begin, int i, int j) {
    return i == j ? wi_reciprocal((double)l[begin + i + (int64_t)(begin + i) * ld])
                  : l[begin + j + (int64_t)(begin + i) * ld];
}

/* Right-hand sides first ... first + R - 1 of row `row`; those that are not there are 0. */
template <int R>
__device__ static void load_sides(const wi_sides &s, const double *from, int64_t row, int first,
                                  double (&v)[R]) {
#pragma unroll
    for (int q = 0; q < R; q++)
        v[q] = first + q < s.rhs ? from[row * s.rhs + first + q] : 0;
}
template <int R>
__device__ static void store_sides(const wi_sides &s, double *to, int64_t row, int first,
                                   const double (&v)[R]) {
#pragma unroll
    for (int q = 0; q < R; q++)
        if (first + q < s.rhs)
            to[row * s.rhs + first + q] = v[q];
}

/* The same of x that other blocks may be writing, or are waiting for. */
template <int R>
__device__ static void await_sides(const wi_sides &s, int64_t row, int first, double (&v)[R]) {
    bool waits = true;
    for (int tries = 0; waits; tries++) {
        waits = false;
        if (tries > 0)
            wi_spin();
#pragma unroll
        for (int q = 0; q < R; q++) {
            v[q] = first + q < s.rhs ? wi_read_number(s.x + row * s.rhs + first + q) : 0;
            waits = waits || wi_is_awaited(v[q]);
        }
    }
}
template <int R>
__device__ static void tell_sides(const wi_sides &s, int64_t row, int first, const double (&v)[R]) {
#pragma unroll
    for (int q = 0; q < R; q++)
        if (first + q < s.rhs)
            wi_write_number(s.x + row * s.rhs + first + q, v[q]);
}

/* ---- small fronts: a warp each, two rows for each lane ---- */

/* What a front needs of its child. */
struct small_child {
    int64_t part, relative;
    int rows;
};

template <class real, int R>
struct small_front {
    const wi_device_chol &d;
    const wi_sides &s;
    wi_front_record r;
    const real *l;
    double (*v)[R]; /* of the warp, WI_FRONT_SMALL of them */
    int first;

    __device__ void keep(int row, const double (&sum)[R]) const {
#pragma unroll
        for (int q = 0; q < R; q++)
            v[row][q] = sum[q];
    }
    /* v = the front's right-hand sides, and then the children's parts, a lane for each child's
     * record and then for each of its rows; once the levels before are done. */
    template <class Wait>
    __device__ void gather(Wait wait) const {
        for (int row = wi_lane(); row < r.height; row += 32) {
            double sum[R] = {};
            if (row < r.columns)
                load_sides<R>(s, s.y, r.first + row, first, sum);
            keep(row, sum);
        }
        for (int from = 0; from < r.children || from == 0; from += 32) {
            small_child mine = {};
            if (from + wi_lane() < r.children) {
                const wi_front_record &c = d.front[d.child[r.child + from + wi_lane()]];
                mine = {c.part, c.relative, c.height - c.columns};
            }
            if (from == 0)
                wait();
            for (int k = 0; k < 32 && from + k < r.children; k++)
                add_child(wi_shuffle(mine, k));
        }
    }
    /* A child has no more rows than the front, which are two of a lane at most: both are read
     * before the first is added. */
    __device__ void add_child(const small_child &c) const {
        double part[2][R];
        int to[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = wi_lane() + 32 * h;
            to[h] = i < c.rows ? place_of(d, r, d.relative[c.relative + i]) : -1;
            if (i < c.rows)
                load_sides<R>(s, s.parts, c.part + i, first, part[h]);
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (to[h] >= 0)
#pragma unroll
                for (int q = 0; q < R; q++)
                    v[to[h]][q] += part[h][q];
        __syncwarp();
    }
    /* sum += at(k) v[k], k from `begin` on. Numbers of L come in batches. */
    template <class At>
    __device__ void add(int begin, int end, double (&sum)[R], At at) const {
        constexpr int batch = 8;
        for (int k = begin; k < end; k += batch) {
            double a[batch];
#pragma unroll
            for (int i = 0; i < batch; i++)
                a[i] = k + i < end ? at(k + i) : 0;
#pragma unroll
            for (int i = 0; i < batch; i++)
                if (k + i < end)
#pragma unroll
                    for (int q = 0; q < R; q++)
                        sum[q] = wi_fma(a[i], v[k + i][q], sum[q]);
        }
    }
    /* f(row, sums) for the lane's rows that are columns. */
    template <class F>
    __device__ void each_column(F f, double (&sum)[2][R]) const {
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (wi_lane() + 32 * h < r.columns)
                f(wi_lane() + 32 * h, sum[h]);
    }
    template <class Wait>
    __device__ void up(Wait wait) const {
        double sum[2][R] = {};
        gather(wait);
        each_column(
            [&](int row, double(&own)[R]) {
                add(0, row + 1, own, [&](int k) { return inverse_at(l, r.ld, 0, row, k); });
                store_sides<R>(s, s.x, r.first + row, first, own);
            },
            sum);
        __syncwarp();
        each_column([&](int row, double(&own)[R]) { keep(row, own); }, sum);
        __syncwarp();
        for (int row = r.columns + wi_lane(); row < r.height; row += 32) {
            double rest[R];
#pragma unroll
            for (int q = 0; q < R; q++)
                rest[q] = v[row][q];
            add(0, r.columns, rest, [&](int k) { return -(double)l[row + (int64_t)k * r.ld]; });
            store_sides<R>(s, s.parts, r.part + row - r.columns, first, rest);
        }
    }
    __device__ void down() const {
        double sum[2][R] = {};
        if (r.columns == 0)
            return;
        for (int row = r.columns + wi_lane(); row < r.height; row += 32) {
            double x[R];
            await_sides<R>(s, row_of(d, s, r, row), first, x);
            keep(row, x);
        }
        __syncwarp();
        each_column(
            [&](int row, double(&own)[R]) {
                load_sides<R>(s, s.y, r.first + row, first, own);
                add(r.columns, r.height, own,
                    [&](int i) { return -(double)l[i + (int64_t)row * r.ld]; });
                keep(row, own);
            },
            sum);
        __syncwarp();
        for (int row = wi_lane(); row < r.columns; row += 32) {
            double x[R] = {};
            add(row, r.columns, x, [&](int i) { return inverse_at(l, r.ld, 0, i, row); });
            tell_sides<R>(s, r.first + row, first, x);
        }
    }
};

#endif
