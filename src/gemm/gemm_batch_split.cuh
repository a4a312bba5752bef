/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of gemm_batch_tile.cuh adds up of f32 on tensor cores. An element is the sum of two
 * tf32, and a product that of three of theirs, the smallest first; what is left out is 2^-22 of it.
 * Tensor cores cut their sums where fused multiply-adds round, so these are kept short: those of
 * one step of k, which are then added up with rounding. Where a warp meets an element that has no
 * such parts, it makes the 16 of k around it by fused multiply-adds.
 *
 * Warps of a product are warps_m x warps_n, and a warp's part of C is made of pieces of 32 x 8.
 * With g = lane / 4 and t = lane % 4, a lane has rows 4 g ... 4 g + 3 of columns 2 t and 2 t + 1:
 * rows may be given to a tensor core in any order, and so one access brings four rows of A. */
#ifndef WI_GEMM_BATCH_SPLIT_CUH
#define WI_GEMM_BATCH_SPLIT_CUH

#include "cuda/tensor.cuh"
#include "gemm/gemm_batch_tile.cuh"

/* k from which on the sum of three products is as accurate as fused multiply-adds. */
constexpr size_t wi_gemm_split_least_k = 16;

template <class Shape>
struct wi_gemm_batch_split_f32 {
    static constexpr int warp_m = Shape::tile_m / Shape::warps_m;
    static constexpr int warp_n = Shape::tile_n / Shape::warps_n;
    static constexpr int high = warp_m / 32, wide = warp_n / 8, depth = 16;
    static_assert(high * 32 == warp_m && wide * 8 == warp_n, "whole pieces");
    static_assert(Shape::depth % depth == 0, "whole steps");

    using Sums = float[2 * high][wide][4];
    struct Operands {
        wi_vector<float> x[high][4];
        float y[wide][4];
    };

    Sums sum;

    __device__ wi_gemm_batch_split_f32() {
        clear(sum);
    }
    __device__ static void clear(Sums &sums) {
#pragma unroll
        for (int i = 0; i < 2 * high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    sums[i][j][q] = 0;
    }

    __device__ static int warp() {
        return (int)threadIdx.x % Shape::group / 32;
    }
    /* The first of the lane's four rows of piece i; its first column of piece j. */
    __device__ static int row(int i) {
        return warp() % Shape::warps_m * warp_m + 32 * i + wi_lane() / 4 * 4;
    }
    __device__ static int column(int j) {
        return warp() / Shape::warps_m * warp_n + 8 * j + wi_lane() % 4 * 2;
    }

    /* x[i][q] are four rows at p + t + 4 q of k, y[j][q] is column g of piece j there. */
    __device__ static void take(const float *a, const float *b, int p, Operands &o) {
        const int at = p + wi_lane() % 4;
#pragma unroll
        for (int q = 0; q < 4; q++) {
#pragma unroll
            for (int i = 0; i < high; i++)
                o.x[i][q] =
                    *(const wi_vector<float> *)(a + (at + 4 * q) * Shape::stride_a + row(i));
#pragma unroll
            for (int j = 0; j < wide; j++)
                o.y[j][q] =
                    b[(warp() / Shape::warps_m * warp_n + 8 * j + wi_lane() / 4) * Shape::stride_b +
                      at + 4 * q];
        }
    }
    __device__ static bool fits(const Operands &o) {
        bool unfit = false;
#pragma unroll
        for (int q = 0; q < 4; q++) {
#pragma unroll
            for (int i = 0; i < 4 * high; i++)
                unfit = unfit || wi_gemm_has_no_parts(o.x[i / 4][q].at[i % 4]);
#pragma unroll
            for (int j = 0; j < wide; j++)
                unfit = unfit || wi_gemm_has_no_parts(o.y[j][q]);
        }
        return !__any_sync(wi_all_lanes, unfit);
    }

    /* x = high + low, both tf32, high rounded to the nearest. */
    __device__ static void split(float x, uint32_t &high_part, uint32_t &low_part) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        high_part = (bits + (1u << 12)) & ~((1u << 13) - 1);
        float rounded;
        memcpy(&rounded, &high_part, sizeof rounded);
        const float rest = x - rounded;
        memcpy(&low_part, &rest, sizeof low_part);
    }

