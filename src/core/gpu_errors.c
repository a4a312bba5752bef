/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the CUDA runtime: what each one means, which kernels may have caused it, and what to
 * do. */
#include <stdio.h>
#include <string.h>

#include "core/gpu.h"

/* What an error means beyond the call that reports it. */
typedef enum harm {
    NONE,
    BY_KERNEL, /* a kernel failed; this process can no longer use the device */
    BY_DEVICE  /* the same, but no kernel caused it */
} harm;

typedef struct answer {
    cudaError_t error;
    harm harm;
    const char *remedy;
} answer;

#define CHECK_ARRAYS                                                                               \
    "check the arrays' addresses and counts; CUDA_LAUNCH_BLOCKING=1 tells the kernel, "            \
    "compute-sanitizer the line"
#define OTHER_ARCHITECTURE                                                                         \
    "weft was built for other GPUs: configure with CMAKE_CUDA_ARCHITECTURES naming this one"
#define CAPTURED "the stream is being captured: only calls on device memory can be"
#define START_MPS                                                                                  \
    "the multi-process service does not answer: start it by nvidia-cuda-mps-control -d, or leave " \
    "it by unsetting CUDA_MPS_PIPE_DIRECTORY"
#define FULL_MPS "the multi-process service has no room for more clients: end one of them"

static const answer answers[] = {
    {cudaErrorMemoryAllocation, NONE, "free memory, or work on smaller arrays"},
    {cudaErrorNoDevice, NONE, "check nvidia-smi and CUDA_VISIBLE_DEVICES, or open place \"cpu\""},
    {cudaErrorInsufficientDriver, NONE, "install a current NVIDIA driver, or open place \"cpu\""},
    {cudaErrorStubLibrary, NONE, "install a current NVIDIA driver, or open place \"cpu\""},
    {cudaErrorDevicesUnavailable, NONE,
     "another process holds the GPU, and its compute mode allows only one: wait for that process, "
     "open another place, or allow more by nvidia-smi -c 0 or the multi-process service"},
    {cudaErrorNoKernelImageForDevice, NONE, OTHER_ARCHITECTURE},
    {cudaErrorUnsupportedPtxVersion, NONE, OTHER_ARCHITECTURE},
    {cudaErrorInvalidDeviceFunction, NONE, OTHER_ARCHITECTURE},
    {cudaErrorLaunchOutOfResources, NONE,
     "the launch asks for more registers or shared memory than the GPU has: choose another "
     "variant"},
    {cudaErrorStreamCaptureUnsupported, NONE, CAPTURED},
    {cudaErrorStreamCaptureInvalidated, NONE, CAPTURED},
    {cudaErrorStreamCaptureImplicit, NONE, CAPTURED},
    {cudaErrorSystemNotReady, NONE,
     "the driver's services are not up: start nvidia-fabricmanager, or open place \"cpu\""},
    {cudaErrorMpsConnectionFailed, NONE, START_MPS},
    {cudaErrorMpsServerNotReady, NONE, START_MPS},
    {cudaErrorMpsMaxClientsReached, NONE, FULL_MPS},
    {cudaErrorMpsMaxConnectionsReached, NONE, FULL_MPS},
    {cudaErrorIllegalAddress, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorMisalignedAddress, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorInvalidAddressSpace, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorInvalidPc, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorIllegalInstruction, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorLaunchFailure, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorAssert, BY_KERNEL, CHECK_ARRAYS},
    {cudaErrorHardwareStackError, BY_KERNEL,
     "a thread's stack is full or was overwritten: raise cudaLimitStackSize by cudaDeviceSetLimit "
     "before the first call"},
    {cudaErrorLaunchTimeout, BY_KERNEL,
     "the display's watchdog stopped it: use a GPU without a display, or smaller arrays"},
    {cudaErrorECCUncorrectable, BY_DEVICE,
     "the GPU's memory is damaged: see nvidia-smi -q -d ECC, and use another GPU"},
    {cudaErrorNvlinkUncorrectable, BY_DEVICE,
     "a link between GPUs failed: see nvidia-smi nvlink -e, and use another GPU"},
#if CUDART_VERSION >= 13000
    {cudaErrorContained, BY_DEVICE,
     "the GPU's memory is damaged: see nvidia-smi -q -d ECC, and use another GPU"},
    {cudaErrorTensorMemoryLeak, BY_KERNEL, CHECK_ARRAYS},
#endif
    {cudaErrorContextIsDestroyed, BY_DEVICE,
     "the program reset the device while contexts were open: close them before cudaDeviceReset"},
    {cudaErrorMpsClientTerminated, BY_DEVICE,
     "another client of the multi-process service failed, and the service ended this one's work"},
    {cudaErrorUnknown, BY_DEVICE,
     "the driver has lost the GPU: look for it in nvidia-smi, and for Xid in dmesg"},
};

