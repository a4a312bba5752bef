/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of small systems on a GPU: their sizes, and quotients. */
#ifndef WI_SOLVE_BATCH_DIVISOR_CUH
#define WI_SOLVE_BATCH_DIVISOR_CUH

#include "cuda/reciprocal.cuh"
#include "lu/lu_size.cuh"
#include "solve_batch/solve_batch_shape.cuh"

/* How large an element is, as words that compare like numbers; NaN are larger than all others. The
 * top bit of the first is set, so that 0 is less than all. */
__device__ inline wi_lu_size wi_batch_size(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return {(uint32_t)(bits >> 32) | 1u << 31, (uint32_t)bits};
}
__device__ inline wi_lu_size wi_batch_size(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return {bits | 1u << 31, 0};
}

/* Can numbers be divided by x with its reciprocal alone? Not near the ends of the range. */
template <class T>
__device__ bool wi_batch_is_plain(T x) {
    constexpr int fraction = sizeof(T) == 8 ? 20 : 23; /* bits in the first word */
    constexpr uint32_t least = sizeof(T) == 8 ? 1023 - 1000 : 127 - 100; /* exponents */
    constexpr uint32_t count = sizeof(T) == 8 ? 2 * 1000 : 2 * 100;
    return wi_batch_size(x).high - (1u << 31 | least << fraction) < count << fraction;
}

/* Divides by a reciprocal, corrected: the compiler's division would take as many registers as half
 * a row. A divisor near the ends of the range is scaled, by a power of 2, and so is its quotient.
 */
template <class T>
struct wi_batch_divisor {
    T x, reciprocal, scale;

    __device__ explicit wi_batch_divisor(const wi_batch_pivot<T> &pivot)
        : x(pivot.x), reciprocal(pivot.reciprocal), scale(1) {}
    __device__ explicit wi_batch_divisor(T x_) : x(x_), scale(1) {
        constexpr T up = sizeof(T) == 8 ? (T)0x1p128 : (T)0x1p32;
        if (!wi_batch_is_plain(x))
            scale = x > 1 || x < -1 ? 1 / up : up;
        x *= scale;
        reciprocal = wi_reciprocal(x);
    }
    /* y over what x was before it was scaled, but for a factor of `scale`. */
    __device__ T quotient(T y) const {
        const T q = y * reciprocal;
        return wi_fma(wi_fma(-q, x, y), reciprocal, q);
    }
};

#endif
