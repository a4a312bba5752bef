/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of exact's ladder, on every place, against the oracle of exact_oracle.h: sizes, types,
 * terms, alignments, host and device memory, and data made to break what is not exact. And the sums
 * that users keep, value by value. */
#include "exact/exact_rig.h"

enum {
    FLOATS = 4
};

static const weft_type floats[FLOATS] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const exact_case c = {.row = row,
                          .terms = (wi_exact_terms)at[0],
                          .type = floats[at[1]],
                          .result_type = floats[test_below(&r->random, FLOATS)],
                          .n = n,
                          .offset_x = test_below(&r->random, 4),
                          .offset_y = test_below(&r->random, 4),
                          .device = (unsigned)test_below(&r->random, 8),
                          .pattern = (exact_pattern)test_below(&r->random, PATTERNS)};
    exact_run_case(r, &c);
    return true;
}

static test_sweep sweep_of(const size_t *sizes, size_t count, unsigned share) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_exact_ladder,
                        .extent = {WI_EXACT_TERMS, FLOATS},
                        .must = 3,
                        .share = share,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 20, 257);
    const test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 20);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 20, 16385);
    const test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 20);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Each kind of data on each rung, at sizes with several blocks and turns; where the larger is left
 * out, at the other. */
static bool run_pattern(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const exact_case c = {.row = row,
                          .terms = (wi_exact_terms)at[1],
                          .type = at[2] ? WEFT_F64 : WEFT_F32,
                          .result_type = floats[2 + test_below(&r->random, 2)],
                          .n = n,
                          .device = DEVICE_X | DEVICE_Y,
                          .pattern = (exact_pattern)at[0]};
    exact_run_case(r, &c);
    return true;
}

