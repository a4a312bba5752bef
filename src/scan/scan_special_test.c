/* SPDX-License-Identifier: Apache-2.0 */
/* What scan promises of single values (NaN, infinities, signed zeros, wrapping), of empty input,
 * and of its bits: the same on every run, at every alignment, with any number of threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"
#include "testing.h"

enum {
    MOST = 4,
    LONGEST = 300007
};

/* x and y in memory of the place. */
typedef struct rig {
    weft_context *ctx;
    test_buffer x, y;
} rig;

static rig rig_open(weft_context *ctx) {
    bool gpu = ctx->kind == WI_CUDA;
    return (rig){.ctx = ctx,
                 .x = test_buffer_open(ctx, gpu, LONGEST * 8),
                 .y = test_buffer_open(ctx, gpu, LONGEST * 8)};
}

static void rig_close(rig *r) {
    test_buffer_close(&r->x);
    test_buffer_close(&r->y);
}

/* A host view of y; NULL if the row may refuse and does. */
static const void *scan(rig *r, const wi_row *row, weft_scan_kind kind, weft_op op, weft_type type,
                        size_t n, const void *x, size_t offset, const void *init) {
    char what[96];
    size_t size = test_size_of(type);
    snprintf(what, sizeof what, "%s of %zu %s on %s, variant %s", test_op_name(op), n,
             test_type_name(type), weft_place(r->ctx), row ? row->name : "auto");
    test_buffer_load(&r->x, x, n * size, offset * size);
    test_buffer_poison(&r->y, n * size, 2 * offset * size);
    test_use(r->ctx, "scan", row);
    weft_status status = weft_scan(r->ctx, kind, op, type, n, r->x.p, r->y.p, init);
    bool user = row && (row->kinds & WI_ON_CPU || strcmp(row->name, "lookback") == 0);
    if (status == WEFT_EUNSUPPORTED && row && !user) {
        return NULL;
    }
    if (status != WEFT_OK) {
        fail_msg("%s: %s", what, weft_message(r->ctx));
    }
    test_used(r->ctx, "scan", row, what);
    return test_buffer_read(&r->y, what);
}

static const weft_type floats[] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

/* ---- special values ---- */

typedef struct special_case {
    weft_scan_kind kind;
    weft_op op;
    weft_type type;
    size_t n;
    double x[MOST], y[MOST];
} special_case;

static const special_case specials[] = {
    {WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 3, {1, INFINITY, 2}, {1, INFINITY, INFINITY}},
    {WEFT_INCLUSIVE, WEFT_SUM, WEFT_F64, 3, {INFINITY, -INFINITY, 2}, {INFINITY, NAN, NAN}},
    {WEFT_EXCLUSIVE, WEFT_SUM, WEFT_F32, 3, {1, NAN, 2}, {0, 1, NAN}},
    {WEFT_INCLUSIVE, WEFT_SUM, WEFT_F16, 3, {60000, 60000, -60000}, {60000, INFINITY, 60000}},
    {WEFT_INCLUSIVE, WEFT_SUM, WEFT_BF16, 3, {256, 1, 1}, {256, 256, 258}},
    {WEFT_INCLUSIVE, WEFT_PRODUCT, WEFT_F64, 3, {2, 0, INFINITY}, {2, 0, NAN}},
    {WEFT_EXCLUSIVE, WEFT_PRODUCT, WEFT_F32, 3, {2, 3, 4}, {1, 2, 6}},
    {WEFT_INCLUSIVE, WEFT_MIN, WEFT_F32, 4, {1, 0.0, -0.0, 0.0}, {1, 0.0, -0.0, -0.0}},
    {WEFT_INCLUSIVE, WEFT_MAX, WEFT_F64, 4, {-1, -0.0, 0.0, -0.0}, {-1, -0.0, 0.0, 0.0}},
    {WEFT_INCLUSIVE, WEFT_MIN, WEFT_F16, 4, {3, NAN, -INFINITY, 1}, {3, NAN, NAN, NAN}},
    {WEFT_EXCLUSIVE, WEFT_MAX, WEFT_BF16, 4, {3, NAN, 9, 1}, {-INFINITY, 3, NAN, NAN}},
    {WEFT_EXCLUSIVE, WEFT_MIN, WEFT_F64, 2, {5, 4}, {INFINITY, 5}},
    {WEFT_INCLUSIVE, WEFT_MAX, WEFT_F32, 2, {-INFINITY, 0x1p-149}, {-INFINITY, 0x1p-149}},
    {WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 2, {0x1p-149, 0x1p-149}, {0x1p-149, 0x1p-148}},
};

