/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of every reduction, used by all CUDA rungs. A reducer has
 *     State                        the accumulator; Result, what it is rounded to
 *     identity()                   the state of no elements
 *     take(state, x, y, index)     adds one element (y is for dot, index for positions)
 *     combine(a, b)                two states become one, in either order
 *     finish(state)                the result */
#ifndef WI_REDUCE_CUDA_CUH
#define WI_REDUCE_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "reduce/reduce.h"

/* Sums are kept in f64 for floats, modulo 2^64 for integers; f64 and 64-bit results stay so, the
 * narrower floats give f32. */
template <class T>
using wi_sum_state = typename wi_choose<wi_traits<T>::is_float, double, uint64_t>::type;
template <class T>
using wi_sum_result =
    typename wi_choose<wi_traits<T>::is_float && sizeof(T) < 8, float, wi_sum_state<T>>::type;

template <class T>
__device__ inline wi_sum_state<T> wi_widen(T x) {
    if constexpr (wi_traits<T>::is_float)
        return (double)wi_load(x);
    else if constexpr (wi_traits<T>::is_signed)
        return (uint64_t)(int64_t)x;
    else
        return (uint64_t)x;
}

/* |x|, exact for the most negative integer too. */
template <class T>
__device__ inline wi_sum_state<T> wi_magnitude(T x) {
    if constexpr (wi_traits<T>::is_float)
        return fabs((double)wi_load(x));
    else if constexpr (wi_traits<T>::is_signed)
        return x < 0 ? 0 - (uint64_t)(int64_t)x : (uint64_t)x;
    else
        return (uint64_t)x;
}

template <class T>
struct wi_sum_reducer {
    using State = wi_sum_state<T>;
    using Result = wi_sum_result<T>;
    __device__ State identity() const {
        return 0;
    }
    __device__ State take(State s, T x, T, uint64_t) const {
        return s + wi_widen(x);
    }
    __device__ State combine(State a, State b) const {
        return a + b;
    }
    __device__ Result finish(State s) const {
        return (Result)s;
    }
};

template <class T>
struct wi_product_reducer : wi_sum_reducer<T> {
    using State = wi_sum_state<T>;
    __device__ State identity() const {
        return 1;
    }
    __device__ State take(State s, T x, T, uint64_t) const {
        return s * wi_widen(x);
    }
    __device__ State combine(State a, State b) const {
        return a * b;
    }
};

template <class T>
struct wi_nrm1_reducer : wi_sum_reducer<T> {
    using State = wi_sum_state<T>;
    __device__ State take(State s, T x, T, uint64_t) const {
        return s + wi_magnitude(x);
    }
};

template <class T>
struct wi_dot_reducer : wi_sum_reducer<T> {
    using State = wi_sum_state<T>;
    __device__ State take(State s, T x, T y, uint64_t) const {
        return s + wi_widen(x) * wi_widen(y);
    }
};

/* Unsigned keys in the order of the values, -0.0 below +0.0. If `flip` is all ones the order is
 * reversed. NaN has key 0, so it wins in both orders. */
template <class T>
struct wi_keys {
    using Bits = wi_bits<T>;
    using Key = typename wi_choose<sizeof(T) == 8, uint64_t, uint32_t>::type;
    static constexpr Bits sign = (Bits)((Bits)1 << (8 * sizeof(T) - 1));
    Bits flip;

    __device__ Key of(T x) const {
        Bits bits = wi_bit_cast<Bits>(x);
        if constexpr (wi_traits<T>::is_float) {
            if (wi_is_nan(wi_load(x)))
                return 0;
            bits = (Bits)(bits & sign ? ~bits : bits | sign);
        } else if constexpr (wi_traits<T>::is_signed) {
            bits ^= sign;
        }
        return (Bits)(bits ^ flip);
    }
    __device__ T value(Key key) const {
        Bits bits = (Bits)key ^ flip;
        if constexpr (wi_traits<T>::is_float) {
            if (key == 0)
                return (T)__int_as_float(0x7fc00000);
            bits = (Bits)(bits & sign ? bits ^ sign : ~bits);
        } else if constexpr (wi_traits<T>::is_signed) {
            bits ^= sign;
        }
        return wi_bit_cast<T>(bits);
    }
    /* The key of the largest value, or of the smallest if flipped: the result for no elements. */
    __device__ Key last() const {
        if constexpr (wi_traits<T>::is_float)
            return (wi_keys{0}).of((T)__int_as_float(0x7f800000));
        else
            return (Bits) ~(Bits)0;
    }
};

