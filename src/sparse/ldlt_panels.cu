/* SPDX-License-Identifier: Apache-2.0 */
/* Large fronts of a level, all together, for L D Lt with pivots that are chosen: window after
 * window of up to 64 columns. Of each a block of threads chooses the pivots in the square; then the
 * rows below follow, and tiles are updated. */
#include "sparse/chol_panels.cuh"
#include "sparse/ldlt_cuda.cuh"

constexpr int panel_side = WI_PANEL;
constexpr int square_threads = wi_pivot_square<panel_side>::threads;

/* Where window b.panel of a front begins, and where it has to end at least; *must of its columns
 * need a pivot. All threads of a block call it. */
__device__ static wi_window_state begin_window(const wi_device_chol &d, const wi_front_record &r,
                                               int number, int p, int *must) {
    const wi_window_place place = wi_window_place_of(r.columns, p);
    const int before = place.number == 0 ? place.block : d.pivots.window[number].end;
    const int left = place.end - before, needed = place.least_end - before;
    __syncthreads();
    *must = needed > 0 ? needed : 0;
    return {before, left < panel_side ? left : panel_side, before, 0};
}

/* The order of a window's columns, composed with what it was; true in all threads if it changed. */
__device__ static bool note_order(const wi_device_pivots &p, const wi_front_record &r,
                                  const wi_window_state &w, const int *order) {
    const int me = (int)threadIdx.x, at = r.first + w.first;
    int column = 0;
    bool moved = false;
    if (me < w.width) {
        moved = order[me] != me;
        column = p.order[at + order[me]];
        p.moved[r.first + me] = order[me];
    }
    moved = __syncthreads_or(moved);
    if (me < w.width)
        p.order[at + me] = column;
    return moved;
}

/* Member by member: the state is no more than that aligned. */
__device__ static void keep_window(const wi_window_state &w, wi_window_state *to) {
    to->first = w.first;
    to->width = w.width;
    to->end = w.end;
    to->moved = w.moved;
}

/* The square of every front's window. */
template <class real>
__global__ void __launch_bounds__(square_threads)
    wi_pivot_squares(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(wi_pivot_room<panel_side>, room, );
    const int number = b.first + (int)blockIdx.x, row = (int)threadIdx.x % panel_side;
    const wi_front_record r = d.front[number];
    int must;
    wi_window_state w = begin_window(d, r, number, b.panel, &must);
    real *const l = wi_front_panel<real>(d, r) + (int64_t)w.first * (r.ld + 1);
    for (int j = (int)threadIdx.x / panel_side; j < panel_side; j += square_threads / panel_side)
        room.f[j][row] = row >= j && row < w.width ? l[row + (int64_t)j * r.ld] : 0;
    __syncthreads();
    const wi_pivot_square<panel_side> square = {room,    d.pivots, r.first + w.first,
                                                w.width, w.width,  must};
    const int done = square.run();
    for (int j = (int)threadIdx.x / panel_side; j <= row && row < w.width;
         j += square_threads / panel_side)
        l[row + (int64_t)j * r.ld] = (real)room.f[j][row];
    if (room.failed && threadIdx.x == 0)
        wi_chol_tell_failed(d, r.first + w.first + done);
    w.moved = note_order(d.pivots, r, w, room.order);
    w.end = w.first + (room.failed ? w.width : done);
    if (threadIdx.x == 0)
        keep_window(w, &d.pivots.window[number]);
}

/* ---- the rows below ---- */

/* Interchanges the window's rows in the columns before it, which the blocks of a front share. */
template <class real>
__device__ static void move_left(const wi_front_record &r, const wi_window_state &w,
                                 const int *order, int block, int blocks, real *panel) {
    constexpr int warps = WI_FRONT_ROWS / 32;
    const int me = wi_lane(), second = me + 32;
    const int stride = blocks * warps;
    for (int j = block * warps + (int)threadIdx.x / 32; j < w.first; j += stride) {
        real *const column = panel + w.first + (int64_t)j * r.ld;
        const real a = me < w.width ? column[order[me]] : 0;
        const real b = second < w.width ? column[order[second]] : 0;
        __syncwarp();
        if (me < w.width)
            column[me] = a;
        if (second < w.width)
            column[second] = b;
    }
}

/* A window's L and D in shared memory. */
struct wi_window_room {
    double l[panel_side]
            [panel_side]; /* element (i, j) at [j][i], zeros beyond the columns that are done */
    double d[panel_side], e[panel_side], reciprocal[panel_side];
    int order[panel_side];
    int8_t mark[panel_side];
};

template <class real>
__device__ static void load_window(const wi_device_pivots &p, const wi_front_record &r,
                                   const wi_window_state &w, const real *panel,
                                   wi_window_room &room) {
    const int me = (int)threadIdx.x, done = w.end - w.first, at = r.first + w.first + me;
    const real *const l = panel + (int64_t)w.first * (r.ld + 1);
    for (int e = me; e < panel_side * panel_side; e += WI_FRONT_ROWS) {
        const int i = e % panel_side, j = e / panel_side;
        room.l[j][i] = i >= j && i < done ? l[i + (int64_t)j * r.ld] : 0;
    }
    if (me < panel_side) {
        room.d[me] = me < done ? p.d[at] : 1;
        room.e[me] = me < done ? p.e[at] : 0;
        room.mark[me] = me < done ? p.mark[at] : (int8_t)WI_PIVOT_ONE;
        room.reciprocal[me] = wi_reciprocal(room.d[me]);
        room.order[me] = w.moved && me < w.width ? p.moved[r.first + me] : me;
    }
    __syncthreads();
}

