/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane of the kernel of rows and fused (convolve_rows.cuh) has in registers: pixels as
 * numbers, and sums. */
#ifndef WI_CONVOLVE_STRIP_SUMS_CUH
#define WI_CONVOLVE_STRIP_SUMS_CUH

#include "convolve/convolve_strip.cuh"
#include "cuda/bytes.cuh"

/* What a lane reads from shared memory at once: a group's elements, in words. */
template <class Shape>
struct alignas(sizeof(typename Shape::In) * Shape::across) wi_strip_pack {
    static constexpr int each = 4 / (int)sizeof(typename Shape::In); /* elements of a word */
    uint32_t word[Shape::across / each];

    __device__ float number(int k) const {
        if constexpr (each == 1)
            return wi_bit_cast<float>(word[k]);
        else
            return wi_byte_number(word[k / each], k % each);
    }
};

/* The pixels that a lane computes with: those of a group and beside it. */
template <class Shape>
struct wi_strip_window {
    static constexpr int count = Shape::across + 2 * Shape::reach;
    float at[Shape::groups][count];

    __device__ void take(const typename Shape::In *row) {
        using Pack = wi_strip_pack<Shape>;
        constexpr int packs = 1 + 2 * Shape::beside / Shape::across;
        constexpr int skipped = Shape::beside - Shape::reach;
        const Pack *const from =
            (const Pack *)(row + Shape::margin - Shape::beside) + threadIdx.x % wi_strip_lanes;
#pragma unroll
        for (int g = 0; g < Shape::groups; g++)
#pragma unroll
            for (int k = 0; k < packs; k++) {
                const Pack pack = from[g * wi_strip_lanes + k];
#pragma unroll
                for (int v = 0; v < Shape::across; v++) {
                    const int i = k * Shape::across + v - skipped;
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
