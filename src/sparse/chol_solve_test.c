/* SPDX-License-Identifier: Apache-2.0 */
/* Solving: compared with the definitions, with any number of right-hand sides, in place, with L and
 * Lt alone; refinement, condition numbers, and the matrices in WEFT_MATRICES. */
#include <dirent.h>

#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 1600,
    LARGEST = 40,
    MOST_RHS = 35
};

static const double unit = 0x1p-53;

/* By all threads of the context, or as if the matrix were too small for a second thread. */
static weft_chol *factored(weft_context *ctx, const weft_sparse *matrix, const char *ordering,
                           bool alone) {
    weft_chol *const plan = test_plan(ctx, matrix, ordering, NULL);
    if (alone)
        plan->least_work = INFINITY;
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return plan;
}

/* b in, x out, both guarded: columns ld apart; the gaps must not change. */
typedef struct arrays {
    test_buffer b, x;
    double values[MOST_RHS * (TEST_MOST_VERTICES + 5)];
    size_t n, rhs, ldb, ldx;
    bool in_place;
} arrays;

static void set_up(test_random *r, arrays *a, size_t n) {
    a->n = n;
    a->rhs = test_below(r, 4) ? 1 + test_below(r, 5) : test_below(r, MOST_RHS + 1);
    a->in_place = test_below(r, 3) == 0;
    a->ldb = n + test_below(r, 5);
    a->ldx = a->in_place ? a->ldb : n + test_below(r, 5);
    const size_t bytes = a->rhs * sizeof(double);
    for (size_t k = 0; k < a->rhs * a->ldb; k++)
        a->values[k] = test_unit(r) * ldexp(1, (int)test_below(r, 20));
    test_buffer_load(&a->b, a->values, a->ldb * bytes, 8 * test_below(r, 8));
    test_buffer_poison(&a->x, a->in_place ? 0 : a->ldx * bytes, 8 * test_below(r, 8));
}

