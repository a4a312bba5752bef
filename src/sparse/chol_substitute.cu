/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward substitution on a GPU, level by level, by the kernels of
 * chol_substitute.cuh. */
#include "sparse/chol_substitute.cuh"

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
