/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers near the limits of double, solutions with zeros, and refinement of ill-conditioned
 * systems: compared with the same systems in the middle of the range, and with exact solutions. */
#include "systems.h"
#include "testing.h"

enum {
    GRADED = 300,
    LARGEST = 30,
    RHS = 3
};

static const double unit = 0x1p-53;

static weft_status solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                         weft_chol_part part, int refine, size_t rhs, const double *b, double *x) {
    const size_t n = (size_t)plan->symbolic.n;
    const weft_chol_solve_options options = {
        .size = sizeof options, .part = part, .refine = refine};
    memset(x, TEST_POISON, rhs * n * sizeof *x);
    return weft_chol_solve(ctx, plan, matrix, &options, rhs, b, n, x, n);
}

static weft_chol *factored(weft_context *ctx, const weft_sparse *matrix) {
    weft_chol *const plan = test_plan(ctx, matrix, "amd", NULL);
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return plan;
}

/* ---- A and D A D, D of powers of two: all results differ by powers of two only ---- */

typedef struct pair {
    weft_context *ctx;
    weft_sparse *plain, *graded;
    weft_chol *plan[2];
    size_t n;
    int power[TEST_MOST_VERTICES]; /* of D */
} pair;

static void make_pair(test_random *r, bool definite, int most, pair *p) {
    static test_system s;
    do
        test_graph_random(r, LARGEST, &s.graph);
    while (s.graph.n == 0);
    test_system_fill(r, definite, &s);
    p->n = (size_t)s.graph.n;
    p->plain = test_system_matrix(p->ctx, &s, false);
    for (size_t i = 0; i < p->n; i++) {
        p->power[i] = (int)test_below(r, 2 * (uint64_t)most + 1) - most;
        for (size_t j = 0; j < p->n; j++) {
            s.a[i][j] = ldexpl(s.a[i][j], p->power[i]);
            s.a[j][i] = ldexpl(s.a[j][i], p->power[i]);
        }
    }
    p->graded = test_system_matrix(p->ctx, &s, false);
    p->plan[0] = test_plan(p->ctx, p->plain, "amd", NULL);
    p->plan[1] = test_plan(p->ctx, p->graded, "amd", NULL);
}

static void free_pair(pair *p) {
    weft_sparse_destroy(p->plain);
    weft_sparse_destroy(p->graded);
    weft_chol_destroy(p->plan[0]);
    weft_chol_destroy(p->plan[1]);
}

/* The factor of row i of b, and of x, in the graded system. */
static int power_of(const pair *p, weft_chol_part part, size_t i, bool of_x) {
    const size_t row = part == WEFT_CHOL_A ? i : (size_t)p->plan[0]->symbolic.perm[i];
    if (part == (of_x ? WEFT_CHOL_L : WEFT_CHOL_LT))
        return 0;
    return of_x ? -p->power[row] : p->power[row];
}

static void check_part(pair *p, test_random *r, weft_chol_part part, int shift) {
    double b[2][RHS * TEST_MOST_VERTICES], x[2][RHS * TEST_MOST_VERTICES];
    for (size_t k = 0; k < RHS * p->n; k++) {
        b[0][k] = test_unit(r);
        b[1][k] = ldexp(b[0][k], shift + power_of(p, part, k % p->n, false));
    }
    assert_int_equal(solve(p->ctx, p->plan[0], p->plain, part, 0, RHS, b[0], x[0]), WEFT_OK);
    if (solve(p->ctx, p->plan[1], p->graded, part, 0, RHS, b[1], x[1]) != WEFT_OK)
        fail_msg("%s", weft_message(p->ctx));
    for (size_t k = 0; k < RHS * p->n; k++) {
        const double expected = ldexp(x[0][k], shift + power_of(p, part, k % p->n, true));
        if (!(x[1][k] == expected))
            fail_msg("part %d, row %zu: %.17g, not %.17g", (int)part, k % p->n, x[1][k], expected);
    }
    if (part == WEFT_CHOL_A) {
        const double error = test_report_of(p->ctx, p->plan[1]).backward_error;
        const double normwise = test_report_of(p->ctx, p->plan[1]).normwise_error;
        assert_true(error <= 1e-10 && normwise <= error * (1 + 1e-12)); /* of one row the same */
    }
}

