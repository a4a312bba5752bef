/* SPDX-License-Identifier: Apache-2.0 */
/* What reduce promises for single values (NaN, infinities, signed zeros, overflow, ties, wrapping),
 * and about its bits: the same on every run, at every alignment, with any number of threads. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/reduce_rig.h"
#include "testing.h"

static const weft_op reductions[] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,   WEFT_ARGMIN,
                                     WEFT_ARGMAX, WEFT_NRM1,    WEFT_NRM2, WEFT_NRMINF};
enum {
    REDUCTIONS = sizeof reductions / sizeof *reductions,
    LONGEST = 300007
};

static wi_reduction reduction_of(weft_op op) {
    size_t k = 0;
    while (reductions[k] != op) {
        k++;
    }
    return (wi_reduction)k;
}

/* x, y and the result in memory of the place. */
typedef struct rig {
    weft_context *ctx;
    test_buffer x, y, result;
} rig;

static rig rig_open(weft_context *ctx) {
    bool gpu = ctx->kind == WI_CUDA;
    return (rig){.ctx = ctx,
                 .x = test_buffer_open(ctx, gpu, LONGEST * 8),
                 .y = test_buffer_open(ctx, gpu, LONGEST * 8),
                 .result = test_buffer_open(ctx, gpu, 8)};
}

static void rig_close(rig *r) {
    test_buffer_close(&r->x);
    test_buffer_close(&r->y);
    test_buffer_close(&r->result);
}

/* Stores the raw bytes of a call's result in *bits; false if it was refused, as it may. */
static bool evaluate(rig *r, const wi_row *row, const char *what, weft_type result_type,
                     weft_status status, bool may_refuse, uint64_t *bits) {
    *bits = 0;
    if (status == WEFT_EUNSUPPORTED && may_refuse) {
        return false;
    }
    if (status != WEFT_OK) {
        fail_msg("%s, variant %s: %s", what, row ? row->name : "auto", weft_message(r->ctx));
    }
    test_used(r->ctx, "reduce", row, what);
    memcpy(bits, test_buffer_read(&r->result, what), test_size_of(result_type));
    return true;
}

static bool reduce(rig *r, const wi_row *row, weft_op op, weft_type type, size_t n, const void *x,
                   size_t offset, uint64_t *bits) {
    char what[96];
    weft_type result;
    size_t size = test_size_of(type);
    snprintf(what, sizeof what, "%s of %zu %s on %s", test_op_name(op), n, test_type_name(type),
             weft_place(r->ctx));
    assert_int_equal(weft_reduce_type(op, type, &result), WEFT_OK);
    test_buffer_load(&r->x, x, n * size, offset * size);
    test_buffer_poison(&r->result, test_size_of(result), 0);
    test_use(r->ctx, "reduce", row);
    weft_status status = weft_reduce(r->ctx, op, type, n, r->x.p, r->result.p);
    const bool may_refuse = reduce_may_refuse(row, reduction_of(op), type, false);
    return evaluate(r, row, what, result, status, may_refuse, bits);
}

static bool dot(rig *r, const wi_row *row, weft_type type, size_t n, const void *x, const void *y,
                size_t offset, uint64_t *bits) {
    char what[96];
    weft_type result;
    size_t size = test_size_of(type);
    snprintf(what, sizeof what, "dot of %zu %s on %s", n, test_type_name(type), weft_place(r->ctx));
    assert_int_equal(weft_reduce_type(WEFT_SUM, type, &result), WEFT_OK);
    test_buffer_load(&r->x, x, n * size, offset * size);
    test_buffer_load(&r->y, y, n * size, 2 * offset * size);
    test_buffer_poison(&r->result, test_size_of(result), 0);
    test_use(r->ctx, "reduce", row);
    weft_status status = weft_dot_fast(r->ctx, type, n, r->x.p, r->y.p, r->result.p);
    const bool may_refuse = reduce_may_refuse(row, WI_RED_DOT, type, false);
    return evaluate(r, row, what, result, status, may_refuse, bits);
}

/* ---- special values ---- */

typedef struct float_case {
    weft_op op;
    weft_type type;
    size_t n;
    double x[4];
    double expected; /* in the result type; positions as whole numbers */
} float_case;

