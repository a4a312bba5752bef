/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of cholesky's ladder, on every place: the factor, that nothing else is read or
 * written, and what is said of pivots that are not above 0, infinite or NaN; and solutions. */
#include "cholesky/cholesky_rig.h"

enum {
#ifdef WEFT_EMU
    MUST = 0
#else
    MUST = 5 /* each rung with each type and sort */
#endif
};

static const size_t sizes[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,  24,  31, 33,
                               47, 63, 64, 65, 97, 127, 128, 129, 130, 191, 193, 257};

static void all_rungs(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_cholesky_ladder,
                            .extent = {2, 4, SORTS},
                            .must = MUST,
                            .one_in = 8,
                            .share = 50,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

static void exact(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_cholesky_ladder,
                            .extent = {2, 4, FAULTS},
                            .must = MUST & 4,
                            .one_in = 8,
                            .share = 30,
                            .run = run_exact};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- blocks of columns ---- */

#ifdef WEFT_EMU
/* Blocks of 128 columns and of 64, with several behind them. */
static void blocks(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    for (unsigned k = 0; k < 4; k++) {
        problem p = draw(&r, test_row_named(&wi_cholesky_ladder, "blocks"),
                         k < 2 ? WEFT_F64 : WEFT_F32, 257 + 32 * (k & 1), k << 1 & 2);
        wi_cholesky_width = 128 >> (k & 1);
        wi_cholesky_tail = 64;
        run_sort(&r, &p, WELL_CONDITIONED);
    }
    rig_close(&r);
}
#endif

#ifdef WEFT_EMU
/* Two tiles below each other in several columns, of which the last has none below; with columns
 * that boxes bring. */
static void pairs(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    for (unsigned k = 0; k < 8; k++) {
        problem p = draw(&r, test_row_named(&wi_cholesky_ladder, "flow"),
                         k & 1 ? WEFT_F32 : WEFT_F64, k & 1 ? 352 : 336 + k % 3, k);
        wi_cholesky_boxed = 1;
        wi_cholesky_few = k & 4 ? 32 : 0;
        p.a.offset = 0;
        p.a.ld = 356;
        run_sort(&r, &p, WELL_CONDITIONED);
    }
    rig_close(&r);
}
#endif

#ifdef WEFT_EMU
/* Two to four tiles on the diagonal, which are a cluster's; and a pivot that is none. */
static void chained(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const wi_row *const flow = test_row_named(&wi_cholesky_ladder, "flow");
    for (unsigned k = 0; k < 4; k++) {
        const size_t n = k & 1 ? 193 - 32 * k : 97 + 31 * k / 2;
        const size_t wrong[] = {k & 1, k & 2, k & 1 ? NEGATIVE : IS_NAN};
        problem p = draw(&r, flow, k & 1 ? WEFT_F32 : WEFT_F64, n, k & 2);
        wi_cholesky_slots = 2;
        wi_cholesky_boxed = 6;
        run_sort(&r, &p, WELL_CONDITIONED);
        run_exact(&r, n, flow, wrong);
    }
    rig_close(&r);
}
#endif

#ifdef WEFT_EMU
/* Two columns of two tiles together, with such ones before them. Of the smaller order the last row
 * of tiles is alone. */
static void joined(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, 3 * CAPACITY);
    for (unsigned k = 0; k < 3; k++) {
        const size_t n = k < 2 ? 528 : 592;
        const unsigned how = k < 2 ? 2 * k : 2 * (unsigned)test_below(&r.random, 2);
        problem p = draw(&r, test_row_named(&wi_cholesky_ladder, "flow"), WEFT_F64, n, how);
        wi_cholesky_boxed = 1;
        wi_cholesky_apart = 1;
        p.a.offset = 0;
        p.a.ld = n + 4 * k;
        p.b.columns = 0;
        run_sort(&r, &p, WELL_CONDITIONED);
    }
    rig_close(&r);
}
#endif

/* ---- the same bits ---- */

static void test_threads(void **state) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:4"};
    enum {
        N = 700
    };
    const size_t bytes = sizeof(double) * N * N;
    double *const a = malloc(bytes), *const first = malloc(bytes), *const x = malloc(bytes);
    test_random random = test_random_at(5);
    (void)state;
    assert_true(a && first && x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            a[i * N + j] = a[j * N + i] = i == j ? N : test_unit(&random);
    for (int variant = 0; variant < 2; variant++)
        for (int k = 0; k < 6; k++) { /* the lower triangle by columns, the upper one by rows */
            weft_context *const ctx = test_open(places[k % 3]);
            const unsigned how = k < 3 ? 0 : WEFT_ROW_MAJOR | WEFT_UPPER_TRIANGLE;
            assert_int_equal(weft_use(ctx, "cholesky", variant ? "blocked" : "recursive"), WEFT_OK);
            memcpy(x, a, bytes);
            assert_int_equal(weft_cholesky_factor(ctx, how, WEFT_F64, N, x, N), WEFT_OK);
            if (k == 0)
                memcpy(first, x, bytes);
            assert_memory_equal(x, first, bytes);
            weft_close(ctx);
        }
    free(a);
    free(first);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),  TEST_ON_EACH_PLACE(exact),
#ifdef WEFT_EMU
        TEST_ON_EACH_PLACE(blocks),     TEST_ON_EACH_PLACE(pairs),
        TEST_ON_EACH_PLACE(joined),     TEST_ON_EACH_PLACE(chained),
#endif
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
