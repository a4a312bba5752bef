/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of reduce's ladder, on every place: sizes, types, operations, alignments, host and
 * device memory. The oracle works in integers modulo 2^64 and in long double, and shares nothing
 * with the library. reduce_special_test.c tests single values and that bits are the same. */
#include "reduce/reduce.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/reduce_rig.h"
#include "testing.h"

enum {
    REDUCTIONS = WI_RED_DOT + 1,
    DEVICE_X = 1,
    DEVICE_Y = 2,
    DEVICE_RESULT = 4,
    ON_DEVICE = 7
};

_Static_assert(LDBL_MANT_DIG >= 64, "the oracle needs a long double wider than double");

typedef struct reduce_case {
    const wi_row *row; /* NULL: the library chooses */
    wi_reduction op;
    weft_type type;
    size_t n;
    size_t offset_x, offset_y; /* elements past a 64-byte boundary */
    unsigned device;
    test_pattern pattern;
} reduce_case;

/* The expected result: these bits, or a number within `tolerance`. */
typedef struct answer {
    weft_type type;
    bool exact;
    test_value bits;
    long double number, tolerance;
} answer;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host_x, host_y, host_result, device_x, device_y, device_result;
    unsigned char *source_x, *source_y;
    test_value *x, *y; /* the sources, widened */
} rig;

static const char *const names[REDUCTIONS] = {"sum",    "product", "min",  "max",    "argmin",
                                              "argmax", "nrm1",    "nrm2", "nrminf", "dot"};
static const weft_op public_op[] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,   WEFT_ARGMIN,
                                    WEFT_ARGMAX, WEFT_NRM1,    WEFT_NRM2, WEFT_NRMINF};

static rig rig_open(weft_context *ctx, size_t capacity) {
    rig r = {.ctx = ctx, .random = test_random_at(2)};
    bool gpu = ctx->kind == WI_CUDA;
    r.host_x = test_buffer_open(ctx, false, capacity);
    r.host_y = test_buffer_open(ctx, false, capacity);
    r.host_result = test_buffer_open(ctx, false, 8);
    if (gpu) {
        r.device_x = test_buffer_open(ctx, true, capacity);
        r.device_y = test_buffer_open(ctx, true, capacity);
        r.device_result = test_buffer_open(ctx, true, 8);
    }
    r.source_x = malloc(capacity);
    r.source_y = malloc(capacity);
    r.x = malloc(capacity * sizeof *r.x);
    r.y = malloc(capacity * sizeof *r.y);
    assert_true(r.source_x && r.source_y && r.x && r.y);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->host_x);
    test_buffer_close(&r->host_y);
    test_buffer_close(&r->host_result);
    if (r->ctx->kind == WI_CUDA) {
        test_buffer_close(&r->device_x);
        test_buffer_close(&r->device_y);
        test_buffer_close(&r->device_result);
    }
    free(r->source_x);
    free(r->source_y);
    free(r->x);
    free(r->y);
}

static const char *describe(const rig *r, const reduce_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "reduce %s of %s on %s, variant %s, n %zu, offsets %zu %zu, device %#x, pattern %d",
             names[c->op], test_type_name(c->type), weft_place(r->ctx),
             c->row ? c->row->name : "auto", c->n, c->offset_x, c->offset_y, c->device, c->pattern);
    return text;
}

/* ---- the oracle ---- */

/* The result type, from the table in weft/reduce.h. */
static weft_type result_type(wi_reduction op, weft_type type) {
    bool floats = test_is_float(type);
    weft_type wide_float = type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    switch (op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
        return type;
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        return WEFT_U64;
    case WI_RED_NRM2:
        return floats ? wide_float : WEFT_F64;
    case WI_RED_NRMINF:
        return floats ? type : WEFT_U64;
    case WI_RED_NRM1:
        return floats ? wide_float : WEFT_U64;
    default:
        return floats ? wide_float : test_is_signed(type) ? WEFT_I64 : WEFT_U64;
    }
}