static const double *solved(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                            weft_chol_part part, int refine, arrays *a) {
    const weft_chol_solve_options options = {
        .size = sizeof options, .part = part, .refine = refine};
    test_buffer *const out = a->in_place ? &a->b : &a->x;
    if (weft_chol_solve(ctx, plan, matrix, &options, a->rhs, (const double *)a->b.p, a->ldb,
                        (double *)out->p, a->ldx) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const double *const x = test_buffer_read(out, "x");
    if (!a->in_place && a->rhs > 0)
        assert_memory_equal(test_buffer_read(&a->b, "b"), a->values,
                            a->rhs * a->ldb * sizeof(double));
    for (size_t j = 0; j < a->rhs; j++) {
        for (size_t i = a->n; i < a->ldx; i++) {
            double poison;
            memset(&poison, TEST_POISON, sizeof poison);
            const double *const kept = a->in_place ? &a->values[i + j * a->ldb] : &poison;
            assert_memory_equal(&x[i + j * a->ldx], kept, sizeof *kept);
        }
    }
    return x;
}

/* L x = b or Lt x = b within rounding: |b - L x| <= (n + 4) 2^-53 |L| |x|, in every row. */
static void check_triangle(const weft_chol *plan, const arrays *a, bool transposed,
                           const double *x) {
    static test_dense l;
    test_plan_factor(plan, l);
    for (size_t j = 0; j < a->rhs; j++) {
        for (size_t i = 0; i < a->n; i++) {
            long double sum = a->values[i + j * a->ldb], size = 0;
            for (size_t k = 0; k < a->n; k++) {
                const long double product = (transposed ? l[k][i] : l[i][k]) * x[k + j * a->ldx];
                sum -= product;
                size += fabsl(product);
            }
            if (!(fabsl(sum) <= ((long double)a->n + 4) * unit * size))
                fail_msg("%s: n = %zu, row %zu of column %zu: off by %Lg of %Lg",
                         transposed ? "Lt" : "L", a->n, i, j, sum, size);
        }
    }
}

/* The largest |b - A x| / (|A| |x| + |b|), except in rows where the divisor is tiny, by its
 * definition. */
static long double error_of(const test_system *s, const arrays *a, const double *x) {
    long double most = 0;
    for (size_t j = 0; j < a->rhs; j++) {
        long double column = 0;
        for (size_t i = 0; i < a->n; i++)
            column = fmaxl(column, fabs(x[i + j * a->ldx]));
        for (size_t i = 0; i < a->n; i++) {
            const long double b = a->values[i + j * a->ldb];
            long double sum = b, size = fabsl(b), row = 0;
            for (size_t k = 0; k < a->n; k++) {
                row = fmaxl(row, fabsl(s->a[i][k]));
                sum -= s->a[i][k] * x[k + j * a->ldx];
                size += fabsl(s->a[i][k] * x[k + j * a->ldx]);
            }
            const long double tiny = 1000 * (long double)a->n * unit;
            const bool is_tiny = size <= tiny * (row * column + fabsl(b));
            const long double divisor = is_tiny ? size - fabsl(b) + row * column : size;
            const long double ratio = divisor > 0 ? fabsl(sum) / divisor : 0;
            most = !(ratio <= most) ? ratio : most;
        }
    }
    return most;
}

/* The largest |b - A x| / (|A| |x| + |b|) in the infinity norm. */
static long double normwise_of(const test_system *s, const arrays *a, const double *x) {
    long double most = 0, norm = 0;
    for (size_t i = 0; i < a->n; i++) {
        long double sum = 0;
        for (size_t k = 0; k < a->n; k++)
            sum += fabsl(s->a[i][k]);
        norm = fmaxl(norm, sum);
    }
    for (size_t j = 0; j < a->rhs; j++) {
        long double left = 0, size = 0, right = 0;
        for (size_t i = 0; i < a->n; i++) {
            long double sum = a->values[i + j * a->ldb];
            right = fmaxl(right, fabsl(sum));
            size = fmaxl(size, fabs(x[i + j * a->ldx]));
            for (size_t k = 0; k < a->n; k++)
                sum -= s->a[i][k] * x[k + j * a->ldx];
            left = fmaxl(left, fabsl(sum));
        }
        most = fmaxl(most, left > 0 ? left / (norm * size + right) : 0);
    }
    return most;
}

/* The reported error is that of the X that the caller gets, to the bit. */
static void check_reported(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                           const arrays *a, const double *x) {
    double most = 0;
    for (size_t j = 0; j < a->rhs; j += WI_CHOL_RHS) {
        wi_misfit misfit;
        double largest[WI_CHOL_RHS];
        const size_t n = a->rhs - j < WI_CHOL_RHS ? a->rhs - j : WI_CHOL_RHS;
        for (size_t r = 0; r < n; r++)
            largest[r] = wi_largest(a->n, x + (j + r) * a->ldx);
        const wi_residual_args args = {.matrix = matrix,
                                       .n = n,
                                       .x = x + j * a->ldx,
                                       .ldx = a->ldx,
                                       .b = a->values + j * a->ldb,
                                       .ldb = a->ldb,
                                       .extended = true,
                                       .misfit = &misfit,
                                       .largest = largest};
        wi_sparse_residual(ctx, &args);
        for (size_t r = 0; r < n; r++)
            most = fmax(most, misfit.error[r]);
    }
    assert_true(test_report_of(ctx, plan).backward_error == most);
}

/* L's rounding errors are bounded row by row only in the 2-norm; small systems stay far below this.
 */
static void check_system(weft_context *ctx, weft_chol *plan, const test_system *s, const arrays *a,
                         int refine, const double *x) {
    const long double error = error_of(s, a, x);
    const double reported = test_report_of(ctx, plan).backward_error;
    if (!(fabsl(reported - error) <= 2 * unit + 1e-3L * error))
        fail_msg("backward error %Lg, reported as %g", error, reported);
    if (!(error <= (refine ? 4 * unit : 1e-10L)))
        fail_msg("n = %zu, %d steps: backward error %Lg", a->n, refine, error);
    const long double normwise = normwise_of(s, a, x);
    const double told = test_report_of(ctx, plan).normwise_error;
    if (!(fabsl(told - normwise) <= 2 * unit + 1e-3L * normwise))
        fail_msg("normwise error %Lg, reported as %g", normwise, told);
}

static void solve_systems(const char *place) {
    weft_context *const ctx = test_open(place);
    static test_system s;
    static arrays a;
    test_random r = test_random_at(1);
    a.b = test_buffer_open(ctx, false, sizeof a.values);
    a.x = test_buffer_open(ctx, false, sizeof a.values);
    const int systems = (int)test_times(SYSTEMS);
    for (int k = 0; k < systems; k++) {
        if (!test_case_wanted(&r))
            continue;
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = factored(ctx, matrix, k % 2 ? "amd" : "rcm", k % 4 < 2);
        set_up(&r, &a, (size_t)s.graph.n);
        check_triangle(plan, &a, false, solved(ctx, plan, NULL, WEFT_CHOL_L, 0, &a));
        set_up(&r, &a, (size_t)s.graph.n);
        check_triangle(plan, &a, true, solved(ctx, plan, NULL, WEFT_CHOL_LT, 0, &a));
        for (int refine = 0; refine <= 8; refine += 8) {
            set_up(&r, &a, (size_t)s.graph.n);
            const double *const x = solved(ctx, plan, matrix, WEFT_CHOL_A, refine, &a);
            check_system(ctx, plan, &s, &a, refine, x);
            check_reported(ctx, plan, matrix, &a, x);
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    test_buffer_close(&a.b);
    test_buffer_close(&a.x);
    weft_close(ctx);
}

static void test_systems(void **state) {
    (void)state;
    solve_systems("cpu:1");
    solve_systems("cpu:3");
}

/* The system times `factor`, which is exact, solved with the factor of the original system. */
static void check_other(weft_context *ctx, weft_chol *plan, test_random *r, const test_system *s,
                        double factor, arrays *a) {
    static test_system other;
    other.graph = s->graph;
    for (int64_t i = 0; i < s->graph.n; i++)
        for (int64_t j = 0; j < s->graph.n; j++)
            other.a[i][j] = factor * s->a[i][j];
    weft_sparse *const matrix = test_system_matrix(ctx, &other, false);
    do
        set_up(r, a, (size_t)s->graph.n);
    while (a->rhs == 0);
    const double *const x = solved(ctx, plan, matrix, WEFT_CHOL_A, 40, a);
    check_reported(ctx, plan, matrix, a, x);
    if (factor < 1)
        check_system(ctx, plan, &other, a, 40, x);
    weft_sparse_destroy(matrix);
}

/* With the factor of A, refinement solves with 7/8 A: each step leaves an eighth of the error. With
 * 3 A the first step would double it, and is undone. */
static void test_nearby(void **state) {
    (void)state;
    static test_system s;
    static arrays a;
    test_random r = test_random_at(3);
    weft_context *const ctx = test_open("cpu:1");
    a.b = test_buffer_open(ctx, false, sizeof a.values);
    a.x = test_buffer_open(ctx, false, sizeof a.values);
    for (int k = 0; k < 200; k++) {
        do
            test_graph_random(&r, LARGEST, &s.graph);
        while (s.graph.n == 0);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = factored(ctx, matrix, "amd", k % 2);
        check_other(ctx, plan, &r, &s, 0.875, &a);
        assert_true(test_report_of(ctx, plan).refinements >= 3);
        check_other(ctx, plan, &r, &s, 3, &a);
        assert_int_equal(test_report_of(ctx, plan).refinements, 0);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    test_buffer_close(&a.b);
    test_buffer_close(&a.x);
    weft_close(ctx);
}

/* P, L and Lt applied one after the other solve with A. */
static void check_parts(bool alone) {
    weft_context *const ctx = test_open("cpu:2");
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 25);
    const size_t n = weft_sparse_rows(matrix);
    double *const x = malloc(3 * n * sizeof *x), *const b = x + n, *const y = b + n;
    weft_chol *const plan = factored(ctx, matrix, "amd", alone);
    const int64_t *const perm = weft_chol_permutation(plan);
    const weft_chol_solve_options lower = {.size = sizeof lower, .part = WEFT_CHOL_L};
    const weft_chol_solve_options upper = {.size = sizeof upper, .part = WEFT_CHOL_LT};
    for (size_t k = 0; k < n; k++)
        b[k] = (double)(k % 17) - 8;
    for (size_t k = 0; k < n; k++)
        y[k] = b[perm[k]];
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, n, x, n), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, NULL, &lower, 1, y, n, y, n), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, NULL, &upper, 1, y, n, y, n), WEFT_OK);
    for (size_t k = 0; k < n; k++)
        assert_true(x[perm[k]] == y[k]);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    free(x);
    weft_close(ctx);
}

