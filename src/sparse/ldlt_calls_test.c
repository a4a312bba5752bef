/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt: windows on every instruction set, and the calls: no row and one, what is refused,
 * programs compiled before there was a kind. */
#include <math.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "ldlt.h"
#include "sparse/ldlt_simd.h"
#include "testing.h"

static weft_sparse *matrix_of(weft_context *ctx, size_t n, size_t entries, const int64_t *row,
                              const int64_t *col, const double *value) {
    weft_sparse *matrix;
    if (weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, entries, WEFT_I64,
                                    row, col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* ---- pivots of a window ---- */

/* What a window was and what became of it. */
typedef struct square {
    alignas(64) double a[WI_WINDOW * WI_WINDOW];
    double d[WI_WINDOW], e[WI_WINDOW];
    int8_t mark[WI_WINDOW];
    wi_window window;
    int64_t done;
} square;

/* Any values; many columns with nothing on the diagonal, and some with nothing at all. */
static void draw_square(test_random *r, int64_t columns, square *s) {
    memset(s, 0, sizeof *s);
    for (int64_t j = 0; j < columns; j++) {
        const bool nothing = test_below(r, 12) == 0;
        for (int64_t i = j; i < columns; i++)
            s->a[i + j * WI_WINDOW] =
                nothing || (i == j && test_below(r, 2)) ? 0 : test_unit(r) * (1 + 0x1p-20);
    }
}

static void factor_square(wi_isa isa, int64_t columns, bool last, const int8_t *signs, square *s) {
    s->window = (wi_window){.columns = columns,
                            .a = s->a,
                            .pivots = {.d = s->d, .e = s->e, .mark = s->mark},
                            .signs = signs,
                            .tiny = 0x1p-26,
                            .perturb = true,
                            .last = last};
    s->done = WI_OF_ISA(isa, wi_ldlt_simd)->factor(&s->window);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < columns; i++)
            if (j >= s->done || i < j)
                s->a[i + j * WI_WINDOW] = 0; /* undefined */
}

/* The same pivots and bits on every instruction set; and L is bounded, as the search promises. */
static void test_windows(void **state) {
    (void)state;
    static square given, first, other;
    static const int8_t signs[WI_WINDOW] = {1, -1, 1, 1};
    test_random r = test_random_at(4);
    int8_t known[WI_WINDOW];
    for (int64_t k = 0; k < WI_WINDOW; k++)
        known[k] = signs[k % 4];
    for (int k = 0; k < 300; k++) {
        const int64_t columns = 1 + (int64_t)test_below(&r, WI_WINDOW);
        const bool last = test_below(&r, 2);
        const int8_t *const wanted = k % 4 == 0 ? known : NULL;
        draw_square(&r, columns, &given);
        for (int64_t j = 0; j < columns && wanted; j++)
            given.a[j * (WI_WINDOW + 1)] = wanted[j] * (double)columns;
        first = given;
        factor_square(WI_ISA_BASE, columns, last, wanted, &first);
        assert_true(first.done == columns || !last);
        for (int64_t e = 0; e < columns * WI_WINDOW && !wanted; e++)
            assert_true(fabs(first.a[e]) <= 2.79);
        for (int isa = WI_ISA_AVX2; isa <= (int)wi_cpu_isa(); isa++) {
            other = given;
            factor_square((wi_isa)isa, columns, last, wanted, &other);
            assert_int_equal(other.done, first.done);
            assert_memory_equal(other.a, first.a, sizeof first.a);
            assert_memory_equal(other.window.order, first.window.order, (size_t)columns);
            assert_memory_equal(other.mark, first.mark, (size_t)first.done);
            assert_memory_equal(other.d, first.d, (size_t)first.done * sizeof *first.d);
            assert_memory_equal(other.e, first.e, (size_t)first.done * sizeof *first.e);
        }
    }
}

/* ---- the calls ---- */

/* No row, and one row above, below and at 0. */
static void tiny(weft_context *ctx) {
    static const int64_t zero[] = {0};
    static const double values[] = {3, -5, 0, 1e-310, -1e308};
    for (int kind = WEFT_CHOL_QUASIDEFINITE; kind <= WEFT_CHOL_INDEFINITE; kind++) {
        const weft_chol_options options = {
            .size = sizeof options, .kind = (weft_chol_kind)kind, .perturbation = 0.125};
        weft_sparse *const none = matrix_of(ctx, 0, 0, NULL, NULL, NULL);
        weft_chol *plan = test_ldlt_plan(ctx, none, &options);
        test_ldlt_factor(ctx, plan, none);
        assert_int_equal(weft_chol_solve(ctx, plan, none, NULL, 2, NULL, 0, NULL, 0), WEFT_OK);
        const weft_chol_report empty = test_report_of(ctx, plan);
        assert_true(empty.positive == 0 && empty.negative == 0 && empty.logdet == 0);
        weft_chol_destroy(plan);
        weft_sparse_destroy(none);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            const double a = values[k];
            weft_sparse *const one = matrix_of(ctx, 1, 1, zero, zero, &a);
            double x = 2 * a;
            plan = test_ldlt_plan(ctx, one, &options);
            test_ldlt_factor(ctx, plan, one);
            const weft_chol_report report = test_report_of(ctx, plan);
            assert_true(report.positive == (a > 0) && report.negative == (a < 0));
            assert_int_equal(report.perturbed, a == 0);
            if (fabs(a) < 1e308)
                assert_int_equal(weft_chol_solve(ctx, plan, one, NULL, 1, &x, 1, &x, 1), WEFT_OK);
            if (a != 0 && fabs(a) < 1e308)
                assert_true(x == 2);
            weft_chol_destroy(plan);
            weft_sparse_destroy(one);
        }
    }
}

