/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of factorizations and solves on a GPU, launched for new values: the bits of calls outside
 * of a graph, and what weft_chol_check says. */
#include "capture.h"
#include "device_case.h"

enum {
    LAUNCHES = 3
};

/* Another matrix of the same graph: of its kind, as a rule, and pivots are chosen. */
static weft_sparse *draw_kind(weft_context *ctx, test_random *r, test_system *s,
                              weft_chol_kind kind) {
    test_system_fill(r, kind == WEFT_CHOL_DEFINITE, s);
    if (kind == WEFT_CHOL_QUASIDEFINITE && test_below(r, 4) > 0)
        test_system_make_quasi(s);
    for (int64_t i = 0; i < s->graph.n && kind == WEFT_CHOL_INDEFINITE; i++)
        s->a[i][i] = (double)(test_unit(r) - 0.5L) * (test_below(r, 3) > 0);
    return test_system_matrix(ctx, s, false);
}

/* New values and right-hand sides for a launch, which leaves what it finds in x. The
 * matrix that is solved with is that of the factor `times` a number: with 3, no correction is as
 * small as it has to be. */
static weft_status launch(test_device_case *c, test_capture *graph, const weft_sparse *other,
                          double times, double *b, double *wanted, test_random *r) {
    weft_context *const ctx = c->ctx;
    static test_case_sides x;
    const size_t count = c->n * c->rhs;
    test_draw(r, count, b);
    test_put(ctx, c->b, b, count);
    test_put(ctx, c->value, weft_sparse_values(other), c->entries);
    for (size_t k = 0; k < c->entries; k++)
        wanted[k] = times * weft_sparse_values(other)[k];
    test_put(ctx, c->wanted, wanted, c->entries);
    for (size_t k = 0; k < count; k++)
        x[k] = NAN;
    test_put(ctx, c->x, x, count);
    test_capture_run(graph);
    return weft_chol_check(ctx, c->plan);
}

/* Has a plan done what a graph cannot, which weft_chol_check has to say? */
static bool is_beyond_graphs(const weft_chol *plan, weft_chol_report report) {
    const bool refined_only = plan->kind == WEFT_CHOL_DEFINITE && !plan->narrow;
    return plan->numbers.balance.scaled || report.krylov_steps > 0 ||
           (plan->narrow && plan->condition > 0x1p16) ||
           (!refined_only && !(report.backward_error <= 0x1p-44));
}

/* A launch, and the same calls outside of a graph with a plan like that before its factorizations.
 * Returns whether the graph could do it. */
static bool launch_and_compare(test_device_case *c, test_capture *graph, weft_chol *plan,
                               const weft_sparse *other, int refine, double times, test_random *r) {
    weft_context *const ctx = c->ctx;
    static test_case_sides b, x, y;
    static double wanted[TEST_MOST_VERTICES * TEST_MOST_VERTICES];
    const size_t ld = c->n, count = c->n * c->rhs;
    const weft_chol_solve_options plain = test_solve_options(refine, wanted);
    const weft_status said = launch(c, graph, other, times, b, wanted, r);
    const weft_status found = weft_chol_factor(ctx, plan, other);
    if (found != WEFT_OK) {
        assert_int_equal(said, c->plan->narrow ? WEFT_EUNSUPPORTED : found);
        return false;
    }
    test_ok(ctx, weft_chol_solve(ctx, plan, other, &plain, c->rhs, b, ld, x, ld));
    const weft_chol_report one = test_report_of(ctx, plan);
    if (c->n > 0 && (plan->narrow != c->plan->narrow || is_beyond_graphs(plan, one))) {
        assert_int_equal(said, WEFT_EUNSUPPORTED);
        return false;
    }
    test_ok(ctx, said);
    const weft_chol_report two = test_report_of(ctx, c->plan);
    test_put(ctx, y, c->x, count);
    assert_memory_equal(x, y, count * sizeof *x);
    assert_true(one.backward_error == two.backward_error && one.logdet == two.logdet);
    assert_true(one.negative == two.negative && one.pairs == two.pairs);
    assert_int_equal(one.perturbed, two.perturbed);
    return true;
}