/* MIN; with keys flipped, MAX. */
template <class T>
struct wi_extreme_reducer {
    wi_keys<T> keys;
    using State = typename wi_keys<T>::Key;
    using Result = T;
    __device__ State identity() const {
        return keys.last();
    }
    __device__ State take(State s, T x, T, uint64_t) const {
        return combine(s, keys.of(x));
    }
    __device__ State combine(State a, State b) const {
        return b < a ? b : a;
    }
    __device__ Result finish(State s) const {
        return keys.value(s);
    }
};

template <class Key>
struct wi_position {
    uint64_t index;
    Key key;
};

/* ARGMIN; with keys flipped, ARGMAX. */
template <class T>
struct wi_position_reducer {
    wi_keys<T> keys;
    using State = wi_position<typename wi_keys<T>::Key>;
    using Result = uint64_t;
    __device__ State identity() const {
        return {WEFT_NOWHERE, (typename wi_keys<T>::Key) ~(uint64_t)0};
    }
    __device__ State take(State s, T x, T, uint64_t index) const {
        return combine(s, {index, keys.of(x)});
    }
    __device__ State combine(State a, State b) const {
        return b.key < a.key || (b.key == a.key && b.index < a.index) ? b : a;
    }
    __device__ Result finish(State s) const {
        return s.index;
    }
};

/* The bits of |x| have the order of |x|, NaN above infinity. */
template <class T>
struct wi_nrminf_reducer {
    using State = typename wi_choose<wi_traits<T>::is_float, wi_bits<T>, uint64_t>::type;
    using Result = typename wi_choose<wi_traits<T>::is_float, T, uint64_t>::type;
    __device__ State identity() const {
        return 0;
    }
    __device__ State take(State s, T x, T, uint64_t) const {
        if constexpr (wi_traits<T>::is_float)
            return combine(s, (State)(wi_bit_cast<State>(x) & (State)~wi_keys<T>::sign));
        else
            return combine(s, wi_magnitude(x));
    }
    __device__ State combine(State a, State b) const {
        return b > a ? b : a;
    }
    __device__ Result finish(State s) const {
        return wi_bit_cast<Result>(s);
    }
};

/* Squares of integers and of the narrow floats are well inside the range of f64. */
template <class T>
struct wi_nrm2_reducer {
    using State = double;
    using Result = typename wi_choose<wi_traits<T>::is_float && sizeof(T) < 8, float, double>::type;
    __device__ State identity() const {
        return 0;
    }
    __device__ State take(State s, T x, T, uint64_t) const {
        const double v = (double)wi_load(x);
        return s + v * v;
    }
    __device__ State combine(State a, State b) const {
        return a + b;
    }
    __device__ Result finish(State s) const {
        return (Result)sqrt(s);
    }
};

/* Squares of f64 are not: large and small ones are summed separately, scaled (Blue 1978). */
template <>
struct wi_nrm2_reducer<double> {
    struct State {
        double small, middle, large;
    };
    using Result = double;
    static constexpr double small_below = 0x1p-511, scale_small = 0x1p537;
    static constexpr double large_above = 0x1p486, scale_large = 0x1p-538;

    __device__ State identity() const {
        return {0, 0, 0};
    }
    __device__ State take(State s, double x, double, uint64_t) const {
        const double v = fabs(x);
        if (v > large_above)
            s.large += (v * scale_large) * (v * scale_large);
        else if (v < small_below)
            s.small += (v * scale_small) * (v * scale_small);
        else
            s.middle += v * v;
        return s;
    }
    __device__ State combine(State a, State b) const {
        return {a.small + b.small, a.middle + b.middle, a.large + b.large};
    }
    __device__ Result finish(State s) const {
        if (s.large > 0)
            return sqrt(s.large + (s.middle * scale_large) * scale_large) / scale_large;
        if (!(s.small > 0))
            return sqrt(s.middle);
        const double low = sqrt(s.small) / scale_small, high = sqrt(s.middle);
        if (!(high > 0 || wi_is_nan(high)))
            return low;
        return low > high ? low * sqrt(1 + (high / low) * (high / low))
                          : high * sqrt(1 + (low / high) * (low / high));
    }
};

