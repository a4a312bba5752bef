/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for the part of the CUDA runtime's C interface that weft uses. */
#ifndef EMU_CUDA_RUNTIME_API_H
#define EMU_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDART_VERSION 13000
#define EMU_ENUM(name, ...)                                                                        \
    enum name {                                                                                    \
        __VA_ARGS__                                                                                \
    }

#define EMU_ERRORS(X)                                                                              \
    X(cudaSuccess), X(cudaErrorInvalidValue), X(cudaErrorMemoryAllocation),                        \
        X(cudaErrorInvalidConfiguration), X(cudaErrorStubLibrary), X(cudaErrorInsufficientDriver), \
        X(cudaErrorDevicesUnavailable), X(cudaErrorInvalidDeviceFunction),                         \
        X(cudaErrorLaunchPendingCountExceeded), X(cudaErrorNoDevice), X(cudaErrorInvalidDevice),   \
        X(cudaErrorNoKernelImageForDevice), X(cudaErrorUnsupportedPtxVersion),                     \
        X(cudaErrorECCUncorrectable), X(cudaErrorNvlinkUncorrectable), X(cudaErrorContained),      \
        X(cudaErrorInvalidResourceHandle), X(cudaErrorNotReady), X(cudaErrorIllegalAddress),       \
        X(cudaErrorLaunchOutOfResources), X(cudaErrorLaunchTimeout), X(cudaErrorAssert),           \
        X(cudaErrorContextIsDestroyed), X(cudaErrorHardwareStackError),                            \
        X(cudaErrorIllegalInstruction), X(cudaErrorMisalignedAddress),                             \
        X(cudaErrorInvalidAddressSpace), X(cudaErrorInvalidPc), X(cudaErrorLaunchFailure),         \
        X(cudaErrorTensorMemoryLeak), X(cudaErrorSystemNotReady), X(cudaErrorMpsConnectionFailed), \
        X(cudaErrorMpsServerNotReady), X(cudaErrorMpsMaxClientsReached),                           \
        X(cudaErrorMpsMaxConnectionsReached), X(cudaErrorMpsClientTerminated),                     \
        X(cudaErrorStreamCaptureUnsupported), X(cudaErrorStreamCaptureInvalidated),                \
        X(cudaErrorStreamCaptureImplicit), X(cudaErrorInvalidClusterSize),                         \
        X(cudaErrorPeerAccessUnsupported), X(cudaErrorPeerAccessAlreadyEnabled),                   \
        X(cudaErrorPeerAccessNotEnabled), X(cudaErrorUnknown)
#define EMU_ITSELF(name) name
typedef EMU_ENUM(cudaError, EMU_ERRORS(EMU_ITSELF)) cudaError_t;

EMU_ENUM(cudaDeviceAttr, cudaDevAttrMaxThreadsPerBlock, cudaDevAttrMaxBlockDimX,
         cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ, cudaDevAttrMaxGridDimX,
         cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ, cudaDevAttrMaxSharedMemoryPerBlock,
         cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
         cudaDevAttrReservedSharedMemoryPerBlock, cudaDevAttrMaxRegistersPerBlock,
         cudaDevAttrMaxRegistersPerMultiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor,
         cudaDevAttrMaxBlocksPerMultiprocessor, cudaDevAttrMultiProcessorCount,
         cudaDevAttrL2CacheSize, cudaDevAttrComputeMode, cudaDevAttrComputeCapabilityMajor,
         cudaDevAttrComputeCapabilityMinor, cudaDevAttrMemoryPoolsSupported,
         cudaDevAttrKernelExecTimeout, cudaDevAttrMpsEnabled, cudaDevAttrClockRate,
         cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth,
         cudaDevAttrSingleToDoublePrecisionPerfRatio, EMU_ATTRIBUTES);
EMU_ENUM(cudaComputeMode, cudaComputeModeDefault, cudaComputeModeExclusive,
         cudaComputeModeProhibited, cudaComputeModeExclusiveProcess);
EMU_ENUM(cudaLimit, cudaLimitStackSize, cudaLimitMallocHeapSize,
         cudaLimitDevRuntimePendingLaunchCount, EMU_DEVICE_LIMITS);
EMU_ENUM(cudaMemcpyKind, cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
         cudaMemcpyDeviceToDevice, cudaMemcpyDefault);
EMU_ENUM(cudaMemoryType, cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice,
         cudaMemoryTypeManaged);
EMU_ENUM(cudaMemAllocationType, cudaMemAllocationTypePinned = 1);
EMU_ENUM(cudaMemLocationType, cudaMemLocationTypeDevice = 1);
EMU_ENUM(cudaMemAccessFlags, cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite = 3);
EMU_ENUM(cudaMemPoolAttr, cudaMemPoolAttrReleaseThreshold, cudaMemPoolAttrReservedMemCurrent,
         cudaMemPoolAttrUsedMemCurrent); /* the pool keeps nothing that is not used */
EMU_ENUM(cudaFuncAttribute, cudaFuncAttributeMaxDynamicSharedMemorySize,
         cudaFuncAttributeNonPortableClusterSizeAllowed);
EMU_ENUM(cudaStreamCaptureMode, cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
         cudaStreamCaptureModeRelaxed);
EMU_ENUM(cudaStreamCaptureStatus, cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive);
EMU_ENUM(cudaDriverEntryPointQueryResult, cudaDriverEntryPointSuccess,
         cudaDriverEntryPointSymbolNotFound);
EMU_ENUM(emu_flags, cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0,
         cudaEventDisableTiming = 2, cudaHostAllocDefault = 0, cudaHostAllocPortable = 1,
         cudaHostRegisterDefault = 0, cudaEnableDefault = 0);

typedef struct EmuStream *cudaStream_t;
typedef struct EmuEvent *cudaEvent_t;
typedef struct EmuPool *cudaMemPool_t;
typedef struct EmuGraph *cudaGraph_t, *cudaGraphExec_t;
struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
};
struct cudaMemPoolProps {
    enum cudaMemAllocationType allocType;
    struct cudaMemLocation location;
};
struct cudaMemAccessDesc {
    struct cudaMemLocation location;
    enum cudaMemAccessFlags flags;
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, maxDynamicSharedSizeBytes, ptxVersion;
};

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
#define cudaGetErrorString cudaGetErrorName

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
/* Of the current device: its kernels may then access memory of the peer that is not of a pool. */
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found);

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit name);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t s);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
/* Settings that make no difference here. */
cudaError_t emu_ignore(const void *setting);
/* The number of kernels' accesses and of switches between threads so far: the cost of a program. */
unsigned long long emu_steps(void);
#define cudaMemPoolSetAttribute(pool, name, value) emu_ignore(value)
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr name, void *value);
/* When the last pool is destroyed, memory that was not freed is reported. */
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *to,
                                 size_t count);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p);

#define cudaMemcpyAsync(to, from, bytes, kind, stream)                                             \
    cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream)
#define cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream)                       \
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream)
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind, cudaStream_t s);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
/* By the host's clock, between the times at which the stream reached the two events. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
#define cudaThreadExchangeStreamCaptureMode(mode) emu_ignore(mode)
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long f);
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream);
#define cudaGraphExecDestroy cudaGraphDestroy
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute name, int value);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int threads, size_t shared_bytes);

#ifdef __cplusplus
}
#endif
#endif
