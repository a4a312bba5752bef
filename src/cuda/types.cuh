/* SPDX-License-Identifier: Apache-2.0 */
/* From weft_type to C++ types, and the arithmetic each type is computed in. */
#ifndef WI_TYPES_CUH
#define WI_TYPES_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/core.h"
#include "cuda/bits.cuh"

template <>
struct wi_traits<__half> {
    static constexpr bool is_float = true, is_signed = true;
};
template <>
struct wi_traits<__nv_bfloat16> {
    static constexpr bool is_float = true, is_signed = true;
};

/* The type in which arithmetic on T is done: f32 for f16 and bf16, T itself for all others. */
template <class T>
using wi_compute = typename wi_choose<wi_traits<T>::is_float && sizeof(T) == 2, float, T>::type;

template <class T>
__host__ __device__ inline wi_compute<T> wi_load(T x) {
    if constexpr (wi_traits<T>::is_float && sizeof(T) == 2)
        return (float)x;
    else
        return x;
}

/* Sums and products that wrap: integers are computed as unsigned types of 32 bits or more, for
 * which C defines overflow. */
template <class T>
using wi_wrapping = typename wi_choose<sizeof(T) == 8, uint64_t, uint32_t>::type;

template <class T>
__host__ __device__ inline T wi_plus(T a, T b) {
    if constexpr (wi_traits<T>::is_float)
        return a + b;
    else
        return (T)((wi_wrapping<T>)a + (wi_wrapping<T>)b);
}
/* a b + c, rounded once. */
__host__ __device__ inline float wi_fma(float a, float b, float c) {
    return fmaf(a, b, c);
}
__host__ __device__ inline double wi_fma(double a, double b, double c) {
    return fma(a, b, c);
}
template <class T>
__host__ __device__ inline T wi_times(T a, T b) {
    if constexpr (wi_traits<T>::is_float)
        return a * b;
    else
        return (T)((wi_wrapping<T>)a * (wi_wrapping<T>)b);
}

template <class T>
__device__ inline bool wi_is_nan(T x) {
    if constexpr (wi_traits<T>::is_float)
        return x != x;
    else
        return false;
}

/* IEEE 754-2019 minimum and maximum: NaN wins, -0.0 is smaller than +0.0. */
#ifdef WEFT_EMU
inline float wi_minimum(float a, float b) {
    return a < b || a != a || (a == b && std::signbit(a)) ? a : b;
}
inline float wi_maximum(float a, float b) {
    return a > b || a != a || (a == b && !std::signbit(a)) ? a : b;
}
#else
__device__ inline float wi_minimum(float a, float b) {
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
__device__ inline float wi_maximum(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
#endif
__device__ inline double wi_minimum(double a, double b) {
    const bool first = (a < b) | (a != a) | ((a == b) & (__double_as_longlong(a) < 0));
    return first ? a : b;
}
__device__ inline double wi_maximum(double a, double b) {
    const bool first = (a > b) | (a != a) | ((a == b) & (__double_as_longlong(a) >= 0));
    return first ? a : b;
}

/* The element of these bits as a double; an integer beyond 2^53 is rounded. */
__device__ inline double wi_value_of_bits(weft_type type, uint64_t bits) {
    switch (type) {
    case WEFT_I8:
        return (double)(int8_t)bits;
    case WEFT_I16:
        return (double)(int16_t)bits;
    case WEFT_I32:
        return (double)(int32_t)bits;
    case WEFT_I64:
        return (double)(int64_t)bits;
    case WEFT_F16:
        return (double)wi_load(wi_bit_cast<__half>((uint16_t)bits));
    case WEFT_BF16:
        return (double)wi_load(wi_bit_cast<__nv_bfloat16>((uint16_t)bits));
    case WEFT_F32:
        return (double)wi_bit_cast<float>((uint32_t)bits);
    case WEFT_F64:
        return wi_bit_cast<double>(bits);
    default:
        return (double)bits;
    }
}

/* Calls f(wi_tag<T>{}) with the C++ type of `type`, signed integers as unsigned: for operations in
 * which the sign does not matter, such as sums that wrap. */
template <class F>
weft_status wi_with_unsigned_type(weft_type type, F f) {
    switch (type) {
    case WEFT_I8:
    case WEFT_U8:
        return f(wi_tag<uint8_t>{});
    case WEFT_I16:
    case WEFT_U16:
        return f(wi_tag<uint16_t>{});
    case WEFT_I32:
    case WEFT_U32:
        return f(wi_tag<uint32_t>{});
    case WEFT_I64:
    case WEFT_U64:
        return f(wi_tag<uint64_t>{});
    case WEFT_F16:
        return f(wi_tag<__half>{});
    case WEFT_BF16:
        return f(wi_tag<__nv_bfloat16>{});
    case WEFT_F32:
        return f(wi_tag<float>{});
    case WEFT_F64:
        return f(wi_tag<double>{});
    }
    return WEFT_EARG;
}

/* The same, with signed integers as signed. */
template <class F>
weft_status wi_with_type(weft_type type, F f) {
    switch (type) {
    case WEFT_I8:
        return f(wi_tag<int8_t>{});
    case WEFT_I16:
        return f(wi_tag<int16_t>{});
    case WEFT_I32:
        return f(wi_tag<int32_t>{});
    case WEFT_I64:
        return f(wi_tag<int64_t>{});
    default:
        return wi_with_unsigned_type(type, f);
    }
}

/* The types that teaching rungs offer, integers as unsigned. */
template <class F>
weft_status wi_with_step_bits(weft_type type, F f) {
    switch (type) {
    case WEFT_I32:
    case WEFT_U32:
        return f(wi_tag<uint32_t>{});
    case WEFT_F32:
        return f(wi_tag<float>{});
    case WEFT_F64:
        return f(wi_tag<double>{});
    default:
        return WEFT_EUNSUPPORTED;
    }
}

/* The same, with i32 as signed. */
template <class F>
weft_status wi_with_step_type(weft_type type, F f) {
    return type == WEFT_I32 ? f(wi_tag<int32_t>{}) : wi_with_step_bits(type, f);
}

#endif