/* The identity of a float operation, which as padding changes nothing that follows. */
static double neutral(weft_op op) {
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
        return INFINITY;
    case WEFT_MAX:
        return -INFINITY;
    default:
        return 0;
    }
}

/* An array that special values stand at the end of. */
typedef struct padded {
    rig *r;
    double *x;
} padded;

static void run_special(rig *r, const special_case *s, const wi_row *row, size_t padding, void *x) {
    for (size_t i = 0; i < padding; i++) {
        test_store(s->type, x, i, (test_value){.f = neutral(s->op)});
    }
    for (size_t i = 0; i < s->n; i++) {
        test_store(s->type, x, padding + i, (test_value){.f = s->x[i]});
    }
    const void *y = scan(r, row, s->kind, s->op, s->type, padding + s->n, x, 0, NULL);
    for (size_t i = 0; y && i < s->n; i++) {
        test_value got = test_load(s->type, y, padding + i);
        if (!test_same(s->type, got, (test_value){.f = s->y[i]})) {
            fail_msg("%s of %s {%g, %g, ...} after %zu neutral elements, variant %s: y[%zu] is "
                     "%.17g, should be %.17g",
                     test_op_name(s->op), test_type_name(s->type), s->x[0], s->x[1], padding,
                     row ? row->name : "auto", i, got.f, s->y[i]);
        }
    }
}

static bool run_special_at(void *scan_of_test, size_t padding, const wi_row *row,
                           const size_t at[]) {
    const padded *const p = scan_of_test;
    run_special(p->r, &specials[at[0]], row, padding, p->x);
    return true;
}

static void special_values(weft_context *ctx) {
    static const size_t paddings[] = {0, 100, 1000, 5000, 70000};
    const test_sweep s = {.sizes = paddings,
                          .size_count = sizeof paddings / sizeof *paddings,
                          .ladder = &wi_scan_ladder,
                          .extent = {sizeof specials / sizeof *specials},
                          .must = 1,
                          .share = 60,
                          .run = run_special_at};
    rig r = rig_open(ctx);
    padded p = {&r, malloc((70000 + MOST) * sizeof(double))};
    test_random random = test_random_at(80);
    assert_non_null(p.x);
    test_sweep_run(ctx, &random, &s, &p);
    free(p.x);
    rig_close(&r);
}

/* init of the right type is where the scan starts, and is y[0] of the exclusive one. */
static void initial_values(weft_context *ctx) {
    rig r = rig_open(ctx);
    const int32_t x[] = {1, 2, 3}, init = 10;
    const float f[] = {1, 2, 3}, nan = NAN;
    const int32_t *y = scan(&r, NULL, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_I32, 3, x, 0, &init);
    assert_true(y[0] == 10 && y[1] == 11 && y[2] == 13);
    y = scan(&r, NULL, WEFT_INCLUSIVE, WEFT_MAX, WEFT_I32, 3, x, 0, &init);
    assert_true(y[0] == 10 && y[1] == 10 && y[2] == 10);
    const float *g = scan(&r, NULL, WEFT_INCLUSIVE, WEFT_MIN, WEFT_F32, 3, f, 0, &nan);
    assert_true(isnan(g[0]) && isnan(g[1]) && isnan(g[2]));
    rig_close(&r);
}

/* From 2^40 on ones are too small for f32, and so is a tile of them; what is carried from tile to
 * tile must hold them all the same. An output is then within one rounding of the carry and one of
 * the sum, half a step of 2^17 each. */
static void f32_is_carried_in_f64(weft_context *ctx) {
    rig r = rig_open(ctx);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_scan_ladder, rows);
    const float init = 0x1p40f;
    float *x = malloc(LONGEST * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < LONGEST; i++) {
        x[i] = 1;
    }
    for (size_t k = 0; k < count && test_size_wanted(LONGEST); k++) {
        bool carries = !rows[k] || strcmp(rows[k]->name, "blocked") == 0 ||
                       strcmp(rows[k]->name, "lookback") == 0 || strcmp(rows[k]->name, "bulk") == 0;
        const float *y =
            carries ? scan(&r, rows[k], WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, LONGEST, x, 0, &init)
                    : NULL;
        for (size_t i = 0; y && i < LONGEST; i++) {
            double error = (double)y[i] - (0x1p40 + (double)(i + 1));
            if (!(fabs(error) <= 0x1p17)) {
                fail_msg("variant %s on %s: y[%zu] is off by %g", rows[k] ? rows[k]->name : "auto",
                         weft_place(ctx), i, error);
            }
        }
    }
    free(x);
    rig_close(&r);
}