/* A lower bound on the binary logarithm of the graded matrix's condition number: the largest number
 * on the diagonal over the smallest. */
static double least_condition(const pair *p) {
    const int64_t *const start = weft_sparse_starts(p->graded);
    double least = INFINITY, most = 0;
    for (size_t j = 0; j < p->n; j++) {
        least = fmin(least, weft_sparse_values(p->graded)[start[j]]);
        most = fmax(most, weft_sparse_values(p->graded)[start[j]]);
    }
    return log2(most) - log2(least);
}

static void test_graded(void **state) {
    (void)state;
    const wi_row *rows[TEST_MAX_ROWS];
    test_random r = test_random_at(1);
    pair p = {.ctx = test_open("cpu:1")};
    const size_t count = test_rows(p.ctx, &wi_sparse_ladder, rows);
    for (int k = 0; k < GRADED; k++) {
        double estimate, logdet = 0;
        make_pair(&r, true, 200 + k % 50, &p);
        test_use(p.ctx, "sparse", rows[(size_t)k % count]);
        assert_int_equal(weft_chol_factor(p.ctx, p.plan[0], p.plain), WEFT_OK);
        assert_int_equal(weft_chol_factor(p.ctx, p.plan[1], p.graded), WEFT_OK);
        for (int part = WEFT_CHOL_A; part <= WEFT_CHOL_LT; part++)
            check_part(&p, &r, (weft_chol_part)part, 60 * (k % 3 - 1));
        for (size_t i = 0; i < p.n; i++)
            logdet += 2 * p.power[i] * log(2);
        logdet += test_report_of(p.ctx, p.plan[0]).logdet;
        assert_true(fabs(test_report_of(p.ctx, p.plan[1]).logdet - logdet) <= 1e-9);
        assert_int_equal(weft_chol_condition(p.ctx, p.plan[1], p.graded, &estimate), WEFT_OK);
        if (!(log2(estimate) >= least_condition(&p) - 4))
            fail_msg("condition %g, but more than 2^%g", estimate, least_condition(&p));
        free_pair(&p);
    }
    weft_close(p.ctx);
}

/* The pivot that is not above 0 is at the same column, and so is the proof. */
static void test_graded_direction(void **state) {
    (void)state;
    test_random r = test_random_at(2);
    pair p = {.ctx = test_open("cpu:1")};
    for (int k = 0; k < GRADED; k++) {
        double d[2][TEST_MOST_VERTICES];
        make_pair(&r, false, 240, &p);
        if (weft_chol_factor(p.ctx, p.plan[0], p.plain) == WEFT_ENOTSPD) {
            assert_int_equal(weft_chol_factor(p.ctx, p.plan[1], p.graded), WEFT_ENOTSPD);
            const int64_t failed = p.plan[0]->symbolic.perm[p.plan[0]->failed];
            assert_int_equal(p.plan[1]->failed, p.plan[0]->failed);
            assert_int_equal(weft_chol_direction(p.ctx, p.plan[0], d[0]), WEFT_OK);
            assert_int_equal(weft_chol_direction(p.ctx, p.plan[1], d[1]), WEFT_OK);
            for (size_t i = 0; i < p.n; i++)
                assert_true(d[1][i] == ldexp(d[0][i], p.power[failed] - p.power[i]));
        }
        free_pair(&p);
    }
    weft_close(p.ctx);
}

/* ---- single systems ---- */

/* n columns: diagonal[j] on the diagonal of column j and below[j] under it. */
static weft_sparse *chain(weft_context *ctx, size_t n, const double *diagonal, double below) {
    int64_t *const row = malloc(4 * n * sizeof *row), *const col = row + 2 * n;
    double *const value = malloc(2 * n * sizeof *value);
    weft_sparse *matrix;
    size_t count = 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n && i <= j + 1; i++) {
            row[count] = (int64_t)i;
            col[count] = (int64_t)j;
            value[count++] = i == j ? diagonal[j] : below;
        }
    }
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, count,
                                                 WEFT_I64, row, col, value),
                     WEFT_OK);
    free(row);
    free(value);
    return matrix;
}