static void test_parts(void **state) {
    (void)state;
    check_parts(false);
    check_parts(true);
}

/* The same bits by 1, 2 and 7 threads, and by one right-hand side or many, with a cut or without.
 */
static void check_threads(bool alone) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
    static const char *const kinds[] = {"laplace2d", "laplace3d", "elasticity3d"};
    static const size_t sizes[] = {60, 13, 6};
    enum {
        RHS = 18
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double *expected = NULL;
        for (size_t place = 0; place < sizeof places / sizeof *places; place++) {
            weft_context *const ctx = test_open(places[place]);
            const weft_chol_solve_options options = {.size = sizeof options, .refine = 2};
            weft_sparse *const matrix = test_generated(ctx, kinds[k], sizes[k]);
            const size_t n = weft_sparse_rows(matrix);
            double *const x = malloc(RHS * n * sizeof *x), *const one = malloc(n * sizeof *one);
            weft_chol *const plan = factored(ctx, matrix, "amd", alone);
            for (size_t i = 0; i < RHS * n; i++)
                x[i] = (double)(i % 23) - 11;
            for (size_t i = 0; i < n; i++)
                one[i] = x[i + 3 * n];
            assert_int_equal(weft_chol_solve(ctx, plan, matrix, &options, RHS, x, n, x, n),
                             WEFT_OK);
            assert_int_equal(weft_chol_solve(ctx, plan, matrix, &options, 1, one, n, one, n),
                             WEFT_OK);
            assert_memory_equal(one, x + 3 * n, n * sizeof *one);
            if (expected)
                assert_memory_equal(x, expected, RHS * n * sizeof *x);
            else
                expected = memcpy(malloc(RHS * n * sizeof *x), x, RHS * n * sizeof *x);
            free(x);
            free(one);
            weft_chol_destroy(plan);
            weft_sparse_destroy(matrix);
            weft_close(ctx);
        }
        free(expected);
    }
}