static void bitwise_on_floats(weft_context *ctx) {
    double x = 1, y = 2;
    test_use(ctx, "scan", NULL);
    for (size_t k = 0; k < 4; k++) {
        for (int op = WEFT_AND; op <= WEFT_XOR; op++) {
            weft_status status =
                weft_scan(ctx, WEFT_INCLUSIVE, (weft_op)op, floats[k], 1, &x, &y, NULL);
            test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_scan", NULL);
            assert_true(y == 2);
        }
    }
}

static void typed_calls(weft_context *ctx) {
    const float x[] = {1, 2, 4};
    float y[3] = {0};
    assert_int_equal(weft_inclusive(ctx, WEFT_SUM, 3, x, y), WEFT_OK);
    assert_true(y[0] == 1 && y[1] == 3 && y[2] == 7);
    assert_int_equal(weft_exclusive(ctx, WEFT_PRODUCT, 3, x, y), WEFT_OK);
    assert_true(y[0] == 1 && y[1] == 1 && y[2] == 2);
}

/* ---- the same bits ---- */

/* Data of a float type for sums and for products, the same throughout a run of the test. */
static void *data[4][2];

static void fill_data(void) {
    test_random random = test_random_at(5);
    for (int k = 0; k < 4; k++) {
        for (int product = 0; product < 2; product++) {
            data[k][product] = malloc(LONGEST * 8);
            assert_non_null(data[k][product]);
            test_fill(&random, product ? TEST_NEAR_ONE : TEST_ANY, floats[k], LONGEST,
                      data[k][product]);
        }
    }
}

static void free_data(void) {
    for (int k = 0; k < 4; k++) {
        free(data[k][0]);
        free(data[k][1]);
    }
}

/* FNV-1a, eight bytes at a time; the last ones alone. */
static uint64_t hash_bytes(uint64_t hash, const void *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)p + at, bytes - at < 8 ? bytes - at : 8);
        hash = (hash ^ word) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* A checksum of the bits of every float scan of the first n elements. (Integers are exact, so the
 * other tests pin their bits.) */
static uint64_t digest(rig *r, const wi_row *row, size_t n, size_t offset) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t k = 0; k < 4 * 2 * 2; k++) {
        weft_type type = floats[k / 4];
        weft_scan_kind kind = k & 2 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE;
        weft_op op = k & 1 ? WEFT_PRODUCT : WEFT_SUM;
        const void *y = scan(r, row, kind, op, type, n, data[k / 4][k & 1], offset, NULL);
        if (y) {
            hash = hash_bytes(hash, y, n * test_size_of(type));
        }
    }
    return hash;
}

static void same_bits_of_row(rig *r, const wi_row *row, size_t n) {
    static const char *const others[] = {"cpu:2", "cpu:7"};
    const char *name = row ? row->name : "auto";
    uint64_t first = digest(r, row, n, 0);
    /* At another alignment a row that refuses leaves nothing to compare; the library's choice may
     * then be another rung, which promises its own bits only. */
    bool steady = r->ctx->kind == WI_CPU || (row && strcmp(row->name, "bulk") != 0);
    for (size_t again = 0; again < 4; again++) {
        size_t offset = steady ? again / 2 : 0;
        if (digest(r, row, n, offset) != first) {
            fail_msg("%s, variant %s, n %zu, offset %zu: other bits than before",
                     weft_place(r->ctx), name, n, offset);
        }
    }
    for (size_t k = 0; k < 2 && r->ctx->kind == WI_CPU; k++) {
        weft_context *ctx = test_open(others[k]);
        rig other = rig_open(ctx);
        if (digest(&other, row, n, 1) != first) {
            fail_msg("variant %s, n %zu: %s and %s give different bits", name, n,
                     weft_place(r->ctx), others[k]);
        }
        rig_close(&other);
        weft_close(ctx);
    }
}

static void same_bits(weft_context *ctx) {
    static const size_t sizes[] = {1000, 70001, LONGEST};
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_scan_ladder, rows);
    rig r = rig_open(ctx);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t k = 0; k < count && test_size_wanted(sizes[s]); k++) {
            same_bits_of_row(&r, rows[k], sizes[s]);
        }
    }
    rig_close(&r);
}

static void test_same_bits(void **state) {
    (void)state;
    fill_data();
    test_each_place(same_bits);
    free_data();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(special_values),        TEST_ON_EACH_PLACE(initial_values),
        TEST_ON_EACH_PLACE(f32_is_carried_in_f64), TEST_ON_EACH_PLACE(bitwise_on_floats),
        TEST_ON_EACH_PLACE(typed_calls),           cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests_name("scan, special values", tests, NULL, NULL);
}
