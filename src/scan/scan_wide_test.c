/* SPDX-License-Identifier: Apache-2.0 */
/* weft_scan_wide: every pair of types that it takes, each rung, with and without a total, which may
 * lie behind the outputs, in host and device memory. The data are such that floats are exact. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "scan/scan.h"
#include "testing.h"

enum {
    OPS = WEFT_XOR + 1,
    MOST_N = 50000,
    SLOW_MOST = 1025, /* of rungs that teach */
    X = 0,
    Y,
    INIT,
    TOTAL,
    ARRAYS
};

/* Where the total goes. */
enum {
    NO_TOTAL,
    BEHIND,
    APART,
    WAYS
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    unsigned char *source;
    test_value *expected; /* and behind them the total */
} rig;

typedef struct wide_case {
    const wi_row *row;
    weft_type from, to;
    weft_scan_kind kind;
    weft_op op;
    size_t n, way;
    unsigned device;
    bool in_place, has_init;
} wide_case;

static rig rig_open(weft_context *ctx, size_t most) {
    rig r = {.ctx = ctx, .random = test_random_at(27)};
    for (int k = 0; k < ARRAYS; k++) {
        const size_t bytes = (k <= Y ? (most + 1) * 8 : 8) + TEST_MAX_OFFSET;
        r.pair[k] = test_pair_open(ctx, bytes);
    }
    r.source = malloc((most + 1) * 8);
    r.expected = malloc((most + 1) * sizeof *r.expected);
    assert_true(r.source && r.expected);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->source);
    free(r->expected);
}

static const char *describe(const rig *r, const wide_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "%s scan, %s of %s to %s on %s, variant %s, n %zu, total %zu%s%s, device %#x",
             c->kind == WEFT_INCLUSIVE ? "inclusive" : "exclusive", test_op_name(c->op),
             test_type_name(c->from), test_type_name(c->to), weft_place(r->ctx),
             c->row ? c->row->name : "auto", c->n, c->way, c->in_place ? ", in place" : "",
             c->has_init ? ", init" : "", c->device);
    return text;
}

/* ---- the oracle ---- */

/* Does `to` hold every element of `from`, and more? Or the same. */
static bool holds(weft_type from, weft_type to) {
    if (from == to)
        return true;
    if (test_is_float(from) != test_is_float(to) || test_size_of(to) <= test_size_of(from))
        return false;
    return test_is_float(to) || test_is_signed(to) || !test_is_signed(from);
}

/* Sums and products of 16-bit floats are not exact. */
static bool has_case(weft_type from, weft_type to, weft_op op) {
    if (!holds(from, to) || (op >= WEFT_AND && test_is_float(to)))
        return false;
    return op > WEFT_PRODUCT || !test_is_float(to) || test_size_of(to) > 2;
}

static test_value identity(weft_op op, weft_type type) {
    const uint64_t ones = test_wrap(type, UINT64_MAX);
    const uint64_t top = UINT64_C(1) << (8 * test_size_of(type) - 1);
    const bool is_signed = test_is_signed(type);
    if (test_is_float(type))
        return (test_value){.f = op == WEFT_PRODUCT ? 1
                                 : op == WEFT_MIN   ? INFINITY
                                 : op == WEFT_MAX   ? -INFINITY
                                                    : 0};
    switch (op) {
    case WEFT_PRODUCT:
        return (test_value){.u = 1};
    case WEFT_MIN:
        return (test_value){.u = is_signed ? test_wrap(type, top - 1) : ones};
    case WEFT_MAX:
        return (test_value){.u = is_signed ? test_wrap(type, top) : 0};
    case WEFT_AND:
        return (test_value){.u = ones};
    default:
        return (test_value){.u = 0};
    }
}

static test_value combine_floats(weft_op op, double a, double b) {
    if (op == WEFT_SUM || op == WEFT_PRODUCT)
        return (test_value){.f = op == WEFT_SUM ? a + b : a * b};
    const bool below = b < a || (a == b && signbit(b) && !signbit(a));
    return (test_value){.f = (op == WEFT_MIN) == below ? b : a};
}