static const float_case float_cases[] = {
    {WEFT_SUM, WEFT_F32, 2, {INFINITY, 1}, INFINITY},
    {WEFT_SUM, WEFT_F32, 2, {INFINITY, -INFINITY}, NAN},
    {WEFT_SUM, WEFT_F64, 3, {1, NAN, 2}, NAN},
    {WEFT_SUM, WEFT_F32, 2, {0x1.fffffep127, 0x1.fffffep127}, INFINITY},
    {WEFT_SUM, WEFT_F16, 3, {65504, 65504, 1}, 131009},
    {WEFT_SUM, WEFT_BF16, 2, {256, 1}, 257},
    {WEFT_SUM, WEFT_F64, 2, {0x1p-1074, 0x1p-1074}, 0x1p-1073},
    {WEFT_PRODUCT, WEFT_F32, 3, {0x1p100, 0x1p100, 0x1p-100}, 0x1p100},
    {WEFT_PRODUCT, WEFT_F64, 2, {0, INFINITY}, NAN},
    {WEFT_MIN, WEFT_F32, 2, {0.0, -0.0}, -0.0},
    {WEFT_MIN, WEFT_F64, 2, {-0.0, 0.0}, -0.0},
    {WEFT_MAX, WEFT_F32, 2, {0.0, -0.0}, 0.0},
    {WEFT_MAX, WEFT_F16, 2, {-0.0, 0.0}, 0.0},
    {WEFT_MIN, WEFT_F16, 3, {1, NAN, -INFINITY}, NAN},
    {WEFT_MAX, WEFT_BF16, 3, {INFINITY, NAN, 1}, NAN},
    {WEFT_MAX, WEFT_F64, 1, {-INFINITY}, -INFINITY},
    {WEFT_MIN, WEFT_F32, 2, {INFINITY, INFINITY}, INFINITY},
    {WEFT_MAX, WEFT_F32, 2, {-0x1p-149, -0x1p-148}, -0x1p-149},
    {WEFT_ARGMIN, WEFT_F32, 3, {0.0, -0.0, -0.0}, 1},
    {WEFT_ARGMAX, WEFT_F64, 3, {-0.0, 0.0, 0.0}, 1},
    {WEFT_ARGMIN, WEFT_F64, 4, {3, 1, 1, 2}, 1},
    {WEFT_ARGMAX, WEFT_BF16, 4, {9, NAN, NAN, INFINITY}, 1},
    {WEFT_ARGMIN, WEFT_F16, 4, {-INFINITY, 1, NAN, 1}, 2},
    {WEFT_ARGMAX, WEFT_F32, 4, {5, 5, 5, 5}, 0},
    {WEFT_NRM1, WEFT_F32, 3, {-1, INFINITY, -INFINITY}, INFINITY},
    {WEFT_NRM1, WEFT_F64, 2, {-1, NAN}, NAN},
    {WEFT_NRM2, WEFT_F64, 2, {3e300, 4e300}, 5e300},
    {WEFT_NRM2, WEFT_F64, 2, {3e-300, 4e-300}, 5e-300},
    {WEFT_NRM2, WEFT_F64, 2, {0x3p-1074, 0x4p-1074}, 0x5p-1074},
    {WEFT_NRM2, WEFT_F64, 3, {1e-300, 1, 1e300}, 1e300},
    {WEFT_NRM2, WEFT_F64, 1, {0x1.fffffffffffffp1023}, 0x1.fffffffffffffp1023},
    {WEFT_NRM2, WEFT_F64, 4, {0x1p1023, 0x1p1023, 0x1p1023, 0x1p1023}, INFINITY},
    {WEFT_NRM2, WEFT_F32, 2, {0x3p100, 0x4p100}, 0x5p100},
    {WEFT_NRM2, WEFT_F32, 2, {0x3p-149, 0x4p-149}, 0x5p-149},
    {WEFT_NRM2, WEFT_F64, 2, {-INFINITY, 1}, INFINITY},
    {WEFT_NRM2, WEFT_F64, 2, {1, NAN}, NAN},
    {WEFT_NRM2, WEFT_F64, 2, {INFINITY, NAN}, NAN},
    {WEFT_NRM2, WEFT_F16, 2, {-30000, 40000}, 50000},
    {WEFT_NRM2, WEFT_F64, 3, {-0.0, 0.0, -0.0}, 0.0},
    {WEFT_NRMINF, WEFT_F32, 3, {-7, 3, 7}, 7},
    {WEFT_NRMINF, WEFT_F32, 2, {-0.0, -0.0}, 0.0},
    {WEFT_NRMINF, WEFT_F64, 3, {1, -INFINITY, 2}, INFINITY},
    {WEFT_NRMINF, WEFT_BF16, 3, {INFINITY, NAN, 2}, NAN},
};