static void patterns(weft_context *ctx) {
    static const size_t sizes[] = {2503, 20011};
    rig r = rig_open(ctx, 20, sizes[1]);
    const test_sweep s = {.sizes = sizes,
                          .size_count = 2,
                          .ladder = &wi_exact_ladder,
                          .extent = {PATTERNS, WI_EXACT_TERMS, 2},
                          .must = 1,
                          .share = 20,
                          .run = run_pattern};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Products that the rest of f64 cannot hold, on each rung. */
static void faint_products(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t n = 1000, count = test_rows(ctx, &wi_exact_ladder, rows);
    rig r = rig_open(ctx, 20, n);
    for (size_t k = 0; k < 2 * count; k++) {
        const exact_case c = {.row = rows[k / 2],
                              .terms = k % 2 ? WI_EXACT_DOT : WI_EXACT_SQUARES,
                              .type = WEFT_F64,
                              .result_type = WEFT_F64,
                              .n = n,
                              .pattern = FAINT};
        exact_run_case(&r, &c);
    }
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    const size_t n = (1 << 20) + 7;
    if (!test_size_wanted(n))
        return;
    rig r = rig_open(ctx, 20, n);
    for (int k = 0; k < 4; k++) {
        const exact_case c = {.terms = (wi_exact_terms)k,
                              .type = k == 1 ? WEFT_F32 : WEFT_F64,
                              .result_type = WEFT_F64,
                              .n = n,
                              .pattern = k == 0   ? RISING
                                         : k == 1 ? UNIFORM
                                                  : SPREAD};
        exact_run_case(&r, &c);
    }
    rig_close(&r);
}

/* ---- sums that are kept ---- */

static void check_kept(weft_context *ctx, const weft_exact *sum, const oracle *o,
                       const char *what) {
    for (int t = 0; t < FLOATS; t++) {
        uint64_t bits = 0;
        test_ok(ctx, weft_exact_round(ctx, sum, floats[t], &bits));
        const test_value got = test_load(floats[t], &bits, 0);
        const test_value right = {.f = oracle_round(o, floats[t])};
        if (!test_same(floats[t], got, right))
            fail_msg("%s: %s after %zu values, not %s", what, test_text(floats[t], got), o->count,
                     test_text(floats[t], right));
    }
}

/* After each value that is added, the sum in each type: a million cases on one place. */
static void value_by_value(weft_context *ctx) {
    test_random r = test_random_at(21);
    const size_t rounds = ctx->kind == WI_CPU && ctx->threads == 1 ? 8000 : 20;
    oracle o;
    for (size_t k = 0; k < rounds; k++) {
        const size_t n = 1 + test_below(&r, 64);
        const exact_case c = {.type = floats[test_below(&r, FLOATS)],
                              .result_type = floats[test_below(&r, FLOATS)],
                              .n = n,
                              .pattern = (exact_pattern)test_below(&r, PATTERNS)};
        double x[64];
        _Alignas(8) unsigned char unused[64 * 8];
        weft_exact *sum;
        test_ok(ctx, weft_exact_create(ctx, &sum));
        oracle_clear(&o);
        draw(&r, &c, x, unused);
        for (size_t i = 0; i < n; i++) {
            const bool product = test_below(&r, 4) == 0;
            const double y = x[test_below(&r, n)];
            test_ok(ctx, product ? weft_exact_add_product(ctx, sum, x[i], y)
                                 : weft_exact_add_value(ctx, sum, x[i]));
            if (product)
                oracle_add_product(&o, x[i], y);
            else
                oracle_add(&o, x[i]);
            check_kept(ctx, sum, &o, "value by value");
        }
        weft_exact_destroy(sum);
    }
}

/* An array in pieces, whose sums are merged in any order, some by way of bytes. */
static void splits(weft_context *ctx) {
    enum {
        N = 3000,
        MOST = 7
    };
    rig r = rig_open(ctx, 20, N);
    for (int turn = 0; turn < 12; turn++) {
        const exact_case c = {.terms = WI_EXACT_SUM,
                              .type = floats[turn % FLOATS],
                              .result_type = WEFT_F64,
                              .n = N,
                              .pattern = (exact_pattern)(turn % PATTERNS)};
        const size_t parts = 1 + test_below(&r.random, MOST), size = test_size_of(c.type);
        weft_exact *sums[MOST], *whole;
        unsigned char bytes[WEFT_EXACT_BYTES], of_whole[WEFT_EXACT_BYTES];
        oracle o;
        uint64_t count;
        draw(&r.random, &c, r.x, r.source_x);
        exact_expect(&r, &c, &o);
        test_ok(ctx, weft_exact_create(ctx, &whole));
        test_ok(ctx, weft_exact_add(ctx, whole, c.type, N, r.source_x));
        check_kept(ctx, whole, &o, "an array");
        for (size_t p = 0; p < parts; p++) {
            const size_t first = N * p / parts, n = N * (p + 1) / parts - first;
            test_ok(ctx, weft_exact_create(ctx, &sums[p]));
            test_ok(ctx, weft_exact_add(ctx, sums[p], c.type, n, r.source_x + first * size));
        }
        for (size_t p = parts - 1; p > 0; p--) { /* one of those left into another */
            const size_t into = test_below(&r.random, p);
            test_ok(ctx, weft_exact_save(ctx, sums[p], bytes));
            test_ok(ctx, weft_exact_load(ctx, sums[p], bytes));
            test_ok(ctx, weft_exact_merge(ctx, sums[into], sums[p]));
            weft_exact_destroy(sums[p]);
        }
        check_kept(ctx, sums[0], &o, "parts merged");
        test_ok(ctx, weft_exact_save(ctx, sums[0], bytes));
        test_ok(ctx, weft_exact_save(ctx, whole, of_whole));
        assert_memory_equal(bytes, of_whole, sizeof bytes);
        test_ok(ctx, weft_exact_count(ctx, whole, &count));
        assert_int_equal(count, N);
        weft_exact_destroy(sums[0]), weft_exact_destroy(whole);
    }
    rig_close(&r);
}

/* The saved form, byte by byte as the header says. */
static void saved_bytes(weft_context *ctx) {
    weft_exact *sum;
    unsigned char bytes[WEFT_EXACT_BYTES], right[WEFT_EXACT_BYTES] = "weftsum1";
    test_ok(ctx, weft_exact_create(ctx, &sum));
    test_ok(ctx, weft_exact_add_value(ctx, sum, -1));
    test_ok(ctx, weft_exact_add_value(ctx, sum, (double)INFINITY));
    test_ok(ctx, weft_exact_save(ctx, sum, bytes));
    right[8] = 2, right[8 + 2 * 8] = 1, right[8 + 4 * 8] = 1;
    memset(right + 48 + 2176 / 8, 0xff, (4352 - 2176) / 8);
    assert_memory_equal(bytes, right, sizeof bytes);
    weft_exact_destroy(sum);
}

/* ---- mean and variance ---- */

__extension__ typedef __int128 whole;

/* Is `got` num / den rounded to nearest even? All products here are below 2^120. */
static bool is_quotient(weft_type type, int64_t num, int64_t den, double got) {
    int precision, least;
    uint64_t m;
    if (num == 0)
        return got == 0;
    oracle_format(type, &precision, &least);
    int exponent = oracle_parts(got, &m);
    while (m >> precision)
        m /= 2, exponent++;
    while (!(m >> (precision - 1)))
        m *= 2, exponent--;
    const whole scaled_num =
        (whole)(num < 0 ? -num : num) * ((whole)1 << (exponent < 0 ? -exponent : 0));
    const whole scaled_den = (whole)den * ((whole)1 << (exponent > 0 ? exponent : 0));
    const whole off = 2 * (scaled_num - (whole)m * scaled_den);
    const bool is_power = m == (uint64_t)1 << (precision - 1);
    return (got < 0) == (num < 0) && off <= scaled_den - (m % 2) &&
           (is_power ? 2 * off : off) >= -scaled_den + (m % 2);
}

static void one_moment(weft_context *ctx, test_random *r) {
    enum {
        MOST = 300
    };
    const size_t n = 1 + test_below(r, MOST), correction = test_below(r, 2);
    const weft_type type = floats[test_below(r, FLOATS)], to = floats[2 + test_below(r, 2)];
    const int range = type == WEFT_BF16 ? 127 : 1000;
    const int scale = type == WEFT_F64 ? (int)test_below(r, 1000) - 500 : 0;
    const int64_t offset = type == WEFT_F64 ? (int64_t)test_below(r, 1 << 18) : 0;
    unsigned char x[MOST * 8];
    uint64_t mean = 0, variance = 0;
    int64_t sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t k = offset + (int64_t)test_below(r, (uint64_t)range) - range / 2;
        sum += k, squares += k * k;
        test_store(type, x, i, (test_value){.f = ldexp((double)k, scale)});
    }
    test_ok(ctx, weft_mean(ctx, type, n, x, scale ? WEFT_F64 : to, &mean));
    test_ok(ctx, weft_variance(ctx, type, n, x, correction, scale ? WEFT_F64 : to, &variance));
    const weft_type result = scale ? WEFT_F64 : to;
    const double m = ldexp(test_load(result, &mean, 0).f, -scale);
    const double v = ldexp(test_load(result, &variance, 0).f, -2 * scale);
    if (!is_quotient(result, sum, (int64_t)n, m))
        fail_msg("mean of %zu %s: %.17g", n, test_type_name(type), m);
    if (n <= correction ? !isnan(v)
                        : !is_quotient(result, (int64_t)n * squares - sum * sum,
                                       (int64_t)(n * (n - correction)), v))
        fail_msg("variance of %zu %s: %.17g", n, test_type_name(type), v);
}