static test_value combine(weft_op op, weft_type type, test_value a, test_value b) {
    if (test_is_float(type))
        return combine_floats(op, a.f, b.f);
    const bool below = test_is_signed(type) ? b.i < a.i : b.u < a.u;
    switch (op) {
    case WEFT_SUM:
        return (test_value){.u = test_wrap(type, a.u + b.u)};
    case WEFT_PRODUCT:
        return (test_value){.u = test_wrap(type, a.u * b.u)};
    case WEFT_MIN:
    case WEFT_MAX:
        return (op == WEFT_MIN) == below ? b : a;
    case WEFT_AND:
        return (test_value){.u = a.u & b.u};
    case WEFT_OR:
        return (test_value){.u = a.u | b.u};
    default:
        return (test_value){.u = a.u ^ b.u};
    }
}

static void expect(rig *r, const wide_case *c, const void *init) {
    test_value so_far = c->has_init ? test_load(c->to, init, 0) : identity(c->op, c->to);
    for (size_t i = 0; i < c->n; i++) {
        const test_value before = so_far;
        so_far = combine(c->op, c->to, so_far, test_load(c->from, r->source, i));
        r->expected[i] = c->kind == WEFT_INCLUSIVE ? so_far : before;
    }
    r->expected[c->n] = so_far;
}

/* ---- cases ---- */

static test_pattern pattern_of(const wide_case *c) {
    if (c->op == WEFT_MIN || c->op == WEFT_MAX)
        return TEST_TIES;
    if (c->op == WEFT_PRODUCT)
        return test_is_float(c->to) ? TEST_SIGNS : TEST_NEAR_ONE;
    return test_is_float(c->to) ? TEST_SMALL : TEST_ANY;
}

static test_buffer *home(rig *r, const wide_case *c, int k) {
    return test_pair_at(&r->pair[k], c->device >> k & 1);
}

static void check_value(const rig *r, const wide_case *c, const void *got, size_t at,
                        const char *what, test_value right) {
    const test_value value = test_load(c->to, got, at);
    if (!test_same(c->to, value, right))
        fail_msg("%s: %s %zu is %s, should be %s", describe(r, c), what, at,
                 test_text(c->to, value), test_text(c->to, right));
}

static void run_case(rig *r, const wide_case *c) {
    const size_t from_size = test_size_of(c->from), size = test_size_of(c->to);
    const size_t outputs = c->n + (c->way == BEHIND);
    unsigned char init[8] = {0};
    test_buffer *const x = home(r, c, X), *const y = c->in_place ? x : home(r, c, Y);
    test_buffer *const apart = home(r, c, TOTAL), *const start = home(r, c, INIT);
    test_fill(&r->random, pattern_of(c), c->from, c->n, r->source);
    test_fill(&r->random, c->op == WEFT_PRODUCT ? TEST_SIGNS : TEST_SMALL, c->to, 1, init);
    expect(r, c, init);
    const size_t kept = c->in_place ? outputs : c->n;
    memset(r->source + c->n * from_size, TEST_POISON, from_size);
    test_buffer_load(x, r->source, kept * from_size, test_below(&r->random, 3) * from_size);
    if (!c->in_place)
        test_buffer_poison(y, outputs * size, test_below(&r->random, 3) * size);
    test_buffer_poison(apart, size, 8);
    test_buffer_load(start, init, size, 8);
    void *const total = c->way == BEHIND  ? y->p + c->n * size
                        : c->way == APART ? (void *)apart->p
                                          : NULL;
    test_use(r->ctx, "scan", c->row);
    const weft_status status = weft_scan_wide(r->ctx, c->kind, c->op, c->from, c->n, x->p, c->to,
                                              y->p, c->has_init ? start->p : NULL, total);
    test_use(r->ctx, "scan", NULL);
    if (status == WEFT_EUNSUPPORTED && c->row) { /* the rung has not these types, or is short */
        const unsigned char *const left = test_buffer_read(y, describe(r, c));
        for (size_t i = 0; !c->in_place && i < outputs * size; i++)
            assert_int_equal(left[i], TEST_POISON);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    const void *const got = test_buffer_read(y, describe(r, c));
    for (size_t i = 0; i < c->n; i++)
        check_value(r, c, got, i, "element", r->expected[i]);
    if (c->way == BEHIND)
        check_value(r, c, got, c->n, "total", r->expected[c->n]);
    if (c->way == APART)
        check_value(r, c, test_buffer_read(apart, describe(r, c)), 0, "total", r->expected[c->n]);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const wide_case c = {
        .row = row,
        .from = (weft_type)at[0],
        .to = (weft_type)at[1],
        .op = (weft_op)at[2],
        .way = at[3],
        .n = n,
        .kind = (weft_scan_kind)test_below(&r->random, 2),
        .device = test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 1u << ARRAYS),
        .in_place = at[0] == at[1] && test_below(&r->random, 2),
        .has_init = test_below(&r->random, 2)};
    if (!has_case(c.from, c.to, c.op) || (row && !row->seconds && n > SLOW_MOST))
        return false;
    run_case(r, &c);
    return true;
}

