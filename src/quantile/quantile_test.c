/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of quantile's ladder, on every place: sizes, types, arrangements, alignments, host and
 * device memory. The oracle sorts; quantiles are computed in long double, and have the same bits
 * from every rung. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "quantile/quantile.h"
#include "sort/sort_oracle.h"
#include "testing.h"

enum {
    MOST_JOBS = 10, /* more than one pass takes */
    DEVICE_X = 1,
    DEVICE_OUT = 2
};

typedef struct quantile_case {
    const wi_row *row; /* NULL: the library chooses */
    weft_type type;
    size_t n, m, offset;
    oracle_pattern pattern;
    unsigned device;
} quantile_case;

typedef struct rig {
    weft_context *ctx, *other; /* `other` is a cpu, whose rung serial gives the bits */
    test_random random;
    test_buffer x[2], out[2]; /* in host and device memory */
    unsigned char *source, *sorted;
    size_t *order;
} rig;

static rig rig_open(weft_context *ctx, size_t n) {
    rig r = {.ctx = ctx, .other = test_open("cpu:1"), .random = test_random_at(61)};
    for (int device = 0; device < 1 + (ctx->kind == WI_CUDA); device++) {
        r.x[device] = test_buffer_open(ctx, device, n * 8);
        r.out[device] = test_buffer_open(ctx, device, MOST_JOBS * 8);
    }
    r.source = malloc(n * 8 + 1);
    r.sorted = malloc(n * 8 + 1);
    r.order = malloc(n * sizeof *r.order + 1);
    assert_true(r.source && r.sorted && r.order);
    assert_int_equal(weft_use(r.other, "quantile", "serial"), WEFT_OK);
    return r;
}

static void rig_close(rig *r) {
    for (int device = 0; device < 1 + (r->ctx->kind == WI_CUDA); device++) {
        test_buffer_close(&r->x[device]);
        test_buffer_close(&r->out[device]);
    }
    free(r->source);
    free(r->sorted);
    free(r->order);
    weft_close(r->other);
}

static const char *describe(const rig *r, const quantile_case *c) {
    static char text[200];
    snprintf(text, sizeof text,
             "%zu ranks of %zu %s on %s, variant %s, pattern %d, offset %zu, device %#x", c->m,
             c->n, test_type_name(c->type), weft_place(r->ctx), c->row ? c->row->name : "auto",
             (int)c->pattern, c->offset, c->device);
    return text;
}

static void make_input(rig *r, const quantile_case *c) {
    const size_t size = test_size_of(c->type);
    oracle_fill(&r->random, c->pattern, c->type, c->n, r->source);
    oracle_sort(c->type, false, 0, 8 * (unsigned)size, c->n, r->source, r->order);
    for (size_t i = 0; i < c->n; i++)
        memcpy(r->sorted + i * size, r->source + r->order[i] * size, size);
}

static const void *place_x(rig *r, const quantile_case *c) {
    test_buffer *const x = &r->x[(c->device & DEVICE_X) != 0];
    const size_t size = test_size_of(c->type);
    test_buffer_load(x, r->source, c->n * size, c->offset * size);
    return x->p;
}

