/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between any two kinds of memory, in a GPU context. */
#include <stdint.h>
#include <string.h>

#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/stage.h"
#include "core/trace.h"

enum {
    STAGE_FROM_BYTES = 1 << 20 /* the driver makes smaller pageable copies */
};

static weft_status copy_staged(weft_context *ctx, void *to, const void *from, size_t bytes) {
    const wi_stage_args args = {
        .call = "weft_copy",
        .rows = 1,
        .cols = bytes,
        .operand = {{.p = (void *)(uintptr_t)from, .element_bytes = 1, .in = true},
                    {.p = to, .element_bytes = 1, .out = true}},
        .operands = 2,
        .copies = true,
    };
    return wi_stage_run(ctx, &args);
}

/* Queues a copy on the context's stream. */
static weft_status queue_copy(weft_context *ctx, void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, const char *doing) {
    const cudaStream_t stream = ctx->gpu->stream;
    const long mark =
        ctx->tracer ? wi_gpu_mark_copy(ctx, stream, to, from, bytes) : WI_TRACE_NOTHING;
    const weft_status status = wi_cuda(ctx, cudaMemcpyAsync(to, from, bytes, kind, stream), doing);
    if (mark != WI_TRACE_NOTHING)
        wi_gpu_mark_end(ctx, mark, stream);
    return status;
}

static weft_status copy_direct(weft_context *ctx, void *to, const void *from, size_t bytes,
                               bool wait) {
    weft_status status = queue_copy(ctx, to, from, bytes, cudaMemcpyDefault, "copying memory");
    if (status == WEFT_OK && wait)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for a copy");
    return status;
}

/* The event is recorded after the work of both streams. */
weft_status wi_gpu_wait_queued(weft_context *ctx) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaEventRecord(ctx->gpu->order, ctx->gpu->stream),
                     "marking the work queued so far");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventSynchronize(ctx->gpu->order), "waiting for queued work");
    wi_gpu_leave(ctx, before);
    return status;
}

static weft_status copy_entered(weft_context *ctx, void *to, const void *from, size_t bytes) {
    const wi_memory target = wi_gpu_memory(ctx, to, bytes);
    const wi_memory source = wi_gpu_memory(ctx, from, bytes);
    if (target == WI_MEMORY_DEVICE && source == WI_MEMORY_DEVICE)
        return copy_direct(ctx, to, from, bytes, false);
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_copy: host memory cannot take part in a stream capture; copy before "
                       "it begins or after it ends");
    if (target >= WI_MEMORY_PINNED && source >= WI_MEMORY_PINNED) {
        const weft_status status = wi_gpu_wait_queued(ctx); /* that work may use the arrays */
        if (status == WEFT_OK)
            wi_pitched_copy_all(ctx, ctx->threads, (wi_pitched){to, bytes},
                                (wi_pitched){(void *)(uintptr_t)from, bytes}, 1, bytes);
        return status;
    }
    const bool pageable = target == WI_MEMORY_PAGEABLE || source == WI_MEMORY_PAGEABLE;
    if (pageable && bytes >= STAGE_FROM_BYTES)
        return copy_staged(ctx, to, from, bytes);
    return copy_direct(ctx, to, from, bytes, true);
}

weft_status wi_gpu_copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = copy_entered(ctx, to, from, bytes);
    wi_gpu_leave(ctx, before);
    return status;
}

weft_status wi_gpu_take_words(weft_context *ctx) {
    void *words = ctx->gpu->words;
    if (words)
        return WEFT_OK;
    const weft_status status =
        wi_cuda(ctx, cudaHostAlloc(&words, WI_WORDS * sizeof(int64_t), cudaHostAllocDefault),
                "taking pinned memory for an answer");
    ctx->gpu->words = status == WEFT_OK ? words : NULL;
    return status;
}

weft_status wi_gpu_bring_words(weft_context *ctx, int64_t *to, const int64_t *from, int count) {
    weft_status status = wi_gpu_write_words(ctx, from, count);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for an answer");
    if (status == WEFT_OK)
        memcpy(to, ctx->gpu->words, (size_t)count * sizeof *to);
    return status;
}

weft_status wi_gpu_copy_within(weft_context *ctx, void *to, const void *from, size_t bytes) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status =
        queue_copy(ctx, to, from, bytes, cudaMemcpyDeviceToDevice, "copying within device memory");
    wi_gpu_leave(ctx, before);
    return status;
}
