/* SPDX-License-Identifier: Apache-2.0 */
/* The codes of all operations, and a program's codes and constants as they are written. */
#include "expr/expr.h"

enum {
    KINDS = 6 /* of values */
};
#define NOT_THERE WI_X_DOS
/* Two values beyond those of weft_expr_op: the row of the table for SUB with its operands
 * exchanged; and no row at all. */
#define FROM ((weft_expr_op)WEFT_X_COUNT)
#define NO_TURN ((weft_expr_op)(WEFT_X_COUNT + 1))

static const char *const names[WEFT_X_COUNT] = {
    "INPUT", "CONSTANT", "DUP",  "ADD",   "SUB",    "MUL",      "DIV", "MIN",  "MAX",
    "REM",   "AND",      "OR",   "XOR",   "SHL",    "SHR",      "POW", "EQ",   "NE",
    "LT",    "LE",       "GT",   "GE",    "NEG",    "ABS",      "NOT", "SQRT", "EXP",
    "LOG",   "FLOOR",    "CEIL", "ROUND", "SELECT", "SATURATE", "WRAP"};

/* The code for each kind of value: i32, u32, i64, u64, f32, f64. */
#define INTEGERS(op) WI_X_##op##_32, WI_X_##op##_32, WI_X_##op##_64, WI_X_##op##_64
#define BY_SIGN(op) WI_X_##op##_I32, WI_X_##op##_U32, WI_X_##op##_I64, WI_X_##op##_U64
#define FLOATS(op) WI_X_##op##_F32, WI_X_##op##_F64
#define NEITHER NOT_THERE, NOT_THERE
static const uint8_t code_of[WEFT_X_COUNT + 1][KINDS] = {
    [FROM] = {INTEGERS(FROM), FLOATS(FROM)},
    [WEFT_X_ADD] = {INTEGERS(ADD), FLOATS(ADD)},
    [WEFT_X_SUB] = {INTEGERS(SUB), FLOATS(SUB)},
    [WEFT_X_MUL] = {INTEGERS(MUL), FLOATS(MUL)},
    [WEFT_X_DIV] = {BY_SIGN(DIV), FLOATS(DIV)},
    [WEFT_X_MIN] = {BY_SIGN(MIN), FLOATS(MIN)},
    [WEFT_X_MAX] = {BY_SIGN(MAX), FLOATS(MAX)},
    [WEFT_X_REM] = {BY_SIGN(REM), NEITHER},
    [WEFT_X_AND] = {INTEGERS(AND), NEITHER},
    [WEFT_X_OR] = {INTEGERS(OR), NEITHER},
    [WEFT_X_XOR] = {INTEGERS(XOR), NEITHER},
    [WEFT_X_SHL] = {INTEGERS(SHL), NEITHER},
    [WEFT_X_SHR] = {BY_SIGN(SHR), NEITHER},
    [WEFT_X_POW] = {NEITHER, NEITHER, FLOATS(POW)},
    [WEFT_X_EQ] = {INTEGERS(EQ), FLOATS(EQ)},
    [WEFT_X_NE] = {INTEGERS(NE), FLOATS(NE)},
    [WEFT_X_LT] = {BY_SIGN(LT), FLOATS(LT)},
    [WEFT_X_LE] = {BY_SIGN(LE), FLOATS(LE)},
    [WEFT_X_GT] = {BY_SIGN(GT), FLOATS(GT)},
    [WEFT_X_GE] = {BY_SIGN(GE), FLOATS(GE)},
    [WEFT_X_NEG] = {INTEGERS(NEG), FLOATS(NEG)},
    [WEFT_X_ABS] = {WI_X_ABS_I32, WI_X_LOAD, WI_X_ABS_I64, WI_X_LOAD, FLOATS(ABS)},
    [WEFT_X_NOT] = {INTEGERS(NOT), NEITHER},
    [WEFT_X_SQRT] = {NEITHER, NEITHER, FLOATS(SQRT)},
    [WEFT_X_EXP] = {NEITHER, NEITHER, FLOATS(EXP)},
    [WEFT_X_LOG] = {NEITHER, NEITHER, FLOATS(LOG)},
    [WEFT_X_FLOOR] = {NEITHER, NEITHER, FLOATS(FLOOR)},
    [WEFT_X_CEIL] = {NEITHER, NEITHER, FLOATS(CEIL)},
    [WEFT_X_ROUND] = {NEITHER, NEITHER, FLOATS(ROUND)},
};

