/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a thread of triangle_cuda.cuh for f64, on tensor cores: a warp has 16 rows of a block
 * of T X, and a part of the panel's columns, 16 of them at a time. With g = lane / 4 and t = lane %
 * 4, a lane has rows 2 g and 2 g + 1 of columns 4 t ... 4 t + 3: rows and columns may be given to a
 * tensor core in any order, and so one access brings two rows of T, or two columns of X. */
#ifndef WI_TRIANGLE_TENSOR_CUH
#define WI_TRIANGLE_TENSOR_CUH

#include "cuda/memory.cuh"
#include "cuda/tensor_f64.cuh"

template <class Shape>
struct wi_triangle_tensor {
    static constexpr int high = 16, strips = Shape::side / high, wide = 16;
    static constexpr int part = Shape::columns / (Shape::warps / strips), pieces = part / wide;
    static_assert(pieces * wide * (Shape::warps / strips) == Shape::columns, "whole pieces");
    using pair = wi_vector<double>;

    double sums[pieces][2][4];

    /* The row and the column of the warp's first element. Lower rows of a triangle have more to do,
     * so warps that share a scheduler have one strip from either end. */
    __device__ static int row() {
        const int warp = (int)threadIdx.x / 32, strip = warp % strips;
        return high * (warp / strips % 2 == 0 ? strip : strips - 1 - strip);
    }
    __device__ static int column() {
        return (int)threadIdx.x / 32 / strips * part;
    }

    __device__ void clear() {
#pragma unroll
        for (int p = 0; p < pieces; p++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                sums[p][0][q] = sums[p][1][q] = 0;
    }

    /* Rows k ... k + 15 of the block of X in the columns of piece p: y[0] gets the even columns,
     * y[1] the odd ones. */
    __device__ static void take_x(const double *x, int k, int p, double (&y)[2][4]) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const double *const from =
                x + (k + t + 4 * s) * Shape::x_stride + column() + wide * p + 2 * g;
            const pair v = *(const pair *)from;
            y[0][s] = v.at[0];
            y[1][s] = v.at[1];
        }
    }
    /* sums += T(rows, k ... k + 15) X(k ... k + 15) */
    __device__ void add(const double *t_block, const double *x, int k) {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        double a[8];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const pair v =
                *(const pair *)(t_block + row() + 2 * g + (k + t + 4 * s) * Shape::t_stride);
            a[2 * s] = v.at[0];
            a[2 * s + 1] = v.at[1];
        }
#pragma unroll
        for (int p = 0; p < pieces; p++) {
            double y[2][4];
            take_x(x, k, p, y);
            wi_multiply_f64(sums[p][0], a, y[0]);
            wi_multiply_f64(sums[p][1], a, y[1]);
        }
    }
    /* sums += T X for a block of T below the diagonal, and a block of X. */
    __device__ void add_block(const double *t, const double *x) {
#pragma unroll 2
        for (int k = 0; k < Shape::side; k += high)
            add(t, x, k);
    }

    /* Are the warp's columns of rows k ... k + 15 of X all finite? */
    __device__ static bool is_finite(const double *x, int k) {
        double zero = 0;
#pragma unroll
        for (int p = 0; p < pieces; p++) {
            double y[2][4];
            take_x(x, k, p, y);
#pragma unroll
            for (int q = 0; q < 8; q++)
                zero = wi_fma(y[q / 4][q % 4], 0.0, zero);
        }
        return __all_sync(wi_all_lanes, zero == 0);
    }
    /* sums += T X by fused multiply-adds, of the 16 columns of T that cross the diagonal. */
    __device__ void add_elements(const double *t, const double *x) {
        const int g = wi_lane() / 4;
#pragma unroll 1
        for (int k = 0; k < high; k++) {
            const double *const line = t + (row() + k) * Shape::t_stride + row() + 2 * g;
#pragma unroll
            for (int p = 0; p < pieces; p++)
#pragma unroll
                for (int q = 0; q < 8; q++) {
                    const double at_k = x[(row() + k) * Shape::x_stride + column_of(p, q)];
                    double &sum = sums[p][q % 2][q / 4 * 2 + q / 2 % 2];
                    if (k <= 2 * g + q / 4)
                        sum = wi_fma(line[q / 4], at_k, sum);
                }
        }
    }
    /* sums += T X for a block of T on the diagonal. Tensor cores would also multiply the zeros
     * above it, which makes NaN of infinity. */
    __device__ void add_triangle(const double *t, const double *x) {
#pragma unroll 1
        for (int k = 0; k < row(); k += high)
            add(t, x, k);
        if (is_finite(x, row()))
            add(t, x, row());
        else
            add_elements(t, x);
    }

    /* Of a lane's eight elements of piece p: rows 2 g + q / 4, columns 4 t + q % 4. */
    __device__ static int column_of(int p, int q) {
        return column() + wide * p + wi_lane() % 4 * 4 + q % 4;
    }
    /* f(x, sum) for the thread's elements of a block of X. */
    template <class F>
    __device__ void each_own(double *x, const F &f) {
#pragma unroll
        for (int p = 0; p < pieces; p++)
#pragma unroll
            for (int q = 0; q < 8; q += 2) {
                const int i = row() + wi_lane() / 4 * 2 + q / 4;
                pair *const at = (pair *)(x + i * Shape::x_stride + column_of(p, q));
                pair own = *at;
                f(own.at[0], sums[p][0][q / 4 * 2 + q / 2 % 2]);
                f(own.at[1], sums[p][1][q / 4 * 2 + q / 2 % 2]);
                *at = own;
            }
    }
};

#endif
