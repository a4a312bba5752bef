/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of expr for which a GPU has instructions of its own: here for a cpu. */
#ifndef WI_EXPR_HOST_H
#define WI_EXPR_HOST_H

#include "cpu/half.h"
#include "expr/expr_math.h"

/* ---- least and greatest: NaN wins, -0.0 is less than +0.0 ---- */

WI_X_BOTH float wi_x_min_f32(float a, float b) {
    const int negative = (int)(wi_x_bits_f32(a) >> 31);
    return wi_x_if_f32((a < b) | (a != a) | ((a == b) & negative), a, b);
}
WI_X_BOTH float wi_x_max_f32(float a, float b) {
    const int positive = (int)(~wi_x_bits_f32(a) >> 31);
    return wi_x_if_f32((a > b) | (a != a) | ((a == b) & positive), a, b);
}
WI_X_BOTH double wi_x_min_f64(double a, double b) {
    const int negative = (int)(wi_x_bits_f64(a) >> 63);
    return wi_x_if_f64((a < b) | (a != a) | ((a == b) & negative), a, b);
}
WI_X_BOTH double wi_x_max_f64(double a, double b) {
    const int positive = (int)(~wi_x_bits_f64(a) >> 63);
    return wi_x_if_f64((a > b) | (a != a) | ((a == b) & positive), a, b);
}

/* ---- whole numbers, in a form that vectorises: the sign of the argument stays, also of 0 ---- */

WI_X_BOTH float wi_x_round_f32(float a) {
    const float magnitude = fabsf(a), whole = (magnitude + 0x1p23f) - 0x1p23f;
    const uint32_t sign = wi_x_bits_f32(a) & 0x80000000u;
    const float rounded = wi_x_f32_of_bits(wi_x_bits_f32(whole) | sign);
    return wi_x_if_f32(magnitude < 0x1p23f, rounded, a);
}
WI_X_BOTH double wi_x_round_f64(double a) {
    const double magnitude = fabs(a), whole = (magnitude + 0x1p52) - 0x1p52;
    const uint64_t sign = wi_x_bits_f64(a) & ((uint64_t)1 << 63);
    const double rounded = wi_x_f64_of_bits(wi_x_bits_f64(whole) | sign);
    return wi_x_if_f64(magnitude < 0x1p52, rounded, a);
}
WI_X_BOTH float wi_x_floor_f32(float a) {
    const float r = wi_x_round_f32(a), z = r - wi_x_if_f32(r > a, 1.0f, 0.0f);
    return wi_x_f32_of_bits(wi_x_bits_f32(z) | (wi_x_bits_f32(a) & 0x80000000u));
}
WI_X_BOTH double wi_x_floor_f64(double a) {
    const double r = wi_x_round_f64(a), z = r - wi_x_if_f64(r > a, 1.0, 0.0);
    return wi_x_f64_of_bits(wi_x_bits_f64(z) | (wi_x_bits_f64(a) & (uint64_t)1 << 63));
}
WI_X_BOTH float wi_x_ceil_f32(float a) {
    return -wi_x_floor_f32(-a);
}
WI_X_BOTH double wi_x_ceil_f64(double a) {
    return -wi_x_floor_f64(-a);
}

/* ---- conversions ---- */

WI_X_BOTH int32_t wi_x_i32_of_f32(float a) {
    const int inside = (a >= -0x1p31f) & (a < 0x1p31f);
    const uint32_t whole = (uint32_t)(int32_t)wi_x_if_f32(inside, a, 0.0f);
    const uint32_t end = wi_x_if_u32(a > 0, INT32_MAX, wi_x_if_u32(a < 0, 0x80000000u, 0u));
    return (int32_t)wi_x_if_u32(inside, whole, end);
}
WI_X_BOTH uint32_t wi_x_u32_of_f32(float a) {
    const int inside = (a >= 0.0f) & (a < 0x1p32f), upper = a >= 0x1p31f;
    const float within = wi_x_if_f32(inside, a, 0.0f);
    const float low = within - wi_x_if_f32(inside & upper, 0x1p31f, 0.0f); /* exact */
    const uint32_t whole = (uint32_t)(int32_t)low + wi_x_if_u32(upper, 0x80000000u, 0u);
    return wi_x_if_u32(inside, whole, wi_x_if_u32(a > 0, UINT32_MAX, 0u));
}
WI_X_BOTH float wi_x_round_f16(float a) {
    return wi_f16_widen(wi_f16_narrow(a));
}
WI_X_BOTH float wi_x_round_bf16(float a) {
    return wi_bf16_widen(wi_bf16_narrow(a));
}
/* ---- roots ---- */

WI_X_BOTH float wi_x_sqrt_f32(float a) {
    return sqrtf(a);
}
WI_X_BOTH double wi_x_sqrt_f64(double a) {
    return sqrt(a);
}

#endif
