/* SPDX-License-Identifier: Apache-2.0 */
/* The factorization on a GPU: L held against P A Pt, against the cpu's, and against itself in a
 * second run; solutions, failures, and what is refused. */
#include <dirent.h>

#include "gpu_name.h"
#include "limits.h"
#include "sparse/chol_device.h"
#include "sparse/generate.h"
#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 200,
    LARGEST = 40,
    MOST_RHS = 19
};

/* What one block of threads does of a system's fronts: all, some, none. */
static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};

/* L as it lies on the device; to be freed. */
static double *fetch_l(weft_context *ctx, const weft_chol *plan) {
    const size_t bytes = (size_t)plan->device->schedule.l * sizeof(double);
    double *const l = malloc(bytes + 1);
    assert_non_null(l);
    if (bytes > 0)
        assert_int_equal(weft_copy(ctx, l, plan->device->l, bytes), WEFT_OK);
    return l;
}

/* |P A Pt - L Lt| <= (n + 8) 2^-53 |L| |Lt|, entry by entry. */
static void check_product(weft_context *ctx, const weft_chol *plan, const test_system *s,
                          const char *what) {
    static test_dense l;
    const wi_schedule *const schedule = &plan->device->schedule;
    const int64_t n = s->graph.n, *const perm = plan->symbolic.perm;
    double *const numbers = fetch_l(ctx, plan);
    memset(l, 0, sizeof l);
    for (int64_t f = 0; f < schedule->fronts; f++) {
        const wi_front_record *const r = &schedule->front[f];
        for (int64_t j = 0; j < r->columns; j++)
            for (int64_t i = j; i < r->height; i++)
                l[plan->symbolic.rows[r->rows + i]][r->first + j] =
                    numbers[r->panel + i + j * r->ld];
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; k <= j; k++) {
                sum += l[i][k] * l[j][k];
                size += fabsl(l[i][k] * l[j][k]);
            }
            const long double error = fabsl(sum - s->a[perm[i]][perm[j]]);
            if (!(error <= ldexpl((long double)n + 8, -53) * size))
                fail_msg("%s: n = %lld, row %lld, column %lld: off by %Lg of %Lg", what,
                         (long long)n, (long long)i, (long long)j, error, size);
        }
    }
    free(numbers);
}

