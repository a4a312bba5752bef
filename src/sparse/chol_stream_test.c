/* SPDX-License-Identifier: Apache-2.0 */
/* Factors larger than a GPU's memory, on emu, where the memory can be said to be small: L in host
 * memory gives the bits of L on the device, in factors, solutions, failures and reports. */
#include "limits.h"
#include "sparse/chol_pair.h"

enum {
    SYSTEMS = 60,
    LARGEST = 40,
    MOST_RHS = 17
};

#ifdef WEFT_EMU

/* The plans of a pair: with L on the device, and without. */
enum {
    WHOLE,
    CUT
};

/* Numbers of L that have to be on the device at once, in bytes. */
static size_t least_windows(const weft_chol *plan) {
    return 2 * (size_t)wi_schedule_widest(&plan->symbolic, &(wi_schedule_wish){.small = 0}) *
           wi_chol_number(plan);
}

/* `share` of 256 of what is between the least that can do, and all. */
static chol_pair pair_of(weft_context *ctx, weft_sparse *matrix, weft_chol_options options,
                         int small, size_t share) {
    const chol_pair p = chol_pair_open(ctx, ctx, matrix, options, small);
    const weft_chol_report report = chol_pair_report(&p, WHOLE);
    const size_t l = report.factor_bytes, least = least_windows(p.plan[CUT]);
    const size_t rest = report.device_bytes_needed - l,
                 slack = 64 * report.supernodes; /* lists of more levels */
    if (least + slack < l) {
        wi_chol_most_bytes = rest + slack + least + (l - least - slack) * share / 256;
        test_ok(ctx, weft_chol_reserve(ctx, p.plan[CUT], 1));
        assert_true(chol_pair_report(&p, CUT).device_bytes_needed <= wi_chol_most_bytes);
        wi_chol_most_bytes = 0;
    }
    return p;
}

/* Is L of the second plan in host memory? */
static bool is_cut(const chol_pair *p) {
    return p->plan[CUT]->device && p->plan[CUT]->device->home;
}

/* Twice, as the second solve finds the windows that the first has left. */
static void compare_solutions(const chol_pair *p, size_t rhs,
                              const weft_chol_solve_options *options, test_random *r) {
    const test_random before = *r;
    for (int again = 0; again < 2; again++) {
        *r = before;
        chol_pair_solve(p, rhs, options, r);
    }
}

static void compare_reports(const chol_pair *p) {
    const weft_chol_report one = chol_pair_report(p, WHOLE), two = chol_pair_report(p, CUT);
    if (!(one.logdet == two.logdet && one.backward_error == two.backward_error))
        fail_msg("logdet %.17g and %.17g, backward errors %.17g and %.17g", one.logdet, two.logdet,
                 one.backward_error, two.backward_error);
    assert_true(one.positive == two.positive && one.perturbed == two.perturbed);
    assert_int_equal(one.fell_back, two.fell_back);
    assert_int_equal(one.host_factor_bytes, 0);
    assert_true((two.host_factor_bytes > 0) == is_cut(p));
    assert_true(!is_cut(p) || two.device_bytes_needed < one.device_bytes_needed + 4096);
}

/* Systems of all kinds, with windows from the smallest to nearly all of L. */
static void kinds(weft_context *ctx) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    test_random r = test_random_at(1);
    const size_t times = test_times(test_largest_wanted() ? SYSTEMS : SYSTEMS / 2);
    size_t cut = 0;
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        const weft_chol_options options = {.kind = (weft_chol_kind)(k % 3),
                                           .precision = k % 5 == 4 ? WEFT_PRECISION_MIXED
                                                                   : WEFT_PRECISION_AUTO};
        const weft_chol_solve_options solve = {.size = sizeof solve,
                                               .refine = (int)test_below(&r, 3)};
        chol_pair p = pair_of(ctx,
                              k % 2 ? test_generated(ctx, "laplace2d", 6 + test_below(&r, 4))
                                    : test_system_draw(ctx, &r, LARGEST, true),
                              options, smalls[test_below(&r, 4)], test_below(&r, 200));
        /* Steps of GMRES take longest, for each right-hand side; what is not cut is alike anyway.
         */
        const bool few = options.precision == WEFT_PRECISION_MIXED || !is_cut(&p);
        cut += is_cut(&p);
        for (int again = 0; again < 2; again++) {
            chol_pair_factor(&p);
            compare_reports(&p);
            compare_solutions(&p, 1 + test_below(&r, few || again ? 2 : MOST_RHS), &solve, &r);
            compare_reports(&p);
        }
        chol_pair_close(&p);
    }
    print_message("%zu of %zu with L in host memory\n", cut, times);
    assert_true(cut > 0 || times < 8);
}

