/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of a system share. */
#ifndef WI_SOLVE_CUDA_CUH
#define WI_SOLVE_CUDA_CUH

#include "cuda/bits.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "solve/system.h"

/* A grid whose elements are T. */
template <class T>
struct wi_typed_grid {
    using type = T;
    wi_grid g;

    __device__ double raw(size_t i, size_t j) const {
        return (double)((const T *)g.p)[i * g.down + j * g.across];
    }
    __device__ int power(size_t i, size_t j) const {
        return (g.row_power ? g.row_power[i] : 0) + (g.column_power ? g.column_power[j] : 0);
    }
    /* x, which raw() read as element (i, j), times its powers of two. */
    __device__ double scaled(double x, size_t i, size_t j) const {
        return g.row_power || g.column_power ? wi_times_power(x, power(i, j)) : x;
    }
    __device__ double at(size_t i, size_t j) const {
        return scaled(raw(i, j), i, j);
    }
    __device__ bool has(size_t i, size_t j) const {
        return j >= wi_half_begin(g.half, i) && j < wi_half_end(g.half, i, g.columns);
    }
};

/* Calls f with the grid, typed. */
template <class F>
weft_status wi_with_grid(const wi_grid *g, F f) {
    if (g->type == WEFT_F64)
        return f(wi_typed_grid<double>{*g});
    return f(wi_typed_grid<float>{*g});
}

/* Calls f(wi_tag<T>{}) for f64 or f32. */
template <class F>
weft_status wi_with_float(weft_type type, F f) {
    if (type == WEFT_F64)
        return f(wi_tag<double>{});
    return f(wi_tag<float>{});
}

__host__ __device__ constexpr size_t wi_pieces(size_t n, size_t size) {
    return (n + size - 1) / size;
}

weft_status wi_system_multiply_cuda(weft_context *ctx, const wi_product *p);
size_t wi_system_room_bytes_cuda(const wi_product *p);
weft_status wi_system_survey_cuda(weft_context *ctx, const wi_grid *g, const wi_survey *to);

#endif
