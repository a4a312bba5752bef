/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a rung: the one that costs least among those that can do the call. */
#include "core/rows.h"

#include <string.h>

#include "testing.h"

/* What the rows of the test are asked. */
typedef struct mock_args {
    size_t n;
} mock_args;

static const char *few_only(const weft_context *ctx, const void *args) {
    (void)ctx;
    return ((const mock_args *)args)->n <= 100 ? NULL : "needs n <= 100: one block";
}

static double by_n(const weft_context *ctx, const void *args) {
    (void)ctx;
    return (double)((const mock_args *)args)->n;
}

static double fifty(const weft_context *ctx, const void *args) {
    (void)ctx;
    (void)args;
    return 50;
}

static double ten_and_half(const weft_context *ctx, const void *args) {
    return 10 + by_n(ctx, args) / 2;
}

static weft_status run_nothing(weft_context *ctx, const void *args) {
    (void)args;
    (void)ctx;
    return WEFT_OK;
}

static weft_status run_into_trouble(weft_context *ctx, const void *args) {
    (void)args;
    return wi_fail(ctx, WEFT_EIO, "trouble");
}

enum {
    PLAIN,
    TAUGHT,
    FLAT,
    ELSEWHERE,
    APART,
    PICKY,
    MOCK_ROWS
};

static const wi_row mock_rows[MOCK_ROWS] = {
    [PLAIN] = {.name = "plain",
               .what = "",
               .kinds = WI_ON_CPU | WI_ON_CUDA,
               .types = WI_ALL_TYPES,
               .seconds = by_n,
               .run = run_nothing},
    [TAUGHT] = {.name = "taught",
                .what = "",
                .kinds = WI_ON_CPU,
                .types = WI_TAUGHT_TYPES,
                .run = run_nothing},
    [FLAT] = {.name = "flat",
              .what = "",
              .kinds = WI_ON_CPU,
              .types = WI_FLOATS | WI_TYPE(WEFT_U32),
              .seconds = fifty,
              .run = run_nothing},
    [ELSEWHERE] = {.name = "elsewhere",
                   .what = "",
                   .kinds = WI_ON_CUDA,
                   .types = WI_ALL_TYPES,
                   .seconds = wi_no_rival,
                   .run = run_nothing},
    [APART] = {.name = "apart",
               .what = "",
               .kinds = WI_ON_CPU,
               .scope = WI_DISTRIBUTED,
               .types = WI_ALL_TYPES,
               .seconds = wi_no_rival,
               .run = run_nothing},
    [PICKY] = {.name = "picky",
               .what = "",
               .kinds = WI_ON_CPU,
               .types = WI_ALL_TYPES,
               .misfit = few_only,
               .seconds = ten_and_half,
               .run = run_nothing},
};

/* It goes by the name of an operation there is, and so has that one's place in a context. */
static const wi_ladder mock_ladder = {"map", mock_rows, MOCK_ROWS};

static size_t index_of_map(void) {
    size_t map = 0;
    while (strcmp(wi_ops[map]->op, "map") != 0)
        map++;
    return map;
}

static weft_status run_mock(weft_context *ctx, weft_type type, size_t n) {
    return wi_run(ctx, &mock_ladder, "weft_mock", type, &(mock_args){n});
}

static void expect_row(weft_context *ctx, weft_type type, size_t n, const char *row) {
    assert_int_equal(run_mock(ctx, type, n), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), row);
    assert_string_equal(wi_pick(ctx, &mock_ladder, type, &(mock_args){n})->name, row);
}

/* The least cost decides, then the later row. */
static void test_choice(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    expect_row(ctx, WEFT_F32, 0, "plain");
    expect_row(ctx, WEFT_F32, 19, "plain");
    expect_row(ctx, WEFT_F32, 20, "picky"); /* as dear as plain */
    expect_row(ctx, WEFT_F32, 80, "picky"); /* as dear as flat */
    expect_row(ctx, WEFT_F32, 81, "flat");
    expect_row(ctx, WEFT_F32, 101, "flat");
    expect_row(ctx, WEFT_I8, 81, "picky"); /* flat takes no i8 */
    expect_row(ctx, WEFT_I8, 100, "picky");
    expect_row(ctx, WEFT_I8, 101, "plain"); /* picky cannot */
    expect_row(ctx, WI_NO_TYPE, 81, "picky");
    weft_close(ctx);
}

static void test_no_choice(void **state) {
    (void)state;
    const mock_args many = {101};
    weft_context *const ctx = test_open("cpu:1");
    const wi_ladder picky = {"map", mock_rows + PICKY, 1}, taught = {"map", mock_rows + TAUGHT, 1};
    const wi_ladder flat = {"map", mock_rows + FLAT, 1}, apart = {"map", mock_rows + APART, 1};
    test_refused(ctx, wi_run(ctx, &picky, "weft_mock", WEFT_F32, &many), WEFT_EUNSUPPORTED,
                 "weft_mock", "map");
    assert_non_null(strstr(weft_message(ctx), "one block"));
    test_refused(ctx, wi_run(ctx, &flat, "weft_mock", WEFT_I8, &many), WEFT_EUNSUPPORTED,
                 "weft_mock", "i8");
    test_refused(ctx, wi_run(ctx, &taught, "weft_mock", WEFT_F32, &many), WEFT_EUNSUPPORTED,
                 "weft_mock", "no rung of it");
    test_refused(ctx, wi_run(ctx, &apart, "weft_mock", WEFT_F32, &many), WEFT_EUNSUPPORTED,
                 "weft_mock", "no rung of it");
    assert_null(weft_used(ctx, "map"));
    weft_close(ctx);
}

static void test_forced_row(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    const size_t map = index_of_map();
    ctx->forced[map] = &mock_rows[PICKY];
    assert_int_equal(run_mock(ctx, WEFT_F32, 1), WEFT_OK); /* where another one costs less */
    assert_string_equal(weft_used(ctx, "map"), "picky");
    test_refused(ctx, run_mock(ctx, WEFT_F32, 101), WEFT_EUNSUPPORTED, "weft_mock", "picky");
    assert_non_null(strstr(weft_message(ctx), "one block"));
    assert_string_equal(weft_used(ctx, "map"), "picky"); /* the latest that succeeded */
    ctx->forced[map] = &mock_rows[TAUGHT];
    assert_int_equal(run_mock(ctx, WEFT_U32, 1), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), "taught");
    test_refused(ctx, run_mock(ctx, WEFT_BF16, 1), WEFT_EUNSUPPORTED, "weft_mock", "bf16");
    assert_non_null(strstr(weft_message(ctx), "i32, u32, f32, f64"));
    ctx->forced[map] = NULL;

    const wi_row trouble = {.name = "trouble",
                            .what = "",
                            .kinds = WI_ON_CPU,
                            .types = WI_ALL_TYPES,
                            .seconds = wi_no_rival,
                            .run = run_into_trouble};
    const wi_ladder troubled = {"map", &trouble, 1};
    assert_int_equal(wi_run(ctx, &troubled, "weft_mock", WEFT_F32, NULL), WEFT_EIO);
    assert_string_equal(weft_message(ctx), "trouble");
    assert_string_equal(weft_used(ctx, "map"), "taught");
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_no_choice),
        cmocka_unit_test(test_forced_row),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