static bool less_float(double a, double b) {
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static bool less(weft_type type, test_value a, test_value b) {
    return test_is_float(type)    ? less_float(a.f, b.f)
           : test_is_signed(type) ? a.i < b.i
                                  : a.u < b.u;
}

static bool is_nan(weft_type type, test_value v) {
    return test_is_float(type) && isnan(v.f);
}

/* Position of the smallest or largest, the first among equals, NaN before all; n if there is none.
 */
static size_t extreme(weft_type type, size_t n, const test_value *x, bool largest) {
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_nan(type, x[i])) {
            return i;
        }
        if (largest ? less(type, x[best], x[i]) : less(type, x[i], x[best])) {
            best = i;
        }
    }
    return n ? best : n;
}

static test_value no_extreme(weft_type type, bool largest) {
    unsigned bits = 8 * (unsigned)test_size_of(type);
    if (test_is_float(type)) {
        return (test_value){.f = largest ? -INFINITY : INFINITY};
    }
    if (test_is_signed(type)) {
        int64_t top = (int64_t)(UINT64_MAX >> (65 - bits));
        return (test_value){.i = largest ? -top - 1 : top};
    }
    return (test_value){.u = largest ? 0 : UINT64_MAX >> (64 - bits)};
}

static answer expect_extreme(const rig *r, const reduce_case *c) {
    bool largest = c->op == WI_RED_MAX || c->op == WI_RED_ARGMAX;
    size_t at = extreme(c->type, c->n, r->x, largest);
    answer a = {.type = result_type(c->op, c->type), .exact = true};
    if (c->op == WI_RED_ARGMIN || c->op == WI_RED_ARGMAX) {
        a.bits.u = c->n ? at : WEFT_NOWHERE;
    } else {
        a.bits = c->n ? r->x[at] : no_extreme(c->type, largest);
    }
    return a;
}

static uint64_t magnitude(weft_type type, test_value v) {
    return test_is_signed(type) && v.i < 0 ? 0 - v.u : v.u;
}

/* Wrapping sums in u64 are exact in any order. */
static answer expect_integer(const rig *r, const reduce_case *c) {
    answer a = {.type = result_type(c->op, c->type), .exact = true};
    uint64_t total = c->op == WI_RED_PRODUCT;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t size = magnitude(c->type, r->x[i]);
        switch (c->op) {
        case WI_RED_SUM:
            total += r->x[i].u;
            break;
        case WI_RED_PRODUCT:
            total *= r->x[i].u;
            break;
        case WI_RED_NRM1:
            total += size;
            break;
        case WI_RED_NRMINF:
            total = size > total ? size : total;
            break;
        default:
            total += r->x[i].u * r->y[i].u;
        }
    }
    a.bits.u = total;
    return a;
}

static answer expect_largest_magnitude(const rig *r, const reduce_case *c) {
    answer a = {.type = c->type, .exact = true, .bits = {.f = 0.0}};
    for (size_t i = 0; i < c->n; i++) {
        double size = fabs(r->x[i].f);
        a.bits.f = isnan(a.bits.f) || isnan(size) ? NAN : size > a.bits.f ? size : a.bits.f;
    }
    return a;
}

/* Adds the last rounding, to the type of the result: |r - s| <= e + u (|s| + e), e being the error
 * made before it, u = 2^-24 for f32; half a step of the subnormals if it falls among them. For f64
 * that rounding is one of those counted in e. */
static answer rounded(weft_type type, long double number, long double error) {
    answer a = {.type = type, .number = number, .tolerance = error};
    if (type == WEFT_F32) {
        a.tolerance += test_roundoff(type) * (fabsl(number) + error) + test_half_tiny(type);
    }
    return a;
}

/* SUM, NRM1 and DOT. n - 1 additions in any order, and one more rounding of each product of f64,
 * are within reduce_sum_bound; beside it stands the oracle's own error, n 2^-64 sum |term|.
 * Products may underflow in f64: half of 2^-1074 each. */
static answer expect_sum(const rig *r, const reduce_case *c) {
    long double sum = 0, size = 0;
    for (size_t i = 0; i < c->n; i++) {
        long double term = r->x[i].f;
        if (c->op == WI_RED_NRM1) {
            term = fabsl(term);
        } else if (c->op == WI_RED_DOT) {
            term *= r->y[i].f;
        }
        sum += term;
        size += fabsl(term);
    }
    long double n = (long double)c->n;
    long double error = reduce_sum_bound(c->row, c->type, c->n, size, sum) + n * 0x1p-64L * size;
    if (c->op == WI_RED_DOT && c->type == WEFT_F64) {
        error += n * 0x1p-1074L;
    }
    return rounded(result_type(c->op, c->type), sum, error);
}

