/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels are launched and how they declare shared memory. Kernels use only these macros, so
 * that the same source also runs on emu, without a GPU. */
#ifndef WI_LAUNCH_CUH
#define WI_LAUNCH_CUH

#include "core/gpu.h"

/* Queues kernel<<<blocks, threads, shared_bytes>>>(arguments...) on the context's stream. Returns
 * WEFT_OK, or the failure with a message that names the kernel, the limit that it exceeded and the
 * figure asked for. A kernel with several template arguments goes in parentheses:
 * WEFT_LAUNCH((tile<T, N>), ctx, ...). */
#define WEFT_LAUNCH(kernel, ctx, blocks, threads, shared_bytes, ...)                               \
    wi_launch(ctx, #kernel, kernel, blocks, threads, shared_bytes, __VA_ARGS__)

/* The same for a kernel that may begin while what was queued before it ends: cuda/ahead.cuh. In a
 * graph that is captured, and before compute capability 9.0, it begins as any other. */
#define WEFT_LAUNCH_AHEAD(kernel, ctx, blocks, threads, shared_bytes, ...)                         \
    wi_launch_ahead(ctx, #kernel, kernel, blocks, threads, shared_bytes, __VA_ARGS__)

/* The same for a kernel whose blocks form clusters of `cluster` blocks, chosen at launch; the
 * number of blocks is a multiple of it. Needs compute capability 9.0. */
#define WEFT_LAUNCH_CLUSTER(kernel, ctx, blocks, threads, cluster, shared_bytes, ...)              \
    wi_launch_cluster(ctx, #kernel, kernel, blocks, threads, cluster, shared_bytes, __VA_ARGS__)

/* The same for a kernel whose cluster size is fixed at compile time, by WEFT_CLUSTER(cluster)
 * between `__global__ void` and its name. */
#ifdef WEFT_EMU
#    define WEFT_CLUSTER(cluster)
#    define WEFT_LAUNCH_FIXED_CLUSTER WEFT_LAUNCH_CLUSTER
#    define WEFT_LAUNCH_FIXED_CLUSTER_AHEAD WEFT_LAUNCH_CLUSTER
#else
#    ifndef WI_SHARED_PTX /* where one PTX serves 8.0 too there are no clusters: WeftCuda.cmake */
#        if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#            define WEFT_CLUSTER(cluster)
#        else
#            define WEFT_CLUSTER(cluster) __cluster_dims__(cluster, 1, 1)
#        endif
#    endif
#    define WEFT_LAUNCH_FIXED_CLUSTER(kernel, ctx, blocks, threads, cluster, shared_bytes, ...)    \
        WEFT_LAUNCH(kernel, ctx, blocks, threads, shared_bytes, __VA_ARGS__)
/* And which may begin while what was queued before it ends. */
#    define WEFT_LAUNCH_FIXED_CLUSTER_AHEAD(kernel, ctx, blocks, threads, cluster, shared_bytes,   \
                                            ...)                                                   \
        WEFT_LAUNCH_AHEAD(kernel, ctx, blocks, threads, shared_bytes, __VA_ARGS__)
#endif

/* WEFT_SHARED(float, sums, [32]) declares `float sums[32]` in the block's shared memory,
 * WEFT_SHARED(bool, last, ) a single bool. */
#ifdef WEFT_EMU
#    define WEFT_SHARED(type, name, extent)                                                        \
        using name##_in_shared = type extent;                                                      \
        static const char name##_key = 0;                                                          \
        name##_in_shared &name = *(name##_in_shared *)emu_shared(                                  \
            &name##_key, sizeof(name##_in_shared), alignof(name##_in_shared))
#    define WEFT_DYNAMIC_SHARED(name) unsigned char *const name = emu_dynamic_shared()
#else
#    define WEFT_SHARED(type, name, extent) __shared__ type name extent
#    define WEFT_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#endif

/* WEFT_CONSTANT(float, weights, [49]) declares constant memory, at file scope; the host sets it
 * with wi_set_constant before a launch. */
#ifdef WEFT_EMU
#    define WEFT_CONSTANT(type, name, extent) static type name extent
#else
#    define WEFT_CONSTANT(type, name, extent) static __constant__ type name extent
#endif

/* Queues a copy of *value, as many bytes as the constant has, on the context's stream. */
template <class T>
weft_status wi_set_constant(weft_context *ctx, T &constant, const T *value) {
#ifdef WEFT_EMU
    return wi_cuda(ctx, emu_set_constant(&constant, value, sizeof(T), ctx->gpu->stream),
                   "setting a constant");
#else
    return wi_cuda(ctx,
                   cudaMemcpyToSymbolAsync(constant, value, sizeof(T), 0, cudaMemcpyHostToDevice,
                                           ctx->gpu->stream),
                   "setting a constant");
#endif
}

/* A kernel must ask for more than 48 KiB of shared memory. Its static arrays count too, so a third
 * is left for them. */
constexpr size_t wi_shared_default = 32 * 1024;

inline wi_launch_shape wi_shape_of(const char *name, const void *kernel, dim3 blocks, dim3 threads,
                                   unsigned cluster, size_t shared_bytes) {
    return {name,    kernel,      {blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z},
            cluster, shared_bytes};
}

/* Where a context remembers what it asked for a kernel. */
inline struct wi_granted *wi_granted_of(weft_context *ctx, const void *kernel) {
    constexpr uint64_t spread = 0x9e3779b97f4a7c15u;
    const uint64_t mixed = (uint64_t)(uintptr_t)kernel * spread;
    return &ctx->gpu->granted[mixed >> 32 & (WI_GRANTS_KEPT - 1)];
}

/* All that a block of the kernel may have beside its static arrays, so that no other context that
 * asks leaves it with less. */
inline size_t wi_most_shared(weft_context *ctx, const void *kernel, size_t wanted) {
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
        cudaGetLastError(); /* clear the error: the next call tells it */
        return wanted;
    }
    if (attributes.sharedSizeBytes + wanted > ctx->gpu->shared_optin)
        return wanted;
    return ctx->gpu->shared_optin - attributes.sharedSizeBytes;
}

/* Lets the kernel use that much dynamic shared memory; `name` is its name in messages. */
template <class... Parameters>
weft_status wi_grant_shared(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                            size_t shared_bytes) {
    const void *const function = (const void *)kernel;
    struct wi_granted *const granted = wi_granted_of(ctx, function);
    if (shared_bytes <= wi_shared_default ||
        (granted->kernel == function && shared_bytes <= granted->bytes))
        return WEFT_OK;
    const size_t most = wi_most_shared(ctx, function, shared_bytes);
    const cudaError_t error =
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most);
    if (error == cudaSuccess) {
        *granted = {function, most};
        return WEFT_OK;
    }
    const wi_launch_shape shape = wi_shape_of(name, function, 1, 1, 1, shared_bytes);
    return wi_launch_failed(ctx, &shape, error);
}

