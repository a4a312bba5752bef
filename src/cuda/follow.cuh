/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in a chain: a kernel's blocks begin while the last blocks of the kernel before still
 * run, and wait for its end themselves (compute capability 9.0). What a launch takes is then over
 * when they go on. On other devices, and while a graph is captured, such a launch is a usual one.
 *
 * A kernel that is launched so calls wi_follow() before anything else, in every thread: not even
 * blocks without work may end before, for the next kernel waits for this one only. */
#ifndef WI_FOLLOW_CUH
#define WI_FOLLOW_CUH

#include "cuda/launch.cuh"

/* The kernels before have ended, and what they wrote is there. */
__device__ inline void wi_follow() {
#if !defined(WEFT_EMU) && !defined(WI_SHARED_PTX) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if defined(WEFT_EMU) || defined(WI_SHARED_PTX)
#    define WEFT_LAUNCH_FOLLOWING WEFT_LAUNCH
#else
#    define WEFT_LAUNCH_FOLLOWING(kernel, ctx, blocks, threads, shared_bytes, ...)                 \
        wi_launch_following(ctx, #kernel, kernel, blocks, threads, shared_bytes, __VA_ARGS__)

template <class... Parameters, class... Arguments>
weft_status wi_launch_following(weft_context *ctx, const char *name, void (*kernel)(Parameters...),
                                dim3 blocks, dim3 threads, size_t shared_bytes,
                                Arguments... arguments) {
    /* TEMPORARY: WEFT_FOLLOW=0 measures what it brings; to be removed */
    static const char *const wish = getenv("WEFT_FOLLOW");
    if (ctx->gpu->capability < 90 || wi_gpu_capturing(ctx) || (wish && *wish == '0'))
        return wi_launch(ctx, name, kernel, blocks, threads, shared_bytes, arguments...);
    const weft_status status = wi_grant_shared(ctx, name, kernel, shared_bytes);
    if (status != WEFT_OK)
        return status;
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = ctx->gpu->stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
    const wi_launch_shape shape =
        wi_shape_of(name, (const void *)kernel, blocks, threads, 1, shared_bytes);
    return wi_launched(ctx, &shape, error);
}
#endif

#endif
