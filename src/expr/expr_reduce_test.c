/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of weft_expr_reduce, on every place: formulas drawn at random, every operation and
 * type, sizes, alignments, host and device memory. The oracle computes each value by expr_oracle.h,
 * and reduces them in integers modulo 2^64 and in long double. Each call is made twice, with arrays
 * at different addresses: the bits are the same. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stage.h"
#include "expr/expr_drawing.h"
#include "expr/expr_oracle.h"
#include "expr/expr_reduce.h"

enum {
    INPUTS = 3,
    MOST = 40003,
    OPS = WEFT_ARGMAX + 1,
    TYPES = 6
};

static const weft_type types[TYPES] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64, WEFT_F32, WEFT_F64};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair input[INPUTS], result;
    unsigned char *source[INPUTS];
} rig;

typedef struct reduce_case {
    const wi_row *row;
    weft_op op;
    weft_type type;
    bool host; /* all inputs are in host memory */
    size_t n, inputs, steps;
    weft_expr_input input[INPUTS];
    weft_expr_step step[DRAWING_MOST_STEPS];
} reduce_case;

static rig rig_open(weft_context *ctx, size_t n) {
    rig r = {.ctx = ctx, .random = test_random_at(3)};
    r.result = test_pair_open(ctx, 8);
    for (int k = 0; k < INPUTS; k++) {
        r.input[k] = test_pair_open(ctx, n * 8);
        r.source[k] = malloc(n * 8 + 1);
        assert_non_null(r.source[k]);
    }
    return r;
}

static void rig_close(rig *r) {
    test_pair_close(&r->result);
    for (int k = 0; k < INPUTS; k++) {
        test_pair_close(&r->input[k]);
        free(r->source[k]);
    }
}

static const char *describe(const rig *r, const reduce_case *c) {
    static char text[1024];
    snprintf(text, sizeof text, "%s of %zu %s on %s, variant %s:", test_op_name(c->op), c->n,
             test_type_name(c->type), weft_place(r->ctx), c->row ? c->row->name : "auto");
    drawing_tell(text, sizeof text, c->input, c->inputs, c->step, c->steps);
    return text;
}

/* ---- the oracle ---- */

static weft_type result_type(const reduce_case *c) {
    weft_type type = c->type;
    if (c->op < WEFT_AND || c->op > WEFT_XOR)
        assert_int_equal(weft_reduce_type(c->op, c->type, &type), WEFT_OK);
    return type;
}

/* Does a come before b, in the order of MIN? NaN comes before all. */
static bool is_before(weft_type type, test_value a, test_value b) {
    if (!test_is_float(type))
        return test_is_signed(type) ? a.i < b.i : a.u < b.u;
    if (isnan(a.f) || isnan(b.f))
        return isnan(a.f) && !isnan(b.f);
    return a.f < b.f || (a.f == b.f && signbit(a.f) && !signbit(b.f));
}

/* The same for MAX, as the order of opposite numbers. */
static bool is_behind(weft_type type, test_value a, test_value b) {
    if (!test_is_float(type))
        return test_is_signed(type) ? a.i > b.i : a.u > b.u;
    return is_before(type, (test_value){.f = -a.f}, (test_value){.f = -b.f});
}

typedef struct answer {
    test_value value; /* of the result's type, unless it is near a number */
    bool near, any;
    long double number, tolerance;
} answer;

/* An end of the type's range: the result of MIN and MAX over nothing. */
static test_value extreme(weft_type type, bool largest) {
    if (test_is_float(type))
        return (test_value){.f = largest ? INFINITY : -INFINITY};
    const long double v = largest ? oracle_greatest(type) : oracle_least(type);
    return v < 0 ? (test_value){.i = (int64_t)v} : (test_value){.u = (uint64_t)v};
}

