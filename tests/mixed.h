/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of precision MIXED for tests, and matrices of given eigenvalues. */
#ifndef WEFT_TEST_MIXED_H
#define WEFT_TEST_MIXED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/chol_device.h"
#include "systems.h"

enum {
    TEST_MIXED_LARGEST = 40
};

/* Forward errors, of the largest element of x: what refinement leaves. */
static const double test_mixed_good = 0x1p-50;

static const int test_mixed_cuts[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};

/* A plan that wakes all threads of the context, and cuts fronts for a GPU in one of four ways. */
static inline weft_chol *test_mixed_plan(weft_context *ctx, const weft_sparse *matrix,
                                         weft_chol_kind kind, weft_precision precision,
                                         const char *ordering, int cut) {
    const weft_chol_options options = {
        .size = sizeof options, .ordering = ordering, .kind = kind, .precision = precision};
    weft_chol *plan;
    if (weft_chol_analyze(ctx, matrix, &options, &plan) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    plan->least_work = 0;
    plan->small = test_mixed_cuts[cut % 4];
    return plan;
}

static inline void test_mixed_factor(weft_context *ctx, weft_chol *plan,
                                     const weft_sparse *matrix) {
    assert_int_equal(weft_chol_reserve(ctx, plan, 1), WEFT_OK);
    if (ctx->kind == WI_CPU) /* numbers that are missing are noticed */
        memset(plan->numbers.l, 0xFF, test_report_of(ctx, plan).factor_bytes);
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

static inline void test_mixed_solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                                    bool exact, size_t sides, const double *b, double *x) {
    const weft_chol_solve_options options = {.size = sizeof options, .exact = exact};
    const size_t n = weft_sparse_rows(matrix);
    if (weft_chol_solve(ctx, plan, matrix, &options, sides, b, n, x, n) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

/* The exact solution, rounded, by a factor of f64 on a cpu. */
static inline void test_mixed_exactly(const weft_sparse *matrix, weft_chol_kind kind, size_t sides,
                                      const double *b, double *x) {
    weft_context *const ctx = test_open("cpu:1");
    weft_chol *const plan = test_mixed_plan(ctx, matrix, kind, WEFT_PRECISION_FULL, NULL, 0);
    test_mixed_factor(ctx, plan, matrix);
    test_mixed_solve(ctx, plan, matrix, true, sides, b, x);
    assert_int_equal(test_report_of(ctx, plan).stalled, 0);
    weft_chol_destroy(plan);
    weft_close(ctx);
}

/* The largest |x - y| of a column, relative to its largest |y|. */
static inline double test_mixed_distance(size_t n, size_t sides, const double *x, const double *y) {
    double worst = 0;
    for (size_t r = 0; r < sides; r++) {
        double most = 0, size = 0;
        for (size_t i = r * n; i < (r + 1) * n; i++) {
            const double apart = fabs(x[i] - y[i]);
            most = !(apart <= most) ? apart : most;
            size = fmax(size, fabs(y[i]));
        }
        most = most > 0 ? most / size : most;
        worst = !(most <= worst) ? most : worst;
    }
    return worst;
}

static inline void test_mixed_sides(test_random *r, size_t count, double *b) {
    for (size_t k = 0; k < count; k++)
        b[k] = test_unit(r);
}

/* H diag(eigenvalue) H with H = 1 - 2 v vt, v of length 1; all entries. */
static inline weft_sparse *test_mixed_spectrum(weft_context *ctx, test_random *r, size_t n,
                                               const double *eigenvalue) {
    static int64_t row[TEST_MIXED_LARGEST * TEST_MIXED_LARGEST],
        col[TEST_MIXED_LARGEST * TEST_MIXED_LARGEST];
    static double value[TEST_MIXED_LARGEST * TEST_MIXED_LARGEST];
    long double v[TEST_MIXED_LARGEST], size = 0, middle = 0;
    size_t count = 0;
    weft_sparse *matrix;
    for (size_t i = 0; i < n; i++) {
        v[i] = test_unit(r);
        size += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++) {
        v[i] /= sqrtl(size);
        middle += v[i] * v[i] * eigenvalue[i];
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            row[count] = (int64_t)i;
            col[count] = (int64_t)j;
            value[count++] =
                (double)((i == j ? eigenvalue[i] : 0) +
                         v[i] * v[j] * (4 * middle - 2 * (eigenvalue[i] + eigenvalue[j])));
        }
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, count,
                                                 WEFT_I64, row, col, value),
                     WEFT_OK);
    return matrix;
}

#endif
