/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs that share a factor send each other: updates and parts of the roots of subtrees, and
 * right-hand sides. All is copied; no kernel reads another GPU's memory. */
#include "core/gpu.h"
#include "cuda/limit.cuh"
#include "sparse/chol_device.h"

/* The work (wi_symbolic.work, about flops) from which GPUs share it: below, levels of launches take
 * most of the time, and those of the top are left to one GPU. */
WI_LIMIT(double, wi_chol_share_from, 2e10)

double wi_chol_spread_from(void) {
    return wi_chol_share_from;
}

weft_status wi_chol_let_wait(weft_context *ctx, weft_context *later, weft_context *earlier) {
    int before;
    weft_status status = wi_gpu_enter(earlier, &before);
    if (status == WEFT_OK) {
        status = wi_cuda(ctx, cudaEventRecord(earlier->gpu->order, earlier->gpu->stream),
                         "marking the work of a GPU");
        wi_gpu_leave(earlier, before);
    }
    if (status == WEFT_OK)
        status = wi_gpu_enter(later, &before);
    if (status == WEFT_OK) {
        status = wi_cuda(ctx, cudaStreamWaitEvent(later->gpu->stream, earlier->gpu->order, 0),
                         "making one GPU wait for another");
        wi_gpu_leave(later, before);
    }
    return status;
}

weft_status wi_chol_others_wait(weft_context *ctx, const weft_chol *plan) {
    weft_status status = WEFT_OK;
    for (int g = 1; g < wi_chol_gpus(plan) && status == WEFT_OK; g++)
        status = wi_chol_let_wait(ctx, wi_chol_gpu(ctx, g), ctx);
    return status;
}

weft_status wi_chol_first_waits(weft_context *ctx, const weft_chol *plan) {
    weft_status status = WEFT_OK;
    for (int g = 1; g < wi_chol_gpus(plan) && status == WEFT_OK; g++)
        status = wi_chol_let_wait(ctx, ctx, wi_chol_gpu(ctx, g));
    return status;
}

static weft_status copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    return bytes == 0
               ? WEFT_OK
               : wi_cuda(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx->gpu->stream),
                         "copying from one GPU to another");
}

weft_status wi_chol_copy_columns(weft_context *ctx, void *to, const void *from, size_t ld_bytes,
                                 size_t row_bytes, int64_t columns) {
    return columns == 0 || row_bytes == 0
               ? WEFT_OK
               : wi_cuda(ctx,
                         cudaMemcpy2DAsync(to, ld_bytes, from, ld_bytes, row_bytes, (size_t)columns,
                                           cudaMemcpyDefault, ctx->gpu->stream),
                         "copying columns from one GPU to another");
}

/* Columns of the lower half of `rows` rows: some at a time, from the first one's diagonal on. */
static weft_status copy_lower(weft_context *ctx, char *to, const char *from, size_t ld_bytes,
                              size_t number, int64_t rows) {
    constexpr int64_t most = 512;
    weft_status status = WEFT_OK;
    for (int64_t j = 0; j < rows && status == WEFT_OK; j += most) {
        const size_t at = (size_t)j * (ld_bytes + number), down = (size_t)(rows - j) * number;
        status = wi_chol_copy_columns(ctx, to + at, from + at, ld_bytes, down,
                                      rows - j < most ? rows - j : most);
    }
    return status;
}

/* The update of a root, which has the same shape on both GPUs. */
static weft_status send_update(weft_context *ctx, const weft_chol *plan, const wi_guest *guest) {
    const wi_chol_device *const d = plan->device;
    const wi_front_record *const r = &d->schedule.front[guest->there];
    const wi_front_record *const to = &d->first->schedule.front[guest->here];
    const size_t number = wi_chol_number(plan);
    char *const there = (char *)d->first->work + (size_t)to->update * number;
    const char *const here = (const char *)d->work + (size_t)r->update * number;
    const int64_t rows = r->height - r->columns;
    const size_t ld = (size_t)r->ld_update * number;
    return d->first->spread.reach ? copy_lower(ctx, there, here, ld, number, rows)
                                  : copy(ctx, there, here, ld * (size_t)rows);
}

