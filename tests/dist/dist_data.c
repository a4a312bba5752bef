/* SPDX-License-Identifier: Apache-2.0 */
/* map, reduce, scan and histogram over ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist.h"

enum {
    MOST = 3000
};

static const size_t sizes[] = {0, 1, 2, 5, 64, 257, MOST};

static void for_each(uint64_t stream, dist_case *body) {
    dist_for_each(stream, sizes, sizeof sizes / sizeof *sizes, body);
}

/* ---- map ---- */

static void map_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_SMALL, type, n);
    char *const y = dist_whole(r, TEST_SMALL, type, n);
    char *const z = malloc(n * size + 1);
    void *const one = dist_whole(r, TEST_EQUAL, type, 1);
    const dist_part part = dist_deal(r, shape, n);
    const size_t at = part.first * size, bytes = part.n * size;
    dist_array dx = dist_take(r, x + at, bytes), dy = dist_take(r, y + at, bytes);
    dist_array dz = dist_take(r, NULL, bytes);
    dist_ok(dist_one, weft_add(dist_one, type, n, x, y, z));
    dist_ok(dist_ctx, weft_add(dist_ctx, type, part.n, dx.p, dy.p, dz.p));
    dist_expect(&dz, z + at, bytes, "weft_add");
    dist_ok(dist_one, weft_axpy(dist_one, type, n, one, x, y));
    dist_ok(dist_ctx, weft_axpy(dist_ctx, type, part.n, one, dx.p, dy.p));
    dist_expect(&dy, y + at, bytes, "weft_axpy");
    dist_ok(dist_one, weft_iota(dist_one, type, n, one, one, z));
    dist_ok(dist_ctx, weft_iota(dist_ctx, type, part.n, one, one, dz.p));
    dist_expect(&dz, z + at, bytes, "weft_iota");
    dist_ok(dist_one, weft_fill(dist_one, type, n, one, z));
    dist_ok(dist_ctx, weft_fill(dist_ctx, type, part.n, one, dz.p));
    dist_expect(&dz, z + at, bytes, "weft_fill");
    /* the parts of a matrix lie one below the other */
    const size_t cols = 3;
    dist_array m = dist_take(r, NULL, 3 * bytes);
    char *const whole = malloc(3 * n * size + 1);
    dist_ok(dist_one, weft_iota_matrix(dist_one, type, n, cols, one, one, whole, cols));
    dist_ok(dist_ctx, weft_iota_matrix(dist_ctx, type, part.n, cols, one, one, m.p, cols));
    dist_expect(&m, whole + 3 * at, 3 * bytes, "weft_iota_matrix");
    dist_give(&dx), dist_give(&dy), dist_give(&dz), dist_give(&m);
    free(x), free(y), free(z), free(one), free(whole);
}

void dist_test_map(void **state) {
    (void)state;
    for_each(1, map_case);
    assert_string_equal(weft_used(dist_ctx, "map"), "ranks");
}

/* ---- reduce ---- */

static void reduce_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const test_pattern patterns[] = {TEST_SMALL, TEST_NANS, TEST_TIES, TEST_SIGNS};
    const size_t size = test_size_of(type);
    const test_pattern pattern = patterns[dist_draw(r, 4)];
    char *const x = dist_whole(r, pattern, type, n);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    for (int op = 0; op < WEFT_OP_COUNT; op++) {
        weft_type result_type;
        uint64_t wanted = 0, got = 0;
        if (weft_reduce_type((weft_op)op, type, &result_type) != WEFT_OK)
            continue;
        dist_ok(dist_one, weft_reduce(dist_one, (weft_op)op, type, n, x, &wanted));
        dist_array dr = dist_take(r, NULL, test_size_of(result_type));
        dist_ok(dist_ctx, weft_reduce(dist_ctx, (weft_op)op, type, part.n, dx.p, dr.p));
        dist_ok(dist_ctx, weft_copy(dist_ctx, &got, dr.p, test_size_of(result_type)));
        dist_give(&dr);
        const test_value a = test_load(result_type, &wanted, 0),
                         b = test_load(result_type, &got, 0);
        const bool exact = op == WEFT_MIN || op == WEFT_MAX || op == WEFT_ARGMIN ||
                           op == WEFT_ARGMAX || op == WEFT_NRMINF || !test_is_float(result_type) ||
                           pattern == TEST_SMALL || isnan(a.f) || isinf(a.f);
        const double tolerance =
            2 * test_roundoff(result_type == WEFT_F32 ? WEFT_F32 : WEFT_F64) * 8;
        const bool near =
            exact && op != WEFT_NRM2 ? test_same(result_type, a, b)
            : isnan(a.f)             ? isnan(b.f)
            : isinf(a.f)
                ? a.f == b.f
                : fabs(a.f - b.f) <= tolerance * (fabs(a.f) + (double)n * (op == WEFT_SUM ? 4 : 0));
        if (!near)
            fail_msg("%s of %zu %s (pattern %d): %s, not %s", test_op_name((weft_op)op), n,
                     test_type_name(type), pattern, test_text(result_type, b),
                     test_text(result_type, a));
    }
    dist_give(&dx);
    free(x);
}

