/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU side of a context over the CUDA runtime: devices, streams, pool, scratch, copies. */
#include "core/gpu.h"

#include <cudaTypedefs.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/rowcopy.h"
#include "core/stage.h"
#include "cpu/team.h"

enum {
    LEAST_CAPABILITY = 80,
    STAGE_FROM_BYTES = 1 << 20, /* pageable copies below this are left to the driver */
    WHY_BYTES = 256
};

/* ---- errors ---- */

/* What a user can do about an error; "" where there is nothing to add to its name. */
static const char *remedy(cudaError_t error) {
    switch (error) {
    case cudaErrorMemoryAllocation:
        return "; free memory, or work on smaller arrays";
    case cudaErrorNoDevice:
        return "; check nvidia-smi and CUDA_VISIBLE_DEVICES, or open place \"cpu\"";
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
        return "; install a current NVIDIA driver, or open place \"cpu\"";
    case cudaErrorDevicesUnavailable:
        return "; another process holds the GPU: wait for it, or open another place";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidDeviceFunction:
        return "; weft was built for other GPUs: configure with CMAKE_CUDA_ARCHITECTURES naming "
               "this one";
    case cudaErrorLaunchOutOfResources:
        return "; the launch asks for more registers or shared memory than the GPU has: choose "
               "another variant";
    case cudaErrorLaunchTimeout:
        return "; the display's watchdog stopped the kernel: use a GPU without a display, or "
               "smaller arrays";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
        return "; the stream is being captured: only calls on device memory can be";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
        return "; work queued earlier failed and the process must restart to use the GPU again: "
               "check the arrays' addresses and counts, and run it under compute-sanitizer";
    default:
        return "";
    }
}

weft_status wi_cuda(weft_context *ctx, cudaError_t error, const char *doing) {
    if (error == cudaSuccess)
        return WEFT_OK;
    cudaGetLastError(); /* or the next launch would be blamed for it */
    return wi_fail(ctx, error == cudaErrorMemoryAllocation ? WEFT_ENOMEM : WEFT_EDEVICE,
                   "%s: %s (%s)%s", doing, cudaGetErrorName(error), cudaGetErrorString(error),
                   remedy(error));
}

/* wi_cuda for an attempt to take `bytes` bytes. */
static weft_status taking(weft_context *ctx, cudaError_t error, size_t bytes) {
    char doing[WHY_BYTES];
    if (error == cudaErrorInvalidValue) /* all but the size is known to be right: it is absurd */
        error = cudaErrorMemoryAllocation;
    snprintf(doing, sizeof doing, "taking %zu bytes of device memory on %s", bytes, ctx->place);
    return wi_cuda(ctx, error, doing);
}

/* ---- choosing a device ---- */

static int attribute(int device, enum cudaDeviceAttr name) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, name, device) != cudaSuccess)
        cudaGetLastError();
    return value;
}

static int capability_of(int device) {
    return 10 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
           attribute(device, cudaDevAttrComputeCapabilityMinor);
}

/* Can weft work on this device? If not, `why` says why. */
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
    if (!attribute(device, cudaDevAttrMemoryPoolsSupported)) {
        snprintf(why, WHY_BYTES,
                 "the driver of GPU %d offers no memory pools; update the NVIDIA driver", device);
        return false;
    }
    if (attribute(device, cudaDevAttrComputeMode) == cudaComputeModeProhibited) {
        snprintf(why, WHY_BYTES,
                 "GPU %d is in compute mode \"prohibited\"; allow work on it by nvidia-smi -c 0",
                 device);
        return false;
    }
    return true;
}

/* Sets *device to the usable device with the most multiprocessors, the first of equals. */
static weft_status best_device(int count, int *device, char *why) {
    int most = 0;
    for (int k = 0; k < count; k++) {
        const int multiprocessors = attribute(k, cudaDevAttrMultiProcessorCount);
        if (multiprocessors > most && usable(k, why)) {
            most = multiprocessors;
            *device = k;
        }
    }
    return most > 0 ? WEFT_OK : WEFT_EDEVICE;
}

