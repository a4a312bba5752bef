/* SPDX-License-Identifier: Apache-2.0 */
/* L in pinned host memory: levels of it in two windows on the device, in turn. Copies are queued on
 * the side lane, beside the kernels of the level in the other window. */
#include "core/gpu.h"
#include "core/gpu_limits.h"
#include "cuda/limit.cuh"
#include "sparse/chol_device.h"

/* Bytes of device memory that a factor may take; 0: what is free. */
WI_LIMIT(size_t, wi_chol_most_bytes, 0)

enum {
    WINDOWS = 2,
    SPARED = 256 << 20 /* bytes of the device that are left to others */
};

/* `used`: after the latest kernels that work in a window; `there`: after the latest copy to or from
 * it. */
struct wi_chol_windows {
    int64_t held[WINDOWS]; /* the level whose panels are in it; -1: none */
    cudaEvent_t used[WINDOWS], there[WINDOWS];
};

size_t wi_chol_free_bytes(const weft_context *ctx) {
    if (wi_chol_most_bytes > 0)
        return wi_chol_most_bytes;
    const size_t left = wi_gpu_free_bytes(ctx);
    if (left == 0)
        return SIZE_MAX; /* the first allocation says what is wrong */
    return left - (left > SPARED ? SPARED : 0);
}

/* ---- memory ---- */

static weft_status create_events(weft_context *ctx, cudaEvent_t *event) {
    weft_status status = WEFT_OK;
    for (int w = 0; w < WINDOWS && status == WEFT_OK; w++)
        status = wi_cuda(ctx, cudaEventCreateWithFlags(&event[w], cudaEventDisableTiming),
                         "creating an event");
    return status;
}

static weft_status take(weft_context *ctx, size_t bytes, wi_chol_device *d) {
    if (cudaHostAlloc(&d->home, bytes, cudaHostAllocDefault) != cudaSuccess) {
        cudaGetLastError();
        d->home = NULL;
        return wi_fail(ctx, WEFT_ENOMEM,
                       "no pinned host memory for %zu bytes of L, which is too large for %s; free "
                       "some",
                       bytes, ctx->place);
    }
    const weft_status status = create_events(ctx, d->windows->used);
    return status == WEFT_OK ? create_events(ctx, d->windows->there) : status;
}

weft_status wi_chol_windows_take(weft_context *ctx, const weft_chol *plan, wi_chol_device *d) {
    const size_t bytes = wi_chol_home_bytes(plan, &d->schedule);
    int before;
    d->windows = (wi_chol_windows *)wi_host_alloc(sizeof *d->windows);
    if (!d->windows)
        return wi_fail(ctx, WEFT_ENOMEM, "no memory for %zu bytes, windows of L; free some",
                       sizeof *d->windows);
    *d->windows = {{-1, -1}, {}, {}};
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = take(ctx, bytes, d);
    wi_gpu_leave(ctx, before);
    return status;
}

void wi_chol_windows_drop(wi_chol_device *d) {
    for (int w = 0; w < WINDOWS && d->windows; w++) {
        if (d->windows->used[w])
            cudaEventDestroy(d->windows->used[w]);
        if (d->windows->there[w])
            cudaEventDestroy(d->windows->there[w]);
    }
    if (d->home)
        cudaFreeHost(d->home);
    wi_host_free(d->windows);
    d->windows = NULL;
    d->home = NULL;
}

/* ---- what moves ---- */

static weft_status mark(weft_context *ctx, cudaEvent_t event, cudaStream_t stream) {
    return wi_cuda(ctx, cudaEventRecord(event, stream), "marking the work on a window of L");
}

static weft_status let_stream_wait(weft_context *ctx, cudaStream_t stream, cudaEvent_t event) {
    return wi_cuda(ctx, cudaStreamWaitEvent(stream, event, 0), "waiting for a window of L");
}

weft_status wi_chol_windows_begin(weft_context *ctx, const weft_chol *plan) {
    return plan->device->windows ? wi_gpu_fork(ctx) : WEFT_OK;
}

weft_status wi_chol_windows_end(weft_context *ctx, const weft_chol *plan) {
    return plan->device->windows ? wi_gpu_join(ctx) : WEFT_OK;
}

/* The panels of level k to the host or back, when all before has used the window. */
static weft_status move(weft_context *ctx, const weft_chol *plan, int64_t k, bool home) {
    wi_chol_device *const d = plan->device;
    const wi_chol_level *const level = &d->schedule.level[k];
    const size_t number = wi_chol_number(plan);
    char *const here = (char *)d->home + (size_t)level->l_at * number;
    char *const there = (char *)d->l + (size_t)wi_schedule_level_at(&d->schedule, k) * number;
    weft_status status = let_stream_wait(ctx, ctx->gpu->side, d->windows->used[k % WINDOWS]);
    if (status == WEFT_OK)
        status =
            wi_cuda(ctx,
                    cudaMemcpyAsync(home ? here : there, home ? there : here,
                                    (size_t)level->l * number, cudaMemcpyDefault, ctx->gpu->side),
                    "moving panels of L");
    return status == WEFT_OK ? mark(ctx, d->windows->there[k % WINDOWS], ctx->gpu->side) : status;
}

weft_status wi_chol_windows_clear(weft_context *ctx, const weft_chol *plan, int64_t k) {
    wi_chol_windows *const w = plan->device->windows;
    if (!w)
        return WEFT_OK;
    w->held[k % WINDOWS] = -1;
    return let_stream_wait(ctx, ctx->gpu->stream, w->there[k % WINDOWS]);
}

weft_status wi_chol_windows_used(weft_context *ctx, const weft_chol *plan, int64_t k) {
    wi_chol_windows *const w = plan->device->windows;
    return w ? mark(ctx, w->used[k % WINDOWS], ctx->gpu->stream) : WEFT_OK;
}

weft_status wi_chol_windows_keep(weft_context *ctx, const weft_chol *plan, int64_t k) {
    wi_chol_windows *const w = plan->device->windows;
    if (!w)
        return WEFT_OK;
    weft_status status = wi_chol_windows_used(ctx, plan, k);
    if (status == WEFT_OK)
        status = move(ctx, plan, k, true);
    w->held[k % WINDOWS] = status == WEFT_OK ? k : -1;
    return status;
}

static weft_status bring(weft_context *ctx, const weft_chol *plan, int64_t k) {
    int64_t *const held = &plan->device->windows->held[k % WINDOWS];
    if (*held == k)
        return WEFT_OK;
    const weft_status status = move(ctx, plan, k, false);
    *held = status == WEFT_OK ? k : -1;
    return status;
}

weft_status wi_chol_windows_fetch(weft_context *ctx, const weft_chol *plan, int64_t k,
                                  int64_t next) {
    wi_chol_windows *const w = plan->device->windows;
    if (!w)
        return WEFT_OK;
    weft_status status = bring(ctx, plan, k);
    if (status == WEFT_OK && next >= 0)
        status = bring(ctx, plan, next);
    return status == WEFT_OK ? let_stream_wait(ctx, ctx->gpu->stream, w->there[k % WINDOWS])
                             : status;
}
