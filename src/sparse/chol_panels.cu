/* SPDX-License-Identifier: Apache-2.0 */
/* Large fronts of a level, all together, 64 columns at a time: L Lt, and L D Lt with known signs.
 */
#include "sparse/chol_columns.cuh"

constexpr int panel_side = WI_PANEL;

/* ---- a panel of L Lt ---- */

/* Have all blocks of a front loaded its square, now that this one has? Then nobody minds if it is
 * overwritten. The count begins anew. */
__device__ static bool arrives_last(uint32_t *arrived, unsigned blocks) {
    if (blocks == 1)
        return true;
    __threadfence();
    const bool is_last = atomicInc(arrived, blocks - 1) == blocks - 1;
    __threadfence();
    return is_last;
}

template <class real>
__global__ void __launch_bounds__(wi_panel_rows<real>::threads)
    wi_factor_panels(wi_device_chol d, wi_front_batch b) {
    using panel_rows = wi_panel_rows<real>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(double, corner, [2]);
    WEFT_SHARED(bool, is_last, );
    typename panel_rows::shared &f = *(typename panel_rows::shared *)memory;
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const int number = b.first + share.front;
    const wi_front_record r = d.front[number];
    const int begin = b.panel * panel_side, width = wi_panel_width(r, b.panel);
    real *const l = wi_front_panel<real>(d, r) + (int64_t)begin * (r.ld + 1);
    const panel_rows rows = {
        f, corner, l, r.ld, width, r.height - begin, share.block * WI_FRONT_ROWS};
    rows.load([&](int j) { return l[rows.row() + (int64_t)j * r.ld]; });
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = arrives_last(d.arrived + number, (unsigned)wi_panel_blocks(r.height, b.panel));
    const int done = rows.run();
    if (!is_last)
        return;
    rows.store_square();
    if (done < width && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + begin + done);
}

template <class real>
static weft_status panels(weft_context *ctx, const wi_device_chol &d, const wi_front_batch &b,
                          unsigned blocks) {
    return WEFT_LAUNCH(wi_factor_panels<real>, ctx, blocks, wi_panel_rows<real>::threads,
                       sizeof(typename wi_panel_rows<real>::shared), d, b);
}

/* ---- a panel of L D Lt: its square, then the rows below and the inverse ---- */