/* CUDA does not survive a fork: a child may begin to use it only if its parent never has. */
static const char forked[] = "CUDA was in use before this process was forked, and does not work in "
                             "the child; use GPU places on one side of a fork only, or start the "
                             "child by exec";

static bool may_use_cuda(void) {
    static atomic_uint in_use_since; /* so many forks, and one; 0: never */
    unsigned since = 0, now = wi_forks() + 1;
    return atomic_compare_exchange_strong(&in_use_since, &since, now) || since == now;
}

/* Sets *device to `ordinal`, or the best device if it is negative; says in `why` why it cannot. */
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
        snprintf(why, WHY_BYTES, "no GPU answers: %s (%s)%s", cudaGetErrorName(reason),
                 cudaGetErrorString(reason), remedy(reason));
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

weft_status wi_gpu_enter(weft_context *ctx, int *before) {
    *before = 0;
    if (!ctx->gpu)
        return WEFT_OK;
    if (ctx->gpu->forks != wi_forks())
        return wi_fail(ctx, WEFT_EDEVICE, "%s: %s", ctx->place, forked);
    weft_status status = wi_cuda(ctx, cudaGetDevice(before), "asking for the current device");
    if (status == WEFT_OK && *before != ctx->gpu->device)
        status = wi_cuda(ctx, cudaSetDevice(ctx->gpu->device), "making the place's GPU current");
    return status;
}

/* Is the device in use by this process? Making it current would bring it into use, which takes time
 * and hundreds of megabytes. */
static bool in_use(int device) {
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &entry, 7000, cudaEnableDefault,
                                     &found);
#else
    cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &entry, cudaEnableDefault, &found);
#endif
    PFN_cuDevicePrimaryCtxGetState_v7000 state;
    memcpy(&state, &entry, sizeof state); /* ISO C has no cast from an object's address */
    unsigned flags;
    int active = 0;
    return found == cudaDriverEntryPointSuccess && state(device, &flags, &active) == CUDA_SUCCESS &&
           active;
}

void wi_gpu_leave(weft_context *ctx, int before) {
    /* A caller who never used the device that CUDA calls current by default is left with ours. */
    if (ctx->gpu && before != ctx->gpu->device && in_use(before))
        cudaSetDevice(before);
}

/* ---- opening and closing ---- */

static weft_status create_pool(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = gpu->device},
    };
    weft_status status =
        wi_cuda(ctx, cudaMemPoolCreate(&gpu->pool, &properties), "creating a memory pool");
    if (status != WEFT_OK)
        return status;
    uint64_t keep = UINT64_MAX; /* memory once taken stays with the context until it closes */
    return wi_cuda(ctx, cudaMemPoolSetAttribute(gpu->pool, cudaMemPoolAttrReleaseThreshold, &keep),
                   "setting the memory pool to keep its memory");
}

static weft_status create_parts(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    /* A blocking stream: ordered with the legacy default stream, on which callers prepare data. */
    weft_status status = wi_cuda(ctx, cudaStreamCreateWithFlags(&gpu->own, cudaStreamDefault),
                                 "creating the context's stream");
    if (status != WEFT_OK)
        return status;
    gpu->stream = gpu->own;
    status = wi_cuda(ctx, cudaEventCreateWithFlags(&gpu->order, cudaEventDisableTiming),
                     "creating an event");
    return status == WEFT_OK ? create_pool(ctx) : status;
}

