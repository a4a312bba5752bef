/* SPDX-License-Identifier: Apache-2.0 */
/* Systems whose matrix does not fit a GPU's memory: on emu a limit is lowered, so that small
 * matrices stay in host memory, with or without their factors. Elsewhere they are solved as ever.
 * Solutions, reports, witnesses and refusals are those of other systems. */
#include "limits.h"
#include "solve/solve_rig.h"

enum {
    ALL_BEYOND,  /* A and its factors come in panels */
    FACTORS_FIT, /* A comes in panels */
    NARROW_FIT,  /* ... and only factors of f32 fit */
    PLACEMENTS,
    MANY_SIDES = 65 /* more than are worked on together */
};

static const size_t orders[] = {1, 15, 16, 17, 33, 40, 50};

#ifdef WEFT_EMU
/* Lowers the limit for a system, whose vectors count, too; one is that of the trial. */
static void lower_memory(const linear_system *s, int placement) {
    const size_t n = s->n, group = s->rhs < 64 ? s->rhs + 1 : 64, width = test_size_of(s->type);
    const size_t vectors = n * (s->rhs * 2 * width + (s->rhs + 1) * 8 + 32 * group);
    const size_t factors = n * n * (placement == FACTORS_FIT ? width : 4);
    wi_lu_resident_bytes = placement == ALL_BEYOND ? 1 : (factors + vectors) * 7 / 6 + 1;
}
static void restore_memory(void) {
    wi_lu_resident_bytes = 0;
}
#else
static void lower_memory(const linear_system *s, int placement) {
    (void)s;
    (void)placement;
}
static void restore_memory(void) {}
#endif

static linear_system draw(test_random *r, size_t n, size_t rhs, bool spd) {
    linear_system s = system_of(test_below(r, 2) ? WEFT_F32 : WEFT_F64, n, rhs);
    s.spd = spd;
    s.how = (test_below(r, 2) ? WEFT_ROW_MAJOR : 0) |
            (test_below(r, 2) ? (spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A) : 0);
    s.gap = test_below(r, 3);
    s.in_place = test_below(r, 2);
    (spd ? fill_spd : fill_general)(r, &s);
    return s;
}

/* Rows, and columns unless the matrix is symmetric, by powers of two that are far apart. */
static void scale_badly(test_random *r, linear_system *s) {
    const int range = s->type == WEFT_F64 ? 200 : 20;
    for (size_t i = 0; i < s->n; i++) {
        const int power = (int)test_below(r, (uint64_t)range) - range / 2;
        for (size_t j = 0; j < s->n; j++) {
            s->a[i * s->n + j] = ldexp(s->a[i * s->n + j], power);
            if (s->spd)
                s->a[j * s->n + i] = ldexp(s->a[j * s->n + i], power);
        }
        for (size_t j = 0; j < s->rhs; j++)
            s->b[i * s->rhs + j] = ldexp(s->b[i * s->rhs + j], power);
    }
}

static void check_placement(const weft_context *ctx, const linear_system *s,
                            const weft_report *report, int placement, const char *what) {
#ifdef WEFT_EMU
    const bool fits = placement == FACTORS_FIT || report->factor_type == WEFT_F32;
    const int expected = placement == ALL_BEYOND ? 2 : fits ? 1 : 2;
#else
    const int expected = 0;
    (void)placement;
#endif
    (void)ctx;
    (void)s;
    if (report->streamed != expected)
        fail_msg("%s: streamed is %d", what, report->streamed);
}