/* A condition number of 2^1000, and one that exceeds the range of double. */
static void test_condition(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    for (int power = 1000; power <= 1040; power += 40) {
        const double diagonal[] = {ldexp(1, power / -2), 3, ldexp(1, power / 2)};
        double estimate;
        weft_sparse *const matrix = chain(ctx, 3, diagonal, 0);
        weft_chol *const plan = factored(ctx, matrix);
        assert_int_equal(weft_chol_condition(ctx, plan, matrix, &estimate), WEFT_OK);
        if (!(estimate == (power == 1000 ? 0x1p1000 : (double)INFINITY)))
            fail_msg("2^%d: condition %g", power, estimate);
        assert_true(test_report_of(ctx, plan).condition_estimate == estimate);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* For rows of very different size, every pair connected. */
static void test_far_apart(void **state) {
    (void)state;
    static const int64_t start[] = {0, 3, 5, 6}, row[] = {0, 1, 2, 1, 2, 2};
    static const double value[] = {2e-300, 1e-151, 1, 2, 1e149, 2e300};
    weft_context *const ctx = test_open("cpu:1");
    double estimate;
    weft_sparse *matrix;
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 3, 3, WEFT_I64,
                                            start, row, value),
                     WEFT_OK);
    weft_chol *const plan = factored(ctx, matrix);
    assert_int_equal(weft_chol_condition(ctx, plan, matrix, &estimate), WEFT_OK);
    if (!(estimate > 1e300)) /* it is about 1e600 */
        fail_msg("condition %g", estimate);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* Solutions that do not fit a double are refused; those that do are found, whatever the
 * intermediate values. */
static void test_range(void **state) {
    (void)state;
    static const struct {
        double a[3], below, b[3];
        bool fits;
    } cases[] = {{{2, 2, 2}, 1, {0x1.fp1023, 0x1.fp1023, 0x1.fp1023}, true},
                 {{2, 2, 2}, -1, {0x1.fp1023, 0x1.fp1023, 0x1.fp1023}, false},
                 {{2, 2, 2}, 1, {0x1p-1074, 0, 0x1p-1074}, true},
                 {{0x1p-600, 0x1p-600, 1}, 0, {0x1p500, 1, 0}, false},
                 {{0x1p-600, 0x1p-600, 1}, 0, {0x1p400, 1, 0}, true},
                 {{0x1p-1060, 0x1p-1060, 0x1p-1060}, 0x1p-1062, {0x1p-1060, 0, 0}, true},
                 {{0x1p-1060, 0x1p-1060, 0x1p-1060}, 0x1p-1062, {1, 0, 0}, false},
                 {{0x1p1022, 0x1p1022, 0x1p1022}, 0x1p1020, {0x1p1022, 0x1p1021, 0}, true},
                 {{0x1p-900, 1, 0x1p900}, 0, {0x1p-900, 1, 0x1p900}, true}};
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int refine = 0; refine <= 4; refine += 4) {
            double x[3];
            weft_sparse *const matrix = chain(ctx, 3, cases[k].a, cases[k].below);
            weft_chol *const plan = factored(ctx, matrix);
            const weft_status status =
                solve(ctx, plan, matrix, WEFT_CHOL_A, refine, 1, cases[k].b, x);
            if (status != (cases[k].fits ? WEFT_OK : WEFT_ENONFINITE))
                fail_msg("case %zu: %s", k, weft_message(ctx));
            if (cases[k].fits) {
                assert_true(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]));
                assert_true(test_report_of(ctx, plan).backward_error <= 4 * unit || k == 2);
                assert_true(test_report_of(ctx, plan).normwise_error <= 4 * unit || k == 2);
            } else {
                test_refused(ctx, status, WEFT_ENONFINITE, "weft_chol_solve", "too large");
            }
            weft_chol_destroy(plan);
            weft_sparse_destroy(matrix);
        }
    }
    weft_close(ctx);
}

