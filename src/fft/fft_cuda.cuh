/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of fft share: complex numbers, loops over lines, twiddles, butterflies. */
#ifndef WI_FFT_CUDA_CUH
#define WI_FFT_CUDA_CUH

#include <math.h>
#include <stdint.h>

#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "fft/fft.h"
#include "fft/fft_tables.h"

#define INLINE static __device__ __forceinline__
#include "fft/fft_roots.h"
#include "fft/fft_roots_more.h"
#define MORE_RADICES
#define V float
#define NAME(f) wi_fft_##f
#define UNROLL _Pragma("unroll")
#define SPLAT(x) ((float)(x))
#define PLUS_PRODUCT(a, b, c) wi_fma(a, b, c)
#include "fft/fft_butterflies.inc"
#define INLINE static __device__ __forceinline__
#define MORE_RADICES
#define V double
#define NAME(f) wi_fft_##f
#define UNROLL _Pragma("unroll")
#define SPLAT(x) (x)
#define PLUS_PRODUCT(a, b, c) wi_fma(a, b, c)
#include "fft/fft_butterflies.inc"

/* A complex number, which is loaded and stored as one. */
template <class T>
struct alignas(2 * sizeof(T)) wi_fft_number {
    T re, im;
};

template <class T>
__device__ __forceinline__ wi_fft_number<T> wi_fft_product(wi_fft_number<T> a, wi_fft_number<T> b) {
    return {wi_fma(-a.im, b.im, a.re * b.re), wi_fma(a.im, b.re, a.re * b.im)};
}

template <class T>
__device__ __forceinline__ wi_fft_number<T> wi_fft_swapped(wi_fft_number<T> v, bool swaps) {
    return {swaps ? v.im : v.re, swaps ? v.re : v.im};
}

/* Element i of an array of real or of complex numbers, of T or, with `half`, of f16. */
template <class T>
__device__ __forceinline__ T wi_fft_real_at(const void *x, bool half, size_t i) {
    return half ? (T)wi_load(((const __half *)x)[i]) : ((const T *)x)[i];
}
template <class T>
__device__ __forceinline__ wi_fft_number<T> wi_fft_number_at(const void *x, bool half, size_t i) {
    if (!half)
        return ((const wi_fft_number<T> *)x)[i];
    const uint32_t bits = ((const uint32_t *)x)[i];
    return {(T)wi_load(wi_bit_cast<__half>((uint16_t)bits)),
            (T)wi_load(wi_bit_cast<__half>((uint16_t)(bits >> 16)))};
}
template <class T>
__device__ __forceinline__ void wi_fft_set_real(void *y, bool half, size_t i, T v) {
    if (half)
        ((__half *)y)[i] = (__half)(float)v;
    else
        ((T *)y)[i] = v;
}
template <class T>
__device__ __forceinline__ void wi_fft_set_number(void *y, bool half, size_t i,
                                                  wi_fft_number<T> v) {
    if (!half) {
        ((wi_fft_number<T> *)y)[i] = v;
        return;
    }
    const uint16_t re = wi_bit_cast<uint16_t>((__half)(float)v.re);
    const uint16_t im = wi_bit_cast<uint16_t>((__half)(float)v.im);
    ((uint32_t *)y)[i] = (uint32_t)im << 16 | re;
}

/* Division by a number that a kernel is told: exact for dividends and divisors below 2^16. */
struct wi_fft_divisor {
    static constexpr unsigned fixed = 0;
    unsigned by, magic;
    __device__ __forceinline__ unsigned of(unsigned x) const {
        return by == 1 ? x : (unsigned)((uint64_t)x * magic >> 32);
    }
};
inline wi_fft_divisor wi_fft_divisor_of(unsigned by) {
    return {by, (unsigned)(((uint64_t)1 << 32) / by + 1)};
}
template <int divisor>
struct wi_fft_fixed {
    static constexpr unsigned by = divisor, fixed = divisor;
    __device__ __forceinline__ unsigned of(unsigned x) const {
        return x / by;
    }
};

