/* SPDX-License-Identifier: Apache-2.0 */
/* Factors by products of tf32, bf16 and f16: matrices of several panels are refined to the accuracy
 * of other factors, by GMRES if they are less well conditioned, and what these factors cannot do
 * falls back, with a report that says so. */
#include "solve/solve_kinds.h"
#include "solve/solve_rig.h"

enum {
#ifdef WEFT_EMU
    ORDER = 36,
    LEAST = 18, /* more than a panel */
    KINDS = 1,  /* of the four sorts of systems */
#else
    ORDER = 300,
    LEAST = 260,
    KINDS = 4,
#endif
    FIRST = WEFT_PRECISION_TF32,
    END = WEFT_PRECISION_F16 + 1
};

static const char *const methods[] = {
    [WEFT_PRECISION_TF32] = "tf32", [WEFT_PRECISION_BF16] = "bf16", [WEFT_PRECISION_F16] = "f16"};
static const weft_type types[] = {[WEFT_PRECISION_TF32] = WEFT_F32,
                                  [WEFT_PRECISION_BF16] = WEFT_BF16,
                                  [WEFT_PRECISION_F16] = WEFT_F16};

static linear_system draw(test_random *r, weft_type type, bool spd, double condition) {
    linear_system s = system_of(type, LEAST + test_below(r, ORDER - LEAST), 2);
    s.spd = spd;
    s.how = (test_below(r, 2) ? WEFT_ROW_MAJOR : 0) |
            (test_below(r, 2) ? (spd ? WEFT_UPPER_TRIANGLE : WEFT_TRANSPOSE_A) : 0);
    fill_condition(r, &s, condition);
    round_system(&s);
    return s;
}

static weft_solve_options options_of(int precision) {
    return (weft_solve_options){.size = sizeof(weft_solve_options),
                                .precision = (weft_precision)precision};
}

static void check_method(const weft_report *report, int precision, const char *what) {
    if (report->fell_back || strcmp(report->method, methods[precision]) != 0 ||
        report->factor_type != types[precision])
        fail_msg("%s: by %s of %s, fell back %d", what, report->method,
                 weft_type_name(report->factor_type), report->fell_back);
}

/* Conditions that the factors serve, at all sizes of numbers. */
static void refined(weft_context *ctx) {
    test_random random = test_random_at(1);
    for (int precision = FIRST; precision < END; precision++)
        for (int k = 0; k < KINDS; k++) {
            char what[80];
            const int sort = KINDS == 4 ? k : (int)test_below(&random, 4);
            const bool spd = sort & 1, wide = sort & 2;
            linear_system s = draw(&random, wide ? WEFT_F64 : WEFT_F32, spd, 10);
            const weft_solve_options options = options_of(precision);
            const int power = (int)test_below(&random, 61) - 30;
            weft_report report = {.size = sizeof report};
            for (size_t e = 0; e < s.n * s.n; e++)
                s.a[e] = ldexp(s.a[e], power);
            snprintf(what, sizeof what, "%s, %s%s, 2^%d", methods[precision],
                     weft_type_name(s.type), spd ? ", spd" : "", power);
            check_good(ctx, &s, solve_system(ctx, &s, &options, &report), &report, what);
            check_method(&report, precision, what);
            const bool narrow = /* symmetric ones need a third panel, and a cpu may use f32 */
                precision != WEFT_PRECISION_TF32 && (KINDS == 4 || !spd);
            const size_t least = wide && narrow ? 3 : 1;
            if (!(report.refinements >= least || report.iterations > 0))
                fail_msg("%s: %zu steps are too few for such factors", what, report.refinements);
            assert_true(report.forward_estimate < 16 * unit_of(s.type));
            free_system(&s);
        }
}

/* A condition for which GMRES is needed, and one for which nothing helps. */
static void hard(weft_context *ctx) {
    test_random random = test_random_at(2);
    for (int precision = FIRST; precision < END; precision++) {
        const weft_solve_options options = options_of(precision);
        weft_report report = {.size = sizeof report};
        linear_system s = draw(&random, WEFT_F64, false, 1e4);
        check_good(ctx, &s, solve_system(ctx, &s, &options, &report), &report, methods[precision]);
        if (precision != WEFT_PRECISION_TF32 && /* which a cpu need not cut */
            !(report.iterations > 0 || report.fell_back || report.refinements > 3))
            fail_msg("%s: neither GMRES nor steps", methods[precision]);
        free_system(&s);
        if (KINDS < 4 && test_below(&random, 3))
            continue;
        s = draw(&random, WEFT_F64, precision & 1, 1e13);
        check_good(ctx, &s, solve_system(ctx, &s, &options, &report), &report, methods[precision]);
        assert_true(report.fell_back || report.iterations > 0);
        assert_true(!report.fell_back || strcmp(report.method, "direct") == 0);
        free_system(&s);
    }
}

/* Elimination doubles the last column at each step, until f16 cannot hold it. */
static void grown(weft_context *ctx) {
    linear_system s = system_of(WEFT_F64, 39, 1);
    const weft_solve_options options = options_of(WEFT_PRECISION_F16);
    weft_report report = {.size = sizeof report};
    for (size_t i = 0; i < s.n; i++) {
        for (size_t j = 0; j < s.n; j++)
            s.a[i * s.n + j] = j == s.n - 1 || i == j ? 1 : i > j ? -1 : 0;
        s.b[i] = (double)(i % 3);
    }
    check_good(ctx, &s, solve_system(ctx, &s, &options, &report), &report, "growth");
    free_system(&s);
}

/* Refused by f64 alone, with its column and its witness. */
static void singular(weft_context *ctx) {
    for (int precision = FIRST; precision < END; precision++) {
        linear_system s = system_of(WEFT_F64, 21, 1);
        double v[21];
        weft_solve_options options = options_of(precision);
        weft_report report = {.size = sizeof report};
        options.witness = v;
        for (size_t i = 0; i < s.n; i++) {
            s.a[i * s.n + i] = 1;
            s.b[i] = 1;
        }
        s.a[18 * s.n + 18] = 0;
        test_refused(ctx, solve_system(ctx, &s, &options, &report), WEFT_ESINGULAR, "weft_solve",
                     "column");
        assert_int_equal(report.column, 18);
        assert_true(v[18] == 1 && v[3] == 0 && report.fell_back);
        free_system(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(refined),
        TEST_ON_EACH_PLACE(hard),
        TEST_ON_EACH_PLACE(grown),
        TEST_ON_EACH_PLACE(singular),
    };
    return cmocka_run_group_tests_name("solve_narrow", tests, NULL, NULL);
}