static const answer *answer_to(cudaError_t error) {
    static const answer nothing = {cudaSuccess, NONE, ""};
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++)
        if (answers[k].error == error)
            return &answers[k];
    return &nothing;
}

const char *wi_cuda_remedy(cudaError_t error) {
    return answer_to(error)->remedy;
}

bool wi_cuda_is_fatal(cudaError_t error) {
    return answer_to(error)->harm != NONE;
}

weft_status wi_gpu_check_lost(weft_context *ctx) {
    const char *const first = ctx->gpu->lost;
    return *first ? wi_fail(ctx, WEFT_EDEVICE, "%s is out of use since an earlier failure: %s",
                            ctx->place, first)
                  : WEFT_OK;
}

/* Lists the kernels queued since the host last waited, without repeating a name that follows
 * itself. */
static void name_suspects(const struct wi_gpu *gpu, char *text, size_t room) {
    enum {
        NAME_BYTES = 64
    };
    const unsigned queued = gpu->queued_count;
    const unsigned kept = queued < WI_QUEUED_KEPT ? queued : WI_QUEUED_KEPT;
    const char *before = NULL;
    char names[WI_QUEUED_KEPT * (NAME_BYTES + 2)] = "";
    if (queued == 0) {
        snprintf(text, room, ", in work that was not queued by this context");
        return;
    }
    bool several = queued > kept;
    for (unsigned k = queued - kept; k != queued; k++) {
        const char *const kernel = gpu->queued[k % WI_QUEUED_KEPT];
        char name[NAME_BYTES];
        if (before && strcmp(kernel, before) == 0)
            continue;
        several = several || before;
        before = kernel;
        wi_kernel_name(kernel, name, sizeof name);
        wi_append(names, sizeof names, ", ", name);
    }
    snprintf(text, room, ", in %s %.200s%s", several ? "one of the kernels" : "kernel", names,
             queued > kept ? " or before them" : "");
}

/* Records that this process can no longer use the device. CUDA does not say which kernel failed: it
 * is one of those not yet waited for, or other work of the process. */
static weft_status lose(weft_context *ctx, cudaError_t error, const char *doing) {
    struct wi_gpu *const gpu = ctx->gpu;
    const answer *const found = answer_to(error);
    char suspects[WI_MESSAGE_BYTES / 2] = "";
    if (*gpu->lost)
        return wi_gpu_check_lost(ctx);
    if (found->harm == BY_KERNEL)
        name_suspects(gpu, suspects, sizeof suspects);
    wi_fail(ctx, WEFT_EDEVICE, "%s: %s (%s)%s; %s; then restart the process", doing,
            cudaGetErrorName(error), cudaGetErrorString(error), suspects, found->remedy);
    snprintf(gpu->lost, sizeof gpu->lost, "%s", ctx->message);
    return WEFT_EDEVICE;
}

weft_status wi_cuda(weft_context *ctx, cudaError_t error, const char *doing) {
    if (error == cudaSuccess)
        return WEFT_OK;
    cudaGetLastError(); /* clear the error, or the next launch would report it */
    const answer *const found = answer_to(error);
    if (found->harm != NONE && ctx->gpu)
        return lose(ctx, error, doing);
    return wi_fail(ctx, error == cudaErrorMemoryAllocation ? WEFT_ENOMEM : WEFT_EDEVICE,
                   "%s: %s (%s)%s%s", doing, cudaGetErrorName(error), cudaGetErrorString(error),
                   *found->remedy ? "; " : "", found->remedy);
}
