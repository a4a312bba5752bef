/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane of the kernel of rows and fused (convolve_rows.cuh) has of an output row, and how it
 * goes to memory. */
#ifndef WI_CONVOLVE_STRIP_OUT_CUH
#define WI_CONVOLVE_STRIP_OUT_CUH

#include "convolve/convolve_strip_sums.cuh"
#include "cuda/bytes.cuh"

/* Elements that a lane writes at once. */
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) wi_strip_out {
    T at[count];
};

/* Where a lane's elements of the next output row go. */
template <class Shape>
struct wi_strip_writer {
    using In = typename Shape::In;
    static constexpr int across = Shape::across;
    const wi_strip_params<Shape> &p;
    int e;      /* of the row: the lane's first element */
    char *next; /* where it is */

    /* For the output row that begins at element `row`. */
    __device__ wi_strip_writer(const wi_strip_params<Shape> &params, size_t row, int first)
        : p(params) {
        e = first + (int)threadIdx.x % wi_strip_lanes * across - p.shift * Shape::channels;
        next = (char *)p.m.y + ((ptrdiff_t)row + e) * p.out_bytes;
    }

    /* Elements of the type of x. */
    __device__ void put_plain(const float (&v)[across], In *to) const {
        constexpr int words = across * (int)sizeof(In) / 4;
        if constexpr (sizeof(In) == 4) {
            const float4 out = {v[0], v[1], v[2], v[3]};
            *(float4 *)to = out;
        } else {
            wi_strip_out<uint32_t, words> out;
#pragma unroll
            for (int k = 0; k < words; k++)
                out.at[k] = wi_pack_bytes(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
            *(wi_strip_out<uint32_t, words> *)to = out;
        }
    }

    /* A group that begins at element e of its row, at `to`. */
    template <class Out, class V>
    __device__ void put_group(const V (&v)[across], int e_, Out *to) const {
        if (p.aligned_y && e_ >= 0 && e_ + across <= p.out_elements) {
            wi_strip_out<Out, across> out;
#pragma unroll
            for (int k = 0; k < across; k++)
                out.at[k] = (Out)v[k];
            *(wi_strip_out<Out, across> *)to = out;
            return;
        }
#pragma unroll
        for (int k = 0; k < across; k++)
            if (e_ + k >= 0 && e_ + k < p.out_elements)
                to[k] = (Out)v[k];
    }

    /* The same as integers or f16, of 8 or 16 bits. */
    __device__ void put_narrow(const float (&v)[across], int e_, void *to) const {
        unsigned bits[across];
#pragma unroll
        for (int k = 0; k < across; k++)
            bits[k] =
                p.m.out == WEFT_F16
                    ? wi_bit_cast<uint16_t>((__half)v[k])
                    : wi_convolve_whole(v[k], p.m.out == WEFT_U8 ? 255 : 65535, p.m.truncates);
        if (p.m.out == WEFT_U8)
            put_group(bits, e_, (uint8_t *)to);
        else
            put_group(bits, e_, (uint16_t *)to);
    }

    /* The same for wide kernels, which write bytes alone: those that a row has yet. */
    __device__ void put_last(const float (&v)[across], int e_, uint8_t *to) const {
#pragma unroll
        for (int k = 0; k < across; k += 4) {
            const uint32_t word = wi_pack_bytes(v[k], v[k + 1], v[k + 2], v[k + 3]);
#pragma unroll
            for (int b = 0; b < 4; b++)
                if (e_ + k + b < p.out_elements)
                    to[k + b] = (uint8_t)(word >> 8 * b);
        }
    }

    __device__ void put_any(const float (&v)[across], int e_, void *to) const {
        if constexpr (Shape::is_wide)
            put_last(v, e_, (uint8_t *)to);
        else if (p.m.out == WEFT_F32)
            put_group(v, e_, (float *)to);
        else if (p.m.out == WEFT_F64)
            put_group(v, e_, (double *)to);
        else
            put_narrow(v, e_, to);
    }

    /* A row; the next is the one below. */
    __device__ void put(const wi_strip_sums<Shape> &sums) {
        if (e <= p.last_plain) {
#pragma unroll
            for (int g = 0; g < Shape::groups; g++)
                put_plain(sums.at[g], (In *)next + g * Shape::group_width);
        } else {
#pragma unroll
            for (int g = 0; g < Shape::groups; g++) {
                const int further = g * Shape::group_width;
                put_any(sums.at[g], e + further, next + further * p.out_bytes);
            }
        }
        next += p.step_y;
    }
};

#endif