template <class... Parameters, class... Arguments>
weft_status wi_launch(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                      dim3 blocks, dim3 threads, size_t shared_bytes, Arguments... arguments) {
    const weft_status status = wi_grant_shared(ctx, name, kernel, shared_bytes);
    if (status != WEFT_OK)
        return status;
#ifdef WEFT_EMU
    emu_launch((const void *)kernel, ctx->gpu->stream,
               {name, blocks, threads, 1, shared_bytes, [=] { kernel(Parameters(arguments)...); }});
#else
    kernel<<<blocks, threads, shared_bytes, ctx->gpu->stream>>>(Parameters(arguments)...);
#endif
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes);
    return wi_launched(ctx, &shape, cudaGetLastError());
}

#ifndef WEFT_EMU
/* How to launch with so many attributes, which must live as long as the result. */
inline cudaLaunchConfig_t wi_config_of(weft_context *ctx, dim3 blocks, dim3 threads,
                                       size_t shared_bytes, cudaLaunchAttribute *attributes,
                                       unsigned count) {
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = ctx->gpu->stream;
    config.attrs = attributes;
    config.numAttrs = count;
    return config;
}
#endif

template <class... Parameters, class... Arguments>
weft_status wi_launch_ahead(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                            dim3 blocks, dim3 threads, size_t shared_bytes,
                            Arguments... arguments) {
#ifdef WEFT_EMU
    return wi_launch(ctx, name, kernel, blocks, threads, shared_bytes, arguments...);
#else
    const weft_status status = wi_grant_shared(ctx, name, kernel, shared_bytes);
    if (status != WEFT_OK)
        return status;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const unsigned count = wi_gpu_capturing(ctx) || ctx->gpu->capability < 90 ? 0 : 1;
    const cudaLaunchConfig_t config =
        wi_config_of(ctx, blocks, threads, shared_bytes, &attribute, count);
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes);
    return wi_launched(ctx, &shape, error);
