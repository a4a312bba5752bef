/* SPDX-License-Identifier: Apache-2.0 */
/* What scan promises of its range and of zeros. On the cpu, while every prefix is in range, so is
 * every output, whatever the sums and products of neighbours among the elements would do;
 * infinities and zeros among the elements have the effect that they have in the loop one would
 * write. On a GPU, outputs are in range while the sum of all magnitudes is. Everywhere the sign of
 * a zero is the one that additions and multiplications by IEEE 754 give. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "testing.h"

enum {
    LONGEST = 70001
};

static const weft_type floats[] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};
static const size_t sizes[] = {5, 40, 1000, 5003, LONGEST};

enum {
    FLOATS = sizeof floats / sizeof *floats,
    SIZES = sizeof sizes / sizeof *sizes
};

/* One array, what its scan should be, and how far off an output may be, relative to itself. */
typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer x, y;
    void *source;
    long double *expected; /* inclusive, `init` included */
    double init;
    double tolerance;
} rig;

static rig rig_open(weft_context *ctx) {
    const bool gpu = ctx->kind == WI_CUDA;
    rig r = {.ctx = ctx,
             .random = test_random_at(11),
             .x = test_buffer_open(ctx, gpu, LONGEST * 8),
             .y = test_buffer_open(ctx, gpu, LONGEST * 8)};
    r.source = malloc(LONGEST * 8);
    r.expected = malloc(LONGEST * sizeof *r.expected);
    assert_true(r.source && r.expected);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->x);
    test_buffer_close(&r->y);
    free(r->source);
    free(r->expected);
}

/* Numbers that agree within the tolerance, or are the same infinity or zero, or NaN both. */
static bool is_right(const rig *r, weft_type type, double got, long double expected) {
    if (!isfinite(expected) || expected == 0) {
        return test_same(type, (test_value){.f = got}, (test_value){.f = (double)expected});
    }
    return fabsl(got - expected) <= r->tolerance * fabsl(expected);
}

/* Every kind of scan of the first n elements, by one row, apart or in place; on a GPU one of them.
 */
static void check(rig *r, const wi_row *row, weft_op op, weft_type type, size_t n) {
    const size_t size = test_size_of(type);
    const int drawn = (int)test_below(&r->random, 4);
    unsigned char init[8];
    test_store(type, init, 0, (test_value){.f = r->init});
    for (int form = 0; form < 4; form++) {
        if (r->ctx->kind == WI_CUDA && form != drawn) {
            continue;
        }
        const bool exclusive = form & 1, in_place = form & 2;
        test_buffer *const y = in_place ? &r->x : &r->y;
        test_buffer_load(&r->x, r->source, n * size, 0);
        if (!in_place) {
            test_buffer_poison(y, n * size, 0);
        }
        test_use(r->ctx, "scan", row);
        const weft_status status = weft_scan(r->ctx, exclusive ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE,
                                             op, type, n, r->x.p, y->p, init);
        if (status == WEFT_EUNSUPPORTED && row && row->kinds & WI_ON_CUDA) {
            return; /* it takes few types or sizes */
        }
        assert_int_equal(status, WEFT_OK);
        const void *const got = test_buffer_read(y, "scan");
        for (size_t i = 0; i < n; i++) {
            const double value = test_load(type, got, i).f;
            const long double expected = !exclusive ? r->expected[i]
                                         : i > 0    ? r->expected[i - 1]
                                                    : r->init;
            if (!is_right(r, type, value, expected)) {
                fail_msg("%s %s of %zu %s%s on %s, variant %s: y[%zu] is %.17g, should be %.17Lg",
                         exclusive ? "exclusive" : "inclusive", test_op_name(op), n,
                         test_type_name(type), in_place ? ", in place" : "", weft_place(r->ctx),
                         row ? row->name : "auto", i, value, expected);
            }
        }
    }
}

static void check_rows(rig *r, weft_op op, weft_type type, size_t n) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(r->ctx, &wi_scan_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        const bool slow = rows[k] && strcmp(rows[k]->name, "all_prefixes") == 0 && n > 1000;
        if (!slow) {
            check(r, rows[k], op, type, n);
        }
    }
}

/* Sets x[i], and with it what is expected from there on. */
static void put(rig *r, weft_op op, weft_type type, size_t i, double x) {
    const long double before = i > 0 ? r->expected[i - 1] : r->init;
    test_store(type, r->source, i, (test_value){.f = x});
    x = test_load(type, r->source, i).f;
    r->expected[i] = op == WEFT_SUM ? before + x : before * x;
}

/* Whole multiples of an eighth of the largest power of two, such that no prefix is above the
 * largest number, though sums of neighbours are: of up to 14 times as much. All is exact. */
static void fill_large_sums(rig *r, weft_type type, size_t n) {
    const double unit = ldexp(1, ilogb(test_largest_of(type)) - 3);
    for (size_t i = 0; i < n; i++) {
        const long double before = i > 0 ? r->expected[i - 1] : r->init;
        double x = unit * (double)(1 + test_below(&r->random, 15));
        if (before > 0 || (before == 0 && test_below(&r->random, 2))) {
            x = -x;
        }
        put(r, WEFT_SUM, type, i, x);
    }
}

/* Factors from about the smallest normal number to the largest, such that no prefix is close to
 * either, though products of neighbours are beyond. */