/* Levels of many windows, and of fronts of several panels. */
static void large(weft_context *ctx) {
    static const struct {
        const char *generator;
        size_t n, share, rhs;
        weft_chol_kind kind;
    } cases[] = {{"laplace2d", 14, 0, 2, WEFT_CHOL_DEFINITE},
                 {"laplace2d", 11, 20, 1, WEFT_CHOL_INDEFINITE},
                 {"laplace3d", 7, 100, 1, WEFT_CHOL_DEFINITE}};
    test_random r = test_random_at(2);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const weft_chol_options options = {.kind = cases[k].kind};
        const weft_chol_solve_options solve = {.size = sizeof solve, .refine = 2};
        chol_pair p = pair_of(ctx, test_generated(ctx, cases[k].generator, cases[k].n), options,
                              WI_FRONT_TINY, cases[k].share);
        assert_true(is_cut(&p));
        assert_true(p.plan[CUT]->device->schedule.levels > p.plan[CUT]->symbolic.supernodes / 64);
        chol_pair_factor(&p);
        compare_solutions(&p, cases[k].rhs, &solve, &r);
        compare_reports(&p);
        chol_pair_close(&p);
    }
}

/* The same column fails, with the same proof. */
static void failures(weft_context *ctx) {
    test_random r = test_random_at(3);
    const size_t times = test_times(SYSTEMS / 2);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        chol_pair p = pair_of(ctx, test_system_draw(ctx, &r, LARGEST, false),
                              (weft_chol_options){.kind = 0}, 8, test_below(&r, 64));
        chol_pair_fail(&p);
        chol_pair_close(&p);
    }
}

/* L of f32 that does not serve gives way to L of f64, which fits where it did not, or in windows.
 */
static void widened(weft_context *ctx) {
    static const double tiny[] = {1e-9, 1e-3};
    const weft_chol_options options = {.precision = WEFT_PRECISION_MIXED};
    test_random r = test_random_at(4);
    if (ctx->kind == WI_CPU)
        return;
    for (int k = 0; k < 4; k++) {
        weft_sparse *const matrix = test_generated(ctx, "laplace2d", 10);
        double *const value = malloc(weft_sparse_entries(matrix) * sizeof *value);
        assert_non_null(value);
        memcpy(value, weft_sparse_values(matrix), weft_sparse_entries(matrix) * sizeof *value);
        for (size_t j = 0; j < weft_sparse_cols(matrix); j++) /* nearly singular */
            value[weft_sparse_starts(matrix)[j]] -= k % 2 ? 0 : 1e-3 - 1e-3 * tiny[0];
        test_ok(ctx, weft_sparse_update(ctx, matrix, weft_sparse_entries(matrix), value));
        free(value);
        chol_pair p = pair_of(ctx, matrix, options, 16, (size_t)k * 60);
        const size_t bytes =
            p.plan[CUT]->device ? chol_pair_report(&p, CUT).device_bytes_needed : 0;
        wi_chol_most_bytes = k < 3 && bytes > 0 ? bytes + bytes / 4 : 0;
        test_ok(ctx, weft_chol_factor(ctx, p.plan[CUT], matrix));
        test_ok(ctx, weft_chol_factor(ctx, p.plan[WHOLE], matrix));
        compare_solutions(&p, 3, NULL, &r);
        wi_chol_most_bytes = 0;
        assert_int_equal(chol_pair_report(&p, WHOLE).fell_back,
                         chol_pair_report(&p, CUT).fell_back);
        chol_pair_close(&p);
    }
}

/* Where even one front does not fit, the call says what it takes. */
static void too_little(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 8);
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    for (size_t bytes = 1; bytes < 50000; bytes *= 15) {
        wi_chol_most_bytes = bytes;
        weft_chol *const cut = chol_pair_plan(ctx, matrix, (weft_chol_options){.kind = 0}, 8);
        if (test_report_of(ctx, plan).device_bytes_needed > 2 * bytes)
            test_refused(ctx, weft_chol_factor(ctx, cut, matrix), WEFT_ENOMEM, "weft_chol_factor",
                         "host memory");
        wi_chol_most_bytes = 0;
        test_ok(ctx, weft_chol_factor(ctx, cut, matrix));
        weft_chol_destroy(cut);
    }
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

#else

/* Only on emu can the memory be made small. */
static void nothing(weft_context *ctx) {
    (void)ctx;
}
#    define kinds nothing
#    define large nothing
#    define failures nothing
#    define widened nothing
#    define too_little nothing

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(kinds),   TEST_ON_EACH_PLACE(large),      TEST_ON_EACH_PLACE(failures),
        TEST_ON_EACH_PLACE(widened), TEST_ON_EACH_PLACE(too_little),
    };
    return cmocka_run_group_tests_name("chol_stream", tests, NULL, NULL);
}
