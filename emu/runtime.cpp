/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, devices, memory and copies of the stand-in runtime. */
#include <string.h>

#include "streams.h"

using namespace emu;
using Guard = std::lock_guard<std::recursive_mutex>;

static __thread cudaError_t last_error;
static __thread int device_now;
static unsigned devices_in_use; /* a bit each */

namespace emu {

int current_device() {
    return device_now;
}

cudaError_t fail(cudaError_t error) {
    last_error = error;
    return error;
}

} // namespace emu

/* ---- errors ---- */

cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define EMU_NAME(name, value, text)                                                                \
    case name:                                                                                     \
        return #name;
        EMU_ERRORS(EMU_NAME)
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define EMU_TEXT(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
        EMU_ERRORS(EMU_TEXT)
    }
    return "unrecognized error code";
}

/* ---- devices ---- */

cudaError_t cudaGetDeviceCount(int *count) {
    *count = settings().devices;
    return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device) {
    *device = device_now;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    const Guard guard(lock);
    if (device < 0 || device >= settings().devices)
        return fail(cudaErrorInvalidDevice);
    device_now = device;
    devices_in_use |= 1u << device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device) {
    if (device < 0 || device >= settings().devices)
        return fail(cudaErrorInvalidDevice);
    switch (name) {
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = 48 * 1024;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)shared_limit;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = multiprocessors;
        break;
    case cudaDevAttrL2CacheSize:
        *value = 1 << 20;
        break;
    case cudaDevAttrComputeMode:
        *value = cudaComputeModeDefault;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = 1;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = (int)threads_per_multiprocessor;
        break;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return peer == device_now ? fail(cudaErrorInvalidDevice) : cudaSuccess;
}

/* The one driver call that weft makes. */
static int context_state(int device, unsigned *flags, int *active) {
    *flags = 0;
    *active = (int)(devices_in_use >> device & 1);
    return 0;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned,
                                             unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *found) {
    const bool known = strcmp(name, "cuDevicePrimaryCtxGetState") == 0;
    *entry = known ? (void *)context_state : nullptr;
    *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

/* ---- memory ---- */

static cudaError_t allocate(void **p, size_t bytes, Kind kind) {
    const Guard guard(lock);
    *p = bytes ? take(bytes, kind, device_now) : nullptr;
    if (*p && kind == Kind::pinned)
        mark_written(*p, bytes);
    return *p || !bytes ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

/* The allocation that starts at p, to be freed; NULL if p is not from an allocation. */
static Piece *piece_to_free(const void *p, Kind kind, const Where &caller) {
    Piece *const piece = find_piece(p);
    if (!piece || piece->begin != (uintptr_t)p || piece->kind != kind)
        return nullptr;
    if (piece->dead || piece->freeing)
        report(caller, "double free of an allocation of %zu bytes", piece->bytes);
    return piece;
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    devices_in_use |= 1u << device_now;
    return allocate(p, bytes, Kind::device);
}

/* What a graph takes keeps its place until the graph is gone, with all that is queued of it. What
 * was written there is forgotten whenever the graph takes it or gives it back. */
static void note_captured(Piece *piece, EmuStream *stream) {
    const std::shared_ptr<Piece> memory(piece, [](Piece *own) {
        const Guard guard(lock);
        release(own);
    });
    piece->of_graph = true;
    stream->capture->memory.push_back(memory);
    queue(stream, [=](EmuStream *) { forget(memory.get()); });
}

static cudaError_t give_back_captured(Piece *piece, EmuStream *stream) {
    if (stream->capture)
        for (const std::shared_ptr<Piece> &memory : stream->capture->memory)
            if (memory.get() == piece) {
                queue(stream, [=](EmuStream *) { forget(memory.get()); });
                return cudaSuccess;
            }
    return fail(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    const cudaError_t error = allocate(p, bytes, Kind::device);
    if (*p && stream_of(stream)->capture)
        note_captured(find_piece(*p), stream_of(stream));
    return error;
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return cudaMallocAsync(p, bytes, stream);
}

cudaError_t cudaMallocHost(void **p, size_t bytes) {
    return allocate(p, bytes, Kind::pinned);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) {
    return allocate(p, bytes, Kind::pinned);
}

static cudaError_t free_now(void *p, Kind kind, const Where &caller) {
    const Guard guard(lock);
    devices_in_use |= 1u << device_now;
    if (!p)
        return cudaSuccess;
    Piece *const piece = piece_to_free(p, kind, caller);
    if (!piece)
        return fail(cudaErrorInvalidValue);
    drain_all(); /* as CUDA does */
    release(piece);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p) {
    return free_now(p, Kind::device, __builtin_return_address(0));
}

cudaError_t cudaFreeHost(void *p) {
    return free_now(p, Kind::pinned, __builtin_return_address(0));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    const Where caller = __builtin_return_address(0);
    Piece *const piece = p ? piece_to_free(p, Kind::device, caller) : nullptr;
    if (!piece)
        return p ? fail(cudaErrorInvalidValue) : cudaSuccess;
    if (piece->of_graph || stream_of(stream)->capture)
        return give_back_captured(piece, stream_of(stream));
    piece->freeing = true;
    queue(stream_of(stream), [=](EmuStream *) { release(piece); });
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned) {
    const Guard guard(lock);
    if (!p || !bytes)
        return fail(cudaErrorInvalidValue);
    pin(p, bytes);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p) {
    const Guard guard(lock);
    return unpin(p) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    *pool = new EmuPool{properties->location.id};
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *) {
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p) {
    const Piece *const piece = live_piece(p);
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, nullptr};
    if (!piece)
        return cudaSuccess;
    attributes->type = piece->kind == Kind::pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = piece->device;
    attributes->devicePointer = (void *)(uintptr_t)p;
    if (piece->kind == Kind::pinned)
        attributes->hostPointer = (void *)(uintptr_t)p;
    return cudaSuccess;
}

/* ---- copies ---- */

static void copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width,
                      size_t height) {
    for (size_t row = 0; row < height; row++, to += to_pitch, from += from_pitch) {
        check_bounds(from, width, "copy");
        check_bounds(to, width, "copy");
        check_copy_race(from, width, EMU_READ);
        check_copy_race(to, width, EMU_WRITE);
        memcpy(to, from, width);
        copy_marks(to, from, width);
    }
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind,
                              cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    if (width == 0 || height == 0)
        return cudaSuccess;
    if (!to || !from || width > to_pitch || width > from_pitch)
        return fail(cudaErrorInvalidValue);
    EmuStream *const s = stream_of(stream);
    queue_copy(s, "copy", [=] {
        copy_rows((char *)to, to_pitch, (const char *)from, from_pitch, width, height);
    });
    /* With pageable memory the host waits. */
    if (!s->capture && (!live_piece(to) || !live_piece(from)))
        drain(s);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes,
                                cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    if (bytes && !live_piece(p))
        return fail(cudaErrorInvalidValue);
    queue_copy(stream_of(stream), "memset", [=] {
        check_bounds(p, bytes, "memset");
        check_copy_race(p, bytes, EMU_WRITE);
        memset(p, value, bytes);
        mark_written(p, bytes);
    });
    return cudaSuccess;
}
