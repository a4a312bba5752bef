/* SPDX-License-Identifier: Apache-2.0 */
/* Factorizations of values without a matrix, in host and in device memory: the bits of those with
 * one. And graphs of factorizations and solves on a GPU, launched for new values: the bits of calls
 * outside of a graph, and what weft_chol_check says. */
#include "capture.h"
#include "sparse/chol_device.h"
#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 24,
    LARGEST = 40,
    MOST_RHS = 18,
    LAUNCHES = 3
};

typedef double sides[MOST_RHS * TEST_MOST_VERTICES];

/* A plan, the matrix that it was made for, and room where calls find their arrays. */
typedef struct device_case {
    weft_context *ctx;
    weft_sparse *matrix;
    weft_chol *plan;
    size_t n, entries, rhs;
    double *value, *b, *x; /* memory of the place */
    double *wanted;        /* the values that are solved with */
} device_case;

static double *room(weft_context *ctx, size_t n) {
    void *p;
    test_ok(ctx, weft_alloc(ctx, &p, n * sizeof(double) + 8));
    return p;
}

static void put(weft_context *ctx, double *to, const double *from, size_t n) {
    if (n > 0)
        test_ok(ctx, weft_copy(ctx, to, from, n * sizeof *to));
}

static device_case case_of(weft_context *ctx, weft_sparse *matrix, weft_chol *plan, size_t rhs) {
    device_case c = {.ctx = ctx,
                     .matrix = matrix,
                     .plan = plan,
                     .n = weft_sparse_rows(matrix),
                     .entries = weft_sparse_entries(matrix),
                     .rhs = rhs};
    c.value = room(ctx, c.entries);
    c.wanted = room(ctx, c.entries);
    c.b = room(ctx, c.n * rhs);
    c.x = room(ctx, c.n * rhs);
    return c;
}

static void drop(device_case *c) {
    test_ok(c->ctx, weft_free(c->ctx, c->value));
    test_ok(c->ctx, weft_free(c->ctx, c->wanted));
    test_ok(c->ctx, weft_free(c->ctx, c->b));
    test_ok(c->ctx, weft_free(c->ctx, c->x));
    weft_chol_destroy(c->plan);
    weft_sparse_destroy(c->matrix);
}

static void draw(test_random *r, size_t n, double *b) {
    for (size_t k = 0; k < n; k++)
        b[k] = test_unit(r);
}

static weft_chol_solve_options options_of(int refine, const double *value) {
    return (weft_chol_solve_options){
        .size = sizeof(weft_chol_solve_options), .refine = refine, .value = value};
}

/* Another matrix of the same graph. */
static weft_sparse *draw_matrix(weft_context *ctx, test_random *r, test_system *s, bool definite) {
    test_system_fill(r, definite, s);
    return test_system_matrix(ctx, s, false);
}

static weft_chol *plan_of(weft_context *ctx, test_random *r, const weft_sparse *matrix,
                          weft_chol_kind kind) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    const weft_chol_options options = {.size = sizeof options, .kind = kind};
    weft_chol *plan;
    test_ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
    plan->small = smalls[test_below(r, 4)];
    plan->least_work = 0;
    return plan;
}

/* ---- values without a matrix ---- */

/* Values of `other` by weft_chol_factor_values: the solution and the report of `other` itself. */
static void compare(device_case *c, const weft_sparse *other, weft_chol *plan, test_random *r) {
    weft_context *const ctx = c->ctx;
    static sides b, x, y;
    const size_t ld = c->n, count = c->n * c->rhs;
    const int refine = (int)test_below(r, 4);
    const weft_chol_solve_options plain = options_of(refine, NULL),
                                  with = options_of(refine, c->value);
    draw(r, count, b);
    put(ctx, c->b, b, count);
    put(ctx, c->value, weft_sparse_values(other), c->entries);
    test_ok(ctx, weft_chol_factor(ctx, plan, other));
    test_ok(ctx, weft_chol_solve(ctx, plan, other, &plain, c->rhs, b, ld, x, ld));
    test_ok(ctx, weft_chol_factor_values(ctx, c->plan, c->matrix, c->value));
    test_ok(ctx, weft_chol_solve(ctx, c->plan, c->matrix, &with, c->rhs, c->b, ld, c->x, ld));
    put(ctx, y, c->x, count);
    assert_memory_equal(x, y, count * sizeof *x);
    const weft_chol_report one = test_report_of(ctx, plan), two = test_report_of(ctx, c->plan);
    assert_true(one.backward_error == two.backward_error && one.logdet == two.logdet);
    assert_true(one.normwise_error == two.normwise_error && one.refinements == two.refinements);
}

