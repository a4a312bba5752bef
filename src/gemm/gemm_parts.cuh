/* SPDX-License-Identifier: Apache-2.0 */
/* f32 by products of bf16 on tensor cores. An element is the sum of three bf16, part 0 the largest,
 * each eight bits below the one before; a product is the sum of six of parts, those left out being
 * less than 2^-23 of it. The smallest come first. Tensor cores cut their sums where fused
 * multiply-adds round, so these are kept short: those of one step of k, which are then added up in
 * f32 with rounding. */
#ifndef WI_GEMM_PARTS_CUH
#define WI_GEMM_PARTS_CUH

#include "gemm/gemm_groups.cuh"

template <class Shape, class A, class B>
struct wi_gemm_group_of_parts : wi_gemm_group<Shape, A, B> {
    using Group = wi_gemm_group<Shape, A, B>;
    using Group::count, Group::sum;
    float step[count]; /* the sums of one step of k */

    __device__ explicit wi_gemm_group_of_parts(int adder) : Group(adder) {}

    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        for (size_t s = 0; s < steps; s += Shape::factors) {
#pragma unroll
            for (int q = 0; q < count; q++)
                step[q] = 0;
            typename Ring::turn before = t;
#pragma unroll 1
            for (int factor = 0; factor < Shape::factors; factor++) {
                this->multiply(ring.wait(t), step);
                wi_group_wait<1>();
                if (factor > 0)
                    ring.release(before);
                before = t;
                t.next();
            }
            wi_group_wait<0>();
            ring.release(before);
#pragma unroll
            for (int q = 0; q < count; q++)
                sum[q] += step[q];
        }
    }
};

template <int slots>
struct wi_gemm_parts_shape : wi_gemm_boxed_shape<__nv_bfloat16, float, float, 128, 128, slots, 16> {
    static constexpr int parts = 3, factors = 6, read_bytes = 256;
    static constexpr double rate = 1.7; /* of multiply-adds of f32 */
    template <class A, class B>
    using Adder = wi_gemm_group_of_parts<wi_gemm_parts_shape, A, B>;
    /* (2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0): two bits each. */
    __device__ static constexpr int part_a(int factor) {
        return 0x052 >> 2 * factor & 3;
    }
    __device__ static constexpr int part_b(int factor) {
        return 0x118 >> 2 * factor & 3;
    }
};

#endif