/* n roundings in f64, each a factor 1 + d with |d| <= 2^-53. */
static answer expect_product(const rig *r, const reduce_case *c) {
    long double product = 1;
    for (size_t i = 0; i < c->n; i++) {
        product *= r->x[i].f;
    }
    long double error = 1.01L * (long double)c->n * 0x1p-53L * fabsl(product);
    return rounded(result_type(c->op, c->type), product, error);
}

/* Squares, n additions and the root in f64: half of n + 3 roundings through the root, and a few for
 * the scalings that keep f64 within range (and for integers made f64): below (n / 2 + 8) 2^-53. */
static answer expect_nrm2(const rig *r, const reduce_case *c) {
    long double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        long double x = test_is_float(c->type)    ? r->x[i].f
                        : test_is_signed(c->type) ? (long double)r->x[i].i
                                                  : (long double)r->x[i].u;
        sum += x * x;
    }
    long double norm = sqrtl(sum), n = (long double)c->n;
    answer a = rounded(result_type(c->op, c->type), norm, 1.01L * (n / 2 + 8) * 0x1p-53L * norm);
    if (a.type == WEFT_F64 && norm < 0x1p-1021L) {
        a.tolerance += 0x1p-1074L; /* a subnormal result cannot be nearer */
    }
    return a;
}

static answer expect(const rig *r, const reduce_case *c) {
    bool floats = test_is_float(c->type);
    switch (c->op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        return expect_extreme(r, c);
    case WI_RED_NRM2:
        return expect_nrm2(r, c);
    case WI_RED_NRMINF:
        return floats ? expect_largest_magnitude(r, c) : expect_integer(r, c);
    case WI_RED_PRODUCT:
        return floats ? expect_product(r, c) : expect_integer(r, c);
    default:
        return floats ? expect_sum(r, c) : expect_integer(r, c);
    }
}

/* ---- one case ---- */

static void check_answer(const rig *r, const reduce_case *c, const answer *a, test_value got) {
    if (a->exact) {
        if (!test_same(a->type, got, a->bits)) {
            fail_msg("%s: %s, should be %s", describe(r, c), test_text(a->type, got),
                     test_text(a->type, a->bits));
        }
        return;
    }
    double nearest = test_round(a->type, a->number);
    bool right;
    if (isfinite(nearest)) {
        right = fabsl((long double)got.f - a->number) <= a->tolerance;
    } else {
        right = test_same(a->type, got, (test_value){.f = nearest});
    }
    if (!right) {
        fail_msg("%s: %.17g, should be %.17Lg within %.3Lg", describe(r, c), got.f, a->number,
                 a->tolerance);
    }
}

static bool may_refuse(const rig *r, const reduce_case *c) {
    const bool streamed = r->ctx->kind == WI_CUDA && !(c->device & DEVICE_X);
    return reduce_may_refuse(c->row, c->op, c->type, streamed);
}

static test_buffer *choose(const rig *r, const reduce_case *c, unsigned bit, test_buffer *host,
                           test_buffer *device) {
    return r->ctx->kind == WI_CUDA && (c->device & bit) ? device : host;
}

static weft_status call(rig *r, const reduce_case *c, const void *x, const void *y, void *result) {
    test_use(r->ctx, "reduce", c->row);
    return c->op == WI_RED_DOT ? weft_dot_fast(r->ctx, c->type, c->n, x, y, result)
                               : weft_reduce(r->ctx, public_op[c->op], c->type, c->n, x, result);
}

static void draw(rig *r, const reduce_case *c) {
    test_fill(&r->random, c->pattern, c->type, c->n, r->source_x);
    test_widen(c->type, c->n, r->source_x, r->x);
    if (c->op == WI_RED_DOT) {
        test_fill(&r->random, c->pattern, c->type, c->n, r->source_y);
        test_widen(c->type, c->n, r->source_y, r->y);
    }
}