static void values(weft_context *ctx) {
    static test_system s;
    test_random r = test_random_at(1);
    const size_t times = test_times(SYSTEMS);
    for (size_t k = 0; k < times; k++) {
        const weft_chol_kind kind = k % 3 ? WEFT_CHOL_DEFINITE : WEFT_CHOL_INDEFINITE;
        test_graph_random(&r, LARGEST, &s.graph);
        weft_sparse *const matrix = draw_matrix(ctx, &r, &s, true);
        device_case c =
            case_of(ctx, matrix, plan_of(ctx, &r, matrix, kind), 1 + test_below(&r, MOST_RHS));
        weft_chol *const plan = plan_of(ctx, &r, matrix, kind);
        plan->small = c.plan->small;
        for (int round = 0; round < 2; round++) {
            weft_sparse *const other = draw_matrix(ctx, &r, &s, true);
            compare(&c, other, plan, &r);
            weft_sparse_destroy(other);
        }
        weft_chol_destroy(plan);
        drop(&c);
    }
}

/* 2 on the diagonal and -1 beside it, times 2^power; b of the solution 1, 2, 3, 4. */
static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
static const double chain[] = {2, -1, 2, -1, 2, -1, 2}, chain_b[] = {0, 0, 0, 5};

static device_case chain_case(weft_context *ctx) {
    weft_sparse *matrix;
    weft_chol *plan;
    test_ok(ctx, weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64, start,
                                        row, chain));
    test_ok(ctx, weft_chol_analyze(ctx, matrix, NULL, &plan));
    device_case c = case_of(ctx, matrix, plan, 1);
    put(ctx, c.b, chain_b, 4);
    return c;
}

/* The chain's values with one replaced, all times 2^power. */
static void put_chain(device_case *c, int power, int at, double replaced) {
    double value[7];
    for (int k = 0; k < 7; k++)
        value[k] = ldexp(k == at ? replaced : chain[k], power);
    put(c->ctx, c->value, value, 7);
}

/* Values that have to be scaled, and those that are refused, as with a matrix. */
static void extremes(weft_context *ctx) {
    static const int powers[] = {0, -600, 600, -300};
    device_case c = chain_case(ctx);
    const weft_chol_solve_options with = options_of(2, c.value);
    double x[4], d[4];
    for (int k = 0; k < 4; k++) {
        put_chain(&c, powers[k], -1, 0);
        test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
        test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
        put(ctx, x, c.x, 4);
        for (int i = 0; i < 4; i++)
            if (!(fabs(ldexp(x[i], powers[k]) - (i + 1)) <= 1e-15 * 8))
                fail_msg("power %d: %g, not %d", powers[k], ldexp(x[i], powers[k]), i + 1);
    }
    put_chain(&c, 0, 3, NAN);
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value), WEFT_ENONFINITE,
                 "weft_chol_factor_values", "value 3");
    put_chain(&c, 0, 2, -1);
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value), WEFT_ENOTSPD,
                 "weft_chol_factor_values", "column");
    test_ok(ctx, weft_chol_direction(ctx, c.plan, d));
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, NULL), WEFT_EARG,
                 "weft_chol_factor_values", "value");
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, NULL, c.value), WEFT_EARG,
                 "weft_chol_factor_values", "matrix");
    put_chain(&c, 0, -1, 0);
    put(ctx, c.b, (const double[]){0, 0, 0, ldexp(5, 400)}, 4); /* the host solves */
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    put(ctx, x, c.x, 4);
    assert_true(fabs(ldexp(x[0], -400) - 1) <= 1e-15);
    test_ok(ctx, weft_chol_check(ctx, c.plan));
    drop(&c);
}

