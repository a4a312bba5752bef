/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in a GPU context: what kind an address is, the pool, and scratch memory that is kept. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "core/gpu_graphs.h"
#include "cpu/team.h"

enum {
    WHY_BYTES = 256,
    RESERVE_ALIGNMENT = 256 /* as of CUDA's own allocations */
};

/* After the device is lost, all memory counts as device memory: then neither the device nor this
 * thread touches it. */
wi_memory wi_gpu_memory(const weft_context *ctx, const void *p, size_t bytes) {
    struct cudaPointerAttributes first, last;
    const char *const end = (const char *)p + (bytes ? bytes - 1 : 0);
    if (*ctx->gpu->lost)
        return WI_MEMORY_DEVICE;
    if (ctx->gpu->forks != wi_forks())
        return WI_MEMORY_PAGEABLE;
    if (ctx->gpu->dealt && wi_dealt_find(ctx->gpu->dealt, p, NULL, NULL))
        return WI_MEMORY_DEVICE;
    const cudaError_t error = cudaPointerGetAttributes(&first, p);
    if (error != cudaSuccess) {
        cudaGetLastError(); /* old drivers report memory that CUDA does not know as an error */
        return wi_cuda_is_fatal(error) ? WI_MEMORY_DEVICE : WI_MEMORY_PAGEABLE;
    }
    switch (first.type) {
    case cudaMemoryTypeManaged:
        return WI_MEMORY_DEVICE;
    case cudaMemoryTypeDevice:
        return first.device == ctx->device ? WI_MEMORY_DEVICE : WI_MEMORY_PEER;
    case cudaMemoryTypeHost:
        if (cudaPointerGetAttributes(&last, end) == cudaSuccess && last.type == cudaMemoryTypeHost)
            return WI_MEMORY_PINNED;
        cudaGetLastError();
        return WI_MEMORY_PAGEABLE;
    default:
        return WI_MEMORY_PAGEABLE;
    }
}

/* What nearly all calls hear, in half of the time. */
static bool is_surely_device(const weft_context *ctx, const void *p) {
    return !*ctx->gpu->lost && ctx->gpu->forks == wi_forks() && wi_graphs_is_device(ctx, p);
}

bool wi_gpu_is_device(const weft_context *ctx, const void *p) {
    return is_surely_device(ctx, p) || wi_gpu_memory(ctx, p, 0) == WI_MEMORY_DEVICE;
}

bool wi_gpu_is_host(const weft_context *ctx, const void *p) {
    return !is_surely_device(ctx, p) && wi_gpu_memory(ctx, p, 0) >= WI_MEMORY_PINNED;
}

/* How much device memory is free, for a message; "" while a stream is captured. */
static void tell_memory(const weft_context *ctx, char *text, size_t room) {
    size_t left = 0, all = 0;
    uint64_t held = 0;
    *text = '\0';
    if (wi_gpu_capturing(ctx))
        return;
    if (cudaMemGetInfo(&left, &all) == cudaSuccess &&
        cudaMemPoolGetAttribute(ctx->gpu->pool, cudaMemPoolAttrReservedMemCurrent, &held) ==
            cudaSuccess)
        snprintf(text, room,
                 "; of %zu bytes %zu are free and %" PRIu64 " held by this context, the rest by "
                 "other contexts and processes (nvidia-smi)",
                 all, left, held);
    cudaGetLastError();
}

/* wi_cuda for an attempt to allocate `bytes` bytes. */
static weft_status taking(weft_context *ctx, cudaError_t error, size_t bytes) {
    char doing[WHY_BYTES], memory[WHY_BYTES];
    if (error == cudaSuccess)
        return WEFT_OK;
    if (error == cudaErrorInvalidValue) /* only the size can be wrong: it is absurd */
        error = cudaErrorMemoryAllocation;
    snprintf(doing, sizeof doing, "taking %zu bytes of device memory on %s", bytes, ctx->place);
    if (error != cudaErrorMemoryAllocation)
        return wi_cuda(ctx, error, doing);
    cudaGetLastError(); /* clear the error, or the next launch would report it */
    tell_memory(ctx, memory, sizeof memory);
    return wi_fail(ctx, WEFT_ENOMEM, "%s: %s (%s)%s; %s", doing, cudaGetErrorName(error),
                   cudaGetErrorString(error), memory, wi_cuda_remedy(error));
}

static struct wi_reserve *reserve_of(weft_context *ctx) {
    return &ctx->gpu->reserve[ctx->gpu->lane];
}

/* NULL if the reserve has no room for it. */
static void *take_reserved(struct wi_reserve *reserve, size_t bytes) {
    const size_t rounded = (bytes + RESERVE_ALIGNMENT - 1) / RESERVE_ALIGNMENT * RESERVE_ALIGNMENT;
    if (!reserve->p || rounded < bytes || rounded > reserve->bytes - reserve->used)
        return NULL;
    void *const p = reserve->p + reserve->used;
    reserve->used += rounded;
    reserve->taken++;
    return p;
}

/* False if it is not from there. */
static bool give_reserved(struct wi_reserve *reserve, const void *p) {
    if (!reserve->p || (const char *)p < reserve->p ||
        (const char *)p >= reserve->p + reserve->bytes)
        return false;
    if (--reserve->taken == 0)
        reserve->used = 0;
    return true;
}