static void every_pair(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 17, 255, 1000, 1025, 16384, 16385, MOST_N};
    const bool slow = test_place_is_gpu(weft_place(ctx));
    rig r = rig_open(ctx, MOST_N);
    const test_sweep sweep = {.sizes = sizes,
                              .size_count = sizeof sizes / sizeof *sizes - (slow ? 3 : 0),
                              .ladder = &wi_scan_ladder,
                              .extent = {WEFT_TYPE_COUNT, WEFT_TYPE_COUNT, OPS, WAYS},
                              .must = slow ? 1 : 3,
                              .share = 90,
                              .one_in = 16,
                              .run = run_at};
    test_sweep_run(ctx, &r.random, &sweep, &r);
    rig_close(&r);
}

/* One element, in place: a rung has nothing to do, and still its total is that of the input. */
static void one_element(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_scan_ladder, rows);
    rig r = rig_open(ctx, 1);
    for (size_t k = 0; k < count; k++)
        for (size_t way = 0; way < WAYS; way++)
            run_case(&r, &(wide_case){.row = rows[k],
                                      .from = WEFT_I32,
                                      .to = WEFT_I32,
                                      .op = WEFT_XOR,
                                      .way = way,
                                      .n = 1,
                                      .kind = WEFT_EXCLUSIVE,
                                      .device = ~0u,
                                      .in_place = true,
                                      .has_init = true});
    rig_close(&r);
}

/* Several strips on a GPU, many blocks of several threads on a cpu. */
static void long_arrays(weft_context *ctx) {
    const size_t n = test_place_is_gpu(weft_place(ctx)) ? 20000 : 3000017;
    if (!test_size_wanted(n))
        return;
    rig r = rig_open(ctx, n);
#ifdef WEFT_EMU
    const size_t strip = wi_scan_strip_elements;
    wi_scan_strip_elements = 3001;
#endif
    for (size_t way = 0; way < WAYS; way++)
        run_case(&r, &(wide_case){.from = WEFT_U8,
                                  .to = WEFT_U64,
                                  .op = WEFT_SUM,
                                  .way = way,
                                  .n = n,
                                  .kind = WEFT_EXCLUSIVE,
                                  .device = way == BEHIND ? 0 : ~0u});
#ifdef WEFT_EMU
    wi_scan_strip_elements = strip;
#endif
    rig_close(&r);
}

static void typed_calls(weft_context *ctx) {
    const bool flags[5] = {true, false, true, true, false};
    uint64_t offsets[6] = {9, 9, 9, 9, 9, 9};
    int32_t counts[5] = {0};
    const uint64_t right[6] = {0, 1, 1, 2, 3, 3};
    assert_int_equal(weft_offsets(ctx, 5, flags, offsets), WEFT_OK);
    assert_memory_equal(offsets, right, sizeof right);
    assert_int_equal(weft_inclusive_wide(ctx, WEFT_SUM, 5, flags, counts), WEFT_OK);
    assert_int_equal(counts[4], 3);
    assert_int_equal(weft_exclusive_wide(ctx, WEFT_MAX, 5, flags, counts), WEFT_OK);
    assert_int_equal(counts[0], INT32_MIN);
    assert_int_equal(counts[4], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(every_pair), TEST_ON_EACH_PLACE(one_element),
        TEST_ON_EACH_PLACE(long_arrays), TEST_ON_EACH_PLACE(typed_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
