/* SPDX-License-Identifier: Apache-2.0 */
/* Solutions with exact residuals: of systems whose solutions are known as quotients of integers,
 * every element is that quotient, rounded once. */
#include <math.h>
#include <string.h>

#include "ldlt.h"
#include "testing.h"

enum {
    MOST = 60, /* columns of T */
    SIDES = 3,
    POWERS = 3
};

/* T has 2 on its diagonal and -1 beside it. Numerators of its inverse, over n + 1. */
static double inverse_of(size_t n, size_t i, size_t j) {
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    return (double)((low + 1) * (n - high));
}

/* a = T^power, integers that are exact in double; and the numerators of its inverse's columns in
 * `wanted`, the denominator (n + 1)^power. */
static double powers_of(size_t n, int power, const size_t column[SIDES], double a[MOST][MOST],
                        double wanted[SIDES][MOST]) {
    static double other[MOST][MOST];
    double divisor = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i][j] = i == j;
    for (size_t r = 0; r < SIDES; r++)
        for (size_t i = 0; i < n; i++)
            wanted[r][i] = i == column[r];
    for (int p = 0; p < power; p++) {
        memcpy(other, a, sizeof other);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i][j] = 2 * other[i][j] - (i > 0 ? other[i - 1][j] : 0) -
                          (i + 1 < n ? other[i + 1][j] : 0);
        for (size_t r = 0; r < SIDES; r++) {
            double before[MOST];
            memcpy(before, wanted[r], sizeof before);
            for (size_t i = 0; i < n; i++) {
                wanted[r][i] = 0;
                for (size_t j = 0; j < n; j++)
                    wanted[r][i] += inverse_of(n, i, j) * before[j];
            }
        }
        divisor *= (double)(n + 1);
    }
    return divisor;
}

/* The system as it is given: A itself or [0 A; A 0], with row and column i times 2^power[i]. */
typedef struct given {
    size_t n, rows;
    bool hollow;
    int power[2 * MOST];
} given;

static weft_sparse *matrix_of(weft_context *ctx, const given *g, double a[MOST][MOST]) {
    static int64_t row[MOST * MOST], col[MOST * MOST];
    static double value[MOST * MOST];
    size_t count = 0;
    weft_sparse *matrix;
    for (size_t j = 0; j < g->n; j++)
        for (size_t i = g->hollow ? 0 : j; i < g->n; i++) {
            const size_t at = g->hollow ? i + g->n : i;
            if (a[i][j] == 0)
                continue;
            row[count] = (int64_t)at;
            col[count] = (int64_t)j;
            value[count++] = ldexp(a[i][j], g->power[at] + g->power[j]);
        }
    if (weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, g->rows, g->rows, count,
                                    WEFT_I64, row, col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* Solves in place; every bit must be right. */
static void check(weft_context *ctx, const given *g, weft_chol_kind kind, double a[MOST][MOST],
                  double wanted[SIDES][MOST], const size_t column[SIDES], double divisor) {
    const weft_chol_options options = {.size = sizeof options, .kind = kind};
    const weft_chol_solve_options exact = {.size = sizeof exact, .exact = 1};
    static double x[2 * MOST * SIDES];
    weft_sparse *const matrix = matrix_of(ctx, g, a);
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, &options);
    memset(x, 0, sizeof x);
    for (size_t r = 0; r < SIDES; r++)
        for (size_t i = column[r]; i < g->rows; i += g->n)
            x[i + r * g->rows] = ldexp(1, g->power[i]);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    if (weft_chol_solve(ctx, plan, matrix, &exact, SIDES, x, g->rows, x, g->rows) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const weft_chol_report report = test_report_of(ctx, plan);
    assert_int_equal(report.stalled, 0);
    assert_int_equal(report.bytes_needed, report.bytes_peak);
    for (size_t r = 0; r < SIDES; r++)
        for (size_t i = 0; i < g->rows; i++) {
            const double right = ldexp(wanted[r][i % g->n] / divisor, -g->power[i]);
            if (x[i + r * g->rows] != right)
                fail_msg("%s%zu columns, row %zu: %a, not %a", g->hollow ? "hollow, " : "", g->rows,
                         i, x[i + r * g->rows], right);
        }
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

static void quotients(weft_context *ctx) {
    static double a[MOST][MOST], wanted[SIDES][MOST];
    test_random r = test_random_at(1);
    for (int k = 0; k < 24; k++) {
        given g = {.n = 2 + test_below(&r, MOST - 1), .hollow = k % 4 == 3};
        const bool is_uneven = test_below(&r, 2);
        size_t column[SIDES];
        g.rows = g.hollow ? 2 * g.n : g.n;
        for (size_t i = 0; i < g.rows && is_uneven; i++)
            g.power[i] = (int)test_below(&r, 40) - 20;
        for (size_t s = 0; s < SIDES; s++)
            column[s] = test_below(&r, g.n);
        const double divisor = powers_of(g.n, 1 + k % POWERS, column, a, wanted);
        const weft_chol_kind kind = g.hollow || k % 2 ? WEFT_CHOL_INDEFINITE : WEFT_CHOL_DEFINITE;
        check(ctx, &g, kind, a, wanted, column, divisor);
    }
}

/* Products so small that only the wide integer tells their sum. */
static void faint(weft_context *ctx) {
    static const int64_t row[] = {0, 1, 1}, col[] = {0, 0, 1};
    const double value[] = {1, 0x1p-1000, 1};
    const weft_chol_solve_options exact = {.size = sizeof exact, .exact = 1},
                                  wrong = {.size = sizeof wrong, .exact = 2};
    double x[2] = {1, 0};
    weft_sparse *matrix;
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 2, 2, 3,
                                                 WEFT_I64, row, col, value),
                     WEFT_OK);
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, NULL);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, &wrong, 1, x, 2, x, 2), WEFT_EARG,
                 "weft_chol_solve", "exact");
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, &exact, 1, x, 2, x, 2), WEFT_OK);
    assert_true(x[0] == 1 && x[1] == -0x1p-1000);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(quotients),
        TEST_ON_EACH_PLACE(faint),
    };
    return cmocka_run_group_tests_name("chol_exact", tests, NULL, NULL);
}