static weft_status send_part(weft_context *ctx, const weft_chol *plan, const wi_guest *guest,
                             int rhs) {
    const wi_chol_device *const d = plan->device;
    const wi_front_record *const r = &d->schedule.front[guest->there];
    const wi_front_record *const to = &d->first->schedule.front[guest->here];
    weft_chol first = *plan;
    first.device = d->first;
    return copy(ctx, wi_chol_device_sides_of(&first, rhs).parts + to->part * rhs,
                wi_chol_device_sides_of(plan, rhs).parts + r->part * rhs,
                (size_t)(r->height - r->columns) * (size_t)rhs * sizeof(double));
}

weft_status wi_chol_send_guests(weft_context *ctx, const weft_chol *plan, int64_t k, int rhs) {
    const wi_chol_device *const d = plan->device;
    weft_status status = WEFT_OK;
    for (int64_t g = 0; g < d->guests && status == WEFT_OK; g++)
        if (d->guest[g].level == k)
            status = rhs > 0 ? send_part(ctx, plan, &d->guest[g], rhs)
                             : send_update(ctx, plan, &d->guest[g]);
    return status;
}

/* ---- vectors, run by run ---- */

/* Copies the runs that are this GPU's, of so many elements for each column; and those of the top,
 * if asked for. */
template <class T>
static weft_status copy_runs(weft_context *ctx, const weft_chol *plan, const T *from, T *to,
                             int each, bool top) {
    const wi_chol_device *const d = plan->device;
    const wi_spread *const spread = d->first ? &d->first->spread : &d->spread;
    weft_status status = WEFT_OK;
    for (int64_t k = 0; k < spread->runs && status == WEFT_OK; k++) {
        const wi_spread_run *const run = &spread->run[k];
        if (run->gpu != d->number && !(top && run->gpu == WI_TOP))
            continue;
        status = copy(ctx, to + run->begin * each, from + run->begin * each,
                      (size_t)(run->end - run->begin) * (size_t)each * sizeof *to);
    }
    return status;
}

weft_status wi_chol_bring_sides(weft_context *ctx, const weft_chol *plan, const double *from,
                                double *to, int rhs, bool top) {
    return copy_runs(ctx, plan, from, to, rhs, top);
}

weft_status wi_chol_return_sides(weft_context *ctx, const weft_chol *plan, const double *from,
                                 double *to, int rhs) {
    return copy_runs(ctx, plan, from, to, rhs, false);
}

weft_status wi_chol_return_pivots(weft_context *ctx, const weft_chol *plan) {
    const wi_device_pivots from = wi_chol_device_view(plan).pivots;
    weft_chol first = *plan;
    first.device = plan->device->first;
    const wi_device_pivots to = wi_chol_device_view(&first).pivots;
    if (!wi_chol_has_d(plan))
        return WEFT_OK;
    weft_status status = copy_runs(ctx, plan, from.d, to.d, 1, false);
    if (status == WEFT_OK)
        status = copy_runs(ctx, plan, from.e, to.e, 1, false);
    if (status == WEFT_OK)
        status = copy_runs(ctx, plan, from.mark, to.mark, 1, false);
    return status == WEFT_OK && from.order ? copy_runs(ctx, plan, from.order, to.order, 1, false)
                                           : status;
}

weft_status wi_chol_share_places(weft_context *ctx, const weft_chol *plan) {
    const int32_t *const place = wi_chol_device_view(plan).pivots.place;
    const size_t bytes = plan->report.n * sizeof *place;
    weft_status status = place ? wi_chol_others_wait(ctx, plan) : WEFT_OK;
    for (int g = 1; g < wi_chol_gpus(plan) && place && status == WEFT_OK; g++) {
        const weft_chol own = wi_chol_of_gpu(plan, g);
        weft_context *const gpu = wi_chol_gpu(ctx, g);
        int before;
        status = wi_gpu_enter(gpu, &before);
        if (status == WEFT_OK) {
            status = copy(gpu, wi_chol_device_view(&own).pivots.place, place, bytes);
            wi_gpu_leave(gpu, before);
        }
        if (status != WEFT_OK)
            wi_fail_as(ctx, status, gpu);
    }
    return status == WEFT_OK ? wi_chol_first_waits(ctx, plan) : status;
}

weft_status wi_chol_fetch_runs(weft_context *ctx, const weft_chol *plan, const double *from,
                               double *to) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = copy_runs(ctx, plan, from, to, 1, plan->device->number == 0);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for a diagonal");
    wi_gpu_leave(ctx, before);
    return status;
}
