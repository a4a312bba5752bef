/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of scan, used by all CUDA rungs. */
#ifndef WI_SCAN_CUDA_CUH
#define WI_SCAN_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/lookback.cuh"
#include "cuda/types.cuh"
#include "scan/scan.h"

/* Value is the type in which a tile is scanned, Carry the type of what passes from tile to tile:
 * f64 for floats. */
template <class T>
using wi_scan_value =
    typename wi_choose<wi_traits<T>::is_float, wi_compute<T>,
                       typename wi_choose<sizeof(T) == 8, T,
                                          typename wi_choose<wi_traits<T>::is_signed, int32_t,
                                                             uint32_t>::type>::type>::type;
template <class T>
using wi_scan_carry = typename wi_choose<wi_traits<T>::is_float, double, wi_scan_value<T>>::type;

/* The smaller of two; NaN wins, and -0.0 is less than +0.0. */
template <class V>
__device__ inline V wi_smaller(V a, V b) {
    if constexpr (wi_traits<V>::is_float)
        return wi_minimum(a, b);
    else
        return b < a ? b : a;
}
template <class V>
__device__ inline V wi_larger(V a, V b) {
    if constexpr (wi_traits<V>::is_float)
        return wi_maximum(a, b);
    else
        return b > a ? b : a;
}

template <weft_op op>
struct wi_scan_op {
    /* a op b, as Value or as Carry. */
    template <class V>
    static __device__ inline V combine(V a, V b) {
        if constexpr (op == WEFT_SUM)
            return wi_plus(a, b);
        else if constexpr (op == WEFT_PRODUCT)
            return wi_times(a, b);
        else if constexpr (op == WEFT_MIN)
            return wi_smaller(a, b);
        else if constexpr (op == WEFT_MAX)
            return wi_larger(a, b);
        else if constexpr (op == WEFT_AND)
            return a & b;
        else if constexpr (op == WEFT_OR)
            return a | b;
        else
            return a ^ b;
    }

    /* The identity: e with e op x = x for every x. */
    template <class V>
    static __host__ __device__ constexpr V identity() {
        if constexpr (op == WEFT_PRODUCT)
            return (V)1;
        else if constexpr (op == WEFT_SUM && wi_traits<V>::is_float)
            return (V)-0.0; /* with 0.0, a -0.0 would become +0.0 */
        else if constexpr (op == WEFT_MIN || op == WEFT_MAX)
            return extreme<V>(op == WEFT_MIN);
        else if constexpr (op == WEFT_AND)
            return (V) ~(V)0;
        else
            return (V)0;
    }

  private:
    template <class V>
    static __host__ __device__ constexpr V extreme(bool largest) {
        if constexpr (wi_traits<V>::is_float)
            return largest ? (V)__builtin_huge_val() : (V)-__builtin_huge_val();
        else if constexpr (wi_traits<V>::is_signed)
            return largest ? (V)(((uint64_t)1 << (8 * sizeof(V) - 1)) - 1)
                           : (V)((uint64_t)1 << (8 * sizeof(V) - 1));
        else
            return largest ? (V) ~(V)0 : (V)0;
    }
};

/* The parts of wi_scan_args that a kernel needs, with types. */
template <class Element>
struct wi_scan_params {
    using T = Element;
    const T *x;
    T *y;
    size_t n;
    bool exclusive;
    uint64_t init;
    const uint64_t *carry_in;
    uint64_t *carry_out;
    uint64_t flip; /* bits of every element that are flipped, repeated; see scan_tile.cuh */
    uint64_t sign; /* the sign bit of signed integers, which a carry extends */

    __device__ wi_scan_carry<T> start() const {
        return wi_carry_from<wi_scan_carry<T>>(carry_in ? *carry_in : init);
    }
};

template <class T>
wi_scan_params<T> wi_scan_typed(const wi_scan_args *args) {
    return {(const T *)args->x,
            (T *)args->y,
            args->n,
            args->kind == WEFT_EXCLUSIVE,
            args->init,
            (const uint64_t *)args->carry_in,
            (uint64_t *)args->carry_out,
            0,
            0};
}

/* Calls f(wi_scan_op) for the operators that T has: bitwise ones for integers only. */
template <class T, class F>
weft_status wi_with_scan_op(weft_op op, F f) {
    switch (op) {
    case WEFT_SUM:
        return f(wi_scan_op<WEFT_SUM>{});
    case WEFT_PRODUCT:
        return f(wi_scan_op<WEFT_PRODUCT>{});
    case WEFT_MIN:
        return f(wi_scan_op<WEFT_MIN>{});
    case WEFT_MAX:
        return f(wi_scan_op<WEFT_MAX>{});
    default:
        break;
    }
    if constexpr (!wi_traits<T>::is_float) {
        switch (op) {
        case WEFT_AND:
            return f(wi_scan_op<WEFT_AND>{});
        case WEFT_OR:
            return f(wi_scan_op<WEFT_OR>{});
        case WEFT_XOR:
            return f(wi_scan_op<WEFT_XOR>{});
        default:
            break;
        }
    }
    return WEFT_EUNSUPPORTED;
}

#endif