static void one_system(weft_context *ctx, test_random *r, size_t n, size_t rhs, int placement) {
    char what[160];
    linear_system s = draw(r, n, rhs, test_below(r, 2));
    const bool scaled = test_below(r, 3) == 0;
    const bool mixed = s.type == WEFT_F64 && placement == NARROW_FIT;
    const weft_solve_options options = {
        .size = sizeof options, .precision = mixed ? WEFT_PRECISION_MIXED : WEFT_PRECISION_FULL};
    weft_report report = {.size = sizeof report};
    if (scaled)
        scale_badly(r, &s);
    snprintf(what, sizeof what, "%s %s, n = %zu, rhs = %zu, how = %u, placement %d%s%s",
             s.spd ? "spd" : "general", weft_type_name(s.type), n, rhs, s.how, placement,
             scaled ? ", scaled" : "", mixed ? ", mixed" : "");
    lower_memory(&s, placement);
    check_good(ctx, &s, solve_system(ctx, &s, &options, &report), &report, what);
    restore_memory();
    check_placement(ctx, &s, &report, placement, what);
    const double truth = n > 1 && !scaled ? true_condition(&s) : 0;
    if (!(report.condition_estimate <= 1.1 * truth && report.condition_estimate >= truth / 10) &&
        truth > 0 && truth < 0x1p18)
        fail_msg("%s: the condition is %.3g, and %.3g is reported", what, truth,
                 report.condition_estimate);
    if (!(report.forward_bound > 0 && report.forward_estimate < 1))
        fail_msg("%s: the bound is %.3g", what, report.forward_bound);
    free_system(&s);
}

static void systems(weft_context *ctx) {
    test_random random = test_random_at(1);
    for (int placement = 0; placement < PLACEMENTS; placement++)
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
            if (test_below(&random, 2))
                one_system(ctx, &random, orders[k], 1 + test_below(&random, 3),
                           orders[k] > 1 ? placement : ALL_BEYOND);
    one_system(ctx, &random, 20, MANY_SIDES, ALL_BEYOND);
}

/* The same solution and report as that of a matrix that fits, but for how sums are cut. */
static void alike(weft_context *ctx) {
    test_random random = test_random_at(2);
    for (int spd = 0; spd < 2; spd++) {
        linear_system s = draw(&random, 35, 2, spd);
        weft_report one = {.size = sizeof one}, other = one;
        double *const x = malloc(s.n * s.rhs * sizeof *x);
        assert_non_null(x);
        assert_int_equal(solve_system(ctx, &s, NULL, &one), WEFT_OK);
        memcpy(x, s.x, s.n * s.rhs * sizeof *x);
        lower_memory(&s, ALL_BEYOND);
        assert_int_equal(solve_system(ctx, &s, NULL, &other), WEFT_OK);
        restore_memory();
        for (size_t k = 0; k < s.n * s.rhs; k++)
            assert_true(fabs(s.x[k] - x[k]) <= 4 * unit_of(s.type) * fabs(x[k]));
        assert_true(fabs(one.log_abs_det - other.log_abs_det) < 1e-3);
        assert_int_equal(one.sign_det, other.sign_det);
        assert_true(fabs(one.growth - other.growth) <= 1e-3 * one.growth);
        free(x);
        free_system(&s);
    }
}

/* With exact residuals x is the exact solution, rounded, wherever the matrix is. */
static void exact(weft_context *ctx) {
    const weft_solve_options options = {.size = sizeof options, .exact = 1};
    test_random random = test_random_at(5);
    for (int k = 0; k < 4; k++) {
        linear_system s = draw(&random, 33, 2, k % 2);
        const size_t bytes = s.n * s.rhs * sizeof *s.x;
        weft_report one = {.size = sizeof one}, other = one;
        double *const x = malloc(bytes);
        assert_non_null(x);
        if (k > 1)
            scale_badly(&random, &s);
        round_system(&s);
        assert_int_equal(solve_system(ctx, &s, &options, &one), WEFT_OK);
        memcpy(x, s.x, bytes);
        lower_memory(&s, k == 2 ? FACTORS_FIT : ALL_BEYOND);
        assert_int_equal(solve_system(ctx, &s, &options, &other), WEFT_OK);
        restore_memory();
        check_placement(ctx, &s, &other, k == 2 ? FACTORS_FIT : ALL_BEYOND, "exact");
        assert_true(one.stalled == 0 && other.stalled == 0 && other.exact == 1);
        for (size_t e = 0; e < s.n * s.rhs; e++)
            if (!(s.x[e] == x[e]))
                fail_msg("system %d: x[%zu] is %a, and %a where A fits", k, e, s.x[e], x[e]);
        free(x);
        free_system(&s);
    }
}