/* Runs the case on the sources as they are; false if the row refused it, as it may. */
static bool run_drawn(rig *r, const reduce_case *c, test_value *got) {
    size_t size = test_size_of(c->type), bytes = c->n * size;
    weft_type type = result_type(c->op, c->type);
    test_buffer *x = choose(r, c, DEVICE_X, &r->host_x, &r->device_x);
    test_buffer *y = choose(r, c, DEVICE_Y, &r->host_y, &r->device_y);
    test_buffer *result = choose(r, c, DEVICE_RESULT, &r->host_result, &r->device_result);
    test_buffer_load(x, r->source_x, bytes, c->offset_x * size);
    if (c->op == WI_RED_DOT) {
        test_buffer_load(y, r->source_y, bytes, c->offset_y * size);
    }
    test_buffer_poison(result, test_size_of(type), test_size_of(type));
    weft_status status = call(r, c, x->p, y->p, result->p);
    const void *seen = test_buffer_read(result, describe(r, c));
    if (status == WEFT_EUNSUPPORTED && may_refuse(r, c)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED,
                     c->op == WI_RED_DOT ? "weft_dot_fast" : "weft_reduce", c->row->name);
        for (size_t i = 0; i < test_size_of(type); i++) {
            assert_int_equal(((const unsigned char *)seen)[i], TEST_POISON);
        }
        return false;
    }
    if (status != WEFT_OK) {
        fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
    }
    if (c->n) {
        test_used(r->ctx, "reduce", c->row, describe(r, c));
    }
    *got = test_load(type, seen, 0);
    const void *x_now = test_buffer_read(x, describe(r, c));
    if (bytes && memcmp(x_now, r->source_x, bytes) != 0) {
        fail_msg("%s: x was changed", describe(r, c));
    }
    return true;
}

static void run_case(rig *r, const reduce_case *c) {
    test_value got;
    draw(r, c);
    if (run_drawn(r, c, &got)) {
        answer a = expect(r, c);
        check_answer(r, c, &a, got);
    }
}

/* ---- what to run ---- */

/* Products need data that stay finite; the rest take any, and specials where order cannot matter.
 */
static test_pattern pattern_for(wi_reduction op, uint64_t turn) {
    static const test_pattern sums[] = {TEST_ANY, TEST_SMALL, TEST_EQUAL};
    static const test_pattern products[] = {TEST_NEAR_ONE, TEST_SIGNS};
    static const test_pattern extremes[] = {TEST_ANY, TEST_TIES, TEST_SPECIAL, TEST_NANS,
                                            TEST_EQUAL};
    switch (op) {
    case WI_RED_PRODUCT:
        return products[turn % 2];
    case WI_RED_SUM:
    case WI_RED_NRM1:
    case WI_RED_NRM2:
    case WI_RED_DOT:
        return sums[turn % 3];
    default:
        return extremes[turn % 5];
    }
}

static const size_t offsets[][2] = {{0, 0}, {1, 1}, {1, 2}, {3, 0}};
static const unsigned mixtures[] = {0, DEVICE_X, DEVICE_X | DEVICE_Y, DEVICE_RESULT,
                                    DEVICE_Y | DEVICE_RESULT};

/* The case with offsets, data and placement drawn. */
static void run_drawing(rig *r, reduce_case c) {
    const size_t *offset = offsets[test_below(&r->random, sizeof offsets / sizeof *offsets)];
    c.offset_x = offset[0];
    c.offset_y = offset[1];
    c.pattern = pattern_for(c.op, test_bits(&r->random) >> 8);
    c.device = ON_DEVICE;
    if (test_below(&r->random, 2)) {
        c.device = mixtures[test_below(&r->random, sizeof mixtures / sizeof *mixtures)];
    }
    run_case(r, &c);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_drawing(
        rig_of_test,
        (reduce_case){.row = row, .op = (wi_reduction)at[0], .type = (weft_type)at[1], .n = n});
    return true;
}

/* Every size, row, operation and type, `times` over with other offsets and data. */
static test_sweep sweep_of(const size_t *sizes, size_t count, size_t times) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_reduce_ladder,
                        .extent = {REDUCTIONS, WEFT_TYPE_COUNT, times},
                        .must = 3,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 257 * 8);
    test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 7);
    s.share = 30;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 16385 * 8);
    test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 1);
    s.must = 2;
    s.share = 40;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    static const size_t sizes[] = {100003, (1 << 20) + 7};
    if (!test_size_wanted(sizes[0])) {
        return;
    }
    rig r = rig_open(ctx, sizes[1] * 8);
    for (size_t k = 0; k < 2; k++) {
        test_sweep s = sweep_of(&sizes[k], 1, 1);
        s.must = 0;
        s.share = 15;
        s.one_in = k == 0 ? 1 : 7;
        test_sweep_run(ctx, &r.random, &s, &r);
    }
    rig_close(&r);
}

