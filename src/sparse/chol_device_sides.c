/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides, D and the diagonal of L, between a factor on GPUs and the host. */
#include "sparse/chol_device.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"

static double *host_diagonal(const weft_chol *plan) {
    return plan->device->host + plan->symbolic.n * 4 * plan->device->rhs;
}

wi_solve_room wi_chol_device_room(const weft_chol *plan, int64_t rhs) {
    double *const y = plan->device->host;
    return (wi_solve_room){
        .y = y, .x = y + plan->symbolic.n * rhs, .krylov = host_diagonal(plan) + plan->symbolic.n};
}

double wi_chol_device_entry(const weft_chol *plan, int64_t column) {
    return plan->device->has_diagonal ? host_diagonal(plan)[column] : (double)NAN;
}

wi_device_sides wi_chol_device_sides_of(const weft_chol *plan, int64_t rhs) {
    const size_t vector = plan->report.n * (size_t)rhs;
    double *const y = plan->device->sides;
    return (wi_device_sides){.y = y,
                             .x = y + vector,
                             .b = y + 2 * vector,
                             .solution = y + 3 * vector,
                             .parts = y + 4 * vector,
                             .rhs = (int)rhs};
}

double *wi_chol_device_host_sides(const weft_chol *plan) {
    return plan->device->host + 2 * plan->symbolic.n * plan->device->rhs;
}

/* What one GPU has of the diagonal, to the host memory of the first. */
static weft_status fetch_diagonal(weft_context *ctx, weft_chol *plan, void *user) {
    const wi_chol_device *const d = plan->device;
    const double *const gathered =
        d->windows ? wi_chol_device_sides_of(plan, 1).solution : (const double *)d->work;
    const weft_status status = d->windows ? WEFT_OK : wi_chol_device_gather(ctx, plan);
    if (status != WEFT_OK || plan->report.n == 0)
        return status;
    return d->first || d->spread.gpus > 1
               ? wi_chol_fetch_runs(ctx, plan, gathered, user)
               : wi_gpu_copy(ctx, user, gathered, plan->report.n * sizeof(double));
}

weft_status wi_chol_device_diagonal(weft_context *ctx, const weft_chol *plan) {
    wi_chol_device *const d = plan->device;
    weft_chol own = *plan;
    if (d->has_diagonal || ctx->device != d->device || wi_chol_has_d(plan))
        return WEFT_OK;
    const weft_status status = wi_chol_each_gpu(ctx, &own, fetch_diagonal, host_diagonal(plan));
    d->has_diagonal = status == WEFT_OK;
    return status;
}

weft_status wi_chol_device_pivots(weft_context *ctx, const weft_chol *plan) {
    const wi_pivots *const to = &plan->numbers.pivots;
    const size_t bytes = (size_t)((char *)(to->mark + plan->report.n) - (char *)to->d);
    return plan->report.n > 0 ? wi_gpu_copy(ctx, to->d, wi_chol_device_view(plan).pivots.d, bytes)
                              : WEFT_OK;
}

/* The solution in x to the host, in the order of the analysis, if all went well so far. */
static weft_status fetch_solution(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                                  size_t bytes, weft_status status) {
    const bool moved = plan->kind == WEFT_CHOL_INDEFINITE;
    if (status == WEFT_OK && moved)
        status = wi_chol_interchange(ctx, plan, sides, true);
    return status == WEFT_OK
               ? wi_gpu_copy(ctx, plan->device->host, moved ? sides.y : sides.x, bytes)
               : status;
}

/* Moves y to the device, and x back. L D Lt is solved with as a whole. */
weft_status wi_chol_device_substitute(weft_context *ctx, const weft_chol *plan, int64_t rhs,
                                      bool up, bool down) {
    const wi_device_sides sides = wi_chol_device_sides_of(plan, rhs);
    const wi_subtree all = {0, INT32_MAX, 0};
    const size_t bytes = plan->report.n * (size_t)rhs * sizeof(double);
    double *const host = plan->device->host;
    if (bytes == 0)
        return WEFT_OK;
    const bool moved = plan->kind == WEFT_CHOL_INDEFINITE;
    weft_status status = wi_gpu_copy(ctx, up && !moved ? sides.y : sides.x, host, bytes);
    if (status == WEFT_OK && moved)
        status = wi_chol_interchange(ctx, plan, sides, false);
    if (status == WEFT_OK && up)
        status = wi_chol_go_up(ctx, plan, sides);
    if (status == WEFT_OK && down)
        status = wi_chol_go_down(ctx, plan, sides, all);
    return fetch_solution(ctx, plan, sides, bytes, status);
}

weft_status wi_chol_device_direction(weft_context *ctx, const weft_chol *plan, int64_t s,
                                     int64_t k) {
    const wi_device_sides sides = wi_chol_device_sides_of(plan, 1);
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_subtree tree = {(int32_t)(s - symbolic->size[s] + 1), (int32_t)s,
                             (int32_t)(k - symbolic->first[s] + 1)};
    const size_t bytes = plan->report.n * sizeof(double);
    double *const host = plan->device->host;
    memset(host, 0, bytes);
    host[k] = 1;
    weft_status status = wi_gpu_copy(ctx, sides.x, host, bytes);
    if (status == WEFT_OK)
        status = wi_chol_go_down(ctx, plan, sides, tree);
    return fetch_solution(ctx, plan, sides, bytes, status);
}
