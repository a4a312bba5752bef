/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of expr that is more than one operator, the same on a cpu and in kernels. It uses
 * no fused multiply-add, so that every processor gives the same bits, and no branches, so that
 * loops over it vectorise. */
#ifndef WI_EXPR_MATH_H
#define WI_EXPR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define WI_X_BOTH __host__ __device__ static inline
#else
#    define WI_X_BOTH static inline __attribute__((always_inline, unused))
#endif

WI_X_BOTH uint64_t wi_x_bits_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
WI_X_BOTH double wi_x_f64_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
WI_X_BOTH uint32_t wi_x_bits_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

WI_X_BOTH float wi_x_f32_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The first value if the condition (1 or 0) holds, else the second. On a cpu by arithmetic, because
 * compilers turn ?: into jumps, and do not vectorise loops with jumps. */
WI_X_BOTH uint64_t wi_x_if_u64(int condition, uint64_t yes, uint64_t no) {
#ifdef __CUDACC__
    return condition ? yes : no;
#else
    const uint64_t mask = 0u - (uint64_t)condition;
    return (yes & mask) | (no & ~mask);
#endif
}
WI_X_BOTH double wi_x_if_f64(int condition, double yes, double no) {
    return wi_x_f64_of_bits(wi_x_if_u64(condition, wi_x_bits_f64(yes), wi_x_bits_f64(no)));
}
WI_X_BOTH uint32_t wi_x_if_u32(int condition, uint32_t yes, uint32_t no) {
#ifdef __CUDACC__
    return condition ? yes : no;
#else
    const uint32_t mask = 0u - (uint32_t)condition;
    return (yes & mask) | (no & ~mask);
#endif
}
WI_X_BOTH float wi_x_if_f32(int condition, float yes, float no) {
    return wi_x_f32_of_bits(wi_x_if_u32(condition, wi_x_bits_f32(yes), wi_x_bits_f32(no)));
}

/* ---- what is special ---- */

WI_X_BOTH double wi_x_infinity_f64(void) {
    return wi_x_f64_of_bits(0x7ff0000000000000u);
}
WI_X_BOTH double wi_x_nan_f64(void) {
    return wi_x_f64_of_bits(0x7ff8000000000000u);
}
WI_X_BOTH int wi_x_is_negative_f64(double x) {
    return (int)(wi_x_bits_f64(x) >> 63);
}
WI_X_BOTH float wi_x_infinity_f32(void) {
    return wi_x_f32_of_bits(0x7f800000u);
}
WI_X_BOTH float wi_x_nan_f32(void) {
    return wi_x_f32_of_bits(0x7fc00000u);
}
WI_X_BOTH int wi_x_is_negative_f32(float x) {
    return (int)(wi_x_bits_f32(x) >> 31);
}

#define REAL double
#define OF(name) name##_f64
#define MAGNITUDE fabs
#define WHOLE 0x1p52
#include "expr/expr_special.inc"
#define REAL float
#define OF(name) name##_f32
#define MAGNITUDE fabsf
#define WHOLE 0x1p23f
#include "expr/expr_special.inc"

/* ---- integers ---- */

/* By -1 the quotient wraps, and the machine's division would trap. */
WI_X_BOTH uint32_t wi_x_div_i32(int32_t a, int32_t b) {
    const int odd = (b == 0) | (b == -1);
    const uint32_t special = b == 0 ? 0u : 0u - (uint32_t)a;
    return odd ? special : (uint32_t)(a / (odd ? 1 : b));
}
WI_X_BOTH uint32_t wi_x_rem_i32(int32_t a, int32_t b) {
    const int odd = (b == 0) | (b == -1);
    return odd ? 0u : (uint32_t)(a % (odd ? 1 : b));
}
WI_X_BOTH uint64_t wi_x_div_i64(int64_t a, int64_t b) {
    const int odd = (b == 0) | (b == -1);
    const uint64_t special = b == 0 ? 0u : 0u - (uint64_t)a;
    return odd ? special : (uint64_t)(a / (odd ? 1 : b));
}
WI_X_BOTH uint64_t wi_x_rem_i64(int64_t a, int64_t b) {
    const int odd = (b == 0) | (b == -1);
    return odd ? 0u : (uint64_t)(a % (odd ? 1 : b));
}

