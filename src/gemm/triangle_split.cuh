/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of triangle_cuda.cuh adds up of f32 on tensor cores, as gemm_batch_split.cuh does:
 * an element is the sum of two tf32, a product that of three of theirs, and 16 of k in which a warp
 * meets an element without parts are made by fused multiply-adds. A warp has 32 rows of a block of
 * T X, and 32 of the panel's columns. With g = lane / 4 and t = lane % 4, a lane has rows 4 g ... 4
 * g
 * + 3 of columns 8 t ... 8 t + 7. */
#ifndef WI_TRIANGLE_SPLIT_CUH
#define WI_TRIANGLE_SPLIT_CUH

#include "cuda/memory.cuh"
#include "cuda/tensor.cuh"
#include "gemm/gemm_split.cuh"

template <class Shape>
struct wi_triangle_split {
    static constexpr int high = 32, strips = Shape::side / high, parts = Shape::warps / strips;
    static constexpr int wide = 32, depth = 16;
    static_assert(parts * wide == Shape::columns && Shape::side % depth == 0, "whole pieces");
    using quad = wi_vector<float>;
    using Sums = float[2][4][4];
    struct Operands {
        quad t[4], x[4]; /* four rows of T, and four columns of X, at t + 4 q of 16 of k */
    };

    Sums sums;

    /* Of the warp's first element: warps that share a scheduler have one strip each. */
    __device__ static int row() {
        return (int)threadIdx.x / 32 / parts * high;
    }
    __device__ static int column() {
        return (int)threadIdx.x / 32 % parts * wide;
    }

    __device__ static void clear(Sums &to) {
#pragma unroll
        for (int q = 0; q < 32; q++)
            to[q / 16][q / 4 % 4][q % 4] = 0;
    }
    __device__ void clear() {
        clear(sums);
    }

    __device__ static void take(const float *t, const float *x, int k, Operands &o) {
        const int four = 4 * (wi_lane() / 4);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int at = k + wi_lane() % 4 + 4 * q;
            o.t[q] = *(const quad *)(t + row() + four + at * Shape::t_stride);
            o.x[q] = *(const quad *)(x + at * Shape::x_stride + column() + four);
        }
    }
    __device__ static bool fits(const Operands &o) {
        bool unfit = false;
#pragma unroll
        for (int q = 0; q < 16; q++)
            unfit = unfit || wi_gemm_has_no_parts(o.t[q / 4].at[q % 4]) ||
                    wi_gemm_has_no_parts(o.x[q / 4].at[q % 4]);
        return !__any_sync(wi_all_lanes, unfit);
    }

    /* to += the products of eight of k: q = 2 half and 2 half + 1. */
    __device__ static void multiply(const Operands &o, int half, Sums &to) {
        uint32_t t[2][2][4], x[2][4][2]; /* high parts, low parts */
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                wi_gemm_split(o.t[2 * half + q / 2].at[2 * i + q % 2], t[0][i][q], t[1][i][q]);
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int q = 0; q < 2; q++)
                wi_gemm_split(o.x[2 * half + q].at[j], x[0][j][q], x[1][j][q]);
#pragma unroll
        for (int product = 0; product < 3; product++)
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    wi_multiply_tf32(to[i][j], t[product == 0][i], x[product == 1][j]);
    }

    /* Where in a thread's sums row e and column c of its part are. */
    __device__ static float &at(Sums &of, int e, int c) {
        return of[e / 2][c % 4][e % 2 * 2 + c / 4];
    }
    __device__ static const float &at(const Sums &of, int e, int c) {
        return of[e / 2][c % 4][e % 2 * 2 + c / 4];
    }

    /* By fused multiply-adds; of a triangle nothing right of its diagonal. */
    __device__ static void add_elements(const float *t, const float *x, int k, bool is_triangle,
                                        Sums &to) {
        const int first = row() + 4 * (wi_lane() / 4);
#pragma unroll 1
        for (int p = k; p < k + depth; p++) {
            const quad rows = *(const quad *)(t + first + p * Shape::t_stride);
            const float *const line = x + p * Shape::x_stride + column() + 8 * (wi_lane() % 4);
#pragma unroll
            for (int c = 0; c < 8; c++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (!is_triangle || p <= first + e)
                        at(to, e, c) = wi_fma(rows.at[e], line[c], at(to, e, c));
        }
    }

    /* sums += T X of k from 0 to `end`: tensor cores cut their sums, so these are kept short. A
     * triangle's zeros do no harm to what is finite. */
    __device__ void add(const float *t, const float *x, int end, bool is_triangle) {
        Sums step;
        clear(step);
#pragma unroll 1
        for (int k = 0; k < end; k += depth) {
            Operands o;
            take(t, x, k, o);
            if (fits(o)) {
                multiply(o, 0, step);
                multiply(o, 1, step);
            } else {
                add_elements(t, x, k, is_triangle, step);
            }
        }
#pragma unroll
        for (int q = 0; q < 32; q++)
            sums[q / 16][q / 4 % 4][q % 4] += step[q / 16][q / 4 % 4][q % 4];
    }
    __device__ void add_block(const float *t, const float *x) {
        add(t, x, Shape::side, false);
    }
    __device__ void add_triangle(const float *t, const float *x) {
        add(t, x, row() + high, true);
    }

    /* f(x, sum) for the thread's elements of a block of X. */
    template <class F>
    __device__ void each_own(float *x, const F &f) const {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int i = row() + 4 * (wi_lane() / 4) + e;
            quad *const own = (quad *)(x + i * Shape::x_stride + column() + 8 * (wi_lane() % 4));
#pragma unroll
            for (int half = 0; half < 2; half++) {
                quad some = own[half];
#pragma unroll
                for (int c = 0; c < 4; c++)
                    f(some.at[c], at(sums, e, 4 * half + c));
                own[half] = some;
            }
        }
    }
};

#endif
