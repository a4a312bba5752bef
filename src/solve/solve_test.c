/* SPDX-License-Identifier: Apache-2.0 */
/* weft_solve and weft_solve_spd: all ways to store a system, sizes, types and places; what is
 * singular, not finite or badly scaled. */
#include "core/rows.h"
#include "solve/solve_rig.h"
#include "solve/system.h"

static const size_t sizes[] = {1, 2, 3, 5, 8, 17, 31, 33, 64, 65, 100, 129, 257, 300};
static const size_t counts[] = {1, 2, 3, 5, 7, 65};

enum {
#ifdef WEFT_EMU
    MOST_WORK = 40 * 40,
    KNOWN_CASES = 6,
    ALL_KNOWN_CASES = 100,
    SCALED_STEP = 5,
    MUST = 0,
#else
    MOST_WORK = 300 * 300,
    KNOWN_CASES = 500,
    ALL_KNOWN_CASES = 10000,
    SCALED_STEP = 1,
    MUST = 3,
#endif
    STORED = 4 /* by columns or by rows; and as it is or transposed, or the one half or the other */
};

static unsigned how_of(bool spd, size_t stored) {
    return (stored & 1 ? WEFT_ROW_MAJOR : 0) |
           (stored & 2 ? (spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A) : 0);
}

/* Axes: type; symmetric or not; how it is stored. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    test_random *const r = *(test_random **)user;
    weft_context *const ctx = ((weft_context **)user)[1];
    size_t rhs = counts[test_below(r, sizeof counts / sizeof *counts)];
    char what[160];
    while (n * n * rhs > MOST_WORK && rhs > 1)
        rhs /= 2;
    if (n * n > MOST_WORK)
        return false;
    linear_system s = system_of(at[0] ? WEFT_F32 : WEFT_F64, n, rhs);
    s.spd = at[1];
    s.how = how_of(s.spd, at[2]);
    s.gap = test_below(r, 2) ? test_below(r, 5) : 0;
    s.in_place = test_below(r, 2);
    s.device = test_below(r, 2);
    (s.spd ? fill_spd : fill_general)(r, &s);
    weft_report report = {.size = sizeof report};
    snprintf(what, sizeof what, "%s %s, n = %zu, rhs = %zu, how = %u, %s",
             s.spd ? "spd" : "general", weft_type_name(s.type), n, rhs, s.how,
             row ? row->name : "auto");
    const wi_solve_args call = {.type = s.type, .spd = s.spd, .n = n, .rhs = rhs};
    if (row && !wi_row_can(row, ctx, s.type, &call)) {
        free_system(&s);
        return false;
    }
    test_use(ctx, "solve", row);
    check_good(ctx, &s, solve_system(ctx, &s, NULL, &report), &report, what);
    test_used(ctx, "solve", row, what);
    test_use(ctx, "solve", NULL);
    free_system(&s);
    return true;
}

static void all_ways(weft_context *ctx) {
    test_random random = test_random_at(1);
    void *user[] = {&random, ctx};
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_solve_ladder,
                            .extent = {2, 2, STORED},
                            .must = MUST,
                            .share = 60,
                            .run = run_drawn};
    test_sweep_run(ctx, &random, &all, user);
}

/* ---- systems whose solutions are known ---- */

/* Whole numbers of few bits, so that B = A X is exact; sometimes one row is nearly another. */
static void fill_known(test_random *r, linear_system *s) {
    const size_t n = s->n;
    const int64_t range = s->type == WEFT_F64 ? 1 << 20 : 1 << 7;
    for (size_t k = 0; k < n * n; k++)
        s->a[k] = (double)((int64_t)test_below(r, (uint64_t)(2 * range)) - range);
    if (n > 1 && test_below(r, 2)) {
        const size_t from = test_below(r, n - 1);
        const uint64_t near = (uint64_t)1 << test_below(r, s->type == WEFT_F64 ? 20 : 7);
        for (size_t j = 0; j < n; j++)
            s->a[(n - 1) * n + j] = s->a[from * n + j] + (double)test_below(r, near + 1);
    }
    for (size_t k = 0; k < n * s->rhs; k++)
        s->x[k] = (double)((int64_t)test_below(r, (uint64_t)(2 * range)) - range);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < s->rhs; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += s->a[i * n + k] * s->x[k * s->rhs + j];
            s->b[i * s->rhs + j] = sum;
        }
}

