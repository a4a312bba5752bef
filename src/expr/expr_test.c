/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of expr, on every place: formulas drawn at random over inputs of all types, sizes,
 * alignments, in place, host and device memory; every operation on every type through the calls
 * for one; elements beside those before. The oracle is expr_oracle.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr_drawing.h"
#include "expr/expr_oracle.h"

enum {
    INPUTS = 3,
    MOST = 40003
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[INPUTS + 1], device[INPUTS + 1]; /* the last is z */
    unsigned char *source[INPUTS];
    size_t capacity;
} rig;

static rig rig_open(weft_context *ctx, size_t n) {
    rig r = {.ctx = ctx, .random = test_random_at(1), .capacity = n * 8};
    for (int k = 0; k <= INPUTS; k++) {
        r.host[k] = test_buffer_open(ctx, false, r.capacity);
        if (ctx->kind == WI_CUDA)
            r.device[k] = test_buffer_open(ctx, true, r.capacity);
        if (k < INPUTS) {
            r.source[k] = malloc(r.capacity);
            assert_non_null(r.source[k]);
        }
    }
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k <= INPUTS; k++) {
        test_buffer_close(&r->host[k]);
        if (r->ctx->kind == WI_CUDA)
            test_buffer_close(&r->device[k]);
        if (k < INPUTS)
            free(r->source[k]);
    }
}

/* A call: which of weft/expr.h, with the formula that says the same. */
typedef enum entry {
    EXPR,
    UNARY,
    BINARY,
    SCALAR,
    WHERE,
    CONVERT
} entry;

typedef struct expr_case {
    entry entry;
    const wi_row *row;
    size_t n, inputs;
    weft_expr_input input[INPUTS];
    weft_expr_step step[DRAWING_MOST_STEPS];
    size_t steps;
    weft_type type;
    int alias; /* z is this input; -1: none */
} expr_case;

static const char *describe(const rig *r, const expr_case *c) {
    static char text[1024];
    snprintf(text, sizeof text,
             "expr on %s, variant %s, n %zu, to %s, alias %d, entry %d:", weft_place(r->ctx),
             c->row ? c->row->name : "auto", c->n, test_type_name(c->type), c->alias,
             (int)c->entry);
    drawing_tell(text, sizeof text, c->input, c->inputs, c->step, c->steps);
    return text;
}

/* Places the arrays, each at its own offset, in host or in device memory. */
static void *prepare(rig *r, expr_case *c, weft_expr_input *placed, test_buffer **out) {
    const bool gpu = r->ctx->kind == WI_CUDA;
    for (size_t k = 0; k < c->inputs; k++) {
        static const test_pattern patterns[] = {TEST_ANY, TEST_SPECIAL, TEST_NANS, TEST_TIES};
        const weft_type type = c->input[k].type;
        const size_t size = test_size_of(type);
        test_fill(&r->random, patterns[test_below(&r->random, 4)], type, c->n, r->source[k]);
        test_buffer *const b = gpu && test_below(&r->random, 4) ? &r->device[k] : &r->host[k];
        test_buffer_load(b, r->source[k], c->n * size, test_below(&r->random, 4) * size);
        placed[k] = (weft_expr_input){type, b->p};
        c->input[k].x = r->source[k];
        if (c->alias == (int)k)
            *out = b;
    }
    if (c->alias < 0) {
        const size_t size = test_size_of(c->type);
        *out = gpu && test_below(&r->random, 4) ? &r->device[INPUTS] : &r->host[INPUTS];
        test_buffer_poison(*out, c->n * size, test_below(&r->random, 4) * size);
    }
    return (*out)->p;
}

static weft_status call(weft_context *ctx, const expr_case *c, const weft_expr_input *x, void *z) {
    const weft_type type = x[0].type;
    unsigned char scalar[8];
    switch (c->entry) {
    case UNARY:
        return weft_unary(ctx, c->step[1].op, type, c->n, x[0].x, z);
    case BINARY:
        return weft_binary(ctx, c->step[2].op, type, c->n, x[0].x, x[1].x, z);
    case SCALAR:
        test_store(type, scalar, 0, (test_value){.u = c->step[1].value.u});
        return weft_binary_scalar(ctx, c->step[2].op, type, c->n, x[0].x, scalar, z);
    case WHERE:
        return weft_where(ctx, x[1].type, c->n, x[0].x, x[1].x, x[2].x, z);
    case CONVERT:
        return weft_convert(ctx, c->step[1].op, type, c->type, c->n, x[0].x, z);
    default:
        return weft_expr(ctx, c->step, c->steps, c->n, x, c->inputs, c->type, z);
    }
}

