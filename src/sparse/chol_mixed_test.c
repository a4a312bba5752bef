/* SPDX-License-Identifier: Apache-2.0 */
/* Precision MIXED: solutions as good as from factors of f64, from factors of f32 where these serve
 * and from those of f64 where they do not. */
#include "mixed.h"
#include "systems.h"

enum {
    MOST_RHS = 19
};

/* How many systems for a place. Threads of a cpu wait for each other most of the time of systems so
 * small, and emu takes long for one. */
static size_t systems_for(const weft_context *ctx, size_t all, size_t fewer) {
    return test_times(ctx->kind == WI_CPU && ctx->threads == 1 ? all : fewer);
}

/* ---- small systems ---- */

/* P A Pt = L Lt within the rounding of f32. */
static void check_narrow_factor(const weft_chol *plan, const test_system *s) {
    static test_dense l;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const int64_t n = s->graph.n, *const perm = symbolic->perm;
    memset(l, 0, sizeof l);
    for (int64_t t = 0; t < symbolic->supernodes; t++)
        for (int64_t j = 0; j < wi_super_columns(symbolic, t); j++)
            for (int64_t i = j; i < wi_super_height(symbolic, t); i++)
                l[symbolic->rows[symbolic->rows_at[t] + i]][symbolic->first[t] + j] =
                    wi_chol_narrow_column(plan, t, j)[i];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; k <= j; k++) {
                sum += l[i][k] * l[j][k];
                size += fabsl(l[i][k] * l[j][k]);
            }
            const long double error = fabsl(sum - s->a[perm[i]][perm[j]]);
            if (!(error <= ldexpl((long double)n + 4, -24) * size))
                fail_msg("n = %lld, row %lld, column %lld: off by %Lg of %Lg", (long long)n,
                         (long long)i, (long long)j, error, size);
        }
    }
}

/* Where a GPU has a block for each front, emu takes millions of steps for a right-hand side in
 * every step of GMRES. */
static bool costs_most(const weft_context *ctx, size_t n, int cut) {
    return ctx->kind != WI_CPU && n > TEST_MIXED_LARGEST / 2 && test_mixed_cuts[cut] == 0;
}

/* Sparse systems of each kind that are well-conditioned or nearly so: most are solved with L of
 * f32. One in four has many right-hand sides. */
static void small_systems(weft_context *ctx) {
    static const char *const orderings[] = {NULL, "amd", "natural", "rcm"};
    static test_system s;
    static double b[TEST_MIXED_LARGEST * MOST_RHS], x[TEST_MIXED_LARGEST * MOST_RHS],
        y[TEST_MIXED_LARGEST * MOST_RHS];
    test_random r = test_random_at(1);
    const size_t systems = systems_for(ctx, 600, test_largest_wanted() ? 120 : 60);
    size_t narrow = 0, fallen = 0;
    for (size_t k = 0; k < systems; k++) {
        const weft_chol_kind kind = (weft_chol_kind)(k % 3);
        test_graph_random(&r, TEST_MIXED_LARGEST, &s.graph);
        test_system_fill(&r, kind == WEFT_CHOL_DEFINITE, &s);
        if (kind != WEFT_CHOL_DEFINITE)
            test_system_make_quasi(&s);
        const size_t n = (size_t)s.graph.n, drawn = test_below(&r, MOST_RHS);
        const int cut = (int)test_below(&r, 4);
        const size_t sides = 1 + (k % 4 || costs_most(ctx, n, cut) ? drawn % 3 : drawn);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = test_mixed_plan(ctx, matrix, kind, WEFT_PRECISION_MIXED,
                                                orderings[test_below(&r, 4)], cut);
        test_mixed_sides(&r, n * sides, b);
        test_mixed_exactly(matrix, kind, sides, b, y);
        test_mixed_factor(ctx, plan, matrix);
        if (ctx->kind == WI_CPU && kind == WEFT_CHOL_DEFINITE && plan->narrow)
            check_narrow_factor(plan, &s);
        test_mixed_solve(ctx, plan, matrix, false, sides, b, x);
        const weft_chol_report report = test_report_of(ctx, plan);
        const double error = test_mixed_distance(n, sides, x, y);
        if (!(error <= test_mixed_good))
            fail_msg("kind %d, n = %zu: x is off by %g; %zu steps, %zu of GMRES, fell back: %d",
                     (int)kind, n, error, report.refinements, report.krylov_steps,
                     report.fell_back);
        assert_int_equal(report.factor_type, report.fell_back ? WEFT_F64 : WEFT_F32);
        assert_int_equal(report.stalled, 0);
        narrow += !report.fell_back;
        fallen += (size_t)report.fell_back;
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    printf("%zu systems solved with L of f32, %zu fell back\n", narrow, fallen);
    assert_true(narrow >= 8 * fallen);
}

/* ---- conditions ---- */

/* What was done for a system. */
typedef struct ways {
    size_t plain, krylov, at_factor, at_solve;
} ways;

/* The solution that FULL gives, which a fall-back has to give. */
static void solve_fully(weft_context *ctx, const weft_sparse *matrix, weft_chol_kind kind, int cut,
                        size_t sides, const double *b, double *x) {
    const weft_chol_solve_options options = {.size = sizeof options, .refine = 10};
    const size_t n = weft_sparse_rows(matrix);
    weft_chol *const plan = test_mixed_plan(ctx, matrix, kind, WEFT_PRECISION_FULL, NULL, cut);
    test_mixed_factor(ctx, plan, matrix);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, &options, sides, b, n, x, n), WEFT_OK);
    weft_chol_destroy(plan);
}