weft_status wi_gpu_open(weft_context *ctx, int ordinal) {
    char why[WHY_BYTES];
    int device = 0, before = 0;
    weft_status status = choose_device(ordinal, &device, why);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "weft_open: %s", why);
    struct wi_gpu *const gpu = wi_host_alloc(sizeof *gpu);
    if (!gpu)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a GPU's context");
    *gpu = (struct wi_gpu){
        .device = device,
        .forks = wi_forks(),
        .multiprocessors = attribute(device, cudaDevAttrMultiProcessorCount),
        .capability = capability_of(device),
        .shared_optin = (size_t)attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin),
        .l2_bytes = (size_t)attribute(device, cudaDevAttrL2CacheSize),
    };
    ctx->gpu = gpu;
#ifdef WEFT_EMU
    snprintf(ctx->place, sizeof ctx->place, "emu:%d", device);
#else
    snprintf(ctx->place, sizeof ctx->place, "gpu:%d", device);
#endif
    status = wi_gpu_enter(ctx, &before);
    if (status == WEFT_OK) {
        status = create_parts(ctx);
        wi_gpu_leave(ctx, before);
    }
    if (status != WEFT_OK)
        wi_gpu_close(ctx);
    return status;
}

/* Frees what the context holds on the device; its work must be done. */
static void close_parts(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    wi_stage_close(ctx);
    for (int slot = 0; slot < WI_SCRATCH_BLOCKS; slot++)
        if (gpu->scratch[slot].p)
            cudaFreeAsync(gpu->scratch[slot].p, gpu->own);
    for (size_t k = 0; k < gpu->outgrown_count; k++)
        cudaFreeAsync(gpu->outgrown[k], gpu->own);
    if (gpu->own)
        cudaStreamSynchronize(gpu->own);
    if (gpu->pool)
        cudaMemPoolDestroy(gpu->pool);
    if (gpu->order)
        cudaEventDestroy(gpu->order);
    if (gpu->own)
        cudaStreamDestroy(gpu->own);
}

void wi_gpu_close(weft_context *ctx) {
    struct wi_gpu *const gpu = ctx->gpu;
    int before;
    if (wi_gpu_enter(ctx, &before) == WEFT_OK) {
        if (gpu->stream && gpu->stream != gpu->own && !wi_gpu_capturing(ctx))
            cudaStreamSynchronize(gpu->stream);
        if (gpu->own)
            cudaStreamSynchronize(gpu->own);
        close_parts(ctx);
        cudaGetLastError(); /* a failure has no one left to be told of it */
        wi_gpu_leave(ctx, before);
    }
    wi_host_free(gpu);
    ctx->gpu = NULL;
}

/* ---- memory ---- */

wi_memory wi_gpu_memory(const weft_context *ctx, const void *p, size_t bytes) {
    struct cudaPointerAttributes first, last;
    const char *const end = (const char *)p + (bytes ? bytes - 1 : 0);
    if (ctx->gpu->forks != wi_forks())
        return WI_MEMORY_PAGEABLE;
    if (cudaPointerGetAttributes(&first, p) != cudaSuccess) {
        cudaGetLastError(); /* old drivers call memory that CUDA does not know an error */
        return WI_MEMORY_PAGEABLE;
    }
    switch (first.type) {
    case cudaMemoryTypeManaged:
        return WI_MEMORY_DEVICE;
    case cudaMemoryTypeDevice:
        return first.device == ctx->gpu->device ? WI_MEMORY_DEVICE : WI_MEMORY_PEER;
    case cudaMemoryTypeHost:
        if (cudaPointerGetAttributes(&last, end) == cudaSuccess && last.type == cudaMemoryTypeHost)
            return WI_MEMORY_PINNED;
        cudaGetLastError();
        return WI_MEMORY_PAGEABLE;
    default:
        return WI_MEMORY_PAGEABLE;
    }
}

bool wi_gpu_is_device(const weft_context *ctx, const void *p) {
    return wi_gpu_memory(ctx, p, 0) == WI_MEMORY_DEVICE;
}

bool wi_gpu_is_host(const weft_context *ctx, const void *p) {
    return wi_gpu_memory(ctx, p, 0) >= WI_MEMORY_PINNED;
}