    /* sums += the products of eight of k: q = 2 half and 2 half + 1. */
    __device__ static void multiply(const Operands &o, int half, Sums &sums) {
        uint32_t x[2][2 * high][4], y[2][wide][2]; /* high parts, low parts */
#pragma unroll
        for (int i = 0; i < 2 * high; i++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                split(o.x[i / 2][2 * half + q / 2].at[i % 2 * 2 + q % 2], x[0][i][q], x[1][i][q]);
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int q = 0; q < 2; q++)
                split(o.y[j][2 * half + q], y[0][j][q], y[1][j][q]);
#pragma unroll
        for (int product = 0; product < 3; product++)
#pragma unroll
            for (int i = 0; i < 2 * high; i++)
#pragma unroll
                for (int j = 0; j < wide; j++)
                    wi_multiply_tf32(sums[i][j], x[product == 0][i], y[product == 1][j]);
    }
    /* The same of 16 of k by fused multiply-adds. */
    __device__ static void add_elements(const float *a, const float *b, int p, Sums &sums) {
#pragma unroll 1
        for (int k = p; k < p + depth; k++)
#pragma unroll
            for (int i = 0; i < high; i++) {
                const wi_vector<float> x =
                    *(const wi_vector<float> *)(a + k * Shape::stride_a + row(i));
#pragma unroll
                for (int j = 0; j < 2 * wide; j++) {
                    const float y = b[(column(j / 2) + j % 2) * Shape::stride_b + k];
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float &to = sums[2 * i + e / 2][j / 2][e % 2 * 2 + j % 2];
                        to = wi_fma(x.at[e], y, to);
                    }
                }
            }
    }

    __device__ void add(const float *a, const float *b, int k) {
        Sums step;
        clear(step);
#pragma unroll 1
        for (int p = 0; p < k; p += depth) {
            Operands o;
            take(a, b, p, o);
            if (fits(o)) {
                multiply(o, 0, step);
                multiply(o, 1, step);
            } else {
                add_elements(a, b, p, step);
            }
        }
#pragma unroll
        for (int i = 0; i < 2 * high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    sum[i][j][q] += step[i][j][q];
    }

    /* The thread's sums, four rows of a column at a time. */
    static constexpr int vectors = high * wide * 2;
    __device__ static int row_at(int v) {
        return row(v / (2 * wide));
    }
    __device__ static int column_at(int v) {
        return column(v / 2 % wide) + v % 2;
    }
    __device__ wi_vector<float> at(int v) const {
        wi_vector<float> some;
#pragma unroll
        for (int e = 0; e < 4; e++)
            some.at[e] = sum[v / (2 * wide) * 2 + e / 2][v / 2 % wide][e % 2 * 2 + v % 2];
        return some;
    }
};

/* Of a tile m x n. Lines of A, and of B, are so far apart that the lanes of an access read from
 * different banks. */
template <int m, int n, int depth_, int warps_m_, int warps_n_, int each_, int stages_, int blocks_,
          bool one_tile_>
struct wi_gemm_batch_split_tile {
    using T = float;
    using Sums = wi_gemm_batch_split_f32<wi_gemm_batch_split_tile>;
    static constexpr int tile_m = m, tile_n = n, depth = depth_;
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr int group = 32 * warps_m * warps_n, each = each_;
    static constexpr int stages = stages_, blocks = blocks_, apart = 0;
    static constexpr int stride_a = m + 8, stride_b = depth + 4;
    static constexpr bool one_tile = one_tile_;
};

/* May the sums of a product be made so? On an H200 their errors were up to 2.6 times those of fused
 * multiply-adds, which is too much where the accuracy of f32 is asked for. */
inline bool wi_gemm_may_split(const wi_gemm_args *g) {
    return g->accuracy == WI_TF32 && g->k >= wi_gemm_split_least_k;
}

#endif
