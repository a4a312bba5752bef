/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of gemm_batch_tile.cuh adds up of f64 on tensor cores. */
#ifndef WI_GEMM_BATCH_TENSOR_CUH
#define WI_GEMM_BATCH_TENSOR_CUH

#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_batch_tile.cuh"

/* On tensor cores: warps of a product are warps_m x warps_n, and a warp's part of C is made of
 * pieces of 16 x 8. Rows may be given to a tensor core in any order, and so may k, if A and B have
 * the same one. Here lane (g, t) takes rows 2 g and 2 g + 1, and 2 t and 2 t + 1 of each eight of
 * k, so that one access brings two elements. */
template <class Shape>
struct wi_gemm_batch_tensor_f64 {
    static constexpr int warp_m = Shape::tile_m / Shape::warps_m;
    static constexpr int warp_n = Shape::tile_n / Shape::warps_n;
    static constexpr int high = warp_m / 16, wide = warp_n / 8;

    double sum[high][wide][4];

    __device__ wi_gemm_batch_tensor_f64() {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    sum[i][j][q] = 0;
    }

    __device__ static int warp() {
        return (int)threadIdx.x % Shape::group / 32;
    }
    /* The first of the lane's two rows of piece i. */
    __device__ static int row(int i) {
        return warp() % Shape::warps_m * warp_m + 16 * i + wi_lane() / 4 * 2;
    }
    __device__ static int column(int j) {
        return warp() / Shape::warps_m * warp_n + 8 * j;
    }

    /* Of an A that lies along k (gemm_batch_whole.cuh) four pieces and the next four change places
     * in every other pair of lines. */
    __device__ static int exchange(int line) {
        return line / 2 % 2 * 4;
    }
    /* x = lines `line` and `line` + 1 of A at those of sixteen k that the lane has. */
    template <bool turned>
    __device__ static void take(const double *a, int line, int p, double (&x)[8]) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int k = p + s / 2 * 8 + wi_lane() % 4 * 2;
            const double *const from =
                turned ? a + (line + s % 2) * Shape::depth + (k ^ exchange(line) * 2)
                       : a + (k + s % 2) * Shape::stride_a + line;
            const wi_vector<double> v = *(const wi_vector<double> *)from;
            x[turned ? s / 2 * 4 + s % 2 : 2 * s] = v.at[0];
            x[turned ? s / 2 * 4 + s % 2 + 2 : 2 * s + 1] = v.at[1];
        }
    }

    __device__ void add(const double *a, const double *b, int k) {
        add_up<false>(a, b, k);
    }
    template <bool turned_a>
    __device__ void add_whole(const double *a, const double *b) {
        add_up<turned_a>(a, b, Shape::depth);
    }
    template <bool turned>
    __device__ void add_up(const double *a, const double *b, int k) {
        for (int p = 0; p < k; p += 16) {
            double x[high][8];
#pragma unroll
            for (int i = 0; i < high; i++)
                take<turned>(a, row(i), p, x[i]);
#pragma unroll
            for (int j = 0; j < wide; j++) {
                const double *const from =
                    b + (column(j) + wi_lane() / 4) * Shape::stride_b + p + wi_lane() % 4 * 2;
                const wi_vector<double> first = *(const wi_vector<double> *)from;
                const wi_vector<double> second = *(const wi_vector<double> *)(from + 8);
                const double y[4] = {first.at[0], first.at[1], second.at[0], second.at[1]};
#pragma unroll
                for (int i = 0; i < high; i++)
                    wi_multiply_f64(sum[i][j], x[i], y);
            }
        }
    }

    /* The thread's sums, two rows of a column at a time. */
    static constexpr int vectors = high * wide * 2;
    __device__ static int row_at(int v) {
        return row(v / (2 * wide));
    }
    __device__ static int column_at(int v) {
        return column(v / 2 % wide) + wi_lane() % 4 * 2 + v % 2;
    }
    __device__ wi_vector<double> at(int v) const {
        const double(&piece)[4] = sum[v / (2 * wide)][v / 2 % wide];
        return {{piece[v % 2], piece[v % 2 + 2]}};
    }
};

#endif