weft_status wi_gpu_alloc(weft_context *ctx, void **p, size_t bytes) {
    *p = NULL;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    const cudaError_t error = cudaMallocFromPoolAsync(p, bytes, ctx->gpu->pool, ctx->gpu->stream);
    status = taking(ctx, error, bytes);
    if (status != WEFT_OK)
        *p = NULL;
    wi_gpu_leave(ctx, before);
    return status;
}

weft_status wi_gpu_free(weft_context *ctx, void *p) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    const cudaError_t error = cudaFreeAsync(p, ctx->gpu->stream);
    if (error == cudaErrorInvalidValue) {
        cudaGetLastError();
        status = wi_fail(ctx, WEFT_EARG,
                         "weft_free: memory is not from weft_alloc on %s; pass what it gave",
                         ctx->place);
    } else {
        status = wi_cuda(ctx, error, "freeing device memory");
    }
    wi_gpu_leave(ctx, before);
    return status;
}

/* A zeroed block that is ready for use on any stream. It is taken on the context's own stream, and
 * waited for, so that it outlives a graph that is being captured on another. */
static weft_status zeroed_block(weft_context *ctx, size_t bytes, void **p) {
    struct wi_gpu *const gpu = ctx->gpu;
    weft_status status = taking(ctx, cudaMallocFromPoolAsync(p, bytes, gpu->pool, gpu->own), bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaMemsetAsync(*p, 0, bytes, gpu->own), "clearing scratch memory");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamSynchronize(gpu->own), "waiting for scratch memory");
    if (status != WEFT_OK)
        cudaFreeAsync(*p, gpu->own);
    return status;
}

static weft_status grow_scratch(weft_context *ctx, struct wi_block *block, size_t bytes) {
    struct wi_gpu *const gpu = ctx->gpu;
    size_t wanted = block->bytes ? 2 * block->bytes : WI_SCRATCH_LEAST_BYTES;
    if (wanted < bytes)
        wanted = bytes;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    /* A capture in "global" mode would forbid this thread to wait, even for another stream. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    void *p = NULL;
    status = zeroed_block(ctx, wanted, &p);
    cudaThreadExchangeStreamCaptureMode(&mode);
    wi_gpu_leave(ctx, before);
    if (status != WEFT_OK)
        return status;
    if (block->p)
        gpu->outgrown[gpu->outgrown_count++] = block->p;
    block->p = p;
    block->bytes = wanted;
    return WEFT_OK;
}

weft_status wi_gpu_scratch(weft_context *ctx, const void *key, size_t bytes, void **p) {
    struct wi_block *block = ctx->gpu->scratch, *const end = block + WI_SCRATCH_BLOCKS;
    weft_status status = WEFT_OK;
    *p = NULL;
    while (block < end && block->key && block->key != key)
        block++;
    if (block == end)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "more than %d kinds of scratch memory; raise "
                       "WI_SCRATCH_BLOCKS",
                       WI_SCRATCH_BLOCKS);
    block->key = key;
    if (bytes > block->bytes)
        status = grow_scratch(ctx, block, bytes);
    *p = status == WEFT_OK ? block->p : NULL;
    return status;
}

/* ---- copies ---- */

bool wi_gpu_capturing(const weft_context *ctx) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(ctx->gpu->stream, &status) != cudaSuccess)
        cudaGetLastError();
    return status != cudaStreamCaptureStatusNone;
}

/* One segment of a staged copy: from where operand 0 was put, to where operand 1 is fetched. */
static weft_status copy_segment(weft_context *ctx, const void *user, size_t first, size_t rows,
                                size_t cols, void *const p[], const size_t ld[]) {
    (void)user;
    (void)first;
    (void)ld;
    return wi_cuda(ctx,
                   cudaMemcpyAsync(p[1], p[0], rows * cols, cudaMemcpyDefault, ctx->gpu->stream),
                   "copying a segment");
}