static void moments(weft_context *ctx) {
    test_random r = test_random_at(22);
    const size_t times = test_times(ctx->kind == WI_CPU ? 4000 : 100);
    const double infinite[2] = {(double)INFINITY, 1}, zeros[2] = {-0.0, -0.0};
    double got = 0;
    for (size_t k = 0; k < times; k++)
        one_moment(ctx, &r);
    test_ok(ctx, weft_mean(ctx, WEFT_F64, 2, infinite, WEFT_F64, &got));
    assert_true(isinf(got));
    test_ok(ctx, weft_variance(ctx, WEFT_F64, 2, infinite, 0, WEFT_F64, &got));
    assert_true(isnan(got));
    test_ok(ctx, weft_mean(ctx, WEFT_F64, 2, zeros, WEFT_F64, &got));
    assert_true(got == 0 && signbit(got));
    test_ok(ctx, weft_mean(ctx, WEFT_F64, 0, zeros, WEFT_F64, &got));
    assert_true(isnan(got));
}

/* A norm half way between two numbers, exactly, and with what is too small to be seen in the
 * leading bits of its root. */
static void roots_half_way(weft_context *ctx) {
    const double x[2] = {1 + 0x1p-24, 0x1p-300}, y[2] = {1 + 0x3p-24, 0};
    const double z[2] = {1 + 0x1p-24, 0x1p-50};
    float norm;
    test_ok(ctx, weft_nrm2(ctx, 1, x, &norm));
    assert_true(norm == 1);
    test_ok(ctx, weft_nrm2(ctx, 2, x, &norm));
    assert_true(norm == 1 + 0x1p-23F);
    test_ok(ctx, weft_nrm2(ctx, 2, z, &norm));
    assert_true(norm == 1 + 0x1p-23F);
    test_ok(ctx, weft_nrm2(ctx, 2, y, &norm));
    assert_true(norm == 1 + 0x1p-22F);
}

/* ---- typed calls ---- */

static void typed_calls(weft_context *ctx) {
    const float x[3] = {0x1p24F, 1, 1};
    const int32_t k[3] = {1, -5, 2};
    const double y[2] = {3, 4};
    float narrow;
    double wide;
    int64_t sum;
    test_ok(ctx, weft_sum(ctx, 3, x, &narrow));
    test_ok(ctx, weft_sum(ctx, 3, x, &wide));
    test_ok(ctx, weft_sum(ctx, 3, k, &sum));
    assert_true(narrow == 0x1.000002p24F && wide == 0x1.000002p24 && sum == -2);
    test_ok(ctx, weft_nrm1(ctx, 2, y, &wide));
    assert_true(wide == 7);
    test_ok(ctx, weft_nrm2(ctx, 2, y, &wide));
    assert_true(wide == 5);
    test_ok(ctx, weft_dot(ctx, WEFT_I32, 3, k, k, &sum));
    assert_int_equal(sum, 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(typed_calls),    TEST_ON_EACH_PLACE(roots_half_way),
        TEST_ON_EACH_PLACE(small_sizes),    TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(patterns),       TEST_ON_EACH_PLACE(large_sizes),
        TEST_ON_EACH_PLACE(faint_products), TEST_ON_EACH_PLACE(value_by_value),
        TEST_ON_EACH_PLACE(splits),         TEST_ON_EACH_PLACE(saved_bytes),
        TEST_ON_EACH_PLACE(moments),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
