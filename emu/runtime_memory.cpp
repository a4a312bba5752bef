/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in the stand-in runtime: allocating and freeing, on a stream or at once, and the pools. */
#include "runtime.h"

#include <string.h>

using namespace emu;

/* Where memory is short, what the device's queued work will free is waited for: CUDA's pools reuse
 * it. */
static cudaError_t allocate(void **p, size_t bytes, bool pinned) {
    return call([=] {
        Piece *piece = bytes ? take(bytes, pinned, device_now) : nullptr;
        if (bytes && !piece && bytes <= memory_limit && memory_limit < device_bytes) {
            drain_device();
            piece = take(bytes, pinned, device_now);
        }
        *p = piece ? piece->begin : nullptr;
        return piece || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    return allocate(p, bytes, false);
}

cudaError_t cudaMallocHost(void **p, size_t bytes) {
    return allocate(p, bytes, true);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) {
    return allocate(p, bytes, true);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes) {
    return call([=] {
        *all_bytes = memory_limit;
        *free_bytes = taken_bytes() < memory_limit ? memory_limit - taken_bytes() : 0;
    });
}

/* Memory allocated in a capture keeps its addresses until the graph and all its queued launches are
 * gone. Its contents are forgotten whenever the graph allocates or frees it. */
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        const cudaError_t error = allocate(p, bytes, false);
        if (!*p || !s->capture)
            return error;
        const std::shared_ptr<Piece> piece(find_piece(*p), [](Piece *gone) { release(gone); });
        piece->of_graph = true;
        queue(s, "allocation", [=] { forget(piece->begin, piece->bytes); });
        return cudaSuccess;
    });
}

static int open_pools;
struct EmuPool {
    int device;
    unsigned peers; /* the devices that may access its memory */
};
/* Never freed, as their memory may outlive them; kept here, where a leak checker finds them. */
static std::deque<EmuPool> &pools = *new std::deque<EmuPool>;

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties) {
    return call([=] {
        const int device = properties->location.id;
        pools.push_back({device, 1u << device});
        *pool = &pools.back();
        open_pools++;
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *to, size_t count) {
    return call([=] {
        for (size_t k = 0; k < count; k++) {
            const unsigned bit = 1u << to[k].location.id;
            if (bit != 1u << pool->device && !settings.peers)
                return cudaErrorPeerAccessUnsupported;
            pool->peers |= to[k].flags == cudaMemAccessFlagsProtNone ? 0 : bit;
        }
        for (const auto &[begin, piece] : pieces)
            if (piece.pool == pool && !piece.dead)
                set_reach(begin, piece.bytes, 0, pool->peers);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *value) {
    return call([=] {
        uint64_t reserved = 0;
        for (const auto &[begin, piece] : pieces)
            reserved += piece.pool && !piece.dead ? piece.bytes : 0;
        memcpy(value, &reserved, sizeof reserved);
    });
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t s) {
    return call([=] {
        const cudaError_t error = cudaMallocAsync(p, bytes, s);
        if (*p) {
            Piece *const piece = find_piece(*p);
            piece->pool = pool;
            piece->device = pool->device;
            set_reach(*p, bytes, 0, pool->peers);
        }
        return error;
    });
}

/* Memory outlives its pool. When the last pool is destroyed, all memory must have been freed. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
    const Where caller = __builtin_return_address(0);
    return call([=] {
        drain_all();
        if (--open_pools > 0)
            return;
        for (const auto &[begin, piece] : pieces)
            if (piece.pool && !piece.dead && !piece.of_graph)
                report(caller, "never freed: %zu bytes of a pool, and no pool is left",
                       piece.bytes);
    });
}

void emu::forget_memory() {
    for (auto &[begin, piece] : pieces)
        if (!piece.dead && base <= piece.begin && piece.begin < base + arena_bytes)
            release(&piece);
    open_pools = 0;
}

/* Frees on the stream or, if that is NULL, at once, after all queued work. */
static cudaError_t free_piece(void *p, bool pinned, EmuStream *s, Where caller) {
    return call([=] {
        Piece *const piece = find_piece(p);
        const bool captured = s && s->capture;
        if (!p)
            return cudaSuccess;
        if (!piece || piece->begin != p || piece->pinned != pinned || piece->range ||
            (s && captured != piece->of_graph))
            return cudaErrorInvalidValue;
        const auto end = [=] {
            if (captured)
                forget(piece->begin, piece->bytes);
            else
                release(piece, caller);
        };
        if (!s)
            drain_all();
        s ? queue(s, "free", end) : end();
        return cudaSuccess;
    });
}

cudaError_t cudaFree(void *p) {
    return free_piece(p, false, nullptr, __builtin_return_address(0));
}

cudaError_t cudaFreeHost(void *p) {
    return free_piece(p, true, nullptr, __builtin_return_address(0));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
    const Where caller = __builtin_return_address(0);
    return on(stream, [=](EmuStream *s) { return free_piece(p, false, s, caller); });
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned) {
    return call([=] { pieces[p] = {(unsigned char *)p, bytes, true, device_now}; });
}

cudaError_t cudaHostUnregister(void *p) {
    return call([=] { return pieces.erase(p) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t emu_ignore(const void *) {
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p) {
    return call([=] {
        const Piece *const piece = live_piece(p);
        void *const same = (void *)(uintptr_t)p;
        *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, nullptr};
        if (piece && piece->pinned)
            *attributes = {cudaMemoryTypeHost, piece->device, same, same};
        else if (piece && !piece->of_graph) /* drivers do not know memory from a capture */
            *attributes = {cudaMemoryTypeDevice,
                           piece->device_at((size_t)((const unsigned char *)p - piece->begin)),
                           same, nullptr};
    });
}