/* Launches of one graph. Returns how many it could do. */
static size_t run_graph(weft_context *ctx, test_random *r, test_system *s, weft_chol_kind kind,
                        weft_precision precision, double times) {
    const int refine = (int)test_below(r, 4);
    /* without signs, L of floats may take GMRES hundreds of steps for each side */
    const bool is_slow = precision == WEFT_PRECISION_MIXED && kind == WEFT_CHOL_INDEFINITE;
    size_t done = 0;
    test_graph_random(r, is_slow ? TEST_CASE_LARGEST / 2 : TEST_CASE_LARGEST, &s->graph);
    weft_sparse *const matrix = draw_kind(ctx, r, s, kind);
    /* on emu many sides of a large system take minutes where they need many steps */
    const size_t most = is_slow ? 1 : s->graph.n > TEST_CASE_LARGEST / 2 ? 2 : TEST_CASE_RHS;
    test_device_case c = test_case_of(ctx, matrix, test_case_plan(ctx, r, matrix, kind, precision),
                                      1 + test_below(r, most));
    const weft_chol_solve_options with = test_solve_options(refine, c.wanted);
    test_ok(ctx, weft_chol_reserve(ctx, c.plan, c.rhs));
    weft_chol_factor(ctx, c.plan, matrix); /* it may fail: the memory is there */
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, matrix, &with, c.rhs, c.b, c.n, c.x, c.n));
    test_capture_end(ctx, &graph);
    for (int launches = 0; launches < LAUNCHES; launches++) {
        weft_sparse *const other = draw_kind(ctx, r, s, kind);
        weft_chol *const plan = test_case_plan(ctx, r, matrix, kind, precision);
        plan->small = c.plan->small;
        weft_chol_factor(ctx, plan, matrix); /* with L of f64 from then on, or not */
        done += launch_and_compare(&c, &graph, plan, other, refine, times, r);
        weft_chol_destroy(plan);
        weft_sparse_destroy(other);
    }
    test_capture_drop(&graph);
    test_case_drop(&c);
    return done;
}

static void graphs_of(weft_context *ctx, weft_precision precision, uint64_t seed) {
    static test_system s;
    test_random r = test_random_at(seed);
    const size_t times = test_times(TEST_CASE_SYSTEMS);
    size_t done[3] = {0};
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        const weft_chol_kind kind = (weft_chol_kind)(k % 3);
        done[kind] += run_graph(ctx, &r, &s, kind, precision, k % 5 ? 1 : 3);
    }
    printf("of %zu launches, graphs could do %zu of L Lt, %zu with known signs, %zu with pivots\n",
           times * LAUNCHES, done[0], done[1], done[2]);
    for (size_t kind = 0; kind < 3 && times >= TEST_CASE_SYSTEMS; kind++)
        assert_true(done[kind] > 0);
}

static void graphs(weft_context *ctx) {
    graphs_of(ctx, WEFT_PRECISION_AUTO, 2);
}

static void mixed_graphs(weft_context *ctx) {
    graphs_of(ctx, WEFT_PRECISION_MIXED, 3);
}

/* What weft_chol_check says of launches that went wrong, and that it says so once. */
static void check_says(test_device_case *c, test_capture *graph, weft_status wanted,
                       const char *what) {
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
    test_device_case c = test_chain_case(ctx);
    const weft_chol_solve_options with = test_solve_options(1, c.value);
    test_ok(ctx, weft_chol_factor(ctx, c.plan, c.matrix));
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_end(ctx, &graph);
    test_put_chain(&c, 0, -1, 0);
    check_says(&c, &graph, WEFT_OK, NULL);
    test_put_chain(&c, 0, 2, -1);
    check_says(&c, &graph, WEFT_ENOTSPD, "column");
    test_refused(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4), WEFT_EARG,
                 "weft_chol_solve", "no factor");
    test_put_chain(&c, 0, 1, INFINITY);
    check_says(&c, &graph, WEFT_ENONFINITE, "values");
    test_put_chain(&c, -500, -1, 0);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "scaled");
    test_put_chain(&c, 0, -1, 0);
    test_put(ctx, c.b, (const double[]){0, 0, NAN, 1}, 4);
    check_says(&c, &graph, WEFT_ENONFINITE, "right-hand sides");
    test_put(ctx, c.b, (const double[]){0, 0, 0, ldexp(1, 400)}, 4);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "limits of double");
    test_put(ctx, c.b, test_chain_b, 4);
    check_says(&c, &graph, WEFT_OK, NULL);
    assert_true(test_report_of(ctx, c.plan).backward_error <= 1e-15);
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_drop(&graph);
    test_case_drop(&c);
}