/* weft_chol_solve with b, or x, or both in device memory, as `where` says. */
static weft_status solve_at(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                            const weft_chol_solve_options *options, size_t rhs, const double *b,
                            double *x, unsigned where) {
    const size_t n = weft_sparse_rows(matrix), ld = n + where, bytes = ld * rhs * sizeof(double);
    void *there[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        assert_int_equal(weft_alloc(ctx, &there[k], bytes), WEFT_OK);
    double *const from = where & 1 ? there[0] : malloc(bytes + 1);
    double *const to = where & 2 ? there[1] : malloc(bytes + 1);
    for (size_t r = 0; r < rhs && n > 0; r++)
        assert_int_equal(weft_copy(ctx, from + r * ld, b + r * n, n * sizeof *b), WEFT_OK);
    const weft_status status = weft_chol_solve(ctx, plan, matrix, options, rhs, from, ld, to, ld);
    for (size_t r = 0; r < rhs && n > 0 && status == WEFT_OK; r++)
        assert_int_equal(weft_copy(ctx, x + r * n, to + r * ld, n * sizeof *x), WEFT_OK);
    assert_int_equal(weft_sync(ctx), WEFT_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(weft_free(ctx, there[k]), WEFT_OK);
    if (!(where & 1))
        free(from);
    if (!(where & 2))
        free(to);
    return status;
}

/* Solves A, L and Lt with the factor on the GPU and with the cpu's: the same but for rounding. */
static void check_solutions(weft_context *ctx, weft_context *cpu, weft_chol *plan,
                            weft_chol *on_cpu, const weft_sparse *matrix, test_random *r) {
    const size_t n = weft_sparse_rows(matrix), rhs = 1 + test_below(r, MOST_RHS);
    static double b[MOST_RHS * TEST_MOST_VERTICES], x[MOST_RHS * TEST_MOST_VERTICES],
        y[MOST_RHS * TEST_MOST_VERTICES];
    double condition, expected;
    for (size_t k = 0; k < n * rhs; k++)
        b[k] = test_unit(r);
    if (weft_chol_condition(ctx, plan, matrix, &condition) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    assert_int_equal(weft_chol_condition(cpu, on_cpu, matrix, &expected), WEFT_OK);
    assert_true(n == 0 || fabs(condition - expected) <= 1e-13 * condition * condition);
    for (int part = WEFT_CHOL_A; part <= WEFT_CHOL_LT; part++) {
        const weft_chol_solve_options options = {.size = sizeof options,
                                                 .part = (weft_chol_part)part,
                                                 .refine = part == WEFT_CHOL_A ? 3 : 0};
        if (solve_at(ctx, plan, matrix, &options, rhs, b, x, (unsigned)test_below(r, 4)) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        assert_int_equal(weft_chol_solve(cpu, on_cpu, matrix, &options, rhs, b, n, y, n), WEFT_OK);
        double most = 0;
        for (size_t k = 0; k < n * rhs; k++)
            most = fmax(most, fabs(y[k]));
        for (size_t k = 0; k < n * rhs; k++)
            if (!(fabs(x[k] - y[k]) <= 1e-13 * condition * most))
                fail_msg("part %d: %.17g, on the cpu %.17g", part, x[k], y[k]);
        if (part == WEFT_CHOL_A)
            assert_true(test_report_of(ctx, plan).backward_error <= 1e-14);
    }
}

/* The factor of `matrix` once more has the same bits. */
static void check_same_bits(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    double *const first = fetch_l(ctx, plan);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    double *const second = fetch_l(ctx, plan);
    assert_memory_equal(first, second, (size_t)plan->device->schedule.l * sizeof *first);
    free(first);
    free(second);
}

static const char *draw_ordering(test_random *r) {
    static const char *const names[] = {"natural", "amd", "rcm"};
    return names[test_below(r, 3)];
}

static void definite(weft_context *ctx) {
    static test_system s;
    const wi_row *rows[TEST_MAX_ROWS];
    test_random r = test_random_at(1);
    if (ctx->kind == WI_CPU)
        return;
    weft_context *const cpu = test_open("cpu:1");
    const size_t count = test_rows(ctx, &wi_sparse_ladder, rows);
    const size_t times = test_times(test_largest_wanted() ? SYSTEMS : SYSTEMS / 2);
    for (size_t k = 0; k < times; k++) {
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        const char *const ordering = draw_ordering(&r);
        weft_chol *const plan = test_plan(ctx, matrix, ordering, NULL);
        weft_chol *const on_cpu = test_plan(cpu, matrix, ordering, NULL);
        const wi_row *const row = rows[k % count];
        plan->small = smalls[test_below(&r, sizeof smalls / sizeof *smalls)];
        test_use(ctx, "sparse", row);
        if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        test_used(ctx, "sparse", row, "factor");
        assert_int_equal(weft_chol_factor(cpu, on_cpu, matrix), WEFT_OK);
        check_product(ctx, plan, &s, row ? row->name : "the choice");
        const double logdet = test_report_of(ctx, plan).logdet,
                     other = test_report_of(cpu, on_cpu).logdet;
        double condition;
        assert_int_equal(weft_chol_condition(cpu, on_cpu, matrix, &condition), WEFT_OK);
        if (!(fabs(logdet - other) <= 1e-14 * (condition + 100)))
            fail_msg("logdet %.17g, on the cpu %.17g", logdet, other);
        check_solutions(ctx, cpu, plan, on_cpu, matrix, &r);
        check_same_bits(ctx, plan, matrix);
        weft_chol_destroy(plan);
        weft_chol_destroy(on_cpu);
        weft_sparse_destroy(matrix);
    }
    weft_close(cpu);
}

/* The same column fails as on the cpu, with the same direction but for rounding; and the plan can
 * factor again. */
static void indefinite(weft_context *ctx) {
    static test_system s;
    const wi_row *rows[TEST_MAX_ROWS];
    test_random r = test_random_at(2);
    size_t failed = 0;
    if (ctx->kind == WI_CPU)
        return;
    weft_context *const cpu = test_open("cpu:1");
    const size_t count = test_rows(ctx, &wi_sparse_ladder, rows), times = test_times(SYSTEMS / 2);
    for (size_t k = 0; k < times; k++) {
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, false, &s);
        weft_sparse *const matrix = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = test_plan(ctx, matrix, "amd", NULL);
        weft_chol *const on_cpu = test_plan(cpu, matrix, "amd", NULL);
        plan->small = smalls[test_below(&r, sizeof smalls / sizeof *smalls)];
        test_use(ctx, "sparse", rows[k % count]);
        const weft_status status = weft_chol_factor(ctx, plan, matrix);
        assert_int_equal(status, weft_chol_factor(cpu, on_cpu, matrix));
        if (status == WEFT_ENOTSPD) {
            double d[TEST_MOST_VERTICES], e[TEST_MOST_VERTICES], pivot, expected, most = 0;
            test_refused(ctx, status, WEFT_ENOTSPD, "weft_chol_factor", "weft_chol_direction");
            assert_int_equal(plan->failed, on_cpu->failed);
            assert_int_equal(wi_chol_failed(plan, &pivot), wi_chol_failed(on_cpu, &expected));
            assert_true(fabs(pivot - expected) <= 1e-6 * (1 + fabs(expected)));
            assert_int_equal(weft_chol_direction(ctx, plan, d), WEFT_OK);
            assert_int_equal(weft_chol_direction(cpu, on_cpu, e), WEFT_OK);
            for (int64_t i = 0; i < s.graph.n; i++)
                most = fmax(most, fabs(e[i]));
            for (int64_t i = 0; i < s.graph.n; i++)
                if (!(fabs(d[i] - e[i]) <= 1e-6 * most * most))
                    fail_msg("row %lld: %g, on the cpu %g", (long long)i, d[i], e[i]);
            test_refused(ctx,
                         weft_chol_solve(ctx, plan, matrix, NULL, 1, d, TEST_MOST_VERTICES, e,
                                         TEST_MOST_VERTICES),
                         WEFT_EARG, "weft_chol_solve", "factor");
            failed++;
        }
        weft_chol_destroy(plan);
        weft_chol_destroy(on_cpu);
        weft_sparse_destroy(matrix);
    }
    assert_true(failed > times / 4);
    weft_close(cpu);
}

/* ---- larger systems: several panels, blocks of panels and levels ---- */

/* The backward error of x, found on the host; the bits must be the same. */
static double error_of(weft_context *ctx, const weft_sparse *matrix, size_t rhs, const double *b,
                       const double *x) {
    const size_t n = weft_sparse_rows(matrix);
    double most = 0;
    for (size_t r = 0; r < rhs; r++) {
        wi_misfit misfit;
        const double largest = wi_largest(n, x + r * n);
        const wi_residual_args args = {.matrix = matrix,
                                       .n = 1,
                                       .x = x + r * n,
                                       .b = b + r * n,
                                       .ldx = n,
                                       .ldb = n,
                                       .extended = true,
                                       .misfit = &misfit,
                                       .largest = &largest};
        wi_sparse_residual(ctx, &args);
        most = fmax(most, misfit.error[0]);
    }
    return most;
}

/* Factors, solves and compares the solution with the cpu's. */
static void check_large(weft_context *ctx, weft_context *cpu, const char *what,
                        const weft_sparse *matrix, int small, size_t rhs) {
    const size_t n = weft_sparse_rows(matrix);
    const weft_chol_solve_options options = {.size = sizeof options, .refine = 2};
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    weft_chol *const on_cpu = test_plan(cpu, matrix, NULL, NULL);
    double *const b = malloc(3 * n * rhs * sizeof *b), *const x = b + n * rhs;
    double *const y = x + n * rhs;
    double condition;
    plan->small = small;
    for (size_t k = 0; k < n * rhs; k++)
        b[k] = 1 + (double)(k % 7);
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    assert_int_equal(weft_chol_factor(cpu, on_cpu, matrix), WEFT_OK);
    assert_int_equal(weft_chol_condition(cpu, on_cpu, matrix, &condition), WEFT_OK);
    for (int refine = 0; refine < 2; refine++) {
        if (weft_chol_solve(ctx, plan, matrix, refine ? &options : NULL, rhs, b, n, x, n) !=
            WEFT_OK)
            fail_msg("%s: %s", what, weft_message(ctx));
        const double error = test_report_of(ctx, plan).backward_error;
        if (!(error == error_of(cpu, matrix, rhs, b, x)))
            fail_msg("%s: backward error %.17g, on the host %.17g", what, error,
                     error_of(cpu, matrix, rhs, b, x));
        if (!(error <= (refine ? 1e-14 : condition < 1e10 ? 1e-12 : 1e-8)))
            fail_msg("%s, small %d, refined %d: backward error %g", what, small, refine, error);
    }
    assert_int_equal(weft_chol_solve(cpu, on_cpu, matrix, &options, rhs, b, n, y, n), WEFT_OK);
    double most = 0;
    for (size_t k = 0; k < n * rhs; k++)
        most = fmax(most, fabs(y[k]));
    for (size_t k = 0; k < n * rhs; k++)
        if (!(fabs(x[k] - y[k]) <= 1e-15 * (condition + 10) * most))
            fail_msg("%s: %.17g, on the cpu %.17g", what, x[k], y[k]);
    check_same_bits(ctx, plan, matrix);
    free(b);
    weft_chol_destroy(plan);
    weft_chol_destroy(on_cpu);
}

/* Two dense leaves below a dense front: their updates have 130 rows, more than a warp or a block of
 * threads adds at once. */
enum {
    LEAF = 20,
    ABOVE = 130
};
static size_t leaves_column(const void *user, size_t j, int64_t *row, double *value) {
    const size_t n = 2 * LEAF + ABOVE, end = j < LEAF ? LEAF : 2 * LEAF;
    size_t count = 0;
    (void)user;
    for (size_t i = j; i < n; i = i + 1 == end && j < end ? 2 * LEAF : i + 1) {
        row[count] = (int64_t)i;
        value[count++] = i == j ? (double)n : 1 / (double)(1 + (3 * i + j) % 11);
    }
    return count;
}

/* Fronts of how many columns are factored by the kernel of dense Cholesky. */
static void draw_flow(test_random *r) {
#ifdef WEFT_EMU
    wi_chol_flow_least = 64 * (1 + (int)test_below(r, 5));
#else
    (void)r;
#endif
}

/* One front of several panels and a part, and trees of many. */
static void large(weft_context *ctx) {
    static const struct {
        const char *generator;
        size_t n;
        int small;
        size_t rhs;
    } cases[] = {{"laplace2d", 16, WI_FRONT_SMALL, 1},
                 {"laplace3d", 7, 16, 3},
                 {"elasticity3d", 3, WI_FRONT_SMALL, 1},
                 {"random", 150, WI_FRONT_TINY, 17}};
#ifdef WEFT_EMU
    const size_t order = test_largest_wanted() ? 262 : 134;
#else
    const size_t order = 3000; /* as many tiles as the copy engine is asked for */
#endif
    weft_sparse *matrix;
    test_random r = test_random_at(3);
    if (ctx->kind == WI_CPU)
        return;
    weft_context *const cpu = test_open("cpu:1");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const wi_recipe recipe = {.n = cases[k].n, .seed = 1 + test_below(&r, 100), .per_row = 4};
        assert_int_equal(wi_find_generator(cases[k].generator)->make(ctx, "test", &recipe, &matrix),
                         WEFT_OK);
        check_large(ctx, cpu, cases[k].generator, matrix, cases[k].small, cases[k].rhs);
        weft_sparse_destroy(matrix);
    }
    const wi_made_columns columns = {
        .n = order, .most = order, .column = test_dense_column, .user = &order};
    draw_flow(&r);
    assert_int_equal(wi_generate_columns(ctx, "test", &columns, &matrix), WEFT_OK);
    check_large(ctx, cpu, "dense", matrix, WI_FRONT_SMALL, 2);
    weft_sparse_destroy(matrix);
    const wi_made_columns leaves = {
        .n = 2 * LEAF + ABOVE, .most = 2 * LEAF + ABOVE, .column = leaves_column};
    assert_int_equal(wi_generate_columns(ctx, "test", &leaves, &matrix), WEFT_OK);
    check_large(ctx, cpu, "leaves", matrix, WI_FRONT_SMALL, 2);
    weft_sparse_destroy(matrix);
    weft_close(cpu);
}

/* The small ones of the real matrices. */
static void files(weft_context *ctx) {
    static const char *const names[] = {"494_bus", "bcsstk20", "bcsstk02"};
    const char *const folder = getenv("WEFT_MATRICES");
    if (ctx->kind == WI_CPU || !folder)
        return;
    weft_context *const cpu = test_open("cpu:1");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[4096];
        weft_sparse *matrix;
        snprintf(path, sizeof path, "%s/%s.mtx", folder, names[k]);
        if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
            continue;
        check_large(ctx, cpu, names[k], matrix, WI_FRONT_SMALL, 1);
        weft_sparse_destroy(matrix);
    }
    weft_close(cpu);
}

/* ---- numbers near the limits of double, and beyond ---- */

/* Tiny and huge right-hand sides, and matrices that are scaled, wherever arrays lie. */
static void range(weft_context *ctx) {
    static const int powers[][2] = {{0, -320}, {0, 320}, {-600, 0}, {600, -310}};
    static const double value[] = {2, -1, 2, -1, 2, -1, 2};
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    const weft_chol_solve_options options = {.size = sizeof options, .refine = 2};
    if (ctx->kind == WI_CPU)
        return;
    for (unsigned k = 0; k < 16; k++) {
        double scaled[7], b[4] = {1, 2, 3, 4}, x[4];
        const double exact[4] = {4, 7, 8, 6}; /* the matrix of -1, 2, -1, by hand */
        weft_sparse *matrix;
        for (int e = 0; e < 7; e++)
            scaled[e] = ldexp(value[e], powers[k / 4][0]);
        for (int i = 0; i < 4; i++)
            b[i] = ldexp(b[i], powers[k / 4][1]);
        assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                                start, row, scaled),
                         WEFT_OK);
        weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
        assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
        if (solve_at(ctx, plan, matrix, &options, 1, b, x, k % 4) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        for (int i = 0; i < 4; i++)
            if (!(fabs(ldexp(x[i], powers[k / 4][0] - powers[k / 4][1]) - exact[i]) <= 1e-14))
                fail_msg("case %u: %g, not %g", k, x[i], exact[i]);
        assert_true(test_report_of(ctx, plan).backward_error <= 1e-15);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* New values on the device's matrix; and b that is not finite. */
static void values(weft_context *ctx) {
    static const double value[] = {2, -1, 2, -1, 2, -1, 2}, twice[] = {4, -2, 4, -2, 4, -2, 4};
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    const weft_chol_solve_options options = {.size = sizeof options, .refine = 9};
    double b[8] = {1, 2, 3, 4, 1, NAN, 1, 1}, x[8];
    weft_sparse *matrix;
    if (ctx->kind == WI_CPU)
        return;
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                            start, row, value),
                     WEFT_OK);
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    for (unsigned where = 0; where < 4; where++)
        test_refused(ctx, solve_at(ctx, plan, matrix, NULL, 2, b, x, where), WEFT_ENONFINITE,
                     "weft_chol_solve", "row 1 of column 1");
    assert_int_equal(solve_at(ctx, plan, matrix, NULL, 1, b, x, 3), WEFT_OK);
    assert_true(test_report_of(ctx, plan).backward_error <= 1e-15);
    assert_int_equal(weft_sparse_update(ctx, matrix, 7, twice), WEFT_OK);
    assert_int_equal(solve_at(ctx, plan, matrix, NULL, 1, b, x, 3), WEFT_OK);
    assert_true(test_report_of(ctx, plan).backward_error >=
                0.01); /* of another matrix than the factor */
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(solve_at(ctx, plan, matrix, &options, 1, b, x, 0), WEFT_OK);
    assert_true(test_report_of(ctx, plan).backward_error <= 1e-15 && fabs(x[0] - 2) <= 1e-15);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

/* ---- places ---- */

/* A plan may be factored on either kind of place, and is then solved there; it may outlive the
 * context. */
static void places(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    weft_context *const cpu = test_open("cpu:1"), *const other = test_open(TEST_GPU);
    weft_sparse *const matrix = test_generated(cpu, "laplace2d", 6);
    double b[36] = {1}, x[36], y[36];
    weft_chol *const plan = test_plan(cpu, matrix, NULL, NULL);
    assert_int_equal(weft_chol_factor(other, plan, matrix), WEFT_OK);
    test_refused(cpu, weft_chol_solve(cpu, plan, matrix, NULL, 1, b, 36, x, 36), WEFT_EARG,
                 "weft_chol_solve", "GPU");
    weft_close(other);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 36, x, 36), WEFT_OK);
    assert_int_equal(weft_chol_factor(cpu, plan, matrix), WEFT_OK);
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 36, x, 36), WEFT_EARG,
                 "weft_chol_solve", "cpu");
    assert_int_equal(weft_chol_solve(cpu, plan, matrix, NULL, 1, b, 36, y, 36), WEFT_OK);
    for (size_t k = 0; k < 36; k++)
        assert_true(fabs(x[k] - y[k]) <= 1e-13);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(cpu);
}

