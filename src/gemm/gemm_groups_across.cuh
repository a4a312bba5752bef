/* SPDX-License-Identifier: Apache-2.0 */
/* Adders in groups of four warps for tf32 whose A lies across: tensor cores read tf32 from shared
 * memory along k alone, but the first factor of a product may come from registers. So each thread
 * reads its own elements of A from the slot, and B, which lies along k, is read by the tensor
 * cores. A group has 64 rows of C's tile, and all of its columns.
 *
 * Any row of A may take any row of a product's place, and they are dealt out such that a thread has
 * pairs of neighbouring rows, and half a warp, which reads 128 bytes of shared memory at once,
 * finds them in all banks: chunk c of a line, four rows, lies at c ^ (k % 8), and the half's lanes
 * have two chunks c and c + 4 of each of four lines. */
#ifndef WI_GEMM_GROUPS_ACROSS_CUH
#define WI_GEMM_GROUPS_ACROSS_CUH

#include "gemm/gemm_boxes.cuh"

template <class Shape, class A, class B>
struct wi_gemm_group_across {
    using Sum = typename Shape::Sum;
    static constexpr int count = Shape::tile_n / 2, run = 2, product_k = 8;
    static constexpr int products = A::depth / product_k;
    static_assert(!A::by_k && B::by_k && A::across == 32, "A across, B along k");
    int row; /* the thread's first of the tile */
    Sum sum[count];

    /* What a thread has of A in a slot: of each product the elements of two rows at k = lane % 4,
     * then at 4 + lane % 4. */
    struct fragment {
        uint32_t of[products][4];
    };

    __device__ explicit wi_gemm_group_across(int adder) {
        const int g = wi_lane() / 4, chunk = g / 4 + adder % 2 * 2 + g / 2 % 2 * 4;
        row = adder / 2 * 32 + chunk * 4 + g % 2 * 2;
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = 0;
    }

    __device__ void read(const char *of_a, fragment &x) const {
        using pair = wi_gemm_run<uint32_t, 2>;
        const int k = wi_lane() % 4;
        const char *const low = of_a + wi_box_place(A::at(row, k));
        const char *const high = of_a + wi_box_place(A::at(row, k + 4));
#pragma unroll
        for (int p = 0; p < products; p++) {
            const pair first = *(const pair *)(low + p * product_k * wi_box_line);
            const pair later = *(const pair *)(high + p * product_k * wi_box_line);
            x.of[p][0] = first.at[0];
            x.of[p][1] = first.at[1];
            x.of[p][2] = later.at[0];
            x.of[p][3] = later.at[1];
        }
    }

    /* Begins to add the products of one slot. */
    __device__ void multiply(const fragment &x, const char *of_b) {
        wi_group_begin();
#pragma unroll
        for (int p = 0; p < products; p++)
            wi_group_multiply_tf32(sum, x.of[p], {of_b + B::at(0, p * product_k), B::box_bytes});
        wi_group_commit();
    }

    /* The registers of A cannot be filled while products are under way. What a group waits for its
     * products and its next elements of A, the other group's products fill. */
    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        for (size_t s = 0; s < steps; s++, t.next()) {
            const char *const slot = ring.wait(t);
            fragment x;
            read(slot, x);
            multiply(x, slot + A::bytes);
            wi_group_wait<0>();
            ring.release_read(t);
        }
    }

    /* Calls f(row, column, sums) for pairs of rows. */
    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int q = 0; q < count; q += 4)
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const wi_gemm_run<Sum, run> two = {{sum[q + c], sum[q + 2 + c]}};
                f(row, 2 * q + wi_lane() % 4 * 2 + c, two);
            }
    }

    /* Calls f(row, column, sums) for pairs of columns. */
    template <class F>
    __device__ void each_across(F f) const {
#pragma unroll
        for (int q = 0; q < count; q += 2) {
            const wi_gemm_run<Sum, run> two = {{sum[q], sum[q + 1]}};
            f(row + q / 2 % 2, q / 4 * 8 + wi_lane() % 4 * 2, two);
        }
    }
};

/* Rates are in percent of multiply-adds of f32. */
template <int tile_n, int slots, int percent>
struct wi_gemm_across_shape : wi_gemm_boxed_shape<float, float, float, 128, tile_n, slots, 16> {
    static constexpr double rate = percent / 100.0;
    static constexpr bool writes_rows = true;
    static constexpr bool begins_ahead = tile_n < 256, takes_many = begins_ahead;
    template <class A, class B>
    using Adder = wi_gemm_group_across<wi_gemm_across_shape, A, B>;
};

/* Four groups, so that more of A's lines lies together. */
template <int tile_n, int slots, int percent>
struct wi_gemm_tall_across_shape
    : wi_gemm_boxed_shape<float, float, float, 256, tile_n, slots, 16> {
    static constexpr double rate = percent / 100.0;
    static constexpr bool writes_rows = true;
    static constexpr int adders = 16, warps = 20, adder_registers = 104;
    template <class A, class B>
    using Adder = wi_gemm_group_across<wi_gemm_tall_across_shape, A, B>;
};

#endif