static void fill_wild_products(rig *r, weft_type type, size_t n) {
    const int most = ilogb(test_largest_of(type)) - 8;
    for (size_t i = 0; i < n; i++) {
        const long double before = i > 0 ? r->expected[i - 1] : r->init;
        const int now = ilogbl(before), room = now > 0 ? now + most : most - now;
        const int step = (int)test_below(&r->random, (uint64_t)(room < most ? room : most));
        double x = ldexp(1.5 + test_unit(&r->random) / 2, now > 0 ? -step : step);
        put(r, WEFT_PRODUCT, type, i, test_below(&r->random, 2) ? x : -x);
    }
}

/* A product's error grows with its length; that a prefix has lost its digits is seen well above. */
static double product_tolerance(weft_type type, size_t n) {
    const double inside = type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    return 2.2 * (double)n * inside + 2 * test_roundoff(type);
}

static void prefixes_in_range(weft_context *ctx) {
    if (ctx->kind != WI_CPU) {
        return;
    }
    rig r = rig_open(ctx);
    for (size_t k = 0; k < SIZES * FLOATS; k++) {
        const weft_type type = floats[k % FLOATS];
        const size_t n = sizes[k / FLOATS];
        r.init = 0;
        r.tolerance = 0;
        fill_large_sums(&r, type, n);
        check_rows(&r, WEFT_SUM, type, n);
        r.init = 1;
        r.tolerance = product_tolerance(type, n);
        fill_wild_products(&r, type, n);
        check_rows(&r, WEFT_PRODUCT, type, n);
    }
    rig_close(&r);
}

/* From an infinity on a sum is infinite, from a zero on a product is zero, though neighbours behind
 * it overflow. */
static void absorbing_elements(weft_context *ctx) {
    if (ctx->kind != WI_CPU) {
        return;
    }
    rig r = rig_open(ctx);
    for (size_t k = 0; k < SIZES * FLOATS; k++) {
        const weft_type type = floats[k % FLOATS];
        const size_t n = sizes[k / FLOATS], at = test_below(&r.random, n);
        const double largest = test_largest_of(type);
        r.init = 0;
        r.tolerance = 0;
        fill_large_sums(&r, type, at);
        put(&r, WEFT_SUM, type, at, INFINITY);
        for (size_t i = at + 1; i < n; i++) {
            put(&r, WEFT_SUM, type, i, test_below(&r.random, 4) ? -largest : largest);
        }
        check_rows(&r, WEFT_SUM, type, n);
        r.init = 1;
        r.tolerance = product_tolerance(type, n);
        fill_wild_products(&r, type, at);
        put(&r, WEFT_PRODUCT, type, at, -0.0);
        for (size_t i = at + 1; i < n; i++) {
            put(&r, WEFT_PRODUCT, type, i, test_below(&r.random, 2) ? -largest : largest);
        }
        check_rows(&r, WEFT_PRODUCT, type, n);
    }
    rig_close(&r);
}

/* What holds on every place: the sum of all magnitudes is below the largest number. */
static void magnitudes_in_range(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = FLOATS; k < SIZES * FLOATS; k++) {
        const weft_type type = floats[k % FLOATS];
        const size_t n = sizes[k / FLOATS];
        if (!test_size_wanted(n)) {
            continue;
        }
        const double unit = ldexp(1, ilogb(test_largest_of(type)) - 3);
        r.init = 0;
        r.tolerance = 0;
        for (size_t i = 0; i < n; i++) {
            put(&r, WEFT_SUM, type, i, 0);
        }
        for (size_t turn = 0; turn < 14; turn++) { /* whoever is drawn twice counts twice */
            const size_t i = test_below(&r.random, n);
            const double x = test_load(type, r.source, i).f;
            test_store(type, r.source, i,
                       (test_value){.f = x < 0 || turn % 2 ? x - unit : x + unit});
        }
        for (size_t i = 0; i < n; i++) {
            put(&r, WEFT_SUM, type, i, test_load(type, r.source, i).f);
        }
        check_rows(&r, WEFT_SUM, type, n);
    }
    rig_close(&r);
}

/* -0.0 and only that adds up to -0.0; from a +0.0 on, sums are +0.0. Products take the signs of all
 * their factors. */
static void signs_of_zeros(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = FLOATS; k < SIZES * FLOATS; k++) {
        const weft_type type = floats[k % FLOATS];
        const size_t n = sizes[k / FLOATS];
        if (!test_size_wanted(n)) {
            continue;
        }
        r.init = -0.0;
        r.tolerance = 0;
        for (size_t end = n / 2; end <= n; end += n - n / 2) {
            for (size_t i = 0; i < n; i++) {
                put(&r, WEFT_SUM, type, i, i == end ? 0.0 : -0.0);
            }
            check_rows(&r, WEFT_SUM, type, n);
        }
        for (size_t i = 0; i < n; i++) {
            put(&r, WEFT_PRODUCT, type, i, test_below(&r.random, 2) ? -1 : 1);
        }
        check_rows(&r, WEFT_PRODUCT, type, n);
    }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(prefixes_in_range),
        TEST_ON_EACH_PLACE(absorbing_elements),
        TEST_ON_EACH_PLACE(magnitudes_in_range),
        TEST_ON_EACH_PLACE(signs_of_zeros),
    };
    return cmocka_run_group_tests_name("scan, range and zeros", tests, NULL, NULL);
}