/* ---- conversions ---- */

WI_X_BOTH int64_t wi_x_i64_of_f64(double a) {
    const int inside = (a >= -0x1p63) & (a < 0x1p63);
    const uint64_t whole = (uint64_t)(int64_t)wi_x_if_f64(inside, a, 0.0);
    const uint64_t least = (uint64_t)1 << 63;
    const uint64_t end = wi_x_if_u64(a > 0, INT64_MAX, wi_x_if_u64(a < 0, least, 0u));
    return (int64_t)wi_x_if_u64(inside, whole, end);
}
WI_X_BOTH uint64_t wi_x_u64_of_f64(double a) {
    const int inside = (a >= 0.0) & (a < 0x1p64);
    const uint64_t whole = (uint64_t)wi_x_if_f64(inside, a, 0.0);
    return wi_x_if_u64(inside, whole, wi_x_if_u64(a > 0, UINT64_MAX, 0u));
}

/* Truncated, modulo 2^64: the significand, shifted by the exponent. */
WI_X_BOTH uint64_t wi_x_wrap_f64(double a) {
    const uint64_t bits = wi_x_bits_f64(a);
    const int shift = (int)(bits >> 52 & 0x7ff) - 1075;
    const uint64_t whole = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    const uint64_t left = shift < 64 ? whole << (shift & 63) : 0;
    const uint64_t right = shift > -64 ? whole >> (-shift & 63) : 0;
    const uint64_t magnitude = shift >= 0 ? left : right;
    return bits >> 63 ? 0u - magnitude : magnitude;
}

/* Rounded to odd: an inexact result is truncated and its last bit set, so that rounding it again,
 * to a shorter type, gives the same as rounding once. */
WI_X_BOTH float wi_x_odd_f32(double a) {
    const float nearest = (float)a;
    uint32_t bits = wi_x_bits_f32(nearest);
    const uint32_t too_large = fabs((double)nearest) > fabs(a);
    const uint32_t inexact = (double)nearest != a;
    float odd;
    bits = (bits - too_large) | inexact;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}
WI_X_BOTH double wi_x_odd_f64_of_u64(uint64_t a) {
    const uint64_t cut = (a & ~(uint64_t)0x7ff) | ((a & 0x7ff) != 0 ? 0x800u : 0u);
    return (double)(a >> 53 ? cut : a);
}
WI_X_BOTH double wi_x_odd_f64_of_i64(int64_t a) {
    const double magnitude = wi_x_odd_f64_of_u64(a < 0 ? 0u - (uint64_t)a : (uint64_t)a);
    return a < 0 ? -magnitude : magnitude;
}

/* ---- exponentials and logarithms ---- */

#define WI_X_LN2 0x1.62e42fefa39efp-1
#define WI_X_LN2_HIGH 0x1.62e42fefa38p-1   /* the first 42 bits of log 2, */
#define WI_X_LN2_LOW 0x1.ef35793c76730p-45 /* and the next 53 */
#define WI_X_TO_WHOLE 0x1.8p52             /* adding it leaves the whole number in the last bits */
#define WI_X_ROOT_HALF 0x3fe6a09e667f3bcdull /* the bits of sqrt(1/2) */

/* 2^k for whole k from -1022 to 1023. */
WI_X_BOTH double wi_x_power_of_2(double k) {
    return wi_x_f64_of_bits((wi_x_bits_f64(k + WI_X_TO_WHOLE) + 1023) << 52);
}

/* e^(x + more), where `more` is less than the last digit of x: 2^k e^r with |r| <= log(2) / 2, and
 * of e^r the Taylor polynomial up to r^13. */
