/* SPDX-License-Identifier: Apache-2.0 */
/* The two lanes of a GPU context. */
#include "core/gpu.h"

static weft_status open_side(weft_context *ctx) {
    int least, most;
    if (ctx->gpu->side)
        return WEFT_OK;
    weft_status status = wi_cuda(ctx, cudaDeviceGetStreamPriorityRange(&least, &most),
                                 "asking for the priorities of streams");
    if (status == WEFT_OK)
        status =
            wi_cuda(ctx, cudaStreamCreateWithPriority(&ctx->gpu->side, cudaStreamNonBlocking, most),
                    "creating the stream of the side lane");
    return status;
}

static weft_status let_wait(weft_context *ctx, cudaStream_t later, cudaStream_t earlier) {
    const weft_status status =
        wi_cuda(ctx, cudaEventRecord(ctx->gpu->order, earlier), "marking the work of a lane");
    return status == WEFT_OK ? wi_cuda(ctx, cudaStreamWaitEvent(later, ctx->gpu->order, 0),
                                       "making one lane wait for the other")
                             : status;
}

weft_status wi_gpu_fork(weft_context *ctx) {
    const weft_status status = open_side(ctx);
    return status == WEFT_OK ? let_wait(ctx, ctx->gpu->side, ctx->gpu->stream) : status;
}

weft_status wi_gpu_join(weft_context *ctx) {
    return let_wait(ctx, ctx->gpu->stream, ctx->gpu->side);
}

void wi_gpu_mark_cluster(weft_context *ctx) {
    ctx->gpu->marks = true;
}

weft_status wi_gpu_join_cluster(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    const bool none = gpu->marks;
    gpu->marks = false;
    return none ? WEFT_OK
                : wi_cuda(ctx, cudaStreamWaitEvent(gpu->stream, gpu->begun, 0),
                          "making a lane wait for the beginning of a cluster");
}

void wi_gpu_take_side(weft_context *ctx, bool side) {
    struct wi_gpu *const gpu = ctx->gpu;
    if (side == (gpu->lane == 1))
        return;
    if (side)
        gpu->aside = gpu->stream;
    gpu->stream = side ? gpu->side : gpu->aside;
    gpu->lane = side;
}

weft_status wi_gpu_reserve_lanes(weft_context *ctx, size_t bytes) {
    weft_status status = wi_gpu_reserve(ctx, bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_gpu_fork(ctx);
    wi_gpu_take_side(ctx, status == WEFT_OK);
    if (status == WEFT_OK)
        status = wi_gpu_reserve(ctx, bytes);
    wi_gpu_take_side(ctx, false);
    if (status != WEFT_OK)
        wi_gpu_release(ctx);
    return status;
}

weft_status wi_gpu_release_lanes(weft_context *ctx) {
    wi_gpu_take_side(ctx, true);
    const weft_status side = wi_gpu_release(ctx);
    wi_gpu_take_side(ctx, false);
    const weft_status own = wi_gpu_release(ctx);
    return side == WEFT_OK ? own : side;
}