/* Columns so different that the matrix is scaled: a solve in place reports the same errors. */
static void in_place(weft_context *ctx) {
    static const int64_t row[] = {0, 1, 2, 1, 2}, col[] = {0, 0, 0, 1, 2};
    static const double value[] = {3e-9, 1e-3, 1, 7, -1e9};
    double b[3] = {1, 3, 0.7}, x[3];
    const weft_chol_options options = {.size = sizeof options, .kind = WEFT_CHOL_INDEFINITE};
    weft_sparse *const matrix = matrix_of(ctx, 3, 5, row, col, value);
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, &options);
    test_ldlt_factor(ctx, plan, matrix);
    assert_true(plan->numbers.balance.scaled);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 3, x, 3), WEFT_OK);
    const weft_chol_report apart = test_report_of(ctx, plan);
    assert_true(apart.backward_error <= 1e-15 && apart.normwise_error <= 1e-15);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 3, b, 3), WEFT_OK);
    const weft_chol_report own = test_report_of(ctx, plan);
    assert_memory_equal(b, x, sizeof x);
    assert_true(own.backward_error == apart.backward_error);
    assert_true(own.normwise_error == apart.normwise_error);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

/* Three pivots have other signs than was said, and are replaced by numbers that are far off: then
 * refinement stalls, and GMRES solves, wherever b and x are. */
static void by_gmres(weft_context *ctx) {
    enum {
        N = 12,
        SIDES = 2
    };
    int64_t row[2 * N], col[2 * N];
    int8_t signs[N];
    double value[2 * N], b[N * SIDES], x[N * SIDES];
    size_t count = 0;
    for (int64_t j = 0; j < N; j++)
        for (int64_t i = j; i < N && i <= j + 1; i++) {
            row[count] = i;
            col[count] = j;
            value[count++] = i > j ? 0.5 : j % 4 == 2 ? -2 : 2;
            signs[j] = 1;
        }
    const weft_chol_options options = {.size = sizeof options,
                                       .kind = WEFT_CHOL_QUASIDEFINITE,
                                       .signs = signs,
                                       .perturbation = 0.25};
    weft_sparse *const matrix = matrix_of(ctx, N, count, row, col, value);
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, &options);
    test_ldlt_factor(ctx, plan, matrix);
    for (size_t k = 0; k < (size_t)N * SIDES; k++)
        x[k] = 1 + (double)(k % 5);
    assert_int_equal(weft_sparse_multiply(ctx, matrix, SIDES, x, N, b, N), WEFT_OK);
    for (int where = 0; where < (ctx->kind == WI_CPU ? 1 : 2); where++) {
        void *there;
        double at_host[N * SIDES], found[N * SIDES];
        assert_int_equal(weft_alloc(ctx, &there, sizeof b), WEFT_OK);
        double *const at = where ? there : at_host;
        assert_int_equal(weft_copy(ctx, at, b, sizeof b), WEFT_OK);
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, SIDES, at, N, at, N), WEFT_OK);
        assert_int_equal(weft_copy(ctx, found, at, sizeof b), WEFT_OK);
        const weft_chol_report report = test_report_of(ctx, plan);
        assert_true(report.krylov_steps > 0 && report.stalled == 0);
        assert_true(report.perturbed == N / 4 && report.backward_error <= 0x1p-44);
        for (size_t k = 0; k < (size_t)N * SIDES; k++)
            assert_true(fabs(found[k] - x[k]) <= 1e-12);
        assert_int_equal(weft_free(ctx, there), WEFT_OK);
    }
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

