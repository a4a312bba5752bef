/* SPDX-License-Identifier: Apache-2.0 */
/* What is carried from element to element, on the host: the identities, elements as carries and
 * carries as elements, two carries combined. */
#include <math.h>
#include <string.h>

#include "comm/comm.h"
#include "cpu/half.h"
#include "cpu/order.h"
#include "scan/scan.h"

uint64_t wi_scan_carry_of_double(double value) {
    uint64_t carry;
    memcpy(&carry, &value, sizeof carry);
    return carry;
}

/* An element in the form of a carry: f64 for floats, else extended to 64 bits by sign or zero. */
uint64_t wi_scan_carry_of(weft_type type, const void *element) {
    union {
        uint64_t bits;
        weft_f16 f16;
        weft_bf16 bf16;
        float f32;
        double f64;
    } value = {0};
    size_t size = weft_type_size(type);
    memcpy(&value, element, size);
    switch (type) {
    case WEFT_F16:
        return wi_scan_carry_of_double(weft_f16_to_float(value.f16));
    case WEFT_BF16:
        return wi_scan_carry_of_double(weft_bf16_to_float(value.bf16));
    case WEFT_F32:
        return wi_scan_carry_of_double(value.f32);
    case WEFT_F64:
        return wi_scan_carry_of_double(value.f64);
    default:
        break;
    }
    unsigned unused = 64 - 8 * (unsigned)size;
    if (wi_type_is_signed(type))
        return (uint64_t)((int64_t)(value.bits << unused) >> unused);
    return value.bits;
}

static uint64_t float_identity(weft_op op) {
    switch (op) {
    case WEFT_PRODUCT:
        return wi_scan_carry_of_double(1);
    case WEFT_MIN:
        return wi_scan_carry_of_double(INFINITY);
    case WEFT_MAX:
        return wi_scan_carry_of_double(-INFINITY);
    default:
        return wi_scan_carry_of_double(0);
    }
}

static uint64_t integer_identity(weft_op op, weft_type type) {
    unsigned bits = 8 * (unsigned)weft_type_size(type);
    bool is_signed = wi_type_is_signed(type);
    uint64_t ones = UINT64_MAX >> (64 - bits);
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
        return is_signed ? ones >> 1 : ones;
    case WEFT_MAX:
        return is_signed ? ~(ones >> 1) : 0;
    case WEFT_AND:
        return is_signed ? UINT64_MAX : ones;
    default:
        return 0;
    }
}

uint64_t wi_scan_identity(weft_op op, weft_type type) {
    return wi_type_is_float(type) ? float_identity(op) : integer_identity(op, type);
}

void wi_scan_element_of(weft_type type, uint64_t carry, void *element) {
    const double value = wi_carry_value(carry);
    const float rounded = (float)value;
    const uint16_t f16 = wi_f16_narrow_double(value), bf16 = wi_bf16_narrow_double(value);
    const void *from = &carry; /* little endian: the low bytes come first */
    if (type == WEFT_F16 || type == WEFT_BF16)
        from = type == WEFT_F16 ? &f16 : &bf16;
    else if (type == WEFT_F32)
        from = &rounded;
    memcpy(element, from, weft_type_size(type));
}

static double combine_floats(weft_op op, double a, double b) {
    switch (op) {
    case WEFT_SUM:
        return a + b;
    case WEFT_PRODUCT:
        return a * b;
    case WEFT_MIN:
        return wi_comes_before(b, a) ? b : a;
    default:
        return wi_comes_before(-b, -a) ? b : a;
    }
}

uint64_t wi_scan_combine(weft_op op, weft_type type, uint64_t a, uint64_t b) {
    if (wi_type_is_float(type))
        return wi_scan_carry_of_double(combine_floats(op, wi_carry_value(a), wi_carry_value(b)));
    const uint64_t both = wi_comm_combine(op, wi_type_is_signed(type), a, b);
    return wi_scan_carry_of(type, &both);
}
