/* SPDX-License-Identifier: Apache-2.0 */
/* What map computes at one element, shared by all CUDA rungs. */
#ifndef WI_MAP_CUDA_CUH
#define WI_MAP_CUDA_CUH

#include "cuda/types.cuh"
#include "map/map.h"

/* The arguments of one call, with types. */
template <class T>
struct wi_map_params {
    const T *x, *y;
    T *z;
    size_t ldx, ldy, ldz;
    size_t rows, cols;
    T a, b;
    uint64_t first;
};

template <class T>
wi_map_params<T> wi_map_typed(const wi_map_args *args) {
    wi_map_params<T> p;
    p.x = (const T *)args->x;
    p.y = (const T *)args->y;
    p.z = (T *)args->z;
    p.ldx = args->ldx;
    p.ldy = args->ldy;
    p.ldz = args->ldz;
    p.rows = args->rows;
    p.cols = args->cols;
    memcpy((void *)&p.a, &args->a, sizeof p.a);
    memcpy((void *)&p.b, &args->b, sizeof p.b);
    p.first = args->first;
    return p;
}

/* Does the operation read x? y? */
__host__ __device__ constexpr bool wi_map_reads(wi_map_op op) {
    return op == WI_MAP_ADD || op == WI_MAP_AXPY;
}

/* start + i step. The narrow floats compute in f64, so that i is exact up to 2^53. */
template <class T>
__device__ inline T wi_map_ramp(T start, T step, uint64_t i) {
    if constexpr (!wi_traits<T>::is_float)
        return wi_plus(start, wi_times((T)i, step));
    else
        return (T)((double)wi_load(start) + (double)i * (double)wi_load(step));
}

/* The value of element number i, for x and y there. */
template <wi_map_op op, class T>
__device__ inline T wi_map_element(const wi_map_params<T> &p, T x, T y, uint64_t i) {
    if constexpr (op == WI_MAP_ADD)
        return (T)wi_plus(wi_load(x), wi_load(y));
    else if constexpr (op == WI_MAP_AXPY)
        return (T)wi_plus(wi_times(wi_load(p.a), wi_load(x)), wi_load(y));
    else if constexpr (op == WI_MAP_FILL)
        return p.a;
    else
        return wi_map_ramp(p.a, p.b, i);
}

/* z(row, col) from x(row, col) and y(row, col). */
template <wi_map_op op, class T>
__device__ inline void wi_map_at(const wi_map_params<T> &p, size_t row, size_t col) {
    T x = T(), y = T();
    if constexpr (wi_map_reads(op)) {
        x = p.x[row * p.ldx + col];
        y = p.y[row * p.ldy + col];
    }
    p.z[row * p.ldz + col] = wi_map_element<op>(p, x, y, p.first + row * p.cols + col);
}

template <wi_map_op value>
struct wi_map_op_tag {
    static constexpr wi_map_op op = value;
};

/* Calls f(operation tag). */
template <class F>
weft_status wi_with_map_op(wi_map_op op, F f) {
    switch (op) {
    case WI_MAP_ADD:
        return f(wi_map_op_tag<WI_MAP_ADD>{});
    case WI_MAP_AXPY:
        return f(wi_map_op_tag<WI_MAP_AXPY>{});
    case WI_MAP_FILL:
        return f(wi_map_op_tag<WI_MAP_FILL>{});
    case WI_MAP_IOTA:
        return f(wi_map_op_tag<WI_MAP_IOTA>{});
    }
    return WEFT_EARG;
}

#endif