/* On the cpu the parts that threads share are longer than one block from 2^24 elements on. */
static void long_parts(weft_context *ctx) {
    const size_t n = (1 << 24) + (1 << 15) + 13;
    if (ctx->kind != WI_CPU || ctx->threads == 1 || !test_size_wanted(n)) {
        return;
    }
    rig r = rig_open(ctx, n * 4);
    run_drawing(&r, (reduce_case){.op = WI_RED_SUM, .type = WEFT_F32, .n = n});
    run_drawing(&r, (reduce_case){.op = WI_RED_SUM, .type = WEFT_I8, .n = n});
    run_drawing(&r, (reduce_case){.op = WI_RED_ARGMIN, .type = WEFT_U16, .n = n});
    rig_close(&r);
}

static void huge_sizes(weft_context *ctx) {
    const size_t n = (1 << 24) + 13, more = (1 << 26) + 77;
    if (ctx->kind != WI_CUDA || !test_size_wanted(more)) {
        return;
    }
    rig r = rig_open(ctx, more);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        run_drawing(&r, (reduce_case){.row = rows[k], .op = WI_RED_SUM, .type = WEFT_F32, .n = n});
        run_drawing(&r,
                    (reduce_case){.row = rows[k], .op = WI_RED_ARGMAX, .type = WEFT_I32, .n = n});
    }
    run_drawing(&r, (reduce_case){.row = NULL, .op = WI_RED_SUM, .type = WEFT_U8, .n = more});
    run_drawing(&r, (reduce_case){.row = NULL, .op = WI_RED_ARGMIN, .type = WEFT_I8, .n = more});
    rig_close(&r);
}

/* Several turns for every block, even on a device of few. */
static void many_turns(weft_context *ctx) {
    static const wi_reduction ops[] = {WI_RED_SUM, WI_RED_ARGMIN};
    const size_t n = 150011;
    if (ctx->kind != WI_CUDA) {
        return;
    }
    rig r = rig_open(ctx, n * 8);
    for (size_t k = 0; k < 2; k++) {
        const reduce_case c = {.row = test_row_named(&wi_reduce_ladder, "one_pass"),
                               .op = ops[k],
                               .type = k ? WEFT_F64 : WEFT_I32,
                               .n = n,
                               .pattern = TEST_ANY,
                               .device = ON_DEVICE};
        run_case(&r, &c);
    }
    rig_close(&r);
}

/* ---- types and sizes of results ---- */

static void test_result_types(void **state) {
    (void)state;
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        for (int op = 0; op < WI_RED_DOT; op++) {
            weft_type told;
            assert_int_equal(weft_reduce_type(public_op[op], (weft_type)type, &told), WEFT_OK);
            assert_int_equal(told, result_type((wi_reduction)op, (weft_type)type));
        }
    }
    weft_type told = WEFT_I8;
    assert_int_equal(weft_reduce_type(WEFT_XOR, WEFT_I32, &told), WEFT_EUNSUPPORTED);
    assert_int_equal(weft_reduce_type((weft_op)-1, WEFT_I32, &told), WEFT_EARG);
    assert_int_equal(weft_reduce_type((weft_op)WEFT_OP_COUNT, WEFT_I32, &told), WEFT_EARG);
    assert_int_equal(weft_reduce_type(WEFT_SUM, (weft_type)WEFT_TYPE_COUNT, &told), WEFT_EARG);
    assert_int_equal(weft_reduce_type(WEFT_SUM, WEFT_I32, NULL), WEFT_EARG);
    assert_int_equal(told, WEFT_I8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_types), TEST_ON_EACH_PLACE(small_sizes),
        TEST_ON_EACH_PLACE(medium_sizes),    TEST_ON_EACH_PLACE(large_sizes),
        TEST_ON_EACH_PLACE(long_parts),      TEST_ON_EACH_PLACE(huge_sizes),
        TEST_ON_EACH_PLACE(many_turns),
    };
    return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}
