/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by products of its parts on tensor cores, part 0 the largest. An element is the sum of three
 * bf16, each eight bits below the one before, and a product that of six of parts, those left out
 * being less than 2^-23 of it; or, where elements are known to be of f16's range, the sum of two
 * f16, each eleven bits below the one before, and a product that of three. The smallest come first.
 * Tensor cores cut their sums where fused multiply-adds round, so these are kept short: those of
 * one step of k, which are then added up in f32 with rounding. */
#ifndef WI_GEMM_PARTS_CUH
#define WI_GEMM_PARTS_CUH

#include "gemm/gemm_groups.cuh"

template <class Shape, class A, class B>
struct wi_gemm_group_of_parts : wi_gemm_group<Shape, A, B> {
    using Group = wi_gemm_group<Shape, A, B>;
    using Group::count, Group::sum;
    float step[count]; /* the sums of one step of k */

    __device__ explicit wi_gemm_group_of_parts(int adder) : Group(adder) {}

    /* The products of A's part and B's, the smallest first. */
    struct pair {
        int a, b;
    };
    static constexpr int products = Shape::parts == 3 ? 6 : 3;
    __device__ static constexpr pair factor(int which) {
        constexpr pair all[] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
        return all[which + 6 - products];
    }

    /* A slot has one part of each. */
    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        constexpr int parts = Shape::parts;
        for (size_t s = 0; s < steps; s += parts) {
            const char *slot[parts];
            typename Ring::turn used[parts];
#pragma unroll
            for (int q = 0; q < count; q++)
                step[q] = 0;
#pragma unroll
            for (int part = 0; part < parts; part++) {
                used[part] = t;
                slot[part] = ring.wait(t);
                t.next();
            }
#pragma unroll
            for (int which = 0; which < products; which++)
                this->multiply(slot[factor(which).a], slot[factor(which).b], step);
            wi_group_wait<0>();
#pragma unroll
            for (int part = 0; part < parts; part++)
                ring.release(used[part]);
#pragma unroll
            for (int q = 0; q < count; q++)
                sum[q] += step[q];
        }
    }
};

/* Rates are in percent of multiply-adds of f32. */
template <class Part, int parts_, int tile_m, int slots, int percent>
struct wi_gemm_parts_shape : wi_gemm_boxed_shape<Part, float, float, tile_m, 128, slots, 16> {
    static constexpr int parts = parts_;
    static constexpr bool is_staged = true, begins_ahead = false, takes_many = false;
    static constexpr double rate = percent / 100.0;
    template <class A, class B>
    using Adder = wi_gemm_group_of_parts<wi_gemm_parts_shape, A, B>;
};
using wi_gemm_three_parts = wi_gemm_parts_shape<__nv_bfloat16, 3, 128, 6, 180>;
using wi_gemm_two_parts = wi_gemm_parts_shape<__half, 2, 128, 6, 300>;

#endif