/* Calls f(type tag, reducer) for a reduction to an extreme element or its position. Signed integers
 * have the order of unsigned ones with the sign bit flipped, so they share kernels. */
template <class T, class F>
weft_status wi_with_order_reducer(wi_reduction op, F f) {
    using U = typename wi_choose<wi_traits<T>::is_float, T, wi_bits<T>>::type;
    const bool turns_sign = wi_traits<T>::is_signed && !wi_traits<T>::is_float;
    const wi_bits<T> up = turns_sign ? wi_keys<T>::sign : 0, down = (wi_bits<T>)~up;
    const wi_keys<U> upward = {up}, downward = {down};
    switch (op) {
    case WI_RED_MIN:
        return f(wi_tag<U>{}, wi_extreme_reducer<U>{upward});
    case WI_RED_MAX:
        return f(wi_tag<U>{}, wi_extreme_reducer<U>{downward});
    case WI_RED_ARGMIN:
        return f(wi_tag<U>{}, wi_position_reducer<U>{upward});
    default:
        return f(wi_tag<U>{}, wi_position_reducer<U>{downward});
    }
}

/* The same for reductions that wrap modulo 2^64, where signed and unsigned 64-bit integers are
 * alike. */
template <class T, class F>
weft_status wi_with_sum_reducer(wi_reduction op, F f) {
    constexpr bool wide = !wi_traits<T>::is_float && sizeof(T) == 8;
    using U = typename wi_choose<wide, uint64_t, T>::type;
    switch (op) {
    case WI_RED_SUM:
        return f(wi_tag<U>{}, wi_sum_reducer<U>{});
    case WI_RED_PRODUCT:
        return f(wi_tag<U>{}, wi_product_reducer<U>{});
    default:
        return f(wi_tag<U>{}, wi_dot_reducer<U>{});
    }
}

/* Floats of 16 bits share the kernels that only order the bits of |x|. */
template <class T>
using wi_magnitudes_as =
    typename wi_choose<wi_traits<T>::is_float && sizeof(T) == 2, __half, T>::type;

/* Calls f(type tag, reducer) with the reducer of `op` for elements of T, and the type as which it
 * reads them. */
template <class T, class F>
weft_status wi_with_reducer(wi_reduction op, F f) {
    switch (op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        return wi_with_order_reducer<T>(op, f);
    case WI_RED_SUM:
    case WI_RED_PRODUCT:
    case WI_RED_DOT:
        return wi_with_sum_reducer<T>(op, f);
    case WI_RED_NRM1:
        if constexpr (wi_traits<T>::is_signed)
            return f(wi_tag<T>{}, wi_nrm1_reducer<T>{});
        else
            return f(wi_tag<T>{}, wi_sum_reducer<T>{}); /* |x| = x */
    case WI_RED_NRM2:
        return f(wi_tag<T>{}, wi_nrm2_reducer<T>{});
    case WI_RED_NRMINF:
        return f(wi_tag<wi_magnitudes_as<T>>{}, wi_nrminf_reducer<wi_magnitudes_as<T>>{});
    }
    return WEFT_EARG;
}

/* The parts of wi_reduce_args that a kernel needs, with types. */
template <class Reducer, class T>
struct wi_reduce_params {
    const T *x, *y;
    size_t n;
    uint64_t first;
    const typename Reducer::State *state_in;
    typename Reducer::State *state_out;
    typename Reducer::Result *result;
};

template <class Reducer, class T>
wi_reduce_params<Reducer, T> wi_reduce_typed(const wi_reduce_args *args) {
    static_assert(sizeof(typename Reducer::State) <= WI_REDUCE_STATE_BYTES, "a state fits");
    using State = typename Reducer::State;
    using Result = typename Reducer::Result;
    return {(const T *)args->x,
            args->op == WI_RED_DOT ? (const T *)args->y : (const T *)args->x,
            args->n,
            args->first,
            (const State *)args->state_in,
            (State *)args->state_out,
            (Result *)args->result};
}

/* Ends a call, in one thread: adds what came before, then passes on or rounds. */
template <class Reducer, class T>
__device__ void wi_reduce_finish(const Reducer &reducer, const wi_reduce_params<Reducer, T> &p,
                                 typename Reducer::State state) {
    if (p.state_in)
        state = reducer.combine(*p.state_in, state);
    if (p.state_out)
        *p.state_out = state;
    if (p.result)
        *p.result = reducer.finish(state);
}

#endif