/* The bound of the forward error holds. */
static void known_solutions(weft_context *ctx) {
    test_random random = test_random_at(2);
    const size_t cases = test_times(4) == 4 ? ALL_KNOWN_CASES : KNOWN_CASES;
    size_t solved = 0, bounded = 0;
    for (size_t k = 0; k < cases; k++) {
        linear_system s = system_of(test_below(&random, 2) ? WEFT_F64 : WEFT_F32,
                                    1 + test_below(&random, 40), 1 + test_below(&random, 2));
        quad *const truth = malloc(s.n * s.rhs * sizeof *truth);
        const weft_solve_options options = {.size = sizeof options,
                                            .refine = test_below(&random, 4) ? 0 : -1};
        weft_report report = {.size = sizeof report};
        assert_non_null(truth);
        fill_known(&random, &s);
        for (size_t e = 0; e < s.n * s.rhs; e++)
            truth[e] = s.x[e];
        const weft_status status = solve_system(ctx, &s, &options, &report);
        solved += status == WEFT_OK;
        bounded += status == WEFT_OK && isfinite(report.forward_bound);
        if (status != WEFT_ESINGULAR && status != WEFT_OK)
            fail_msg("known solution %zu: %s", k, weft_message(ctx));
        if (status == WEFT_OK && !(forward_error(&s, truth) <= report.forward_bound))
            fail_msg("known solution %zu, n = %zu: the error is %.3g, and the bound %.3g", k, s.n,
                     forward_error(&s, truth), report.forward_bound);
        if (status == WEFT_OK)
            check_backward_error(&s, &report, "a known solution");
        free(truth);
        free_system(&s);
    }
    assert_true(solved > cases / 2 && bounded > cases / 4);
}

/* ---- determinants ---- */

static void determinants(weft_context *ctx) {
    linear_system s = system_of(WEFT_F64, 3, 0);
    const double a[] = {0, 2, 1, 1, 0, 0, 3, 0, 5}; /* -10 */
    weft_report report = {.size = sizeof report};
    memcpy(s.a, a, sizeof a);
    assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
    assert_int_equal(report.sign_det, -1);
    assert_true(fabs(report.log_abs_det - log(10)) < 1e-14);
    free_system(&s);
    s = system_of(WEFT_F64, 2, 0);
    s.a[0] = 0x1p-600;
    s.a[3] = -0x1p-900;
    assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
    assert_int_equal(report.sign_det, -1);
    assert_int_equal(report.equilibrated, 1);
    assert_true(fabs(report.log_abs_det + 1500 * log(2)) < 1e-10);
    s.spd = true;
    s.a[3] = 0x1p-900;
    assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
    assert_true(fabs(report.log_abs_det + 1500 * log(2)) < 1e-10);
    assert_true(report.condition_estimate == 1);
    free_system(&s);
}

/* ---- singular ---- */

/* op(A) v = 0 within rounding, v[column] = 1. */
static void check_null(const linear_system *s, const double *v, size_t column) {
    assert_true(v[column] == 1);
    for (size_t i = 0; i < s->n; i++) {
        quad sum = 0, size = 0;
        for (size_t j = 0; j < s->n; j++) {
            sum += (quad)s->a[i * s->n + j] * v[j];
            size += quad_size((quad)s->a[i * s->n + j] * v[j]);
        }
        if (!(quad_size(sum) <= 1000 * unit_of(s->type) * size))
            fail_msg("row %zu of A v is %g of %g", i, (double)sum, (double)size);
    }
}

