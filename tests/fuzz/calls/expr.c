/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas: random programs of steps whose results are the same bits everywhere, checked value by
 * value as weft/expr.h says, and the functions that may err, alone. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

enum {
    MOST_STEPS = 24,
    MOST_INPUTS = 4
};

/* A value on the stack: one of i32, u32, i64, u64, f32, f64. */
typedef struct typed {
    weft_type type;
    test_value v;
} typed;

static weft_type widened(weft_type type) {
    switch (type) {
    case WEFT_I8:
    case WEFT_I16:
        return WEFT_I32;
    case WEFT_U8:
    case WEFT_U16:
        return WEFT_U32;
    case WEFT_F16:
    case WEFT_BF16:
        return WEFT_F32;
    default:
        return type;
    }
}

static typed of_integer(weft_type type, uint64_t bits) {
    return (typed){type, {.u = test_wrap(type, bits)}};
}

static typed of_float(weft_type type, double x) {
    return (typed){type, {.f = type == WEFT_F32 ? (double)(float)x : x}};
}

/* ---- one step ---- */

static bool is_less(typed a, typed b) {
    return test_is_float(a.type)    ? a.v.f < b.v.f
           : test_is_signed(a.type) ? a.v.i < b.v.i
                                    : a.v.u < b.v.u;
}

static bool is_equal(typed a, typed b) {
    return test_is_float(a.type) ? a.v.f == b.v.f : a.v.u == b.v.u;
}

static typed compare(weft_expr_op op, typed a, typed b) {
    const bool nan = test_is_float(a.type) && (isnan(a.v.f) || isnan(b.v.f));
    const bool less = is_less(a, b), equal = is_equal(a, b);
    const bool result = op == WEFT_X_EQ   ? equal
                        : op == WEFT_X_NE ? !equal
                        : op == WEFT_X_LT ? less
                        : op == WEFT_X_LE ? less || equal
                        : op == WEFT_X_GT ? !nan && !less && !equal
                                          : !nan && !less;
    return of_integer(WEFT_U32, result);
}

static typed binary_float(weft_expr_op op, typed a, typed b) {
    const weft_type type = a.type;
    const double x = a.v.f, y = b.v.f;
    const bool x_first = x < y || (x == y && signbit(x)); /* -0.0 is less than +0.0 */
    switch (op) {
    case WEFT_X_ADD:
        return type == WEFT_F32 ? of_float(type, (float)x + (float)y) : of_float(type, x + y);
    case WEFT_X_SUB:
        return type == WEFT_F32 ? of_float(type, (float)x - (float)y) : of_float(type, x - y);
    case WEFT_X_MUL:
        return type == WEFT_F32 ? of_float(type, (float)x * (float)y) : of_float(type, x * y);
    case WEFT_X_DIV:
        return type == WEFT_F32 ? of_float(type, (float)x / (float)y) : of_float(type, x / y);
    default:
        if (isnan(x) || isnan(y))
            return of_float(type, NAN);
        return (op == WEFT_X_MIN) == x_first ? a : b;
    }
}

static uint64_t shifted(weft_expr_op op, typed a, typed b) {
    const unsigned width = 8 * (unsigned)test_size_of(a.type);
    const bool out = (test_is_signed(a.type) && b.v.i < 0) || b.v.u >= width;
    const uint64_t sign = test_is_signed(a.type) && a.v.i < 0 ? UINT64_MAX : 0;
    if (op == WEFT_X_SHL)
        return out ? 0 : a.v.u << b.v.u;
    if (out)
        return sign;
    return b.v.u == 0 ? a.v.u : a.v.u >> b.v.u | sign << (64 - b.v.u);
}

static typed divided(weft_expr_op op, typed a, typed b) {
    if (b.v.u == 0)
        return of_integer(a.type, 0);
    if (test_is_signed(a.type) && b.v.i == -1)
        return of_integer(a.type, op == WEFT_X_DIV ? 0 - a.v.u : 0);
    if (test_is_signed(a.type))
        return of_integer(a.type, (uint64_t)(op == WEFT_X_DIV ? a.v.i / b.v.i : a.v.i % b.v.i));
    return of_integer(a.type, op == WEFT_X_DIV ? a.v.u / b.v.u : a.v.u % b.v.u);
}

static typed binary_integer(weft_expr_op op, typed a, typed b) {
    switch (op) {
    case WEFT_X_ADD:
        return of_integer(a.type, a.v.u + b.v.u);
    case WEFT_X_SUB:
        return of_integer(a.type, a.v.u - b.v.u);
    case WEFT_X_MUL:
        return of_integer(a.type, a.v.u * b.v.u);
    case WEFT_X_DIV:
    case WEFT_X_REM:
        return divided(op, a, b);
    case WEFT_X_MIN:
        return is_less(b, a) ? b : a;
    case WEFT_X_MAX:
        return is_less(b, a) ? a : b;
    case WEFT_X_AND:
        return of_integer(a.type, a.v.u & b.v.u);
    case WEFT_X_OR:
        return of_integer(a.type, a.v.u | b.v.u);
    case WEFT_X_XOR:
        return of_integer(a.type, a.v.u ^ b.v.u);
    default:
        return of_integer(a.type, shifted(op, a, b));
    }
}

