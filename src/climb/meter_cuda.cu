/* SPDX-License-Identifier: Apache-2.0 */
/* Timing by GPU events. */
#include "climb/meter.h"
#include "core/gpu.h"

/* Shorter calls are timed several at a time: events have a resolution of about half a microsecond.
 */
static const double batch_seconds = 200e-6;

enum {
    MOST_IN_BATCH = 1000
};

/* Overwrites more memory than the cache holds, so that none of the data is left in it. */
static weft_status flush(const wi_meter *meter) {
    size_t bytes = 2 * meter->cache_bytes;
    if (bytes > meter->arena_bytes)
        bytes = meter->arena_bytes;
    return wi_cuda(meter->ctx, cudaMemsetAsync(meter->arena, 0, bytes, meter->ctx->gpu->stream),
                   "cudaMemsetAsync: emptying the cache before a timed call");
}

/* Seconds of one of `batch` runs between two events. */
static weft_status sample(const wi_meter *meter, const wi_timed *timed, bool cold, int batch,
                          const cudaEvent_t event[2], double *seconds) {
    weft_context *const ctx = meter->ctx;
    float milliseconds = 0;
    weft_status status = cold ? flush(meter) : WEFT_OK;
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventRecord(event[0], ctx->gpu->stream), "cudaEventRecord");
    for (int k = 0; k < batch && status == WEFT_OK; k++)
        status = timed->run(timed->user);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventRecord(event[1], ctx->gpu->stream), "cudaEventRecord");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventSynchronize(event[1]), "waiting for a timed call");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventElapsedTime(&milliseconds, event[0], event[1]),
                         "cudaEventElapsedTime");
    *seconds = 1e-3 * milliseconds / batch;
    return status;
}

static weft_status take_samples(const wi_meter *meter, const wi_timed *timed,
                                const cudaEvent_t event[2], double *seconds) {
    double samples[WI_MOST_SAMPLES], first;
    const bool cold = wi_meter_flushes(meter, timed);
    size_t count = 0;
    weft_status status = sample(meter, timed, cold, 1, event, &first);
    if (status == WEFT_OK) /* the second run does not load the kernel any more */
        status = sample(meter, timed, cold, 1, event, &first);
    if (status != WEFT_OK)
        return status;
    int batch = 1;
    if (!cold && first < batch_seconds)
        batch = first > batch_seconds / MOST_IN_BATCH ? (int)(batch_seconds / first) + 1
                                                      : MOST_IN_BATCH;
    const double start = wi_now();
    while (status == WEFT_OK && wi_meter_goes_on(meter, count, start))
        status = sample(meter, timed, cold, batch, event, &samples[count++]);
    if (status == WEFT_OK)
        *seconds = wi_median(samples, count);
    return status;
}

weft_status wi_gpu_time(const wi_meter *meter, const wi_timed *timed, double *seconds) {
    weft_context *const ctx = meter->ctx;
    cudaEvent_t event[2] = {NULL, NULL};
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    for (int k = 0; k < 2 && status == WEFT_OK; k++)
        status = wi_cuda(ctx, cudaEventCreateWithFlags(&event[k], cudaEventDefault),
                         "cudaEventCreate: timing");
    if (status == WEFT_OK)
        status = take_samples(meter, timed, event, seconds);
    for (int k = 0; k < 2; k++) {
        if (event[k])
            cudaEventDestroy(event[k]);
    }
    wi_gpu_leave(ctx, before);
    return status;
}