#endif
}

/* Is this cluster to be marked (wi_gpu_mark_cluster)? To be asked once, by its launch: the next one
 * is not. */
inline bool wi_marks_cluster(weft_context *ctx) {
    const bool marks = ctx->gpu->marks;
    ctx->gpu->marks = false;
    return marks;
}

#ifndef WEFT_EMU
/* How to launch clusters; `attribute` must live as long as the result. */
inline cudaLaunchConfig_t wi_cluster_config(weft_context *ctx, dim3 blocks, dim3 threads,
                                            unsigned cluster, size_t shared_bytes,
                                            cudaLaunchAttribute *attribute) {
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = cluster;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    return wi_config_of(ctx, blocks, threads, shared_bytes, attribute, 1);
}
#endif

/* What a kernel in clusters must ask for before its launch: its shared memory, and clusters of more
 * than eight blocks. */
template <class... Parameters>
weft_status wi_grant_cluster(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                             unsigned cluster, size_t shared_bytes) {
    weft_status status = wi_grant_shared(ctx, name, kernel, shared_bytes);
    if (status == WEFT_OK && cluster > 8)
        status = wi_cuda(ctx,
                         cudaFuncSetAttribute((const void *)kernel,
                                              cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                         "asking for clusters of more than 8 blocks");
    return status;
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_cluster(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                              dim3 blocks, dim3 threads, unsigned cluster, size_t shared_bytes,
                              Arguments... arguments) {
    const weft_status status = wi_grant_cluster(ctx, name, kernel, cluster, shared_bytes);
    if (status != WEFT_OK)
        return status;
#ifdef WEFT_EMU
    if (wi_marks_cluster(ctx))
        cudaEventRecord(ctx->gpu->begun, ctx->gpu->stream);
    emu_launch(
        (const void *)kernel, ctx->gpu->stream,
        {name, blocks, threads, cluster, shared_bytes, [=] { kernel(Parameters(arguments)...); }});
    const cudaError_t error = cudaGetLastError();
#else
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config =
        wi_cluster_config(ctx, blocks, threads, cluster, shared_bytes, attributes);
    if (wi_marks_cluster(ctx)) {
        attributes[1].id = cudaLaunchAttributeLaunchCompletionEvent;
        attributes[1].val.launchCompletionEvent.event = ctx->gpu->begun;
        attributes[1].val.launchCompletionEvent.flags = 0;
        config.numAttrs = 2;
    }
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
#endif
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, cluster, shared_bytes);
    return wi_launched(ctx, &shape, error);
}

/* How many clusters of a kernel the device can hold at once; 0 if none. */
template <class... Parameters>
weft_status wi_resident_clusters(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                                 int threads, unsigned cluster, size_t shared_bytes,
                                 size_t *clusters) {
    constexpr const char *doing = "counting the clusters a device can hold";
    int count = 0;
    *clusters = 0;
    weft_status status = wi_grant_cluster(ctx, name, kernel, cluster, shared_bytes);
    if (status != WEFT_OK)
        return status;
#ifdef WEFT_EMU
    status = wi_cuda(
        ctx, emu_cluster_occupancy(&count, (const void *)kernel, threads, cluster, shared_bytes),
        doing);
#else
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config =
        wi_cluster_config(ctx, cluster, (unsigned)threads, cluster, shared_bytes, &attribute);
    status = wi_cuda(ctx, cudaOccupancyMaxActiveClusters(&count, kernel, &config), doing);
#endif
    *clusters = (size_t)count;
    return status;
}

/* How many blocks of a kernel the device can hold at once, at least 1. */
template <class... Parameters>
weft_status wi_resident_blocks(weft_context *ctx, void (*kernel)(Parameters...), int threads,
                               size_t shared_bytes, size_t *blocks) {
    int per_multiprocessor = 0;
    weft_status status =
        wi_cuda(ctx,
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &per_multiprocessor, (const void *)kernel, threads, shared_bytes),
                "counting the blocks a multiprocessor can hold");
    if (per_multiprocessor < 1)
        per_multiprocessor = 1;
    *blocks = (size_t)per_multiprocessor * (size_t)ctx->gpu->multiprocessors;
    return status;
}

#endif