WI_X_BOTH double wi_x_exp_sum(double x, double more) {
    const int beyond = (x > 720.0) | (x < -760.0);
    const double a = wi_x_if_f64(x > 720.0, 720.0, wi_x_if_f64(x < -760.0, -760.0, x));
    const double k = (a * 0x1.71547652b82fep+0 + WI_X_TO_WHOLE) - WI_X_TO_WHOLE;
    const double high = a - k * WI_X_LN2_HIGH; /* exact */
    const double low = wi_x_if_f64(beyond, 0.0, more) - k * WI_X_LN2_LOW;
    const double r = high + low, rest = (high - r) + low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    const double sum = 1.0 + r, lost = r - (sum - 1.0);
    const double y = sum + (lost + (rest + p * (r * r)));
    const double half = (k * 0.5 + WI_X_TO_WHOLE) - WI_X_TO_WHOLE;
    return y * wi_x_power_of_2(half) * wi_x_power_of_2(k - half);
}

WI_X_BOTH double wi_x_exp_f64(double x) {
    return wi_x_exp_sum(x, 0.0);
}

/* A normal number of these bits is m 2^k with sqrt(1/2) <= m < sqrt(2); `offset` is 2^52 + 1024,
 * and more if k is to be less. */
WI_X_BOTH double wi_x_split(uint64_t bits, double offset, double *k) {
    const uint64_t biased = (bits - WI_X_ROOT_HALF + ((uint64_t)1024 << 52)) >> 52;
    *k = wi_x_f64_of_bits(biased | 0x4330000000000000u) - offset;
    return wi_x_f64_of_bits(bits - (biased << 52) + ((uint64_t)1024 << 52));
}

/* The same of finite x > 0. */
WI_X_BOTH double wi_x_parts(double x, double *k) {
    const int subnormal = x < 0x1p-1022;
    return wi_x_split(wi_x_bits_f64(x * wi_x_if_f64(subnormal, 0x1p54, 1.0)),
                      wi_x_if_f64(subnormal, 0x1p52 + 1078.0, 0x1p52 + 1024.0), k);
}

/* With f = m - 1 and s = f / (2 + f), log m = 2 (s + s^3 / 3 + ...) = f - s (f - R), where R is the
 * series from s^3 on, divided by s; written so that f, which is exact, is what is added last. */
WI_X_BOTH double wi_x_log_f64(double x) {
    const int usual = (x > 0) & (x <= 0x1.fffffffffffffp1023);
    double k;
    const double f = wi_x_parts(wi_x_if_f64(usual, x, 1.0), &k) - 1.0;
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double p = 2.0 / 23.0;
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    const double small = s * (half + p * z) + k * WI_X_LN2_LOW;
    return wi_x_log_special_f64(x, k * WI_X_LN2_HIGH - ((half - small) - f));
}

/* ---- powers: the logarithm as a sum of two f64 ---- */

/* a b = result + *error, exactly. */
WI_X_BOTH double wi_x_product(double a, double b, double *error) {
    const double split = 0x1p27 + 1.0, p = a * b;
    const double a_far = split * a, a_high = a_far - (a_far - a), a_low = a - a_high;
    const double b_far = split * b, b_high = b_far - (b_far - b), b_low = b - b_high;
    *error = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return p;
}

/* a + b = result + *error, exactly. */
WI_X_BOTH double wi_x_sum(double a, double b, double *error) {
    const double sum = a + b, of_b = sum - a;
    *error = (a - (sum - of_b)) + (b - of_b);
    return sum;
}

/* The logarithm of m 2^k to about 2^-63 of itself, for m as from wi_x_parts: the first two terms of
 * the series 2 s + 2/3 s^3 + ... are sums of two f64, the others are small. */
WI_X_BOTH double wi_x_log_pair(double m, double k, double *low) {
    double d_low, square_low, cube_low, third_low, error, more;
    const double f = m - 1.0, d = wi_x_sum(m, 1.0, &d_low), s = f / d;
    const double back = wi_x_product(s, d, &error);
    const double s_low = (((f - back) - error) - s * d_low) / d;
    const double z = wi_x_product(s, s, &square_low);
    square_low += 2.0 * s * s_low;
    const double cube = wi_x_product(s, z, &cube_low);
    cube_low += s * square_low + s_low * z;
    const double third = wi_x_product(0x1.5555555555555p-1, cube, &third_low);
    third_low += 0x1.5555555555555p-1 * cube_low + 0x1.5555555555555p-55 * cube;
    double p = 2.0 / 27.0;
    p = p * z + 2.0 / 25.0;
    p = p * z + 2.0 / 23.0;
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    const double first = wi_x_sum(k * WI_X_LN2_HIGH, 2.0 * s, &error);
    const double sum = wi_x_sum(first, third, &more);
    const double rest =
        ((error + more) + k * WI_X_LN2_LOW) + (2.0 * s_low + (third_low + cube * z * p));
    const double high = sum + rest;
    *low = (sum - high) + rest;
    return high;
}

