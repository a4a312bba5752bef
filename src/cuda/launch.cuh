/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels are launched and how they declare shared memory. Kernels use only these macros, so
 * that the same source also runs on emu, without a GPU. */
#ifndef WI_LAUNCH_CUH
#define WI_LAUNCH_CUH

#include "core/gpu.h"
#include "cuda/bits.cuh"

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

/* The same by a graph (wi_launch_graph, core/gpu.h); without dynamic shared memory. */
#define WEFT_LAUNCH_BY_GRAPH(kernel, ctx, graph, blocks, threads, ...)                             \
    wi_launch_by_graph(ctx, graph, #kernel, kernel, blocks, threads, __VA_ARGS__)

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

/* Lets the kernel use that much dynamic shared memory; `name` is its name in messages. */
template <class... Parameters>
weft_status wi_grant_shared(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                            size_t shared_bytes) {
    return wi_gpu_grant(ctx, name, (const void *)kernel, shared_bytes);
}

inline wi_launch_shape wi_shape_of(const char *name, const void *kernel, dim3 blocks, dim3 threads,
                                   unsigned cluster, size_t shared_bytes) {
    return {name,    kernel,      {blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z},
            cluster, shared_bytes};
}

#ifdef WEFT_EMU
template <class... Parameters, class... Arguments>
weft_status wi_launch(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                      dim3 blocks, dim3 threads, size_t shared_bytes, Arguments... arguments) {
    const weft_status status = wi_grant_shared(ctx, name, kernel, shared_bytes);
    if (status != WEFT_OK)
        return status;
    emu_launch((const void *)kernel, ctx->gpu->stream,
               {name, blocks, threads, 1, shared_bytes, [=] { kernel(Parameters(arguments)...); }});
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes);
    return wi_launched(ctx, &shape, cudaGetLastError());
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_ahead(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                            dim3 blocks, dim3 threads, size_t shared_bytes,
                            Arguments... arguments) {
    return wi_launch(ctx, name, kernel, blocks, threads, shared_bytes, arguments...);
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_cluster(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                              dim3 blocks, dim3 threads, unsigned cluster, size_t shared_bytes,
                              Arguments... arguments) {
    const weft_status status =
        wi_gpu_grant_cluster(ctx, name, (const void *)kernel, cluster, shared_bytes);
    if (status != WEFT_OK)
        return status;
    if (wi_gpu_marks_cluster(ctx))
        cudaEventRecord(ctx->gpu->begun, ctx->gpu->stream);
    emu_launch(
        (const void *)kernel, ctx->gpu->stream,
        {name, blocks, threads, cluster, shared_bytes, [=] { kernel(Parameters(arguments)...); }});
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, cluster, shared_bytes);
    return wi_launched(ctx, &shape, cudaGetLastError());
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_by_graph(weft_context *ctx, wi_launch_graph *, const char *name,
                               void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                               Arguments... arguments) {
    return wi_launch(ctx, name, kernel, blocks, threads, 0, arguments...);
}
#else
/* There is a launch for each kernel, so these only take the addresses of arguments that have the
 * types of its parameters, and core/gpu_start.c does the rest. An argument as a parameter is
 * itself, if it has that type, and else its value. */
template <class Parameter, class Argument>
struct wi_as {
    static Parameter of(const Argument &argument) {
        return Parameter(argument);
    }
};
template <class Same>
struct wi_as<Same, Same> {
    static const Same &of(const Same &argument) {
        return argument;
    }
};

typedef weft_status wi_starter(weft_context *ctx, const wi_launch_shape *shape, void **arguments);

template <class... Parameters>
weft_status wi_start(weft_context *ctx, wi_starter *start, const wi_launch_shape &shape,
                     const Parameters &...parameters) {
    void *addresses[sizeof...(Parameters) + 1] = {(void *)&parameters...};
    return start(ctx, &shape, addresses);
}

template <class... Parameters, class... Arguments>
weft_status wi_launch(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                      dim3 blocks, dim3 threads, size_t shared_bytes,
                      const Arguments &...arguments) {
    return wi_start<Parameters...>(
        ctx, wi_gpu_launch,
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes),
        wi_as<Parameters, Arguments>::of(arguments)...);
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_ahead(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                            dim3 blocks, dim3 threads, size_t shared_bytes,
                            const Arguments &...arguments) {
    return wi_start<Parameters...>(
        ctx, wi_gpu_launch_ahead,
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes),
        wi_as<Parameters, Arguments>::of(arguments)...);
}

template <class... Parameters, class... Arguments>
weft_status wi_launch_cluster(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                              dim3 blocks, dim3 threads, unsigned cluster, size_t shared_bytes,
                              const Arguments &...arguments) {
    return wi_start<Parameters...>(
        ctx, wi_gpu_launch_cluster,
        wi_shape_of(name, (const void *)kernel, blocks, threads, cluster, shared_bytes),
        wi_as<Parameters, Arguments>::of(arguments)...);
}

/* The arguments have the types of the parameters. */
template <class... Parameters>
weft_status wi_launch_by_graph(weft_context *ctx, wi_launch_graph *graph, const char *name,
                               void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                               const typename wi_tag<Parameters>::type &...arguments) {
    void *addresses[] = {(void *)&arguments...};
    const wi_launch_shape shape = wi_shape_of(name, (const void *)kernel, blocks, threads, 1, 0);
    return wi_gpu_launch_by_graph(ctx, graph, &shape, addresses);
}
#endif

/* How many clusters of a kernel the device can hold at once; 0 if none. */
template <class... Parameters>
weft_status wi_resident_clusters(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                                 int threads, unsigned cluster, size_t shared_bytes,
                                 size_t *clusters) {
    constexpr const char *doing = "counting the clusters a device can hold";
    int count = 0;
    *clusters = 0;
    weft_status status =
        wi_gpu_grant_cluster(ctx, name, (const void *)kernel, cluster, shared_bytes);
    if (status != WEFT_OK)
        return status;
#ifdef WEFT_EMU
    status = wi_cuda(
        ctx, emu_cluster_occupancy(&count, (const void *)kernel, threads, cluster, shared_bytes),
        doing);
#else
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = cluster;
    config.blockDim = (unsigned)threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = ctx->gpu->stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
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
