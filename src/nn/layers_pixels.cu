/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and up-sampling on a GPU, of any windows and ratios: a thread makes elements a block's
 * threads apart, each gathered from what it is made of; so a gradient needs no additions to memory.
 * The common ones are done by layers_windows.cu and layers_resample.cu. */
#include "nn/layers_walk.cuh"

#define WI_PIXELS_INLINE static __host__ __device__ inline
#include "nn/layers_pixels.h"

#define INLINE static __host__ __device__ inline
#define SAMPLE(f) f
#define REAL float
#include "nn/layers_samples.inc"
#define NAME(f) f
#define STORED float
#define LOAD(v) (v)
#include "nn/layers_pixels.inc"
#define NAME(f) f
#define STORED __half
#define LOAD(v) ((float)(v))
#include "nn/layers_pixels.inc"
#define NAME(f) f
#define STORED __nv_bfloat16
#define LOAD(v) ((float)(v))
#include "nn/layers_pixels.inc"
#undef REAL
#define REAL double
#include "nn/layers_samples.inc"
#define NAME(f) f
#define STORED double
#define LOAD(v) (v)
#include "nn/layers_pixels.inc"

namespace {

struct sampled {
    wi_sampling z;
    wi_layer_finder finder; /* of what is made */
    wi_nn_divisor width;
};

} // namespace

template <class T, wi_layer Layer>
static __global__ void __launch_bounds__(wi_layer_threads, 4)
    sample_all(const __grid_constant__ sampled p, size_t n, const T *x, const T *dy, T *to) {
    constexpr bool gathers = Layer == WI_LAYER_POOL_BACK || Layer == WI_LAYER_UPSAMPLE_BACK;
    wi_layer_each_of<gathers ? 1 : wi_layer_each>(n, [=](size_t i) {
        const wi_layer_finder::place at = p.finder.of(i);
        const int row = (int)p.width.of(at.in_plane);
        const int column = (int)(at.in_plane - (unsigned)row * p.width.by);
        const T *const of_x = x + (at.image * p.z.x.n + at.channel * p.z.x.c);
        const T *const of_y = dy + (at.image * p.z.y.n + at.channel * p.z.y.c);
        if constexpr (Layer == WI_LAYER_POOL)
            to[i] = (T)pool(&p.z, of_x, row, column);
        else if constexpr (Layer == WI_LAYER_POOL_BACK)
            to[i] = (T)pool_back(&p.z, of_x, of_y, row, column);
        else if constexpr (Layer == WI_LAYER_UPSAMPLE)
            to[i] = (T)upsample(&p.z, of_x, row, column);
        else
            to[i] = (T)upsample_back(&p.z, of_y, row, column);
    });
}

template <class T>
static weft_status run_pixels(weft_context *ctx, const wi_layer_args *a) {
    const bool back = a->layer == WI_LAYER_POOL_BACK || a->layer == WI_LAYER_UPSAMPLE_BACK;
    const wi_sampling &z = a->sampling;
    sampled p = {};
    p.z = z;
    const unsigned width = (unsigned)(back ? z.width : z.out_width);
    const unsigned height = (unsigned)(back ? z.height : z.out_height);
    p.finder = wi_layer_finder(a->in.layout == WEFT_NCHW, a->n, a->in.c, width * height);
    p.width = wi_nn_divisor(width);
    const T *const first = (const T *)a->array[0], *const second = (const T *)a->array[1];
    const size_t blocks = wi_layer_pieces(a->n, wi_layer_block);
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    switch (a->layer) {
    case WI_LAYER_POOL:
        return WEFT_LAUNCH((sample_all<T, WI_LAYER_POOL>), ctx, (unsigned)blocks, wi_layer_threads,
                           0, p, a->n, first, first, (T *)a->array[1]);
    case WI_LAYER_POOL_BACK:
        return WEFT_LAUNCH((sample_all<T, WI_LAYER_POOL_BACK>), ctx, (unsigned)blocks,
                           wi_layer_threads, 0, p, a->n, first, second, (T *)a->array[2]);
    case WI_LAYER_UPSAMPLE:
        return WEFT_LAUNCH((sample_all<T, WI_LAYER_UPSAMPLE>), ctx, (unsigned)blocks,
                           wi_layer_threads, 0, p, a->n, first, first, (T *)a->array[1]);
    default:
        return WEFT_LAUNCH((sample_all<T, WI_LAYER_UPSAMPLE_BACK>), ctx, (unsigned)blocks,
                           wi_layer_threads, 0, p, a->n, first, first, (T *)a->array[1]);
    }
}

weft_status wi_layers_pixels(weft_context *ctx, const wi_layer_args *a) {
    const bool pools = a->layer == WI_LAYER_POOL || a->layer == WI_LAYER_POOL_BACK;
    weft_status status;
    if (pools ? wi_layers_windows(ctx, a, &status) : wi_layers_resample(ctx, a, &status))
        return status;
    return wi_with_float_type(
        a->type, [=](auto tag) { return run_pixels<typename decltype(tag)::type>(ctx, a); });
}
