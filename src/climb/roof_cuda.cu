/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU: how fast it reads its memory, copies it, and gets data from pinned host
 * memory. */
#include "cli/meter.h"
#include "core/gpu.h"
#include "cuda/launch.cuh"

enum {
    THREADS = 256,
    PINNED_BYTES = 256 << 20
};

/* Reads tiles of THREADS * DEPTH vectors of 16 bytes, DEPTH of them in flight in each thread. What
 * is read is folded into a word that is stored only if it equals `never`, so the reads cannot be
 * left out and nothing is written. */
template <int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    read_kernel(const uint4 *memory, size_t tiles, unsigned never, unsigned *out) {
    unsigned folded = 0;
    for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint4 *const own = memory + tile * THREADS * DEPTH + threadIdx.x;
        uint4 read[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            read[k] = own[k * THREADS];
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            folded ^= read[k].x ^ read[k].y ^ read[k].z ^ read[k].w;
    }
    if (folded == never)
        *out = folded;
}

namespace {

/* One way to launch the read. */
struct read_plan {
    const wi_meter *meter;
    bool resident; /* as many blocks as fit at once, each taking many tiles; else one a tile */
};

/* A transfer from pinned memory into the arena. */
struct link_plan {
    const wi_meter *meter;
    void *pinned;
    size_t bytes;
};

} // namespace

/* No fold of an arena filled with one repeated byte is this. */
static const unsigned impossible = 0x12345678;

template <int DEPTH>
static weft_status run_read(void *user) {
    const read_plan *const plan = (const read_plan *)user;
    weft_context *const ctx = plan->meter->ctx;
    size_t tiles = plan->meter->arena_bytes / (sizeof(uint4) * THREADS * DEPTH), blocks = tiles;
    weft_status status = WEFT_OK;
    if (plan->resident)
        status = wi_resident_blocks(ctx, read_kernel<DEPTH>, THREADS, 0, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(read_kernel<DEPTH>, ctx, dim3((unsigned)blocks), dim3(THREADS), 0,
                       plan->meter->arena, tiles, impossible, plan->meter->arena);
}

/* The best of a few shapes of the same plain kernel. */
static weft_status read_roof(const wi_meter *meter, double *rate) {
    weft_status (*const shapes[])(void *) = {run_read<4>, run_read<8>};
    *rate = 0;
    for (int shape = 0; shape < 2; shape++) {
        for (int resident = 0; resident < 2; resident++) {
            read_plan plan = {meter, resident != 0};
            const wi_task task = {shapes[shape], &plan, (double)meter->arena_bytes, false};
            double seconds;
            const weft_status status = wi_gpu_time(meter, &task, &seconds);
            if (status != WEFT_OK)
                return status;
            if (task.bytes / seconds > *rate)
                *rate = task.bytes / seconds;
        }
    }
    return WEFT_OK;
}

static weft_status run_copy(void *user) {
    const wi_meter *const meter = (const wi_meter *)user;
    const size_t half = meter->arena_bytes / 2;
    return wi_cuda(meter->ctx,
                   cudaMemcpyAsync((char *)meter->arena + half, meter->arena, half,
                                   cudaMemcpyDeviceToDevice, meter->ctx->gpu->stream),
                   "cudaMemcpyAsync: measuring the copy rate");
}

static weft_status copy_roof(const wi_meter *meter, double *rate) {
    const wi_task task = {run_copy, (void *)meter, (double)(meter->arena_bytes / 2 * 2), false};
    double seconds;
    const weft_status status = wi_gpu_time(meter, &task, &seconds);
    if (status == WEFT_OK)
        *rate = task.bytes / seconds;
    return status;
}

static weft_status run_link(void *user) {
    const link_plan *const plan = (const link_plan *)user;
    return wi_cuda(plan->meter->ctx,
                   cudaMemcpyAsync(plan->meter->arena, plan->pinned, plan->bytes,
                                   cudaMemcpyHostToDevice, plan->meter->ctx->gpu->stream),
                   "cudaMemcpyAsync: measuring the link");
}

static weft_status link_roof(const wi_meter *meter, double *rate) {
    link_plan plan = {meter, NULL, PINNED_BYTES};
    if (plan.bytes > meter->arena_bytes)
        plan.bytes = meter->arena_bytes;
    weft_status status = wi_cuda(meter->ctx, cudaMallocHost(&plan.pinned, plan.bytes),
                                 "cudaMallocHost: pinned memory to measure the link");
    if (status != WEFT_OK)
        return status;
    const wi_task task = {run_link, &plan, (double)plan.bytes, false};
    double seconds;
    status = wi_gpu_time(meter, &task, &seconds);
    if (status == WEFT_OK)
        *rate = task.bytes / seconds;
    cudaFreeHost(plan.pinned);
    return status;
}

weft_status wi_gpu_roof(const wi_meter *meter, wi_roof roof, double *rate) {
    int before;
    if (roof == WI_ROOF_FMA)
        return wi_fail(meter->ctx, WEFT_EUNSUPPORTED,
                       "the rate of multiply-adds is measured on cpu places only; open one");
    weft_status status = wi_gpu_enter(meter->ctx, &before);
    if (status != WEFT_OK)
        return status;
    if (roof == WI_ROOF_READ)
        status = read_roof(meter, rate);
    else if (roof == WI_ROOF_COPY)
        status = copy_roof(meter, rate);
    else
        status = link_roof(meter, rate);
    wi_gpu_leave(meter->ctx, before);
    return status;
}
