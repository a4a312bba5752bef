/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes GPU contexts with the CUDA runtime: chooses a device and makes it current. */
#include <cudaTypedefs.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/gpu_driver.h"
#include "core/gpu_graphs.h"
#include "core/stage.h"
#include "cpu/team.h"

enum {
    LEAST_CAPABILITY = 80,
    WHY_BYTES = 512
};

/* ---- choosing a device ---- */

int wi_device_attribute(int device, enum cudaDeviceAttr name) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, name, device) != cudaSuccess)
        cudaGetLastError();
    return value;
}

static int capability_of(int device) {
    return 10 * wi_device_attribute(device, cudaDevAttrComputeCapabilityMajor) +
           wi_device_attribute(device, cudaDevAttrComputeCapabilityMinor);
}

/* Code compiled for an older device runs, but leaves out what only a newer one can do. To be called
 * with the device current. */
static int usable_capability(int device) {
    const int code = wi_gpu_code_capability(), capability = capability_of(device);
    return code > 0 && code < capability ? code : capability;
}

/* Can weft use this device? If not, `why` gets the reason. */
static bool usable(int device, char *why) {
    const int capability = capability_of(device);
    if (capability < LEAST_CAPABILITY) {
        snprintf(why, WHY_BYTES,
                 "GPU %d has compute capability %d.%d, and weft needs %d.%d or later; open another "
                 "place",
                 device, capability / 10, capability % 10, LEAST_CAPABILITY / 10,
                 LEAST_CAPABILITY % 10);
        return false;
    }
    if (!wi_device_attribute(device, cudaDevAttrMemoryPoolsSupported)) {
        snprintf(why, WHY_BYTES,
                 "the driver of GPU %d offers no memory pools; update the NVIDIA driver", device);
        return false;
    }
    if (wi_device_attribute(device, cudaDevAttrComputeMode) == cudaComputeModeProhibited) {
        snprintf(why, WHY_BYTES,
                 "GPU %d is in compute mode \"prohibited\"; allow work on it by nvidia-smi -c 0",
                 device);
        return false;
    }
    return true;
}

/* Sets *device to the usable device with the most multiprocessors, the first among equals. */
static weft_status best_device(int count, int *device, char *why) {
    int most = 0;
    for (int k = 0; k < count; k++) {
        const int multiprocessors = wi_device_attribute(k, cudaDevAttrMultiProcessorCount);
        if (multiprocessors > most && usable(k, why)) {
            most = multiprocessors;
            *device = k;
        }
    }
    return most > 0 ? WEFT_OK : WEFT_EDEVICE;
}

/* CUDA does not survive a fork: a child process can use it only if its parent never has. */
static const char forked[] = "CUDA was in use before this process was forked, and does not work in "
                             "the child; use GPU places on one side of a fork only, or start the "
                             "child by exec";

static bool may_use_cuda(void) {
    static atomic_uint in_use_since; /* wi_forks() + 1 when CUDA was first used; 0: never */
    unsigned since = 0, now = wi_forks() + 1;
    return atomic_compare_exchange_strong(&in_use_since, &since, now) || since == now;
}

/* Sets *device to `ordinal`, or to the best device if that is negative; on failure `why` gets the
 * reason. */
static weft_status choose_device(int ordinal, int *device, char *why) {
    int count = 0;
    if (!may_use_cuda()) {
        snprintf(why, WHY_BYTES, "%s", forked);
        return WEFT_EDEVICE;
    }
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        const cudaError_t reason = error != cudaSuccess ? error : cudaErrorNoDevice;
        cudaGetLastError();
        const char *const remedy = wi_cuda_remedy(reason);
        snprintf(why, WHY_BYTES, "no GPU answers: %s (%s)%s%s", cudaGetErrorName(reason),
                 cudaGetErrorString(reason), *remedy ? "; " : "", remedy);
        return WEFT_EDEVICE;
    }
    snprintf(why, WHY_BYTES,
             "no GPU answers with its number of multiprocessors; update the driver");
    if (ordinal < 0)
        return best_device(count, device, why);
    if (ordinal >= count) {
        snprintf(why, WHY_BYTES,
                 "place gpu:%d names no GPU of this machine; it has gpu:0 to gpu:%d", ordinal,
                 count - 1);
        return WEFT_EARG;
    }
    *device = ordinal;
    return usable(ordinal, why) ? WEFT_OK : WEFT_EDEVICE;
}

bool wi_gpu_present(char *why, size_t bytes) {
    char reason[WHY_BYTES];
    int device;
    const bool present = choose_device(-1, &device, reason) == WEFT_OK;
    snprintf(why, bytes, "%s", present ? "" : reason);
    return present;
}

