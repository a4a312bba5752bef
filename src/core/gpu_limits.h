/* SPDX-License-Identifier: Apache-2.0 */
/* What a device allows, what each kernel takes of it, and who shares the device. In a build without
 * CUDA there are no devices, and these say so. */
#ifndef WI_GPU_LIMITS_H
#define WI_GPU_LIMITS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_told {
    WI_NO,
    WI_YES,
    WI_NOT_TOLD /* by this driver or toolkit */
} wi_told;

typedef struct wi_gpu_limits {
    int multiprocessors;
    int threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    int block[3], grid[3]; /* the largest extents, in x, y and z */
    int registers_per_thread, registers_per_block, registers_per_multiprocessor;
    size_t shared_per_block; /* bytes; with opt-in, which weft asks for */
    size_t shared_per_multiprocessor;
    size_t shared_reserved;   /* by the system, of each block's */
    size_t stack_bytes;       /* of a thread, for calls whose depth the compiler does not know */
    size_t heap_bytes;        /* for malloc in kernels, which weft never calls */
    size_t pending_launches;  /* of kernels by kernels */
    bool watchdog;            /* kernels that take long are stopped: the GPU drives a display */
    const char *compute_mode; /* which processes may use the device, as nvidia-smi calls it */
    wi_told shared_by_mps;    /* does the multi-process service run the kernels of all processes? */
    size_t free_bytes, memory_bytes;
    size_t pool_bytes; /* of the memory in use, what this context holds */
} wi_gpu_limits;

weft_status wi_gpu_limits_of(weft_context *ctx, wi_gpu_limits *limits);

/* What keeps more blocks of a kernel off a multiprocessor. */
typedef enum wi_bound {
    WI_BOUND_THREADS,
    WI_BOUND_REGISTERS,
    WI_BOUND_SHARED,
    WI_BOUND_BLOCKS,
    WI_BOUNDS
} wi_bound;

const char *wi_bound_name(wi_bound bound);

enum {
    WI_KERNEL_NAME_BYTES = 96 /* longer ones are cut short */
};

/* A kernel as it was launched, and what the compiler and the driver say of it. */
typedef struct wi_kernel_use {
    char kernel[WI_KERNEL_NAME_BYTES]; /* as the source names it */
    const void *function;
    unsigned threads, cluster; /* blocks; 1: none */
    size_t dynamic_shared, static_shared;
    int registers;      /* of a thread */
    int most_threads;   /* of a block, for its registers and as it was compiled */
    size_t local_bytes; /* of a thread: its stack, and registers that were spilled */
    int blocks;         /* of it on a multiprocessor at once */
    double occupancy;   /* threads then, of those the multiprocessor can hold */
    wi_bound bound;
} wi_kernel_use;

/* The different launches of a context, in the order of their first. */
typedef struct wi_watch {
    wi_kernel_use *use;
    size_t room, count;
    bool full; /* there were more than there is room for */
} wi_watch;

/* Notes every launch from now on; NULL ends it. */
void wi_gpu_watch(weft_context *ctx, wi_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
