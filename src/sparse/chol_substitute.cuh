/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of chol_substitute.cu, for the fronts of a level. A front adds its children's parts
 * of the right-hand sides in their order, so sums are the same in every run. Squares on the
 * diagonal are multiplied by their inverses, which lie above the diagonal. */
#ifndef WI_CHOL_SUBSTITUTE_CUH
#define WI_CHOL_SUBSTITUTE_CUH

#include "sparse/chol_cuda.cuh"

constexpr int side = WI_PANEL;
constexpr int most = 8;         /* right-hand sides that a thread keeps sums of */
constexpr int columns_each = 4; /* that a warp does before a panel */

/* What the kernels of one substitution share. */
struct wi_sides {
    double *y, *x, *parts;
    int rhs;
    wi_subtree tree;
};

/* The large fronts of a level, as in chol_panels.cu. */
struct wi_sides_batch {
    int first;
    int fronts;
    const int32_t *sums; /* or, if each front has `across` blocks, not used */
    int panel, across;
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

/* The column of the analysis, counted in the front, that came to place `row` of it; and back. */
__device__ static int column_at(const wi_device_chol &d, const wi_front_record &r, int row) {
    return d.pivots.order && row < r.columns ? d.pivots.order[r.first + row] - r.first : row;
}
__device__ static int place_of(const wi_device_chol &d, const wi_front_record &r, int row) {
    return d.pivots.place && row < r.columns ? d.pivots.place[r.first + row] - r.first : row;
}

/* Where in x row `row` of a front is. All rows of the last front of a direction are its own. */
__device__ static int64_t row_of(const wi_device_chol &d, const wi_sides &s,
                                 const wi_front_record &r, int row) {
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

/* Where row `row` of a front is kept while it is summed up: its column of y, or its part. */
__device__ static double *gathered(const wi_sides &s, const wi_front_record &r, int row) {
    return row < r.columns ? s.y + (int64_t)(r.first + row) * s.rhs
                           : s.parts + (r.part + row - r.columns) * s.rhs;
}

/* ---- small fronts: a block each, a thread for each row ---- */

template <class real, int R>
__global__ void __launch_bounds__(WI_FRONT_SMALL)
    wi_forward_small(wi_device_chol d, wi_sides s, int number) {
    WEFT_SHARED(double, v, [WI_FRONT_SMALL][R]);
    WEFT_SHARED(double, x, [WI_FRONT_SMALL][R]);
    const wi_front_record r = d.front[number + (int)blockIdx.x];
    const real *const l = wi_front_panel<real>(d, r);
    const int row = (int)threadIdx.x, first = (int)blockIdx.y * R;
    double sum[R] = {};
    if (row < r.columns)
        load_sides<R>(s, s.y, r.first + row, first, sum);
#pragma unroll
    for (int q = 0; q < R; q++)
        v[row][q] = sum[q];
    for (int k = 0; k < r.children; k++) {
        const wi_front_record c = d.front[d.child[r.child + k]];
        __syncthreads();
        if (row < c.height - c.columns) {
            double part[R];
            load_sides<R>(s, s.parts, c.part + row, first, part);
            const int to = place_of(d, r, d.relative[c.relative + row]);
#pragma unroll
            for (int q = 0; q < R; q++)
                v[to][q] += part[q];
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < R; q++)
        sum[q] = 0;
    for (int k = 0; k <= row && row < r.columns; k++) {
        const double a = inverse_at(l, r.ld, 0, row, k);
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(a, v[k][q], sum[q]);
    }
#pragma unroll
    for (int q = 0; q < R; q++)
        x[row][q] = sum[q];
    if (row < r.columns)
        store_sides<R>(s, s.x, r.first + row, first, sum);
    __syncthreads();
    if (row < r.columns || row >= r.height)
        return;
#pragma unroll
    for (int q = 0; q < R; q++)
        sum[q] = v[row][q];
    for (int k = 0; k < r.columns; k++) {
        const double a = l[row + (int64_t)k * r.ld];
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(-a, x[k][q], sum[q]);
    }
    store_sides<R>(s, s.parts, r.part + row - r.columns, first, sum);
}

template <class real, int R>
__global__ void __launch_bounds__(WI_FRONT_SMALL)
    wi_backward_small(wi_device_chol d, wi_sides s, int number) {
    WEFT_SHARED(double, v, [WI_FRONT_SMALL][R]);
    const wi_front_record r = front_of(d, s, number + (int)blockIdx.x);
    const real *const l = wi_front_panel<real>(d, r);
    const int row = (int)threadIdx.x, first = (int)blockIdx.y * R;
    double sum[R] = {};
    if (r.columns > 0 && row < r.height)
        load_sides<R>(s, s.x, row_of(d, s, r, row), first, sum);
#pragma unroll
    for (int q = 0; q < R; q++)
        v[row][q] = sum[q];
    __syncthreads();
    for (int i = r.columns; i < r.height && row < r.columns; i++) {
        const double a = l[i + (int64_t)row * r.ld];
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(-a, v[i][q], sum[q]);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < R; q++)
        v[row][q] = sum[q];
    __syncthreads();
    if (row >= r.columns)
        return;
#pragma unroll
    for (int q = 0; q < R; q++)
        sum[q] = 0;
    for (int i = row; i < r.columns; i++) {
        const double a = inverse_at(l, r.ld, 0, i, row);
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(a, v[i][q], sum[q]);
    }
    store_sides<R>(s, s.x, r.first + row, first, sum);
}

/* ---- large fronts ---- */

/* The rows of a front: its right-hand sides, or zeros, and the children's parts in their order; a
 * warp for each row. */
__global__ void __launch_bounds__(wi_front_threads)
    wi_gather_parts(wi_device_chol d, wi_sides s, wi_sides_batch b) {
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int row = share.block * wi_front_warps + (int)threadIdx.x / 32, q = wi_lane();
    if (row >= r.height)
        return;
    double *const to = gathered(s, r, row);
    const int column = column_at(d, r, row);
    double sum = row < r.columns && q < s.rhs ? to[q] : 0;
    for (int k = 0; k < r.children; k++) {
        const wi_front_record c = d.front[d.child[r.child + k]];
        const int32_t *const relative = d.relative + c.relative;
        const int j = wi_count_up_to(relative, c.height - c.columns, column) - 1;
        if (j >= 0 && relative[j] == column && q < s.rhs)
            sum += s.parts[(c.part + j) * s.rhs + q];
    }
    if (q < s.rhs)
        to[q] = sum;
}

/* x(panel) = L(panel, panel) \ y(panel), which every block of the front finds for itself; then
 * y(rows below) -= L(rows below, panel) x(panel), a row for each thread. */
template <class real, int R>
__global__ void __launch_bounds__(WI_FRONT_ROWS)
    wi_forward_panel(wi_device_chol d, wi_sides s, wi_sides_batch b) {
    WEFT_SHARED(double, v, [side][R]);
    WEFT_SHARED(double, x, [side][R]);
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = d.front[b.first + share.front];
    const int begin = b.panel * side, me = (int)threadIdx.x, first = (int)blockIdx.y * R;
    const int width = r.columns - begin < side ? r.columns - begin : side;
    const real *const l = wi_front_panel<real>(d, r);
    double sum[R] = {};
    if (me < width)
        load_sides<R>(s, s.y, r.first + begin + me, first, sum);
    if (me < side)
#pragma unroll
        for (int q = 0; q < R; q++)
            v[me][q] = sum[q];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < R; q++)
        sum[q] = 0;
    for (int k = 0; k <= me && me < width; k++) {
        const double a = inverse_at(l, r.ld, begin, me, k);
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(a, v[k][q], sum[q]);
    }
    if (me < side)
#pragma unroll
        for (int q = 0; q < R; q++)
            x[me][q] = sum[q];
    if (me < width && share.block == 0)
        store_sides<R>(s, s.x, r.first + begin + me, first, sum);
    __syncthreads();
    const int row = begin + width + share.block * WI_FRONT_ROWS + me;
    if (row >= r.height)
        return;
    double *const to = gathered(s, r, row);
    load_sides<R>(s, to, 0, first, sum);
    for (int k = 0; k < width; k++) {
        const double a = l[row + (int64_t)(begin + k) * r.ld];
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(-a, x[k][q], sum[q]);
    }
    store_sides<R>(s, to, 0, first, sum);
}

/* y(columns) = x(columns) - L(below, columns)' x(below): a warp for each column, a lane for every
 * 32nd row. */
template <class real, int R>
__global__ void __launch_bounds__(wi_front_threads)
    wi_backward_below(wi_device_chol d, wi_sides s, wi_sides_batch b) {
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const wi_front_record r = front_of(d, s, b.first + share.front);
    const int column = share.block * wi_front_warps + (int)threadIdx.x / 32;
    const int first = (int)blockIdx.y * R;
    if (column >= r.columns)
        return;
    const real *const l = wi_front_panel<real>(d, r) + (int64_t)column * r.ld;
    double sum[R] = {};
    for (int i = r.columns + wi_lane(); i < r.height; i += 32) {
        double x[R];
        load_sides<R>(s, s.x, row_of(d, s, r, i), first, x);
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma((double)l[i], x[q], sum[q]);
    }
    double own[R];
    load_sides<R>(s, s.x, r.first + column, first, own);
#pragma unroll
    for (int q = 0; q < R; q++) {
        for (int by = 16; by > 0; by /= 2)
            sum[q] += __shfl_xor_sync(wi_all_lanes, sum[q], by);
        own[q] -= sum[q];
    }
    if (wi_lane() == 0)
        store_sides<R>(s, s.y, r.first + column, first, own);
}

/* x(panel) = L(panel, panel)' \ y(panel), which every block of the front finds for itself; then
 * y(columns before) -= L(panel, columns before)' x(panel), a column for each warp. */
template <class real, int R>
__global__ void __launch_bounds__(wi_front_threads)
    wi_backward_panel(wi_device_chol d, wi_sides s, wi_sides_batch b) {
    WEFT_SHARED(double, v, [side][R]);
    WEFT_SHARED(double, x, [side][R]);
    const wi_front_record r = front_of(d, s, b.first + (int)blockIdx.x / b.across);
    const int begin = b.panel * side, me = (int)threadIdx.x, first = (int)blockIdx.y * R;
    const int left = r.columns - begin, width = left < side ? left : side;
    const int block = (int)blockIdx.x % b.across;
    const real *const l = wi_front_panel<real>(d, r);
    double sum[R] = {};
    if (width <= 0)
        return;
    if (me < width)
        load_sides<R>(s, s.y, r.first + begin + me, first, sum);
    if (me < side)
#pragma unroll
        for (int q = 0; q < R; q++)
            v[me][q] = sum[q];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < R; q++)
        sum[q] = 0;
    for (int i = me; i < width; i++) {
        const double a = inverse_at(l, r.ld, begin, i, me);
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = wi_fma(a, v[i][q], sum[q]);
    }
    if (me < side)
#pragma unroll
        for (int q = 0; q < R; q++)
            x[me][q] = sum[q];
    if (me < width && block == 0)
        store_sides<R>(s, s.x, r.first + begin + me, first, sum);
    __syncthreads();
    const int stride = b.across * wi_front_warps;
    for (int j = block * wi_front_warps + me / 32; j < begin; j += stride) {
        const real *const column = l + begin + (int64_t)j * r.ld;
#pragma unroll
        for (int q = 0; q < R; q++)
            sum[q] = 0;
        for (int i = wi_lane(); i < width; i += 32) {
            const double a = column[i];
#pragma unroll
            for (int q = 0; q < R; q++)
                sum[q] = wi_fma(a, x[i][q], sum[q]);
        }
        double own[R];
        load_sides<R>(s, s.y, r.first + j, first, own);
#pragma unroll
        for (int q = 0; q < R; q++) {
            for (int by = 16; by > 0; by /= 2)
                sum[q] += __shfl_xor_sync(wi_all_lanes, sum[q], by);
            own[q] -= sum[q];
        }
        __syncwarp();
        if (wi_lane() == 0)
            store_sides<R>(s, s.y, r.first + j, first, own);
    }
}

#endif