/* L is 1 on the diagonal and 2 below: A is exact, and the inverse grows by 4 from row to row. */
static void test_growth(void **state) {
    (void)state;
    static double diagonal[700], b[700], x[700];
    static const size_t sizes[] = {100, 300, 500, 700};
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < 4; k++) {
        const size_t n = sizes[k];
        for (size_t i = 0; i < n; i++) {
            diagonal[i] = i > 0 ? 5 : 1;
            b[i] = i == 0;
        }
        weft_sparse *const matrix = chain(ctx, n, diagonal, 2);
        weft_chol *plan;
        const weft_chol_options options = {.size = sizeof options, .ordering = "natural"};
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
        assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
        const weft_status status = solve(ctx, plan, matrix, WEFT_CHOL_A, 0, 1, b, x);
        assert_int_equal(status, n < 511 ? WEFT_OK : WEFT_ENONFINITE);
        assert_true(status != WEFT_OK || test_report_of(ctx, plan).backward_error <= 8 * unit);
        for (size_t i = 0; status == WEFT_OK && i < n; i++)
            assert_true(isfinite(x[i]));
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* The largest |b - A x| / (|A| |x| + |b|) of any row, also of tiny ones. */
static double strict_error(const weft_sparse *matrix, const double *b, const double *x) {
    const size_t n = weft_sparse_rows(matrix);
    const int64_t *const start = weft_sparse_starts(matrix);
    const int64_t *const row = weft_sparse_row_indices(matrix);
    const double *const value = weft_sparse_values(matrix);
    long double *const left = calloc(2 * n, sizeof *left), *const size = left + n, most = 0;
    for (size_t j = 0; j < n; j++) {
        left[j] += b[j];
        size[j] += fabs(b[j]);
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            const size_t i = (size_t)row[k];
            left[i] -= (long double)value[k] * x[j];
            size[i] += fabsl((long double)value[k] * x[j]);
            left[j] -= i == j ? 0 : (long double)value[k] * x[i];
            size[j] += i == j ? 0 : fabsl((long double)value[k] * x[i]);
        }
    }
    for (size_t i = 0; i < n; i++)
        most = size[i] > 0 ? fmaxl(most, fabsl(left[i]) / size[i]) : most;
    free(left);
    return (double)most;
}

/* A solution that is zero almost everywhere: rounding errors there do not count. */
static void test_zeros(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 20);
    const size_t n = weft_sparse_rows(matrix);
    double *const x = calloc(2 * n, sizeof *x), *const b = x + n;
    weft_chol *const plan = factored(ctx, matrix);
    for (size_t i = 0; i < n; i++)
        x[i] = i % 20 < 10 && i < n / 2 ? sin((double)i) : 0;
    assert_int_equal(weft_sparse_multiply(ctx, matrix, 1, x, n, b, n), WEFT_OK);
    assert_int_equal(solve(ctx, plan, matrix, WEFT_CHOL_A, 0, 1, b, x), WEFT_OK);
    assert_true(strict_error(matrix, b, x) > 0.01); /* else this is not an example */
    const weft_chol_report report = test_report_of(ctx, plan);
    if (!(report.backward_error <= 8 * unit && report.normwise_error <= 8 * unit))
        fail_msg("errors %g and %g", report.backward_error, report.normwise_error);
    assert_true(report.normwise_error > 0);
    free(x);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* ---- refinement ---- */

/* A beam fixed at both ends: second differences, squared. All integers, and so is x, so b is exact.
 */
static weft_sparse *beam(weft_context *ctx, size_t n, const double *x, double *b) {
    static const double stencil[] = {6, -4, 1};
    int64_t *const row = malloc(6 * n * sizeof *row), *const col = row + 3 * n;
    double *const value = malloc(3 * n * sizeof *value);
    weft_sparse *matrix;
    size_t count = 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n && i <= j + 2; i++) {
            row[count] = (int64_t)i;
            col[count] = (int64_t)j;
            value[count++] = stencil[i - j];
        }
    }
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, count,
                                                 WEFT_I64, row, col, value),
                     WEFT_OK);
    assert_int_equal(weft_sparse_multiply(ctx, matrix, 1, x, n, b, n), WEFT_OK);
    free(row);
    free(value);
    return matrix;
}

