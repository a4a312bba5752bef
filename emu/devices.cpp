/* SPDX-License-Identifier: Apache-2.0 */
/* Several devices: whose kernels may access which memory, and ranges of addresses whose memory
 * several devices hold. Copies may access everything. */
#include "runtime.h"

#include <cudaTypedefs.h>

#include <string.h>

using namespace emu;

/* For each page of emu's memory who may access it; 0: everybody. */
struct Reach {
    uint8_t known, owners, peers;
};
constexpr size_t reach_page = 256; /* small, so that small arrays lie on several devices */
static Reach *reach_table;
static unsigned enabled[most_devices]; /* the devices that each has enabled access to */

static Reach *reach_of(const void *p) {
    if (!reach_table)
        reach_table = (Reach *)reserve(arena_bytes / reach_page * sizeof(Reach));
    return &reach_table[offset_of(p) / reach_page];
}

void emu::set_reach(const void *p, size_t bytes, unsigned owners, unsigned peers) {
    if (settings.devices > 1 && offset_of(p) < arena_bytes)
        std::fill(reach_of(p), reach_of((const char *)p + bytes - 1) + 1,
                  Reach{1, (uint8_t)owners, (uint8_t)peers});
}

void emu::forget_reach() {
    std::fill(enabled, enabled + most_devices, 0);
}

/* Copies are not kernels: they reach everything. */
void emu::check_reach(const void *p, size_t bytes, int kind, Where where) {
    const Grid *const grid = self->block->grid;
    if (!grid->shape.kernel)
        return;
    const unsigned own = 1u << grid->device;
    for (const char *at : {(const char *)p, (const char *)p + bytes - 1}) {
        const Reach *const r = reach_of(at);
        if (!r->known || r->peers & own || r->owners & (own | enabled[grid->device]))
            continue;
        const Piece *const piece = live_piece(at);
        const int holder =
            piece ? piece->device_at((size_t)((unsigned char *)at - piece->begin)) : -1;
        report(where, "device %d %s memory of device %d, to which it was given no access",
               grid->device, kind & EMU_WRITE ? "writes" : "reads", holder);
    }
}

int Piece::device_at(size_t at) const {
    int held_by = device;
    for (const Backing &each : backings)
        if (each.at <= at)
            held_by = each.device;
    return held_by;
}

/* ---- peers ---- */

static bool is_device(int device) {
    return 0 <= device && device < settings.devices;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    return call([=] {
        if (!is_device(device) || !is_device(peer))
            return cudaErrorInvalidDevice;
        *can = settings.peers && device != peer;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return call([=] {
        if (!is_device(peer) || peer == device_now)
            return cudaErrorInvalidDevice;
        if (!settings.peers)
            return cudaErrorPeerAccessUnsupported;
        if (enabled[device_now] >> peer & 1)
            return cudaErrorPeerAccessAlreadyEnabled;
        enabled[device_now] |= 1u << peer;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call([=] {
        if (!is_device(peer) || !(enabled[device_now] >> peer & 1))
            return cudaErrorPeerAccessNotEnabled;
        enabled[device_now] &= ~(1u << peer);
        return cudaSuccess;
    });
}

/* ---- ranges of addresses ---- */

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *,
                            CUmemAllocationGranularity_flags) {
    *bytes = reach_page;
    return CUDA_SUCCESS;
}

/* A range counts against the limit on memory as soon as it is reserved, not when memory is mapped
 * into it: a refusal here leaves nothing to undo. */
static CUresult reserve_range(CUdeviceptr *p, size_t bytes, size_t, CUdeviceptr,
                              unsigned long long) {
    const Guard guard(lock);
    Piece *const piece = take(bytes, false, device_now);
    if (!piece)
        return CUDA_ERROR_OUT_OF_MEMORY;
    piece->range = true;
    set_reach(piece->begin, bytes, 0, 0);
    *p = (CUdeviceptr)piece->begin;
    return CUDA_SUCCESS;
}

static CUresult free_range(CUdeviceptr p, size_t) {
    const Guard guard(lock);
    drain_all();
    release(find_piece((void *)p));
    return CUDA_SUCCESS;
}

/* A handle is the number of a device plus 1, so that no handle is 0. */
static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
                       const CUmemAllocationProp *properties, unsigned long long) {
    if (bytes % reach_page != 0 || !is_device(properties->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    *handle = (CUmemGenericAllocationHandle)properties->location.id + 1;
    return CUDA_SUCCESS;
}

static CUresult release_handle(CUmemGenericAllocationHandle) {
    return CUDA_SUCCESS;
}

static CUresult map_memory(CUdeviceptr p, size_t, size_t, CUmemGenericAllocationHandle handle,
                           unsigned long long) {
    const Guard guard(lock);
    Piece *const piece = live_piece((void *)p);
    if (!piece || !piece->range)
        return CUDA_ERROR_INVALID_VALUE;
    piece->backings.push_back({(size_t)((unsigned char *)p - piece->begin), (int)handle - 1});
    return CUDA_SUCCESS;
}

static CUresult unmap_memory(CUdeviceptr p, size_t bytes) {
    const Guard guard(lock);
    drain_all();
    set_reach((void *)p, bytes, 0, 0);
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *to, size_t count) {
    const Guard guard(lock);
    unsigned peers = 0;
    const Piece *const piece = live_piece((void *)p);
    for (size_t k = 0; k < count; k++)
        peers |= 1u << to[k].location.id;
    for (const Piece::Backing &each : piece->backings)
        if (!settings.peers && peers & ~(1u << each.device))
            return CUDA_ERROR_INVALID_VALUE;
    set_reach((void *)p, bytes, 0, peers);
    return CUDA_SUCCESS;
}

/* ---- functions of the driver ---- */

static CUresult context_state(int device, unsigned *, int *active) {
    *active = is_device(device);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned,
                                             unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *found) {
    static const struct {
        const char *name;
        void *entry;
    } known[] = {
        {"cuTensorMapEncodeTiled", (void *)emu_describe_boxes},
        {"cuTensorMapEncodeIm2col", (void *)emu_describe_walk},
        {"cuDevicePrimaryCtxGetState", (void *)context_state},
        {"cuMemGetAllocationGranularity", (void *)granularity},
        {"cuMemAddressReserve", (void *)reserve_range},
        {"cuMemAddressFree", (void *)free_range},
        {"cuMemCreate", (void *)create},
        {"cuMemRelease", (void *)release_handle},
        {"cuMemMap", (void *)map_memory},
        {"cuMemUnmap", (void *)unmap_memory},
        {"cuMemSetAccess", (void *)set_access},
    };
    *found = cudaDriverEntryPointSymbolNotFound;
    for (const auto &each : known) {
        if (strcmp(each.name, name) == 0) {
            *entry = each.entry;
            *found = cudaDriverEntryPointSuccess;
        }
    }
    return cudaSuccess;
}
