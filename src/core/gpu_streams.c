/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a GPU context: waiting for them, and changing to another. */
#include "core/gpu.h"

bool wi_gpu_capturing(const weft_context *ctx) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(ctx->gpu->stream, &status) != cudaSuccess)
        cudaGetLastError();
    return status != cudaStreamCaptureStatusNone;
}

weft_status wi_gpu_sync(weft_context *ctx) {
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_sync: the stream is being captured; end the capture first");
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for queued work");
    if (status == WEFT_OK && ctx->gpu->lane == 0 && ctx->gpu->stream != ctx->gpu->own)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->own), "waiting for queued work");
    if (status == WEFT_OK && ctx->gpu->lane == 0)
        ctx->gpu->queued_count = 0;
    wi_gpu_leave(ctx, before);
    return status;
}

/* Refuses a stream of another GPU, which would otherwise fail at the next launch, with a worse
 * message. */
static weft_status check_stream(weft_context *ctx, cudaStream_t stream) {
#if CUDART_VERSION >= 12080
    int device = 0;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    weft_status status =
        wi_cuda(ctx, cudaStreamIsCapturing(stream, &capture),
                "weft_set_stream: looking at the stream; pass a live cudaStream_t");
    if (status != WEFT_OK || capture != cudaStreamCaptureStatusNone)
        return status; /* CUDA may not be asked for the GPU of a stream that is being captured */
    status = wi_cuda(ctx, cudaStreamGetDevice(stream, &device),
                     "weft_set_stream: asking for the stream's GPU");
    if (status == WEFT_OK && device != ctx->device)
        return wi_fail(
            ctx, WEFT_EARG,
            "weft_set_stream: the stream belongs to GPU %d and the context to %s; create "
            "it with that GPU current",
            device, ctx->place);
    return status;
#else
    (void)ctx;
    (void)stream;
    return WEFT_OK;
#endif
}

static weft_status join_streams(weft_context *ctx, cudaStream_t earlier, cudaStream_t later) {
    const weft_status status =
        wi_cuda(ctx, cudaEventRecord(ctx->gpu->order, earlier), "marking the work queued so far");
    if (status != WEFT_OK)
        return status;
    return wi_cuda(ctx, cudaStreamWaitEvent(later, ctx->gpu->order, 0),
                   "making the new stream wait for the work queued so far");
}

static weft_status switch_stream(weft_context *ctx, cudaStream_t stream) {
    struct wi_gpu *const gpu = ctx->gpu;
    const cudaStream_t earlier = gpu->stream;
    weft_status status = stream == gpu->own ? WEFT_OK : check_stream(ctx, stream);
    if (status != WEFT_OK)
        return status;
    /* A graph cannot wait for work outside it, and such work cannot wait for a graph: whoever
     * captures must order the graph's launches. */
    bool capturing = wi_gpu_capturing(ctx);
    gpu->stream = stream;
    capturing = capturing || wi_gpu_capturing(ctx);
    if (!capturing)
        status = join_streams(ctx, earlier, stream);
    if (status != WEFT_OK)
        gpu->stream = earlier;
    return status;
}

weft_status wi_gpu_set_stream(weft_context *ctx, void *stream) {
    const cudaStream_t wanted = stream ? (cudaStream_t)stream : ctx->gpu->own;
    if (wanted == ctx->gpu->stream)
        return WEFT_OK;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = switch_stream(ctx, wanted);
    wi_gpu_leave(ctx, before);
    return status;
}
