/* SPDX-License-Identifier: Apache-2.0 */
/* The rung butterfly: sizes around powers of two and blocks, ways to store, many right-hand sides,
 * determinants; matrices whose factors without mixing or without all rows are useless; the same
 * bits; and matrices that it must leave to another rung, and say so. */
#include "solve/solve_kinds.h"

static const size_t sizes[] = {1,   2,   3,   4,   5,   31,  32,   33,  63,
                               64,  65,  96,  97,  127, 128, 129,  160,
#ifndef WEFT_EMU
                               255, 256, 257, 511, 513, 768, 1025, 2000
#endif
};

enum {
    SIZES = sizeof sizes / sizeof *sizes,
    ORDER = 100,
#ifdef WEFT_EMU
    FIRST_ORDER = 1, /* of those of matrices with a structure */
    BETWEEN = 7      /* conditions, in halves of powers of ten: odd, for those without estimates */
#else
    FIRST_ORDER = 0,
    BETWEEN = 3
#endif
};

/* Is this a place that has the rung? */
static bool begins(weft_context *ctx) {
    return use_rung(ctx, "butterfly", &(linear_system){.type = WEFT_F64, .n = ORDER, .rhs = 1});
}

static void solve_well(weft_context *ctx, linear_system *s, weft_report *report, const char *what) {
    *report = (weft_report){.size = sizeof *report};
    check_good(ctx, s, solve_system(ctx, s, NULL, report), report, what);
}

static void all_sizes(weft_context *ctx) {
    test_random random = test_random_at(11);
    size_t mixed = 0;
    if (!begins(ctx))
        return;
    for (size_t k = 0; k < SIZES; k++) {
        linear_system s =
            system_of(WEFT_F64, sizes[k], k % 3 == 0 && sizes[k] < 200 ? 65 : 1 + k % 3);
        weft_report report;
        char what[64];
        snprintf(what, sizeof what, "n = %zu", s.n);
        s.how = (k & 1 ? WEFT_ROW_MAJOR : 0) | (k & 2 ? WEFT_TRANSPOSE_A : 0);
        s.gap = k % 5;
        s.in_place = k % 2;
        s.device = k % 4 < 2;
        fill_general(&random, &s);
        solve_well(ctx, &s, &report, what);
        mixed += strcmp(report.method, "butterfly") == 0;
        assert_true((report.factor_type == WEFT_F32) == !report.fell_back);
        free_system(&s);
    }
    assert_true(mixed >= SIZES - 3);
}

/* The determinant of a triangle times a permutation is known. */
static void determinants(weft_context *ctx) {
    test_random random = test_random_at(12);
    if (!begins(ctx))
        return;
    for (size_t k = 0; k < SIZES && sizes[k] < 100; k++) {
        linear_system s = system_of(WEFT_F64, sizes[k], 1);
        const size_t n = s.n;
        weft_report report;
        double log_det = 0;
        fill_general(&random, &s);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                s.a[(n - 1 - i) * n + j] = j < i    ? test_unit(&random) / (double)n
                                           : j == i ? 1 + (double)(i % 4)
                                                    : 0;
        for (size_t i = 0; i < n; i++)
            log_det += log(1 + (double)(i % 4));
        solve_well(ctx, &s, &report, "a turned triangle");
        assert_int_equal(report.sign_det, n / 2 % 2 ? -1 : 1);
        assert_true(fabs(report.log_abs_det - log_det) < 1e-4);
        free_system(&s);
    }
}

/* ---- matrices that want mixing ---- */

static void fill_turned(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        a[i * n + n - 1 - i] = 1;
}
/* The leading block, of half of the rows, is 0. */
static void fill_empty_corner(size_t n, double *a) {
    test_random random = test_random_at(13);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = i < n / 2 && j < n / 2 ? 0 : test_unit(&random);
}
static void fill_ring(size_t n, double *a) {
    for (size_t i = 0; i < n; i++) {
        a[i * n + (i + 1) % n] = 4;
        a[i * n + (i + 2) % n] = -1;
    }
}
static void fill_second_differences(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = i == j ? 2 : i + 1 == j || j + 1 == i ? -1 : 0;
}

