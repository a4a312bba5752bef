/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the layers share. */
#ifndef WI_LAYERS_CUDA_CUH
#define WI_LAYERS_CUDA_CUH

#include "cuda/bits.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "nn/layers.h"

constexpr int wi_layer_threads = 256;
constexpr int wi_layer_each = 4; /* elements of a thread, a block's threads apart */

/* Elements of a block. */
constexpr size_t wi_layer_block = (size_t)wi_layer_threads * wi_layer_each;

inline size_t wi_layer_pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Refuses a grid of more blocks than a launch takes. */
inline weft_status wi_layer_check_grid(weft_context *ctx, size_t blocks) {
    if (blocks <= INT32_MAX)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "weft: the layer needs %zu blocks of threads, more than the 2^31 - 1 of a "
                   "launch; split the batch",
                   blocks);
}

/* Calls f(wi_tag<T>{}) with float or double. */
template <class F>
weft_status wi_layer_with_type(weft_type type, F f) {
    return type == WEFT_F32 ? f(wi_tag<float>{}) : f(wi_tag<double>{});
}

/* Calls f(i) for this thread's elements of n. */
template <class F>
__device__ inline void wi_layer_each_of(size_t n, F f) {
    const size_t first = (size_t)blockIdx.x * wi_layer_block + threadIdx.x;
#pragma unroll
    for (int k = 0; k < wi_layer_each; k++) {
        const size_t i = first + (size_t)(k * wi_layer_threads);
        if (i < n)
            f(i);
    }
}

#endif