static void dot_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_SMALL, type, n);
    char *const y = dist_whole(r, TEST_SMALL, type, n);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array dy = dist_take(r, y + part.first * size, part.n * size);
    uint64_t wanted = 0, got = 0;
    dist_ok(dist_one, weft_dot_fast(dist_one, type, n, x, y, &wanted));
    dist_ok(dist_ctx, weft_dot_fast(dist_ctx, type, part.n, dx.p, dy.p, &got));
    assert_int_equal(wanted, got);
    dist_give(&dx), dist_give(&dy);
    free(x), free(y);
}

/* Exact sums have the bits of one place, whatever the data: by each call, and by a sum that is
 * kept.
 */
static void exact_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type), width = test_is_float(type) ? 8 : 0;
    char *const x = dist_whole(r, TEST_ANY, type, n), *const y = dist_whole(r, TEST_ANY, type, n);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array dy = dist_take(r, y + part.first * size, part.n * size);
    dist_array dr = dist_take(r, NULL, 8);
    uint64_t wanted[4] = {0}, got[4] = {0};
    weft_type wide = WEFT_F64;
    if (width == 0)
        weft_reduce_type(WEFT_SUM, type, &wide);
    dist_ok(dist_one, weft_exact_reduce(dist_one, WEFT_SUM, type, n, x, wide, &wanted[0]));
    dist_ok(dist_ctx, weft_exact_reduce(dist_ctx, WEFT_SUM, type, part.n, dx.p, wide, dr.p));
    dist_ok(dist_ctx, weft_copy(dist_ctx, &got[0], dr.p, 8));
    dist_ok(dist_one, weft_dot(dist_one, type, n, x, y, &wanted[1]));
    dist_ok(dist_ctx, weft_dot(dist_ctx, type, part.n, dx.p, dy.p, &got[1]));
    if (width > 0) {
        weft_exact *sum;
        dist_ok(dist_one, weft_exact_create(dist_one, &sum));
        dist_ok(dist_ctx, weft_exact_add(dist_ctx, sum, type, part.n, dx.p));
        dist_ok(dist_one, weft_exact_round(dist_one, sum, WEFT_F64, &got[2]));
        wanted[2] = wanted[0];
        weft_exact_destroy(sum);
        dist_ok(dist_one, weft_variance(dist_one, type, n, x, 1, WEFT_F64, &wanted[3]));
        dist_ok(dist_ctx, weft_variance(dist_ctx, type, part.n, dx.p, 1, WEFT_F64, &got[3]));
    }
    for (int k = 0; k < 4; k++) {
        if (wanted[k] != got[k])
            fail_msg("exact %d of %zu %s: %#llx, not %#llx", k, n, test_type_name(type),
                     (unsigned long long)got[k], (unsigned long long)wanted[k]);
    }
    dist_give(&dx), dist_give(&dy), dist_give(&dr);
    free(x), free(y);
}

/* Exact prefixes, too; from the value of rank 0. */
static void exact_scan_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    if (!test_is_float(type))
        return;
    char *const x = dist_whole(r, TEST_ANY, type, n), *const y = dist_whole(r, TEST_ANY, type, n);
    const dist_part part = dist_deal(r, shape, n);
    const weft_scan_kind kind = dist_draw(r, 2) ? WEFT_INCLUSIVE : WEFT_EXCLUSIVE;
    const void *const init = n > 0 && dist_draw(r, 2) ? y : NULL;
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array dy = dist_take(r, NULL, part.n * size);
    char *const got = malloc(part.n * size + 1);
    assert_non_null(got);
    dist_ok(dist_ctx, weft_exact_scan(dist_ctx, kind, type, part.n, dx.p, dy.p, init));
    dist_ok(dist_ctx, weft_copy(dist_ctx, got, dy.p, part.n * size));
    dist_ok(dist_one, weft_exact_scan(dist_one, kind, type, n, x, y, init));
    if (memcmp(got, y + part.first * size, part.n * size) != 0)
        fail_msg("exact scan of %zu %s over %d ranks has other bits than on one", n,
                 test_type_name(type), dist_ranks);
    dist_give(&dx), dist_give(&dy);
    free(x), free(y), free(got);
}

