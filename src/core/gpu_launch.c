/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that the device refuses: finds the limit that was exceeded, for the message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/gpu_limits.h"

enum {
    WHY_BYTES = 256
};

void wi_kernel_name(const char *kernel, char *name, size_t room) {
    const size_t length = strlen(kernel);
    const bool wrapped = *kernel == '(';
    snprintf(name, room, "%.*s", (int)(wrapped ? length - 2 : length), kernel + wrapped);
}

/* A launch that failed, and the limit it exceeds. */
typedef struct refused {
    const weft_context *ctx;
    const wi_launch_shape *shape;
    cudaError_t error;
    struct cudaFuncAttributes kernel;
    bool known;   /* the driver gave the kernel's attributes */
    bool limited; /* a limit explains the error */
    char why[WHY_BYTES];
} refused;

static int limit(const refused *r, enum cudaDeviceAttr name) {
    return wi_device_attribute(r->ctx->device, name);
}

static uint64_t product(const unsigned extent[3]) {
    return (uint64_t)extent[0] * extent[1] * extent[2];
}

/* Is each extent at least 1 and within the device's limit? */
static bool check_extents(refused *r, const char *what, const unsigned extent[3],
                          const enum cudaDeviceAttr names[3]) {
    for (int k = 0; k < 3; k++) {
        const int most = limit(r, names[k]);
        const char axis = "xyz"[k];
        if (extent[k] >= 1 && extent[k] <= (unsigned)most)
            continue;
        snprintf(r->why, sizeof r->why, "%u %s in %c, and %s takes 1 to %d", extent[k], what, axis,
                 r->ctx->place, most);
        return false;
    }
    return true;
}

static bool check_grid(refused *r) {
    static const enum cudaDeviceAttr names[3] = {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY,
                                                 cudaDevAttrMaxGridDimZ};
    return check_extents(r, "blocks", r->shape->blocks, names);
}

/* How many threads a block can have with the kernel's registers, or as it was compiled. */
static bool check_registers(refused *r, uint64_t threads) {
    const int each = r->kernel.numRegs, most = r->kernel.maxThreadsPerBlock;
    const int registers = limit(r, cudaDevAttrMaxRegistersPerBlock);
    if (threads <= (uint64_t)most)
        return true;
    if (threads * (uint64_t)each > (uint64_t)registers)
        snprintf(r->why, sizeof r->why,
                 "%" PRIu64 " threads a block of %d registers each, and the %d registers that %s "
                 "has for a block are enough for at most %d",
                 threads, each, registers, r->ctx->place, most);
    else
        snprintf(r->why, sizeof r->why,
                 "%" PRIu64 " threads a block, and the kernel was compiled for at most %d", threads,
                 most);
    return false;
}

static bool check_block(refused *r) {
    static const enum cudaDeviceAttr names[3] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY,
                                                 cudaDevAttrMaxBlockDimZ};
    const uint64_t threads = product(r->shape->threads);
    const int most = limit(r, cudaDevAttrMaxThreadsPerBlock);
    if (!check_extents(r, "threads", r->shape->threads, names))
        return false;
    if (threads <= (uint64_t)most)
        return !r->known || check_registers(r, threads);
    snprintf(r->why, sizeof r->why, "%" PRIu64 " threads a block, and %s takes at most %d", threads,
             r->ctx->place, most);
    return false;
}

