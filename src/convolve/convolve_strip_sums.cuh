/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane of the kernel of rows and fused (convolve_rows.cuh) has in registers: pixels as
 * numbers, and sums. */
#ifndef WI_CONVOLVE_STRIP_SUMS_CUH
#define WI_CONVOLVE_STRIP_SUMS_CUH

#include "convolve/convolve_strip.cuh"
#include "cuda/bytes.cuh"

/* What a lane reads from shared memory at once, in words. */
template <class Shape>
struct alignas(sizeof(typename Shape::In) * Shape::pack) wi_strip_pack {
    static constexpr int each = 4 / (int)sizeof(typename Shape::In); /* elements of a word */
    uint32_t word[Shape::pack / each];

    /* Of u8 in units of 2^-24, which weights make up for. */
    __device__ float number(int k) const {
        if constexpr (each == 1)
            return wi_bit_cast<float>(word[k]);
        else
            return wi_byte_units(word[k / each], k % each);
    }
};

/* The pixels that a lane computes with: those of a group and beside it. */
template <class Shape>
struct wi_strip_window {
    static constexpr int count = Shape::across + 2 * Shape::reach;
    float at[Shape::groups][count];

    __device__ void take(const typename Shape::In *row) {
        using Pack = wi_strip_pack<Shape>;
        constexpr int packs = (Shape::across + 2 * Shape::beside) / Shape::pack;
        constexpr int skipped = Shape::beside - Shape::reach;
        const Pack *const from = (const Pack *)(row + Shape::margin - Shape::beside +
                                                (int)threadIdx.x % wi_strip_lanes * Shape::across);
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int k = 0; k < packs; k++) {
                const Pack pack = from[g * Shape::group_width / Shape::pack + k];
#pragma unroll
                for (int v = 0; v < Shape::pack; v++) {
                    const int i = k * Shape::pack + v - skipped;
                    if (i >= 0 && i < count)
                        at[g][i] = pack.number(v);
                }
            }
    }
};

/* Sums of a lane's elements. */
template <class Shape>
struct wi_strip_sums {
    float at[Shape::groups][Shape::across];

    /* Adds w times the pixels `by` elements further on. */
    __device__ void add(float w, const wi_strip_window<Shape> &x, int by) {
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int v = 0; v < Shape::across; v++)
                at[g][v] = fmaf(w, x.at[g][v + by], at[g][v]);
    }
    __device__ void add(float w, const wi_strip_sums &x) {
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int v = 0; v < Shape::across; v++)
                at[g][v] = fmaf(w, x.at[g][v], at[g][v]);
    }
};

#endif
