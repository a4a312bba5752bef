/* SPDX-License-Identifier: Apache-2.0 */
/* Types and their bits, for kernels that move or compare them. The narrow floats are in types.cuh:
 * their headers take longer to compile than many a kernel. */
#ifndef WI_BITS_CUH
#define WI_BITS_CUH

#include <stdint.h>
#include <string.h>

/* Carries a type as a value, for functions that choose one. */
template <class T>
struct wi_tag {
    using type = T;
};

/* Is T one of the floats, and can it be negative? */
template <class T>
struct wi_traits {
    static constexpr bool is_float = false;
    static constexpr bool is_signed = (T)-1 < (T)0;
};
template <>
struct wi_traits<float> {
    static constexpr bool is_float = true, is_signed = true;
};
template <>
struct wi_traits<double> {
    static constexpr bool is_float = true, is_signed = true;
};

template <size_t bytes>
struct wi_bits_of_size;
template <>
struct wi_bits_of_size<1> {
    using type = uint8_t;
};
template <>
struct wi_bits_of_size<2> {
    using type = uint16_t;
};
template <>
struct wi_bits_of_size<4> {
    using type = uint32_t;
};
template <>
struct wi_bits_of_size<8> {
    using type = uint64_t;
};
template <class T>
using wi_bits = typename wi_bits_of_size<sizeof(T)>::type;

template <bool condition, class Yes, class No>
struct wi_choose {
    using type = Yes;
};
template <class Yes, class No>
struct wi_choose<false, Yes, No> {
    using type = No;
};

/* The bits of x, and back. */
template <class To, class From>
__host__ __device__ inline To wi_bit_cast(From x) {
    static_assert(sizeof(To) == sizeof(From), "bit casts keep the size");
    To to;
    memcpy((void *)&to, (const void *)&x, sizeof to);
    return to;
}

#endif
