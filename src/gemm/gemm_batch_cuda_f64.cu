/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of f64: the smallest by fused multiply-adds, others on tensor cores. */
#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_batch_tile.cuh"

struct tile8 {
    using T = double;
    using Sums = wi_gemm_batch_fma<tile8>;
    static constexpr int side = 8, depth = 8, rows = 4, columns = 4, group = 4, each = 16;
    static constexpr int stages = 2, blocks = 5, apart = 4;
    static constexpr int stride_a = 10, stride_b = 10;
};

/* On tensor cores: warps of a product are warps_m x warps_n, and a warp's part of C is made of
 * pieces of 16 x 8. Rows may be given to a tensor core in any order, and so may k, if A and B have
 * the same one. Here lane (g, t) takes rows 2 g and 2 g + 1, and 2 t and 2 t + 1 of each eight of
 * k, so that one access brings two elements. */
template <class Shape>
struct tensor_sums {
    static constexpr int warp_m = Shape::side / Shape::warps_m;
    static constexpr int warp_n = Shape::side / Shape::warps_n;
    static constexpr int high = warp_m / 16, wide = warp_n / 8;

    double sum[high][wide][4];

    __device__ tensor_sums() {
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

    __device__ void add(const double *a, const double *b, int k) {
        for (int p = 0; p < k; p += 16) {
            double x[high][8];
#pragma unroll
            for (int s = 0; s < 4; s++) {
                const int q = p + s / 2 * 8 + wi_lane() % 4 * 2 + s % 2;
#pragma unroll
                for (int i = 0; i < high; i++) {
                    const wi_vector<double> v =
                        *(const wi_vector<double> *)(a + q * Shape::stride_a + row(i));
                    x[i][2 * s] = v.at[0];
                    x[i][2 * s + 1] = v.at[1];
                }
            }
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

    template <class F>
    __device__ void each(const F &f) const {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
#pragma unroll
                for (int q = 0; q < 2; q++)
                    f(row(i), column(j) + wi_lane() % 4 * 2 + q,
                      wi_vector<double>{{sum[i][j][q], sum[i][j][q + 2]}});
    }
};

template <int side_, int depth_, int warps_m_, int warps_n_, int each_, int stages_, int blocks_>
struct tensor_tile {
    using T = double;
    using Sums = tensor_sums<tensor_tile>;
    static constexpr int side = side_, depth = depth_, warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int group = 32 * warps_m * warps_n, each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = side + 2, stride_b = depth + 8;
};

using tile16 = tensor_tile<16, 16, 1, 1, 4, 3, 3>;
using tile32 = tensor_tile<32, 32, 1, 2, 2, 2, 3>;
using tile64 = tensor_tile<64, 32, 2, 2, 1, 2, 2>;

weft_status wi_gemm_batch_tiles_f64(weft_context *ctx, const wi_gemm_batch_args *g) {
    return wi_gemm_batch_by_size<tile8, tile16, tile32, tile64>(ctx, g);
}