/* The parts' sums are not rounded before they are added: 2^24 and many 1/2 of other ranks. */
static void test_rounding(void) {
    const float big = 0x1p24F, half = 0.5F;
    float sum = 0, norm = 0;
    dist_ok(dist_ctx, weft_sum_fast(dist_ctx, 1, dist_rank == 0 ? &big : &half, &sum));
    assert_true(sum == (float)(0x1p24 + 0.5 * (dist_ranks - 1)));
    dist_ok(dist_ctx, weft_reduce(dist_ctx, WEFT_NRM2, WEFT_F32, 1, &half, &norm));
    assert_true(norm == (float)sqrt(0.25 * dist_ranks));
}

/* What is exact has the bits of one place; mean and variance are merged from other parts. */
static void summary_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_SMALL, type, n);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    weft_statistics wanted, got;
    dist_ok(dist_one, weft_summary(dist_one, type, n, x, &wanted));
    dist_ok(dist_ctx, weft_summary(dist_ctx, type, part.n, dx.p, &got));
    assert_int_equal(wanted.count, got.count);
    assert_int_equal(wanted.nans, got.nans);
    assert_true(wanted.min_at == got.min_at && wanted.max_at == got.max_at);
    if (n > 0)
        assert_true(wanted.min == got.min && wanted.max == got.max &&
                    fabs(wanted.mean - got.mean) <= 1e-12 &&
                    fabs(wanted.variance - got.variance) <= 1e-12);
    dist_give(&dx);
    free(x);
}

void dist_test_reduce(void **state) {
    (void)state;
    for_each(2, reduce_case);
    for_each(3, dot_case);
    for_each(4, exact_case);
    for_each(3, exact_scan_case);
    for_each(3, summary_case);
    test_rounding();
}

/* ---- scan ---- */

static bool close_to(weft_type type, test_value a, test_value b, double magnitude) {
    if (!test_is_float(type) || isnan(a.f) || isinf(a.f))
        return test_same(type, a, b);
    return fabs(a.f - b.f) <= 3 * test_roundoff(type) * magnitude;
}

static void scan_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const test_pattern patterns[] = {TEST_SMALL, TEST_ANY, TEST_SIGNS, TEST_NANS};
    const size_t size = test_size_of(type);
    for (int op = WEFT_SUM; op <= WEFT_XOR; op++) {
        const test_pattern pattern =
            op == WEFT_PRODUCT ? TEST_SIGNS : patterns[dist_draw(r, op < 2 ? 2 : 4)];
        const weft_scan_kind kind = (weft_scan_kind)dist_draw(r, 2);
        const bool with_init = dist_draw(r, 2);
        if (op >= WEFT_AND && test_is_float(type))
            continue;
        char *const x = dist_whole(r, pattern, type, n), *const y = malloc(n * size + 1);
        void *const init = dist_whole(r, TEST_SMALL, type, 1);
        const dist_part part = dist_deal(r, shape, n);
        dist_array dx = dist_take(r, x + part.first * size, part.n * size);
        dist_array di = dist_take(r, init, size);
        dist_ok(dist_one,
                weft_scan(dist_one, kind, (weft_op)op, type, n, x, y, with_init ? init : NULL));
        dist_ok(dist_ctx, weft_scan(dist_ctx, kind, (weft_op)op, type, part.n, dx.p, dx.p,
                                    with_init ? di.p : NULL));
        void *const got = dist_fetch(&dx);
        for (size_t i = 0; i < part.n; i++) {
            const test_value a = test_load(type, y, part.first + i), b = test_load(type, got, i);
            if (!close_to(type, a, b, (double)n * 4 + 4))
                fail_msg("%s of %zu %s, pattern %d, kind %d: rank %d, y[%zu] is %s, not %s",
                         test_op_name((weft_op)op), n, test_type_name(type), pattern, kind,
                         dist_rank, i, test_text(type, b), test_text(type, a));
        }
        dist_give(&dx), dist_give(&di);
        free(got), free(x), free(y), free(init);
    }
}

