/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU's links: to pinned host memory, to another GPU, and from the host that
 * launches kernels. */
#include <string.h>

#include "climb/roof_cuda.h"
#include "core/gpu.h"
#include "cuda/launch.cuh"

enum {
    MOST_BYTES = 256 << 20, /* of a transfer */
    LAUNCHES = 101
};

namespace {

/* A transfer between the arena and other memory. */
struct transfer {
    const wi_meter *meter;
    void *there;
    size_t bytes;
    int peer;  /* the device, if the other memory is a GPU's */
    bool back; /* from the arena to pinned memory */
};

} // namespace

static size_t transfer_bytes(const wi_meter *meter) {
    return meter->arena_bytes < MOST_BYTES ? meter->arena_bytes : (size_t)MOST_BYTES;
}

static weft_status rate_of(weft_status (*run)(void *), transfer *t, double *rate) {
    const wi_timed timed = {run, t, (double)t->bytes, false};
    double seconds;
    const weft_status status = wi_gpu_time(t->meter, &timed, &seconds);
    if (status == WEFT_OK)
        *rate = timed.bytes / seconds;
    return status;
}

static weft_status run_link(void *user) {
    const transfer *const t = (const transfer *)user;
    void *const to = t->back ? t->there : t->meter->arena;
    const void *const from = t->back ? t->meter->arena : t->there;
    return wi_cuda(t->meter->ctx,
                   cudaMemcpyAsync(to, from, t->bytes,
                                   t->back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                                   t->meter->ctx->gpu->stream),
                   "cudaMemcpyAsync: measuring the link");
}

weft_status wi_gpu_link_roof(const wi_meter *meter, bool back, double *rate) {
    transfer t = {meter, NULL, transfer_bytes(meter), 0, back};
    weft_status status = wi_cuda(meter->ctx, cudaMallocHost(&t.there, t.bytes),
                                 "cudaMallocHost: pinned memory to measure the link");
    if (status != WEFT_OK)
        return status;
    memset(t.there, 1, t.bytes);
    status = rate_of(run_link, &t, rate);
    cudaFreeHost(t.there);
    return status;
}

/* ---- another GPU ---- */

/* The next device that this one can access directly; its own number if there is none. */
static int find_peer(int device) {
    int count = 0, can = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return device;
    for (int k = 1; k < count; k++) {
        const int peer = (device + k) % count;
        if (cudaDeviceCanAccessPeer(&can, device, peer) == cudaSuccess && can)
            return peer;
    }
    return device;
}

static weft_status run_peer(void *user) {
    const transfer *const t = (const transfer *)user;
    return wi_cuda(t->meter->ctx,
                   cudaMemcpyPeerAsync(t->there, t->peer, t->meter->arena, t->meter->ctx->device,
                                       t->bytes, t->meter->ctx->gpu->stream),
                   "cudaMemcpyPeerAsync: measuring the way to another GPU");
}

/* Allocates memory on the other device; this one stays current. */
static weft_status take_there(transfer *t) {
    weft_context *const ctx = t->meter->ctx;
    weft_status status = wi_cuda(ctx, cudaSetDevice(t->peer), "cudaSetDevice: another GPU");
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaMalloc(&t->there, t->bytes), "cudaMalloc: memory of another GPU");
    cudaSetDevice(ctx->device);
    return status;
}

weft_status wi_gpu_peer_roof(const wi_meter *meter, double *rate) {
    const int own = meter->ctx->device;
    transfer t = {meter, NULL, transfer_bytes(meter), find_peer(own), false};
    if (t.peer == own)
        return WEFT_OK;
    weft_status status = take_there(&t);
    if (status != WEFT_OK)
        return status;
    /* Without peer access the copy would go through the host. */
    const bool enabled = cudaDeviceEnablePeerAccess(t.peer, 0) == cudaSuccess;
    if (!enabled)
        cudaGetLastError(); /* it was enabled before; clear the error */
    status = rate_of(run_peer, &t, rate);
    if (enabled)
        cudaDeviceDisablePeerAccess(t.peer);
    cudaFree(t.there);
    return status;
}

/* ---- launches ---- */

static __global__ void empty_kernel(int) {}

weft_status wi_gpu_launch_roof(const wi_meter *meter, double *seconds) {
    double samples[LAUNCHES];
    weft_status status = WEFT_OK;
    for (int k = -1; k < LAUNCHES && status == WEFT_OK; k++) { /* the first loads the kernel */
        const double start = wi_now();
        status = WEFT_LAUNCH(empty_kernel, meter->ctx, 1u, 1u, 0, 0);
        if (status == WEFT_OK)
            status = weft_sync(meter->ctx);
        if (k >= 0)
            samples[k] = wi_now() - start;
    }
    if (status == WEFT_OK)
        *seconds = wi_median(samples, LAUNCHES);
    return status;
}
