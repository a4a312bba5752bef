/* SPDX-License-Identifier: Apache-2.0 */
/* What weft/expr.h promises, computed in the plainest way for one element: for the tests. */
#ifndef WI_EXPR_ORACLE_H
#define WI_EXPR_ORACLE_H

#include <math.h>

#include "expr/expr.h"
#include "testing.h"

/* A value on the stack, of a widened type. */
typedef struct oracle_value {
    weft_type type;
    test_value v;
} oracle_value;

static inline bool oracle_is_wide(weft_type type) {
    return test_size_of(type) == 8;
}

static inline test_value oracle_wrap(weft_type type, uint64_t bits) {
    return (test_value){.u = test_wrap(type, bits)};
}

static inline long double oracle_number(oracle_value a) {
    return test_is_float(a.type)    ? (long double)a.v.f
           : test_is_signed(a.type) ? (long double)a.v.i
                                    : (long double)a.v.u;
}

static inline test_value oracle_shift(oracle_value a, uint64_t by, bool left) {
    const unsigned width = oracle_is_wide(a.type) ? 64 : 32;
    by = width == 64 ? by : (uint32_t)by;
    if (left)
        return oracle_wrap(a.type, by < width ? a.v.u << by : 0);
    if (test_is_signed(a.type))
        return (test_value){.i = a.v.i >> (by < 63 ? by : 63)};
    return (test_value){.u = by < width ? a.v.u >> by : 0};
}

static inline test_value oracle_divide(oracle_value a, oracle_value b, bool remainder) {
    if (b.v.u == 0)
        return (test_value){.u = 0};
    if (!test_is_signed(a.type))
        return (test_value){.u = remainder ? a.v.u % b.v.u : a.v.u / b.v.u};
    if (b.v.i == -1)
        return remainder ? (test_value){.u = 0} : oracle_wrap(a.type, 0u - a.v.u);
    return (test_value){.i = remainder ? a.v.i % b.v.i : a.v.i / b.v.i};
}

static inline double oracle_float(weft_expr_op op, weft_type type, double a, double b) {
    const bool b_is_less = b < a || (a == b && signbit(b));
    switch (op) {
    case WEFT_X_ADD:
        return type == WEFT_F32 ? (double)((float)a + (float)b) : a + b;
    case WEFT_X_SUB:
        return type == WEFT_F32 ? (double)((float)a - (float)b) : a - b;
    case WEFT_X_MUL:
        return type == WEFT_F32 ? (double)((float)a * (float)b) : a * b;
    case WEFT_X_DIV:
        return type == WEFT_F32 ? (double)((float)a / (float)b) : a / b;
    case WEFT_X_MIN:
        return isnan(a) || isnan(b) ? NAN : b_is_less ? b : a;
    default: /* MAX */
        return isnan(a) || isnan(b) ? NAN : b_is_less ? a : b;
    }
}

static inline bool oracle_compare(weft_expr_op op, oracle_value a, oracle_value b) {
    const long double x = oracle_number(a), y = oracle_number(b);
    switch (op) {
    case WEFT_X_EQ:
        return x == y;
    case WEFT_X_NE:
        return x != y;
    case WEFT_X_LT:
        return x < y;
    case WEFT_X_LE:
        return x <= y;
    case WEFT_X_GT:
        return x > y;
    default:
        return x >= y;
    }
}

static inline test_value oracle_integer(weft_expr_op op, oracle_value a, oracle_value b) {
    const bool b_is_less = oracle_number(b) < oracle_number(a);
    switch (op) {
    case WEFT_X_ADD:
        return oracle_wrap(a.type, a.v.u + b.v.u);
    case WEFT_X_SUB:
        return oracle_wrap(a.type, a.v.u - b.v.u);
    case WEFT_X_MUL:
        return oracle_wrap(a.type, a.v.u * b.v.u);
    case WEFT_X_DIV:
    case WEFT_X_REM:
        return oracle_divide(a, b, op == WEFT_X_REM);
    case WEFT_X_MIN:
        return b_is_less ? b.v : a.v;
    case WEFT_X_MAX:
        return b_is_less ? a.v : b.v;
    case WEFT_X_AND:
        return (test_value){.u = a.v.u & b.v.u};
    case WEFT_X_OR:
        return (test_value){.u = a.v.u | b.v.u};
    case WEFT_X_XOR:
        return (test_value){.u = a.v.u ^ b.v.u};
    default:
        return oracle_shift(a, b.v.u, op == WEFT_X_SHL);
    }
}