/* Outputs of 8 bytes, and behind each rank's the total so far; sums of these floats are exact. */
static void wide_scan_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_MAX, WEFT_XOR};
    const weft_type wide = test_is_float(type)    ? WEFT_F64
                           : test_is_signed(type) ? WEFT_I64
                                                  : WEFT_U64;
    const weft_op op = ops[dist_draw(r, test_is_float(type) ? 2 : 3)];
    const weft_scan_kind kind = (weft_scan_kind)dist_draw(r, 2);
    const size_t size = test_size_of(type);
    char *const x = dist_whole(r, TEST_SMALL, type, n);
    uint64_t *const y = calloc(n + 1, sizeof *y), *const room = calloc(n + 1, sizeof *room), total;
    assert_true(y && room);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array dy = dist_take(r, y, (part.n + 1) * sizeof *y);
    dist_ok(dist_one, weft_scan_wide(dist_one, kind, op, type, n, x, wide, y, NULL, NULL));
    dist_ok(dist_one, weft_scan_wide(dist_one, WEFT_EXCLUSIVE, op, type, part.first + part.n, x,
                                     wide, room, NULL, &total));
    dist_ok(dist_ctx, weft_scan_wide(dist_ctx, kind, op, type, part.n, dx.p, wide, dy.p, NULL,
                                     (char *)dy.p + part.n * sizeof *y));
    uint64_t *const got = dist_fetch(&dy);
    for (size_t i = 0; i <= part.n; i++) {
        const uint64_t right = i < part.n ? y[part.first + i] : total;
        if (got[i] != right)
            fail_msg("wide %s of %zu %s, kind %d: rank %d, output %zu is wrong", test_op_name(op),
                     n, test_type_name(type), kind, dist_rank, i);
    }
    dist_give(&dx), dist_give(&dy);
    free(got), free(x), free(y), free(room);
}

/* A sum of nothing but -0.0 is -0.0, on every rank. */
static void test_zeros(void) {
    const double zero = -0.0;
    double y = 1;
    dist_ok(dist_ctx, weft_scan(dist_ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F64, 1, &zero, &y, &zero));
    assert_true(y == 0 && signbit(y));
}

void dist_test_scan(void **state) {
    (void)state;
    for_each(4, scan_case);
    for_each(3, wide_scan_case);
    test_zeros();
}

/* ---- histogram ---- */

static void histogram_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const double edges[] = {-INFINITY, -2, -0.5, -0.5, 1, 3};
    const weft_bins even = {.count = 7, .lo = -3, .hi = 3}, uneven = {.count = 5, .edges = edges};
    const size_t size = test_size_of(type), channels = 1 + dist_draw(r, WEFT_MOST_CHANNELS);
    const bool wide = dist_draw(r, 2), bytes = type == WEFT_U8 && dist_draw(r, 2);
    const weft_type count_type = wide ? WEFT_U64 : WEFT_I32;
    const weft_counting counting = (weft_counting)dist_draw(r, 2);
    const weft_bins *const bins = bytes ? NULL : dist_draw(r, 2) ? &even : &uneven;
    const size_t slots = (bins ? bins->count : 256) * channels, count_size = wide ? 8 : 4;
    char *const x = dist_whole(r, test_is_float(type) ? TEST_NANS : TEST_SMALL, type, n * channels);
    char *const counts = malloc(slots * count_size), *const outside = malloc(12 * count_size);
    memset(counts, 0x11, slots * count_size);
    memset(outside, 0x11, 12 * count_size);
    const dist_part part = dist_deal(r, shape, n);
    const size_t pixel = channels * size;
    dist_array dx = dist_take(r, x + part.first * pixel, part.n * pixel);
    dist_array dc = dist_take(r, counts, slots * count_size);
    dist_array d_out = dist_take(r, outside, 3 * channels * count_size);
    dist_ok(dist_one, weft_histogram(dist_one, type, n, (unsigned)channels, x, bins, counting,
                                     count_type, counts, outside));
    dist_ok(dist_ctx, weft_histogram(dist_ctx, type, part.n, (unsigned)channels, dx.p, bins,
                                     counting, count_type, dc.p, d_out.p));
    dist_expect(&dc, counts, slots * count_size, "counts of weft_histogram");
    dist_expect(&d_out, outside, 3 * channels * count_size, "outside of weft_histogram");
    dist_give(&dx), dist_give(&dc), dist_give(&d_out);
    free(x), free(counts), free(outside);
}

void dist_test_histogram(void **state) {
    (void)state;
    for_each(5, histogram_case);
}
