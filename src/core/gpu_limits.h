/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a device, what each kernel uses of them, and who shares the device. In a build
 * without CUDA these functions say that there is none. */
#ifndef WI_GPU_LIMITS_H
#define WI_GPU_LIMITS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_told {
    WI_NO,
    WI_YES,
    WI_NOT_TOLD /* not known: this driver or toolkit does not report it */
} wi_told;

typedef struct wi_gpu_limits {
    int multiprocessors;
    int threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    int block[3], grid[3]; /* the largest extents, in x, y and z */
    int registers_per_thread, registers_per_block, registers_per_multiprocessor;
    size_t shared_per_block; /* in bytes; with opt-in, which weft uses */
    size_t shared_per_multiprocessor;
    size_t shared_reserved;  /* by the system, in each block */
    size_t stack_bytes;      /* of a thread, for calls whose depth the compiler does not know */
    size_t heap_bytes;       /* for malloc in kernels; weft never calls it */
    size_t pending_launches; /* of kernels launched by kernels */
    bool watchdog; /* the GPU drives a display, and the system stops kernels that run long */
    const char *compute_mode; /* which processes may use the device, in the words of nvidia-smi */
    wi_told shared_by_mps;    /* does the multi-process service (MPS) run all kernels? */
    size_t free_bytes, memory_bytes;
    size_t pool_bytes; /* memory in use that belongs to this context */
} wi_gpu_limits;

weft_status wi_gpu_limits_of(weft_context *ctx, wi_gpu_limits *limits);
/* Bytes that wi_gpu_alloc could still take: what is free, and what the context's pool keeps for
 * later. 0 if CUDA does not say. */
size_t wi_gpu_free_bytes(const weft_context *ctx);

/* The limit that keeps more blocks of a kernel off a multiprocessor. */
typedef enum wi_bound {
    WI_BOUND_THREADS,
    WI_BOUND_REGISTERS,
    WI_BOUND_SHARED,
    WI_BOUND_BLOCKS,
    WI_BOUNDS
} wi_bound;

const char *wi_bound_name(wi_bound bound);

enum {
    WI_KERNEL_NAME_BYTES = 96 /* longer names are cut off */
};

/* A kernel as it was launched, with its attributes from the compiler and the driver. */
typedef struct wi_kernel_use {
    char kernel[WI_KERNEL_NAME_BYTES]; /* its name in the source */
    const void *function;
    unsigned threads, cluster; /* of a block; blocks of a cluster, 1: no clusters */
    size_t dynamic_shared, static_shared;
    int registers;      /* of a thread */
    int most_threads;   /* the largest block, by its registers and as it was compiled */
    size_t local_bytes; /* of a thread: its stack, and registers that were spilled */
    int blocks;         /* how many blocks fit on a multiprocessor at once */
    double occupancy;   /* their threads, of those a multiprocessor can hold */
    wi_bound bound;
} wi_kernel_use;

/* The different kernels that a context launched, in the order of their first launch. */
typedef struct wi_watch {
    wi_kernel_use *use;
    size_t room, count;
    bool full; /* there were more than fit */
} wi_watch;

/* Do processes share this GPU through CUDA's multi-process service, so that their kernels run at
 * the same time? False, too, if the driver does not tell (before CUDA 12.6). */
bool wi_gpu_has_service(int device);

/* Records every launch from now on in `watch`; NULL stops it. */
void wi_gpu_watch(weft_context *ctx, wi_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
