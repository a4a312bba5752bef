/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: how host arrays get to a GPU and back. The ladder "stage", whose sizes count bytes of
 * host data, and its entry point. stage_whole.c and stage_segments.c have its rungs. */
#include "core/stage.h"

#include <limits.h>

#include "core/rows.h"
#include "core/stage_job.h"
#include "core/trace.h"

static weft_status queue_rows(weft_context *ctx, wi_pitched to, wi_pitched from, size_t rows,
                              size_t row_bytes, cudaStream_t stream) {
    const bool dense = to.pitch_bytes == row_bytes && from.pitch_bytes == row_bytes;
    if (rows == 1 || dense)
        return wi_cuda(ctx,
                       cudaMemcpyAsync(to.p, from.p, rows * row_bytes, cudaMemcpyDefault, stream),
                       "queueing a copy between host and device");
    if (to.pitch_bytes <= INT_MAX && from.pitch_bytes <= INT_MAX)
        return wi_cuda(ctx,
                       cudaMemcpy2DAsync(to.p, to.pitch_bytes, from.p, from.pitch_bytes, row_bytes,
                                         rows, cudaMemcpyDefault, stream),
                       "queueing a copy of rows between host and device");
    weft_status status = WEFT_OK;
    for (size_t row = 0; row < rows && status == WEFT_OK; row++)
        status = queue_rows(ctx, (wi_pitched){to.p + row * to.pitch_bytes, row_bytes},
                            (wi_pitched){from.p + row * from.pitch_bytes, row_bytes}, 1, row_bytes,
                            stream);
    return status;
}

weft_status wi_stage_queue_rows(weft_context *ctx, wi_pitched to, wi_pitched from, size_t rows,
                                size_t row_bytes, cudaStream_t stream) {
    if (!ctx->tracer)
        return queue_rows(ctx, to, from, rows, row_bytes, stream);
    const long mark = wi_gpu_mark_copy(ctx, stream, to.p, from.p, rows * row_bytes);
    const weft_status status = queue_rows(ctx, to, from, rows, row_bytes, stream);
    wi_gpu_mark_end(ctx, mark, stream);
    return status;
}

weft_status wi_stage_run_kernel(const wi_stage_job *j, wi_segment s, char *const at[]) {
    void *p[WI_MAX_OPERANDS];
    size_t ld[WI_MAX_OPERANDS];
    if (j->args->copies)
        return WEFT_OK;
    for (int k = 0; k < j->args->operands; k++) {
        const int array = j->arrays.of[k];
        const wi_operand *const o = &j->arrays.array[array];
        const bool direct = !at || wi_on_device(j, array);
        p[k] = direct ? wi_stage_array_at(&j->arrays, array, s.row, s.col) : at[array];
        ld[k] = direct ? o->pitch_bytes / o->element_bytes : s.cols;
    }
    void *const stream = j->ctx->gpu->stream;
    const long mark = j->ctx->tracer
                          ? wi_gpu_mark(j->ctx, stream, j->args->call, "segment", (wi_traffic){0})
                          : WI_TRACE_NOTHING;
    const weft_status status =
        j->args->run(j->ctx, j->args->user, s.row * j->arrays.cols + s.col, s.rows, s.cols, p, ld);
    if (mark != WI_TRACE_NOTHING)
        wi_gpu_mark_end(j->ctx, mark, stream);
    return status;
}

/* ---- the ladder and its entry ---- */

static weft_status run_pageable(weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_stage_run_whole(args, false);
}

static weft_status run_pinned(weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_stage_run_whole(args, true);
}

static weft_status run_segmented(weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_stage_run_segments(args);
}

static weft_status run_zero_copy(weft_context *ctx, const void *args) {
    const wi_stage_job *const j = args;
    *j->args->over_link = true;
    weft_status status =
        wi_stage_run_kernel(j, (wi_segment){0, 0, j->arrays.rows, j->arrays.cols}, NULL);
    /* Wait after a failure too: the caller may free or reuse its arrays once the call returns. */
    const cudaError_t waited = cudaStreamSynchronize(ctx->gpu->stream);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, waited, "waiting for kernels that access host memory");
    return status;
}