/* f32 sums pass through f64: what overflows f32 half way may come back, and little things are kept
 * beside large ones. */
static const float_case f64_cases[] = {
    {WEFT_SUM, WEFT_F32, 3, {0x1.fffffep127, 0x1.fffffep127, -0x1.fffffep127}, 0x1.fffffep127},
    {WEFT_SUM, WEFT_F32, 3, {0x1p30, 1, -0x1p30}, 1},
};

typedef struct integer_case {
    weft_op op;
    weft_type type;
    size_t n;
    int64_t x[3];
    uint64_t expected; /* the result, extended to 64 bits */
} integer_case;

static const integer_case integer_cases[] = {
    {WEFT_SUM, WEFT_I8, 2, {127, 127}, 254},
    {WEFT_SUM, WEFT_U32, 2, {0xFFFFFFFF, 1}, UINT64_C(0x100000000)},
    {WEFT_SUM, WEFT_I64, 2, {INT64_MAX, 1}, UINT64_C(0x8000000000000000)},
    {WEFT_SUM, WEFT_U64, 2, {-1, 2}, 1},
    {WEFT_PRODUCT, WEFT_I32, 3, {-65536, 65536, 65536}, (uint64_t)-0x1000000000000},
    {WEFT_PRODUCT, WEFT_I64, 2, {INT64_MIN, 2}, 0},
    {WEFT_NRM1, WEFT_I8, 2, {-128, -128}, 256},
    {WEFT_NRM1, WEFT_I64, 1, {INT64_MIN}, UINT64_C(0x8000000000000000)},
    {WEFT_NRMINF, WEFT_I8, 2, {127, -128}, 128},
    {WEFT_NRMINF, WEFT_I64, 2, {INT64_MIN, INT64_MAX}, UINT64_C(0x8000000000000000)},
    {WEFT_MIN, WEFT_U64, 2, {-1, 1}, 1},
    {WEFT_MAX, WEFT_I64, 2, {-1, INT64_MIN}, UINT64_MAX},
    {WEFT_ARGMIN, WEFT_I16, 3, {-5, 9, -5}, 0},
    {WEFT_ARGMAX, WEFT_U8, 3, {255, 255, 255}, 0},
};

static bool finds_position(weft_op op) {
    return op == WEFT_ARGMIN || op == WEFT_ARGMAX;
}

/* A float that changes no result of `op`. */
static double neutral_float(weft_op op) {
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
    case WEFT_ARGMIN:
        return INFINITY;
    case WEFT_MAX:
    case WEFT_ARGMAX:
        return -INFINITY;
    default:
        return 0;
    }
}

/* n elements at the end of `padding` neutral ones. */
static size_t lay_out_floats(const float_case *s, size_t padding, void *x) {
    for (size_t i = 0; i < padding; i++) {
        test_store(s->type, x, i, (test_value){.f = neutral_float(s->op)});
    }
    for (size_t i = 0; i < s->n; i++) {
        test_store(s->type, x, padding + i, (test_value){.f = s->x[i]});
    }
    return padding + s->n;
}

/* NRM2 is right within a few roundings, or one smallest number; all else to the bit. */
static bool float_is_right(weft_op op, weft_type type, double got, double expected) {
    if (op == WEFT_NRM2 && isfinite(expected)) {
        double tolerance = 8 * test_roundoff(type) * expected;
        double tiny = type == WEFT_F64 ? 0x1p-1074 : 0x1p-149;
        return fabs(got - expected) <= (expected > 0 && tolerance < tiny ? tiny : tolerance);
    }
    return test_same(type, (test_value){.f = got}, (test_value){.f = expected});
}

