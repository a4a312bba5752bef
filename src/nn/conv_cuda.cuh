/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of conv share: the call as kernels see it, and sums over a block. */
#ifndef WI_CONV_CUDA_CUH
#define WI_CONV_CUDA_CUH

#include "cuda/bits.cuh"
#include "cuda/floats.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "nn/conv.h"

/* The sizes of a call. All fit an int, also those of a whole image and of all weights. */
struct wi_conv_sizes {
    bool planes;           /* NCHW */
    int channels, filters; /* of a group */
    int height, width, out_height, out_width;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    wi_image_steps x, f, y;
};

inline wi_conv_sizes wi_conv_sizes_of(const wi_conv_args *a) {
    return {a->in.layout == WEFT_NCHW,
            (int)wi_conv_channels(a),
            (int)wi_conv_filters(a),
            (int)a->in.h,
            (int)a->in.w,
            (int)a->out.h,
            (int)a->out.w,
            (int)a->kernel_h,
            (int)a->kernel_w,
            (int)a->stride_h,
            (int)a->stride_w,
            (int)a->pad_h,
            (int)a->pad_w,
            (int)a->dilation_h,
            (int)a->dilation_w,
            wi_image_steps_of(&a->in),
            wi_conv_filter_steps(a),
            wi_image_steps_of(&a->out)};
}

inline size_t wi_conv_pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Refuses a grid of more blocks than a launch takes. */
inline weft_status wi_conv_check_grid(weft_context *ctx, size_t blocks) {
    if (blocks <= INT32_MAX)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "weft_conv: the call needs %zu blocks of threads, more than the 2^31 - 1 of a "
                   "launch; split the batch",
                   blocks);
}

/* In one direction, for the gradient of x: pixels `first`, first + stride ... of x are multiplied
 * by the same weights, every `weight_step`-th from `first_weight` on. */
struct wi_conv_class {
    int pixels, first_weight, weight_step, weights;
    int first, unit; /* pixel i and weight j of these belong to pixel i + first - j unit of y */
};

inline wi_conv_class wi_conv_class_of(size_t first, size_t extent, size_t stride, size_t dilation,
                                      size_t kernel, size_t pad) {
    const long long at = (long long)(first + pad), s = (long long)stride, d = (long long)dilation;
    long long a = s, b = d; /* a becomes their greatest common divisor */
    while (b) {
        const long long rest = a % b;
        a = b;
        b = rest;
    }
    const long long step = s / a;
    wi_conv_class c = {};
    c.pixels = (int)((extent - first + stride - 1) / stride);
    c.weight_step = (int)step;
    c.unit = (int)(d * step / s);
    for (long long r = 0; r < step && r < (long long)kernel; r++)
        if ((at - r * d) % s == 0) {
            c.first_weight = (int)r;
            c.weights = (int)(((long long)kernel - r + step - 1) / step);
            c.first = (int)((at - r * d) / s);
            break;
        }
    return c;
}

/* The sum over a block of whole warps, in thread 0; always in the same order. All threads call it.
 */
template <int threads, class T>
__device__ inline T wi_conv_block_sum(T x) {
    WEFT_SHARED(T, of_warps, [threads / 32]);
    const auto plus = [](T a, T b) { return a + b; };
    x = wi_warp_reduce(x, plus);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = x;
    __syncthreads();
    T sum = 0;
    if (threadIdx.x == 0)
        for (int warp = 0; warp < threads / 32; warp++)
            sum += of_warps[warp];
    __syncthreads();
    return sum;
}

#endif