/* The row of the table that computes a op b from the operands b and a; NO_TURN if there is none. */
static weft_expr_op turned(weft_expr_op op) {
    switch (op) {
    case WEFT_X_ADD:
    case WEFT_X_MUL:
    case WEFT_X_MIN:
    case WEFT_X_MAX:
    case WEFT_X_AND:
    case WEFT_X_OR:
    case WEFT_X_XOR:
    case WEFT_X_EQ:
    case WEFT_X_NE:
        return op;
    case WEFT_X_SUB:
        return FROM;
    case WEFT_X_LT:
        return WEFT_X_GT;
    case WEFT_X_LE:
        return WEFT_X_GE;
    case WEFT_X_GT:
        return WEFT_X_LT;
    case WEFT_X_GE:
        return WEFT_X_LE;
    default:
        return NO_TURN;
    }
}

static int kind_of(weft_type type) {
    switch (type) {
    case WEFT_I32:
        return 0;
    case WEFT_U32:
        return 1;
    case WEFT_I64:
        return 2;
    case WEFT_U64:
        return 3;
    case WEFT_F32:
        return 4;
    default:
        return 5;
    }
}

wi_expr_do wi_expr_code_of(weft_expr_op op, weft_type widened) {
    return (wi_expr_do)code_of[op][kind_of(widened)];
}

wi_expr_do wi_expr_turned_code_of(weft_expr_op op, weft_type widened) {
    const weft_expr_op row = turned(op);
    return row == NO_TURN ? NOT_THERE : (wi_expr_do)code_of[row][kind_of(widened)];
}

bool wi_expr_takes(weft_expr_op op, weft_type widened) {
    return wi_expr_code_of(op, widened) != NOT_THERE;
}

const char *wi_expr_name(weft_expr_op op) {
    return names[op];
}

bool wi_expr_is_heavy(wi_expr_do what) {
    static const bool heavy[WI_X_DOS] = {
#define UNARY(name, z, a, value)
#define BINARY(name, z, a, b, value)
#define HEAVY_UNARY(name, z, a, value) [WI_X_##name] = true,
#define HEAVY_BINARY(name, z, a, b, value) [WI_X_##name] = true,
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
#undef UNARY
#undef BINARY
#undef HEAVY_UNARY
#undef HEAVY_BINARY
    };
    return heavy[what];
}

/* Is it one of those that expr_wide.inc lists? They follow those of expr_narrow.inc. */
static bool is_wide(wi_expr_do what) {
    return what == WI_X_SELECT_64 || what >= WI_X_ADD_64;
}

void wi_expr_emit(wi_expr_writer *w, wi_expr_do what, unsigned a, unsigned b) {
    wi_expr_program *const p = w->program;
    if (p->codes == WI_X_CODES) {
        w->full = true;
        return;
    }
    p->code[p->codes++] =
        (wi_expr_code){(uint8_t)what, (uint8_t)a, (uint8_t)b, wi_expr_is_heavy(what)};
    p->heavy |= wi_expr_is_heavy(what);
    p->wide |= is_wide(what);
}

unsigned wi_expr_constant(wi_expr_writer *w, uint64_t bits, bool wide) {
    wi_expr_program *const p = w->program;
    uint32_t k = 0;
    while (k < p->constants && (p->constant[k] != bits || p->constant_wide[k] != wide))
        k++;
    if (k == WI_X_CONSTANTS) {
        w->full = true;
        return WI_X_AT_CONSTANT;
    }
    p->constant[k] = bits;
    p->constant_wide[k] = wide;
    p->wide |= wide;
    p->constants += k == p->constants;
    return WI_X_AT_CONSTANT + k;
}