/* ---- refused ---- */

/* A column that is twice another; a diagonal element that is too small. */
static void not_regular(weft_context *ctx) {
    test_random random = test_random_at(3);
    for (int spd = 0; spd < 2; spd++) {
        linear_system s = system_of(WEFT_F64, 40, 1);
        const size_t n = s.n, column = 17 + test_below(&random, 20);
        double v[40];
        const weft_solve_options options = {.size = sizeof options, .witness = v};
        weft_report report = {.size = sizeof report};
        quad worst = 0;
        s.spd = spd;
        for (size_t i = 0; i < n; i++) {
            s.b[i] = 1;
            s.a[i * n + i] = 4;
            s.a[i * n] = s.a[i] = i > 0 ? 0.25 : 4;
        }
        if (spd)
            s.a[column * n + column] = 0x1p-10;
        for (size_t i = 0; i < n && !spd; i++)
            s.a[i * n + column] = 2 * s.a[i * n];
        lower_memory(&s, ALL_BEYOND);
        test_refused(ctx, solve_system(ctx, &s, &options, &report),
                     spd ? WEFT_ENOTSPD : WEFT_ESINGULAR, spd ? "weft_solve_spd" : "weft_solve",
                     "column");
        restore_memory();
        assert_int_equal(report.column, column);
        assert_true(v[column] == 1);
        for (size_t i = 0; i < n; i++) {
            quad sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += s.a[i * n + j] * (quad)v[j];
            worst = spd ? worst + sum * v[i] : quad_size(sum) > worst ? quad_size(sum) : worst;
        }
        assert_true(worst <= (spd ? 0 : 0x1p-48));
        free_system(&s);
    }
}

static void not_finite(weft_context *ctx) {
    test_random random = test_random_at(4);
    for (int spd = 0; spd < 2; spd++) {
        linear_system s = draw(&random, 37, 1, spd);
        s.a[30 * s.n + 21] = s.a[21 * s.n + 30] = NAN;
        s.a[33 * s.n + 25] = s.a[25 * s.n + 33] = INFINITY;
        lower_memory(&s, ALL_BEYOND);
        const weft_status status = solve_system(ctx, &s, NULL, NULL);
        test_refused(ctx, status, WEFT_ENONFINITE, spd ? "weft_solve_spd" : "weft_solve", "a");
        restore_memory();
        const bool above = spd && s.how & WEFT_UPPER_TRIANGLE;
        assert_non_null(
            strstr(weft_message(ctx), above ? "row 21 of column 30 " : "row 30 of column 21 "));
        free_system(&s);
    }
}

/* ---- precision ---- */

/* Factors of f32 that refine nothing, which fall back to f64. */
static void falls_back(weft_context *ctx) {
    linear_system s = system_of(WEFT_F64, 18, 2);
    const weft_solve_options mixed = {.size = sizeof mixed, .precision = WEFT_PRECISION_MIXED};
    weft_report report = {.size = sizeof report};
    for (size_t i = 0; i < s.n; i++) {
        for (size_t j = 0; j < s.n; j++)
            s.a[i * s.n + j] = i == j ? 1 : 0x1p-180 * (double)(1 + (i * 5 + j * 3) % 7);
        s.b[i * 2] = 1;
        s.b[i * 2 + 1] = (double)i;
    }
    lower_memory(&s, NARROW_FIT);
    check_good(ctx, &s, solve_system(ctx, &s, &mixed, &report), &report, "beyond f32");
    restore_memory();
    assert_int_equal(report.fell_back, 1);
    check_placement(ctx, &s, &report, NARROW_FIT, "beyond f32");
    free_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(systems),     TEST_ON_EACH_PLACE(alike),
        TEST_ON_EACH_PLACE(not_regular), TEST_ON_EACH_PLACE(not_finite),
        TEST_ON_EACH_PLACE(falls_back),  TEST_ON_EACH_PLACE(exact),
    };
    return cmocka_run_group_tests_name("solve_streamed", tests, NULL, NULL);
}
