/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of blend share. */
#ifndef WI_BLEND_CUDA_CUH
#define WI_BLEND_CUDA_CUH

#include "blend/blend.h"
#include "blend/blend_pixels.h"
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"

/* A call as kernels see it; distances in elements. */
template <class T>
struct wi_blend_images {
    const T *a, *b, *mask;
    T *out;
    size_t rows, cols, lda, ldb, ldmask, ldout;
    unsigned channels;
    float weight_a, weight_b;
};

template <class T>
wi_blend_images<T> wi_blend_images_of(const wi_blend_args &a) {
    return {(const T *)a.a,
            (const T *)a.b,
            (const T *)a.mask,
            (T *)a.out,
            a.rows,
            a.cols,
            a.lda,
            a.ldb,
            a.ldmask,
            a.ldout,
            (unsigned)a.channels,
            a.weight_a,
            a.weight_b};
}

__device__ inline float wi_blend_share(uint8_t m) {
    return (float)m * (1.0f / 255);
}
__device__ inline float wi_blend_share(uint16_t m) {
    return (float)m * (1.0f / 65535);
}
__device__ inline float wi_blend_share(float m) {
    return m;
}
__device__ inline void wi_blend_put(uint8_t *out, float v) {
    wi_blend_put_u8(out, v);
}
__device__ inline void wi_blend_put(uint16_t *out, float v) {
    wi_blend_put_u16(out, v);
}
__device__ inline void wi_blend_put(float *out, float v) {
    *out = v;
}

/* The weights of element `col` of row `row`. */
template <class T>
__device__ inline void wi_blend_weights(const wi_blend_images<T> &m, size_t row, size_t col,
                                        float *share_a, float *share_b) {
    *share_a = m.weight_a;
    *share_b = m.weight_b;
    if (m.mask) {
        *share_a = wi_blend_share(m.mask[row * m.ldmask + col / m.channels]);
        *share_b = 1 - *share_a;
    }
}

template <class T>
__device__ inline void wi_blend_one(const wi_blend_images<T> &m, size_t row, size_t col) {
    float share_a, share_b;
    wi_blend_weights(m, row, col, &share_a, &share_b);
    wi_blend_put(&m.out[row * m.ldout + col], wi_blend_mix(share_a, (float)m.a[row * m.lda + col],
                                                           share_b, (float)m.b[row * m.ldb + col]));
}

/* Calls f with the images of the type of the call. */
template <class F>
weft_status wi_blend_with(const wi_blend_args &args, F f) {
    if (args.type == WEFT_U8)
        return f(wi_blend_images_of<uint8_t>(args));
    if (args.type == WEFT_U16)
        return f(wi_blend_images_of<uint16_t>(args));
    return f(wi_blend_images_of<float>(args));
}

#endif
