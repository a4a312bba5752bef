/* SPDX-License-Identifier: Apache-2.0 */
/* Starts kernels: the part of cuda/launch.cuh that is the same for all of them. */
#include "core/gpu_graphs.h"

/* A kernel that wants more than 48 KiB of shared memory must ask for it. Its static arrays count as
 * well: a third of the 48 KiB is left for them. */
static const size_t shared_default = 32 * 1024;

enum {
    /* Blocks of a cluster that every device with clusters can run; for more a kernel must ask. */
    PORTABLE_CLUSTER = 8
};

/* Where a context remembers what it asked for a kernel. */
static struct wi_granted *granted_of(weft_context *ctx, const void *function) {
    const uint64_t spread = 0x9e3779b97f4a7c15u;
    const uint64_t mixed = (uint64_t)(uintptr_t)function * spread;
    return &ctx->gpu->granted[mixed >> 32 & (WI_GRANTS_KEPT - 1)];
}

/* How much shared memory to ask for: all that a block may have beside its static arrays. The
 * setting belongs to the process; if each context asked only for what it wants, a later one that
 * wants less would take it from the others. */
static size_t most_shared(weft_context *ctx, const void *function, size_t wanted) {
    struct cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, function) != cudaSuccess) {
        cudaGetLastError(); /* clear the error: the next call tells it */
        return wanted;
    }
    if (attributes.sharedSizeBytes + wanted > ctx->gpu->shared_optin)
        return wanted;
    return ctx->gpu->shared_optin - attributes.sharedSizeBytes;
}

weft_status wi_gpu_grant(weft_context *ctx, const char *name, const void *function,
                         size_t shared_bytes) {
    struct wi_granted *const granted = granted_of(ctx, function);
    if (shared_bytes <= shared_default ||
        (granted->kernel == function && shared_bytes <= granted->bytes))
        return WEFT_OK;
    const size_t most = most_shared(ctx, function, shared_bytes);
    const cudaError_t error =
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most);
    if (error == cudaSuccess) {
        *granted = (struct wi_granted){function, most};
        return WEFT_OK;
    }
    const wi_launch_shape shape = {.kernel = name,
                                   .function = function,
                                   .blocks = {1, 1, 1},
                                   .threads = {1, 1, 1},
                                   .cluster = 1,
                                   .shared_bytes = shared_bytes};
    return wi_launch_failed(ctx, &shape, error);
}

weft_status wi_gpu_grant_cluster(weft_context *ctx, const char *name, const void *function,
                                 unsigned cluster, size_t shared_bytes) {
    weft_status status = wi_gpu_grant(ctx, name, function, shared_bytes);
    if (status == WEFT_OK && cluster > PORTABLE_CLUSTER)
        status = wi_cuda(
            ctx, cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "asking for clusters of more than 8 blocks");
    return status;
}

#ifndef WEFT_EMU
weft_status wi_gpu_launch(weft_context *ctx, const wi_launch_shape *shape, void **arguments) {
    const weft_status status =
        wi_gpu_grant(ctx, shape->kernel, shape->function, shape->shared_bytes);
    if (status != WEFT_OK)
        return status;
    if (wi_graphs_launch(ctx, shape, arguments))
        return wi_launched(ctx, shape, cudaGetLastError());
    const unsigned *const blocks = shape->blocks, *const threads = shape->threads;
    cudaLaunchKernel(shape->function, (dim3){blocks[0], blocks[1], blocks[2]},
                     (dim3){threads[0], threads[1], threads[2]}, arguments, shape->shared_bytes,
                     ctx->gpu->stream);
    return wi_launched(ctx, shape, cudaGetLastError());
}

/* Launches with so many attributes. */
static weft_status launch_with(weft_context *ctx, const wi_launch_shape *shape,
                               cudaLaunchAttribute *attributes, unsigned count, void **arguments) {
    const unsigned *const blocks = shape->blocks, *const threads = shape->threads;
    const cudaLaunchConfig_t config = {.gridDim = {blocks[0], blocks[1], blocks[2]},
                                       .blockDim = {threads[0], threads[1], threads[2]},
                                       .dynamicSmemBytes = shape->shared_bytes,
                                       .stream = ctx->gpu->stream,
                                       .attrs = attributes,
                                       .numAttrs = count};
    return wi_launched(ctx, shape, cudaLaunchKernelExC(&config, shape->function, arguments));
}

weft_status wi_gpu_launch_ahead(weft_context *ctx, const wi_launch_shape *shape, void **arguments) {
    const weft_status status =
        wi_gpu_grant(ctx, shape->kernel, shape->function, shape->shared_bytes);
    if (status != WEFT_OK)
        return status;
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization};
    attribute.val.programmaticStreamSerializationAllowed = 1;
    wi_graphs_note(ctx, true);
    const unsigned count = wi_gpu_capturing(ctx) || ctx->gpu->capability < 90 ? 0 : 1;
    return launch_with(ctx, shape, &attribute, count, arguments);
}

weft_status wi_gpu_launch_cluster(weft_context *ctx, const wi_launch_shape *shape,
                                  void **arguments) {
    const weft_status status = wi_gpu_grant_cluster(ctx, shape->kernel, shape->function,
                                                    shape->cluster, shape->shared_bytes);
    if (status != WEFT_OK)
        return status;
    wi_graphs_note(ctx, false);
    cudaLaunchAttribute attributes[2] = {{.id = cudaLaunchAttributeClusterDimension},
                                         {.id = cudaLaunchAttributeLaunchCompletionEvent}};
    attributes[0].val.clusterDim.x = shape->cluster;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].val.launchCompletionEvent.event = ctx->gpu->begun;
    attributes[1].val.launchCompletionEvent.flags = 0;
    return launch_with(ctx, shape, attributes, wi_gpu_marks_cluster(ctx) ? 2 : 1, arguments);
}
#endif

bool wi_gpu_marks_cluster(weft_context *ctx) {
    const bool marks = ctx->gpu->marks;
    ctx->gpu->marks = false;
    return marks;
}
