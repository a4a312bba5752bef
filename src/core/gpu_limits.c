/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a device, and what kernels use of them, as the CUDA runtime reports them. */
#include "core/gpu_limits.h"

#include <stdint.h>
#include <string.h>

#include "core/gpu.h"
#include "core/smaller.h"

enum {
    WARP = 32,
    REGISTERS_PER_THREAD = 255, /* on every device that weft supports; not an attribute */
    REGISTER_UNIT = 256         /* registers are allocated to a warp in such units */
};

static const char *compute_mode_name(int mode) {
    switch (mode) {
    case cudaComputeModeDefault:
        return "default";
    case cudaComputeModeProhibited:
        return "prohibited";
    default:
        return "exclusive process";
    }
}

/* Does the multi-process service (MPS) run the kernels on this device? */
static wi_told told_of_mps(int device) {
#if CUDART_VERSION >= 12060
    int enabled = 0;
    if (cudaDeviceGetAttribute(&enabled, cudaDevAttrMpsEnabled, device) == cudaSuccess)
        return enabled ? WI_YES : WI_NO;
    cudaGetLastError();
#else
    (void)device;
#endif
    return WI_NOT_TOLD;
}

static void read_attributes(int device, wi_gpu_limits *l) {
    const struct {
        int *to;
        enum cudaDeviceAttr name;
    } wanted[] = {
        {&l->multiprocessors, cudaDevAttrMultiProcessorCount},
        {&l->threads_per_block, cudaDevAttrMaxThreadsPerBlock},
        {&l->threads_per_multiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor},
        {&l->blocks_per_multiprocessor, cudaDevAttrMaxBlocksPerMultiprocessor},
        {&l->block[0], cudaDevAttrMaxBlockDimX},
        {&l->block[1], cudaDevAttrMaxBlockDimY},
        {&l->block[2], cudaDevAttrMaxBlockDimZ},
        {&l->grid[0], cudaDevAttrMaxGridDimX},
        {&l->grid[1], cudaDevAttrMaxGridDimY},
        {&l->grid[2], cudaDevAttrMaxGridDimZ},
        {&l->registers_per_block, cudaDevAttrMaxRegistersPerBlock},
        {&l->registers_per_multiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        *wanted[k].to = wi_device_attribute(device, wanted[k].name);
    l->registers_per_thread = REGISTERS_PER_THREAD;
    l->shared_per_block =
        (size_t)wi_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    l->shared_per_multiprocessor =
        (size_t)wi_device_attribute(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    l->shared_reserved =
        (size_t)wi_device_attribute(device, cudaDevAttrReservedSharedMemoryPerBlock);
    l->watchdog = wi_device_attribute(device, cudaDevAttrKernelExecTimeout) != 0;
    l->compute_mode = compute_mode_name(wi_device_attribute(device, cudaDevAttrComputeMode));
    l->shared_by_mps = told_of_mps(device);
}

weft_status wi_gpu_limits_of(weft_context *ctx, wi_gpu_limits *limits) {
    int before;
    uint64_t held = 0;
    *limits = (wi_gpu_limits){.compute_mode = ""};
    if (!ctx->gpu)
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "place %s has no limits of a GPU", ctx->place);
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    read_attributes(ctx->device, limits);
    cudaError_t error = cudaDeviceGetLimit(&limits->stack_bytes, cudaLimitStackSize);
    if (error == cudaSuccess)
        error = cudaDeviceGetLimit(&limits->heap_bytes, cudaLimitMallocHeapSize);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetLimit(&limits->pending_launches, cudaLimitDevRuntimePendingLaunchCount);
    if (error == cudaSuccess)
        error = cudaMemGetInfo(&limits->free_bytes, &limits->memory_bytes);
    if (error == cudaSuccess)
        error = cudaMemPoolGetAttribute(ctx->gpu->pool, cudaMemPoolAttrReservedMemCurrent, &held);
    limits->pool_bytes = (size_t)held;
    status = wi_cuda(ctx, error, "asking for the limits of the device");
    wi_gpu_leave(ctx, before);
    return status;
}

size_t wi_gpu_free_bytes(const weft_context *ctx) {
    size_t left = 0, all = 0;
    uint64_t held = 0, used = 0;
    int before;
    if (wi_gpu_enter((weft_context *)ctx, &before) != WEFT_OK)
        return 0;
    const cudaMemPool_t pool = ctx->gpu->pool;
    const bool known =
        cudaMemGetInfo(&left, &all) == cudaSuccess &&
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held) == cudaSuccess &&
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess;
    if (!known)
        cudaGetLastError();
    wi_gpu_leave((weft_context *)ctx, before);
    return known ? left + (size_t)(held - used) : 0;
}

/* ---- what kernels use ---- */

const char *wi_bound_name(wi_bound bound) {
    static const char *const names[WI_BOUNDS] = {"threads", "registers", "shared memory", "blocks"};
    return names[bound];
}

void wi_gpu_watch(weft_context *ctx, wi_watch *watch) {
    if (ctx->gpu)
        ctx->gpu->watch = watch;
}

/* Which limit of a multiprocessor allows the fewest blocks. */
static wi_bound find_bound(const wi_gpu_limits *l, const wi_kernel_use *use) {
    const size_t threads = wi_round_up(use->threads, WARP);
    const size_t registers =
        wi_round_up((size_t)use->registers * WARP, REGISTER_UNIT) * (threads / WARP);
    const size_t shared = use->dynamic_shared + use->static_shared + l->shared_reserved;
    const size_t room[WI_BOUNDS] = {
        [WI_BOUND_THREADS] = (size_t)l->threads_per_multiprocessor / threads,
        [WI_BOUND_REGISTERS] =
            (size_t)l->registers_per_multiprocessor / (registers ? registers : 1),
        [WI_BOUND_SHARED] = l->shared_per_multiprocessor / (shared ? shared : 1),
        [WI_BOUND_BLOCKS] = (size_t)l->blocks_per_multiprocessor,
    };
    wi_bound bound = WI_BOUND_THREADS;
    for (int k = 1; k < WI_BOUNDS; k++)
        if (room[k] < room[bound])
            bound = (wi_bound)k;
    return bound;
}

static bool is_noted(const wi_watch *watch, const wi_launch_shape *shape, unsigned threads) {
    for (size_t k = 0; k < watch->count; k++) {
        const wi_kernel_use *const use = &watch->use[k];
        if (use->function == shape->function && use->threads == threads &&
            use->dynamic_shared == shape->shared_bytes)
            return true;
    }
    return false;
}

void wi_watch_launch(weft_context *ctx, const wi_launch_shape *shape) {
    wi_watch *const watch = ctx->gpu->watch;
    const unsigned threads = shape->threads[0] * shape->threads[1] * shape->threads[2];
    struct cudaFuncAttributes kernel;
    wi_gpu_limits limits;
    if (is_noted(watch, shape, threads))
        return;
    watch->full = watch->full || watch->count == watch->room;
    if (watch->full || cudaFuncGetAttributes(&kernel, shape->function) != cudaSuccess) {
        cudaGetLastError();
        return;
    }
    wi_kernel_use *const use = &watch->use[watch->count++];
    *use = (wi_kernel_use){
        .function = shape->function,
        .threads = threads,
        .cluster = shape->cluster,
        .dynamic_shared = shape->shared_bytes,
        .static_shared = kernel.sharedSizeBytes,
        .registers = kernel.numRegs,
        .most_threads = kernel.maxThreadsPerBlock,
        .local_bytes = kernel.localSizeBytes,
    };
    wi_kernel_name(shape->kernel, use->kernel, sizeof use->kernel);
    read_attributes(ctx->device, &limits);
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&use->blocks, shape->function, (int)threads,
                                                      shape->shared_bytes) != cudaSuccess)
        cudaGetLastError();
    use->occupancy =
        (double)use->blocks * (double)threads / (double)limits.threads_per_multiprocessor;
    use->bound = find_bound(&limits, use);
}

bool wi_gpu_has_service(int device) {
    enum {
        MPS_ENABLED = 133 /* cudaDevAttrMpsEnabled, which toolkits before 12.6 do not name */
    };
    return wi_device_attribute(device, (enum cudaDeviceAttr)MPS_ENABLED) != 0;
}