/* A graph of a factorization of the chain and one solve. */
static test_capture chain_graph(test_device_case *c, const weft_chol_solve_options *with) {
    weft_context *const ctx = c->ctx;
    test_ok(ctx, weft_chol_factor(ctx, c->plan, c->matrix));
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c->plan, c->matrix, c->value));
    test_ok(ctx, weft_chol_solve(ctx, c->plan, c->matrix, with, 1, c->b, 4, c->x, 4));
    test_capture_end(ctx, &graph);
    return graph;
}

/* The same for L D Lt; signs of the diagonal are those of each launch. */
static void failures_with_d(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    for (int kind = WEFT_CHOL_QUASIDEFINITE; kind <= WEFT_CHOL_INDEFINITE; kind++) {
        const bool known = kind == WEFT_CHOL_QUASIDEFINITE;
        const weft_chol_options options = {
            .size = sizeof options, .kind = (weft_chol_kind)kind, .perturbation = -1 + known};
        test_device_case c = test_chain_case_of(ctx, &options);
        const weft_chol_solve_options with = test_solve_options(2, c.value);
        test_capture graph = chain_graph(&c, &with);
        test_put_chain(&c, 0, 6, -4);
        check_says(&c, &graph, WEFT_OK, NULL);
        assert_int_equal(test_report_of(ctx, c.plan).negative, 1);
        test_put_chain(&c, 0, 6, known ? 0.25 : 0.75);
        check_says(&c, &graph, known ? WEFT_ENOTSPD : WEFT_ESINGULAR, "column");
        test_put_chain(&c, 0, 0, 0x1p-30);
        test_put(ctx, c.value + 1, (const double[]){0x1p-30}, 1);
        check_says(&c, &graph, WEFT_EUNSUPPORTED, "scaled");
        test_put_chain(&c, 0, -1, 0);
        check_says(&c, &graph, WEFT_OK, NULL);
        assert_int_equal(test_report_of(ctx, c.plan).negative, 0);
        test_put(ctx, c.b, (const double[]){0, NAN, 0, 0}, 4);
        check_says(&c, &graph, WEFT_ENONFINITE, "right-hand sides");
        test_capture_drop(&graph);
        test_case_drop(&c);
    }
}

/* A pivot of 0 is replaced by a share of the largest entry of each launch. */
static void replaced_pivots(weft_context *ctx) {
    const weft_chol_options options = {.size = sizeof options, .kind = WEFT_CHOL_INDEFINITE};
    if (ctx->kind == WI_CPU)
        return;
    test_device_case c = test_chain_case_of(ctx, &options), d = test_chain_case_of(ctx, &options);
    test_ok(ctx, weft_chol_factor(ctx, c.plan, c.matrix));
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_capture_end(ctx, &graph);
    for (int power = -20; power <= 20; power += 20) {
        test_put_chain(&c, power, 6, 0);
        test_put(ctx, c.value + 5, (const double[]){0}, 1);
        check_says(&c, &graph, WEFT_OK, NULL);
        test_ok(ctx, weft_chol_factor_values(ctx, d.plan, d.matrix, c.value));
        const weft_chol_report one = test_report_of(ctx, c.plan), two = test_report_of(ctx, d.plan);
        assert_int_equal(one.perturbed, 1);
        assert_true(one.logdet == two.logdet && two.perturbed == 1);
    }
    test_capture_drop(&graph);
    test_case_drop(&c);
    test_case_drop(&d);
}

