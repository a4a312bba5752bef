/* SPDX-License-Identifier: Apache-2.0 */
/* Adders of tf32 whose factors both lie across k: groups of warps can take neither from shared
 * memory then but one of them, so each warp takes its operands to registers and multiplies by
 * itself, and nothing is turned. A warp has `warp_m` rows and `warp_n` columns of C's tile, and
 * takes the next eight of k while it multiplies these.
 *
 * Rows and columns of a product may be given in any order. With g = lane / 4 and t = lane % 4 a
 * lane has pairs of rows that lie together, at k = t and t + 4, so that what two accesses bring is
 * an operand as it stands in registers; and single columns. Chunk c of a line lies at c ^ (k % 8),
 * so lanes that read at once meet all banks if they have two chunks c and c + 4 of each line. */
#ifndef WI_GEMM_WARPS_ACROSS_CUH
#define WI_GEMM_WARPS_ACROSS_CUH

#include "cuda/tensor.cuh"
#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_warps_across {
    static constexpr int warp_m = Shape::tile_m / Shape::warps_m;
    static constexpr int warp_n = Shape::tile_n / Shape::warps_n;
    static constexpr int high = warp_m / 16, wide = warp_n / 8, eights = A::depth / 8;
    static constexpr int run = 2, count = high * wide * 4;
    static_assert(!A::by_k && !B::by_k && A::across == 32 && eights % 2 == 0, "both across");
    static_assert(warp_m % 32 == 0 && warp_n % 32 == 0, "whole boxes");

    struct Operands {
        uint32_t x[high][4], y[wide][2];
    };

    int row, column; /* of the warp's first element in the tile */
    float sum[count];

    __device__ explicit wi_gemm_warps_across(int adder)
        : row(adder % Shape::warps_m * warp_m), column(adder / Shape::warps_m * warp_n) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }
    /* Where place g in the tensor core's order is, of 32 rows or columns that lie together: the
     * first of two rows in piece i of two, the column in piece j of four. */
    __device__ static int row_of(int i, int g) {
        return (g / 4 + i * 2 + g / 2 % 2 * 4) * 4 + g % 2 * 2;
    }
    __device__ static int column_of(int j, int g) {
        return (j + g / 4 * 4) * 4 + g % 4;
    }

    /* Brings the operands of eight k from 8 p on. */
    __device__ void take(const char *slot, int p, Operands &o) const {
        using pair = wi_gemm_run<uint32_t, 2>;
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int s = 0; s < 2; s++) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const char *const a = slot + wi_box_place(A::at(row + row_of(i, g), t + 4 * s));
#pragma unroll
                for (int box = 0; box < high / 2; box++) {
                    const pair two = *(const pair *)(a + A::at(32 * box, 8 * p));
                    o.x[2 * box + i][2 * s] = two.at[0];
                    o.x[2 * box + i][2 * s + 1] = two.at[1];
                }
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const char *const b =
                    slot + wi_box_place(B::at(column + column_of(j, g), t + 4 * s));
#pragma unroll
                for (int box = 0; box < wide / 4; box++)
                    o.y[4 * box + j][s] =
                        *(const uint32_t *)(b + A::bytes + B::at(32 * box, 8 * p));
            }
        }
    }

    __device__ void add(const Operands &o) {
#pragma unroll
        for (int i = 0; i < high; i++)
#pragma unroll
            for (int j = 0; j < wide; j++)
                wi_multiply_tf32(*(float(*)[4])(sum + 4 * (i * wide + j)), o.x[i], o.y[j]);
    }

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        Operands of[2];
        if (steps == 0)
            return;
        const char *slot = ring.wait(t);
        take(slot, 0, of[0]);
        for (size_t s = 0; s < steps; s++) {
#pragma unroll
            for (int p = 0; p < eights; p++) {
                if (p + 1 < eights) {
                    take(slot, p + 1, of[(p + 1) % 2]);
                } else {
                    ring.release_read(t);
                    t.next();
                    if (s + 1 < steps) {
                        slot = ring.wait(t);
                        take(slot, 0, of[0]);
                    }
                }
                add(of[p % 2]);
            }
        }
    }

    /* Calls f(row, column, sums) for pairs of rows. */
    template <class F>
    __device__ void each(F f) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int i = 0; i < high; i++)
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    const float *const piece = sum + 4 * (i * wide + j);
                    const wi_gemm_run<float, run> two = {{piece[c], piece[2 + c]}};
                    f(row + i / 2 * 32 + row_of(i % 2, g),
                      column + j / 4 * 32 + column_of(j % 4, 2 * t + c), two);
                }
    }
};

/* Rates are in percent of multiply-adds of f32. */
template <int tile_m, int tile_n, int warps_m_, int warps_n_, int slots, int percent>
struct wi_gemm_warps_across_shape
    : wi_gemm_boxed_shape<float, float, float, tile_m, tile_n, slots, 16> {
    static constexpr int warps_m = warps_m_, warps_n = warps_n_;
    static constexpr double rate = percent / 100.0;
    static constexpr bool evens_thin = true;
    template <class A, class B>
    using Adder = wi_gemm_warps_across<wi_gemm_warps_across_shape, A, B>;
};

#endif
