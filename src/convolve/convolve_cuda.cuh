/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of convolve share: images as kernels see them, pixels as numbers and numbers
 * as pixels. */
#ifndef WI_CONVOLVE_CUDA_CUH
#define WI_CONVOLVE_CUDA_CUH

#include "convolve/convolve.h"
#include "convolve/convolve_border.h"
#include "cuda/launch.cuh"
#include "cuda/types.cuh"

/* The images of a call. Rows and columns fit an int. */
struct wi_convolve_images {
    const void *x;
    void *y;
    size_t ldx, ldy, apart_x, apart_y; /* in elements */
    weft_type type, out;
    weft_border border;
    bool truncates;
    int channels, width, height, out_width, out_height;
};

inline wi_convolve_images wi_convolve_images_of(const wi_convolve_args *a) {
    return {a->x,
            a->y,
            a->ldx,
            a->ldy,
            a->apart_x,
            a->apart_y,
            a->type,
            a->out,
            a->border,
            a->truncates,
            (int)a->channels,
            (int)a->width,
            (int)a->height,
            (int)a->out_width,
            (int)a->out_height};
}

/* How many pieces of `size` cover n. */
__host__ __device__ constexpr size_t wi_convolve_pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Element i of an array. */
template <class Sum>
__device__ inline Sum wi_convolve_load(weft_type type, const void *p, size_t i) {
    switch (type) {
    case WEFT_U8:
        return (Sum)((const uint8_t *)p)[i];
    case WEFT_U16:
        return (Sum)((const uint16_t *)p)[i];
    case WEFT_F16:
        return (Sum)(float)((const __half *)p)[i];
    case WEFT_F32:
        return (Sum)((const float *)p)[i];
    default:
        return (Sum)((const double *)p)[i];
    }
}

/* A whole number from 0 to `most`: to nearest, ties to even, or cut; NaN becomes 0. Where sums have
 * this many bits to spare, adding 1.5 2^(bits - 1) rounds to a whole number in the last bits. */
__device__ inline unsigned wi_convolve_whole(float v, unsigned most, bool truncates) {
    v = v > 0 ? v : 0;
    v = v < (float)most ? v : (float)most;
    if (truncates)
        return (unsigned)v;
    return wi_bit_cast<uint32_t>(v + 0x1.8p23f) & 0xffff;
}
__device__ inline unsigned wi_convolve_whole(double v, unsigned most, bool truncates) {
    v = v > 0 ? v : 0;
    v = v < (double)most ? v : (double)most;
    if (truncates)
        return (unsigned)v;
    return (unsigned)wi_bit_cast<uint64_t>(v + 0x1.8p52) & 0xffff;
}

template <class Sum>
__device__ inline void wi_convolve_store(const wi_convolve_images &m, size_t i, Sum v) {
    switch (m.out) {
    case WEFT_U8:
        ((uint8_t *)m.y)[i] = (uint8_t)wi_convolve_whole(v, 255, m.truncates);
        break;
    case WEFT_U16:
        ((uint16_t *)m.y)[i] = (uint16_t)wi_convolve_whole(v, 65535, m.truncates);
        break;
    case WEFT_F16:
        ((__half *)m.y)[i] = (__half)v;
        break;
    case WEFT_F32:
        ((float *)m.y)[i] = (float)v;
        break;
    default:
        ((double *)m.y)[i] = (double)v;
    }
}

/* Where a block of a one-dimensional grid works: tile (across, down) of plane `plane`. A grid has
 * fewer than 2^31 blocks, so 32 bits are enough, whose division takes a fraction of the time. */
struct wi_convolve_tile_at {
    unsigned across, down, plane;
};
__device__ inline wi_convolve_tile_at wi_convolve_tile_of(unsigned index, size_t across,
                                                          size_t down) {
    const unsigned row = index / (unsigned)across;
    return {index % (unsigned)across, row % (unsigned)down, row / (unsigned)down};
}

/* The filters as f32 or f64, in scratch memory of the context. Queued; the host's copy is no longer
 * needed when this returns. */
weft_status wi_convolve_put_filters(weft_context *ctx, const wi_convolve_args *args,
                                    void **filters);

/* Refuses a grid of more blocks than a launch takes. */
weft_status wi_convolve_check_grid(weft_context *ctx, size_t blocks);

#endif
