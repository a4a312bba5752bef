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

template <weft_op operator_>
struct wi_scan_op {
    static constexpr weft_op op = operator_;

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
template <class T>
struct wi_scan_params {
    const T *x;
    T *y;
    size_t n;
    bool exclusive;
    uint64_t init;
    const uint64_t *carry_in;
    uint64_t *carry_out;
    uint64_t flip; /* see wi_with_flipped_scan */

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

/* Is an element combined with its bits flipped, those that are set in wi_scan_params.flip? */
template <class Op, class T>
constexpr bool wi_flips = !wi_traits<T>::is_float && (Op::op == WEFT_MIN || Op::op == WEFT_OR);

/* Every element of 8 bytes with these bits set. */
template <class T>
uint64_t wi_in_each_element(T bits) {
    uint64_t all = 0;
    for (size_t k = 0; k < sizeof all; k += sizeof(T))
        all |= (uint64_t)bits << 8 * k;
    return all;
}

/* Calls f(type tag, wi_scan_op, flip). Operators that differ in which bits are flipped share their
 * kernels: -1 - x reverses the order of integers, the sign bit takes signed ones to unsigned, so
 * all smallest and largest are smallest unsigned elements; and a & b = ~(~a | ~b). */
template <class F>
weft_status wi_with_flipped_scan(weft_type type, weft_op op, F f) {
    const bool is_signed =
        type == WEFT_I8 || type == WEFT_I16 || type == WEFT_I32 || type == WEFT_I64;
    return wi_with_unsigned_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!wi_traits<T>::is_float) {
            const T sign = is_signed ? (T)((T)1 << (8 * sizeof(T) - 1)) : (T)0, all = (T) ~(T)0;
            if (op == WEFT_MIN)
                return f(tag, wi_scan_op<WEFT_MIN>{}, wi_in_each_element<T>(sign));
            if (op == WEFT_MAX)
                return f(tag, wi_scan_op<WEFT_MIN>{}, wi_in_each_element<T>((T)(sign ^ all)));
            if (op == WEFT_AND)
                return f(tag, wi_scan_op<WEFT_OR>{}, wi_in_each_element<T>(all));
            if (op == WEFT_OR)
                return f(tag, wi_scan_op<WEFT_OR>{}, (uint64_t)0);
            if (op == WEFT_XOR)
                return f(tag, wi_scan_op<WEFT_XOR>{}, (uint64_t)0);
        } else {
            if (op == WEFT_MIN)
                return f(tag, wi_scan_op<WEFT_MIN>{}, (uint64_t)0);
            if (op == WEFT_MAX)
                return f(tag, wi_scan_op<WEFT_MAX>{}, (uint64_t)0);
        }
        if (op == WEFT_SUM)
            return f(tag, wi_scan_op<WEFT_SUM>{}, (uint64_t)0);
        return op == WEFT_PRODUCT ? f(tag, wi_scan_op<WEFT_PRODUCT>{}, (uint64_t)0)
                                  : WEFT_EUNSUPPORTED;
    });
}

#endif
