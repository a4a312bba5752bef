/* SPDX-License-Identifier: Apache-2.0 */
/* What a context owns on a GPU. gpu.c implements it over the CUDA runtime; gpu_none.c answers in a
 * build without CUDA. Only files built when WEFT_CUDA is on may look inside wi_gpu. */
#ifndef WI_GPU_H
#define WI_GPU_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens device `ordinal`, or the best one if it is negative; fills ctx->gpu and ctx->place. */
weft_status wi_gpu_open(weft_context *ctx, int ordinal);
void wi_gpu_close(weft_context *ctx);

/* Makes the context's device the calling thread's current one, and puts the caller's back. Every
 * entry that queues work stands between the two; on a cpu place they do nothing. They may nest. */
weft_status wi_gpu_enter(weft_context *ctx, int *before);
void wi_gpu_leave(weft_context *ctx, int before);

/* True if a GPU place would open; if not, `why` (of `bytes` bytes) says why. */
bool wi_gpu_present(char *why, size_t bytes);

/* Stream-ordered device memory. */
weft_status wi_gpu_alloc(weft_context *ctx, void **p, size_t bytes);
weft_status wi_gpu_free(weft_context *ctx, void *p);

/* Scratch memory that a context keeps from call to call: at least `bytes` on the device, all zeros
 * when first handed out or grown. Whoever uses it leaves it as the next one expects to find it.
 * `key` is an address of the user's own, as that of a ladder, and tells blocks apart. Blocks that
 * were outgrown live until the context closes, so a captured graph stays valid. */
weft_status wi_gpu_scratch(weft_context *ctx, const void *key, size_t bytes, void **p);

weft_status wi_gpu_copy(weft_context *ctx, void *to, const void *from, size_t bytes);
/* Queues a copy from device memory to device memory. Neither is looked at: what is allocated while
 * a stream is captured will be there when the graph runs, and until then is unknown to CUDA. */
weft_status wi_gpu_copy_within(weft_context *ctx, void *to, const void *from, size_t bytes);
weft_status wi_gpu_sync(weft_context *ctx);
weft_status wi_gpu_set_stream(weft_context *ctx, void *stream);

bool wi_gpu_is_device(const weft_context *ctx, const void *p);
bool wi_gpu_is_host(const weft_context *ctx, const void *p);

/* Is the context's stream being captured into a graph? Nothing may wait for it then. */
bool wi_gpu_capturing(const weft_context *ctx);

#ifdef WEFT_CUDA
#    include <cuda_runtime_api.h>

enum {
    WI_SCRATCH_LEAST_BYTES = 1 << 16,
    WI_SCRATCH_BLOCKS = 32, /* kept at once, by key */
    WI_SCRATCH_GROWTHS = 40 /* doublings of a block before any address space is full */
};

struct wi_gpu {
    int device;
    int multiprocessors;
    int capability;      /* 90 for compute capability 9.0 */
    size_t shared_optin; /* shared memory a block may ask for, bytes */
    size_t l2_bytes;
    cudaStream_t stream; /* where work is queued now */
    cudaStream_t own;    /* the context's own stream */
    cudaEvent_t order;   /* makes one stream wait for another */
    cudaMemPool_t pool;
    unsigned forks;         /* of the process when the context was opened */
    struct wi_stage *stage; /* pinned buffers and copy streams; NULL until host data comes */
    struct wi_block {
        const void *key; /* NULL: this one and those behind it are free */
        void *p;
        size_t bytes;
    } scratch[WI_SCRATCH_BLOCKS];
    void *outgrown[WI_SCRATCH_BLOCKS * WI_SCRATCH_GROWTHS]; /* replaced by larger blocks */
    size_t outgrown_count;
};

/* WEFT_OK, or the status and message of a CUDA error; `doing` names the call and its purpose. Makes
 * the funnel every runtime call goes through: return wi_cuda(ctx, cudaX(...), "cudaX: why"). */
weft_status wi_cuda(weft_context *ctx, cudaError_t error, const char *doing);

/* Where memory lies, seen from the context's device. Managed memory counts as the device's. */
typedef enum wi_memory {
    WI_MEMORY_DEVICE,
    WI_MEMORY_PEER, /* of another GPU: copies reach it, kernels may not */
    WI_MEMORY_PINNED,
    WI_MEMORY_PAGEABLE
} wi_memory;

/* Of `bytes` bytes from p on; memory that is pinned only in part counts as pageable. */
wi_memory wi_gpu_memory(const weft_context *ctx, const void *p, size_t bytes);
#endif

#ifdef __cplusplus
}
#endif
#endif