static int stop_at_half(void *user, double done) {
    *(double *)user = done;
    return done >= 0.5;
}

static void cancelled(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    double told = 0, b[36] = {1};
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 6);
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    assert_int_equal(weft_chol_on_progress(ctx, plan, stop_at_half, &told), WEFT_OK);
    test_refused(ctx, weft_chol_factor(ctx, plan, matrix), WEFT_ECANCELLED, "weft_chol_factor",
                 "cancelled");
    assert_true(told >= 0.5 && told <= 1);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 36, b, 36), WEFT_EARG);
    assert_int_equal(weft_chol_on_progress(ctx, plan, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 36, b, 36), WEFT_OK);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

/* The same for L D Lt: D and the interchanges are those of the place that factored last. */
static void places_with_d(weft_context *ctx) {
    static const int64_t start[] = {0, 1, 2, 3}, row[] = {1, 2, 2};
    static const double value[] = {4, 2, 1};
    const weft_chol_options options = {.size = sizeof options, .kind = WEFT_CHOL_INDEFINITE};
    if (ctx->kind == WI_CPU)
        return;
    weft_context *const cpu = test_open("cpu:1");
    weft_sparse *matrix;
    weft_chol *plan;
    double x[3] = {4, 10, 7};
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 3, 3, WEFT_I64,
                                            start, row, value),
                     WEFT_OK);
    assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
    for (int k = 0; k < 4; k++) {
        weft_context *const own = k % 2 ? cpu : ctx, *const other = k % 2 ? ctx : cpu;
        double b[3] = {4, 6, 3}; /* of the solution 1, 1, 1 */
        assert_int_equal(weft_chol_factor(own, plan, matrix), WEFT_OK);
        test_refused(other, weft_chol_solve(other, plan, matrix, NULL, 1, b, 3, x, 3), WEFT_EARG,
                     "weft_chol_solve", k % 2 ? "cpu" : "GPU");
        assert_int_equal(weft_chol_solve(own, plan, matrix, NULL, 1, b, 3, b, 3), WEFT_OK);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(b[i] - 1) <= 1e-15);
        const weft_chol_report report = test_report_of(own, plan);
        assert_true(report.positive == 2 && report.negative == 1 && report.pairs == 1);
        assert_true(fabs(report.logdet - log(16)) <= 1e-14);
    }
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(cpu);
}

