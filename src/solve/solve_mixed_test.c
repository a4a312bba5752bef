/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of f32 for systems of f64: refinement, GMRES, falling back, and when the library chooses
 * them; and that each call gives the same bits each time. */
#include "gpu_name.h"
#include "solve/solve_kinds.h"
#include "solve/system.h"

enum {
#ifdef WEFT_EMU
    CONDITION_ORDER = 6,
    CONDITION_STEP = 3,
#else
    CONDITION_ORDER = 60,
    CONDITION_STEP = 1,
#endif
    CHOSEN_ORDER = MOST_REFLECTED, /* f32 pays, residuals being of f64 */
    TOO_SMALL = 100
};

/* Plain refinement, GMRES and falling back each have their range of conditions. */
static void mixed(weft_context *ctx) {
    test_random random = test_random_at(8);
    bool with_gmres = false, fallen = false;
    const weft_solve_options o = {.size = sizeof o, .precision = WEFT_PRECISION_MIXED};
    for (int k = 1; k <= 16; k += CONDITION_STEP) {
        for (int spd = 0; spd < 2; spd++) {
            if (CONDITION_STEP > 1 && spd != k % 2)
                continue;
            linear_system s = system_of(WEFT_F64, CONDITION_ORDER, 2);
            weft_report report = {.size = sizeof report};
            char what[64];
            snprintf(what, sizeof what, "condition 1e%d%s", k, spd ? ", spd" : "");
            s.spd = spd;
            fill_condition(&random, &s, pow(10, k));
            const weft_status status = solve_system(ctx, &s, &o, &report);
            if (status == WEFT_ENOTSPD && k > 14) {
                free_system(&s);
                continue;
            }
            check_good(ctx, &s, status, &report, what);
            assert_true(k > 13 || report.forward_estimate < 0x1p-50);
            if (k < 5)
                assert_true(report.iterations == 0 && !report.fell_back);
            if (k < 8)
                assert_true(report.factor_type == WEFT_F32 && !report.fell_back);
            if (report.fell_back) {
                assert_string_equal(report.method, "direct");
                assert_int_equal(report.factor_type, WEFT_F64);
            }
            with_gmres = with_gmres || (report.iterations > 0 && !report.fell_back);
            fallen = fallen || report.fell_back;
            free_system(&s);
        }
    }
    assert_true(with_gmres && (fallen || CONDITION_STEP > 1)); /* small ones need not */
    linear_system s = system_of(WEFT_F64, CONDITION_ORDER, 1);
    const weft_solve_options few = {
        .size = sizeof few, .refine = 1, .precision = WEFT_PRECISION_MIXED};
    weft_report report = {.size = sizeof report};
    fill_condition(&random, &s, 1e3);
    check_good(ctx, &s, solve_system(ctx, &s, &few, &report), &report, "one step of refinement");
    assert_true(report.refinements <= 2 && report.forward_estimate < 0x1p-50);
    free_system(&s);
    assert_string_equal(weft_message(ctx), "");
}

/* The machine with f32 so fast that f64 alone counts. */
static wi_machine with_fast_f32(wi_machine m) {
    m.f64_flops = 1e3;
    m.f32_flops = m.bytes_per_s = m.cache_bytes_per_s = 1e15;
    m.launch_s = 0;
    return m;
}

static const char *choice(const weft_context *ctx, size_t n, size_t rhs) {
    const wi_solve_args args = {.type = WEFT_F64, .n = n, .rhs = rhs};
    return wi_pick(ctx, &wi_solve_ladder, WEFT_F64, &args)->name;
}

/* What has factors of f32 on a place where butterflies run, or do not. */
static const char *chosen_f32(weft_context *ctx) {
    const bool both =
        use_rung(ctx, "butterfly", &(linear_system){.type = WEFT_F64, .n = CHOSEN_ORDER, .rhs = 1});
    test_use(ctx, "solve", NULL);
    return both ? "butterfly" : "mixed";
}

