/* SPDX-License-Identifier: Apache-2.0 */
/* Adders of f64: each warp has a part of C's tile, made of pieces of 16 x 8, and takes its operands
 * from the slots to registers: while it multiplies those of eight of k, it loads the next eight.
 *
 * Rows and columns of a piece may be given to a tensor core in any order. They are taken so that
 * one access brings what lies together in registers too, and that the lanes of an access read from
 * different banks. With g = lane / 4 and t = lane % 4, a lane takes t and t + 4 of each eight of k.
 */
#ifndef WI_GEMM_DOUBLES_CUH
#define WI_GEMM_DOUBLES_CUH

#include "cuda/tensor_f64.cuh"
#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_doubles {
    static constexpr int warp_m = Shape::tile_m / Shape::warps_m;
    static constexpr int warp_n = Shape::tile_n / Shape::warps_n;
    static constexpr int high = warp_m / 16, wide = warp_n / 8;
    static constexpr int count = high * wide * 4, run = 2;
    static_assert(high * 16 == warp_m && wide * 8 == warp_n && wide % 2 == 0, "whole pieces");
    static_assert(A::depth == 16 && B::depth == 16, "two eights of k in a step");

    struct alignas(16) two {
        double at[2];
    };
    struct Operands {
        double x[high][4], y[wide][2];
    };

    int row, column; /* of the warp's first element in the tile */
    double sum[count];

    __device__ explicit wi_gemm_doubles(int adder)
        : row(adder % Shape::warps_m * warp_m), column(adder / Shape::warps_m * warp_n) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }

    /* Which row, and which column, has place g in the order of the tensor core: the first of two
     * rows; the column in piece j of two side by side. */
    __device__ static int row_of(int g) {
        return 2 * (A::by_k ? g : g % 2 * 4 + g / 2);
    }
    __device__ static int column_of(int j, int g) {
        return B::by_k ? 2 * g + j : g % 2 + g / 2 % 2 * 8 + g / 4 * 2 + 4 * j;
    }

    __device__ static void take_x(const char *slot, int i, int k, double (&x)[4]) {
#pragma unroll
        for (int s = 0; s < 2; s++) {
            if constexpr (A::by_k) {
#pragma unroll
                for (int r = 0; r < 2; r++)
                    x[2 * s + r] = *(const double *)(slot + wi_box_place(A::at(i + r, k + 4 * s)));
            } else {
                const two v = *(const two *)(slot + wi_box_place(A::at(i, k + 4 * s)));
                x[2 * s] = v.at[0];
                x[2 * s + 1] = v.at[1];
            }
        }
    }

    /* Brings the operands of one half of a step. */
    __device__ void take(const char *slot, int half, Operands &o) const {
        const int g = wi_lane() / 4, k = 8 * half + wi_lane() % 4;
#pragma unroll
        for (int i = 0; i < high; i++)
            take_x(slot, row + 16 * i + row_of(g), k, o.x[i]);
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int s = 0; s < 2; s++) {
                const int at = column + j / 2 * 16 + column_of(j % 2, g);
                o.y[j][s] = *(const double *)(slot + A::bytes + wi_box_place(B::at(at, k + 4 * s)));
            }
    }

    __device__ void add(const Operands &o) {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
                wi_multiply_f64(*(double(*)[4])(sum + 4 * (i * wide + j)), o.x[i], o.y[j]);
    }

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        Operands now, next;
        if (steps == 0)
            return;
        const char *slot = ring.wait(t);
        take(slot, 0, now);
        for (size_t s = 0; s < steps; s++) {
            take(slot, 1, next);
            add(now);
            ring.release_read(t); /* by now the loads are over: the fence need not wait for them */
            t.next();
            if (s + 1 < steps) {
                slot = ring.wait(t);
                take(slot, 0, now);
            }
            add(next);
        }
    }

    template <class F>
    __device__ void each(F f) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int i = 0; i < high; i++)
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    const double *const piece = sum + 4 * (i * wide + j);
                    const wi_gemm_run<double, run> pair = {{piece[c], piece[2 + c]}};
                    f(row + 16 * i + row_of(g), column + j / 2 * 16 + column_of(j % 2, 2 * t + c),
                      pair);
                }
    }
};

/* `percent`: the rate, in percent of that of multiply-adds without tensor cores. */
template <int tile_m, int tile_n, int warps_m_, int warps_n_, int slots, int percent,
          bool may_turn_c_, bool carries_c_ = false>
struct wi_gemm_doubles_shape
    : wi_gemm_boxed_shape<double, double, double, tile_m, tile_n, slots, 8> {
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr double rate = percent / 100.0;
    static constexpr bool any_share = true, may_turn_c = may_turn_c_, carries_c = carries_c_;
    static constexpr int read_bytes = carries_c ? 64 : 128;
    template <class A, class B>
    using Adder = wi_gemm_doubles<wi_gemm_doubles_shape, A, B>;
};

/* Four warps alone, for a small C: each has more of a tile, and reads less of shared memory. */
template <int tile_m, int tile_n, int slots, int percent>
struct wi_gemm_few_doubles_shape
    : wi_gemm_boxed_shape<double, double, double, tile_m, tile_n, slots, 8> {
    static constexpr int warps_m = 2, warps_n = 2, adders = 4, warps = 8;
    static constexpr int adder_registers = 168, read_bytes = 128;
    static constexpr double rate = percent / 100.0;
    template <class A, class B>
    using Adder = wi_gemm_doubles<wi_gemm_few_doubles_shape, A, B>;
};

#endif