/* A chain of n columns; with `far`, the last link is from the first column to the last. */
static weft_sparse *chain(weft_context *ctx, bool far) {
    enum {
        N = 100
    };
    int64_t start[N + 1] = {0}, row[2 * N];
    double value[2 * N];
    size_t to = 0;
    for (int j = 0; j < N; j++) {
        row[to] = j;
        value[to++] = 4;
        const bool linked = far ? j < N - 2 : j < N - 1;
        for (int k = 0; k < linked + (far && j == 0); k++) {
            row[to] = k == 0 ? j + 1 : N - 1;
            value[to++] = 1;
        }
        start[j + 1] = (int64_t)to;
    }
    weft_sparse *matrix;
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, N, N, WEFT_I64,
                                            start, row, value),
                     WEFT_OK);
    return matrix;
}

/* A matrix whose pattern only claims to be the one analyzed, with an entry outside of L. */
static void no_place(weft_context *ctx) {
    const weft_chol_options options = {.size = sizeof options, .ordering = "natural"};
    weft_sparse *const near = chain(ctx, false), *const far = chain(ctx, true);
    weft_chol *plan;
    assert_int_equal(weft_chol_analyze(ctx, near, &options, &plan), WEFT_OK);
    plan->fingerprint = far->fingerprint;
    test_refused(ctx, weft_chol_factor(ctx, plan, far), WEFT_EARG, "weft_chol_factor",
                 "no place for");
    plan->fingerprint = near->fingerprint;
    assert_int_equal(weft_chol_factor(ctx, plan, near), WEFT_OK);
    weft_chol_destroy(plan);
    weft_sparse_destroy(near);
    weft_sparse_destroy(far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(definite),      TEST_ON_EACH_PLACE(indefinite),
        TEST_ON_EACH_PLACE(large),         TEST_ON_EACH_PLACE(files),
        TEST_ON_EACH_PLACE(places),        TEST_ON_EACH_PLACE(cancelled),
        TEST_ON_EACH_PLACE(range),         TEST_ON_EACH_PLACE(values),
        TEST_ON_EACH_PLACE(places_with_d), TEST_ON_EACH_PLACE(no_place),
    };
    return cmocka_run_group_tests_name("chol_gpu", tests, NULL, NULL);
}
