/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a warp add up of a tile of C, and how: by fused multiply-adds, or on tensor
 * cores. Each kind has
 *
 *   groups                  of k in a step
 *   Operands                of a group, in registers
 *   take(a, b, group, o)    brings them from shared memory
 *   add(o)                  adds the group's products
 *   each(f)                 calls f(row, column, sum) for each of the thread's sums */
#ifndef WI_GEMM_WARP_CUH
#define WI_GEMM_WARP_CUH

#include "cuda/memory.cuh"
#include "cuda/tensor.cuh"
#include "cuda/warp.cuh"

/* Which part of C's tile a warp has. */
template <class Shape>
struct wi_gemm_warp {
    static constexpr int warp_m = Shape::tile_m / Shape::warps_m;
    static constexpr int warp_n = Shape::tile_n / Shape::warps_n;
    int row, column; /* of its first element in the tile */

    __device__ wi_gemm_warp() {
        const int warp = (int)threadIdx.x / 32;
        row = warp % Shape::warps_m * warp_m;
        column = warp / Shape::warps_m % Shape::warps_n * warp_n;
    }
};

/* One fused multiply-add after the other, in the order of k. A thread has rows x columns sums,
 * whose rows and columns are in groups that 16 bytes hold: so all lanes read from different banks.
 */
template <class Shape, class A, class B>
struct wi_gemm_fma : wi_gemm_warp<Shape> {
    using T = typename Shape::T;
    using Warp = wi_gemm_warp<Shape>;
    using Warp::column, Warp::row;
    static constexpr int lanes_m = 8, lanes_n = 4;
    static constexpr int rows = Warp::warp_m / lanes_m, columns = Warp::warp_n / lanes_n;
    static constexpr int width = 16 / (int)sizeof(T);
    static constexpr int groups = Shape::tile_k;
    static constexpr int high = rows / width, wide = columns / width;

    struct Operands {
        wi_vector<T> x[high];
        wi_vector<T> y[wide];
    };

    T sum[rows][columns];

    __device__ wi_gemm_fma() {
#pragma unroll
        for (int i = 0; i < rows; i++)
#pragma unroll
            for (int j = 0; j < columns; j++)
                sum[i][j] = 0;
    }

    __device__ static int lane_m() {
        return wi_lane() % lanes_m;
    }
    __device__ static int lane_n() {
        return wi_lane() / lanes_m;
    }

    /* Where the lane's q-th row (or column) is among those of the warp. */
    __device__ static int place(int lane, int lanes, int q) {
        return q / width * width * lanes + lane * width + q % width;
    }

    __device__ void take(const T *a, const T *b, int k, Operands &o) const {
#pragma unroll
        for (int i = 0; i < high; i++)
            o.x[i] =
                *(const wi_vector<T> *)(a + A::at(row + place(lane_m(), lanes_m, i * width), k));
#pragma unroll
        for (int j = 0; j < wide; j++)
            o.y[j] =
                *(const wi_vector<T> *)(b + B::at(column + place(lane_n(), lanes_n, j * width), k));
    }

    __device__ void add(const Operands &o) {
#pragma unroll
        for (int i = 0; i < rows; i++)
#pragma unroll
            for (int q = 0; q < columns; q++) {
                const int j = wi_gemm_there_and_back(q, columns, i);
                sum[i][j] =
                    wi_fma(o.x[i / width].at[i % width], o.y[j / width].at[j % width], sum[i][j]);
            }
    }

    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int i = 0; i < rows; i++)
                f(row + place(lane_m(), lanes_m, i), column + place(lane_n(), lanes_n, j),
                  sum[i][j]);
    }
};

/* The sums on tensor cores: a warp's part of C is made of pieces of 16 x 8. */
template <class Shape, class Sum>
struct wi_gemm_tensor_sums : wi_gemm_warp<Shape> {
    using Warp = wi_gemm_warp<Shape>;
    using Warp::column, Warp::row;
    static constexpr int high = Warp::warp_m / 16, wide = Warp::warp_n / 8;

    Sum sum[high][wide][4];

    __device__ wi_gemm_tensor_sums() {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    sum[i][j][q] = 0;
    }

    template <class Operands>
    __device__ void add(const Operands &o) {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
                Shape::multiply(sum[i][j], o.x[i], o.y[j]);
    }

    /* Sum q of a piece is in row row_of(q) of it. */
    template <class Row, class F>
    __device__ void each(Row row_of, F f) const {
        const int t = wi_lane() % 4;
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int i = 0; i < high; i++)
#pragma unroll
                for (int q = 0; q < 4; q++)
                    f(row + 16 * i + row_of(q), column + 8 * j + 2 * t + q % 2, sum[i][j][q]);
    }
    template <class F>
    __device__ void each(F f) const {
        each([](int q) { return wi_lane() / 4 + q / 2 * 8; }, f);
    }
};

/* f64, and f32 as tf32: a lane's registers hold one element each. Rows may be given to a tensor
 * core in any order, and so may k, if A and B have the same one. Here lane (g, t) takes rows 2 g
 * and 2 g + 1, and 2 t and 2 t + 1 of each eight of k, so that one access brings two elements. */
template <class Shape, class A, class B>
struct wi_gemm_tensor_wide : wi_gemm_tensor_sums<Shape, typename Shape::Sum> {
    using T = typename Shape::T;
    using Pieces = wi_gemm_tensor_sums<Shape, typename Shape::Sum>;
    using Register = typename Shape::Register;
    static constexpr int depth = Shape::depth, groups = Shape::tile_k / depth;

    struct alignas(2 * sizeof(T)) two {
        T at[2];
    };
    struct Operands {
        Register x[Pieces::high][depth / 2], y[Pieces::wide][depth / 4];
    };

