/* SPDX-License-Identifier: Apache-2.0 */
/* Factorizations of values without a matrix, in host and in device memory: the bits of those with
 * one. */
#include "device_case.h"

/* Another matrix of the same graph. */
static weft_sparse *draw_matrix(weft_context *ctx, test_random *r, test_system *s, bool definite) {
    test_system_fill(r, definite, s);
    return test_system_matrix(ctx, s, false);
}

/* Values of `other` by weft_chol_factor_values: the solution and the report of `other` itself. */
static void compare(test_device_case *c, const weft_sparse *other, weft_chol *plan,
                    test_random *r) {
    weft_context *const ctx = c->ctx;
    static test_case_sides b, x, y;
    const size_t ld = c->n, count = c->n * c->rhs;
    const int refine = (int)test_below(r, 4);
    const weft_chol_solve_options plain = test_solve_options(refine, NULL),
                                  with = test_solve_options(refine, c->value);
    test_draw(r, count, b);
    test_put(ctx, c->b, b, count);
    test_put(ctx, c->value, weft_sparse_values(other), c->entries);
    test_ok(ctx, weft_chol_factor(ctx, plan, other));
    test_ok(ctx, weft_chol_solve(ctx, plan, other, &plain, c->rhs, b, ld, x, ld));
    test_ok(ctx, weft_chol_factor_values(ctx, c->plan, c->matrix, c->value));
    test_ok(ctx, weft_chol_solve(ctx, c->plan, c->matrix, &with, c->rhs, c->b, ld, c->x, ld));
    test_put(ctx, y, c->x, count);
    assert_memory_equal(x, y, count * sizeof *x);
    const weft_chol_report one = test_report_of(ctx, plan), two = test_report_of(ctx, c->plan);
    assert_true(one.backward_error == two.backward_error && one.logdet == two.logdet);
    assert_true(one.normwise_error == two.normwise_error && one.refinements == two.refinements);
}

static void values(weft_context *ctx) {
    static test_system s;
    test_random r = test_random_at(1);
    const size_t times = test_times(TEST_CASE_SYSTEMS);
    for (size_t k = 0; k < times; k++) {
        const weft_chol_kind kind = k % 3 ? WEFT_CHOL_DEFINITE : WEFT_CHOL_INDEFINITE;
        test_graph_random(&r, TEST_CASE_LARGEST, &s.graph);
        weft_sparse *const matrix = draw_matrix(ctx, &r, &s, true);
        test_device_case c =
            test_case_of(ctx, matrix, test_case_plan(ctx, &r, matrix, kind, WEFT_PRECISION_AUTO),
                         1 + test_below(&r, TEST_CASE_RHS));
        weft_chol *const plan = test_case_plan(ctx, &r, matrix, kind, WEFT_PRECISION_AUTO);
        plan->small = c.plan->small;
        for (int round = 0; round < 2; round++) {
            weft_sparse *const other = draw_matrix(ctx, &r, &s, true);
            compare(&c, other, plan, &r);
            weft_sparse_destroy(other);
        }
        weft_chol_destroy(plan);
        test_case_drop(&c);
    }
}

/* Values that have to be scaled, and those that are refused, as with a matrix. */
static void extremes(weft_context *ctx) {
    static const int powers[] = {0, -600, 600, -300};
    test_device_case c = test_chain_case(ctx);
    const weft_chol_solve_options with = test_solve_options(2, c.value);
    double x[4], d[4];
    for (int k = 0; k < 4; k++) {
        test_put_chain(&c, powers[k], -1, 0);
        test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
        test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
        test_put(ctx, x, c.x, 4);
        for (int i = 0; i < 4; i++)
            if (!(fabs(ldexp(x[i], powers[k]) - (i + 1)) <= 1e-15 * 8))
                fail_msg("power %d: %g, not %d", powers[k], ldexp(x[i], powers[k]), i + 1);
    }
    test_put_chain(&c, 0, 3, NAN);
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value), WEFT_ENONFINITE,
                 "weft_chol_factor_values", "value 3");
    test_put_chain(&c, 0, 2, -1);
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value), WEFT_ENOTSPD,
                 "weft_chol_factor_values", "column");
    test_ok(ctx, weft_chol_direction(ctx, c.plan, d));
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, NULL), WEFT_EARG,
                 "weft_chol_factor_values", "value");
    test_refused(ctx, weft_chol_factor_values(ctx, c.plan, NULL, c.value), WEFT_EARG,
                 "weft_chol_factor_values", "matrix");
    test_put_chain(&c, 0, -1, 0);
    test_put(ctx, c.b, (const double[]){0, 0, 0, ldexp(5, 400)}, 4); /* the host solves */
    test_ok(ctx, weft_chol_factor_values(ctx, c.plan, c.matrix, c.value));
    test_ok(ctx, weft_chol_solve(ctx, c.plan, c.matrix, &with, 1, c.b, 4, c.x, 4));
    test_put(ctx, x, c.x, 4);
    assert_true(fabs(ldexp(x[0], -400) - 1) <= 1e-15);
    test_ok(ctx, weft_chol_check(ctx, c.plan));
    test_case_drop(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(values),
        TEST_ON_EACH_PLACE(extremes),
    };
    return cmocka_run_group_tests_name("chol_values", tests, NULL, NULL);
}
