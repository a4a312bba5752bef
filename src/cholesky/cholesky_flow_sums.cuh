/* SPDX-License-Identifier: Apache-2.0 */
/* A warp's 32 x 32 sums of f64 from slots of the copy engine's: gemm's adder of f64, and one of
 * factors that are f32. */
#ifndef WI_CHOLESKY_FLOW_SUMS_CUH
#define WI_CHOLESKY_FLOW_SUMS_CUH

#include "cholesky/cholesky_flow.cuh"
#include "gemm/gemm_doubles.cuh"

template <int columns>
struct wi_flow_shape {
    static constexpr int tile_m = flow_groups * flow_side, tile_n = columns * flow_side;
    static constexpr int warps_m = columns == 1 ? 4 : 2, warps_n = 8 / warps_m;
};

/* Lanes take pairs along the lines of boxes, and neighbours of k: as wi_gemm_doubles, with that
 * order of rows and columns. */
template <class A, class B>
struct wi_flow_singles {
    static constexpr int high = 2, wide = 4, eights = A::depth / 8;
    static_assert(eights == 4 && A::by_k == B::by_k, "lines of 32");

    struct alignas(8) two {
        float at[2];
    };
    struct Operands {
        float x[high][4], y[wide][2];
    };

    int row, column;
    double sum[high * wide][4];

    __device__ explicit wi_flow_singles(int adder)
        : row(adder % wi_flow_shape<1>::warps_m * 32),
          column(adder / wi_flow_shape<1>::warps_m * 32), sum{} {}

    /* f(which of the pair of rows, which of k, element) of rows i and i + 1 of an operand. */
    template <class Operand, class F>
    __device__ static void take_pair(const char *slot, int i, int k, F f) {
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const uint32_t at = Operand::by_k ? Operand::at(i + q, k) : Operand::at(i, k + q);
            const two v = *(const two *)(slot + wi_box_place(at));
#pragma unroll
            for (int e = 0; e < 2; e++)
                if constexpr (Operand::by_k)
                    f(q, e, v.at[e]);
                else
                    f(e, q, v.at[e]);
        }
    }
    __device__ void take(const char *slot, int eight, Operands &o) const {
        const int g = wi_lane() / 4, k = 8 * eight + wi_lane() % 4 * 2;
#pragma unroll
        for (int i = 0; i < high; i++)
            take_pair<A>(slot, row + 16 * i + 2 * g, k,
                         [&](int r, int s, float v) { o.x[i][2 * s + r] = v; });
#pragma unroll
        for (int j = 0; j < wide; j += 2)
            take_pair<B>(slot + A::bytes, column + 8 * j + 2 * g, k,
                         [&](int r, int s, float v) { o.y[j + r][s] = v; });
    }
    __device__ void add(const Operands &o) {
        double y[wide][2];
#pragma unroll
        for (int j = 0; j < wide; j++)
#pragma unroll
            for (int s = 0; s < 2; s++)
                y[j][s] = o.y[j][s];
#pragma unroll
        for (int i = 0; i < high; i++) {
            const double x[4] = {o.x[i][0], o.x[i][1], o.x[i][2], o.x[i][3]};
#pragma unroll
            for (int j = 0; j < wide; j++)
                wi_multiply_f64(sum[i * wide + j], x, y[j]);
        }
    }
    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        Operands now, next;
        const char *slot = ring.wait(t);
        take(slot, 0, now);
        for (size_t s = 0; s < steps; s++) {
#pragma unroll
            for (int e = 1; e < eights; e += 2) {
                take(slot, e, next);
                add(now);
                if (e + 1 < eights) {
                    take(slot, e + 1, now);
                } else {
                    ring.release_read(t);
                    t.next();
                    if (s + 1 < steps) {
                        slot = ring.wait(t);
                        take(slot, 0, now);
                    }
                }
                add(next);
            }
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
                    const double *const piece = sum[i * wide + j];
                    const wi_gemm_run<double, 2> pair = {{piece[c], piece[2 + c]}};
                    f(row + 16 * i + 2 * g, column + j / 2 * 16 + 2 * (2 * t + c) + j % 2, pair);
                }
    }
};

/* Of 64 x 32 sums a warp has no registers for the next operands. */
template <class A, class B>
struct wi_flow_wide : wi_gemm_doubles<wi_flow_shape<2>, A, B> {
    using Base = wi_gemm_doubles<wi_flow_shape<2>, A, B>;
    using Base::Base;
    template <class Ring>
    __device__ void add_up(const Ring &ring, size_t steps, typename Ring::turn &t) {
        for (size_t s = 0; s < steps; s++) {
            const char *const slot = ring.wait(t);
            typename Base::Operands now;
            this->take(slot, 0, now);
            this->add(now);
            this->take(slot, 1, now);
            ring.release_read(t);
            t.next();
            this->add(now);
        }
    }
};
template <class T, int columns, class A, class B>
struct wi_flow_sums_of;
template <class A, class B>
struct wi_flow_sums_of<double, 1, A, B> {
    using type = wi_gemm_doubles<wi_flow_shape<1>, A, B>;
};
template <class A, class B>
struct wi_flow_sums_of<double, 2, A, B> {
    using type = wi_flow_wide<A, B>;
};
template <class A, class B>
struct wi_flow_sums_of<float, 1, A, B> {
    using type = wi_flow_singles<A, B>;
};
template <class T, int columns, class A, class B>
using wi_flow_sums = typename wi_flow_sums_of<T, columns, A, B>::type;

#endif
