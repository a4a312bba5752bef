/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the layers share. */
#ifndef WI_LAYERS_CUDA_CUH
#define WI_LAYERS_CUDA_CUH

#include "cuda/bits.cuh"
#include "cuda/floats.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "nn/divisor.cuh"
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

/* Finds the image, the channel and the place in the plane of an element. */
struct wi_layer_finder {
    wi_nn_divisor image, inner; /* inner: pixels of a plane, or channels */
    bool planes, narrow;        /* narrow: there are fewer than 2^32 elements */

    wi_layer_finder() = default;
    wi_layer_finder(bool planes_, size_t n, size_t channels, size_t plane)
        : image((unsigned)(channels * plane)), inner((unsigned)(planes_ ? plane : channels)),
          planes(planes_), narrow(n <= UINT32_MAX) {}

    struct place {
        size_t image;
        unsigned channel, in_plane;
    };
    __device__ place of(size_t i) const {
        place at;
        at.image = narrow ? image.of((unsigned)i) : i / image.by;
        const unsigned rest = (unsigned)(i - at.image * image.by), line = inner.of(rest);
        at.channel = planes ? line : rest - line * inner.by;
        at.in_plane = planes ? rest - line * inner.by : line;
        return at;
    }
};

/* Calls f(i) for this thread's elements of n. */
template <int unrolled = wi_layer_each, class F>
__device__ inline void wi_layer_each_of(size_t n, F f) {
    const size_t first = (size_t)blockIdx.x * wi_layer_block + threadIdx.x;
#pragma unroll(unrolled)
    for (int k = 0; k < wi_layer_each; k++) {
        const size_t i = first + (size_t)(k * wi_layer_threads);
        if (i < n)
            f(i);
    }
}

#endif