static typed unary(weft_expr_op op, typed a) {
    const bool real = test_is_float(a.type);
    switch (op) {
    case WEFT_X_NEG:
        return real ? of_float(a.type, -a.v.f) : of_integer(a.type, 0 - a.v.u);
    case WEFT_X_ABS:
        return real                                  ? of_float(a.type, fabs(a.v.f))
               : test_is_signed(a.type) && a.v.i < 0 ? of_integer(a.type, 0 - a.v.u)
                                                     : a;
    case WEFT_X_NOT:
        return of_integer(a.type, ~a.v.u);
    case WEFT_X_SQRT:
        return of_float(a.type, sqrt(a.v.f));
    case WEFT_X_FLOOR:
        return of_float(a.type, floor(a.v.f));
    case WEFT_X_CEIL:
        return of_float(a.type, ceil(a.v.f));
    default:
        return of_float(a.type, nearbyint(a.v.f));
    }
}

/* To an integer type from a float. */
static uint64_t truncated(bool saturate, weft_type to, double x) {
    const unsigned bits = 8 * (unsigned)test_size_of(to);
    const bool is_signed = test_is_signed(to);
    const double top = ldexp(1, (int)bits - is_signed), low = is_signed ? -top : 0;
    const double whole = trunc(x);
    if (isnan(x))
        return 0;
    if (saturate && whole >= top)
        return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (saturate && whole < low)
        return is_signed ? UINT64_C(1) << (bits - 1) : 0;
    if (isinf(x))
        return 0;
    const double rest = fmod(whole, 0x1p64);
    return rest < 0 ? 0 - (uint64_t)-rest : (uint64_t)rest;
}

/* To an integer type from another. */
static uint64_t clamped(weft_type to, typed a) {
    const unsigned bits = 8 * (unsigned)test_size_of(to);
    const bool negative = test_is_signed(a.type) && a.v.i < 0;
    const uint64_t most =
        test_is_signed(to) ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    const int64_t least = test_is_signed(to) ? -(int64_t)most - 1 : 0;
    if (negative)
        return a.v.i < least ? (uint64_t)least : a.v.u;
    return a.v.u > most ? most : a.v.u;
}

static typed converted(weft_expr_op how, weft_type to, typed a) {
    const bool saturate = how == WEFT_X_SATURATE;
    if (test_is_float(to)) {
        const long double x = test_is_float(a.type)    ? a.v.f
                              : test_is_signed(a.type) ? (long double)a.v.i
                                                       : (long double)a.v.u;
        return (typed){widened(to), {.f = isnan(x) ? NAN : test_round(to, x)}};
    }
    const uint64_t bits = test_is_float(a.type) ? truncated(saturate, to, a.v.f)
                          : saturate            ? clamped(to, a)
                                                : a.v.u;
    return (typed){widened(to), {.u = test_wrap(widened(to), test_wrap(to, bits))}};
}

/* ---- programs ---- */

typedef struct program {
    fuzz *f;
    weft_expr_step step[WEFT_EXPR_MAX_STEPS];
    size_t steps, inputs;
    weft_expr_input input[MOST_INPUTS];
    const unsigned char *data[MOST_INPUTS];
    weft_type stack[WEFT_EXPR_MAX_DEPTH]; /* while it is drawn */
    size_t depth;
} program;

static void add_step(program *p, weft_expr_op op, int argument, size_t takes, weft_type gives) {
    p->step[p->steps++] = (weft_expr_step){.op = op, .argument = argument};
    p->depth -= takes;
    p->stack[p->depth++] = gives;
}

static void draw_value(program *p) {
    fuzz *const f = p->f;
    if (fuzz_one_in(f, 3)) {
        static const weft_type types[] = {WEFT_I32, WEFT_U32, WEFT_I64,
                                          WEFT_U64, WEFT_F32, WEFT_F64};
        unsigned char bits[8];
        const weft_type type = types[fuzz_below(f, 6)];
        fuzz_fill(f, type, 1, bits);
        const test_value v = test_load(type, bits, 0);
        add_step(p, WEFT_X_CONSTANT, (int)type, 0, type);
        memcpy(&p->step[p->steps - 1].value, &v, sizeof v);
    } else {
        const size_t k = fuzz_below(f, p->inputs);
        add_step(p, WEFT_X_INPUT, (int)k, 0, widened(p->input[k].type));
    }
}