static inline oracle_value oracle_binary(weft_expr_op op, oracle_value a, oracle_value b) {
    if (op >= WEFT_X_EQ)
        return (oracle_value){WEFT_U32, {.u = oracle_compare(op, a, b)}};
    if (test_is_float(a.type))
        return (oracle_value){a.type, {.f = oracle_float(op, a.type, a.v.f, b.v.f)}};
    return (oracle_value){a.type, oracle_integer(op, a, b)};
}

static inline double oracle_unary_float(weft_expr_op op, weft_type type, double a) {
    switch (op) {
    case WEFT_X_NEG:
        return -a;
    case WEFT_X_ABS:
        return fabs(a);
    case WEFT_X_SQRT:
        return type == WEFT_F32 ? (double)sqrtf((float)a) : sqrt(a);
    case WEFT_X_FLOOR:
        return floor(a);
    case WEFT_X_CEIL:
        return ceil(a);
    default:
        return nearbyint(a);
    }
}

static inline oracle_value oracle_unary(weft_expr_op op, oracle_value a) {
    if (test_is_float(a.type))
        a.v.f = oracle_unary_float(op, a.type, a.v.f);
    else if (op == WEFT_X_NOT)
        a.v = oracle_wrap(a.type, ~a.v.u);
    else if (op == WEFT_X_NEG || (test_is_signed(a.type) && a.v.i < 0))
        a.v = oracle_wrap(a.type, 0u - a.v.u);
    return a;
}

/* An integer type's least and greatest value. */
static inline long double oracle_least(weft_type type) {
    return test_is_signed(type) ? -ldexpl(1, 8 * (int)test_size_of(type) - 1) : 0;
}
static inline long double oracle_greatest(weft_type type) {
    return ldexpl(1, 8 * (int)test_size_of(type) - test_is_signed(type)) - 1;
}

static inline oracle_value oracle_convert(oracle_value a, weft_type to, bool saturate) {
    const oracle_value zero = {wi_expr_widened(to), {.u = 0}};
    oracle_value z = zero;
    long double x = oracle_number(a);
    if (test_is_float(to)) {
        z.v.f = test_round(to, x);
        return z;
    }
    if (isnan(x) || (isinf(x) && !saturate))
        return zero;
    x = truncl(x);
    if (saturate)
        x = fminl(fmaxl(x, oracle_least(to)), oracle_greatest(to));
    else
        x = fmodl(x, 0x1p64L);
    const uint64_t magnitude = (uint64_t)fabsl(x);
    z.v = oracle_wrap(to, x < 0 ? 0u - magnitude : magnitude);
    return z;
}

static inline oracle_value oracle_constant(const weft_expr_step *step) {
    const weft_type type = (weft_type)step->argument;
    oracle_value z = {wi_expr_widened(type), {.u = 0}};
    if (test_is_float(type))
        z.v.f = test_round(type, step->value.f);
    else
        z.v = oracle_wrap(type, step->value.u);
    return z;
}

/* Element i of the result, of the widened type of what the program leaves. */
static inline oracle_value oracle_run(const weft_expr_step *steps, size_t count,
                                      const weft_expr_input *inputs, size_t i) {
    oracle_value stack[WEFT_EXPR_MAX_DEPTH + 1] = {{WEFT_U32, {.u = 0}}};
    int top = -1;
    for (size_t k = 0; k < count; k++) {
        const weft_expr_step *const s = &steps[k];
        if (s->op == WEFT_X_INPUT) {
            const weft_expr_input *const in = &inputs[s->argument];
            stack[++top] = (oracle_value){wi_expr_widened(in->type), test_load(in->type, in->x, i)};
        } else if (s->op == WEFT_X_CONSTANT) {
            stack[++top] = oracle_constant(s);
        } else if (s->op == WEFT_X_DUP) {
            stack[top + 1] = stack[top];
            top++;
        } else if (s->op == WEFT_X_SELECT) {
            top -= 2;
            stack[top] = stack[top].v.u ? stack[top + 1] : stack[top + 2];
        } else if (s->op == WEFT_X_SATURATE || s->op == WEFT_X_WRAP) {
            stack[top] =
                oracle_convert(stack[top], (weft_type)s->argument, s->op == WEFT_X_SATURATE);
        } else if (s->op < WEFT_X_NEG) {
            top--;
            stack[top] = oracle_binary(s->op, stack[top], stack[top + 1]);
        } else {
            stack[top] = oracle_unary(s->op, stack[top]);
        }
    }
    return stack[0];
}

#endif
