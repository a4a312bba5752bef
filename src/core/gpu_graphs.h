/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by graphs of one node, and other calls of the driver that take less of the host's time
 * than those of the runtime. */
#ifndef WI_GPU_GRAPHS_H
#define WI_GPU_GRAPHS_H

#include "core/gpu.h"

#ifndef WEFT_EMU
#    include <cudaTypedefs.h>
#endif

enum {
    WI_GRAPHS_KEPT = 256, /* kernels that are launched so; a power of 2 */
    WI_GRAPHS_NEAR = 8    /* places of the table where a kernel may be */
};

/* What a context knows of the driver and of its kernels. */
typedef struct wi_graphs {
#ifdef WEFT_EMU
    char unused;
#else
    PFN_cuGraphExecKernelNodeSetParams_v12000 set; /* NULL: there are no launches by graphs */
    PFN_cuGraphLaunch_v10000 launch;
    PFN_cuStreamIsCapturing_v10000 capturing;
    PFN_cuPointerGetAttributes_v7000 pointer;
    cudaStream_t stream; /* looked at last */
    bool plain;          /* graphs may be launched on it */
    unsigned depth;      /* in rungs */
    unsigned launches;   /* of kernels, in the outermost rung so far */
    struct wi_kernel_graph {
        const void *function; /* NULL: the place is free */
        CUfunction handle;
        wi_launch_graph graph; /* empty until it is first needed */
        bool alone;            /* its rung launched nothing else */
        bool refused;          /* it cannot be launched so */
        unsigned leads;        /* launches until it is taken not to lead any more */
    } known[WI_GRAPHS_KEPT];
    struct wi_kernel_graph *first;  /* kernel of the rung; or NULL */
    struct wi_kernel_graph *latest; /* that no other was launched behind; or NULL */
#endif
} wi_graphs;

/* A context's wi_gpu stands at the beginning of one of these. */
typedef struct wi_gpu_whole {
    struct wi_gpu gpu;
    wi_graphs graphs;
} wi_gpu_whole;

/* Looks for what the driver has. There are no launches by graphs on emu, under a profiler, which
 * would not show the kernels, and with CUDA_LAUNCH_BLOCKING=1. */
void wi_graphs_open(weft_context *ctx);
void wi_graphs_close(weft_context *ctx);

/* Launches a kernel by a graph of its own, which takes the host half of the time. False if it has
 * not been launched: then the usual launch says why, or does it. A graph knows nothing of the
 * stream's priority, nor may it run twice at a time: only the first lane is launched so, and only
 * on streams of the usual priority. Kernels that launch others are not (wi_gpu_call_nests): by
 * graphs their sorts came out unsorted on an H200. A GPU goes from graphs to other work and back
 * more slowly than from kernel to kernel: so only a kernel that is all its rung launches is
 * launched so, from the second time on. */
bool wi_graphs_launch(weft_context *ctx, const wi_launch_shape *shape, void **arguments);
/* Another launch. One that may begin ahead (cuda/ahead.cuh) cannot behind a graph: the kernel
 * before it leads such, and is launched as usual for a while. */
void wi_graphs_note(weft_context *ctx, bool ahead);

/* Is it certain that p is memory of the context's device? */
bool wi_graphs_is_device(const weft_context *ctx, const void *p);

#endif