static void draw_unary(program *p) {
    static const weft_expr_op of_integers[] = {WEFT_X_NEG, WEFT_X_ABS, WEFT_X_NOT};
    static const weft_expr_op of_floats[] = {WEFT_X_NEG,   WEFT_X_ABS,  WEFT_X_SQRT,
                                             WEFT_X_FLOOR, WEFT_X_CEIL, WEFT_X_ROUND};
    fuzz *const f = p->f;
    const weft_type type = p->stack[p->depth - 1];
    add_step(p, test_is_float(type) ? of_floats[fuzz_below(f, 6)] : of_integers[fuzz_below(f, 3)],
             0, 1, type);
}

static void draw_conversion(program *p, weft_type to) {
    add_step(p, fuzz_one_in(p->f, 2) ? WEFT_X_SATURATE : WEFT_X_WRAP, (int)to, 1, widened(to));
}

static void draw_binary(program *p) {
    fuzz *const f = p->f;
    const weft_type type = p->stack[p->depth - 2];
    if (p->stack[p->depth - 1] != type)
        draw_conversion(p, type);
    if (fuzz_one_in(f, 3))
        add_step(p, (weft_expr_op)(WEFT_X_EQ + fuzz_below(f, 6)), 0, 2, WEFT_U32);
    else
        add_step(p, (weft_expr_op)(WEFT_X_ADD + fuzz_below(f, test_is_float(type) ? 6 : 12)), 0, 2,
                 type);
}

static void draw_select(program *p) {
    const weft_type mask = p->stack[p->depth - 3], type = p->stack[p->depth - 2];
    if (mask != WEFT_I32 && mask != WEFT_U32)
        return;
    if (p->stack[p->depth - 1] != type)
        draw_conversion(p, type);
    add_step(p, WEFT_X_SELECT, 0, 3, type);
}

static void draw_step(program *p) {
    fuzz *const f = p->f;
    const size_t kind = fuzz_below(f, 8);
    if (p->depth == 0 || (kind < 3 && p->depth < WEFT_EXPR_MAX_DEPTH))
        draw_value(p);
    else if (kind == 3 && p->depth < WEFT_EXPR_MAX_DEPTH)
        add_step(p, WEFT_X_DUP, 0, 0, p->stack[p->depth - 1]);
    else if (kind == 4)
        draw_unary(p);
    else if (kind == 5)
        draw_conversion(p, fuzz_type(f));
    else if (kind == 6 && p->depth >= 3)
        draw_select(p);
    else if (p->depth >= 2)
        draw_binary(p);
}

/* Steps that leave one value, which is narrowed to z's type. */
static void draw_steps(program *p, weft_type z) {
    const size_t wanted = 1 + fuzz_below(p->f, MOST_STEPS);
    while (p->steps < wanted)
        draw_step(p);
    while (p->depth > 1)
        draw_binary(p);
    if (p->stack[0] != widened(z))
        draw_conversion(p, widened(z));
}

static typed evaluate(const program *p, size_t i) {
    typed stack[WEFT_EXPR_MAX_DEPTH + 1];
    size_t depth = 0;
    for (size_t k = 0; k < p->steps; k++) {
        const weft_expr_step *const s = &p->step[k];
        const weft_type to = (weft_type)s->argument;
        typed *const top = &stack[depth - (depth > 0)], *const below = top - (depth > 1);
        if (s->op == WEFT_X_INPUT) {
            const weft_type type = p->input[s->argument].type;
            stack[depth++] = (typed){widened(type), test_load(type, p->data[s->argument], i)};
        } else if (s->op == WEFT_X_CONSTANT) {
            stack[depth].type = to;
            memcpy(&stack[depth++].v, &s->value, sizeof s->value);
        } else if (s->op == WEFT_X_DUP) {
            stack[depth++] = *top;
        } else if (s->op == WEFT_X_SELECT) {
            const bool first = stack[depth - 3].v.u != 0;
            stack[depth - 3] = first ? *below : *top;
            depth -= 2;
        } else if (s->op == WEFT_X_SATURATE || s->op == WEFT_X_WRAP) {
            *top = converted(s->op, to, *top);
        } else if (s->op >= WEFT_X_NEG) {
            *top = unary(s->op, *top);
        } else {
            *below = s->op >= WEFT_X_EQ           ? compare(s->op, *below, *top)
                     : test_is_float(below->type) ? binary_float(s->op, *below, *top)
                                                  : binary_integer(s->op, *below, *top);
            depth--;
        }
    }
    return stack[0];
}