static bool check_shared(refused *r) {
    const size_t asked = r->shape->shared_bytes, fixed = r->known ? r->kernel.sharedSizeBytes : 0;
    const size_t most = (size_t)limit(r, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (asked + fixed > most)
        snprintf(r->why, sizeof r->why,
                 "%zu bytes of shared memory a block, %zu of them fixed in the kernel, and %s has "
                 "%zu",
                 asked + fixed, fixed, r->ctx->place, most);
    else if (r->known && asked > (size_t)r->kernel.maxDynamicSharedSizeBytes)
        snprintf(r->why, sizeof r->why,
                 "%zu bytes of dynamic shared memory, and the kernel was granted %d", asked,
                 r->kernel.maxDynamicSharedSizeBytes);
    return !*r->why;
}

static bool check_cluster(refused *r) {
    const unsigned cluster = r->shape->cluster;
    if (cluster == 1)
        return true;
    if (r->ctx->gpu->capability < 90)
        snprintf(r->why, sizeof r->why,
                 "a cluster of %u blocks, and %s has compute capability %d.%d; clusters need 9.0",
                 cluster, r->ctx->place, r->ctx->gpu->capability / 10,
                 r->ctx->gpu->capability % 10);
    else if (cluster == 0 || cluster > WI_LARGEST_CLUSTER || r->shape->blocks[0] % cluster != 0)
        snprintf(r->why, sizeof r->why,
                 "%u blocks in clusters of %u, and %s takes whole clusters of at most %d",
                 r->shape->blocks[0], cluster, r->ctx->place, WI_LARGEST_CLUSTER);
    return !*r->why;
}

/* The device allocates local memory for as many threads as it can hold. */
static bool check_local(refused *r) {
    if (!r->known || r->error != cudaErrorMemoryAllocation)
        return true;
    const uint64_t threads = (uint64_t)limit(r, cudaDevAttrMaxThreadsPerMultiProcessor) *
                             (uint64_t)r->ctx->gpu->multiprocessors;
    snprintf(r->why, sizeof r->why,
             "%zu bytes of stack a thread, for the %" PRIu64 " threads that %s holds, and less "
             "memory than that is free",
             r->kernel.localSizeBytes, threads, r->ctx->place);
    return false;
}

/* No limit explains the error: either the build has no code for the device, or an earlier call of
 * the program failed and nobody read that error. */
static void explain_otherwise(refused *r) {
    const wi_launch_shape *const shape = r->shape;
    const int capability = r->ctx->gpu->capability;
    const bool no_code = r->error == cudaErrorNoKernelImageForDevice ||
                         r->error == cudaErrorInvalidDeviceFunction ||
                         r->error == cudaErrorUnsupportedPtxVersion;
    if (no_code)
        snprintf(r->why, sizeof r->why,
                 "it never ran, for this build has no code for compute capability %d.%d of %s",
                 capability / 10, capability % 10, r->ctx->place);
    else
        snprintf(r->why, sizeof r->why,
                 "no limit of %s explains it, with %" PRIu64 " blocks of %" PRIu64
                 " threads and %zu bytes of shared memory; maybe an earlier CUDA call of the "
                 "program failed unnoticed",
                 r->ctx->place, product(shape->blocks), product(shape->threads),
                 shape->shared_bytes);
}

static const char *remedy_of(const refused *r) {
    const char *const remedy = wi_cuda_remedy(r->error);
    if (*remedy && r->error != cudaErrorLaunchOutOfResources)
        return remedy;
    return r->limited ? "choose another variant by weft_use, or fewer elements"
                      : "check the status of every CUDA call before this one";
}

/* Is CUDA_LAUNCH_BLOCKING set? If so a launch also reports the errors of its own kernel. */
static bool launches_block(void) {
    const char *const value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && strcmp(value, "1") == 0;
}

static weft_status explain_fatal(weft_context *ctx, const wi_launch_shape *shape, cudaError_t error,
                                 const char *doing) {
    if (launches_block()) {
        ctx->gpu->queued[0] = shape->kernel;
        ctx->gpu->queued_count = 1;
    }
    return wi_cuda(ctx, error, doing);
}

weft_status wi_launch_failed(weft_context *ctx, const wi_launch_shape *shape, cudaError_t error) {
    char doing[WHY_BYTES], name[WHY_BYTES - sizeof "launch of "];
    refused r = {.ctx = ctx, .shape = shape, .error = error};
    wi_kernel_name(shape->kernel, name, sizeof name);
    snprintf(doing, sizeof doing, "launch of %s", name);
    if (wi_cuda_is_fatal(error))
        return explain_fatal(ctx, shape, error, doing);
    cudaGetLastError(); /* clear the error, or the next launch would report it */
    r.known = cudaFuncGetAttributes(&r.kernel, shape->function) == cudaSuccess;
    if (!r.known)
        cudaGetLastError();
    r.limited = !(check_grid(&r) && check_block(&r) && check_shared(&r) && check_cluster(&r) &&
                  check_local(&r));
    if (!r.limited)
        explain_otherwise(&r);
    return wi_fail(ctx, error == cudaErrorMemoryAllocation ? WEFT_ENOMEM : WEFT_EDEVICE,
                   "%s: %s: %s (%s); %s", doing, r.why, cudaGetErrorName(error),
                   cudaGetErrorString(error), remedy_of(&r));
}

weft_status wi_launched(weft_context *ctx, const wi_launch_shape *shape, cudaError_t error) {
    struct wi_gpu *const gpu = ctx->gpu;
    if (error != cudaSuccess)
        return wi_launch_failed(ctx, shape, error);
    gpu->queued[gpu->queued_count++ % WI_QUEUED_KEPT] = shape->kernel;
    if (gpu->watch)
        wi_watch_launch(ctx, shape);
    return WEFT_OK;
}