    __device__ static int row_of(int q) {
        return wi_lane() / 4 * 2 + q / 2;
    }

    /* k of the lane's element s in a group. */
    __device__ static int k_of(int s) {
        return s / 2 * 8 + wi_lane() % 4 * 2 + s % 2;
    }

    __device__ static void take_x(const T *a, int row, int k, Register (&x)[depth / 2]) {
        const int i = row + row_of(0);
#pragma unroll
        for (int s = 0; s < depth / 4; s += A::kept_along_k ? 2 : 1) {
            if constexpr (A::kept_along_k) {
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    const two v = *(const two *)(a + A::at(i + r, k + k_of(s)));
                    x[2 * s + r] = wi_bit_cast<Register>(v.at[0]);
                    x[2 * s + 2 + r] = wi_bit_cast<Register>(v.at[1]);
                }
            } else {
                const two v = *(const two *)(a + A::at(i, k + k_of(s)));
                x[2 * s] = wi_bit_cast<Register>(v.at[0]);
                x[2 * s + 1] = wi_bit_cast<Register>(v.at[1]);
            }
        }
    }

    __device__ static void take_y(const T *b, int column, int k, Register (&y)[depth / 4]) {
        const int j = column + wi_lane() / 4;
#pragma unroll
        for (int s = 0; s < depth / 4; s += B::kept_along_k ? 2 : 1) {
            if constexpr (B::kept_along_k) {
                const two v = *(const two *)(b + B::at(j, k + k_of(s)));
                y[s] = wi_bit_cast<Register>(v.at[0]);
                y[s + 1] = wi_bit_cast<Register>(v.at[1]);
            } else {
                y[s] = wi_bit_cast<Register>(b[B::at(j, k + k_of(s))]);
            }
        }
    }

    __device__ void take(const T *a, const T *b, int group, Operands &o) const {
#pragma unroll
        for (int i = 0; i < Pieces::high; i++)
            take_x(a, this->row + 16 * i, group * depth, o.x[i]);
#pragma unroll
        for (int j = 0; j < Pieces::wide; j++)
            take_y(b, this->column + 8 * j, group * depth, o.y[j]);
    }

    template <class F>
    __device__ void each(F f) const {
        Pieces::each(row_of, f);
    }
};

/* 16-bit floats: two elements of k in a register, dealt out by ldmatrix, sixteen of k at a time. */
template <class Shape, class A, class B>
struct wi_gemm_tensor_half : wi_gemm_tensor_sums<Shape, float> {
    using T = typename Shape::T;
    using Pieces = wi_gemm_tensor_sums<Shape, float>;
    static constexpr int depth = 16, groups = Shape::tile_k / depth;
    static_assert(Pieces::wide % 2 == 0, "columns are loaded by 16");

    /* The four 8 x 8 matrices at (i, p), (i + 8, p), (i, p + 8), (i + 8, p + 8), the first index
     * being that of rows of A or columns of B. */
    template <class Slab>
    __device__ static void take_four(const T *slab, int i, int p, uint32_t (&x)[4]) {
        const int lane = wi_lane(), r = lane % 8, lower = lane / 8 % 2, right = lane / 16;
        if constexpr (Slab::kept_along_k)
            wi_load_matrices(x, slab + Slab::at(i + r + 8 * lower, p + 8 * right));
        else
            wi_load_matrices_transposed(x, slab + Slab::at(i + 8 * lower, p + r + 8 * right));
    }

    struct Operands {
        uint32_t x[Pieces::high][4];
        uint32_t y[Pieces::wide][2];
    };

    __device__ void take(const T *a, const T *b, int group, Operands &o) const {
#pragma unroll
        for (int i = 0; i < Pieces::high; i++)
            take_four<A>(a, this->row + 16 * i, group * depth, o.x[i]);
#pragma unroll
        for (int j = 0; j < Pieces::wide; j += 2) {
            uint32_t both[4];
            take_four<B>(b, this->column + 8 * j, group * depth, both);
            o.y[j][0] = both[0], o.y[j + 1][0] = both[1];
            o.y[j][1] = both[2], o.y[j + 1][1] = both[3];
        }
    }
};

/* i8: four elements of k in a register, 32 of k at a time. */
template <class Shape, class A, class B>
struct wi_gemm_tensor_bytes : wi_gemm_tensor_sums<Shape, int32_t> {
    using Pieces = wi_gemm_tensor_sums<Shape, int32_t>;
    static constexpr int depth = 32, groups = Shape::tile_k / depth;

    template <class Slab>
    __device__ static uint32_t take_four(const int8_t *slab, int i, int p) {
        if constexpr (Slab::kept_along_k)
            return *(const uint32_t *)(slab + Slab::at(i, p));
        uint32_t word = 0;
#pragma unroll
        for (int q = 0; q < 4; q++)
            word |= (uint32_t)(uint8_t)slab[Slab::at(i, p + q)] << 8 * q;
        return word;
    }

    struct Operands {
        uint32_t x[Pieces::high][4];
        uint32_t y[Pieces::wide][2];
    };

    __device__ void take(const int8_t *a, const int8_t *b, int group, Operands &o) const {
        const int g = wi_lane() / 4, k = group * depth + wi_lane() % 4 * 4;
#pragma unroll
        for (int i = 0; i < Pieces::high; i++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                o.x[i][q] = take_four<A>(a, this->row + 16 * i + g + q % 2 * 8, k + q / 2 * 16);
#pragma unroll
        for (int j = 0; j < Pieces::wide; j++)
#pragma unroll
            for (int q = 0; q < 2; q++)
                o.y[j][q] = take_four<B>(b, this->column + 8 * j + g, k + q * 16);
    }
};

#endif
