/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the element types, and the conversions of the 16-bit floats. */
#include <string.h>

#include "core/core.h"

static const struct {
    const char *name;
    size_t bytes;
    bool is_float, is_signed;
} facts[WEFT_TYPE_COUNT] = {
    [WEFT_I8] = {"i8", 1, false, true},    [WEFT_I16] = {"i16", 2, false, true},
    [WEFT_I32] = {"i32", 4, false, true},  [WEFT_I64] = {"i64", 8, false, true},
    [WEFT_U8] = {"u8", 1, false, false},   [WEFT_U16] = {"u16", 2, false, false},
    [WEFT_U32] = {"u32", 4, false, false}, [WEFT_U64] = {"u64", 8, false, false},
    [WEFT_F16] = {"f16", 2, true, false},  [WEFT_BF16] = {"bf16", 2, true, false},
    [WEFT_F32] = {"f32", 4, true, false},  [WEFT_F64] = {"f64", 8, true, false},
};

/* Callers hand over any int in an enum's clothes. */
static bool known(weft_type type) {
    return (unsigned)type < WEFT_TYPE_COUNT;
}

size_t weft_type_size(weft_type type) {
    return known(type) ? facts[type].bytes : 0;
}

const char *weft_type_name(weft_type type) {
    return known(type) ? facts[type].name : "?";
}

bool wi_type_is_float(weft_type type) {
    return known(type) && facts[type].is_float;
}

bool wi_type_is_signed(weft_type type) {
    return known(type) && facts[type].is_signed;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The binary16 bits of a finite magnitude below 2^-14: an integer multiple of 2^-24, rounded. */
static uint32_t f16_subnormal(uint32_t magnitude) {
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) /* below 2^-25, half of the smallest subnormal */
        return 0;
    const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126 - exponent;
    const uint32_t half = 1u << (shift - 1);
    const uint32_t rest = significand & ((1u << shift) - 1);
    const uint32_t kept = significand >> shift;
    return kept + (rest > half || (rest == half && (kept & 1u)));
}

weft_f16 weft_f16_from_float(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > 0x7f800000u) /* NaN: made quiet, as much of its payload kept as fits */
        half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    else if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        half = 0x7c00u;
    else if (magnitude < 0x38800000u)
        half = f16_subnormal(magnitude);
    else /* add half a unit less the tie's parity, then trade the exponent bias 127 for 15 */
        half = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    return (weft_f16){(uint16_t)(sign | half)};
}

float weft_f16_to_float(weft_f16 value) {
    const uint32_t sign = (uint32_t)(value.bits & 0x8000u) << 16;
    const uint32_t exponent = (value.bits >> 10) & 0x1fu;
    const uint32_t fraction = value.bits & 0x3ffu;
    if (exponent == 0)
        return float_of(sign | bits_of((float)fraction * 0x1p-24f));
    if (exponent == 0x1fu)
        return float_of(sign | 0x7f800000u | (fraction ? 0x400000u : 0) | (fraction << 13));
    return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
}

weft_bf16 weft_bf16_from_float(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (weft_bf16){(uint16_t)((bits >> 16) | 0x40u)};
    return (weft_bf16){(uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

float weft_bf16_to_float(weft_bf16 value) {
    return float_of((uint32_t)value.bits << 16);
}