static void check_nth(rig *r, const quantile_case *c) {
    test_buffer *const out = &r->out[(c->device & DEVICE_OUT) != 0];
    const size_t size = test_size_of(c->type);
    const void *const x = place_x(r, c);
    uint64_t ranks[MOST_JOBS];
    for (size_t j = 0; j < c->m; j++) /* the first and the last are of the first pass */
        ranks[j] = j == 0 ? 0 : j == 1 ? c->n - 1 : test_below(&r->random, c->n);
    test_buffer_poison(out, c->m * size, c->offset * size);
    if (weft_nth(r->ctx, c->type, c->n, x, c->m, ranks, out->p) != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    test_used(r->ctx, "quantile", c->row, describe(r, c));
    const unsigned char *const got = test_buffer_read(out, describe(r, c));
    for (size_t j = 0; j < c->m; j++)
        if (memcmp(got + j * size, r->sorted + ranks[j] * size, size) != 0)
            fail_msg("%s: the element of rank %llu is %s, not %s", describe(r, c),
                     (unsigned long long)ranks[j], test_text(c->type, test_load(c->type, got, j)),
                     test_text(c->type, test_load(c->type, r->sorted, ranks[j])));
}

static double element(const rig *r, const quantile_case *c, size_t i) {
    const test_value v = test_load(c->type, r->sorted, i);
    return test_is_float(c->type) ? v.f : test_is_signed(c->type) ? (double)v.i : (double)v.u;
}

/* The quantile by the formulas of the header; what b - a rounds to is not followed. */
static bool is_right(const rig *r, const quantile_case *c, weft_quantile_rule rule, double q,
                     double got) {
    const double h = q * (double)(c->n - 1), i = floor(h), g = h - i;
    const size_t at = (size_t)i, after = at + 1 < c->n ? at + 1 : at;
    const double a = element(r, c, at), b = element(r, c, after);
    const bool second = rule == WEFT_HIGHER_VALUE ? g > 0 : g > 0.5 || (g == 0.5 && at % 2 == 1);
    if (rule == WEFT_LOWER_VALUE || g == 0 || a == b)
        return got == a || (isnan(got) && isnan(a));
    if (rule == WEFT_HIGHER_VALUE || rule == WEFT_NEAREST_VALUE)
        return got == (second ? b : a) || (isnan(got) && isnan(second ? b : a));
    if (!isfinite(a) || !isfinite(b)) {
        const double right = isnan(b) || (isinf(a) && isinf(b)) ? NAN : isinf(a) ? a : b;
        return got == right || (isnan(got) && isnan(right));
    }
    const long double f = rule == WEFT_MIDPOINT ? 0.5L : (long double)g;
    const long double right = (long double)a + f * ((long double)b - (long double)a);
    const long double size = fmaxl(fabsl(right), f * ((long double)b - (long double)a));
    return got >= a && got <= b && fabsl((long double)got - right) <= 4 * DBL_EPSILON * size;
}

static void check_quantiles(rig *r, const quantile_case *c) {
    test_buffer *const out = &r->out[(c->device & DEVICE_OUT) != 0];
    const void *const x = place_x(r, c);
    const weft_quantile_rule rule = (weft_quantile_rule)test_below(&r->random, WEFT_MIDPOINT + 1);
    double q[MOST_JOBS], same[MOST_JOBS];
    for (size_t j = 0; j < c->m; j++) {
        q[j] = (test_unit(&r->random) + 1) / 2;
        if (test_below(&r->random, 4) == 0)
            q[j] = (double)test_below(&r->random, 5) / 4;
    }
    test_buffer_poison(out, c->m * sizeof(double), 8);
    if (weft_quantiles(r->ctx, rule, c->type, c->n, x, c->m, q, (double *)out->p) != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    const double *const got = test_buffer_read(out, describe(r, c));
    for (size_t j = 0; j < c->m; j++)
        if (!is_right(r, c, rule, q[j], got[j]))
            fail_msg("%s: rule %d: quantile %.17g is %.17g", describe(r, c), (int)rule, q[j],
                     got[j]);
    assert_int_equal(weft_quantiles(r->other, rule, c->type, c->n, r->source, c->m, q, same),
                     WEFT_OK);
    if (memcmp(got, same, c->m * sizeof *same) != 0)
        fail_msg("%s: rule %d: not the bits of serial", describe(r, c), (int)rule);
}

static bool run_case(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    const quantile_case c = {.row = row,
                             .type = (weft_type)at[0],
                             .n = n,
                             .m = at[1] ? 1 + test_below(&r->random, MOST_JOBS) : 1 + at[2] % 2,
                             .offset = at[2] % 5,
                             .pattern = (oracle_pattern)test_below(&r->random, ORACLE_PATTERNS),
                             .device = r->ctx->kind == WI_CUDA ? (unsigned)at[3] : 0};
    const wi_quantile_args probe = {.type = c.type, .n = n, .count = 1};
    if (n == 0 || (row && row->misfit && row->misfit(r->ctx, &probe)))
        return false;
    make_input(r, &c);
    test_use(r->ctx, "quantile", row);
    check_nth(r, &c);
    check_quantiles(r, &c);
    test_use(r->ctx, "quantile", NULL);
    return true;
}

static void sweep(weft_context *ctx, const size_t *sizes, size_t count, unsigned share,
                  unsigned must) {
    rig r = rig_open(ctx, sizes[count - 1]);
    const test_sweep s = {.sizes = sizes,
                          .size_count = count,
                          .ladder = &wi_quantile_ladder,
                          .extent = {WEFT_TYPE_COUNT, 2, 10, ctx->kind == WI_CUDA ? 4 : 1},
                          .must = must,
                          .share = share,
                          .one_in = 11,
                          .run = run_case};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void small(weft_context *ctx) {
    sweep(ctx, test_small_sizes, test_small_size_count, 20, 1);
}

/* On either side of where rungs take a sample. */
static void large(weft_context *ctx) {
    static const size_t sizes[] = {4096, 8192, 8193, 16383, 16384, 16387, 20000, 40001};
    sweep(ctx, sizes, sizeof sizes / sizeof *sizes, 20,
          ctx->kind == WI_CPU); /* not each type on emu, where it takes long */
}

/* Brackets that do not hold their rank, or too much: the rank is then found without them. */
static void misled(weft_context *ctx) {
    static const size_t sizes[] = {16384};
    if (ctx->kind != WI_CUDA)
        return;
#ifdef WEFT_EMU
    wi_quantile_room_percent = 0;
#endif
    sweep(ctx, sizes, 1, 4, 0);
#ifdef WEFT_EMU
    wi_quantile_room_percent = 200;
#endif
}

/* The elements that rung sampled draws on a cpu are the largest of all. */
static void sample_lies(void **state) {
    enum {
        N = 50000,
        SAMPLE = 1 << 12
    };
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    int32_t *const x = malloc(N * sizeof *x);
    const uint64_t ranks[] = {0, 1, N / 2, N - SAMPLE - 1, N - SAMPLE, N - 1};
    int32_t got[6];
    double median;
    assert_non_null(x);
    for (int32_t i = 0; i < N; i++)
        x[i] = i;
    for (uint64_t i = 0; i < SAMPLE; i++)
        x[wi_quantile_sampled(i, SAMPLE, N)] = N + (int32_t)i;
    assert_int_equal(weft_use(ctx, "quantile", "sampled"), WEFT_OK);
    assert_int_equal(weft_nth(ctx, WEFT_I32, N, x, 6, ranks, got), WEFT_OK);
    assert_int_equal(got[5], N + SAMPLE - 1);
    assert_int_equal(got[4], N);
    for (int k = 0; k < 4; k++) {
        size_t below = 0;
        for (int32_t i = 0; i < N; i++)
            below += x[i] < got[k];
        assert_int_equal(below, ranks[k]);
    }
    assert_int_equal(weft_median(ctx, WEFT_I32, N, x, &median), WEFT_OK);
    assert_true(median <= got[2] && median > got[2] - 9);
    free(x);
    weft_close(ctx);
}

/* Differences that overflow, infinities and what rounds beyond the upper element. */
static void extremes(weft_context *ctx) {
    const double x[] = {-DBL_MAX, DBL_MAX, INFINITY, -INFINITY};
    const double q[] = {0, 0.5, 1, 1.0 / 6};
    double got[4];
    assert_int_equal(weft_quantiles(ctx, WEFT_LINEAR, WEFT_F64, 4, x, 4, q, got), WEFT_OK);
    assert_true(got[0] == -INFINITY && got[1] == 0 && got[2] == INFINITY && got[3] == -INFINITY);
    assert_int_equal(weft_quantiles(ctx, WEFT_MIDPOINT, WEFT_F64, 2, x, 1, q + 1, got), WEFT_OK);
    assert_true(got[0] == 0);
    assert_int_equal(weft_median(ctx, WEFT_F64, 2, x + 2, got), WEFT_OK);
    assert_true(isnan(got[0]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small),     TEST_ON_EACH_PLACE(large),    TEST_ON_EACH_PLACE(misled),
        cmocka_unit_test(sample_lies), TEST_ON_EACH_PLACE(extremes),
    };
    return cmocka_run_group_tests_name("quantile", tests, NULL, NULL);
}
