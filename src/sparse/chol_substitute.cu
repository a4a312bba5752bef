/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward substitution on a GPU, by the kernels of chol_sweep.cuh. */
#include "sparse/chol_sweep.cuh"

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

static weft_status levels_down(weft_context *ctx, const weft_chol *plan,
                               const wi_device_sides &sides, wi_subtree tree);

/* They go down, once x of the top is there. Of their own columns the first has in x, too, what a
 * substitution begins with. */
static weft_status others_down(weft_context *ctx, const weft_chol *plan, const wi_sides &first) {
    return each_other(
        ctx, plan, first.rhs,
        [&](weft_context *own, const weft_chol *part, const wi_device_sides &sides) {
            weft_status status = wi_chol_bring_sides(own, part, first.y, sides.y, sides.rhs, false);
            if (status == WEFT_OK)
                status = wi_chol_bring_sides(own, part, first.x, sides.x, sides.rhs, true);
            if (status == WEFT_OK)
                status = levels_down(own, part, sides, first.tree);
            return status == WEFT_OK ? wi_chol_return_sides(own, part, sides.x, first.x, sides.rhs)
                                     : status;
        });
}

/* ---- the levels ---- */

/* Before a substitution writes numbers begin ... end - 1 of x, they are all awaited. Backward, x is
 * what it begins with, and goes to y. */
__global__ void __launch_bounds__(flat_threads)
    wi_begin_sweep(wi_sides s, int64_t n, int64_t begin, int64_t end, bool down) {
    const int64_t e = (int64_t)blockIdx.x * flat_threads + threadIdx.x;
    const double awaited = wi_awaited();
    if (down && e < n * s.rhs)
        s.y[e] = s.x[e];
    if (e >= begin && e < end)
        s.x[e] = awaited;
}

static weft_status begin_sweep(weft_context *ctx, const weft_chol *plan,
                               const wi_device_sides &sides, wi_subtree tree, bool down) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_sides s = {sides.y, sides.x, sides.parts, sides.rhs, tree};
    const int64_t begin = tree.first > 0 ? symbolic->first[tree.first] : 0;
    const int64_t end =
        tree.columns > 0 ? symbolic->first[tree.last] + tree.columns - 1 : symbolic->n;
    return symbolic->n == 0
               ? WEFT_OK
               : WEFT_LAUNCH(wi_begin_sweep, ctx, flat_blocks(plan, sides), flat_threads, 0, s,
                             symbolic->n, begin * sides.rhs, end * sides.rhs, down);
}

/* One substitution, by kernels whose small fronts have sums for R right-hand sides. */
template <class real, int R>
struct level_substitution {
    weft_context *ctx;
    const weft_chol *plan;
    const wi_schedule *schedule;
    wi_device_chol d;
    wi_sides s;

    /* How many levels a launch may have: all, if nothing moves between them. */
    int64_t together() const {
        const bool alone = wi_chol_gpus(plan) == 1 && !plan->device->first;
        return alone && !plan->device->windows ? schedule->levels : 1;
    }
    /* `items` of them, the first number `at` of the substitution and `place` of the list. */
    weft_status launch(void (*kernel)(wi_device_chol, wi_sides, wi_side_sweep), unsigned threads,
                       int64_t place, int64_t at, int64_t items) const {
        const unsigned chunks = (unsigned)wi_pieces(s.rhs, R);
        const wi_side_sweep sweep = {d.item + place, (int)at, d.progress};
        const weft_status status =
            wi_cuda(ctx, cudaMemsetAsync(d.progress, 0, WI_PROGRESS_BYTES, ctx->gpu->stream),
                    "clearing the progress of a substitution");
        return status == WEFT_OK
                   ? WEFT_LAUNCH(kernel, ctx, (unsigned)items * chunks, threads, 0, d, s, sweep)
                   : status;
    }
    /* Levels k ... end - 1, upward. */
    weft_status run_up(int64_t k, int64_t end) const {
        const int64_t at = schedule->level[k].up;
        const wi_chol_level *const last = &schedule->level[end - 1];
        return launch(wi_sweep_up<real, R>, up_threads, at, at, last->up + last->ups - at);
    }
    /* Levels k ... end + 1, downward. */
    weft_status run_down(int64_t k, int64_t end) const {
        const int64_t at = schedule->level[k].down;
        const wi_chol_level *const last = &schedule->level[end + 1];
        return launch(wi_sweep_down<real, R>, down_threads, at, at - schedule->ups,
                      last->down + last->downs - at);
    }
    weft_status up() const {
        const int64_t step = together();
        weft_status status = WEFT_OK;
        for (int64_t k = 0; k < schedule->levels && status == WEFT_OK; k += step) {
            if (k == schedule->waits)
                status = wi_chol_first_waits(ctx, plan);
            if (status == WEFT_OK)
                status = wi_chol_windows_fetch(ctx, plan, k, k + 1 < schedule->levels ? k + 1 : -1);
            if (status == WEFT_OK)
                status = run_up(k, k + step);
            if (status == WEFT_OK)
                status = wi_chol_windows_used(ctx, plan, k);
            if (status == WEFT_OK)
                status = wi_chol_send_guests(ctx, plan, k, s.rhs);
        }
        return status;
    }
    weft_status down() const {
        const int64_t step = together();
        weft_status status =
            schedule->waits == schedule->levels ? others_down(ctx, plan, s) : WEFT_OK;
        for (int64_t k = schedule->levels - 1; k >= 0 && status == WEFT_OK; k -= step) {
            status = wi_chol_windows_fetch(ctx, plan, k, k - 1);
            if (status == WEFT_OK)
                status = run_down(k, k - step);
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
    weft_status status = begin_sweep(ctx, plan, sides, all, false);
    if (status == WEFT_OK)
        status = others_up(ctx, plan, sides);
    if (status == WEFT_OK)
        status = plan->narrow ? substitute<float>(ctx, plan, sides, all, up)
                              : substitute<double>(ctx, plan, sides, all, up);
    const weft_status ended = wi_chol_first_waits(ctx, plan);
    if (status == WEFT_OK)
        status = ended;
    return status == WEFT_OK ? divide(ctx, plan, sides) : status;
}

static weft_status levels_down(weft_context *ctx, const weft_chol *plan,
                               const wi_device_sides &sides, wi_subtree tree) {
    const auto down = [](const auto &levels) { return levels.down(); };
    return plan->narrow ? substitute<float>(ctx, plan, sides, tree, down)
                        : substitute<double>(ctx, plan, sides, tree, down);
}

weft_status wi_chol_go_down(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                            wi_subtree tree) {
    weft_status status = begin_sweep(ctx, plan, sides, tree, true);
    if (status == WEFT_OK)
        status = levels_down(ctx, plan, sides, tree);
    const weft_status ended = wi_chol_first_waits(ctx, plan);
    return status == WEFT_OK ? ended : status;
}