/* ---- graphs ---- */

/* What a graph of both calls leaves in x, with new values and right-hand sides for each launch. The
 * matrix that is solved with is that of the factor `times` a number: with 3, no correction is as
 * small as it has to be. */
static void launch_and_compare(device_case *c, test_capture *graph, weft_chol *plan,
                               const weft_sparse *other, int refine, double times, test_random *r) {
    weft_context *const ctx = c->ctx;
    static sides b, x, y;
    const size_t ld = c->n, count = c->n * c->rhs;
    static double wanted[TEST_MOST_VERTICES * TEST_MOST_VERTICES];
    const weft_chol_solve_options plain = options_of(refine, wanted);
    draw(r, count, b);
    put(ctx, c->b, b, count);
    put(ctx, c->value, weft_sparse_values(other), c->entries);
    for (size_t k = 0; k < c->entries; k++)
        wanted[k] = times * weft_sparse_values(other)[k];
    put(ctx, c->wanted, wanted, c->entries);
    for (size_t k = 0; k < count; k++)
        y[k] = NAN;
    put(ctx, c->x, y, count);
    test_capture_run(graph);
    test_ok(ctx, weft_chol_check(ctx, c->plan));
    test_ok(ctx, weft_chol_factor(ctx, plan, other));
    test_ok(ctx, weft_chol_solve(ctx, plan, other, &plain, c->rhs, b, ld, x, ld));
    put(ctx, y, c->x, count);
    assert_memory_equal(x, y, count * sizeof *x);
    const weft_chol_report one = test_report_of(ctx, plan), two = test_report_of(ctx, c->plan);
    assert_true(one.backward_error == two.backward_error && one.logdet == two.logdet);
}

static void graphs(weft_context *ctx) {
    static test_system s;
    test_random r = test_random_at(2);
    const size_t times = test_times(SYSTEMS);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        const int refine = (int)test_below(&r, 4);
        test_graph_random(&r, LARGEST, &s.graph);
        weft_sparse *const matrix = draw_matrix(ctx, &r, &s, true);
        device_case c = case_of(ctx, matrix, plan_of(ctx, &r, matrix, WEFT_CHOL_DEFINITE),
                                1 + test_below(&r, MOST_RHS));
        weft_chol *const plan = plan_of(ctx, &r, matrix, WEFT_CHOL_DEFINITE);
        const weft_chol_solve_options with = options_of(refine, c.wanted);
        plan->small = c.plan->small;
        test_ok(ctx, weft_chol_reserve(ctx, c.plan, c.rhs));
        test_ok(ctx, weft_chol_factor(ctx, c.plan, matrix));
        test_capture graph = test_capture_begin(ctx);
        test_ok(ctx, weft_chol_factor_values(ctx, c.plan, matrix, c.value));
        test_ok(ctx, weft_chol_solve(ctx, c.plan, matrix, &with, c.rhs, c.b, c.n, c.x, c.n));
        test_capture_end(ctx, &graph);
        for (int launch = 0; launch < LAUNCHES; launch++) {
            weft_sparse *const other = draw_matrix(ctx, &r, &s, true);
            launch_and_compare(&c, &graph, plan, other, refine, k % 3 ? 1 : 3, &r);
            weft_sparse_destroy(other);
        }
        test_capture_drop(&graph);
        weft_chol_destroy(plan);
        drop(&c);
    }
}

/* What weft_chol_check says of launches that went wrong, and that it says so once. */
static void check_says(device_case *c, test_capture *graph, weft_status wanted, const char *what) {
    test_capture_run(graph);
    const weft_status status = weft_chol_check(c->ctx, c->plan);
    if (wanted == WEFT_OK)
        test_ok(c->ctx, status);
    else
        test_refused(c->ctx, status, wanted, "weft_chol_check", what);
    test_ok(c->ctx, weft_chol_check(c->ctx, c->plan));
}