static const char *fits_zero_copy(const weft_context *ctx, const void *args) {
    (void)ctx;
    const wi_stage_job *const j = args;
    if (!j->args->over_link)
        return "needs a call whose kernels access each element once";
    for (int k = 0; k < j->arrays.count; k++)
        if (!wi_on_device(j, k) && j->memory[k] != WI_MEMORY_PINNED)
            return "needs all host arrays in pinned memory";
    return NULL;
}

/* Costs on an H200 whose link carries 55 GB/s each way: what a rung needs to begin, and how many
 * bytes then cross the link in a second. */
static double link_seconds(const void *args, double begin_s, double bytes_per_s) {
    return begin_s + (double)((const wi_stage_job *)args)->host_bytes / bytes_per_s;
}

static double pageable_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 0, 6.5e9);
}

static double pinned_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 6.6e-6, 19e9);
}

static double segmented_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 41.2e-6, 51e9);
}

/* The fastest of all for what it takes, 4 KB to 256 MB of an array. */
static double zero_copy_seconds(const weft_context *ctx, const void *args) {
    (void)ctx;
    return link_seconds(args, 0, 73e9);
}

static const wi_row rows[] = {
    {.name = "pageable",
     .what = "whole arrays, copied by the driver from where they lie",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = pageable_seconds,
     .run = run_pageable},
    {.name = "pinned",
     .what = "whole arrays through pinned memory, filled by several threads",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = pinned_seconds,
     .run = run_pinned},
    {.name = "segmented",
     .what = "segments: threads, link and kernels all busy at once",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = segmented_seconds,
     .run = run_segmented},
    {.name = "zero_copy",
     .what = "pinned memory: kernels read and write it over the link, and nothing is copied",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_zero_copy,
     .seconds = zero_copy_seconds,
     .run = run_zero_copy},
};

const wi_ladder wi_stage_ladder = {"stage", rows, sizeof rows / sizeof *rows};

static weft_status ensure_stage(weft_context *ctx) {
    if (ctx->gpu->stage)
        return WEFT_OK;
    ctx->gpu->stage = wi_host_alloc(sizeof *ctx->gpu->stage);
    if (!ctx->gpu->stage)
        return wi_fail(ctx, WEFT_ENOMEM, "no host memory for staging (%zu bytes)",
                       sizeof *ctx->gpu->stage);
    *ctx->gpu->stage = (struct wi_stage){.has_ring = false};
    return WEFT_OK;
}

void wi_stage_close(weft_context *ctx) {
    struct wi_stage *const stage = ctx->gpu->stage;
    if (!stage)
        return;
    wi_stage_drop_ring(ctx);
    if (stage->whole)
        cudaFreeHost(stage->whole);
    wi_host_free(stage);
    ctx->gpu->stage = NULL;
}

static wi_stage_job job_of(weft_context *ctx, const wi_stage_args *args) {
    wi_stage_job j = {.ctx = ctx, .args = args, .arrays = wi_stage_arrays_of(args)};
    for (int k = 0; k < j.arrays.count; k++) {
        const wi_operand *const o = &j.arrays.array[k];
        j.memory[k] = wi_gpu_memory(ctx, o->p, wi_stage_array_span(&j.arrays, k));
        if (!wi_on_device(&j, k))
            j.host_bytes +=
                j.arrays.rows * j.arrays.cols * o->element_bytes * ((size_t)o->in + (size_t)o->out);
    }
    return j;
}

weft_status wi_stage_run(weft_context *ctx, const wi_stage_args *args) {
    if (args->rows == 0 || args->cols == 0)
        return WEFT_OK;
    const wi_stage_job j = job_of(ctx, args);
    if (j.host_bytes == 0)
        return wi_stage_run_kernel(&j, (wi_segment){0, 0, j.arrays.rows, j.arrays.cols}, NULL);
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: host memory cannot take part in a stream capture; pass device memory",
                       args->call);
    weft_status status = ensure_stage(ctx);
    if (status != WEFT_OK)
        return status;
    /* While another thread captures a graph in "global" mode, cudaEventQuery is forbidden unless
     * this thread is in "relaxed" mode. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    status = wi_run(ctx, &wi_stage_ladder, args->call, WI_NO_TYPE, &j);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return status;
}
