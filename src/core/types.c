/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the element types, and the conversions of the 16-bit floats. */
#include "core/core.h"
#include "cpu/half.h"

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

/* A caller may pass any int as an enum. */
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

weft_f16 weft_f16_from_float(float value) {
    return (weft_f16){wi_f16_narrow(value)};
}

float weft_f16_to_float(weft_f16 value) {
    return wi_f16_widen(value.bits);
}

weft_bf16 weft_bf16_from_float(float value) {
    return (weft_bf16){wi_bf16_narrow(value)};
}

float weft_bf16_to_float(weft_bf16 value) {
    return wi_bf16_widen(value.bits);
}

double wi_element_value(weft_type type, const void *p) {
    switch (type) {
    case WEFT_I8:
        return *(const int8_t *)p;
    case WEFT_I16:
        return *(const int16_t *)p;
    case WEFT_I32:
        return *(const int32_t *)p;
    case WEFT_I64:
        return (double)*(const int64_t *)p;
    case WEFT_U8:
        return *(const uint8_t *)p;
    case WEFT_U16:
        return *(const uint16_t *)p;
    case WEFT_U32:
        return *(const uint32_t *)p;
    case WEFT_U64:
        return (double)*(const uint64_t *)p;
    case WEFT_F16:
        return (double)weft_f16_to_float(*(const weft_f16 *)p);
    case WEFT_BF16:
        return (double)weft_bf16_to_float(*(const weft_bf16 *)p);
    case WEFT_F32:
        return (double)*(const float *)p;
    case WEFT_F64:
        return *(const double *)p;
    }
    return 0;
}
