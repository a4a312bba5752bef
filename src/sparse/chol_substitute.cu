/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward substitution on a GPU, level by level. A front adds its children's parts of
 * the right-hand sides in their order, so sums are the same in every run. Squares on the diagonal
 * are multiplied by their inverses, which lie above the diagonal. */
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

/* ---- D, and the order of pivots ---- */

constexpr int flat_threads = 256;

/* x = D^-1 x: a thread for each number; of a pivot of two columns, the first column's does both. */
__global__ void __launch_bounds__(flat_threads)
    wi_divide_sides(wi_device_pivots p, wi_sides s, int64_t n) {
    const int64_t e = (int64_t)blockIdx.x * flat_threads + threadIdx.x, k = e / s.rhs;
    if (k >= n || p.mark[k] == WI_PIVOT_SECOND)
        return;
    if (p.mark[k] == WI_PIVOT_FIRST)
        wi_dense_divide_pair(p.d[k], p.e[k], p.d[k + 1], &s.x[e], &s.x[e + s.rhs]);
    else
        s.x[e] /= p.d[k];
}

__global__ void __launch_bounds__(flat_threads)
    wi_interchange_sides(wi_device_pivots p, wi_sides s, int64_t n, bool back) {
    const int64_t e = (int64_t)blockIdx.x * flat_threads + threadIdx.x, k = e / s.rhs;
    if (k >= n)
        return;
    const int64_t other = p.order[k] * (int64_t)s.rhs + e % s.rhs;
    if (back)
        s.y[other] = s.x[e];
    else
        s.y[e] = s.x[other];
}

static unsigned flat_blocks(const weft_chol *plan, const wi_device_sides &sides) {
    const size_t numbers = plan->report.n * (size_t)sides.rhs;
    return (unsigned)((numbers + flat_threads - 1) / flat_threads);
}

static weft_status divide(weft_context *ctx, const weft_chol *plan, const wi_device_sides &sides) {
    const wi_sides s = {sides.y, sides.x, sides.parts, sides.rhs, {0, INT32_MAX, 0}};
    const bool is_last = !plan->device->first; /* D is divided by on the first GPU */
    return wi_chol_has_d(plan) && is_last && plan->report.n > 0
               ? WEFT_LAUNCH(wi_divide_sides, ctx, flat_blocks(plan, sides), flat_threads, 0,
                             wi_chol_device_view(plan).pivots, s, plan->symbolic.n)
               : WEFT_OK;
}

weft_status wi_chol_interchange(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                                bool back) {
    const wi_sides s = {sides.y, sides.x, sides.parts, sides.rhs, {0, INT32_MAX, 0}};
    return WEFT_LAUNCH(wi_interchange_sides, ctx, flat_blocks(plan, sides), flat_threads, 0,
                       wi_chol_device_view(plan).pivots, s, plan->symbolic.n, back);
}

/* ---- several GPUs ---- */

/* Calls way(ctx, plan, its own sides) for each GPU but the first, after what is queued there. */
template <class Way>
static weft_status each_other(weft_context *ctx, const weft_chol *plan, int rhs, Way way) {
    weft_status status = wi_chol_others_wait(ctx, plan);
    for (int g = 1; g < wi_chol_gpus(plan) && status == WEFT_OK; g++) {
        weft_context *const own = wi_chol_gpu(ctx, g);
        const weft_chol part = wi_chol_of_gpu(plan, g);
        int before;
        status = wi_gpu_enter(own, &before);
        if (status == WEFT_OK) {
            status = way(own, &part, wi_chol_device_sides_of(&part, rhs));
            wi_gpu_leave(own, before);
        }
        if (status != WEFT_OK)
            wi_fail_as(ctx, status, own);
    }
    return status;
}

/* The other GPUs go up, with y from the first and x to it. */
static weft_status others_up(weft_context *ctx, const weft_chol *plan,
                             const wi_device_sides &first) {
    return each_other(ctx, plan, first.rhs,
                      [&](weft_context *own, const weft_chol *part, const wi_device_sides &sides) {
                          weft_status status =
                              wi_chol_bring_sides(own, part, first.y, sides.y, sides.rhs, false);
                          if (status == WEFT_OK)
                              status = wi_chol_go_up(own, part, sides);
                          return status == WEFT_OK
                                     ? wi_chol_return_sides(own, part, sides.x, first.x, sides.rhs)
                                     : status;
                      });
}

/* They go down, once x of the top is there. */
static weft_status others_down(weft_context *ctx, const weft_chol *plan, const wi_sides &first) {
    return each_other(ctx, plan, first.rhs,
                      [&](weft_context *own, const weft_chol *part, const wi_device_sides &sides) {
                          weft_status status =
                              wi_chol_bring_sides(own, part, first.x, sides.x, sides.rhs, true);
                          if (status == WEFT_OK)
                              status = wi_chol_go_down(own, part, sides, first.tree);
                          return status == WEFT_OK
                                     ? wi_chol_return_sides(own, part, sides.x, first.x, sides.rhs)
                                     : status;
                      });
}

/* ---- the levels ---- */

/* One substitution, by kernels with sums for R right-hand sides. */
template <class real, int R>
struct level_substitution {
    weft_context *ctx;
    const weft_chol *plan;
    const wi_schedule *schedule;
    wi_device_chol d;
    wi_sides s;