template <class real>
__global__ void __launch_bounds__(wi_front_block<panel_side>::threads)
    wi_factor_squares(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(double, f, [panel_side][panel_side + 1]);
    WEFT_SHARED(double, line, [panel_side]);
    WEFT_SHARED(double, corner, [2]);
    const wi_front_record r = d.front[b.first + (int)blockIdx.x];
    const int width = wi_panel_width(r, b.panel);
    real *const l = wi_front_panel<real>(d, r) + (int64_t)b.panel * panel_side * (r.ld + 1);
#pragma unroll 8
    for (int e = (int)threadIdx.x; e < panel_side * panel_side;
         e += wi_front_block<panel_side>::threads) {
        const int i = e % panel_side, j = e / panel_side;
        f[j][i] = i >= j && i < width ? l[i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    const wi_front_block<panel_side> block = {f, line, corner, width, width};
    const int first = r.first + b.panel * panel_side;
    const auto store = [&](int i, int j, double x) { l[i + (int64_t)j * r.ld] = (real)x; };
    const int done = block.run_signed(d.pivots, first, store);
    if (done < width && threadIdx.x == 0)
        wi_chol_tell_failed(d, first + done);
}

/* The shared memory of a block that works with the square of a panel, when that is factored: l of
 * the rows below, or f and product of the inverse. */
union wi_square_room {
    double l[panel_side][panel_side];
    struct {
        double f[panel_side][panel_side + 1], product[panel_side * panel_side / 4];
    } inverse;
};

constexpr int below_threads = WI_FRONT_ROWS;
static_assert(below_threads >= panel_side, "a thread for each pivot");

/* A panel of a front. */
struct wi_front_panel_place {
    const wi_front_record &r;
    int begin, width;
};

/* How many columns of a panel are right, of which all columns before are. */
__device__ static int count_right(const wi_device_chol &d, wi_front_panel_place at) {
    WEFT_SHARED(int, right, [below_threads / 32]); /* of 32 columns */
    const int me = (int)threadIdx.x, column = at.r.first + at.begin + me;
    bool is_right = me >= at.width;
    if (!is_right)
        is_right = d.pivots.mark[column] == WI_PIVOT_CHANGED ||
                   wi_is_pivot_of_sign(d.pivots, column, d.pivots.d[column]);
    const unsigned wrong = __ballot_sync(wi_all_lanes, !is_right);
    if (me % 32 == 0)
        right[me / 32] = wrong ? __ffs((int)wrong) - 1 : 32;
    __syncthreads();
    int count = 0;
    for (int k = 0; k < panel_side / 32 && count == 32 * k; k++)
        count += right[k];
    return count < at.width ? count : at.width;
}

/* The inverse of a panel's square, above its diagonal: of the columns before the first that
 * failed. */
template <class real>
__device__ static void invert_square(const wi_device_chol &d, wi_front_panel_place at,
                                     wi_square_room &room) {
    double(&f)[panel_side][panel_side + 1] = room.inverse.f;
    const int ld = at.r.ld;
    real *const l = wi_front_panel<real>(d, at.r) + (int64_t)at.begin * (ld + 1);
#pragma unroll 8
    for (int e = (int)threadIdx.x; e < panel_side * panel_side; e += below_threads) {
        const int i = e % panel_side, j = e / panel_side;
        f[j][i] = i >= j && i < at.width ? l[i + (int64_t)j * ld] : 0;
    }
    __syncthreads();
    const int done = count_right(d, at);
    for (int e = (int)threadIdx.x; e < panel_side * panel_side; e += below_threads) {
        const int i = e % panel_side, j = e / panel_side;
        if (i >= done)
            f[j][i] = i == j;
    }
    __syncthreads();
    wi_store_inverse<below_threads>(f, room.inverse.product, done, [&](int i, int j, double x) {
        l[j + (int64_t)i * ld] = (real)x;
    });
}

/* L(rows below, panel) = A(rows below, panel) / L(panel, panel)' / D, a row for each thread. */
template <class real>
__device__ static void solve_rows(const wi_device_chol &d, wi_front_panel_place at, int block,
                                  double (&l)[panel_side][panel_side]) {
    WEFT_SHARED(double, reciprocal, [panel_side]);
    WEFT_SHARED(double, pivot, [panel_side]);
    const wi_front_record &r = at.r;
    const int width = at.width, begin = at.begin;
    const int row = begin + width + block * WI_FRONT_ROWS + (int)threadIdx.x;
    real *const panel = wi_front_panel<real>(d, r) + (int64_t)begin * r.ld;
    if (row - (int)threadIdx.x >= r.height)
        return;
#pragma unroll 8
    for (int e = (int)threadIdx.x; e < panel_side * panel_side; e += below_threads) {
        const int i = e % panel_side, j = e / panel_side;
        l[j][i] = i >= j && i < width ? panel[begin + i + (int64_t)j * r.ld] : 0;
    }
    __syncthreads();
    if ((int)threadIdx.x < width) {
        const int me = (int)threadIdx.x;
        pivot[me] = d.pivots.d[r.first + begin + me];
        reciprocal[me] = wi_reciprocal(pivot[me]);
    }
    __syncthreads();
    if (row >= r.height)
        return;
    double x[panel_side];
#pragma unroll
    for (int j = 0; j < panel_side; j++)
        x[j] = j < width ? panel[row + (int64_t)j * r.ld] : 0;
#pragma unroll
    for (int j = 0; j < panel_side; j++) {
        if (j >= width)
            break;
        panel[row + (int64_t)j * r.ld] = (real)wi_divisor<double>(pivot[j], reciprocal[j]).of(x[j]);
#pragma unroll
        for (int k = j + 1; k < panel_side; k++)
            x[k] = wi_fma(-x[j], l[j][k], x[k]);
    }
}

/* The rows below a panel, and the inverses of squares, for which nothing waits: the first block of
 * each front has that, and those of all fronts come before the blocks of rows. */
template <class real>
__global__ void __launch_bounds__(below_threads)
    wi_solve_below(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(wi_square_room, room, );
    const bool inverts = (int)blockIdx.x < b.fronts;
    const wi_front_share share = inverts
                                     ? wi_front_share{(int)blockIdx.x, 0}
                                     : wi_share_of(b.sums, b.fronts, (int)blockIdx.x - b.fronts);
    const wi_front_record r = d.front[b.first + share.front];
    const wi_front_panel_place at = {r, b.panel * panel_side, wi_panel_width(r, b.panel)};
    if (inverts)
        invert_square<real>(d, at, room);
    else
        solve_rows<real>(d, at, share.block, room.l);
}

template <class real>
static weft_status signed_panels(weft_context *ctx, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned blocks) {
    const weft_status status = WEFT_LAUNCH(wi_factor_squares<real>, ctx, (unsigned)b.fronts,
                                           wi_front_block<panel_side>::threads, 0, d, b);
    return status == WEFT_OK ? WEFT_LAUNCH(wi_solve_below<real>, ctx, (unsigned)b.fronts + blocks,
                                           below_threads, 0, d, b)
                             : status;
}

/* ---- all panels of a level ---- */

weft_status wi_chol_factor_panel(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned blocks) {
    if (wi_chol_has_d(plan))
        return plan->narrow ? signed_panels<float>(ctx, d, b, blocks)
                            : signed_panels<double>(ctx, d, b, blocks);
    return plan->narrow ? panels<float>(ctx, d, b, blocks) : panels<double>(ctx, d, b, blocks);
}

/* The block that begins with panel p, of those fronts, of so many, that have it in one kernel. Two
 * at a time, on both lanes: one keeps few multiprocessors busy. A graph has one lane, and L in host
 * memory moves on the other. */
static weft_status flow_blocks(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                               int first, int fronts, int p) {
    const wi_front_record *const front = plan->device->schedule.front + first;
    const auto has_block = [&](int k) {
        return k < fronts && wi_flow_columns(front[k].columns, d.flow_from) > p * WI_PANEL;
    };
    int count = 0;
    for (int k = 0; k < fronts; k++)
        count += has_block(k);
    const bool both = count > 1 && !plan->device->captured && !plan->device->windows;
    weft_status status = both ? wi_gpu_fork(ctx) : WEFT_OK;
    bool aside = false;
    for (int k = 0; k < fronts && status == WEFT_OK; k++) {
        if (!has_block(k))
            continue;
        wi_gpu_take_side(ctx, both && aside);
        status = wi_chol_flow_block(ctx, d, front[k], p * WI_PANEL);
        wi_gpu_take_side(ctx, false);
        aside = !aside;
    }
    const weft_status joined = both ? wi_gpu_join(ctx) : WEFT_OK;
    return status == WEFT_OK ? joined : status;
}

static weft_status large_fronts(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_schedule *const schedule = &plan->device->schedule;
    const int32_t *const list = schedule->list;
    weft_status status = wi_chol_assemble_large(ctx, plan, level);
    for (int p = 0; p < level->steps && status == WEFT_OK; p++) {
        const wi_chol_step *const step = &schedule->step[level->step + p];
        const int active = step->active < level->large ? step->active : level->large;
        wi_front_batch b = {wi_first_large(level), active, d.list + step->rows_at, p, level->maps};
        const unsigned blocks = (unsigned)list[step->rows_at + active];
        if (p % WI_FLOW_OUTER == 0)
            status = flow_blocks(ctx, plan, d, b.first, b.fronts, p);
        if (status == WEFT_OK && blocks > 0)
            status = wi_chol_factor_panel(ctx, plan, d, b, blocks);
        b.sums = d.list + step->tiles_at;
        if (status == WEFT_OK)
            status = wi_chol_update_tiles(ctx, plan, d, b, (unsigned)list[step->tiles_at + active]);
        if (status == WEFT_OK && step->boxes_at >= 0) {
            b.sums = d.list + step->boxes_at;
            status = wi_chol_update_by_ring(ctx, d, b, (unsigned)list[step->boxes_at + active]);
        }
    }
    if (status == WEFT_OK)
        status = wi_chol_invert_squares(ctx, plan, d, wi_first_large(level), level->large);
    return status;
}

weft_status wi_chol_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    if (level->large == 0)
        return WEFT_OK;
    if (plan->kind == WEFT_CHOL_INDEFINITE)
        return wi_ldlt_large_fronts(ctx, plan, level);
    return large_fronts(ctx, plan, level);
}