/* One system, whose exact solution is known; counts what was done for it. */
static void check_condition(weft_context *ctx, const weft_sparse *matrix, weft_chol_kind kind,
                            test_random *r, double condition, ways *seen) {
    double b[2 * TEST_MIXED_LARGEST], x[2 * TEST_MIXED_LARGEST], y[2 * TEST_MIXED_LARGEST];
    const size_t n = weft_sparse_rows(matrix);
    const int cut = (int)test_below(r, 4);
    weft_chol *const plan = test_mixed_plan(ctx, matrix, kind, WEFT_PRECISION_MIXED, NULL, cut);
    test_mixed_sides(r, 2 * n, b);
    memcpy(x, b + n, n * sizeof *x); /* the second x has little of what A all but takes to 0 */
    assert_int_equal(weft_sparse_multiply(ctx, matrix, 1, x, n, b + n, n), WEFT_OK);
    test_mixed_factor(ctx, plan, matrix);
    const bool at_factor = test_report_of(ctx, plan).fell_back;
    memcpy(x, b, 2 * n * sizeof *x); /* X is B: a fall-back must find it unchanged */
    test_mixed_solve(ctx, plan, matrix, false, 2, x, x);
    const weft_chol_report report = test_report_of(ctx, plan);
    seen->at_factor += at_factor;
    seen->at_solve += report.fell_back && !at_factor;
    seen->krylov += !report.fell_back && report.krylov_steps > 0;
    seen->plain += !report.fell_back && report.krylov_steps == 0;
    if (report.fell_back)
        solve_fully(ctx, matrix, kind, cut, 2, b, y);
    else
        test_mixed_exactly(matrix, kind, 2, b, y);
    const double error = test_mixed_distance(n, 2, x, y);
    if (!(error <= (report.fell_back ? 0 : test_mixed_good)))
        fail_msg("condition %g: x is off by %g; %zu steps, %zu of GMRES, fell back: %d", condition,
                 error, report.refinements, report.krylov_steps, report.fell_back);
    if (report.fell_back && condition < 1e3)
        fail_msg("condition %g: fell back", condition);
    assert_int_equal(report.factor_type, report.fell_back ? WEFT_F64 : WEFT_F32);
    weft_chol_destroy(plan);
}

/* Eigenvalues from 1 down to 1 / condition, half of them small; some below 0 if `indefinite`. */
static void conditions(weft_context *ctx) {
    test_random r = test_random_at(2);
    const size_t systems = systems_for(ctx, 300, ctx->kind == WI_CPU ? 160 : 96);
    ways seen = {0};
    for (size_t k = 0; k < systems; k++) {
        const bool indefinite = k % 2 == 1;
        const double power = (double)(k / 2 % 15), condition = pow(10, power);
        const size_t n = 2 + test_below(&r, TEST_MIXED_LARGEST - 1);
        double eigenvalue[TEST_MIXED_LARGEST];
        for (size_t i = 0; i < n; i++) {
            const double size =
                i % 2 == 0 ? 1 : pow(10, -power * (0.5 + 0.5 * fabs(test_unit(&r))));
            eigenvalue[i] = indefinite && test_below(&r, 2) ? -size : size;
        }
        eigenvalue[n / 2 * 2 - 1] = 1 / condition;
        weft_sparse *const matrix = test_mixed_spectrum(ctx, &r, n, eigenvalue);
        check_condition(ctx, matrix, indefinite ? WEFT_CHOL_INDEFINITE : WEFT_CHOL_DEFINITE, &r,
                        condition, &seen);
        weft_sparse_destroy(matrix);
    }
    printf("%zu refined, %zu with GMRES, %zu fell back when factored, %zu when solved\n",
           seen.plain, seen.krylov, seen.at_factor, seen.at_solve);
    assert_true(seen.plain > 0 && seen.krylov > 0 && seen.at_factor > 0 && seen.at_solve > 0);
}

/* Of a singular matrix no x is right: columns count as stalled, and L is of f64, or the backward
 * error is small all the same. */