weft_status wi_gpu_reserve(weft_context *ctx, size_t bytes) {
    void *p;
    struct wi_reserve *const reserve = reserve_of(ctx);
    if (reserve->p) {
        reserve->depth++;
        return WEFT_OK;
    }
    const weft_status status = wi_gpu_alloc(ctx, &p, bytes);
    if (status == WEFT_OK)
        *reserve = (struct wi_reserve){p, bytes, 0, 0, 0};
    return status;
}

weft_status wi_gpu_release(weft_context *ctx) {
    struct wi_reserve *const reserve = reserve_of(ctx);
    void *const p = reserve->p;
    if (reserve->depth > 0) {
        reserve->depth--;
        return WEFT_OK;
    }
    *reserve = (struct wi_reserve){NULL, 0, 0, 0, 0};
    return wi_gpu_free(ctx, p);
}

weft_status wi_gpu_alloc(weft_context *ctx, void **p, size_t bytes) {
    *p = take_reserved(reserve_of(ctx), bytes);
    if (*p)
        return WEFT_OK;
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
    if (give_reserved(reserve_of(ctx), p))
        return WEFT_OK;
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

weft_status wi_gpu_keep(weft_context *ctx, void **p, size_t bytes) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    *p = NULL;
    if (status != WEFT_OK)
        return status;
    status = taking(ctx, cudaMalloc(p, bytes > 0 ? bytes : 1), bytes);
    if (status != WEFT_OK)
        *p = NULL;
    wi_gpu_leave(ctx, before);
    return status;
}

/* A device that is lost has lost its memory, too. */
void wi_gpu_drop(void *p) {
    if (p && cudaFree(p) != cudaSuccess)
        cudaGetLastError();
}

/* Allocates a block that any stream may use, zeroed or with what `from` has. It is allocated and
 * filled on the context's own stream, and waited for, so that it does not become part of a graph
 * being captured on another stream. */
static weft_status filled_block(weft_context *ctx, const void *from, size_t bytes, void **p) {
    struct wi_gpu *const gpu = ctx->gpu;
    weft_status status = taking(ctx, cudaMallocFromPoolAsync(p, bytes, gpu->pool, gpu->own), bytes);
    if (status != WEFT_OK)
        return status;
    if (from)
        status = wi_cuda(ctx, cudaMemcpyAsync(*p, from, bytes, cudaMemcpyHostToDevice, gpu->own),
                         "copying a table to the device");
    else
        status = wi_cuda(ctx, cudaMemsetAsync(*p, 0, bytes, gpu->own), "clearing scratch memory");
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaStreamSynchronize(gpu->own), "waiting for fresh memory");
    if (status != WEFT_OK)
        cudaFreeAsync(*p, gpu->own);
    return status;
}

/* The same, with the context's device made current, and also during a capture. *p is NULL if it
 * fails. */
static weft_status take_filled(weft_context *ctx, const void *from, size_t bytes, void **p) {
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    *p = NULL;
    if (status != WEFT_OK)
        return status;
    /* During a capture in "global" mode this thread may not wait, even for another stream. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    status = filled_block(ctx, from, bytes, p);
    cudaThreadExchangeStreamCaptureMode(&mode);
    wi_gpu_leave(ctx, before);
    if (status != WEFT_OK)
        *p = NULL;
    return status;
}

static weft_status grow_scratch(weft_context *ctx, struct wi_block *block, size_t bytes) {
    struct wi_gpu *const gpu = ctx->gpu;
    size_t wanted = block->bytes ? 2 * block->bytes : WI_SCRATCH_LEAST_BYTES;
    if (wanted < bytes)
        wanted = bytes;
    void *p;
    const weft_status status = take_filled(ctx, NULL, wanted, &p);
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
    while (block < end && block->key && (block->key != key || block->lane != ctx->gpu->lane))
        block++;
    if (block == end)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "more than %d kinds of scratch memory; raise WI_SCRATCH_BLOCKS",
                       WI_SCRATCH_BLOCKS);
    block->key = key;
    block->lane = ctx->gpu->lane;
    if (bytes > block->bytes)
        status = grow_scratch(ctx, block, bytes);
    *p = status == WEFT_OK ? block->p : NULL;
    return status;
}

weft_status wi_gpu_borrow(weft_context *ctx, const void *key, size_t bytes, void **p) {
    return bytes > WI_BORROWED_SCRATCH || reserve_of(ctx)->p ? wi_gpu_alloc(ctx, p, bytes)
                                                             : wi_gpu_scratch(ctx, key, bytes, p);
}

weft_status wi_gpu_hand_back(weft_context *ctx, void *p) {
    for (const struct wi_block *b = ctx->gpu->scratch;
         b < ctx->gpu->scratch + WI_SCRATCH_BLOCKS && b->key; b++)
        if (b->p == p)
            return WEFT_OK;
    return wi_gpu_free(ctx, p);
}

unsigned wi_gpu_nest(weft_context *ctx, int change) {
    const unsigned before = ctx->gpu->nested;
    ctx->gpu->nested = before + (unsigned)change;
    return before;
}

weft_status wi_gpu_keep_table(weft_context *ctx, void **p, const void *from, size_t bytes) {
    return take_filled(ctx, from, bytes, p);
}

void wi_gpu_drop_table(weft_context *ctx, void *p) {
    int before;
    if (wi_gpu_enter(ctx, &before) != WEFT_OK)
        return;
    if (!wi_gpu_capturing(ctx))
        cudaStreamSynchronize(ctx->gpu->stream);
    cudaFreeAsync(p, ctx->gpu->own);
    cudaGetLastError(); /* clear the error: the context is about to close */
    wi_gpu_leave(ctx, before);
}
