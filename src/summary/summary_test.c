/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of summary's ladder, on every place: sizes, types, arrangements, alignments, host and
 * device memory, against an oracle in long double with two passes; and means far from 0. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "summary/summary.h"
#include "testing.h"

enum {
    DEVICE_X = 1,
    DEVICE_RESULT = 2
};

typedef struct summary_case {
    const wi_row *row; /* NULL: the library chooses */
    weft_type type;
    size_t n, offset;
    test_pattern pattern;
    unsigned device;
} summary_case;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer x[2], result[2]; /* in host and device memory */
    unsigned char *source;
} rig;

static rig rig_open(weft_context *ctx, size_t n) {
    rig r = {.ctx = ctx, .random = test_random_at(71)};
    for (int device = 0; device < 1 + (ctx->kind == WI_CUDA); device++) {
        r.x[device] = test_buffer_open(ctx, device, n * 8);
        r.result[device] = test_buffer_open(ctx, device, sizeof(weft_statistics));
    }
    r.source = malloc(n * 8 + 1);
    assert_non_null(r.source);
    return r;
}

static void rig_close(rig *r) {
    for (int device = 0; device < 1 + (r->ctx->kind == WI_CUDA); device++) {
        test_buffer_close(&r->x[device]);
        test_buffer_close(&r->result[device]);
    }
    free(r->source);
}

static const char *describe(const rig *r, const summary_case *c) {
    static char text[200];
    snprintf(text, sizeof text, "summary of %zu %s on %s, variant %s, pattern %d, offset %zu, %#x",
             c->n, test_type_name(c->type), weft_place(r->ctx), c->row ? c->row->name : "auto",
             (int)c->pattern, c->offset, c->device);
    return text;
}

/* ---- the oracle ---- */

static double value(weft_type type, const void *x, size_t i) {
    const test_value v = test_load(type, x, i);
    return test_is_float(type) ? v.f : test_is_signed(type) ? (double)v.i : (double)v.u;
}

/* Does element i come before element k? Neither is NaN. */
static bool comes_before(weft_type type, const void *x, size_t i, size_t k) {
    const test_value a = test_load(type, x, i), b = test_load(type, x, k);
    if (test_is_float(type))
        return a.f < b.f || (a.f == b.f && signbit(a.f) && !signbit(b.f));
    return test_is_signed(type) ? a.i < b.i : a.u < b.u;
}

static weft_statistics expect(weft_type type, size_t n, const void *x) {
    weft_statistics s = {.min_at = WEFT_NOWHERE, .max_at = WEFT_NOWHERE};
    long double sum = 0, squares = 0, near = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = value(type, x, i);
        if (isnan(v)) {
            s.nans++;
            continue;
        }
        if (s.count == 0 || comes_before(type, x, i, s.min_at))
            s.min_at = i;
        if (s.count == 0 || comes_before(type, x, s.max_at, i))
            s.max_at = i;
        if (s.count++ == 0)
            near = isfinite(v) ? v : 0;
        sum += (long double)v - near;
    }
    const long double mean = sum / (long double)s.count; /* less `near` */
    for (size_t i = 0; i < n; i++) {
        const double v = value(type, x, i);
        if (!isnan(v))
            squares += ((long double)v - near - mean) * ((long double)v - near - mean);
    }
    s.min = s.count ? value(type, x, s.min_at) : NAN;
    s.max = s.count ? value(type, x, s.max_at) : NAN;
    s.mean = (double)(near + mean);
    s.variance = (double)(squares / (long double)s.count);
    return s;
}

