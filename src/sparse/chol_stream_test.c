/* SPDX-License-Identifier: Apache-2.0 */
/* Factors larger than a GPU's memory, on emu, where the memory can be said to be small: L in host
 * memory gives the bits of L on the device, in factors, solutions, failures and reports. */
#include "limits.h"
#include "sparse/chol_device.h"
#include "sparse/generate.h"
#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 60,
    LARGEST = 40,
    MOST_RHS = 17
};

#ifdef WEFT_EMU

static void ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

static weft_chol_report report_of(weft_context *ctx, const weft_chol *plan) {
    weft_chol_report report = {.size = sizeof report};
    ok(ctx, weft_chol_get_report(ctx, plan, &report));
    return report;
}

/* Two plans of one matrix: one with L on the device, one without. */
typedef struct pair {
    weft_context *ctx;
    weft_sparse *matrix;
    weft_chol *whole, *cut;
} pair;

static weft_chol *plan_of(weft_context *ctx, const weft_sparse *matrix, weft_chol_options options,
                          int small) {
    weft_chol *plan;
    options.size = sizeof options;
    ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
    plan->small = small;
    return plan;
}

/* Numbers of L that have to be on the device at once, in bytes. */
static size_t least_windows(const weft_chol *plan) {
    return 2 * (size_t)wi_schedule_widest(&plan->symbolic, &(wi_schedule_wish){.small = 0}) *
           wi_chol_number(plan);
}

/* `share` of 256 of what is between the least that can do, and all. */
static pair pair_of(weft_context *ctx, weft_sparse *matrix, weft_chol_options options, int small,
                    size_t share) {
    const pair p = {ctx, matrix, plan_of(ctx, matrix, options, small),
                    plan_of(ctx, matrix, options, small)};
    const weft_chol_report report = report_of(ctx, p.whole);
    const size_t l = report.factor_bytes, least = least_windows(p.cut);
    const size_t rest = report.device_bytes_needed - l,
                 slack = 64 * report.supernodes; /* lists of more levels */
    if (least + slack < l) {
        wi_chol_most_bytes = rest + slack + least + (l - least - slack) * share / 256;
        ok(ctx, weft_chol_reserve(ctx, p.cut, 1));
        assert_true(report_of(ctx, p.cut).device_bytes_needed <= wi_chol_most_bytes);
        wi_chol_most_bytes = 0;
    }
    return p;
}

static void drop(pair *p) {
    weft_chol_destroy(p->whole);
    weft_chol_destroy(p->cut);
    weft_sparse_destroy(p->matrix);
}

/* Is L of the second plan in host memory? */
static bool is_cut(const pair *p) {
    return p->cut->device && p->cut->device->home;
}

static void compare_solutions(const pair *p, size_t rhs, const weft_chol_solve_options *options,
                              test_random *r) {
    const size_t n = weft_sparse_rows(p->matrix);
    double *const b = malloc(3 * n * rhs * sizeof *b + 1), *const x = b + n * rhs;
    double *const y = x + n * rhs;
    for (size_t k = 0; k < n * rhs; k++)
        b[k] = test_unit(r);
    for (int again = 0; again < 2; again++) {
        ok(p->ctx, weft_chol_solve(p->ctx, p->whole, p->matrix, options, rhs, b, n, x, n));
        ok(p->ctx, weft_chol_solve(p->ctx, p->cut, p->matrix, options, rhs, b, n, y, n));
        assert_memory_equal(x, y, n * rhs * sizeof *x);
    }
    free(b);
}

static void compare_reports(const pair *p) {
    const weft_chol_report one = report_of(p->ctx, p->whole), two = report_of(p->ctx, p->cut);
    if (!(one.logdet == two.logdet && one.backward_error == two.backward_error))
        fail_msg("logdet %.17g and %.17g, backward errors %.17g and %.17g", one.logdet, two.logdet,
                 one.backward_error, two.backward_error);
    assert_true(one.positive == two.positive && one.perturbed == two.perturbed);
    assert_int_equal(one.fell_back, two.fell_back);
    assert_int_equal(one.host_factor_bytes, 0);
    assert_true((two.host_factor_bytes > 0) == is_cut(p));
    assert_true(!is_cut(p) || two.device_bytes_needed < one.device_bytes_needed + 4096);
}

static weft_sparse *mesh(weft_context *ctx, size_t n) {
    const wi_recipe recipe = {.n = n};
    weft_sparse *matrix;
    ok(ctx, wi_find_generator("laplace2d")->make(ctx, "test", &recipe, &matrix));
    return matrix;
}

static weft_sparse *draw(weft_context *ctx, test_random *r, bool definite) {
    static test_system s;
    test_graph_random(r, LARGEST, &s.graph);
    test_system_fill(r, definite, &s);
    return test_system_matrix(ctx, &s, false);
}