static void singular(weft_context *ctx) {
    test_random random = test_random_at(3);
    for (size_t k = 0; k < 4 * (size_t)STORED; k++) {
        linear_system s = system_of(k & 4 ? WEFT_F32 : WEFT_F64, 9, 2);
        double v[9];
        const size_t column = test_below(&random, 9);
        const weft_solve_options options = {.size = sizeof options, .witness = v};
        weft_report report = {.size = sizeof report};
        s.how = how_of(false, k % STORED);
        s.in_place = k & 8;
        fill_general(&random, &s);
        for (size_t i = 0; i < s.n; i++) /* so that elimination rounds nothing in `column` */
            s.a[i * s.n] = ldexp(test_below(&random, 2) ? -1 : 1, (int)test_below(&random, 6));
        for (size_t i = 0; i < s.n; i++)
            for (size_t j = 0; j < s.n; j++)
                s.a[i * s.n + j] = j == column && column > 0 ? 2 * s.a[i * s.n]
                                   : j == column             ? 0
                                                             : s.a[i * s.n + j];
        if (k & 8)
            for (size_t i = 0; i < s.n; i++)
                for (size_t j = 0; j < s.n; j++) /* far apart, so that it is scaled */
                    s.a[i * s.n + j] = ldexp(s.a[i * s.n + j], (int)(3 * j) - 2 * (int)i);
        test_refused(ctx, solve_system(ctx, &s, &options, &report), WEFT_ESINGULAR, "weft_solve",
                     "column");
        assert_int_equal(report.column, column);
        check_null(&s, v, column);
        free_system(&s);
    }
}

static void indefinite(weft_context *ctx) {
    test_random random = test_random_at(4);
    for (size_t k = 0; k < 4 * (size_t)STORED; k++) {
        linear_system s = system_of(k & 4 ? WEFT_F32 : WEFT_F64, 9, 2);
        double v[9];
        const size_t column = test_below(&random, 9);
        const weft_solve_options options = {.size = sizeof options, .witness = v};
        weft_report report = {.size = sizeof report};
        quad curvature = 0;
        s.spd = true;
        s.how = how_of(true, k % STORED);
        fill_spd(&random, &s);
        s.a[column * s.n + column] = k & 8 ? -3 : 0.0625;
        if (column > 0)
            s.a[column * s.n + 0] = s.a[column] = 5;
        else
            s.a[0] = -1;
        test_refused(ctx, solve_system(ctx, &s, &options, &report), WEFT_ENOTSPD, "weft_solve_spd",
                     "positive");
        assert_int_equal(report.column, column);
        assert_true(v[column] == 1);
        for (size_t i = 0; i < s.n; i++)
            for (size_t j = 0; j < s.n; j++)
                curvature += v[i] * (quad)s.a[i * s.n + j] * v[j];
        assert_true(curvature <= 0);
        free_system(&s);
    }
}

/* ---- not finite ---- */

static void not_finite(weft_context *ctx) {
    test_random random = test_random_at(5);
    for (size_t k = 0; k < 2 * (size_t)STORED; k++) {
        linear_system s = system_of(k & 4 ? WEFT_F32 : WEFT_F64, 7, 3);
        char where[64];
        s.how = how_of(false, k % STORED);
        fill_general(&random, &s);
        s.a[4 * 7 + 5] = k & 1 ? NAN : -INFINITY;
        s.a[6 * 7 + 5] = s.a[1 * 7 + 6] = NAN;
        weft_status status = solve_system(ctx, &s, NULL, NULL);
        test_refused(ctx, status, WEFT_ENONFINITE, "weft_solve", "a");
        snprintf(where, sizeof where, "row 4 of column 5 ");
        assert_non_null(strstr(weft_message(ctx), where));
        fill_general(&random, &s);
        s.b[3 * 3 + 1] = s.b[5 * 3 + 1] = NAN;
        s.b[1 * 3 + 2] = INFINITY;
        status = solve_system(ctx, &s, NULL, NULL);
        test_refused(ctx, status, WEFT_ENONFINITE, "weft_solve", "b");
        assert_non_null(strstr(weft_message(ctx), "row 3 of column 1 "));
        fill_spd(&random, &s);
        s.spd = true;
        s.how = how_of(true, k % STORED);
        s.a[2 * 7 + 5] = s.a[5 * 7 + 2] = NAN;
        status = solve_system(ctx, &s, NULL, NULL);
        test_refused(ctx, status, WEFT_ENONFINITE, "weft_solve_spd", "a");
        free_system(&s);
    }
    linear_system s = system_of(WEFT_F64, 2, 1); /* x is 2^1023 / 2^-10 */
    s.a[0] = s.a[3] = 0x1p-10;
    s.b[0] = 0x1p1023;
    s.b[1] = 1;
    test_refused(ctx, solve_system(ctx, &s, NULL, NULL), WEFT_ENONFINITE, "weft_solve", "column");
    free_system(&s);
}

