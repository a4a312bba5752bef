/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that several GPUs hold together: the driver reserves a range of addresses, and memory of
 * one GPU after the other is mapped to it. The driver's functions are fetched at run time. */
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/gpu.h"
#include "core/gpu_driver.h"

enum {
    LEAST_RANGES = 16,
    WHY_BYTES = 160
};

/* The driver's functions. */
typedef struct driver {
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 free;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
} driver;

typedef struct range {
    const char *p;
    size_t bytes; /* mapped */
    size_t block; /* that each GPU holds */
} range;

struct wi_dealt {
    driver calls;
    bool reaches;        /* does each GPU reach the memory of all others? */
    char why[WHY_BYTES]; /* if not: the reason */
    size_t granule;      /* bytes that the driver maps at least: blocks are multiples of it */
    int count;
    pthread_mutex_t lock; /* of the ranges */
    range *ranges;        /* by address */
    size_t in_use, room;
    int devices[];
};

/* ---- the driver ---- */

/* A function as of CUDA 10.2. */
static bool fetch(const char *name, void *function) {
    return wi_gpu_find_driver(name, 10020, function);
}

static bool fetch_all(driver *d) {
    return fetch("cuMemGetAllocationGranularity", &d->granularity) &&
           fetch("cuMemAddressReserve", &d->reserve) && fetch("cuMemAddressFree", &d->free) &&
           fetch("cuMemCreate", &d->create) && fetch("cuMemRelease", &d->release) &&
           fetch("cuMemMap", &d->map) && fetch("cuMemUnmap", &d->unmap) &&
           fetch("cuMemSetAccess", &d->set_access);
}

static CUmemAllocationProp memory_of(int device) {
    CUmemAllocationProp properties;
    memset(&properties, 0, sizeof properties);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}

/* The status of a driver call, with a message if it failed. */
static weft_status check_driver(weft_context *ctx, CUresult result, const char *doing, size_t bytes,
                                int count) {
    if (result == CUDA_SUCCESS)
        return WEFT_OK;
    const bool memory = result == CUDA_ERROR_OUT_OF_MEMORY;
    return wi_fail(ctx, memory ? WEFT_ENOMEM : WEFT_EDEVICE,
                   "taking %zu bytes over %d GPUs: %s failed with CUDA error %d%s", bytes, count,
                   doing, (int)result,
                   memory ? ", out of memory; free some, or use more GPUs" : "");
}

/* ---- opening ---- */

/* Opens the other's memory to the context's GPU, which is current, and its pool to the other. */
static weft_status open_to(weft_context *ctx, int other) {
    const struct cudaMemAccessDesc to = {
        .location = {.type = cudaMemLocationTypeDevice, .id = other},
        .flags = cudaMemAccessFlagsProtReadWrite};
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    weft_status status = WEFT_OK;
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
    else
        status = wi_cuda(ctx, error, "opening another GPU's memory to this one");
    return status == WEFT_OK ? wi_cuda(ctx, cudaMemPoolSetAccess(ctx->gpu->pool, &to, 1),
                                       "opening a memory pool to another GPU")
                             : status;
}

static weft_status open_device(weft_context *ctx, const wi_dealt *dealt) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    for (int k = 0; k < dealt->count && status == WEFT_OK; k++) {
        if (dealt->devices[k] != ctx->device)
            status = open_to(ctx, dealt->devices[k]);
    }
    wi_gpu_leave(ctx, before);
    return status;
}