static void singular(weft_context *ctx) {
    test_random r = test_random_at(10);
    const size_t times = test_times(96);
    for (size_t k = 0; k < times; k++) {
        double eigenvalue[TEST_MIXED_LARGEST], b[TEST_MIXED_LARGEST], x[TEST_MIXED_LARGEST];
        const size_t n = 1 + k % 12;
        for (size_t i = 0; i < n; i++)
            eigenvalue[i] = i < 1 + k % 3 ? 0 : test_unit(&r);
        weft_sparse *const matrix = test_mixed_spectrum(ctx, &r, n, eigenvalue);
        weft_chol *const plan =
            test_mixed_plan(ctx, matrix, WEFT_CHOL_INDEFINITE, WEFT_PRECISION_MIXED, NULL, (int)k);
        test_mixed_sides(&r, n, b);
        test_mixed_factor(ctx, plan, matrix);
        test_mixed_solve(ctx, plan, matrix, false, 1, b, x);
        const weft_chol_report report = test_report_of(ctx, plan);
        if (!(report.backward_error <= 0x1p-44) && (report.stalled == 0 || !report.fell_back))
            fail_msg("n = %zu: backward error %g, stalled: %zu, fell back: %d", n,
                     report.backward_error, report.stalled, report.fell_back);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* ---- what else there is ---- */

/* With exact residuals every element is the exact one, rounded, whatever L is of. */
static void exact(weft_context *ctx) {
    test_random r = test_random_at(5);
    for (int k = 0; k < 24; k++) {
        const size_t n = 20;
        double eigenvalue[TEST_MIXED_LARGEST], b[TEST_MIXED_LARGEST], x[TEST_MIXED_LARGEST],
            y[TEST_MIXED_LARGEST];
        for (size_t i = 0; i < n; i++)
            eigenvalue[i] = pow(10, -(double)(k / 2) * fabs(test_unit(&r)));
        weft_sparse *const matrix = test_mixed_spectrum(ctx, &r, n, eigenvalue);
        weft_chol *const plan = test_mixed_plan(ctx, matrix, (weft_chol_kind)(k % 2 * 2),
                                                WEFT_PRECISION_MIXED, NULL, (int)test_below(&r, 4));
        test_mixed_sides(&r, n, b);
        test_mixed_exactly(matrix, WEFT_CHOL_DEFINITE, 1, b, y);
        test_mixed_factor(ctx, plan, matrix);
        test_mixed_solve(ctx, plan, matrix, true, 1, b, x);
        assert_memory_equal(x, y, n * sizeof *x);
        assert_int_equal(test_report_of(ctx, plan).stalled, 0);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* Rows and columns times powers of two: numbers that no float holds are no reason to fall back. */
static void range(weft_context *ctx) {
    static test_system s;
    test_random r = test_random_at(6);
    const int times = (int)test_times(96);
    for (int k = 0; k < times; k++) {
        double b[TEST_MIXED_LARGEST], x[TEST_MIXED_LARGEST], y[TEST_MIXED_LARGEST];
        const int shift = k % 4 == 0 ? 600 : k % 4 == 1 ? -600 : 0;
        do
            test_graph_random(&r, TEST_MIXED_LARGEST, &s.graph);
        while (s.graph.n == 0);
        const size_t n = (size_t)s.graph.n;
        test_system_fill(&r, true, &s);
        for (size_t i = 0; i < n; i++)
            s.a[i][i] += 40;
        for (size_t i = 0; i < n; i++) {
            const int power = (int)test_below(&r, 150) - 75;
            for (size_t j = 0; j < n; j++) {
                s.a[i][j] = ldexpl(s.a[i][j], power + shift);
                s.a[j][i] = ldexpl(s.a[j][i], power);
            }
            b[i] = ldexp(test_unit(&r), power + shift);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                s.a[j][i] = s.a[i][j];
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = test_mixed_plan(ctx, matrix, (weft_chol_kind)(k / 4 % 2 * 2),
                                                WEFT_PRECISION_MIXED, NULL, k);
        test_mixed_exactly(matrix, WEFT_CHOL_DEFINITE, 1, b, y);
        test_mixed_factor(ctx, plan, matrix);
        test_mixed_solve(ctx, plan, matrix, false, 1, b, x);
        const weft_chol_report report = test_report_of(ctx, plan);
        if (report.fell_back || !(report.backward_error <= 0x1p-50) ||
            !(test_mixed_distance(n, 1, x, y) <= test_mixed_good))
            fail_msg("system %d: fell back: %d, backward error %g, off by %g", k, report.fell_back,
                     report.backward_error, test_mixed_distance(n, 1, x, y));
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_systems), TEST_ON_EACH_PLACE(conditions),
        TEST_ON_EACH_PLACE(singular),      TEST_ON_EACH_PLACE(exact),
        TEST_ON_EACH_PLACE(range),
    };
    return cmocka_run_group_tests_name("chol_mixed", tests, NULL, NULL);
}