/* Signs that the caller gave are there in every launch. */
static void given_signs(weft_context *ctx) {
    static const int8_t signs[] = {1, 1, 1, -1};
    const weft_chol_options options = {
        .size = sizeof options, .kind = WEFT_CHOL_QUASIDEFINITE, .signs = signs};
    if (ctx->kind == WI_CPU)
        return;
    test_device_case c = test_chain_case_of(ctx, &options);
    const weft_chol_solve_options with = test_solve_options(2, c.value);
    test_put_chain(&c, 0, 6, -4);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_capture graph = test_capture_begin(ctx);
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_capture_end(ctx, &graph);
    check_says(&c, &graph, WEFT_OK, NULL);
    assert_int_equal(test_report_of(ctx, c.plan).negative, 1);
    test_put_chain(&c, 0, -1, 0);
    check_says(&c, &graph, WEFT_ENOTSPD, "its sign was to be -");
    test_capture_drop(&graph);
    test_case_drop(&c);
}

/* And for L of f32. */
static void failures_of_floats(weft_context *ctx) {
    const weft_chol_options options = {.size = sizeof options, .precision = WEFT_PRECISION_MIXED};
    if (ctx->kind == WI_CPU)
        return;
    test_device_case c = test_chain_case_of(ctx, &options);
    const weft_chol_solve_options with = test_solve_options(1, c.value);
    test_capture graph = chain_graph(&c, &with);
    test_put_chain(&c, 0, -1, 0);
    check_says(&c, &graph, WEFT_OK, NULL);
    test_put_chain(&c, 0, 2, -1);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "in f32");
    test_put_chain(&c, 50, -1, 0);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "scaled");
    test_put_chain(&c, 0, 6, 0.75 + 0x1p-20);
    check_says(&c, &graph, WEFT_EUNSUPPORTED, "condition");
    test_put_chain(&c, 0, -1, 0);
    check_says(&c, &graph, WEFT_OK, NULL);
    test_capture_drop(&graph);
    test_case_drop(&c);
}

/* What a capture refuses, which leaves it whole. */
static void refusals(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    test_device_case c = test_chain_case(ctx), d = test_chain_case(ctx);
    double host[7] = {1};
    const weft_chol_solve_options with = test_solve_options(1, c.value),
                                  bare = test_solve_options(1, NULL),
                                  exact = {.size = sizeof exact, .exact = 1, .value = c.value};
    test_ok(ctx, weft_chol_factor(ctx, c.plan, c.matrix));
    test_put_chain(&c, 0, -1, 0);
    test_capture graph = test_capture_begin(ctx);
    test_refused(ctx, weft_chol_factor(ctx, c.plan, c.matrix), WEFT_EUNSUPPORTED,
                 "weft_chol_factor", "weft_chol_factor_values");
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, host), WEFT_EUNSUPPORTED,
                 "weft_chol_factor_values", "host memory");
    test_refused(ctx, weft_chol_factor_values(ctx, d.plan, c.matrix, c.value), WEFT_EUNSUPPORTED,
                 "weft_chol_factor_values", "weft_chol_reserve");
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
    test_put(ctx, host, c.x, 4);
    assert_true(fabs(host[3] - 4) <= 1e-14);
    test_capture_drop(&graph);
    test_case_drop(&c);
    test_case_drop(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(graphs),
        TEST_ON_EACH_PLACE(mixed_graphs),
        TEST_ON_EACH_PLACE(failures),
        TEST_ON_EACH_PLACE(failures_with_d),
        TEST_ON_EACH_PLACE(failures_of_floats),
        TEST_ON_EACH_PLACE(given_signs),
        TEST_ON_EACH_PLACE(replaced_pivots),
        TEST_ON_EACH_PLACE(refusals),
    };
    return cmocka_run_group_tests_name("chol_graph", tests, NULL, NULL);
}
