/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by one divisor, for many dividends. */
#ifndef WI_RECIPROCAL_CUH
#define WI_RECIPROCAL_CUH

#include "cuda/types.cuh"

/* 1 / x to the last bit or the one before it; x is a normal number whose reciprocal is one. */
#ifdef WEFT_EMU
template <class T>
inline T wi_reciprocal(T x) {
    return 1 / x;
}
#else
__device__ inline double wi_reciprocal(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    r = wi_fma(r, wi_fma(-x, r, 1.0), r);
    return wi_fma(r, wi_fma(-x, r, 1.0), r);
}
__device__ inline float wi_reciprocal(float x) {
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return wi_fma(r, wi_fma(-x, r, 1.0f), r);
}
#endif

/* The root of a number above 0, and the reciprocal of that: if x is neither tiny nor huge, both
 * from one estimate, which takes half as long as one after the other. To the last bit or the one
 * before it. */
struct wi_root {
    double root, reciprocal;

    __device__ explicit wi_root(double x) {
#ifndef WEFT_EMU
        if (x >= 1e-60 && x <= 1e60) {
            reciprocal = rsqrt(x);
            const double near = x * reciprocal;
            root = wi_fma(wi_fma(-near, near, x), 0.5 * reciprocal, near);
            return;
        }
#endif
        root = sqrt(x);
        reciprocal = wi_reciprocal(root);
    }
};

/* Divides what is not larger than x by x: if x is neither tiny nor huge, without the branches of a
 * division. */
template <class T>
struct wi_divisor {
    T x, reciprocal;
    bool quick;

    __device__ explicit wi_divisor(T x_) : wi_divisor(x_, wi_reciprocal(x_)) {}
    __device__ wi_divisor(T x_, T reciprocal_) : x(x_), reciprocal(reciprocal_) {
        const T size = x < 0 ? -x : x;
        quick = size >= (T)1e-30 && size <= (T)1e30;
    }
    /* If quick. */
    __device__ T quickly(T y) const {
        const T q = y * reciprocal;
        return wi_fma(wi_fma(-q, x, y), reciprocal, q);
    }
    __device__ T of(T y) const {
        return quick ? quickly(y) : y / x;
    }
};

#endif