static void test_threads(void **state) {
    (void)state;
    check_threads(false);
    check_threads(true);
}

/* |A| |A^-1| in the 1-norm, by solving for every column of the inverse. */
static long double condition_of(const test_system *s) {
    static test_dense l;
    int64_t same[TEST_MOST_VERTICES];
    const int64_t n = s->graph.n;
    long double pivot, norm = 0, inverse_norm = 0;
    for (int64_t k = 0; k < n; k++)
        same[k] = k;
    assert_int_equal(test_system_factor(s, same, 0, l, &pivot), n);
    for (int64_t j = 0; j < n; j++) {
        long double x[TEST_MOST_VERTICES] = {0}, sum = 0, inverse_sum = 0;
        x[j] = 1;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < i; k++)
                x[i] -= l[i][k] * x[k];
            x[i] /= l[i][i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++)
                x[i] -= l[k][i] * x[k];
            x[i] /= l[i][i];
        }
        for (int64_t i = 0; i < n; i++) {
            sum += fabsl(s->a[i][j]);
            inverse_sum += fabsl(x[i]);
        }
        norm = fmaxl(norm, sum);
        inverse_norm = fmaxl(inverse_norm, inverse_sum);
    }
    return norm * inverse_norm;
}

/* A step that does not help is not taken: with more steps the error never grows, except in the last
 * bits of x. */