/* Finds whether the GPUs reach each other's memory: sets `reaches`, or `why` not. */
static void find_reach(wi_dealt *dealt) {
    for (int k = 0; k < dealt->count; k++) {
        for (int i = 0; i < dealt->count; i++) {
            int can = 1;
            if (i != k)
                cudaDeviceCanAccessPeer(&can, dealt->devices[k], dealt->devices[i]);
            if (can)
                continue;
            cudaGetLastError();
            snprintf(dealt->why, sizeof dealt->why,
                     "GPU %d cannot reach the memory of GPU %d, so copies pass through the host",
                     dealt->devices[k], dealt->devices[i]);
            return;
        }
    }
    const CUmemAllocationProp first = memory_of(dealt->devices[0]);
    dealt->reaches = fetch_all(&dealt->calls) &&
                     dealt->calls.granularity(&dealt->granule, &first,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
                     dealt->granule > 0;
    if (!dealt->reaches)
        snprintf(dealt->why, sizeof dealt->why,
                 "the driver does not manage virtual memory, so memory lies on one GPU");
}

weft_status wi_dealt_open(weft_context *ctx, weft_context *const each[], int count,
                          wi_dealt **dealt) {
    weft_status status = WEFT_OK;
    wi_dealt *const d = wi_host_alloc(sizeof *d + (size_t)count * sizeof *d->devices);
    *dealt = d;
    if (!d)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for %d GPUs", count);
    *d = (wi_dealt){.count = count};
    pthread_mutex_init(&d->lock, NULL);
    for (int k = 0; k < count; k++)
        d->devices[k] = each[k]->device;
    find_reach(d);
    for (int k = 0; k < count && d->reaches && status == WEFT_OK; k++) {
        status = open_device(each[k], d);
        if (status != WEFT_OK)
            return wi_fail(ctx, status, "%s", each[k]->message);
    }
    for (int k = 0; k < count; k++)
        each[k]->gpu->dealt = d;
    return WEFT_OK;
}

void wi_dealt_close(wi_dealt *dealt) {
    if (!dealt)
        return;
    pthread_mutex_destroy(&dealt->lock);
    wi_host_free(dealt->ranges);
    wi_host_free(dealt);
}

bool wi_dealt_reaches(const wi_dealt *dealt, const char **why) {
    *why = dealt->why;
    return dealt->reaches;
}

size_t wi_dealt_least(const wi_dealt *dealt) {
    return dealt->granule * (size_t)dealt->count;
}

/* ---- the ranges ---- */

/* How many ranges begin at or before p. */
static size_t count_up_to(const wi_dealt *dealt, const char *p) {
    size_t first = 0, n = dealt->in_use;
    while (n > 0) {
        const size_t half = n / 2;
        const bool before = dealt->ranges[first + half].p <= p;
        first = before ? first + half + 1 : first;
        n = before ? n - half - 1 : half;
    }
    return first;
}

/* The range that p is in; NULL if there is none. The lock is held. */
static range *range_of(wi_dealt *dealt, const void *p) {
    const size_t count = count_up_to(dealt, p);
    range *const r = count > 0 ? &dealt->ranges[count - 1] : NULL;
    return r && (const char *)p < r->p + r->bytes ? r : NULL;
}

static bool insert(wi_dealt *dealt, range r) {
    pthread_mutex_lock(&dealt->lock);
    if (dealt->in_use == dealt->room) {
        const size_t room = dealt->room ? 2 * dealt->room : LEAST_RANGES;
        range *const more = wi_host_alloc(room * sizeof *more);
        if (more) {
            if (dealt->in_use > 0)
                memcpy(more, dealt->ranges, dealt->in_use * sizeof *more);
            wi_host_free(dealt->ranges);
            dealt->ranges = more;
            dealt->room = room;
        }
    }
    const bool fits = dealt->in_use < dealt->room;
    if (fits) {
        const size_t at = count_up_to(dealt, r.p);
        memmove(&dealt->ranges[at + 1], &dealt->ranges[at], (dealt->in_use++ - at) * sizeof r);
        dealt->ranges[at] = r;
    }
    pthread_mutex_unlock(&dealt->lock);
    return fits;
}

/* Takes the range that begins at p off the list; false if there is none. */
static bool remove_at(wi_dealt *dealt, const void *p, range *removed) {
    pthread_mutex_lock(&dealt->lock);
    range *const r = range_of(dealt, p);
    const bool found = r && r->p == p;
    if (found) {
        *removed = *r;
        const size_t behind = dealt->in_use-- - (size_t)(r - dealt->ranges) - 1;
        memmove(r, r + 1, behind * sizeof *r);
    }
    pthread_mutex_unlock(&dealt->lock);
    return found;
}

bool wi_dealt_find(wi_dealt *dealt, const void *p, const char **begin, size_t *block) {
    pthread_mutex_lock(&dealt->lock);
    const range *const r = range_of(dealt, p);
    const bool found = r != NULL;
    if (found && begin) {
        *begin = r->p;
        *block = r->block;
    }
    pthread_mutex_unlock(&dealt->lock);
    return found;
}

size_t wi_dealt_apart(const weft_context *ctx, const void *p, size_t bytes) {
    wi_dealt *const dealt = ctx->gpu->dealt;
    const char *range_begin, *const from = p, *const to = from + bytes;
    size_t block, k = 0;
    if (!dealt || !wi_dealt_find(dealt, p, &range_begin, &block))
        return 0;
    while (k < (size_t)dealt->count && dealt->devices[k] != ctx->device)
        k++;
    const char *const own = range_begin + k * block, *const own_end = own + block;
    const char *const first = from > own ? from : own, *const end = to < own_end ? to : own_end;
    return bytes - (first < end ? (size_t)(end - first) : 0);
}

/* ---- taking and giving ---- */

static size_t rounded(const wi_dealt *dealt, size_t bytes) {
    return (bytes + dealt->granule - 1) / dealt->granule * dealt->granule;
}

/* The bytes of block k. */
static size_t block_bytes(const range *r, size_t k) {
    const size_t left = r->bytes - k * r->block;
    return left < r->block ? left : r->block;
}

static size_t blocks_of(const range *r) {
    return (r->bytes + r->block - 1) / r->block;
}

static void unmap(const wi_dealt *dealt, const range *r, size_t blocks) {
    for (size_t k = 0; k < blocks; k++)
        dealt->calls.unmap((CUdeviceptr)(uintptr_t)(r->p + k * r->block), block_bytes(r, k));
}

/* Memory of GPU k for block k. The driver frees it when it is unmapped. */
static CUresult map_block(const wi_dealt *dealt, const range *r, size_t k) {
    const CUmemAllocationProp properties = memory_of(dealt->devices[k]);
    CUmemGenericAllocationHandle handle;
    const size_t bytes = block_bytes(r, k);
    CUresult result = dealt->calls.create(&handle, bytes, &properties, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = dealt->calls.map((CUdeviceptr)(uintptr_t)(r->p + k * r->block), bytes, 0, handle, 0);
    dealt->calls.release(handle);
    return result;
}

/* Lets all GPUs read and write the range. */
static CUresult open_range(const wi_dealt *dealt, const range *r) {
    CUmemAccessDesc to[WI_MOST_GPUS];
    memset(to, 0, sizeof to);
    for (int k = 0; k < dealt->count; k++) {
        to[k].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        to[k].location.id = dealt->devices[k];
        to[k].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    return dealt->calls.set_access((CUdeviceptr)(uintptr_t)r->p, r->bytes, to,
                                   (size_t)dealt->count);
}

static weft_status map_range(weft_context *ctx, const wi_dealt *dealt, const range *r) {
    size_t mapped = 0;
    CUresult result = CUDA_SUCCESS;
    while (mapped < blocks_of(r) && result == CUDA_SUCCESS) {
        result = map_block(dealt, r, mapped);
        mapped += result == CUDA_SUCCESS;
    }
    const bool all = result == CUDA_SUCCESS;
    if (all)
        result = open_range(dealt, r);
    if (result != CUDA_SUCCESS)
        unmap(dealt, r, mapped);
    return check_driver(ctx, result, all ? "cuMemSetAccess" : "cuMemCreate", r->bytes,
                        dealt->count);
}

/* wi_dealt_take with the context's GPU current. */
static weft_status take_entered(weft_context *ctx, wi_dealt *dealt, void **p, size_t bytes) {
    range r = {.bytes = rounded(dealt, bytes),
               .block = rounded(dealt, (bytes + (size_t)dealt->count - 1) / (size_t)dealt->count)};
    CUdeviceptr at = 0;
    weft_status status = check_driver(ctx, dealt->calls.reserve(&at, r.bytes, 0, 0, 0),
                                      "cuMemAddressReserve", r.bytes, dealt->count);
    if (status != WEFT_OK)
        return status;
    r.p = (const char *)(uintptr_t)at;
    status = map_range(ctx, dealt, &r);
    if (status == WEFT_OK && !insert(dealt, r)) {
        unmap(dealt, &r, blocks_of(&r));
        status = wi_fail(ctx, WEFT_ENOMEM, "no host memory for a list of arrays");
    }
    if (status == WEFT_OK)
        *p = (void *)(uintptr_t)at;
    else
        dealt->calls.free(at, r.bytes);
    return status;
}

weft_status wi_dealt_take(weft_context *ctx, wi_dealt *dealt, void **p, size_t bytes) {
    int before;
    *p = NULL;
    if (bytes > PTRDIFF_MAX)
        return wi_fail(ctx, WEFT_ENOMEM, "%zu bytes exceed the address space", bytes);
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = take_entered(ctx, dealt, p, bytes);
    wi_gpu_leave(ctx, before);
    return status;
}

weft_status wi_dealt_give(weft_context *ctx, wi_dealt *dealt, void *p, bool *found) {
    range r;
    int before;
    *found = remove_at(dealt, p, &r);
    if (!*found)
        return WEFT_OK;
    const weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status; /* the device is lost, and its memory with it */
    unmap(dealt, &r, blocks_of(&r));
    dealt->calls.free((CUdeviceptr)(uintptr_t)r.p, r.bytes);
    wi_gpu_leave(ctx, before);
    return WEFT_OK;
}
