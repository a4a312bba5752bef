/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by graphs of one node: on an H200's host the driver takes 2.1 us for new arguments and
 * the launch of the graph, and 4.0 for the launch of the kernel. */
#include "core/gpu_graphs.h"

#include <stdlib.h>
#include <string.h>

#include "core/gpu_calls.h"
#include "core/gpu_driver.h"

#ifdef WEFT_EMU
void wi_gpu_drop_graph(wi_launch_graph *graph) {
    (void)graph;
}
void wi_gpu_call_begins(weft_context *ctx) {
    (void)ctx;
}
void wi_gpu_call_ends(weft_context *ctx) {
    (void)ctx;
}
void wi_gpu_call_nests(weft_context *ctx) {
    (void)ctx;
}
void wi_graphs_open(weft_context *ctx) {
    (void)ctx;
}
void wi_graphs_close(weft_context *ctx) {
    (void)ctx;
}
bool wi_graphs_is_device(const weft_context *ctx, const void *p) {
    (void)ctx;
    (void)p;
    return false;
}
#else
enum {
    LEADS = 2 /* launches of a kernel as usual after one that led another */
};

/* ---- a graph that is the caller's ---- */

static struct cudaKernelNodeParams node_of(const wi_launch_shape *shape, void **arguments) {
    const unsigned *const blocks = shape->blocks, *const threads = shape->threads;
    return (struct cudaKernelNodeParams){
        .func = (void *)(uintptr_t)shape->function,
        .gridDim = {blocks[0], blocks[1], blocks[2]},
        .blockDim = {threads[0], threads[1], threads[2]},
        .sharedMemBytes = (unsigned)shape->shared_bytes,
        .kernelParams = arguments,
    };
}

static cudaError_t open_graph(wi_launch_graph *graph, const struct cudaKernelNodeParams *first) {
    cudaError_t error = cudaGraphCreate(&graph->graph, 0);
    if (error == cudaSuccess)
        error = cudaGraphAddKernelNode(&graph->node, graph->graph, NULL, 0, first);
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&graph->ready, graph->graph, 0);
    if (error != cudaSuccess)
        wi_gpu_drop_graph(graph);
    return error;
}

weft_status wi_gpu_launch_by_graph(weft_context *ctx, wi_launch_graph *graph,
                                   const wi_launch_shape *shape, void **arguments) {
    const struct cudaKernelNodeParams node = node_of(shape, arguments);
    const weft_status status =
        wi_gpu_grant(ctx, shape->kernel, shape->function, shape->shared_bytes);
    if (status != WEFT_OK)
        return status;
    cudaError_t error = graph->ready
                            ? cudaGraphExecKernelNodeSetParams(graph->ready, graph->node, &node)
                            : open_graph(graph, &node);
    if (error == cudaSuccess)
        error = cudaGraphLaunch(graph->ready, ctx->gpu->stream);
    return wi_launched(ctx, shape, error);
}

void wi_gpu_drop_graph(wi_launch_graph *graph) {
    if (graph->ready)
        cudaGraphExecDestroy(graph->ready);
    if (graph->graph)
        cudaGraphDestroy(graph->graph);
    memset(graph, 0, sizeof *graph);
}

/* ---- graphs that a context keeps ---- */

static wi_graphs *graphs_of(const weft_context *ctx) {
    return &((wi_gpu_whole *)ctx->gpu)->graphs;
}

/* Does someone look at launches: a profiler or another tool, or who wants each error where it
 * happens? Then they are what the program says, one by one. */
static bool are_watched(void) {
    const char *const blocking = getenv("CUDA_LAUNCH_BLOCKING");
    return getenv("NVTX_INJECTION64_PATH") || getenv("CUDA_INJECTION64_PATH") ||
           (blocking && strcmp(blocking, "1") == 0);
}

void wi_graphs_open(weft_context *ctx) {
    wi_graphs *const g = graphs_of(ctx);
    wi_gpu_find_driver("cuPointerGetAttributes", 7000, &g->pointer);
    if (are_watched())
        return;
    wi_gpu_find_driver("cuGraphLaunch", 10000, &g->launch);
    wi_gpu_find_driver("cuStreamIsCapturing", 10000, &g->capturing);
    wi_gpu_find_driver("cuGraphExecKernelNodeSetParams", 12000, &g->set);
    if (!g->launch || !g->capturing)
        g->set = NULL;
    cudaGetLastError(); /* clear the error: there is another way to launch */
}

void wi_graphs_close(weft_context *ctx) {
    wi_graphs *const g = graphs_of(ctx);
    for (int k = 0; k < WI_GRAPHS_KEPT; k++)
        wi_gpu_drop_graph(&g->known[k].graph);
    g->set = NULL;
}