/* Factors of f32 are chosen where those of f64 cost more than the residuals that refine. */
static void predicted(weft_context *ctx) {
    const wi_machine before = *wi_machine_of(ctx);
    ctx->machine = with_fast_f32(before);
    assert_string_equal(choice(ctx, CHOSEN_ORDER, 1), chosen_f32(ctx));
    assert_string_equal(choice(ctx, TOO_SMALL, 1), "direct");
    assert_string_equal(choice(ctx, CHOSEN_ORDER, CHOSEN_ORDER), "direct");
    ctx->machine = before;
}

#ifndef WEFT_EMU
/* The library takes what it chose, and leaves it without GMRES. */
static void chosen(weft_context *ctx) {
    test_random random = test_random_at(9);
    const wi_machine before = *wi_machine_of(ctx);
    linear_system s = system_of(WEFT_F64, CHOSEN_ORDER, 1);
    weft_report report = {.size = sizeof report};
    fill_condition(&random, &s, 100);
    ctx->machine = with_fast_f32(before);
    assert_int_equal(solve_system(ctx, &s, NULL, &report), WEFT_OK);
    assert_string_equal(report.method, chosen_f32(ctx));
    fill_condition(&random, &s, 1e12);
    check_good(ctx, &s, solve_system(ctx, &s, NULL, &report), &report, "chosen");
    assert_string_equal(report.method, "direct");
    assert_true(report.fell_back && report.iterations == 0);
    for (size_t k = 0; k < s.n * s.n; k++) /* f32 does not hold them all, however scaled */
        s.a[k] = k % (s.n + 1) ? s.a[k] * 0x1p-180 : 1;
    check_good(ctx, &s, solve_system(ctx, &s, NULL, &report), &report, "beyond f32");
    assert_true(report.fell_back);
    const weft_solve_options full = {.size = sizeof full, .precision = WEFT_PRECISION_FULL};
    assert_int_equal(solve_system(ctx, &s, &full, &report), WEFT_OK);
    assert_false(report.fell_back);
    ctx->machine = before;
    free_system(&s);
}
#endif

/* ---- the same bits ---- */

#ifdef WEFT_EMU
enum {
    SAME_ORDER = 20
};
static const char *const same_places[] = {TEST_GPU, TEST_GPU};
#else
enum {
    SAME_ORDER = 300
};
static const char *const same_places[] = {"cpu:1", "cpu:3"};
#endif

static void same_bits(void **state) {
    (void)state;
    weft_context *const one = test_open(same_places[0]), *const other = test_open(same_places[1]);
    test_random random = test_random_at(10);
    for (int k = 0; k < 4; k++) {
        linear_system s = system_of(k == 3 ? WEFT_F32 : WEFT_F64, SAME_ORDER, 3);
        double *const x = malloc(s.n * s.rhs * sizeof *x);
        weft_report first = {.size = sizeof first}, second = first;
        const weft_solve_options o = {
            .size = sizeof o, .precision = k == 1 ? WEFT_PRECISION_MIXED : WEFT_PRECISION_AUTO};
        assert_non_null(x);
        s.spd = k == 2;
        s.how = k & 1 ? WEFT_ROW_MAJOR : 0;
        (s.spd ? fill_spd : fill_general)(&random, &s);
        assert_int_equal(solve_system(one, &s, &o, &first), WEFT_OK);
        memcpy(x, s.x, s.n * s.rhs * sizeof *x);
        assert_int_equal(solve_system(other, &s, &o, &second), WEFT_OK);
        assert_memory_equal(x, s.x, s.n * s.rhs * sizeof *x);
        assert_true(first.condition_estimate == second.condition_estimate);
        assert_true(first.backward_error == second.backward_error);
        assert_true(first.forward_bound == second.forward_bound);
        assert_true(first.log_abs_det == second.log_abs_det);
        free(x);
        free_system(&s);
    }
    weft_close(one);
    weft_close(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(mixed),
        TEST_ON_EACH_PLACE(predicted),
#ifndef WEFT_EMU
        TEST_ON_EACH_PLACE(chosen),
#endif
        cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests_name("solve_mixed", tests, NULL, NULL);
}