static void run_case(rig *r, expr_case *c) {
    weft_expr_input placed[INPUTS];
    test_buffer *out = NULL;
    void *const z = prepare(r, c, placed, &out);
    test_use(r->ctx, "expr", c->row);
    if (call(r->ctx, c, placed, z) != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    if (c->n > 0)
        test_used(r->ctx, "expr", c->row, describe(r, c));
    const void *const got = test_buffer_read(out, describe(r, c));
    for (size_t i = 0; i < c->n; i++) {
        unsigned char bytes[8];
        test_store(c->type, bytes, 0, oracle_run(c->step, c->steps, c->input, i).v);
        const test_value right = test_load(c->type, bytes, 0), is = test_load(c->type, got, i);
        if (!test_same(c->type, is, right))
            fail_msg("%s: element %zu is %s, should be %s", describe(r, c), i,
                     test_text(c->type, is), test_text(c->type, right));
    }
}

/* ---- formulas drawn at random ---- */

static bool run_random(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    expr_case c = {.row = row, .n = n, .type = (weft_type)at[0], .alias = -1};
    c.inputs = 1 + test_below(&r->random, INPUTS);
    for (size_t k = 0; k < c.inputs; k++) {
        c.input[k].type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
        if (test_below(&r->random, 4) == 0 && test_size_of(c.input[k].type) == test_size_of(c.type))
            c.alias = (int)k;
    }
    c.steps = drawing_formula(&r->random, c.input, c.inputs, c.type, c.step);
    drawing_few_blocks(&r->random);
    run_case(r, &c);
    drawing_all_blocks();
    return true;
}

static void formulas(weft_context *ctx, const size_t *sizes, size_t count, unsigned share) {
    rig r = rig_open(ctx, MOST);
    const test_sweep s = {.sizes = sizes,
                          .size_count = count,
                          .ladder = &wi_expr_ladder,
                          .extent = {WEFT_TYPE_COUNT, 4},
                          .must = 1,
                          .share = share,
                          .one_in = 4,
                          .run = run_random};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void small_formulas(weft_context *ctx) {
    formulas(ctx, test_small_sizes, test_small_size_count, 30);
}

static void larger_formulas(weft_context *ctx) {
    static const size_t sizes[] = {2047, 2048, 2049, 4097, 10007, MOST};
    formulas(ctx, sizes, sizeof sizes / sizeof *sizes, 30);
}

/* ---- the calls for one operation ---- */

static void one_operation(rig *r, entry how, weft_expr_op op, weft_type type) {
    expr_case c = {.entry = how, .n = 300, .inputs = 1, .type = type, .alias = -1};
    const weft_expr_step x = {.op = WEFT_X_INPUT, .argument = 0};
    const weft_expr_step y = {.op = WEFT_X_INPUT, .argument = 1};
    weft_expr_step one = {.op = WEFT_X_CONSTANT, .argument = (int)type, .value = {.u = 5}};
    if (test_is_float(type))
        one.value.f = -2.5;
    c.input[0].type = c.input[1].type = type;
    c.step[c.steps++] = x;
    if (how == BINARY)
        c.step[c.steps++] = y;
    if (how == SCALAR)
        c.step[c.steps++] = one;
    c.inputs += how == BINARY;
    c.step[c.steps++] = (weft_expr_step){.op = op};
    if (op >= WEFT_X_EQ && op <= WEFT_X_GE)
        c.type = WEFT_U8;
    run_case(r, &c);
}

static void one_conversion(rig *r, weft_type from, weft_type to) {
    for (int how = WEFT_X_SATURATE; how <= WEFT_X_WRAP; how++) {
        expr_case c = {.entry = CONVERT, .n = 300, .inputs = 1, .type = to, .alias = -1};
        c.input[0].type = from;
        c.step[0] = (weft_expr_step){.op = WEFT_X_INPUT, .argument = 0};
        c.step[1] = (weft_expr_step){.op = (weft_expr_op)how, .argument = (int)to};
        c.steps = 2;
        run_case(r, &c);
    }
}

static void one_where(rig *r, weft_type type) {
    expr_case c = {.entry = WHERE, .n = 300, .inputs = 3, .type = type, .alias = -1, .steps = 4};
    c.input[0].type = WEFT_U8;
    c.input[1].type = c.input[2].type = type;
    for (int k = 0; k < 3; k++)
        c.step[k] = (weft_expr_step){.op = WEFT_X_INPUT, .argument = k};
    c.step[3] = (weft_expr_step){.op = WEFT_X_SELECT};
    run_case(r, &c);
}

static bool is_bounded_only(weft_expr_op op) {
    return op == WEFT_X_EXP || op == WEFT_X_LOG || op == WEFT_X_POW;
}

static void each_operation(weft_context *ctx) {
    rig r = rig_open(ctx, 300);
    for (int t = 0; t < WEFT_TYPE_COUNT; t++) {
        const weft_type type = (weft_type)t;
        for (int op = WEFT_X_ADD; op <= WEFT_X_ROUND; op++) {
            if (!wi_expr_takes((weft_expr_op)op, wi_expr_widened(type)) ||
                is_bounded_only((weft_expr_op)op))
                continue;
            if (op >= WEFT_X_NEG) {
                one_operation(&r, UNARY, (weft_expr_op)op, type);
                continue;
            }
            one_operation(&r, BINARY, (weft_expr_op)op, type);
            one_operation(&r, SCALAR, (weft_expr_op)op, type);
        }
        for (int to = 0; to < WEFT_TYPE_COUNT; to++)
            one_conversion(&r, type, (weft_type)to);
        one_where(&r, type);
    }
    rig_close(&r);
}

/* ---- exponentials, logarithms and powers ---- */

/* How far a result is from the right one, in units of its last place. */
static double units(weft_type type, double got, long double right) {
    const long double tiny = type == WEFT_F32 ? 0x1p-149L : 0x1p-1074L;
    const double rounded = test_round(type, right);
    if ((isnan(got) && isnan(right)) || got == rounded)
        return 0;
    if (isnan(got) || isinf(got) || isinf(rounded))
        return isinf(got) && fabsl(right) > (long double)test_largest_of(type) ? 0 : INFINITY;
    int exponent;
    frexp(rounded, &exponent);
    const long double unit = ldexpl(1, exponent - (type == WEFT_F32 ? 24 : 53));
    return (double)(fabsl(got - right) / (unit > tiny ? unit : tiny));
}

static long double reference(weft_expr_op op, double x, double y) {
    return op == WEFT_X_EXP ? expl(x) : op == WEFT_X_LOG ? logl(x) : powl(x, y);
}

enum {
    SPECIALS = 21
};

/* The first arguments are special numbers. */
static double draw_argument(test_random *r, weft_expr_op op, weft_type type, size_t i) {
    static const double specials[SPECIALS] = {
        0.0, -0.0,   1,        -1,  2,    -2,  0.5,  3,    -3,     INFINITY, -INFINITY,
        NAN, 1e-310, 0x1p-149, 1e5, -1e5, 1.5, -1.5, 1e17, 0x1p53, -0x1p60};
    if (i < SPECIALS)
        return test_round(type, specials[i]);
    const double v = test_unit(r);
    if (op == WEFT_X_LOG)
        return test_round(type, i % 2 ? 1 + v : exp(v * 80));
    return test_round(type, v * (op == WEFT_X_EXP ? (type == WEFT_F32 ? 100 : 740) : 9));
}

static void compare_with(rig *r, weft_expr_op op, weft_type type, size_t n, const double *x,
                         const double *y) {
    const double most = type == WEFT_F32 ? 0.51 : op == WEFT_X_POW ? 1.5 : 1;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++)
            test_store(type, r->source[k], i, (test_value){.f = k == 0 ? x[i] : y[i]});
    for (int k = 0; k < 2; k++)
        test_buffer_load(&r->host[k], r->source[k], n * test_size_of(type), 0);
    test_buffer_poison(&r->host[INPUTS], n * test_size_of(type), 0);
    void *const z = r->host[INPUTS].p;
    const weft_status status = op == WEFT_X_POW
                                   ? weft_binary(r->ctx, op, type, n, r->host[0].p, r->host[1].p, z)
                                   : weft_unary(r->ctx, op, type, n, r->host[0].p, z);
    assert_int_equal(status, WEFT_OK);
    weft_context *const cpu = test_open("cpu:1"); /* the bits of all places are these */
    assert_int_equal(weft_use(cpu, "expr", "serial"), WEFT_OK);
    void *const same = r->source[2];
    assert_int_equal(op == WEFT_X_POW
                         ? weft_binary(cpu, op, type, n, r->source[0], r->source[1], same)
                         : weft_unary(cpu, op, type, n, r->source[0], same),
                     WEFT_OK);
    weft_close(cpu);
    const void *const got = test_buffer_read(&r->host[INPUTS], "z");
    for (size_t i = 0; i < n; i++) {
        const test_value v = test_load(type, got, i), w = test_load(type, same, i);
        const double off = units(type, v.f, reference(op, x[i], y[i]));
        if (!test_same(type, v, w) || !(off <= most))
            fail_msg("%s of %s on %s: %a, %a gives %a; off by %g, serial says %a", wi_expr_name(op),
                     test_type_name(type), weft_place(r->ctx), x[i], y[i], v.f, off, w.f);
    }
}

static void transcendental(weft_context *ctx) {
    enum {
        N = 2500,
        PAIRS = SPECIALS * SPECIALS
    };
    static const weft_expr_op ops[] = {WEFT_X_EXP, WEFT_X_LOG, WEFT_X_POW};
    rig r = rig_open(ctx, N);
    double *const x = malloc(N * sizeof *x), *const y = malloc(N * sizeof *y);
    assert_true(x && y);
    test_use(ctx, "expr", NULL);
    for (int k = 0; k < 3; k++)
        for (int t = WEFT_F32; t <= WEFT_F64; t++) {
            const bool is_pow = ops[k] == WEFT_X_POW;
            for (size_t i = 0; i < N; i++) {
                /* of powers every special base with every special exponent */
                x[i] = draw_argument(&r.random, is_pow ? WEFT_X_LOG : ops[k], (weft_type)t,
                                     is_pow && i < PAIRS ? i % SPECIALS : i);
                y[i] = draw_argument(&r.random, ops[k], (weft_type)t,
                                     is_pow && i < PAIRS ? i / SPECIALS : i + PAIRS);
            }
            compare_with(&r, ops[k], (weft_type)t, N, x, y);
        }
    free(x);
    free(y);
    rig_close(&r);
}

/* ---- neighbours ---- */

static void compare_neighbours(rig *r, weft_type type, size_t n, bool flags, const void *got) {
    for (size_t i = 0; i < n; i++) {
        const oracle_value x = {wi_expr_widened(type), test_load(type, r->source[0], i)};
        const oracle_value before = {x.type, test_load(type, r->source[0], i > 0 ? i - 1 : 0)};
        const weft_type out = flags ? WEFT_U8 : type;
        oracle_value z = {x.type, x.v};
        unsigned char bytes[8];
        if (i > 0)
            z = oracle_binary(flags ? WEFT_X_NE : WEFT_X_SUB, x, before);
        else if (flags)
            z.v.u = 1;
        test_store(out, bytes, 0, z.v);
        if (!test_same(out, test_load(out, got, i), test_load(out, bytes, 0)))
            fail_msg("%s of %zu %s on %s: element %zu", flags ? "heads" : "differences", n,
                     test_type_name(type), weft_place(r->ctx), i);
    }
}

static bool run_neighbours(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const bool flags = at[1], device = r->ctx->kind == WI_CUDA && test_below(&r->random, 2);
    const size_t size = test_size_of(type), out = flags ? 1 : size;
    test_buffer *const x = device ? &r->device[0] : &r->host[0];
    test_buffer *const z = device ? &r->device[INPUTS] : &r->host[INPUTS];
    test_fill(&r->random, flags ? TEST_TIES : TEST_ANY, type, n, r->source[0]);
    const bool aligned = test_below(&r->random, 2); /* as whole vectors need it */
    test_buffer_load(x, r->source[0], n * size, aligned ? 0 : test_below(&r->random, 3) * size);
    test_buffer_poison(z, n * out, aligned ? 0 : test_below(&r->random, 3) * out);
    test_use(r->ctx, "expr", row);
    const weft_status status = flags ? weft_flag_heads(r->ctx, type, n, x->p, z->p)
                                     : weft_adjacent_difference(r->ctx, type, n, x->p, z->p);
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(r->ctx));
    compare_neighbours(r, type, n, flags, test_buffer_read(z, "neighbours"));
    return true;
}

static void neighbours(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 3, 100, 2049, 5000};
    rig r = rig_open(ctx, 5000);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_expr_ladder,
                          .extent = {WEFT_TYPE_COUNT, 2},
                          .must = 3,
                          .share = 20,
                          .run = run_neighbours};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_formulas), TEST_ON_EACH_PLACE(larger_formulas),
        TEST_ON_EACH_PLACE(each_operation), TEST_ON_EACH_PLACE(transcendental),
        TEST_ON_EACH_PLACE(neighbours),
    };
    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