/* May graphs be launched now? Not on the side lane, whose priority they would lose. */
static bool may_launch(const weft_context *ctx, wi_graphs *g) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const cudaStream_t stream = ctx->gpu->stream;
    if (ctx->gpu->lane > 0)
        return false;
    if (g->capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    if (g->stream != stream) {
        int priority = 1;
        g->plain = cudaStreamGetPriority(stream, &priority) == cudaSuccess && priority == 0;
        g->stream = stream;
    }
    return g->plain;
}

/* Where a kernel is, or may be put; NULL if there is no room. */
static struct wi_kernel_graph *place_of(wi_graphs *g, const void *function) {
    const uint64_t spread = 0x9e3779b97f4a7c15u;
    const uint64_t mixed = (uint64_t)(uintptr_t)function * spread >> 32;
    for (unsigned k = 0; k < WI_GRAPHS_NEAR; k++) {
        struct wi_kernel_graph *const place = &g->known[(mixed + k) & (WI_GRAPHS_KEPT - 1)];
        if (place->function == function || !place->function)
            return place;
    }
    return NULL;
}

/* The graph of a kernel. False if it can have none. */
static bool make(struct wi_kernel_graph *k, const wi_launch_shape *shape, void **arguments) {
    const struct cudaKernelNodeParams node = node_of(shape, arguments);
    /* This thread may be capturing another stream, which what takes memory would disturb. */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaFunction_t handle = NULL;
    cudaError_t error = cudaGetFuncBySymbol(&handle, shape->function);
    if (error == cudaSuccess)
        error = open_graph(&k->graph, &node);
    cudaThreadExchangeStreamCaptureMode(&mode);
    k->handle = handle;
    if (error == cudaSuccess)
        return true;
    cudaGetLastError(); /* clear the error: the usual launch tells its own */
    k->refused = true;
    return false;
}

void wi_gpu_call_begins(weft_context *ctx) {
    wi_graphs *const g = graphs_of(ctx);
    if (g->depth++ > 0)
        return;
    g->launches = 0;
    g->first = NULL;
}

void wi_gpu_call_ends(weft_context *ctx) {
    wi_graphs *const g = graphs_of(ctx);
    if (--g->depth == 0 && g->first)
        g->first->alone = g->launches == 1;
}

void wi_gpu_call_nests(weft_context *ctx) {
    graphs_of(ctx)->launches++; /* so it is not alone */
}

/* Notes the launch of a kernel; returns its place if it is the first of a rung and usually alone.
 */
static struct wi_kernel_graph *alone(wi_graphs *g, const void *function) {
    struct wi_kernel_graph *const k = place_of(g, function);
    if (g->latest && g->latest->leads > 0)
        g->latest->leads--;
    g->latest = k;
    if (g->depth == 0 || g->launches++ > 0 || !k)
        return NULL;
    k->function = function;
    g->first = k;
    return k->alone && !k->refused && k->leads == 0 ? k : NULL;
}

bool wi_graphs_launch(weft_context *ctx, const wi_launch_shape *shape, void **arguments) {
    wi_graphs *const g = graphs_of(ctx);
    if (!g->set)
        return false;
    struct wi_kernel_graph *const k = alone(g, shape->function);
    if (!k || !may_launch(ctx, g) || (!k->graph.ready && !make(k, shape, arguments)))
        return false;
    const unsigned *const blocks = shape->blocks, *const threads = shape->threads;
    const CUDA_KERNEL_NODE_PARAMS node = {.func = k->handle,
                                          .gridDimX = blocks[0],
                                          .gridDimY = blocks[1],
                                          .gridDimZ = blocks[2],
                                          .blockDimX = threads[0],
                                          .blockDimY = threads[1],
                                          .blockDimZ = threads[2],
                                          .sharedMemBytes = (unsigned)shape->shared_bytes,
                                          .kernelParams = arguments};
    return g->set(k->graph.ready, k->graph.node, &node) == CUDA_SUCCESS &&
           g->launch(k->graph.ready, ctx->gpu->stream) == CUDA_SUCCESS;
}

void wi_graphs_note(weft_context *ctx, bool ahead) {
    wi_graphs *const g = graphs_of(ctx);
    if (g->latest && ahead)
        g->latest->leads = LEADS;
    g->latest = NULL;
    g->launches++;
}

bool wi_graphs_is_device(const weft_context *ctx, const void *p) {
    const wi_graphs *const g = graphs_of(ctx);
    unsigned kind = 0;
    int device = -1;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&kind, &device};
    return g->pointer && g->pointer(2, names, values, (CUdeviceptr)(uintptr_t)p) == CUDA_SUCCESS &&
           kind == CU_MEMORYTYPE_DEVICE && device == ctx->device;
}
#endif