static void run_float_case(rig *r, const float_case *s, const wi_row *row, size_t padding,
                           void *x) {
    uint64_t bits;
    weft_type type;
    size_t n = lay_out_floats(s, padding, x);
    if (!reduce(r, row, s->op, s->type, n, x, 0, &bits)) {
        return;
    }
    assert_int_equal(weft_reduce_type(s->op, s->type, &type), WEFT_OK);
    test_value got = test_load(type, &bits, 0);
    bool right = finds_position(s->op) ? got.u == (uint64_t)s->expected + padding
                                       : float_is_right(s->op, type, got.f, s->expected);
    if (!right) {
        fail_msg(
            "%s of %s {%g, %g, ...} after %zu neutral elements, variant %s: %s, should be %.17g",
            test_op_name(s->op), test_type_name(s->type), s->x[0], s->x[1], padding,
            row ? row->name : "auto", test_text(type, got), s->expected);
    }
}

static void run_integer_case(rig *r, const integer_case *s, const wi_row *row) {
    uint64_t bits, x[3];
    weft_type type;
    for (size_t i = 0; i < s->n; i++) {
        test_store(s->type, x, i, (test_value){.i = s->x[i]});
    }
    if (!reduce(r, row, s->op, s->type, s->n, x, 0, &bits)) {
        return;
    }
    assert_int_equal(weft_reduce_type(s->op, s->type, &type), WEFT_OK);
    test_value got = test_load(type, &bits, 0);
    if (got.u != s->expected) {
        fail_msg("%s of %s {%lld, ...}, variant %s: %s, should be %s", test_op_name(s->op),
                 test_type_name(s->type), (long long)s->x[0], row ? row->name : "auto",
                 test_text(type, got), test_text(type, (test_value){.u = s->expected}));
    }
}

/* An array with special values at its end. */
typedef struct padded {
    rig *r;
    double *x;
} padded;

static bool run_float_at(void *reduction_of_test, size_t padding, const wi_row *row,
                         const size_t at[]) {
    const padded *const p = reduction_of_test;
    run_float_case(p->r, &float_cases[at[0]], row, padding, p->x);
    return true;
}

static void special_values(weft_context *ctx) {
    static const size_t paddings[] = {0, 100, 5000, 70000};
    const test_sweep s = {.sizes = paddings,
                          .size_count = sizeof paddings / sizeof *paddings,
                          .ladder = &wi_reduce_ladder,
                          .extent = {sizeof float_cases / sizeof *float_cases},
                          .must = 1,
                          .share = 40,
                          .run = run_float_at};
    rig r = rig_open(ctx);
    padded p = {&r, malloc(70004 * sizeof(double))};
    test_random random = test_random_at(81);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
    assert_non_null(p.x);
    test_sweep_run(ctx, &random, &s, &p);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < sizeof integer_cases / sizeof *integer_cases; i++) {
            run_integer_case(&r, &integer_cases[i], rows[k]);
        }
        for (size_t i = 0; i < 2 && !reduce_adds_in_type(rows[k]); i++) {
            run_float_case(&r, &f64_cases[i], rows[k], 0, p.x);
            run_float_case(&r, &f64_cases[i], rows[k], 5000, p.x);
        }
    }
    free(p.x);
    rig_close(&r);
}

/* What the rungs that show rounding make of sums that the others get right. */
static void sums_that_round(weft_context *ctx) {
    static const struct {
        const char *row;
        float_case sum;
    } cases[] = {
        {"naive", {WEFT_SUM, WEFT_F32, 4, {0x1p24, 1, 1, 1}, 0x1p24}},
        {"naive", {WEFT_SUM, WEFT_F32, 3, {0x1p30, 1, -0x1p30}, 0}},
        {"naive", {WEFT_SUM, WEFT_F32, 3, {FLT_MAX, FLT_MAX, -FLT_MAX}, INFINITY}},
        {"naive", {WEFT_SUM, WEFT_F64, 4, {0x1p53, 1, 1, 1}, 0x1p53}},
        {"pairwise", {WEFT_SUM, WEFT_F32, 4, {0x1p24, 1, 1, 1}, 0x1p24}},
        {"compensated", {WEFT_SUM, WEFT_F32, 4, {0x1p24, 1, 1, 1}, 0x1p24 + 4}},
        {"compensated", {WEFT_SUM, WEFT_F64, 4, {1, 0x1p60, 1, -0x1p60}, 2}},
        {"compensated", {WEFT_SUM, WEFT_F64, 4, {1, 0x1p120, 0x1p60, -0x1p120}, 0x1p60}},
        {"double_double", {WEFT_SUM, WEFT_F64, 4, {1, 0x1p100, 1, -0x1p100}, 2}},
        {"double_double", {WEFT_SUM, WEFT_F64, 4, {0x1p160, 0x1p60, 1, -0x1p160}, 0x1p60}},
        {"exact", {WEFT_SUM, WEFT_F64, 4, {0x1p160, 0x1p60, 1, -0x1p160}, 0x1p60 + 1}},
    };
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const wi_row *const row = test_row_named(&wi_reduce_ladder, cases[k].row);
        double x[4];
        if (wi_row_serves(row, ctx)) {
            run_float_case(&r, &cases[k].sum, row, 0, x);
        }
    }
    rig_close(&r);
}