static weft_status copy_staged(weft_context *ctx, void *to, const void *from, size_t bytes) {
    const wi_stage_args args = {
        .call = "weft_copy",
        .rows = 1,
        .cols = bytes,
        .operand = {{.p = (void *)(uintptr_t)from, .element_bytes = 1, .in = true},
                    {.p = to, .element_bytes = 1, .out = true}},
        .operands = 2,
        .run = copy_segment,
    };
    return wi_stage_run(ctx, &args);
}

static weft_status copy_direct(weft_context *ctx, void *to, const void *from, size_t bytes,
                               bool wait) {
    weft_status status =
        wi_cuda(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, ctx->gpu->stream),
                "copying memory");
    if (status == WEFT_OK && wait)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for a copy");
    return status;
}

/* Unlike wi_gpu_sync this waits for the legacy default stream too, if the context's stream is
 * ordered with it: the event comes after the work of both. */
static weft_status wait_for_queued_work(weft_context *ctx) {
    weft_status status = wi_cuda(ctx, cudaEventRecord(ctx->gpu->order, ctx->gpu->stream),
                                 "marking the work queued so far");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventSynchronize(ctx->gpu->order), "waiting for queued work");
    return status;
}

static weft_status copy_entered(weft_context *ctx, void *to, const void *from, size_t bytes) {
    const wi_memory there = wi_gpu_memory(ctx, to, bytes), here = wi_gpu_memory(ctx, from, bytes);
    if (there == WI_MEMORY_DEVICE && here == WI_MEMORY_DEVICE)
        return copy_direct(ctx, to, from, bytes, false);
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_copy: host memory cannot take part in a stream capture; copy before "
                       "it begins or after it ends");
    if (there >= WI_MEMORY_PINNED && here >= WI_MEMORY_PINNED) {
        const weft_status status = wait_for_queued_work(ctx); /* it may yet read or write them */
        if (status == WEFT_OK)
            wi_rows_copy_all(ctx, ctx->threads, (wi_rows){to, bytes},
                             (wi_rows){(void *)(uintptr_t)from, bytes}, 1, bytes);
        return status;
    }
    const bool pageable = there == WI_MEMORY_PAGEABLE || here == WI_MEMORY_PAGEABLE;
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

weft_status wi_gpu_copy_within(weft_context *ctx, void *to, const void *from, size_t bytes) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status =
        wi_cuda(ctx, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, ctx->gpu->stream),
                "copying within device memory");
    wi_gpu_leave(ctx, before);
    return status;
}

/* ---- streams ---- */

weft_status wi_gpu_sync(weft_context *ctx) {
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_sync: the stream is being captured; end the capture first");
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->stream), "waiting for queued work");
    if (status == WEFT_OK && ctx->gpu->stream != ctx->gpu->own)
        status = wi_cuda(ctx, cudaStreamSynchronize(ctx->gpu->own), "waiting for queued work");
    wi_gpu_leave(ctx, before);
    return status;
}

/* A stream of another GPU would fail at the next launch, with less to say. */
static weft_status check_stream(weft_context *ctx, cudaStream_t stream) {
#if CUDART_VERSION >= 12080
    int device = 0;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    weft_status status =
        wi_cuda(ctx, cudaStreamIsCapturing(stream, &capture),
                "weft_set_stream: looking at the stream; pass a live cudaStream_t");
    if (status != WEFT_OK || capture != cudaStreamCaptureStatusNone)
        return status; /* a stream being captured may not be asked for its GPU */
    status = wi_cuda(ctx, cudaStreamGetDevice(stream, &device),
                     "weft_set_stream: asking for the stream's GPU");
    if (status == WEFT_OK && device != ctx->gpu->device)
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
    /* A graph cannot wait for work outside of it, nor may such work wait for a graph: whoever
     * captures orders the graph's launches. */
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