static int stop(void *user, double done) {
    (void)user, (void)done;
    return 1;
}

static void refused_calls(weft_context *ctx) {
    static const int64_t row[] = {0, 1, 1}, col[] = {0, 0, 1};
    static const double value[] = {0, 1, 0};
    static const int8_t signs[] = {1, 0};
    weft_sparse *const matrix = matrix_of(ctx, 2, 3, row, col, value);
    const weft_chol_options wrong[] = {
        {.size = sizeof *wrong, .kind = (weft_chol_kind)7},
        {.size = sizeof *wrong, .kind = WEFT_CHOL_INDEFINITE, .perturbation = NAN},
        {.size = sizeof *wrong, .kind = WEFT_CHOL_INDEFINITE, .perturbation = 1},
        {.size = sizeof *wrong, .kind = WEFT_CHOL_QUASIDEFINITE, .signs = signs}};
    static const char *const words[] = {"options.kind", "perturbation", "perturbation", "signs[1]"};
    weft_chol *plan = (weft_chol *)(uintptr_t)signs;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        test_refused(ctx, weft_chol_analyze(ctx, matrix, &wrong[k], &plan), WEFT_EARG,
                     "weft_chol_analyze", NULL);
        assert_non_null(strstr(weft_message(ctx), words[k]));
        assert_null(plan);
    }
    const weft_chol_options right = {.size = sizeof right, .kind = WEFT_CHOL_INDEFINITE};
    const weft_chol_solve_options lower = {.size = sizeof lower, .part = WEFT_CHOL_L};
    double x[2] = {1, 2};
    plan = test_ldlt_plan(ctx, matrix, &right);
    test_ldlt_factor(ctx, plan, matrix);
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, &lower, 1, x, 2, x, 2), WEFT_EUNSUPPORTED,
                 "weft_chol_solve", "part");
    assert_true(x[0] == 1 && x[1] == 2);
    assert_int_equal(weft_chol_on_progress(ctx, plan, stop, NULL), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_ECANCELLED);
    assert_int_equal(weft_chol_on_progress(ctx, plan, NULL, NULL), WEFT_OK);
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 2, x, 2), WEFT_EARG,
                 "weft_chol_solve", "factor");
    test_ldlt_factor(ctx, plan, matrix);
    x[1] = NAN;
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 2, x, 2), WEFT_ENONFINITE,
                 "weft_chol_solve", "b");
#if WEFT_LADDER
    const char *const definite = ctx->kind == WI_CPU ? "up_looking" : "levels";
    assert_int_equal(weft_use(ctx, "sparse", definite), WEFT_OK);
    test_refused(ctx, weft_chol_factor(ctx, plan, matrix), WEFT_EUNSUPPORTED, "weft_chol_factor",
                 definite);
    assert_int_equal(weft_use(ctx, "sparse", NULL), WEFT_OK);
    x[0] = x[1] = 3; /* the factor of before is still there */
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 2, x, 2), WEFT_OK);
    assert_true(x[0] == 3 && x[1] == 3);
#endif
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

/* A program that was compiled with the options and the report of before gets what it got. */
static void test_earlier_structs(void **state) {
    (void)state;
    static const int64_t zero[] = {0};
    static const double four[] = {4};
    weft_context *const ctx = test_open("cpu:1");
    weft_sparse *const matrix = matrix_of(ctx, 1, 1, zero, zero, four);
    weft_chol_options options = {.size = offsetof(weft_chol_options, kind)};
    weft_chol_report report;
    weft_chol *plan;
    memset(&report, 0x55, sizeof report);
    options.kind = (weft_chol_kind)9;
    report.size = offsetof(weft_chol_report, positive);
    assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_get_report(ctx, plan, &report), WEFT_OK);
    assert_true(report.n == 1 && report.positive == (size_t)0x5555555555555555);
    assert_int_equal(plan->kind, WEFT_CHOL_DEFINITE);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),    TEST_ON_EACH_PLACE(tiny),
        TEST_ON_EACH_PLACE(in_place),      TEST_ON_EACH_PLACE(by_gmres),
        TEST_ON_EACH_PLACE(refused_calls), cmocka_unit_test(test_earlier_structs),
    };
    return cmocka_run_group_tests_name("ldlt_calls", tests, NULL, NULL);
}