static answer expected_extreme(const reduce_case *c, const test_value *x) {
    const bool least = c->op == WEFT_MIN || c->op == WEFT_ARGMIN;
    size_t best = 0;
    if (c->n == 0)
        return (answer){.value = c->op <= WEFT_MAX ? extreme(c->type, least)
                                                   : (test_value){.u = WEFT_NOWHERE}};
    for (size_t i = 1; i < c->n; i++)
        if (least ? is_before(c->type, x[i], x[best]) : is_behind(c->type, x[i], x[best]))
            best = i;
    return (answer){.value = c->op <= WEFT_MAX ? x[best] : (test_value){.u = best}};
}

static answer expected_integer(const reduce_case *c, const test_value *x) {
    uint64_t sum = 0, product = 1, all = UINT64_MAX, some = 0, odd = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += x[i].u;
        product *= x[i].u;
        all &= x[i].u;
        some |= x[i].u;
        odd ^= x[i].u;
    }
    const uint64_t of_op[] = {[WEFT_SUM] = sum,
                              [WEFT_PRODUCT] = product,
                              [WEFT_AND] = all,
                              [WEFT_OR] = some,
                              [WEFT_XOR] = odd};
    return (answer){.value = {.u = test_wrap(result_type(c), of_op[c->op])}};
}

/* A sum within what n additions may err by. If one that is not finite takes part, or a sum of
 * magnitudes is out of range, its order matters: then only NaN and infinities that must be there
 * are asked for. */
static answer expected_sum(const reduce_case *c, const test_value *x) {
    long double sum = 0, magnitude = 0;
    size_t plus = 0, minus = 0, nans = 0;
    for (size_t i = 0; i < c->n; i++) {
        plus += x[i].f == INFINITY;
        minus += x[i].f == -INFINITY;
        nans += isnan(x[i].f);
        sum += isfinite(x[i].f) ? x[i].f : 0;
        magnitude += isfinite(x[i].f) ? fabsl(x[i].f) : 0;
    }
    if (nans || (plus && minus))
        return (answer){.value = {.f = NAN}};
    if (magnitude > DBL_MAX / 2)
        return (answer){.any = true};
    if (plus || minus)
        return (answer){.value = {.f = plus ? INFINITY : -INFINITY}};
    return (answer){.near = true,
                    .number = sum,
                    .tolerance = magnitude * (long double)c->n * 0x1p-53L +
                                 (c->type == WEFT_F32 ? fabsl(sum) * 0x1p-24L + 0x1p-150L : 0)};
}

/* A product, if no order of its factors leaves the range of f64. */
static answer expected_product(const reduce_case *c, const test_value *x) {
    long double product = 1, size = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (isnan(x[i].f))
            return (answer){.value = {.f = NAN}};
        if (!isfinite(x[i].f) || x[i].f == 0)
            return (answer){.any = true};
        size += fabsl(log2l(fabsl((long double)x[i].f)));
        product *= x[i].f;
    }
    if (size > 900)
        return (answer){.any = true};
    return (answer){.near = true,
                    .number = product,
                    .tolerance = fabsl(product) * ((long double)c->n * 0x1p-53L +
                                                   (c->type == WEFT_F32 ? 0x1p-24L : 0)) +
                                 (c->type == WEFT_F32 ? 0x1p-149L : 0)};
}

static answer expected(const reduce_case *c, const test_value *x) {
    if (c->op == WEFT_MIN || c->op == WEFT_MAX || c->op >= WEFT_ARGMIN)
        return expected_extreme(c, x);
    if (!test_is_float(c->type))
        return expected_integer(c, x);
    return c->op == WEFT_SUM ? expected_sum(c, x) : expected_product(c, x);
}

static bool is_right(const answer *a, weft_type type, test_value got) {
    if (a->any)
        return true;
    if (!a->near)
        return test_same(type, got, a->value);
    if (type == WEFT_F32 && fabsl(a->number) > (long double)FLT_MAX)
        return isinf(got.f) || fabsl(got.f) == (long double)FLT_MAX;
    return fabsl(got.f - a->number) <= a->tolerance;
}

/* ---- running ---- */