static bool same(double a, double b) {
    return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

static bool is_right(weft_type type, const weft_statistics *got, const weft_statistics *right) {
    const bool facts = got->count == right->count && got->nans == right->nans &&
                       got->min_at == right->min_at && got->max_at == right->max_at &&
                       same(got->min, right->min) && same(got->max, right->max);
    if (!facts || right->count == 0)
        return facts && isnan(got->mean) && isnan(got->variance);
    if (isinf(right->min) || isinf(right->max))
        return isnan(got->variance) && /* differences of f64 may be infinite, too */
               (same(got->mean, right->mean) || (type == WEFT_F64 && !isfinite(got->mean)));
    if (right->min == right->max)
        return got->mean == right->min && got->variance == 0;
    if (isinf(right->variance)) /* and the mean, where differences are beyond f64 */
        return !isfinite(got->variance);
    const double deviation = sqrt(right->variance);
    return fabs(got->mean - right->mean) <=
               0x1p-30 * deviation + 2 * DBL_EPSILON * fabs(right->mean) + DBL_MIN &&
           fabs(got->variance - right->variance) <= 0x1p-30 * right->variance + DBL_MIN;
}

/* ---- every rung ---- */

static void check(rig *r, const summary_case *c) {
    const size_t size = test_size_of(c->type);
    test_buffer *const x = &r->x[(c->device & DEVICE_X) != 0];
    test_buffer *const result = &r->result[(c->device & DEVICE_RESULT) != 0];
    test_buffer_load(x, r->source, c->n * size, c->offset * size);
    test_buffer_poison(result, sizeof(weft_statistics), c->device & DEVICE_RESULT ? 8 : 3);
    test_use(r->ctx, "summary", c->row);
    const weft_status status =
        weft_summary(r->ctx, c->type, c->n, x->p, (weft_statistics *)(void *)result->p);
    if (status != WEFT_OK)
        fail_msg("%s: %s", describe(r, c), weft_message(r->ctx));
    if (c->n > 0)
        test_used(r->ctx, "summary", c->row, describe(r, c));
    weft_statistics got;
    memcpy(&got, test_buffer_read(result, describe(r, c)), sizeof got);
    const weft_statistics right = expect(c->type, c->n, r->source);
    if (!is_right(c->type, &got, &right))
        fail_msg("%s: %llu + %llu, %.17g at %lld, %.17g at %lld, mean %.17g, variance %.17g; not "
                 "%llu + %llu, %.17g at %lld, %.17g at %lld, %.17g, %.17g",
                 describe(r, c), (unsigned long long)got.count, (unsigned long long)got.nans,
                 got.min, (long long)got.min_at, got.max, (long long)got.max_at, got.mean,
                 got.variance, (unsigned long long)right.count, (unsigned long long)right.nans,
                 right.min, (long long)right.min_at, right.max, (long long)right.max_at, right.mean,
                 right.variance);
    test_use(r->ctx, "summary", NULL);
}

/* Numbers near one that is 2^20 times their distance. */
static void shift_away(rig *r, const summary_case *c) {
    for (size_t i = 0; i < c->n; i++) {
        test_value v = {.f = 0};
        if (test_is_float(c->type))
            v.f = 1 + test_unit(&r->random) * test_roundoff(c->type) * 8;
        else
            v.u = UINT64_C(0x4040404040404040) + test_below(&r->random, 8);
        test_store(c->type, r->source, i, v);
    }
}

static bool run_case(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    const summary_case c = {.row = row,
                            .type = (weft_type)at[0],
                            .n = n,
                            .offset = at[2],
                            .pattern = (test_pattern)at[1],
                            .device = r->ctx->kind == WI_CUDA ? (unsigned)at[3] : 0};
    if (c.pattern > TEST_NANS)
        shift_away(r, &c);
    else
        test_fill(&r->random, c.pattern, c.type, n, r->source);
#ifdef WEFT_EMU
    wi_summary_blocks = test_below(&r->random, 2) ? 1 : SIZE_MAX; /* one takes many turns */
#endif
    check(r, &c);
#ifdef WEFT_EMU
    wi_summary_blocks = SIZE_MAX;
#endif
    return true;
}

static void sweep(weft_context *ctx, const size_t *sizes, size_t count, unsigned share,
                  unsigned must) {
    rig r = rig_open(ctx, sizes[count - 1]);
    const test_sweep s = {
        .sizes = sizes,
        .size_count = count,
        .ladder = &wi_summary_ladder,
        .extent = {WEFT_TYPE_COUNT, TEST_NANS + 2, 5, ctx->kind == WI_CUDA ? 4 : 1},
        .must = must,
        .share = share,
        .one_in = 3,
        .run = run_case};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void small(weft_context *ctx) {
    sweep(ctx, test_small_sizes, test_small_size_count, 30, 3);
}

static void large(weft_context *ctx) {
    static const size_t sizes[] = {32768, 33001, 65536, 70001, 140003};
    sweep(ctx, sizes, sizeof sizes / sizeof *sizes, 30, ctx->kind == WI_CPU);
}

/* ---- single cases ---- */

/* Each instruction set, any number of threads: the same bits. */
static void same_bits(void **state) {
    enum {
        N = 1234567
    };
    (void)state;
    double *const x = malloc(N * sizeof *x);
    test_random random = test_random_at(72);
    weft_statistics first;
    assert_non_null(x);
    test_fill(&random, TEST_ANY, WEFT_F64, N, x);
    for (int threads = 1; threads <= 3 && test_size_wanted(N); threads++) {
        char place[] = "cpu:0";
        place[4] = (char)('0' + threads);
        weft_context *const ctx = test_open(place);
        weft_statistics s;
        assert_int_equal(weft_summary(ctx, WEFT_F64, N, x, &s), WEFT_OK);
        if (threads == 1)
            first = s;
        assert_memory_equal(&s, &first, sizeof s);
        weft_close(ctx);
    }
    free(x);
}

/* Sorted numbers, with one far off first: the number that differences are taken to is a bad one. */
static void outlier(weft_context *ctx) {
    enum {
        N = 5000
    };
    static double x[N];
    weft_statistics s;
    for (size_t i = 0; i < N; i++)
        x[i] = 1e6 + (double)i;
    x[0] = 1e15;
    const weft_statistics right = expect(WEFT_F64, N, x);
    assert_int_equal(weft_summary(ctx, WEFT_F64, N, x, &s), WEFT_OK);
    assert_true(is_right(WEFT_F64, &s, &right));
}

/* Bytes that rise or fall over more turns of a thread than its sums stay open for: each turn has
 * new extremes, also after one of the type's ends was met. */
static void bytes_in_order(weft_context *ctx) {
    enum {
        N = 1100003
    };
    rig r = rig_open(ctx, N);
#ifdef WEFT_EMU
    wi_summary_blocks = 1;
#endif
    for (unsigned k = 0; k < 4 && test_size_wanted(N); k++) {
        const summary_case c = {.type = k & 1 ? WEFT_I8 : WEFT_U8,
                                .n = N,
                                .device = ctx->kind == WI_CUDA ? DEVICE_X : 0};
        for (size_t i = 0; i < N; i++) {
            const size_t rising = i * 256 / N;
            ((unsigned char *)r.source)[i] =
                (unsigned char)((k & 2 ? 255 - rising : rising) + (k & 1 ? 128 : 0));
        }
        check(&r, &c);
    }
#ifdef WEFT_EMU
    wi_summary_blocks = SIZE_MAX;
#endif
    rig_close(&r);
}

/* -0 is below 0: one of them among others of the other sign, beside elements of one sign only. */
static void zeros(weft_context *ctx) {
    enum {
        N = 13001
    };
    rig r = rig_open(ctx, N);
#ifdef WEFT_EMU
    wi_summary_blocks = 1;
#endif
    for (unsigned k = 0; k < 12; k++) {
        const double sign = k & 1 ? -1 : 1, rare = 0.0 * -sign;
        const summary_case c = {
            .type = WEFT_F64, .n = N, .device = ctx->kind == WI_CUDA ? DEVICE_X : 0};
        double *const x = (double *)r.source;
        for (size_t i = 0; i < N; i++)
            x[i] = sign * (double)test_below(&r.random, 3);
        x[test_below(&r.random, N)] = rare;
        check(&r, &c);
    }
#ifdef WEFT_EMU
    wi_summary_blocks = SIZE_MAX;
#endif
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small),          TEST_ON_EACH_PLACE(large),
        cmocka_unit_test(same_bits),        TEST_ON_EACH_PLACE(outlier),
        TEST_ON_EACH_PLACE(bytes_in_order), TEST_ON_EACH_PLACE(zeros),
    };
    return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