enum {
    LOWEST_SCALE = -1070,
    HIGHEST_SCALE = 1020
};

/* 3 k and 4 k have the norm 5 k at every scale k, on both sides of all thresholds of the sums of
 * squares. k has few bits, so all three are exact. */
static bool run_norm(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    const double k = ldexp(1.125, LOWEST_SCALE + (int)at[0]), x[] = {3 * k, 4 * k};
    double norm;
    uint64_t bits;
    (void)n;
    if (!reduce(rig_of_test, row, WEFT_NRM2, WEFT_F64, 2, x, 0, &bits)) {
        return true;
    }
    memcpy(&norm, &bits, sizeof norm);
    if (!float_is_right(WEFT_NRM2, WEFT_F64, norm, 5 * k)) {
        fail_msg("nrm2 of {%g, %g}, variant %s: %.17g, should be %.17g", x[0], x[1],
                 row ? row->name : "auto", norm, 5 * k);
    }
    return true;
}

static void norms_at_every_scale(weft_context *ctx) {
    const test_sweep s = {.ladder = &wi_reduce_ladder,
                          .extent = {HIGHEST_SCALE - LOWEST_SCALE + 1},
                          .share = 20,
                          .run = run_norm};
    rig r = rig_open(ctx);
    test_random random = test_random_at(82);
    test_sweep_run(ctx, &random, &s, &r);
    rig_close(&r);
}

/* If all are infinite, the first one is still found. */
static void all_infinite(weft_context *ctx) {
    rig r = rig_open(ctx);
    float *x = malloc(5000 * sizeof *x);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
    assert_non_null(x);
    for (size_t k = 0; k < count; k++) {
        for (int largest = 0; largest < 2; largest++) {
            uint64_t at;
            for (size_t i = 0; i < 5000; i++) {
                x[i] = largest ? -INFINITY : INFINITY;
            }
            weft_op op = largest ? WEFT_ARGMAX : WEFT_ARGMIN;
            if (reduce(&r, rows[k], op, WEFT_F32, 5000, x, 0, &at)) {
                assert_int_equal(at, 0);
            }
        }
    }
    free(x);
    rig_close(&r);
}

/* ---- the same bits ---- */

enum {
    RESULTS = WEFT_TYPE_COUNT * (REDUCTIONS + 1)
};

/* Data for every type, the same throughout a run of the test. */
typedef struct data {
    void *any, *more, *near_one;
} data;

static const data *data_of(weft_type type) {
    static data all[WEFT_TYPE_COUNT];
    data *d = &all[type];
    if (!d->any) {
        test_random random = test_random_at(100 + (uint64_t)type);
        void **const arrays[] = {&d->any, &d->more, &d->near_one};
        for (int k = 0; k < 3; k++) {
            *arrays[k] = malloc(LONGEST * 8);
            assert_non_null(*arrays[k]);
            test_fill(&random, k < 2 ? TEST_ANY : TEST_NEAR_ONE, type, LONGEST, *arrays[k]);
        }
    }
    return d;
}

static void free_data(void) {
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        const data *d = data_of((weft_type)type);
        free(d->any);
        free(d->more);
        free(d->near_one);
    }
}

/* The results of every type and operation on the first n elements. */
static void collect_bits(rig *r, const wi_row *row, size_t n, size_t offset,
                         uint64_t bits[RESULTS]) {
    size_t count = 0;
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        weft_type t = (weft_type)type;
        const data *d = data_of(t);
        dot(r, row, t, n, d->any, d->more, offset, &bits[count++]);
        for (int op = 0; op < REDUCTIONS; op++) {
            const void *x = reductions[op] == WEFT_PRODUCT ? d->near_one : d->any;
            reduce(r, row, reductions[op], t, n, x, offset, &bits[count++]);
        }
    }
}

