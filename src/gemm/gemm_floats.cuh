/* SPDX-License-Identifier: Apache-2.0 */
/* Adders of f32: fused multiply-adds, in the order of k. A thread has rows x columns sums, in
 * groups of four.
 *
 * Where an operand lies across, a line of a box has one k of 32 rows (or columns), of which lanes
 * take four at a time. Where it lies along k, a line is a row, of which lanes take four of k at a
 * time; neighbouring lanes then have neighbouring rows, so that they read from different banks. */
#ifndef WI_GEMM_FLOATS_CUH
#define WI_GEMM_FLOATS_CUH

#include "cuda/memory.cuh"
#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_floats {
    static constexpr int lanes_m = 8, lanes_n = 4, rows = Shape::rows, columns = Shape::columns;
    static constexpr int warp_m = lanes_m * rows, warp_n = lanes_n * columns;
    static constexpr int warps_m = Shape::tile_m / warp_m;
    static constexpr int count = rows * columns, run = A::by_k ? 1 : 4;
    static constexpr int chunk = 16, fours = 2; /* fours of k that are unrolled: all eight would
                                                   not fit the cache of instructions */
    using four = wi_vector<float>;
    static_assert(warps_m * (Shape::tile_n / warp_n) == Shape::adders, "a part for each adder");

    int row, column; /* of the warp's first element in the tile */
    float sum[count];

    __device__ explicit wi_gemm_floats(int adder)
        : row(adder % warps_m * warp_m), column(adder / warps_m * warp_n) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }

    __device__ static int row_of(int q) {
        const int lane = wi_lane() % lanes_m;
        return A::by_k ? q * lanes_m + lane : q / 4 * 4 * lanes_m + lane * 4 + q % 4;
    }
    __device__ static int column_of(int q) {
        return q / 4 * 4 * lanes_n + wi_lane() / lanes_m * 4 + q % 4;
    }

    /* An operand's elements of one k: where it lies across, from line k % 8 of eight of k. `lanes`
     * share a row of chunks, of which `lane` is one: chunk c of line k is where chunk c ^ (k % 8)
     * would be. What depends on the lane alone is few numbers, which the compiler keeps. */
    template <class Operand, int lanes, int size>
    __device__ static void take_across(const char *slot, int first, int lane, int k,
                                       float (&x)[size]) {
        constexpr int chunks = 8;
        const int skipped = lanes * size % 32 == 0 ? 0 : first / 4 % chunks;
#pragma unroll
        for (int i = 0; i < size / 4; i++) {
            const int past = skipped + lanes * i; /* chunks, before the lane's */
            const char *const box = slot + Operand::at((first / 32 + past / chunks) * 32, k);
            const four v = *(const four *)(box + ((past % chunks + lane) ^ k % chunks) * chunk);
#pragma unroll
            for (int q = 0; q < 4; q++)
                x[4 * i + q] = v.at[q];
        }
    }
    /* Four of k of rows (or columns), which lie along k. */
    template <class Operand, class Place, int size>
    __device__ static void take_along(const char *slot, int first, Place place, int k,
                                      four (&x)[size]) {
#pragma unroll
        for (int q = 0; q < size; q++)
            x[q] = *(const four *)(slot + wi_box_place(Operand::at(first + place(q), k)));
    }

    /* There and back (wi_gemm_there_and_back): two multiply-adds that follow each other share an
     * operand. */
    __device__ void add(const float (&x)[rows], const float (&y)[columns]) {
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int q = 0; q < rows; q++) {
                const int i = wi_gemm_there_and_back(q, rows, j);
                sum[j * rows + i] = wi_fma(x[i], y[j], sum[j * rows + i]);
            }
    }

    __device__ void add_four(const char *slot, int k) {
        four a_along[rows], b_along[columns];
        if constexpr (A::by_k)
            take_along<A>(slot, row, row_of, k, a_along);
        if constexpr (B::by_k)
            take_along<B>(slot + A::bytes, column, column_of, k, b_along);
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float x[rows], y[columns];
            if constexpr (!A::by_k)
                take_across<A, lanes_m>(slot, row, wi_lane() % lanes_m, k + s, x);
            if constexpr (!B::by_k)
                take_across<B, lanes_n>(slot + A::bytes, column, wi_lane() / lanes_m, k + s, y);
            if constexpr (A::by_k)
#pragma unroll
                for (int i = 0; i < rows; i++)
                    x[i] = a_along[i].at[s];
            if constexpr (B::by_k)
#pragma unroll
                for (int j = 0; j < columns; j++)
                    y[j] = b_along[j].at[s];
            add(x, y);
        }
    }

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        for (size_t s = 0; s < steps; s++) {
            const char *const slot = ring.wait(t);
#pragma unroll 1
            for (int first = 0; first < A::depth; first += 4 * fours)
#pragma unroll
                for (int k = 0; k < 4 * fours; k += 4)
                    add_four(slot, first + k);
            ring.release_read(t);
            t.next();
        }
    }

    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int j = 0; j < columns; j++)
#pragma unroll
            for (int i = 0; i < rows; i += run) {
                wi_gemm_run<float, run> together;
#pragma unroll
                for (int q = 0; q < run; q++)
                    together.at[q] = sum[j * rows + i + q];
                f(row + row_of(i), column + column_of(j), together);
            }
    }
};

/* Rates are in percent of the peak of multiply-adds. */
template <int tile_m, int tile_n, int rows_, int columns_, int slots, int percent, bool may_turn_c_>
struct wi_gemm_floats_shape : wi_gemm_boxed_shape<float, float, float, tile_m, tile_n, slots, 8> {
    static constexpr int rows = rows_, columns = columns_, read_bytes = 128;
    static constexpr double rate = percent / 100.0;
    static constexpr bool any_share = true, may_turn_c = may_turn_c_;
    static constexpr double worth_cutting = rows_ * columns_ == 128 ? 0.97 : 0.85;
    template <class A, class B>
    using Adder = wi_gemm_floats<wi_gemm_floats_shape, A, B>;
};

#endif