static void draw_inputs(program *p) {
    static const char *const names[MOST_INPUTS] = {"inputs[0]", "inputs[1]", "inputs[2]",
                                                   "inputs[3]"};
    fuzz *const f = p->f;
    p->inputs = 1 + fuzz_below(f, MOST_INPUTS);
    for (size_t k = 0; k < p->inputs; k++) {
        f->type = fuzz_type(f);
        const fuzz_array *const x = fuzz_elements(f, names[k], f->n);
        p->data[k] = x->before;
        p->input[k] = (weft_expr_input){f->type, x->p};
    }
}

static void run_program(fuzz *f) {
    program p = {.f = f};
    const weft_type type = fuzz_type(f);
    draw_inputs(&p);
    draw_steps(&p, type);
    const size_t size = test_size_of(type);
    fuzz_array *const z = fuzz_output(f, "z", f->n * size, size);
    z->type = type;
    z->compare = FUZZ_SAME;
    for (size_t i = 0; i < f->n; i++)
        test_store(type, z->want, i, evaluate(&p, i).v);
    if (fuzz_spoil_own(f, ""))
        p.step[fuzz_below(f, p.steps)].op = (weft_expr_op)(WEFT_X_COUNT + fuzz_below(f, 9));
    fuzz_say(f, "weft_expr(%zu steps, %zu inputs, %zu, to %s)", p.steps, p.inputs, f->n,
             weft_type_name(type));
    fuzz_end(f, "weft_expr",
             weft_expr(f->ctx, p.step, p.steps, f->n, p.input, p.inputs, type, z->p));
}

/* Its values, as an array that a reduction is foretold of. */
static void run_reduction(fuzz *f) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_PRODUCT, WEFT_MIN,
                                  WEFT_MAX, WEFT_ARGMIN,  WEFT_ARGMAX};
    program p = {.f = f};
    weft_op op = ops[fuzz_below(f, 6)];
    const weft_type type = widened(fuzz_type(f));
    draw_inputs(&p);
    draw_steps(&p, type);
    unsigned char *const values = fuzz_take(f, f->n * 8 + 1);
    for (size_t i = 0; i < f->n; i++)
        test_store(type, values, i, evaluate(&p, i).v);
    f->type = type;
    const size_t size = test_size_of(fuzz_reduction_type(type, op));
    fuzz_array *const result = fuzz_output(f, "result", size, size);
    fuzz_expect_reductions(f, op, 1, result);
    fuzz_expect_reduction(f, op, f->n, values, NULL, result, 0);
    if (fuzz_spoil_own(f, "op"))
        op = WEFT_OP_COUNT;
    fuzz_say(f, "weft_expr_reduce(%d, %zu steps, %zu inputs, %zu, %s)", (int)op, p.steps, p.inputs,
             f->n, weft_type_name(type));
    fuzz_end(
        f, "weft_expr_reduce",
        weft_expr_reduce(f->ctx, op, p.step, p.steps, f->n, p.input, p.inputs, type, result->p));
}

/* EXP, LOG and POW by the errors that weft/expr.h allows. */
static void run_function(fuzz *f) {
    const weft_expr_op op = fuzz_one_in(f, 2) ? WEFT_X_EXP : WEFT_X_LOG;
    f->type = fuzz_one_in(f, 2) ? WEFT_F32 : WEFT_F64;
    const size_t size = test_size_of(f->type);
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    fuzz_array *const z = fuzz_output(f, "z", f->n * size, size);
    z->type = f->type;
    z->compare = FUZZ_BOUNDED;
    z->value = fuzz_take(f, (f->n + 1) * sizeof *z->value);
    z->bound = fuzz_take(f, (f->n + 1) * sizeof *z->bound);
    const long double units = f->type == WEFT_F32 ? 0.51L : 1;
    for (size_t i = 0; i < f->n; i++) {
        const long double v = test_load(f->type, x->before, i).f;
        const long double value = op == WEFT_X_EXP ? expl(v) : logl(v);
        z->value[i] = value;
        z->bound[i] = units * 2 * test_roundoff(f->type) * fabsl(value) +
                      2 * (long double)test_half_tiny(f->type) + 0x1p-1074L;
        if (!isnan(value) && fabsl(value) > test_largest_of(f->type)) {
            z->value[i] = value > 0 ? INFINITY : -INFINITY;
            z->bound[i] = 0;
        }
    }
    fuzz_spoil(f);
    fuzz_say(f, "weft_unary(%s, %s, %zu)", op == WEFT_X_EXP ? "EXP" : "LOG",
             weft_type_name(f->type), f->n);
    fuzz_end(f, "weft_unary", weft_unary(f->ctx, op, f->type, f->n, x->p, z->p));
}

void fuzz_expr(fuzz *f) {
    if (fuzz_one_in(f, 4)) {
        fuzz_begin(f, "expr_reduce");
        run_reduction(f);
        return;
    }
    fuzz_begin(f, "expr");
    (fuzz_one_in(f, 4) ? run_function : run_program)(f);
}
