/* SPDX-License-Identifier: Apache-2.0 */
/* weft_solve and weft_solve_spd over the kinds of matrices of LAPACK's testers of linear equations,
 * by their ratios: residual, refinement, forward error and condition, each below 30; by each rung
 * and on each place. What has columns of zeros is refused. */
#include "lu/lu_kinds.h"
#include "solve/solve_rig.h"
#include "solve/system.h"

/* Of symmetric matrices: UPPER and LOWER have no like; columns of zeros are rows of zeros, too. */
static const kind symmetric_kinds[] = {
    DIAGONAL,          RANDOM,          FIRST_COLUMN_ZERO, LAST_COLUMN_ZERO,
    BADLY_CONDITIONED, NEARLY_SINGULAR, LAST_COLUMNS_ZERO, NEAR_UNDERFLOW,
    NEAR_OVERFLOW};

enum {
    SYMMETRIC_KINDS = sizeof symmetric_kinds / sizeof *symmetric_kinds,
    SIDES = 2,
#ifdef WEFT_EMU
    MUST = 0
#else
    MUST = 5 /* each rung with each type and kind, general and symmetric */
#endif
};

static const size_t sizes[] = {1, 2, 3, 5, 10, 16, 33};

/* ---- matrices ---- */

/* Eigenvalues from 1 down to `last`, all above 0. */
static void fill_eigenvalues(test_random *r, size_t n, long double last, long double *a) {
    long double *const x = table_of(n, n);
    fill_graded(r, n, n, sqrtl(last), x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                a[i * n + j] += x[k * n + i] * x[k * n + j];
    free(x);
}

static void fill_symmetric(test_random *r, kind k, weft_type type, size_t n, long double *a) {
    const long double u = test_roundoff(type);
    const int reach = type == WEFT_F64 ? 1000 : 110;
    const int power = k == NEAR_UNDERFLOW ? -reach : k == NEAR_OVERFLOW ? reach : 0;
    fill_eigenvalues(r, n,
                     k == BADLY_CONDITIONED ? sqrtl(10 * u)
                     : k == NEARLY_SINGULAR ? 10 * u * (long double)(n + 10)
                                            : 0.5L,
                     a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const bool zero = is_zero(k, n, n, i, j) || is_zero(k, n, n, j, i);
            a[i * n + j] = zero ? 0 : ldexpl(a[i * n + j], power);
        }
}

/* As LAPACK's testers have them, of condition 2: the Cholesky factor of a matrix of condition 4, or
 * its transpose. */
static void fill_triangular(test_random *r, kind k, size_t n, long double *a) {
    long double *const l = table_of(n, n);
    fill_eigenvalues(r, n, 0.25L, l);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            for (size_t e = 0; e < j; e++)
                l[i * n + j] -= l[i * n + e] * l[j * n + e];
        const long double root = sqrtl(l[j * n + j]);
        for (size_t i = j; i < n; i++)
            a[k == LOWER ? i * n + j : j * n + i] = l[i * n + j] /= root;
    }
    free(l);
}

static void fill(test_random *r, kind k, linear_system *s) {
    const size_t n = s->n;
    long double *const a = table_of(n, n);
    if (s->spd)
        fill_symmetric(r, k, s->type, n, a);
    else if (k == UPPER || k == LOWER)
        fill_triangular(r, k, n, a);
    else
        fill_kind(r, k, s->type, n, n, a);
    for (size_t e = 0; e < n * n; e++)
        s->a[e] = (double)a[e];
    for (size_t e = 0; e < n * SIDES; e++)
        s->b[e] = test_unit(r);
    round_system(s);
    free(a);
}

/* ---- ratios ---- */

static void check_ratio(double ratio, const char *which, const char *what) {
    if (!(ratio < RATIO))
        fail_msg("%s: the ratio of the %s is %g", what, which, ratio);
}

static double sum_of(const quad *x, size_t n) {
    quad sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += quad_size(x[i]);
    return (double)sum;
}