int wi_gpu_visible(void) {
    int count = 0;
    if (!may_use_cuda() || cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return count;
}

/* wi_gpu_enter, also for a device that is lost. */
static weft_status make_current(weft_context *ctx, int *before) {
    if (ctx->gpu->forks != wi_forks())
        return wi_fail(ctx, WEFT_EDEVICE, "%s: %s", ctx->place, forked);
    weft_status status = wi_cuda(ctx, cudaGetDevice(before), "asking for the current device");
    if (status == WEFT_OK && *before != ctx->device)
        status = wi_cuda(ctx, cudaSetDevice(ctx->device), "making the place's GPU current");
    return status;
}

weft_status wi_gpu_enter(weft_context *ctx, int *before) {
    *before = 0;
    if (!ctx->gpu)
        return WEFT_OK;
    const weft_status status = wi_gpu_check_lost(ctx);
    return status == WEFT_OK ? make_current(ctx, before) : status;
}

/* Has this process used the device already? Making it current would initialise it, which takes time
 * and hundreds of megabytes. */
static bool in_use(int device) {
    PFN_cuDevicePrimaryCtxGetState_v7000 state;
    unsigned flags;
    int active = 0;
    return wi_gpu_find_driver("cuDevicePrimaryCtxGetState", 7000, &state) &&
           state(device, &flags, &active) == CUDA_SUCCESS && active;
}

void wi_gpu_leave(weft_context *ctx, int before) {
    /* If the previous device is unused, keep ours current: switching back would initialise it. */
    if (ctx->gpu && before != ctx->device && in_use(before))
        cudaSetDevice(before);
}

/* ---- opening and closing ---- */

static weft_status create_pool(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = ctx->device},
    };
    weft_status status =
        wi_cuda(ctx, cudaMemPoolCreate(&gpu->pool, &properties), "creating a memory pool");
    if (status != WEFT_OK)
        return status;
    uint64_t keep = UINT64_MAX; /* the pool keeps freed memory until the context closes */
    return wi_cuda(ctx, cudaMemPoolSetAttribute(gpu->pool, cudaMemPoolAttrReleaseThreshold, &keep),
                   "setting the memory pool to keep its memory");
}

static weft_status create_parts(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    /* A blocking stream: it is ordered with the legacy default stream, on which callers prepare
     * data. */
    weft_status status = wi_cuda(ctx, cudaStreamCreateWithFlags(&gpu->own, cudaStreamDefault),
                                 "creating the context's stream");
    if (status != WEFT_OK)
        return status;
    gpu->stream = gpu->own;
    cudaEvent_t *const events[] = {&gpu->order, &gpu->begun};
    for (size_t k = 0; k < 2 && status == WEFT_OK; k++)
        status = wi_cuda(ctx, cudaEventCreateWithFlags(events[k], cudaEventDisableTiming),
                         "creating an event");
    return status == WEFT_OK ? create_pool(ctx) : status;
}

weft_status wi_gpu_open(weft_context *ctx, int ordinal) {
    char why[WHY_BYTES];
    int device = 0, before = 0;
    weft_status status = choose_device(ordinal, &device, why);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "weft_open: %s", why);
    wi_gpu_whole *const whole = wi_host_alloc(sizeof *whole);
    if (!whole)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a GPU's context");
    struct wi_gpu *const gpu = &whole->gpu;
    memset(&whole->graphs, 0, sizeof whole->graphs);
    *gpu = (struct wi_gpu){
        .forks = wi_forks(),
        .multiprocessors = wi_device_attribute(device, cudaDevAttrMultiProcessorCount),
        .shared_optin =
            (size_t)wi_device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin),
    };
    ctx->gpu = gpu;
    ctx->device = device;
    ctx->machine = wi_machine_of_gpu(device, capability_of(device));
#ifdef WEFT_EMU
    snprintf(ctx->place, sizeof ctx->place, "emu:%d", device);
#else
    snprintf(ctx->place, sizeof ctx->place, "gpu:%d", device);
#endif
    status = wi_gpu_enter(ctx, &before);
    if (status == WEFT_OK) {
        gpu->capability = usable_capability(device);
        status = create_parts(ctx);
        wi_graphs_open(ctx);
        wi_gpu_leave(ctx, before);
    }
    if (status != WEFT_OK)
        wi_gpu_close(ctx);
    return status;
}

/* Frees what the context holds on the device; all its work must have finished. */
static void close_parts(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    wi_stage_close(ctx);
    wi_graphs_close(ctx);
    for (int slot = 0; slot < WI_SCRATCH_BLOCKS; slot++)
        if (gpu->scratch[slot].p)
            cudaFreeAsync(gpu->scratch[slot].p, gpu->own);
    for (size_t k = 0; k < gpu->outgrown_count; k++)
        cudaFreeAsync(gpu->outgrown[k], gpu->own);
    if (gpu->own)
        cudaStreamSynchronize(gpu->own);
    if (gpu->words)
        cudaFreeHost(gpu->words);
    if (gpu->pool)
        cudaMemPoolDestroy(gpu->pool);
    if (gpu->order)
        cudaEventDestroy(gpu->order);
    if (gpu->begun)
        cudaEventDestroy(gpu->begun);
    if (gpu->side)
        cudaStreamDestroy(gpu->side);
    if (gpu->own)
        cudaStreamDestroy(gpu->own);
}

void wi_gpu_close(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    int before = 0;
    const bool is_forked = gpu->forks != wi_forks();
    const bool is_current = make_current(ctx, &before) == WEFT_OK;
    /* A forked process must leave all to its parent. A device that has failed cannot be made
     * current, but events and streams can be given back. */
    if (!is_forked) {
        if (gpu->stream && gpu->stream != gpu->own && !wi_gpu_capturing(ctx))
            cudaStreamSynchronize(gpu->stream);
        if (gpu->own)
            cudaStreamSynchronize(gpu->own);
        close_parts(ctx);
        cudaGetLastError(); /* clear the error: no one is left to report it to */
    }
    if (is_current)
        wi_gpu_leave(ctx, before);
    wi_host_free(gpu);
    ctx->gpu = NULL;
}