/* Loops over lines, of which a block takes `lines` of the innermost. */
struct wi_fft_grid {
    unsigned lines, across; /* blocks along the innermost loop */
    int used;
    unsigned count[WI_FFT_LOOPS];
    size_t in[WI_FFT_LOOPS], out[WI_FFT_LOOPS];
};

/* Where a block is. */
struct wi_fft_place {
    size_t in, out;
    unsigned first, lines; /* of the innermost loop */
    unsigned turn;         /* number in loop `turning`, if that is not the innermost */
};

/* Place number `index` of a grid. */
__device__ __forceinline__ wi_fft_place wi_fft_place_of(const wi_fft_grid &g, unsigned index,
                                                        int turning) {
    unsigned rest = g.used > 1 ? index / g.across : 0;
    wi_fft_place at = {0, 0, (index - rest * g.across) * g.lines, 0, 0};
#pragma unroll 1 /* rarely more than one; each kernel has this code */
    for (int k = 1; k < g.used; k++) {
        const unsigned number = rest % g.count[k];
        rest /= g.count[k];
        at.in += number * g.in[k];
        at.out += number * g.out[k];
        at.turn = k == turning ? number : at.turn;
    }
    at.lines = g.count[0] - at.first < g.lines ? g.count[0] - at.first : g.lines;
    at.in += at.first * g.in[0];
    at.out += at.first * g.out[0];
    return at;
}

/* The grid of loops; `blocks` is how many it has. Refuses more than a launch takes. */
weft_status wi_fft_grid_of(weft_context *ctx, const wi_fft_loops *loops, unsigned lines,
                           wi_fft_grid *grid, unsigned *blocks);

/* Powers of exp(-2 pi i / period), as products of two. */
template <class T>
struct wi_fft_powers {
    const wi_fft_number<T> *table;
    unsigned bits; /* of the part */
    __device__ __forceinline__ wi_fft_number<T> at(size_t power) const {
        const size_t part = (size_t)1 << bits;
        return wi_fft_product(table[power & (part - 1)], table[part + (power >> bits)]);
    }
};
weft_status wi_fft_powers_of(weft_context *ctx, weft_type type, size_t period, const void **table,
                             unsigned *bits);

/* Cosine and sine of pi x, |x| <= 1/4. */
#ifdef WEFT_EMU
__device__ __forceinline__ void wi_fft_turn(float x, float *s, float *c) {
    *s = (float)std::sin(3.14159265358979323846 * (double)x);
    *c = (float)std::cos(3.14159265358979323846 * (double)x);
}
__device__ __forceinline__ void wi_fft_turn(double x, double *s, double *c) {
    *s = (double)std::sin(3.14159265358979323846264338L * (long double)x);
    *c = (double)std::cos(3.14159265358979323846264338L * (long double)x);
}
#else
__device__ __forceinline__ void wi_fft_turn(float x, float *s, float *c) {
    sincospif(x, s, c);
}
static __device__ __noinline__ void wi_fft_turn(double x, double *s, double *c) {
    sincospi(x, s, c); /* its registers are not wanted where nothing is turned */
}
#endif

/* Powers of exp(-2 pi i / n), computed: a table of them would be read all over. */
struct wi_fft_circle {
    size_t n;
    double quarters, halves; /* 4 / n, 1 / (2 n) */
    template <class T>
    __device__ __forceinline__ wi_fft_number<T> at(size_t power) const {
        const int quarter = (int)rint((double)power * quarters);
        const int64_t rest = (int64_t)(4 * power) - (int64_t)(quarter * (int64_t)n); /* exact */
        T s, c;
        wi_fft_turn((T)((double)rest * halves), &s, &c);
        const wi_fft_number<T> v = quarter & 1 ? wi_fft_number<T>{-s, -c} : wi_fft_number<T>{c, -s};
        return quarter & 2 ? wi_fft_number<T>{-v.re, -v.im} : v;
    }
};

/* Moves and folds. */
weft_status wi_fft_move_cuda(weft_context *ctx, const wi_fft_move *m);
weft_status wi_fft_fold_cuda(weft_context *ctx, const wi_fft_fold *f);

#endif