/* With a condition number of about n^4 / 3, each step multiplies the error by that times 2^-53,
 * until it is 0. */
static void test_refined(void **state) {
    (void)state;
    static const size_t sizes[] = {10, 100, 1000, 3000};
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < 4; k++) {
        const size_t n = sizes[k];
        double *const x = malloc(3 * n * sizeof *x), *const b = x + n, *const y = b + n;
        double before = INFINITY;
        for (size_t i = 0; i < n; i++)
            x[i] = (double)((i * 7919) % 2001) - 1000;
        weft_sparse *const matrix = beam(ctx, n, x, b);
        weft_chol *const plan = factored(ctx, matrix);
        for (int refine = 0; refine <= 10; refine++) {
            double most = 0;
            assert_int_equal(solve(ctx, plan, matrix, WEFT_CHOL_A, refine, 1, b, y), WEFT_OK);
            const weft_chol_report report = test_report_of(ctx, plan);
            for (size_t i = 0; i < n; i++)
                most = fmax(most, fabs(y[i] - x[i]) / 1000);
            assert_true(report.stalled == 0 && report.refinements <= (size_t)refine);
            if (refine > 0 && !(most <= fmax(before / 4, 2 * unit)))
                fail_msg("n = %zu, %d steps: error %g, before %g", n, refine, most, before);
            if (refine > 0 && !(most <= 10 * report.forward_estimate))
                fail_msg("n = %zu: error %g, estimated as %g", n, most, report.forward_estimate);
            before = most;
        }
        assert_true(before <= 2 * unit && test_report_of(ctx, plan).refinements <= 5);
        assert_true(test_report_of(ctx, plan).refinements > (n >= 1000));
        free(x);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* A well-conditioned system needs one step, and no more are taken; with the factor of another
 * matrix no step helps, and the report says so. */
static void test_stalled(void **state) {
    (void)state;
    enum {
        N = 50
    };
    double diagonal[N], b[3 * N], x[3 * N], value[2 * N];
    weft_context *const ctx = test_open("cpu:1");
    for (size_t i = 0; i < N; i++) {
        diagonal[i] = 4.3;
        b[i] = sin((double)i);
        b[N + i] = 0;
        b[2 * N + i] = cos((double)i);
    }
    weft_sparse *const matrix = chain(ctx, N, diagonal, -1.1);
    weft_chol *const plan = factored(ctx, matrix);
    assert_int_equal(solve(ctx, plan, matrix, WEFT_CHOL_A, 10, 3, b, x), WEFT_OK);
    weft_chol_report report = test_report_of(ctx, plan);
    assert_true(report.refinements == 1 && report.stalled == 0);
    assert_true(report.forward_estimate > 0 && report.forward_estimate <= 2 * unit);
    const size_t entries = weft_sparse_entries(matrix);
    for (size_t k = 0; k < entries; k++)
        value[k] = 3 * weft_sparse_values(matrix)[k];
    assert_int_equal(weft_sparse_update(ctx, matrix, entries, value), WEFT_OK);
    assert_int_equal(solve(ctx, plan, matrix, WEFT_CHOL_A, 10, 3, b, x), WEFT_OK);
    report = test_report_of(ctx, plan);
    assert_true(report.refinements == 0 && report.stalled == 2 && report.forward_estimate > 0.1);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graded),    cmocka_unit_test(test_graded_direction),
        cmocka_unit_test(test_condition), cmocka_unit_test(test_far_apart),
        cmocka_unit_test(test_range),     cmocka_unit_test(test_growth),
        cmocka_unit_test(test_zeros),     cmocka_unit_test(test_refined),
        cmocka_unit_test(test_stalled),
    };
    return cmocka_run_group_tests_name("chol_numbers", tests, NULL, NULL);
}
