/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions, made of codes that there are anyway: integers are held in range by MIN and MAX, and
 * wrapped by shifts. */
#include <string.h>

#include "expr/expr.h"

static void emit(wi_expr_writer *w, wi_expr_do what) {
    wi_expr_emit(w, what, WI_X_ACC, WI_X_NONE);
}

/* With a constant of a widened integer type. */
static void emit_with(wi_expr_writer *w, wi_expr_do what, weft_type type, uint64_t v) {
    const bool wide = weft_type_size(type) == 8;
    const unsigned constant = wi_expr_constant(w, wide ? v : (uint32_t)v, wide);
    wi_expr_emit(w, what, WI_X_ACC, constant);
}

/* The least and the greatest value of an integer type. */
static int64_t least_of(weft_type type) {
    const unsigned bits = 8 * (unsigned)weft_type_size(type);
    return wi_type_is_signed(type) ? INT64_MIN >> (64 - bits) : 0;
}
static uint64_t greatest_of(weft_type type) {
    const unsigned bits = 8 * (unsigned)weft_type_size(type);
    return UINT64_MAX >> (64 - bits) >> wi_type_is_signed(type);
}

static void resize(wi_expr_writer *w, weft_type from, weft_type to) {
    const bool was_wide = weft_type_size(from) == 8, is_wide = weft_type_size(to) == 8;
    if (was_wide && !is_wide)
        emit(w, WI_X_LOW_32);
    else if (!was_wide && is_wide)
        emit(w, from == WEFT_I32 ? WI_X_WIDEN_I32 : WI_X_WIDEN_U32);
}

/* Holds an integer of a widened type in the range of another integer type. */
static void saturate_integer(wi_expr_writer *w, weft_type from, weft_type to) {
    static const struct {
        weft_type type;
        wi_expr_do least, greatest;
    } by_type[] = {{WEFT_I32, WI_X_MAX_I32, WI_X_MIN_I32},
                   {WEFT_U32, WI_X_MAX_U32, WI_X_MIN_U32},
                   {WEFT_I64, WI_X_MAX_I64, WI_X_MIN_I64},
                   {WEFT_U64, WI_X_MAX_U64, WI_X_MIN_U64}};
    size_t k = 0;
    while (by_type[k].type != from)
        k++;
    if (least_of(to) > least_of(from))
        emit_with(w, by_type[k].least, from, (uint64_t)least_of(to));
    if (greatest_of(to) < greatest_of(from))
        emit_with(w, by_type[k].greatest, from, greatest_of(to));
    resize(w, from, wi_expr_widened(to));
}

static void wrap_integer(wi_expr_writer *w, weft_type from, weft_type to) {
    const unsigned bits = 8 * (unsigned)weft_type_size(to);
    resize(w, from, wi_expr_widened(to));
    if (bits >= 32)
        return;
    if (wi_type_is_signed(to)) {
        emit_with(w, WI_X_SHL_32, WEFT_U32, 32 - bits);
        emit_with(w, WI_X_SHR_I32, WEFT_U32, 32 - bits);
    } else {
        emit_with(w, WI_X_AND_32, WEFT_U32, greatest_of(to));
    }
}

static void to_integer(wi_expr_writer *w, weft_type from, weft_type to, bool saturate) {
    const bool is_wide = weft_type_size(to) == 8;
    if (!wi_type_is_float(from)) {
        (saturate ? saturate_integer : wrap_integer)(w, from, to);
        return;
    }
    if (from == WEFT_F32 && is_wide)
        emit(w, WI_X_F64_OF_F32);
    const bool is_double = from == WEFT_F64 || is_wide;
    if (!saturate) {
        emit(w, is_double ? WI_X_WRAP_F64 : WI_X_WRAP_F32);
        wrap_integer(w, is_double ? WEFT_U64 : WEFT_U32, to);
    } else if (to == WEFT_U64) {
        emit(w, WI_X_U64_OF_F64);
    } else if (is_double) {
        emit(w, WI_X_I64_OF_F64);
        saturate_integer(w, WEFT_I64, to);
    } else if (to == WEFT_U32) {
        emit(w, WI_X_U32_OF_F32);
    } else {
        emit(w, WI_X_I32_OF_F32);
        saturate_integer(w, WEFT_I32, to);
    }
}

/* To a 16-bit float in one rounding: what f32 does not hold is first rounded to odd. */
static void to_half(wi_expr_writer *w, weft_type from, weft_type to) {
    switch (from) {
    case WEFT_I32:
        emit(w, WI_X_F64_OF_I32);
        break;
    case WEFT_U32:
        emit(w, WI_X_F64_OF_U32);
        break;
    case WEFT_I64:
        emit(w, WI_X_F64_ODD_OF_I64);
        break;
    case WEFT_U64:
        emit(w, WI_X_F64_ODD_OF_U64);
        break;
    default:
        break;
    }
    if (from != WEFT_F32)
        emit(w, WI_X_F32_ODD_OF_F64);
    emit(w, to == WEFT_F16 ? WI_X_F16_ROUND : WI_X_BF16_ROUND);
}

static void to_float(wi_expr_writer *w, weft_type from, weft_type to) {
    static const struct {
        weft_type from;
        wi_expr_do to_f32, to_f64;
    } by_type[] = {
        {WEFT_I32, WI_X_F32_OF_I32, WI_X_F64_OF_I32}, {WEFT_U32, WI_X_F32_OF_U32, WI_X_F64_OF_U32},
        {WEFT_I64, WI_X_F32_OF_I64, WI_X_F64_OF_I64}, {WEFT_U64, WI_X_F32_OF_U64, WI_X_F64_OF_U64},
        {WEFT_F32, WI_X_LOAD, WI_X_F64_OF_F32},       {WEFT_F64, WI_X_F32_OF_F64, WI_X_LOAD}};
    size_t k = 0;
    while (by_type[k].from != from)
        k++;
    const wi_expr_do what = to == WEFT_F32 ? by_type[k].to_f32 : by_type[k].to_f64;
    if (what != WI_X_LOAD)
        emit(w, what);
}

void wi_expr_emit_conversion(wi_expr_writer *w, weft_type from, weft_type to, bool saturate) {
    if (!wi_type_is_float(to))
        to_integer(w, from, to, saturate);
    else if (to == WEFT_F16 || to == WEFT_BF16)
        to_half(w, from, to);
    else
        to_float(w, from, to);
}