    unsigned chunks() const {
        return (unsigned)wi_pieces(s.rhs, R);
    }
    int large_of(const wi_chol_level *level) const {
        return level->first + level->small[0] + level->small[1];
    }
    wi_sides_batch batch(const wi_chol_level *level, int fronts, int64_t at, int panel) const {
        return {large_of(level), fronts, d.list + at, panel, 1};
    }
    weft_status forward_large(const wi_chol_level *level) const {
        const int32_t *const list = schedule->list;
        weft_status status = WEFT_LAUNCH(
            wi_gather_parts, ctx, (unsigned)list[level->heights_at + level->large],
            wi_front_threads, 0, d, s, batch(level, level->large, level->heights_at, 0));
        for (int p = 0; p < level->steps && status == WEFT_OK; p++) {
            const wi_chol_step *const step = &schedule->step[level->step + p];
            const dim3 blocks((unsigned)list[step->rows_at + step->active], chunks());
            status = WEFT_LAUNCH((wi_forward_panel<real, R>), ctx, blocks, WI_FRONT_ROWS, 0, d, s,
                                 batch(level, step->active, step->rows_at, p));
        }
        return status;
    }
    weft_status backward_large(const wi_chol_level *level) const {
        const dim3 below((unsigned)schedule->list[level->columns_at + level->large], chunks());
        weft_status status = WEFT_LAUNCH((wi_backward_below<real, R>), ctx, below, wi_front_threads,
                                         0, d, s, batch(level, level->large, level->columns_at, 0));
        for (int p = level->steps - 1; p >= 0 && status == WEFT_OK; p--) {
            const int active = schedule->step[level->step + p].active;
            wi_sides_batch b = batch(level, active, level->columns_at, p);
            b.across = p > 0 ? wi_pieces(p * side, wi_front_warps * columns_each) : 1;
            status = WEFT_LAUNCH((wi_backward_panel<real, R>), ctx,
                                 dim3((unsigned)b.across * (unsigned)active, chunks()),
                                 wi_front_threads, 0, d, s, b);
        }
        return status;
    }
    weft_status small(const wi_chol_level *level,
                      void (*kernel)(wi_device_chol, wi_sides, int)) const {
        const int fronts = level->small[0] + level->small[1];
        return fronts == 0 ? WEFT_OK
                           : WEFT_LAUNCH(kernel, ctx, dim3((unsigned)fronts, chunks()),
                                         WI_FRONT_SMALL, 0, d, s, level->first);
    }
    weft_status up() const {
        weft_status status = WEFT_OK;
        for (int64_t k = 0; k < schedule->levels && status == WEFT_OK; k++) {
            const wi_chol_level *const level = &schedule->level[k];
            if (k == schedule->waits)
                status = wi_chol_first_waits(ctx, plan);
            if (status == WEFT_OK)
                status = wi_chol_windows_fetch(ctx, plan, k, k + 1 < schedule->levels ? k + 1 : -1);
            if (status == WEFT_OK)
                status = small(level, wi_forward_small<real, R>);
            if (status == WEFT_OK && level->large > 0)
                status = forward_large(level);
            if (status == WEFT_OK)
                status = wi_chol_windows_used(ctx, plan, k);
            if (status == WEFT_OK)
                status = wi_chol_send_guests(ctx, plan, k, s.rhs);
        }
        return status;
    }
    weft_status down() const {
        weft_status status =
            schedule->waits == schedule->levels ? others_down(ctx, plan, s) : WEFT_OK;
        for (int64_t k = schedule->levels - 1; k >= 0 && status == WEFT_OK; k--) {
            const wi_chol_level *const level = &schedule->level[k];
            status = wi_chol_windows_fetch(ctx, plan, k, k - 1);
            if (status == WEFT_OK)
                status = small(level, wi_backward_small<real, R>);
            if (status == WEFT_OK && level->large > 0)
                status = backward_large(level);
            if (status == WEFT_OK)
                status = wi_chol_windows_used(ctx, plan, k);
            if (status == WEFT_OK && k == schedule->waits)
                status = others_down(ctx, plan, s);
        }
        return status;
    }
};

/* Calls way(substitution) with the one for the plan's L and these right-hand sides. */
template <class real, class Way>
static weft_status substitute(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                              wi_subtree tree, Way way) {
    const wi_schedule *const schedule = &plan->device->schedule;
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_sides s = {sides.y, sides.x, sides.parts, sides.rhs, tree};
    weft_status status = wi_chol_windows_begin(ctx, plan);
    if (status != WEFT_OK)
        return status;
    status = sides.rhs == 1 ? way(level_substitution<real, 1>{ctx, plan, schedule, d, s})
                            : way(level_substitution<real, most>{ctx, plan, schedule, d, s});
    const weft_status ended = wi_chol_windows_end(ctx, plan);
    return status == WEFT_OK ? ended : status;
}

weft_status wi_chol_go_up(weft_context *ctx, const weft_chol *plan, wi_device_sides sides) {
    const wi_subtree all = {0, INT32_MAX, 0};
    const auto up = [](const auto &levels) { return levels.up(); };
    weft_status status = others_up(ctx, plan, sides);
    if (status == WEFT_OK)
        status = plan->narrow ? substitute<float>(ctx, plan, sides, all, up)
                              : substitute<double>(ctx, plan, sides, all, up);
    const weft_status ended = wi_chol_first_waits(ctx, plan);
    if (status == WEFT_OK)
        status = ended;
    return status == WEFT_OK ? divide(ctx, plan, sides) : status;
}

weft_status wi_chol_go_down(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                            wi_subtree tree) {
    const auto down = [](const auto &levels) { return levels.down(); };
    const weft_status status = plan->narrow ? substitute<float>(ctx, plan, sides, tree, down)
                                            : substitute<double>(ctx, plan, sides, tree, down);
    const weft_status ended = wi_chol_first_waits(ctx, plan);
    return status == WEFT_OK ? ended : status;
}