/* Systems of all kinds, with windows from the smallest to nearly all of L. */
static void kinds(weft_context *ctx) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    test_random r = test_random_at(1);
    const size_t times = test_times(SYSTEMS);
    size_t cut = 0;
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        const weft_chol_options options = {.kind = (weft_chol_kind)(k % 3),
                                           .precision = k % 5 == 4 ? WEFT_PRECISION_MIXED
                                                                   : WEFT_PRECISION_AUTO};
        const weft_chol_solve_options solve = {.size = sizeof solve,
                                               .refine = (int)test_below(&r, 3)};
        pair p = pair_of(ctx, k % 2 ? mesh(ctx, 6 + test_below(&r, 4)) : draw(ctx, &r, true),
                         options, smalls[test_below(&r, 4)], test_below(&r, 200));
        cut += is_cut(&p);
        for (int again = 0; again < 2; again++) {
            ok(ctx, weft_chol_factor(ctx, p.whole, p.matrix));
            ok(ctx, weft_chol_factor(ctx, p.cut, p.matrix));
            compare_reports(&p);
            compare_solutions(&p, 1 + test_below(&r, MOST_RHS), &solve, &r);
            compare_reports(&p);
        }
        drop(&p);
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
        const wi_recipe recipe = {.n = cases[k].n};
        weft_sparse *matrix;
        ok(ctx, wi_find_generator(cases[k].generator)->make(ctx, "test", &recipe, &matrix));
        pair p = pair_of(ctx, matrix, options, WI_FRONT_TINY, cases[k].share);
        assert_true(is_cut(&p));
        assert_true(p.cut->device->schedule.levels > p.cut->symbolic.supernodes / 64);
        ok(ctx, weft_chol_factor(ctx, p.whole, matrix));
        ok(ctx, weft_chol_factor(ctx, p.cut, matrix));
        compare_solutions(&p, cases[k].rhs, &solve, &r);
        compare_reports(&p);
        drop(&p);
    }
}

/* The same column fails, with the same proof. */
static void failures(weft_context *ctx) {
    test_random r = test_random_at(3);
    const size_t times = test_times(SYSTEMS / 2);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        double d[TEST_MOST_VERTICES], e[TEST_MOST_VERTICES];
        pair p = pair_of(ctx, draw(ctx, &r, false), (weft_chol_options){.kind = 0}, 8,
                         test_below(&r, 64));
        const weft_status status = weft_chol_factor(ctx, p.whole, p.matrix);
        assert_int_equal(status, weft_chol_factor(ctx, p.cut, p.matrix));
        assert_int_equal(p.whole->failed, p.cut->failed);
        if (status == WEFT_ENOTSPD || status == WEFT_ESINGULAR) {
            ok(ctx, weft_chol_direction(ctx, p.whole, d));
            ok(ctx, weft_chol_direction(ctx, p.cut, e));
            assert_memory_equal(d, e, weft_sparse_rows(p.matrix) * sizeof *d);
        }
        drop(&p);
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
        weft_sparse *const matrix = mesh(ctx, 10);
        double *const value = malloc(weft_sparse_entries(matrix) * sizeof *value);
        assert_non_null(value);
        memcpy(value, weft_sparse_values(matrix), weft_sparse_entries(matrix) * sizeof *value);
        for (size_t j = 0; j < weft_sparse_cols(matrix); j++) /* nearly singular */
            value[weft_sparse_starts(matrix)[j]] -= k % 2 ? 0 : 1e-3 - 1e-3 * tiny[0];
        ok(ctx, weft_sparse_update(ctx, matrix, weft_sparse_entries(matrix), value));
        free(value);
        pair p = pair_of(ctx, matrix, options, 16, (size_t)k * 60);
        const size_t bytes = p.cut->device ? report_of(ctx, p.cut).device_bytes_needed : 0;
        wi_chol_most_bytes = k < 3 && bytes > 0 ? bytes + bytes / 4 : 0;
        ok(ctx, weft_chol_factor(ctx, p.cut, matrix));
        ok(ctx, weft_chol_factor(ctx, p.whole, matrix));
        compare_solutions(&p, 3, NULL, &r);
        wi_chol_most_bytes = 0;
        assert_int_equal(report_of(ctx, p.whole).fell_back, report_of(ctx, p.cut).fell_back);
        drop(&p);
    }
}

/* Where even one front does not fit, the call says what it takes. */
static void too_little(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    weft_sparse *const matrix = mesh(ctx, 8);
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    for (size_t bytes = 1; bytes < 50000; bytes *= 15) {
        wi_chol_most_bytes = bytes;
        weft_chol *const cut = plan_of(ctx, matrix, (weft_chol_options){.kind = 0}, 8);
        if (report_of(ctx, plan).device_bytes_needed > 2 * bytes)
            test_refused(ctx, weft_chol_factor(ctx, cut, matrix), WEFT_ENOMEM, "weft_chol_factor",
                         "host memory");
        wi_chol_most_bytes = 0;
        ok(ctx, weft_chol_factor(ctx, cut, matrix));
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