/* ---- badly scaled ---- */

static void badly_scaled(weft_context *ctx) {
    test_random random = test_random_at(6);
    for (size_t k = 0; k < 6; k += SCALED_STEP) {
        linear_system s = system_of(WEFT_F64, 20, 2);
        weft_report report = {.size = sizeof report};
        s.spd = k & 1;
        s.how = how_of(s.spd, k % STORED);
        (s.spd ? fill_spd : fill_general)(&random, &s);
        for (size_t i = 0; i < s.n; i++) {
            const int down = (int)test_below(&random, 500) - 250;
            for (size_t j = 0; j < s.n; j++) {
                s.a[i * s.n + j] = ldexp(s.a[i * s.n + j], down);
                if (s.spd || k > 2)
                    s.a[j * s.n + i] = ldexp(s.a[j * s.n + i], s.spd ? down : 2 * down);
            }
            s.b[i * 2] = ldexp(s.b[i * 2], down);
            s.b[i * 2 + 1] = ldexp(s.b[i * 2 + 1], down);
        }
        check_good(ctx, &s, solve_system(ctx, &s, NULL, &report), &report, "badly scaled");
        assert_int_equal(report.equilibrated, 1);
        assert_true(report.row_power_most - report.row_power_least > 10);
        assert_true(report.condition_estimate < 1e6);
        free_system(&s);
    }
    linear_system s = system_of(WEFT_F64, 3, 1);
    const weft_solve_options never = {.size = sizeof never, .equilibrate = WEFT_EQUILIBRATE_NEVER};
    weft_report report = {.size = sizeof report};
    for (size_t i = 0; i < 3; i++) {
        s.a[i * 4] = ldexp(1, (int)(20 * i));
        s.b[i] = 1;
    }
    assert_int_equal(solve_system(ctx, &s, &never, &report), WEFT_OK);
    assert_int_equal(report.equilibrated, 0);
    assert_true(report.condition_estimate == 0x1p40);
    free_system(&s);
}

/* ---- options ---- */

static void options(weft_context *ctx) {
    test_random random = test_random_at(7);
    linear_system s = system_of(WEFT_F64, 30, 1);
    weft_report report = {.size = sizeof report};
    weft_solve_options o = {.size = sizeof o, .refine = -1};
    fill_general(&random, &s);
    assert_int_equal(solve_system(ctx, &s, &o, &report), WEFT_OK);
    assert_int_equal(report.refinements, 0);
    assert_true(report.forward_estimate == 0 && report.growth > 0.1 && report.growth < 30);
    check_backward_error(&s, &report, "without refinement");
    o = (weft_solve_options){.size = sizeof o, .no_estimates = 1};
    assert_int_equal(solve_system(ctx, &s, &o, &report), WEFT_OK);
    assert_true(isnan(report.condition_estimate) && isnan(report.forward_bound));
    assert_true(report.refinements >= 1 && report.forward_estimate <= 0x1p-50);
    assert_string_equal(report.method, "direct");
    assert_non_null(report.variant);
    assert_true(report.bytes >= 30 * 30 * 8);
    report = (weft_report){.size = offsetof(weft_report, backward_error), .backward_error = 7};
    assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
    assert_true(report.n == 30 && report.backward_error == 7);
    free_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_ways),     TEST_ON_EACH_PLACE(known_solutions),
        TEST_ON_EACH_PLACE(determinants), TEST_ON_EACH_PLACE(singular),
        TEST_ON_EACH_PLACE(indefinite),   TEST_ON_EACH_PLACE(not_finite),
        TEST_ON_EACH_PLACE(badly_scaled), TEST_ON_EACH_PLACE(options),

    };
    return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