static void compare_bits(const uint64_t *a, const uint64_t *b, const char *what) {
    for (size_t i = 0; i < RESULTS; i++) {
        size_t op = i % (REDUCTIONS + 1);
        if (a[i] != b[i]) {
            fail_msg("%s: %s of %s gives %#llx, then %#llx", what,
                     op ? test_op_name(reductions[op - 1]) : "dot",
                     test_type_name((weft_type)(i / (REDUCTIONS + 1))), (unsigned long long)a[i],
                     (unsigned long long)b[i]);
        }
    }
}

static void same_bits_of_row(rig *r, const wi_row *row, size_t n) {
    static uint64_t first[RESULTS], again[RESULTS];
    static const size_t offsets[] = {0, 1, 3};
    static const char *const others[] = {"cpu:2", "cpu:7"};
    char what[96];
    const char *name = row ? row->name : "auto";
    collect_bits(r, row, n, 0, first);
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        snprintf(what, sizeof what, "%s, variant %s, n %zu, offset %zu", weft_place(r->ctx), name,
                 n, offsets[k]);
        collect_bits(r, row, n, offsets[k], again);
        compare_bits(first, again, what);
    }
    for (size_t k = 0; k < sizeof others / sizeof *others && r->ctx->kind == WI_CPU; k++) {
        weft_context *ctx = test_open(others[k]);
        rig other = rig_open(ctx);
        snprintf(what, sizeof what, "%s after %s, variant %s, n %zu", others[k], weft_place(r->ctx),
                 name, n);
        collect_bits(&other, row, n, 1, again);
        compare_bits(first, again, what);
        rig_close(&other);
        weft_close(ctx);
    }
}

/* From run to run, and at any alignment; on the cpu, with any number of threads too. */
static void same_bits(weft_context *ctx) {
    static const size_t sizes[] = {1000, 70001, LONGEST};
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
    rig r = rig_open(ctx);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t k = 0; k < count && test_size_wanted(sizes[s]); k++) {
            same_bits_of_row(&r, rows[k], sizes[s]);
        }
    }
    rig_close(&r);
}

static void test_typed_calls(void **state) {
    (void)state;
    weft_context *ctx = test_open("cpu:1");
    const int32_t x[] = {3, -5, 7};
    const float f[] = {1.5f, 2.5f};
    int64_t wide = 0;
    int32_t narrow = 0;
    uint64_t at = 0;
    float sum = 0;
    assert_int_equal(weft_sum_fast(ctx, 3, x, &wide), WEFT_OK);
    assert_int_equal(wide, 5);
    assert_int_equal(weft_product(ctx, 3, x, &wide), WEFT_OK);
    assert_int_equal(wide, -105);
    assert_int_equal(weft_min(ctx, 3, x, &narrow), WEFT_OK);
    assert_int_equal(narrow, -5);
    assert_int_equal(weft_max(ctx, 3, x, &narrow), WEFT_OK);
    assert_int_equal(narrow, 7);
    assert_int_equal(weft_argmin(ctx, 3, x, &at), WEFT_OK);
    assert_int_equal(at, 1);
    assert_int_equal(weft_argmax(ctx, 3, x, &at), WEFT_OK);
    assert_int_equal(at, 2);
    assert_int_equal(weft_sum_fast(ctx, 2, f, &sum), WEFT_OK);
    assert_true(sum == 4.0f);
    const bool flags[] = {true, false, true}; /* count as u8 */
    bool any = false;
    uint64_t trues = 0;
    assert_int_equal(weft_sum_fast(ctx, 3, flags, &trues), WEFT_OK);
    assert_int_equal(trues, 2);
    assert_int_equal(weft_max(ctx, 3, flags, &any), WEFT_OK);
    assert_true(any);
    assert_int_equal(weft_argmin(ctx, 3, flags, &at), WEFT_OK);
    assert_int_equal(at, 1);
    weft_close(ctx);
}

static void test_same_bits(void **state) {
    (void)state;
    test_each_place(same_bits);
    free_data();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typed_calls),  TEST_ON_EACH_PLACE(special_values),
        TEST_ON_EACH_PLACE(sums_that_round), TEST_ON_EACH_PLACE(norms_at_every_scale),
        TEST_ON_EACH_PLACE(all_infinite),    cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests_name("reduce, special values", tests, NULL, NULL);
}