static void structured(weft_context *ctx) {
    static void (*const fill[])(size_t, double *) = {fill_turned, fill_empty_corner, fill_ring,
                                                     fill_second_differences};
    static const size_t orders[] = {128, 129, ORDER};
    if (!begins(ctx))
        return;
    for (size_t k = 0; k < sizeof fill / sizeof *fill; k++)
        for (size_t i = FIRST_ORDER; i < sizeof orders / sizeof *orders; i++) {
            linear_system s = system_of(WEFT_F64, orders[i], 2);
            weft_report report;
            char what[64];
            snprintf(what, sizeof what, "structure %zu, n = %zu", k, s.n);
            test_random random = test_random_at(14);
            fill_general(&random, &s);
            memset(s.a, 0, s.n * s.n * sizeof *s.a);
            fill[k](s.n, s.a);
            solve_well(ctx, &s, &report, what);
            if (report.fell_back)
                fail_msg("%s: not by butterflies", what);
            free_system(&s);
        }
}

/* ---- and those that are for another rung ---- */

/* With estimates and without: then refinement alone tells. */
static void conditions(weft_context *ctx) {
    test_random random = test_random_at(15);
    if (!begins(ctx))
        return;
    for (int k = 2; k <= 33; k += BETWEEN) {
        linear_system s = system_of(WEFT_F64, ORDER, 2);
        const weft_solve_options o = {.size = sizeof o, .no_estimates = k % 2};
        weft_report report = {.size = sizeof report};
        char what[64];
        snprintf(what, sizeof what, "condition 1e%d%s", k / 2, k % 2 ? ", no estimates" : "");
        fill_condition(&random, &s, pow(10, k / 2));
        check_good(ctx, &s, solve_system(ctx, &s, &o, &report), &report, what);
        assert_true(k / 2 > 4 || !report.fell_back);
        assert_true(k / 2 < 9 || report.fell_back);
        assert_true(k / 2 > 13 || report.forward_estimate < 0x1p-50);
        assert_string_equal(report.method, report.fell_back ? "direct" : "butterfly");
        free_system(&s);
    }
    assert_string_equal(weft_message(ctx), "");
}

static void singular(weft_context *ctx) {
    linear_system s = system_of(WEFT_F64, ORDER, 1);
    weft_report report = {.size = sizeof report};
    double witness[ORDER];
    const weft_solve_options o = {.size = sizeof o, .witness = witness};
    test_random random = test_random_at(16);
    if (!begins(ctx)) {
        free_system(&s);
        return;
    }
    fill_general(&random, &s);
    for (size_t i = 0; i < s.n; i++)
        s.a[i * s.n + 7] = 0;
    assert_int_equal(solve_system(ctx, &s, &o, &report), WEFT_ESINGULAR);
    assert_int_equal(report.column, 7);
    assert_true(report.fell_back && witness[7] == 1);
    free_system(&s);
}

static void same_bits(weft_context *ctx) {
    linear_system s = system_of(WEFT_F64, 129, 3);
    double *const x = malloc(s.n * s.rhs * sizeof *x);
    weft_report first, second;
    test_random random = test_random_at(17);
    assert_non_null(x);
    if (begins(ctx)) {
        fill_general(&random, &s);
        solve_well(ctx, &s, &first, "once");
        memcpy(x, s.x, s.n * s.rhs * sizeof *x);
        solve_well(ctx, &s, &second, "again");
        assert_memory_equal(x, s.x, s.n * s.rhs * sizeof *x);
        assert_true(first.log_abs_det == second.log_abs_det && first.growth == second.growth);
        assert_true(first.forward_bound == second.forward_bound);
    }
    free(x);
    free_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_sizes),  TEST_ON_EACH_PLACE(determinants),
        TEST_ON_EACH_PLACE(structured), TEST_ON_EACH_PLACE(conditions),
        TEST_ON_EACH_PLACE(singular),   TEST_ON_EACH_PLACE(same_bits),
    };
    return cmocka_run_group_tests_name("solve_butterfly", tests, NULL, NULL);
}
