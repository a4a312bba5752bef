/* SPDX-License-Identifier: Apache-2.0 */
/* Adders of f32: fused multiply-adds, in the order of k. A thread has 8 x 16 sums. A and B lie
 * across: a line of a box has one k of 32 rows (or columns), of which lanes take four at a time.
 * Eight of k are unrolled, and no more: all 32 would not fit the cache of instructions. */
#ifndef WI_GEMM_FLOATS_CUH
#define WI_GEMM_FLOATS_CUH

#include "cuda/memory.cuh"
#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_floats {
    static constexpr int lanes_m = 8, lanes_n = 4, rows = 8, columns = 16;
    static constexpr int warp_m = lanes_m * rows, warp_n = lanes_n * columns;
    static constexpr int warps_m = Shape::tile_m / warp_m;
    static constexpr int count = rows * columns, run = 4, unrolled = 8;
    static_assert(!A::by_k && !B::by_k, "lines across");
    static_assert(warps_m * (Shape::tile_n / warp_n) == Shape::adders, "a part for each adder");

    struct Operands {
        wi_vector<float> x[rows / 4], y[columns / 4];
    };

    int row, column; /* of the warp's first element in the tile */
    float sum[count];

    __device__ explicit wi_gemm_floats(int adder)
        : row(adder % warps_m * warp_m), column(adder / warps_m * warp_n) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }

    __device__ static int row_of(int q) {
        return q / 4 * 4 * lanes_m + wi_lane() % lanes_m * 4 + q % 4;
    }
    __device__ static int column_of(int q) {
        return q / 4 * 4 * lanes_n + wi_lane() / lanes_m * 4 + q % 4;
    }

    /* Chunk c of line k is where chunk c ^ (k % 8) would be. The lane's own part of that is few
     * numbers, which the compiler keeps: what depends on i or j is added. */
    __device__ void take(const char *slot, int k, Operands &o) const {
        constexpr int chunk = 16, chunks = 8;
        const int lane_m = wi_lane() % lanes_m, lane_n = wi_lane() / lanes_m;
        const char *const a = slot + A::at(row, k) + (lane_m ^ k % chunks) * chunk;
        const char *const b = slot + A::bytes + B::at(column, k) + (lane_n ^ k % 4) * chunk;
#pragma unroll
        for (int i = 0; i < rows / 4; i++)
            o.x[i] = *(const wi_vector<float> *)(a + A::at(4 * lanes_m * i, 0));
#pragma unroll
        for (int j = 0; j < columns / 4; j++)
            o.y[j] = *(const wi_vector<float> *)(b + B::at(8 * lanes_n * (j / 2), 0) +
                                                 ((j % 2) ^ (k / 4 % 2)) * 4 * chunk);
    }

    __device__ void add(const Operands &o) {
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int i = 0; i < rows; i++)
                sum[j * rows + i] =
                    wi_fma(o.x[i / 4].at[i % 4], o.y[j / 4].at[j % 4], sum[j * rows + i]);
    }

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        for (size_t s = 0; s < steps; s++) {
            const char *lines = ring.wait(t);
#pragma unroll 1
            for (int first = 0; first < A::depth; first += unrolled) {
#pragma unroll
                for (int k = 0; k < unrolled; k++) {
                    Operands o;
                    take(lines, k, o);
                    add(o);
                }
                lines += unrolled * wi_box_line;
            }
            ring.release_read(t);
            t.next();
        }
    }

    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int i = 0; i < rows; i += 4) {
                wi_gemm_run<float, run> four;
#pragma unroll
                for (int q = 0; q < 4; q++)
                    four.at[q] = sum[j * rows + i + q];
                f(row + row_of(i), column + column_of(j), four);
            }
    }
};

template <int tile_m, int tile_n, int slots>
struct wi_gemm_floats_shape : wi_gemm_boxed_shape<float, float, float, tile_m, tile_n, slots, 8> {
    static constexpr int join_steps = 3, read_bytes = 128;
    static constexpr bool any_share = true;
    template <class A, class B>
    using Adder = wi_gemm_floats<wi_gemm_floats_shape, A, B>;
};

#endif
