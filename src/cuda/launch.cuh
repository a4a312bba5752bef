/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel is launched and how it names its shared memory. Kernels use these and nothing else,
 * so that the same source also runs where there is no GPU. */
#ifndef WI_LAUNCH_CUH
#define WI_LAUNCH_CUH

#include "core/gpu.h"

/* Queues kernel<<<blocks, threads, shared_bytes>>>(arguments...) on the context's stream; gives
 * WEFT_OK, or the failure with a message that names the kernel. Kernels with several template
 * arguments go in parentheses: WEFT_LAUNCH((tile<T, N>), ctx, ...). */
#define WEFT_LAUNCH(kernel, ctx, blocks, threads, shared_bytes, ...)                               \
    wi_launch(ctx, "launch of " #kernel, kernel, blocks, threads, shared_bytes, __VA_ARGS__)

/* WEFT_SHARED(float, sums, [32]) declares `float sums[32]` in the block's shared memory, and
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

/* Beyond this a kernel must ask before it may use dynamic shared memory. */
constexpr size_t wi_shared_default = 48 * 1024;

template <class... Parameters, class... Arguments>
weft_status wi_launch(weft_context *ctx, const char *doing, void (*kernel)(Parameters...),
                      dim3 blocks, dim3 threads, size_t shared_bytes, Arguments... arguments) {
    if (shared_bytes > wi_shared_default) {
        weft_status status = wi_cuda(
            ctx,
            cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)shared_bytes),
            doing);
        if (status != WEFT_OK)
            return status;
    }
#ifdef WEFT_EMU
    emu_launch(doing, (const void *)kernel, blocks, threads, shared_bytes, ctx->gpu->stream,
               [=] { kernel(Parameters(arguments)...); });
#else
    kernel<<<blocks, threads, shared_bytes, ctx->gpu->stream>>>(Parameters(arguments)...);
#endif
    return wi_cuda(ctx, cudaGetLastError(), doing);
}

/* As many blocks of a kernel as the device can hold at once, at least 1. */
template <class... Parameters>
weft_status wi_resident_blocks(weft_context *ctx, void (*kernel)(Parameters...), int threads,
                               size_t shared_bytes, size_t *blocks) {
    int per_multiprocessor = 0;
    weft_status status = wi_cuda(ctx,
                                 cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                     &per_multiprocessor, kernel, threads, shared_bytes),
                                 "counting the blocks a multiprocessor can hold");
    if (per_multiprocessor < 1)
        per_multiprocessor = 1;
    *blocks = (size_t)per_multiprocessor * (size_t)ctx->gpu->multiprocessors;
    return status;
}

#endif
