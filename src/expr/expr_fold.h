/* SPDX-License-Identifier: Apache-2.0 */
/* How weft_expr_reduce combines values: the same on a cpu, in kernels and between ranks. */
#ifndef WI_EXPR_FOLD_H
#define WI_EXPR_FOLD_H

#include "expr/expr_math.h"
#include "weft/op.h"
#include "weft/reduce.h"
#include "weft/types.h"

/* What is done to the bits of a state. */
typedef enum wi_expr_how {
    WI_FOLD_SUM, /* of integers, modulo 2^64; PRODUCT likewise */
    WI_FOLD_PRODUCT,
    WI_FOLD_SUM_F64,
    WI_FOLD_PRODUCT_F64,
    WI_FOLD_AND,
    WI_FOLD_OR,
    WI_FOLD_XOR,
    WI_FOLD_LEAST /* keys, of which the least wins, and of equal ones the first */
} wi_expr_how;

/* A reduction of values of a type, which is one of the six that formulas work on. */
typedef struct wi_expr_fold {
    uint8_t op;    /* a weft_op */
    uint8_t type;  /* a weft_type */
    uint8_t how;   /* a wi_expr_how */
    uint8_t bytes; /* of the result */
    uint64_t flip; /* LEAST: bits of a key to invert, so that the wanted value has the least */
} wi_expr_fold;

/* The reduction of the values so far: a sum or product, of floats in f64, or a key; and of a key
 * the position of its value. */
typedef struct wi_expr_state {
    uint64_t bits, at;
} wi_expr_state;

WI_X_BOTH int wi_fold_is_wide(const wi_expr_fold *f) {
    return f->type == WEFT_I64 || f->type == WEFT_U64 || f->type == WEFT_F64;
}
WI_X_BOTH int wi_fold_is_float(const wi_expr_fold *f) {
    return f->type == WEFT_F32 || f->type == WEFT_F64;
}
WI_X_BOTH int wi_fold_is_position(const wi_expr_fold *f) {
    return f->op == WEFT_ARGMIN || f->op == WEFT_ARGMAX;
}

/* All bits that a value of the type has, and its sign bit. */
WI_X_BOTH uint64_t wi_fold_ones(const wi_expr_fold *f) {
    return wi_fold_is_wide(f) ? ~(uint64_t)0 : 0xffffffffu;
}
WI_X_BOTH uint64_t wi_fold_sign(const wi_expr_fold *f) {
    return wi_fold_is_wide(f) ? (uint64_t)1 << 63 : 0x80000000u;
}

/* A value's key: unsigned, in the order of the values, -0.0 below +0.0; flipped in the opposite
 * order. NaN has key 0, so it wins in both. */
WI_X_BOTH uint64_t wi_fold_key(const wi_expr_fold *f, uint64_t bits) {
    const uint64_t sign = wi_fold_sign(f), ones = wi_fold_ones(f);
    const uint64_t infinity = wi_fold_is_wide(f) ? 0x7ff0000000000000u : 0x7f800000u;
    if (!wi_fold_is_float(f))
        return (bits ^ f->flip) & ones;
    if ((bits & (ones ^ sign)) > infinity)
        return 0;
    return ((bits & sign ? ~bits : bits | sign) ^ f->flip) & ones;
}

/* The value of a key. */
WI_X_BOTH uint64_t wi_fold_value(const wi_expr_fold *f, uint64_t key) {
    const uint64_t sign = wi_fold_sign(f), ones = wi_fold_ones(f);
    const uint64_t bits = (key ^ f->flip) & ones;
    if (!wi_fold_is_float(f))
        return bits;
    if (key == 0)
        return wi_fold_is_wide(f) ? 0x7ff8000000000000u : 0x7fc00000u;
    return bits & sign ? bits ^ sign : ~bits & ones;
}

/* The state of no values. */
WI_X_BOTH wi_expr_state wi_fold_none(const wi_expr_fold *f) {
    wi_expr_state s = {0, WEFT_NOWHERE};
    const uint64_t infinity = wi_fold_is_wide(f) ? 0x7ff0000000000000u : 0x7f800000u;
    if (f->how == WI_FOLD_PRODUCT)
        s.bits = 1;
    else if (f->how == WI_FOLD_PRODUCT_F64)
        s.bits = wi_x_bits_f64(1);
    else if (f->how == WI_FOLD_AND)
        s.bits = ~(uint64_t)0;
    else if (f->how == WI_FOLD_LEAST)
        s.bits = wi_fold_is_position(f) ? ~(uint64_t)0
                 : wi_fold_is_float(f)  ? (infinity | wi_fold_sign(f))
                                        : wi_fold_ones(f);
    return s;
}

/* The state of one value, whose bits are given, at position `at`. */
WI_X_BOTH wi_expr_state wi_fold_one(const wi_expr_fold *f, uint64_t bits, uint64_t at) {
    wi_expr_state s = {bits, at};
    if (f->how == WI_FOLD_LEAST)
        s.bits = wi_fold_key(f, bits);
    else if (f->type == WEFT_F32)
        s.bits = wi_x_bits_f64((double)wi_x_f32_of_bits((uint32_t)bits));
    else if (f->type == WEFT_I32)
        s.bits = (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    else if (f->type == WEFT_U32)
        s.bits = (uint32_t)bits;
    return s;
}

/* The state of the values of a, and behind them those of b. */
WI_X_BOTH wi_expr_state wi_fold_join(const wi_expr_fold *f, wi_expr_state a, wi_expr_state b) {
    wi_expr_state s = a;
    switch ((wi_expr_how)f->how) {
    case WI_FOLD_SUM:
        s.bits = a.bits + b.bits;
        break;
    case WI_FOLD_PRODUCT:
        s.bits = a.bits * b.bits;
        break;
    case WI_FOLD_SUM_F64:
        s.bits = wi_x_bits_f64(wi_x_f64_of_bits(a.bits) + wi_x_f64_of_bits(b.bits));
        break;
    case WI_FOLD_PRODUCT_F64:
        s.bits = wi_x_bits_f64(wi_x_f64_of_bits(a.bits) * wi_x_f64_of_bits(b.bits));
        break;
    case WI_FOLD_AND:
        s.bits = a.bits & b.bits;
        break;
    case WI_FOLD_OR:
        s.bits = a.bits | b.bits;
        break;
    case WI_FOLD_XOR:
        s.bits = a.bits ^ b.bits;
        break;
    case WI_FOLD_LEAST:
        if (b.bits < a.bits || (b.bits == a.bits && b.at < a.at))
            s = b;
        break;
    }
    return s;
}

/* The bits of the result. */
WI_X_BOTH uint64_t wi_fold_result(const wi_expr_fold *f, wi_expr_state s) {
    if (wi_fold_is_position(f))
        return s.at;
    if (f->how == WI_FOLD_LEAST)
        return wi_fold_value(f, s.bits);
    if (f->type == WEFT_F32)
        return wi_x_bits_f32((float)wi_x_f64_of_bits(s.bits));
    return s.bits;
}

#endif