/* |B - A X| / (|A| |X| u) in the 1-norm, and the same by rows. */
static void check_residual(const linear_system *s, const char *what) {
    const size_t n = s->n;
    quad *const rest = malloc(n * sizeof *rest), *const x = malloc(n * sizeof *x);
    double norm = 0, worst = 0;
    assert_true(rest && x);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++)
            x[i] = s->a[i * n + j];
        norm = fmax(norm, sum_of(x, n));
    }
    for (size_t j = 0; j < SIDES; j++) {
        for (size_t i = 0; i < n; i++) {
            rest[i] = s->b[i * SIDES + j];
            for (size_t k = 0; k < n; k++)
                rest[i] -= (quad)s->a[i * n + k] * s->x[k * SIDES + j];
        }
        for (size_t i = 0; i < n; i++)
            x[i] = s->x[i * SIDES + j];
        const double divisor = sum_of(x, n);
        worst = fmax(worst, sum_of(rest, n) / norm / divisor / unit_of(s->type));
    }
    free(rest);
    free(x);
    check_ratio(worst, "residual", what);
}

static void check_refinement(const linear_system *s, const weft_report *report, const char *what) {
    check_ratio(report->backward_error / ((double)(s->n + 1) * unit_of(s->type)), "refinement",
                what);
    check_backward_error(s, report, what);
}

/* The error by condition, and by the bound, which has to hold. */
static void check_error(const linear_system *s, const weft_report *report, double condition,
                        const char *what) {
    quad *const truth = malloc(s->n * SIDES * sizeof *truth);
    assert_non_null(truth);
    if (eliminate(s, NULL, truth)) {
        const double error = forward_error(s, truth);
        check_ratio(error / condition / unit_of(s->type), "error", what);
        if (!(error <= report->forward_bound) && report->column_power_most == 0 &&
            report->column_power_least == 0)
            fail_msg("%s: the error is %g, and the bound %g", what, error, report->forward_bound);
    }
    free(truth);
}

/* Beyond what the factors' precision can tell, only that it is. */
static void check_condition(const linear_system *s, const weft_report *report, double condition,
                            const char *what) {
    const double told = report->condition_estimate, most = 0x1p-5 / unit_of(s->type);
    const double ratio = told > condition ? told / condition : condition / told;
    if (!report->equilibrated && !(condition > most && told > most))
        check_ratio(ratio, "condition", what);
}

static void check_solution(const linear_system *s, const weft_report *report, const char *what) {
    const double condition = true_condition(s);
    check_residual(s, what);
    check_refinement(s, report, what);
    check_error(s, report, condition, what);
    check_condition(s, report, condition, what);
}

/* ---- cases ---- */

static bool run_kind(void *user, size_t n, const wi_row *row, const size_t at[]) {
    test_random *const r = *(test_random **)user;
    weft_context *const ctx = ((weft_context **)user)[1];
    char what[160];
    const bool spd = at[2] >= KINDS;
    const kind k = spd ? symmetric_kinds[at[2] - KINDS] : (kind)at[2];
    const weft_type type = at[0] ? WEFT_F32 : WEFT_F64;
    weft_report report = {.size = sizeof report};
    const wi_solve_args call = {.type = type, .spd = spd, .n = n, .rhs = SIDES};
    if (row && !wi_row_can(row, ctx, type, &call))
        return false;
    linear_system s = system_of(type, n, SIDES);
    s.spd = spd;
    s.how = (at[1] & 1 ? WEFT_ROW_MAJOR : 0) |
            (at[1] & 2 ? (spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A) : 0);
    s.device = test_below(r, 2);
    fill(r, k, &s);
    snprintf(what, sizeof what, "%s, kind %d of %s, n = %zu, how = %u, %s",
             spd ? "symmetric" : "general", (int)k, weft_type_name(type), n, s.how,
             row ? row->name : "auto");
    test_use(ctx, "solve", row);
    const weft_status status = solve_system(ctx, &s, NULL, &report);
    test_use(ctx, "solve", NULL);
    const size_t zero = zero_column(k, n, n);
    if (zero < n) {
        if (status != (spd ? WEFT_ENOTSPD : WEFT_ESINGULAR) || report.column != zero)
            fail_msg("%s: %s, column %zu", what, weft_status_name(status), report.column);
    } else if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    else
        check_solution(&s, &report, what);
    free_system(&s);
    return true;
}

static void kinds(weft_context *ctx) {
    test_random random = test_random_at(1);
    void *user[] = {&random, ctx};
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_solve_ladder,
                            .extent = {2, 4, KINDS + SYMMETRIC_KINDS},
                            .must = MUST,
                            .share = 100,
                            .run = run_kind};
    test_sweep_run(ctx, &random, &all, user);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(kinds)};
    return cmocka_run_group_tests_name("solve_kinds", tests, NULL, NULL);
}
