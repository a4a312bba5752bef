/* SPDX-License-Identifier: Apache-2.0 */
/* Adders in groups of four warps, whose tensor cores read A and B from shared memory themselves. A
 * group has 64 columns of C's tile, and all of its rows: so neighbouring sums of a thread are
 * neighbours in C's columns. */
#ifndef WI_GEMM_GROUPS_CUH
#define WI_GEMM_GROUPS_CUH

#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_group {
    using T = typename Shape::T;
    using Sum = typename Shape::Sum;
    static constexpr int count = Shape::tile_m / 2, run = 4;
    static constexpr int product_k = 32 / (int)sizeof(T);
    int column; /* the group's first of the tile */
    Sum sum[count];

    __device__ explicit wi_gemm_group(int adder) : column(adder / 4 * 64) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }

    /* Begins to add the products of one slot's A and another's B to `to`. */
    __device__ void multiply(const char *of_a, const char *of_b, Sum (&to)[count]) const {
        wi_group_begin();
#pragma unroll
        for (int p = 0; p < A::depth; p += product_k) {
            const wi_group_operand a = {of_a + A::at(0, p), A::box_bytes};
            const wi_group_operand b = {of_b + A::bytes + B::at(column, p), B::box_bytes};
            wi_group_multiply<T, B::by_k, A::by_k>(to, b, a);
        }
        wi_group_commit();
    }

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        typename Ring::turn before = t;
        for (size_t s = 0; s < steps; s++) {
            const char *const slot = ring.wait(t);
            multiply(slot, slot, sum);
            wi_group_wait<1>();
            if (s > 0)
                ring.release(before);
            before = t;
            t.next();
        }
        wi_group_wait<0>();
        if (steps > 0)
            ring.release(before);
    }

    /* The first of the warp's 16 columns. */
    __device__ int warp_column() const {
        return column + (int)threadIdx.x / 32 % 4 * 16;
    }
    /* Calls f(row, two sums) for squares of eight rows, those of `rows` rows from `first` on, and
     * eight columns, one half of the warp's: rows count from `first`, and of a square lane 4 g + t
     * has rows 2 t and 2 t + 1 of column g. */
    template <class F>
    __device__ void each_square(int half, int first, int rows, F f) const {
#pragma unroll
        for (int q = 0; q < count; q += 4)
            if (2 * q >= first && 2 * q < first + rows)
                f(2 * q - first, sum[q + 2 * half], sum[q + 2 * half + 1]);
    }

    /* Calls f(row, column, sums) for runs of four rows. Two lanes side by side exchange halves of
     * two runs of eight, so that all lanes together store whole sectors. */
    template <class F>
    __device__ void each(F f) const {
        const int lane = wi_lane(), t = lane % 4;
        const int j = warp_column() + lane / 4;
        const bool odd = t % 2 == 1;
#pragma unroll
        for (int q = 0; q < count; q += 8)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                wi_gemm_run<Sum, run> four;
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    const Sum low = sum[q + 2 * r + c], high = sum[q + 4 + 2 * r + c];
                    const Sum theirs = wi_shuffle_xor(odd ? low : high, 1);
                    four.at[c] = odd ? theirs : low;
                    four.at[2 + c] = odd ? high : theirs;
                }
                f(2 * q + (odd ? 8 : 0) + t / 2 * 4, j + 8 * r, four);
            }
    }
};

/* Rates are in percent of multiply-adds of f32. */
template <class Element, class Out, class Sum, int tile_m, int tile_n, int slots, int percent>
struct wi_gemm_any_groups_shape
    : wi_gemm_boxed_shape<Element, Out, Sum, tile_m, tile_n, slots, 16> {
    static constexpr double rate = percent / 100.0;
    static constexpr bool is_staged = true;
};
template <class Element, class Out, class Sum, int tile_m, int slots, int percent>
struct wi_gemm_groups_shape
    : wi_gemm_any_groups_shape<Element, Out, Sum, tile_m, 128, slots, percent> {
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_groups_shape, A, B>;
};

/* C is sent as boxes, beside which there is less room for slots. of_end: what a tile's end
 * takes, in hundredths of a launch. */
template <class Element, int tile_m, int slots, int percent, int of_end>
struct wi_gemm_sent_groups_shape
    : wi_gemm_any_groups_shape<Element, Element, float, tile_m, 128, slots, percent> {
    static constexpr bool is_staged = false, sends_c = true;
    static constexpr double ending = of_end / 100.0;
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_sent_groups_shape, A, B>;
};

/* Two blocks share A. */
template <class Element, int tile_m, int slots, int percent>
struct wi_gemm_pair_groups_shape
    : wi_gemm_any_groups_shape<Element, Element, float, tile_m, 128, slots, percent> {
    static constexpr bool is_pair = true, is_lean = true;
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_pair_groups_shape, A, B>;
};

/* One group of adders, for a small C or a thin one. */
template <class Element, class Out, class Sum, int tile_m, int slots, int percent>
struct wi_gemm_one_group_shape
    : wi_gemm_any_groups_shape<Element, Out, Sum, tile_m, 64, slots, percent> {
    static constexpr int adders = 4, warps = 8;
    static constexpr int adder_registers = 168;
    static constexpr bool takes_many = false;
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_one_group_shape, A, B>;
};

/* Two blocks share A, whose tiles are tall, for a C of few columns. */
template <class Element, int slots, int percent>
struct wi_gemm_pair_one_group_shape
    : wi_gemm_any_groups_shape<Element, Element, float, 192, 64, slots, percent> {
    static constexpr bool is_pair = true, is_lean = true;
    static constexpr int adders = 4, warps = 8;
    static constexpr int adder_registers = 168;
    static constexpr bool takes_many = false;
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_pair_one_group_shape, A, B>;
};

/* Three groups of adders, and square tiles: what they bring for each product is a ninth less. Few
 * of them would be cut along k, which costs more than with smaller ones. */
template <class Element, class Out, class Sum, int slots, int percent>
struct wi_gemm_three_groups_shape
    : wi_gemm_any_groups_shape<Element, Out, Sum, 192, 192, slots, percent> {
    static constexpr bool wants_many = true;
    static constexpr double ending = 0.42;
    static constexpr int adders = 12, warps = 16;
    static constexpr int adder_registers = 152;
    template <class A, class B>
    using Adder = wi_gemm_group<wi_gemm_three_groups_shape, A, B>;
};

#endif
