/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of expr for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "expr/expr_reduce.h"

static const weft_expr_step twice[] = {
    {.op = WEFT_X_INPUT, .argument = 0}, {.op = WEFT_X_INPUT, .argument = 0}, {.op = WEFT_X_ADD}};

static void without_context(void) {
    float x = 1, y = 2;
    const weft_expr_input in = {WEFT_F32, &x};
    assert_int_equal(weft_expr(NULL, twice, 3, 1, &in, 1, WEFT_F32, &y), WEFT_EARG);
    assert_int_equal(weft_expr_reduce(NULL, WEFT_SUM, twice, 3, 1, &in, 1, WEFT_F32, &y),
                     WEFT_EARG);
    assert_int_equal(weft_unary(NULL, WEFT_X_NEG, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_binary(NULL, WEFT_X_ADD, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_binary_scalar(NULL, WEFT_X_ADD, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_where(NULL, WEFT_F32, 1, &x, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_convert(NULL, WEFT_X_WRAP, WEFT_F32, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_adjacent_difference(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_flag_heads(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_true(y == 2);
}

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_expr_input in = {WEFT_I32, r.x}, none = {WEFT_I32, NULL};
    REFUSED("weft_expr", "program", weft_expr(ctx, NULL, 3, 4, &in, 1, WEFT_I32, r.z));
    REFUSED("weft_expr", "inputs", weft_expr(ctx, twice, 3, 4, NULL, 1, WEFT_I32, r.z));
    REFUSED("weft_expr", "x", weft_expr(ctx, twice, 3, 4, &none, 1, WEFT_I32, r.z));
    REFUSED("weft_expr", "z", weft_expr(ctx, twice, 3, 4, &in, 1, WEFT_I32, NULL));
    REFUSED("weft_unary", "x", weft_unary(ctx, WEFT_X_NEG, WEFT_I32, 4, NULL, r.z));
    REFUSED("weft_unary", "z", weft_unary(ctx, WEFT_X_NEG, WEFT_I32, 4, r.x, NULL));
    REFUSED("weft_binary", "y", weft_binary(ctx, WEFT_X_ADD, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_binary_scalar", "y",
            weft_binary_scalar(ctx, WEFT_X_ADD, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_where", "mask", weft_where(ctx, WEFT_I32, 4, NULL, r.x, r.y, r.z));
    REFUSED("weft_convert", "x", weft_convert(ctx, WEFT_X_WRAP, WEFT_I32, WEFT_U8, 4, NULL, r.z));
    REFUSED("weft_adjacent_difference", "x", weft_adjacent_difference(ctx, WEFT_I32, 4, NULL, r.z));
    REFUSED("weft_flag_heads", "flags", weft_flag_heads(ctx, WEFT_I32, 4, r.x, NULL));
    rig_close(&r);
}

static void wrong_values(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_type bad = bad_types[0];
    const weft_expr_input in = {WEFT_I32, r.x}, odd = {bad, r.x};
    const weft_expr_op no_op = (weft_expr_op)99;
    REFUSED("weft_expr", "type", weft_expr(ctx, twice, 3, 4, &in, 1, bad, r.z));
    REFUSED("weft_expr", "type", weft_expr(ctx, twice, 3, 4, &odd, 1, WEFT_I32, r.z));
    REFUSED("weft_expr", "steps", weft_expr(ctx, twice, 65, 4, &in, 1, WEFT_I32, r.z));
    REFUSED("weft_expr", "input_count", weft_expr(ctx, twice, 3, 4, &in, 8, WEFT_I32, r.z));
    REFUSED("weft_unary", "op", weft_unary(ctx, WEFT_X_ADD, WEFT_I32, 4, r.x, r.z));
    REFUSED("weft_unary", "op", weft_unary(ctx, no_op, WEFT_I32, 4, r.x, r.z));
    REFUSED("weft_binary", "op", weft_binary(ctx, WEFT_X_NEG, WEFT_I32, 4, r.x, r.y, r.z));
    REFUSED("weft_binary", "type", weft_binary(ctx, WEFT_X_ADD, bad, 4, r.x, r.y, r.z));
    REFUSED("weft_binary_scalar", "op",
            weft_binary_scalar(ctx, no_op, WEFT_I32, 4, r.x, &r.one, r.z));
    REFUSED("weft_where", "type", weft_where(ctx, bad, 4, r.x, r.x, r.y, r.z));
    REFUSED("weft_convert", "how", weft_convert(ctx, WEFT_X_ADD, WEFT_I32, WEFT_U8, 4, r.x, r.z));
    REFUSED("weft_convert", "type", weft_convert(ctx, WEFT_X_WRAP, WEFT_I32, bad, 4, r.x, r.z));
    REFUSED("weft_flag_heads", "type", weft_flag_heads(ctx, bad, 4, r.x, r.z));
    test_refused(ctx, weft_unary(ctx, WEFT_X_SQRT, WEFT_I32, 4, r.x, r.z), WEFT_EUNSUPPORTED,
                 "weft_unary", "SQRT");
    test_refused(ctx, weft_binary(ctx, WEFT_X_AND, WEFT_F32, 4, r.x, r.y, r.z), WEFT_EUNSUPPORTED,
                 "weft_binary", "AND");
    rig_close(&r);
}

/* weft_expr_reduce, whose type is that of the values. */
static void wrong_reductions(weft_context *ctx) {
    static const char name[] = "weft_expr_reduce";
    rig r = rig_open(ctx);
    const weft_expr_input in = {WEFT_I32, r.x}, none = {WEFT_I32, NULL}, f = {WEFT_F32, r.x};
    const weft_op norms[] = {WEFT_NRM1, WEFT_NRM2, WEFT_NRMINF};
    uint64_t sum;
    REFUSED(name, "program", weft_expr_reduce(ctx, WEFT_SUM, NULL, 3, 4, &in, 1, WEFT_I32, &sum));
    REFUSED(name, "inputs", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, NULL, 1, WEFT_I32, &sum));
    REFUSED(name, "x", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &none, 1, WEFT_I32, &sum));
    REFUSED(name, "result", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &in, 1, WEFT_I32, NULL));
    REFUSED(name, "result", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &in, 1, WEFT_I32, r.x));
    REFUSED(name, "op", weft_expr_reduce(ctx, (weft_op)12, twice, 3, 4, &in, 1, WEFT_I32, &sum));
    REFUSED(name, "type", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &in, 1, bad_types[0], &sum));
    REFUSED(name, "type", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &in, 1, WEFT_I16, &sum));
    REFUSED(name, "type", weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 4, &in, 1, WEFT_F32, &sum));
    REFUSED(name, "steps", weft_expr_reduce(ctx, WEFT_SUM, twice, 65, 4, &in, 1, WEFT_I32, &sum));
    for (int k = 0; k < 3; k++)
        test_refused(ctx, weft_expr_reduce(ctx, norms[k], twice, 3, 4, &f, 1, WEFT_F32, &sum),
                     WEFT_EUNSUPPORTED, name, "op");
    for (int op = WEFT_AND; op <= WEFT_XOR; op++)
        test_refused(ctx, weft_expr_reduce(ctx, (weft_op)op, twice, 3, 4, &f, 1, WEFT_F32, &sum),
                     WEFT_EUNSUPPORTED, name, "type");
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_unary", "z", weft_unary(ctx, WEFT_X_NEG, WEFT_I32, 8, r.x, r.x + 1));
    REFUSED("weft_convert", "z", weft_convert(ctx, WEFT_X_WRAP, WEFT_I32, WEFT_U8, 8, r.x, r.x));
    REFUSED("weft_adjacent_difference", "z", weft_adjacent_difference(ctx, WEFT_I32, 8, r.x, r.x));
    REFUSED("weft_flag_heads", "flags", weft_flag_heads(ctx, WEFT_U8, 8, r.x, r.x));
    rig_close(&r);
}

/* A program, and a word of what is wrong with it. */
typedef struct wrong_program {
    weft_expr_step step[12];
    size_t steps;
    const char *word;
} wrong_program;

#define IN                                                                                         \
    { .op = WEFT_X_INPUT, .argument = 0 }
#define OP(name)                                                                                   \
    { .op = WEFT_X_##name }
static const wrong_program wrong[] = {
    {{OP(ADD)}, 1, "ADD"},
    {{IN, OP(ADD)}, 2, "two"},
    {{OP(NEG)}, 1, "NEG"},
    {{OP(DUP)}, 1, "DUP"},
    {{IN, IN, OP(SELECT)}, 3, "three"},
    {{IN, IN}, 2, "2"},
    {{IN}, 0, "0"},
    {{IN, OP(SQRT)}, 2, "floats"},
    {{{.op = WEFT_X_INPUT, .argument = 1}}, 1, "INPUT"},
    {{{.op = WEFT_X_INPUT, .argument = -1}}, 1, "INPUT"},
    {{{.op = WEFT_X_CONSTANT, .argument = 99}}, 1, "CONSTANT"},
    {{IN, {.op = WEFT_X_WRAP, .argument = -1}}, 2, "WRAP"},
    {{IN, {.op = WEFT_X_CONSTANT, .argument = WEFT_F32}, OP(ADD)}, 3, "convert"},
    {{IN, {.op = WEFT_X_WRAP, .argument = WEFT_F32}}, 2, "f32"},
    {{{.op = WEFT_X_CONSTANT, .argument = WEFT_F32}, IN, IN, OP(SELECT)}, 4, "mask"},
    {{IN, IN, IN, IN, IN, IN, IN, IN, IN}, 9, "INPUT"},
    {{{.op = (weft_expr_op)34}}, 1, "0"},
};

static void wrong_programs(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_expr_input in = {WEFT_I32, r.x};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const wrong_program *const w = &wrong[k];
        REFUSED("weft_expr", "program",
                weft_expr(ctx, w->step, w->steps, 4, &in, 1, WEFT_I32, r.z));
        if (!test_has_word(weft_message(ctx), w->word))
            fail_msg("%s: no word %s", weft_message(ctx), w->word);
    }
    rig_close(&r);
}

/* Integers beyond a constant's type keep their low bits. */
static void wide_constants(weft_context *ctx) {
    int32_t z[2] = {0};
    const weft_expr_step byte = {.op = WEFT_X_CONSTANT, .argument = WEFT_I8, .value = {.i = 255}};
    const weft_expr_step word = {
        .op = WEFT_X_CONSTANT, .argument = WEFT_I32, .value = {.i = (1LL << 40) + 7}};
    assert_int_equal(weft_expr(ctx, &byte, 1, 2, NULL, 0, WEFT_I32, z), WEFT_OK);
    assert_int_equal(z[1], -1);
    assert_int_equal(weft_expr(ctx, &word, 1, 2, NULL, 0, WEFT_I32, z), WEFT_OK);
    assert_int_equal(z[1], 7);
}

static void empty(weft_context *ctx) {
    const float one = 1;
    const weft_expr_input in = {WEFT_F32, NULL};
    assert_int_equal(weft_expr(ctx, twice, 3, 0, &in, 1, WEFT_F32, NULL), WEFT_OK);
    float sum = 1;
    assert_int_equal(weft_expr_reduce(ctx, WEFT_SUM, twice, 3, 0, &in, 1, WEFT_F32, &sum), WEFT_OK);
    assert_true(sum == 0);
    assert_int_equal(weft_unary(ctx, WEFT_X_NEG, WEFT_F32, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_binary(ctx, WEFT_X_ADD, WEFT_F32, 0, NULL, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_binary_scalar(ctx, WEFT_X_ADD, WEFT_F32, 0, NULL, &one, NULL), WEFT_OK);
    assert_int_equal(weft_where(ctx, WEFT_F32, 0, NULL, NULL, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_convert(ctx, WEFT_X_WRAP, WEFT_F32, WEFT_U8, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_adjacent_difference(ctx, WEFT_F32, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_flag_heads(ctx, WEFT_F32, 0, NULL, NULL), WEFT_OK);
}

/* ---- allocations ---- */

static weft_status run_expr(weft_context *ctx, test_arrays *a) {
    const weft_expr_input in = {WEFT_F32, a->x};
    return weft_expr(ctx, twice, 3, a->n, &in, 1, WEFT_F32, a->z);
}

static weft_status run_reduce(weft_context *ctx, test_arrays *a) {
    const weft_expr_input in = {WEFT_F32, a->x};
    return weft_expr_reduce(ctx, WEFT_SUM, twice, 3, a->n, &in, 1, WEFT_F32, a->z);
}

static weft_status run_binary(weft_context *ctx, test_arrays *a) {
    return weft_binary(ctx, WEFT_X_MUL, WEFT_F32, a->n, a->x, a->y, a->z);
}

static weft_status run_difference(weft_context *ctx, test_arrays *a) {
    return weft_adjacent_difference(ctx, WEFT_F32, a->n, a->x, a->z);
}

static const test_refusal refusals[] = {
    {"expr: null arguments", null_arguments},     {"expr: wrong values", wrong_values},
    {"expr: wrong reductions", wrong_reductions}, {"expr: overlaps", overlaps},
    {"expr: wrong programs", wrong_programs},     {"expr: empty", empty},
    {"expr: wide constants", wide_constants},
};

static const test_call calls[] = {
    {"weft_expr", run_expr, &wi_expr_ladder, NULL},
    {"weft_expr_reduce", run_reduce, &wi_expr_reduce_ladder, NULL},
    {"weft_binary", run_binary, &wi_expr_ladder, NULL},
    {"weft_adjacent_difference", run_difference, &wi_expr_ladder, NULL},
};

const test_cases wi_expr_cases = {.without_context = without_context,
                                  .refusals = refusals,
                                  .refusal_count = sizeof refusals / sizeof *refusals,
                                  .calls = calls,
                                  .call_count = sizeof calls / sizeof *calls};