/* |x|^y for finite |x| > 0 other than 1, and y of any size. */
WI_X_BOTH double wi_x_pow_usual(double magnitude, double y) {
    const double exponent = wi_x_if_f64(y > 0x1p65, 0x1p65, wi_x_if_f64(y < -0x1p65, -0x1p65, y));
    double k, low, error;
    const double m = wi_x_parts(magnitude, &k);
    const double high = wi_x_log_pair(m, k, &low);
    const double t = wi_x_product(exponent, high, &error);
    return wi_x_exp_sum(t, error + exponent * low);
}

WI_X_BOTH double wi_x_pow_f64(double x, double y) {
    const double magnitude = fabs(x);
    const int usual = (magnitude > 0) & (magnitude <= 0x1.fffffffffffffp1023);
    return wi_x_pow_special_f64(x, y, wi_x_pow_usual(wi_x_if_f64(usual, magnitude, 2.0), y));
}

/* ---- f32: in f64, with polynomials as short as rounding to f32 allows ---- */

/* e^x for -104 <= x <= 89, to 4.1e-11 of itself; beyond that of the nearer end, which as an f32 is
 * 0 or infinite. The coefficients make the largest error small. */
WI_X_BOTH double wi_x_exp_short(double x) {
    const double a = wi_x_if_f64(x > 89.0, 89.0, wi_x_if_f64(x < -104.0, -104.0, x));
    const double shifted = a * 0x1.71547652b82fep+0 + WI_X_TO_WHOLE;
    const double r = a - (shifted - WI_X_TO_WHOLE) * WI_X_LN2;
    double p = 0x1.9eb714a54f9cfp-13;
    p = p * r + 0x1.6da4c0c179f1cp-10;
    p = p * r + 0x1.1112fa5c2d77ap-7;
    p = p * r + 0x1.5554685988451p-5;
    p = p * r + 0x1.55555343b339dp-3;
    p = p * r + 0x1.00000059d969dp-1;
    p = p * r + 0x1.000000010b7f9p+0;
    p = p * r + 0x1.ffffffffababdp-1;
    return p * wi_x_f64_of_bits((wi_x_bits_f64(shifted) + 1023) << 52);
}

/* log x of an f32 > 0 that is finite, to 3e-14 of itself: 2 s + s^3 p(s^2), as above. */
WI_X_BOTH double wi_x_log_short(double x) {
    double k;
    const double f = wi_x_split(wi_x_bits_f64(x), 0x1p52 + 1024.0, &k) - 1.0;
    const double s = f / (2.0 + f), z = s * s;
    double p = 0x1.911c929ae2e10p-3;
    p = p * z + 0x1.c62aa06be30cbp-3;
    p = p * z + 0x1.2494133623a69p-2;
    p = p * z + 0x1.999996a67bf24p-2;
    p = p * z + 0x1.555555561f32fp-1;
    return k * WI_X_LN2 + (2.0 * s + s * (z * p));
}

WI_X_BOTH float wi_x_exp_f32(float x) {
    return (float)wi_x_exp_short((double)x);
}
WI_X_BOTH float wi_x_log_f32(float x) {
    const int usual = (x > 0) & (x < wi_x_infinity_f32());
    const double y = wi_x_log_short((double)wi_x_if_f32(usual, x, 1.0f));
    return wi_x_log_special_f32(x, (float)y);
}
WI_X_BOTH float wi_x_pow_f32(float x, float y) {
    const float magnitude = fabsf(x);
    const int usual = (magnitude > 0) & (magnitude < wi_x_infinity_f32());
    const double log_x = wi_x_log_short((double)wi_x_if_f32(usual, magnitude, 2.0f));
    return wi_x_pow_special_f32(x, y, (float)wi_x_exp_short((double)y * log_x));
}

#endif
