/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit floats, converted without branches so that loops over them vectorise. */
#ifndef WI_CPU_HALF_H
#define WI_CPU_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wi_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float wi_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* `chosen` if the condition holds, else `other`; by arithmetic, because compilers may turn ?: into
 * a jump. */
static inline uint32_t wi_bits_if(int condition, uint32_t chosen, uint32_t other) {
    uint32_t mask = 0u - (uint32_t)condition;
    return (chosen & mask) | (other & ~mask);
}

/* f16 to f32, exact. A subnormal number is an integer times 2^-24. The exponent of a normal number
 * moves from bias 15 to bias 127; that of an infinity or NaN moves twice. */
static inline float wi_f16_widen(uint16_t half) {
    uint32_t magnitude = half & 0x7fffu;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t special = normal + (112u << 23);
    uint32_t subnormal = wi_float_bits((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t bits = wi_bits_if(magnitude < 0x0400u, subnormal, normal);
    bits = wi_bits_if(magnitude >= 0x7c00u, special, bits);
    return wi_float_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

/* f32 to f16, to nearest, ties to even. Adding 0.5 to a number below 2^-14 makes the hardware round
 * it to a multiple of 2^-24, so that the low bits of the sum are the subnormal number. */
static inline uint16_t wi_f16_narrow(float value) {
    uint32_t bits = wi_float_bits(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t sign = (bits & 0x80000000u) >> 16;
    uint32_t odd = (magnitude >> 13) & 1u;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
    uint32_t tiny = wi_bits_if(magnitude < 0x38800000u, magnitude, 0u);
    uint32_t subnormal = wi_float_bits(wi_float_of_bits(tiny) + 0.5f) - 0x3f000000u;
    uint32_t special =
        wi_bits_if(magnitude > 0x7f800000u, 0x7e00u | (magnitude >> 13 & 0x3ffu), 0x7c00u);
    uint32_t half = wi_bits_if(magnitude < 0x38800000u, subnormal, normal);
    half = wi_bits_if(magnitude >= 0x47800000u, special, half);
    return (uint16_t)(half | sign);
}

static inline float wi_bf16_widen(uint16_t half) {
    return wi_float_of_bits((uint32_t)half << 16);
}

static inline uint16_t wi_bf16_narrow(float value) {
    uint32_t bits = wi_float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x0040u;
    return (uint16_t)wi_bits_if((bits & 0x7fffffffu) > 0x7f800000u, quiet, rounded);
}

/* f64 to f32, rounded to odd: an inexact result is truncated and its last bit set. Rounding it
 * again, to a type at least two bits shorter, then gives the same as rounding once. */
static inline float wi_float_to_odd(double value) {
    float nearest = (float)value;
    uint32_t bits = wi_float_bits(nearest);
    uint32_t too_large = __builtin_fabs((double)nearest) > __builtin_fabs(value);
    uint32_t inexact = (double)nearest != value;
    return wi_float_of_bits((bits - too_large) | inexact);
}

static inline uint16_t wi_f16_narrow_double(double value) {
    return wi_f16_narrow(wi_float_to_odd(value));
}

static inline uint16_t wi_bf16_narrow_double(double value) {
    return wi_bf16_narrow(wi_float_to_odd(value));
}

#endif