/* x = D^-1 x in the columns that are done. */
__device__ static void divide_row(const wi_window_room &room, int done, double (&x)[panel_side]) {
#pragma unroll
    for (int j = 0; j < panel_side; j++) {
        if (j >= done)
            break;
        if (room.mark[j] == WI_PIVOT_FIRST && j + 1 < panel_side)
            wi_dense_divide_pair(room.d[j], room.e[j], room.d[(j + 1) % panel_side], &x[j],
                                 &x[(j + 1) % panel_side]);
        else if (room.mark[j] != WI_PIVOT_SECOND)
            x[j] = wi_divisor<double>(room.d[j], room.reciprocal[j]).of(x[j]);
    }
}

/* L(rows below, window) = A(rows below, window) / L(window, window)' / D, a row for each thread;
 * columns without a pivot are interchanged alone. */
template <class real>
__global__ void __launch_bounds__(WI_FRONT_ROWS)
    wi_divide_below(wi_device_chol d, wi_front_batch b) {
    WEFT_SHARED(wi_window_room, room, );
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    const int number = b.first + share.front;
    const wi_front_record r = d.front[number];
    const wi_window_state w = d.pivots.window[number];
    if (w.width == 0)
        return;
    real *const panel = wi_front_panel<real>(d, r);
    load_window(d.pivots, r, w, panel, room);
    if (w.moved)
        move_left(r, w, room.order, share.block, b.sums[share.front + 1] - b.sums[share.front],
                  panel);
    const int row = w.first + w.width + share.block * WI_FRONT_ROWS + (int)threadIdx.x;
    const int done = w.end - w.first;
    if (row >= r.height)
        return;
    real *const to = panel + row + (int64_t)w.first * r.ld;
    double x[panel_side];
#pragma unroll
    for (int j = 0; j < panel_side; j++)
        x[j] = j < w.width ? to[(int64_t)room.order[j] * r.ld] : 0;
#pragma unroll
    for (int j = 0; j < panel_side; j++) {
        if (j >= done)
            break;
#pragma unroll
        for (int k = j + 1; k < panel_side; k++)
            x[k] = wi_fma(-x[j], room.l[j][k], x[k]);
    }
    divide_row(room, done, x);
#pragma unroll
    for (int j = 0; j < panel_side; j++)
        if (j < w.width)
            to[(int64_t)j * r.ld] = (real)x[j];
}

/* ---- inverses, when L is there ---- */

/* The inverse of each square of 64 columns, above its diagonal. The launch has a block for every 8
 * columns. */
template <class real>
__global__ void __launch_bounds__(square_threads)
    wi_invert_squares(wi_device_chol d, wi_front_batch b) {
    constexpr int blocks = panel_side / WI_FRONT_COLUMNS;
    WEFT_SHARED(double, f, [panel_side][panel_side + 1]);
    WEFT_SHARED(double, product, [panel_side * panel_side / 4]);
    const wi_front_share share = wi_share_of(b.sums, b.fronts, (int)blockIdx.x);
    if (share.block % blocks != 0)
        return;
    const wi_front_record r = d.front[b.first + share.front];
    const int p = share.block / blocks, width = wi_panel_width(r, p);
    real *const l = wi_front_panel<real>(d, r) + (int64_t)p * panel_side * (r.ld + 1);
    for (int e = (int)threadIdx.x; e < panel_side * panel_side; e += square_threads) {
        const int i = e % panel_side, j = e / panel_side;
        f[j][i] = i >= j && i < width ? l[i + (int64_t)j * r.ld] : i == j;
    }
    __syncthreads();
    wi_store_inverse<square_threads>(
        f, product, width, [&](int i, int j, double x) { l[j + (int64_t)i * r.ld] = (real)x; });
}

/* ---- all windows of a level ---- */

template <class real>
static weft_status do_window(weft_context *ctx, const weft_chol *plan, const wi_chol_step *step,
                             wi_front_batch b) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const int32_t *const list = plan->device->schedule.list;
    b.sums = d.list + step->rows_at;
    weft_status status =
        WEFT_LAUNCH(wi_pivot_squares<real>, ctx, (unsigned)step->active, square_threads, 0, d, b);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(wi_divide_below<real>, ctx,
                             (unsigned)list[step->rows_at + step->active], WI_FRONT_ROWS, 0, d, b);
    b.sums = d.list + step->tiles_at;
    return status == WEFT_OK ? wi_chol_update_tiles(ctx, plan, d, b,
                                                    (unsigned)list[step->tiles_at + step->active])
                             : status;
}

template <class real>
static weft_status large_fronts(weft_context *ctx, const weft_chol *plan,
                                const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_schedule *const schedule = &plan->device->schedule;
    const wi_chol_step *const step = schedule->step + level->window;
    const int first = wi_first_large(level);
    weft_status status = wi_chol_assemble_large(ctx, plan, level);
    for (int p = 0; p < level->windows && status == WEFT_OK; p++)
        status = do_window<real>(ctx, plan, &step[p], {first, step[p].active, NULL, p, 0});
    const wi_front_batch all = {first, level->large, d.list + level->columns_at, 0, 0};
    return status == WEFT_OK
               ? WEFT_LAUNCH(wi_invert_squares<real>, ctx,
                             (unsigned)schedule->list[level->columns_at + level->large],
                             square_threads, 0, d, all)
               : status;
}

weft_status wi_ldlt_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    return plan->narrow ? large_fronts<float>(ctx, plan, level)
                        : large_fronts<double>(ctx, plan, level);
}
