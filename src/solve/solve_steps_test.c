/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs that eliminate the augmented matrix, serial and three_kernels: sizes, ways to store,
 * none to many right-hand sides; exact solutions; rows that have to be exchanged; the same bits. */
#include "solve/solve_kinds.h"

static const char *const rungs[] = {"serial", "three_kernels"};

static const size_t sizes[] = {1,  2,  3,   17, 33, 40,
#ifndef WEFT_EMU
                               64, 65, 130, 257
#endif
};

enum {
    RUNGS = sizeof rungs / sizeof *rungs,
    SIZES = sizeof sizes / sizeof *sizes,
    MANY = 65 /* more than are worked on together */
};

static void solve_by(weft_context *ctx, const char *rung, linear_system *s, const char *what) {
    weft_report report = {.size = sizeof report};
    check_good(ctx, s, solve_system(ctx, s, NULL, &report), &report, what);
    assert_string_equal(report.method, rung);
    assert_string_equal(report.variant, rung);
}

static void all_sizes(weft_context *ctx, const char *rung) {
    test_random random = test_random_at(21);
    for (size_t k = 0; k < SIZES; k++) {
        const size_t rhs = k == 3 ? MANY : 1 + k % 3;
        linear_system s = system_of(k % 2 ? WEFT_F32 : WEFT_F64, sizes[k], rhs);
        char what[64];
        if (!use_rung(ctx, rung, &s)) {
            free_system(&s);
            return;
        }
        snprintf(what, sizeof what, "%s, n = %zu, rhs = %zu", rung, s.n, s.rhs);
        s.how = (unsigned)test_below(&random, 4);
        s.how = (s.how & 1 ? WEFT_ROW_MAJOR : 0) | (s.how & 2 ? WEFT_TRANSPOSE_A : 0);
        s.gap = test_below(&random, 3);
        s.in_place = test_below(&random, 2);
        s.device = test_below(&random, 2);
        fill_general(&random, &s);
        solve_by(ctx, rung, &s, what);
        free_system(&s);
    }
}

/* A permutation of rows times powers of two beside right-hand sides that are far apart in size: all
 * is exact, and each column needs another row. */
static void exchanged(weft_context *ctx, const char *rung) {
    linear_system s = system_of(WEFT_F64, 19, 3);
    const size_t n = s.n;
    weft_report report = {.size = sizeof report};
    for (size_t i = 0; i < n; i++) {
        s.a[i * n + (i * 7 + 3) % n] = ldexp(1, (int)(i % 5));
        for (size_t j = 0; j < s.rhs; j++)
            s.b[i * s.rhs + j] = ldexp((double)(i + 1), (int)j * 400 - 400);
    }
    if (use_rung(ctx, rung, &s)) {
        assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
        for (size_t e = 0; e < n * s.rhs; e++) {
            const size_t i = e / s.rhs, column = (i * 7 + 3) % n;
            assert_true(s.x[column * s.rhs + e % s.rhs] == ldexp(s.b[e], -(int)(i % 5)));
        }
    }
    free_system(&s);
}

/* Twice the same bits; and, with no right-hand side, the same figures of the factors. */
static void again(weft_context *ctx, const char *rung) {
    test_random random = test_random_at(22);
    linear_system s = system_of(WEFT_F64, 37, 2), none = system_of(WEFT_F64, 37, 0);
    double first[37 * 2];
    weft_report one = {.size = sizeof one}, other = one;
    fill_general(&random, &s);
    memcpy(none.a, s.a, s.n * s.n * sizeof *s.a);
    if (use_rung(ctx, rung, &s)) {
        assert_int_equal(solve_system(ctx, &s, NULL, &one), WEFT_OK);
        memcpy(first, s.x, sizeof first);
        assert_int_equal(solve_system(ctx, &s, NULL, &other), WEFT_OK);
        assert_memory_equal(first, s.x, sizeof first);
        assert_int_equal(solve_system(ctx, &none, NULL, &other), WEFT_OK);
        assert_true(one.log_abs_det == other.log_abs_det && one.growth == other.growth);
    }
    free_system(&s);
    free_system(&none);
}

static void steps(weft_context *ctx) {
    for (size_t k = 0; k < RUNGS; k++) {
        all_sizes(ctx, rungs[k]);
        exchanged(ctx, rungs[k]);
        again(ctx, rungs[k]);
    }
    test_use(ctx, "solve", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(steps)};
    return cmocka_run_group_tests_name("solve_steps", tests, NULL, NULL);
}