static test_value call(rig *r, reduce_case *c) {
    const weft_type type = result_type(c);
    const size_t size = test_size_of(type);
    weft_expr_input placed[INPUTS];
    for (size_t k = 0; k < c->inputs; k++) {
        test_buffer *const b =
            test_pair_at(&r->input[k], !c->host && test_below(&r->random, 4) > 0);
        const size_t width = test_size_of(c->input[k].type);
        test_buffer_load(b, r->source[k], c->n * width, test_below(&r->random, 4) * width);
        placed[k] = (weft_expr_input){c->input[k].type, b->p};
    }
    test_buffer *const out = test_pair_at(&r->result, test_below(&r->random, 2));
    test_buffer_poison(out, size, out->device ? size : test_below(&r->random, 9));
    test_use(r->ctx, "expr_reduce", c->row);
    if (weft_expr_reduce(r->ctx, c->op, c->step, c->steps, c->n, placed, c->inputs, c->type,
                         out->p) != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    if (c->n > 0)
        test_used(r->ctx, "expr_reduce", c->row, describe(r, c));
    return test_load(type, test_buffer_read(out, describe(r, c)), 0);
}

static void run_case(rig *r, reduce_case *c) {
    const weft_type type = result_type(c);
    test_value *const values = malloc(c->n * sizeof *values + 1);
    assert_non_null(values);
    for (size_t k = 0; k < c->inputs; k++)
        c->input[k].x = r->source[k];
    for (size_t i = 0; i < c->n; i++)
        values[i] = oracle_run(c->step, c->steps, c->input, i).v;
    const answer right = expected(c, values);
    const test_value got = call(r, c), again = call(r, c);
    if (!is_right(&right, type, got))
        fail_msg("%s: %s, should be %s%Lg +- %Lg", describe(r, c), test_text(type, got),
                 right.near ? "" : test_text(type, right.value), right.number, right.tolerance);
    if (!test_same(type, got, again))
        fail_msg("%s: %s, and at other addresses another number", describe(r, c),
                 test_text(type, got));
    free(values);
}

static void draw_inputs(rig *r, reduce_case *c) {
    static const test_pattern patterns[] = {TEST_ANY,  TEST_SPECIAL, TEST_NANS,
                                            TEST_TIES, TEST_SMALL,   TEST_NEAR_ONE};
    c->inputs = 1 + test_below(&r->random, INPUTS);
    for (size_t k = 0; k < c->inputs; k++) {
        c->input[k].type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
        test_fill(&r->random, patterns[test_below(&r->random, 6)], c->input[k].type, c->n,
                  r->source[k]);
    }
}

/* A formula that is one input, converted: so that values are as they were drawn. */
static void plain_formula(reduce_case *c) {
    c->step[c->steps++] = (weft_expr_step){.op = WEFT_X_INPUT, .argument = 0};
    if (wi_expr_widened(c->input[0].type) != c->type)
        c->step[c->steps++] = (weft_expr_step){.op = WEFT_X_SATURATE, .argument = (int)c->type};
}

static bool run_random(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    reduce_case c = {.row = row, .n = n, .op = (weft_op)at[0], .type = types[at[1]]};
    if (test_is_float(c.type) && c.op >= WEFT_AND && c.op <= WEFT_XOR)
        return false;
    draw_inputs(r, &c);
    if (test_below(&r->random, 2))
        plain_formula(&c);
    else
        c.steps = drawing_formula(&r->random, c.input, c.inputs, c.type, c.step);
    drawing_few_blocks(&r->random);
    run_case(r, &c);
    drawing_all_blocks();
    return true;
}

static void sweep(weft_context *ctx, const size_t *sizes, size_t count, unsigned must) {
    rig r = rig_open(ctx, MOST);
    const test_sweep s = {.sizes = sizes,
                          .size_count = count,
                          .ladder = &wi_expr_reduce_ladder,
                          .extent = {OPS, TYPES, 2},
                          .must = must,
                          .share = 50,
                          .one_in = 4,
                          .run = run_random};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void small(weft_context *ctx) {
    sweep(ctx, test_small_sizes, test_small_size_count, 3);
}

static void larger(weft_context *ctx) {
    static const size_t sizes[] = {1023, 1024, 2049, 4097, 10007, MOST};
    sweep(ctx, sizes, sizeof sizes / sizeof *sizes, 1);
}

/* Host arrays that come to a GPU in segments, which pass on a state. */
static void segments(weft_context *ctx) {
    enum {
        N = 16000 /* of 24 bytes: two segments */
    };
    static const weft_op ops[] = {WEFT_SUM, WEFT_ARGMIN, WEFT_MAX, WEFT_XOR};
    static const weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                           {.op = WEFT_X_INPUT, .argument = 1},
                                           {.op = WEFT_X_ADD},
                                           {.op = WEFT_X_INPUT, .argument = 2},
                                           {.op = WEFT_X_SUB}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, N);
    test_use(ctx, "stage", test_row_named(&wi_stage_ladder, "segmented"));
    for (int k = 0; k < 4; k++) {
        reduce_case c = {.op = ops[k],
                         .type = k == 0 ? WEFT_F64 : WEFT_I64,
                         .host = true,
                         .n = N,
                         .inputs = INPUTS,
                         .steps = 5};
        memcpy(c.step, steps, sizeof steps);
        for (int i = 0; i < INPUTS; i++) {
            c.input[i].type = c.type;
            test_fill(&r.random, TEST_ANY, c.type, N, r.source[i]);
        }
        run_case(&r, &c);
        assert_string_equal(weft_used(ctx, "stage"), "segmented");
    }
    test_use(ctx, "stage", NULL);
    rig_close(&r);
}

/* A cpu's threads and instruction sets change no bit. */
static void same_bits(void **state) {
    enum {
        N = 3000017
    };
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:3"};
    static const weft_expr_step cube[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                          {.op = WEFT_X_DUP},
                                          {.op = WEFT_X_DUP},
                                          {.op = WEFT_X_MUL},
                                          {.op = WEFT_X_MUL}};
    test_random random = test_random_at(4);
    double *const x = malloc(N * sizeof *x), sum[3] = {0, 0, 0};
    (void)state;
    assert_non_null(x);
    test_fill(&random, TEST_ANY, WEFT_F64, N, x);
    const weft_expr_input input = {WEFT_F64, x};
    for (size_t n = N; n > 0; n /= 7) {
        for (int k = 0; k < 3; k++) {
            weft_context *const ctx = test_open(places[k]);
            assert_int_equal(weft_use(ctx, "expr_reduce", "blocks"), WEFT_OK);
            assert_int_equal(
                weft_expr_reduce(ctx, WEFT_SUM, cube, 5, n, &input, 1, WEFT_F64, &sum[k]), WEFT_OK);
            weft_close(ctx);
        }
        assert_memory_equal(&sum[0], &sum[1], sizeof sum[0]);
        assert_memory_equal(&sum[0], &sum[2], sizeof sum[0]);
    }
    free(x);
}

/* Counting, as the header says. */
static void counting(weft_context *ctx) {
    static const weft_expr_step not_0[] = {
        {.op = WEFT_X_INPUT, .argument = 0},
        {.op = WEFT_X_CONSTANT, .argument = WEFT_F32, .value = {.f = 0}},
        {.op = WEFT_X_NE}};
    static const float x[] = {0, 1, -0.0F, 2, NAN, 0, 3};
    const weft_expr_input input = {WEFT_F32, x};
    uint64_t count = 99;
    test_use(ctx, "expr_reduce", NULL);
    assert_int_equal(weft_expr_reduce(ctx, WEFT_SUM, not_0, 3, 7, &input, 1, WEFT_U32, &count),
                     WEFT_OK);
    assert_int_equal(count, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small),   TEST_ON_EACH_PLACE(larger),   TEST_ON_EACH_PLACE(segments),
        cmocka_unit_test(same_bits), TEST_ON_EACH_PLACE(counting),
    };
    return cmocka_run_group_tests_name("expr_reduce", tests, NULL, NULL);
}