static void check_steps(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    const size_t n = weft_sparse_rows(matrix);
    double b[TEST_MOST_VERTICES], x[TEST_MOST_VERTICES], before = INFINITY;
    for (size_t i = 0; i < n; i++)
        b[i] = 1 + (double)i / 7;
    for (int steps = 0; steps < 5; steps++) {
        const weft_chol_solve_options options = {.size = sizeof options, .refine = steps};
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, &options, 1, b, n, x, n), WEFT_OK);
        const weft_chol_report report = test_report_of(ctx, plan);
        assert_true(report.backward_error <= fmax(before, 4 * unit) &&
                    report.refinements <= (size_t)steps);
        before = report.backward_error;
    }
}

static void test_condition(void **state) {
    (void)state;
    static test_system s;
    static test_dense l;
    test_random r = test_random_at(2);
    weft_context *const ctx = test_open("cpu:1");
    int far = 0;
    for (int k = 0; k < 500; k++) {
        double estimate;
        long double pivot, logdet = 0;
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = factored(ctx, matrix, "amd", k % 2);
        assert_int_equal(weft_chol_condition(ctx, plan, matrix, &estimate), WEFT_OK);
        check_steps(ctx, plan, matrix);
        const long double exact = condition_of(&s);
        if (!(estimate <= exact * (1 + 1e-6L) && estimate >= exact / 10))
            fail_msg("n = %lld: condition %Lg, estimated as %g", (long long)s.graph.n, exact,
                     estimate);
        far += estimate < exact / 3;
        assert_true(test_report_of(ctx, plan).condition_estimate == estimate);
        test_system_factor(&s, weft_chol_permutation(plan), 0, l, &pivot);
        for (int64_t i = 0; i < s.graph.n; i++)
            logdet += 2 * logl(l[i][i]);
        if (!(fabsl(test_report_of(ctx, plan).logdet - logdet) <= 1e-12L + 40 * unit * exact))
            fail_msg("log(det A) is %Lg, reported as %g", logdet, test_report_of(ctx, plan).logdet);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    assert_true(far <= 10);
    weft_close(ctx);
}

/* ---- the matrices in WEFT_MATRICES ---- */

static void solve_file(weft_context *ctx, const char *path) {
    weft_sparse *matrix;
    double condition;
    weft_chol_solve_options options = {.size = sizeof options};
    if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const size_t n = weft_sparse_rows(matrix);
    double *const b = malloc(2 * n * sizeof *b), *const x = b + n;
    weft_chol *const plan = factored(ctx, matrix, NULL, true);
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    assert_int_equal(weft_sparse_multiply(ctx, matrix, 1, x, n, b, n), WEFT_OK);
    assert_int_equal(weft_chol_condition(ctx, plan, matrix, &condition), WEFT_OK);
    for (int refine = 0; refine <= 10; refine += 10) {
        options.refine = refine;
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, &options, 1, b, n, x, n), WEFT_OK);
        const double error = test_report_of(ctx, plan).backward_error;
        if (!(error <= (refine ? 1e-14 : condition < 1e10 ? 1e-12 : 1e-8)))
            fail_msg("%s, condition %g, %d steps: backward error %g", path, condition, refine,
                     error);
    }
    free(b);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

static void test_files(void **state) {
    (void)state;
    const char *const folder = getenv("WEFT_MATRICES");
    DIR *const list = folder ? opendir(folder) : NULL;
    weft_context *const ctx = test_open("cpu:2");
    for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
        char path[4096];
        const char *const end = strrchr(entry->d_name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (end && strcmp(end, ".mtx") == 0)
            solve_file(ctx, path);
    }
    if (list)
        closedir(list);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),   cmocka_unit_test(test_nearby),
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_condition), cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("chol_solve", tests, NULL, NULL);
}