static void failures(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    device_case c = chain_case(ctx);
    const weft_chol_solve_options with = options_of(1, c.value);
    test_ok(ctx, weft_chol_factor(ctx, c.plan, c.matrix));
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_end(ctx, &graph);
    put_chain(&c, 0, -1, 0);
    check_says(&c, &graph, WEFT_OK, NULL);
    put_chain(&c, 0, 2, -1);
    check_says(&c, &graph, WEFT_ENOTSPD, "column");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4), WEFT_EARG,
                 "weft_chol_solve", "no factor");
    put_chain(&c, 0, 1, INFINITY);
    check_says(&c, &graph, WEFT_ENONFINITE, "values");
    put_chain(&c, -500, -1, 0);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "scaled");
    put_chain(&c, 0, -1, 0);
    put(ctx, c.b, (const double[]){0, 0, NAN, 1}, 4);
    check_says(&c, &graph, WEFT_ENONFINITE, "right-hand sides");
    put(ctx, c.b, (const double[]){0, 0, 0, ldexp(1, 400)}, 4);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "limits of double");
    put(ctx, c.b, chain_b, 4);
    check_says(&c, &graph, WEFT_OK, NULL);
    assert_true(test_report_of(ctx, c.plan).backward_error <= 1e-15);
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_drop(&graph);
    drop(&c);
}

/* What a capture refuses, which leaves it whole. */
static void refusals(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    device_case c = chain_case(ctx), d = chain_case(ctx);
    weft_chol *mixed;
    double host[7] = {1};
    const weft_chol_options other = {.size = sizeof other, .kind = WEFT_CHOL_INDEFINITE};
    const weft_chol_solve_options with = options_of(1, c.value), bare = options_of(1, NULL),
                                  exact = {.size = sizeof exact, .exact = 1, .value = c.value};
    test_ok(ctx, weft_chol_analyze(ctx, c.matrix, &other, &mixed));
    test_ok(ctx, weft_chol_factor(ctx, mixed, c.matrix));
    test_ok(ctx, weft_chol_factor(ctx, c.plan, c.matrix));
    put_chain(&c, 0, -1, 0);
    test_capture graph = test_capture_begin(ctx);
    test_refused(ctx, weft_chol_factor(ctx, c.plan, c.matrix), WEFT_EUNSUPPORTED,
                 "weft_chol_factor", "weft_chol_factor_values");
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, host), WEFT_EUNSUPPORTED,
                 "weft_chol_factor_values", "host memory");
    test_refused(ctx, weft_chol_factor_values(ctx, d.plan, c.matrix, c.value), WEFT_EUNSUPPORTED,
                 "weft_chol_factor_values", "weft_chol_reserve");
    test_refused(ctx, weft_chol_factor_values(ctx, mixed, c.matrix, c.value), WEFT_EUNSUPPORTED,
                 "weft_chol_factor_values", "kind");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, host, 4, c.x, 4),
                 WEFT_EUNSUPPORTED, "weft_chol_solve", "device memory");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &bare, 1, c.b, 4, c.x, 4),
                 WEFT_EUNSUPPORTED, "weft_chol_solve", "options.value");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &exact, 1, c.b, 4, c.x, 4),
                 WEFT_EUNSUPPORTED, "weft_chol_solve", "exact");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 2, c.b, 4, c.x, 4),
                 WEFT_EUNSUPPORTED, "weft_chol_solve", "weft_chol_reserve");
    test_refused(ctx, weft_chol_check(ctx, c.plan), WEFT_EUNSUPPORTED, "weft_chol_check",
                 "captured");
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_end(ctx, &graph);
    check_says(&c, &graph, WEFT_OK, NULL);
    put(ctx, host, c.x, 4);
    assert_true(fabs(host[3] - 4) <= 1e-14);
    test_capture_drop(&graph);
    weft_chol_destroy(mixed);
    drop(&c);
    drop(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(values),   TEST_ON_EACH_PLACE(extremes), TEST_ON_EACH_PLACE(graphs),
        TEST_ON_EACH_PLACE(failures), TEST_ON_EACH_PLACE(refusals),
    };
    return cmocka_run_group_tests_name("chol_graph", tests, NULL, NULL);
}
