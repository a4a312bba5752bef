/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with room in a place's memory for values and right-hand sides: for the tests
 * of calls that find them there, in graphs and without. */
#ifndef WEFT_TEST_DEVICE_CASE_H
#define WEFT_TEST_DEVICE_CASE_H

#include "sparse/chol_device.h"
#include "systems.h"
#include "testing.h"

enum {
    TEST_CASE_SYSTEMS = 24,
    TEST_CASE_LARGEST = 40,
    TEST_CASE_RHS = 18
};

typedef double test_case_sides[TEST_CASE_RHS * TEST_MOST_VERTICES];

/* A plan, the matrix that it was made for, and room where calls find their arrays. */
typedef struct test_device_case {
    weft_context *ctx;
    weft_sparse *matrix;
    weft_chol *plan;
    size_t n, entries, rhs;
    double *value, *b, *x; /* memory of the place */
    double *wanted;        /* the values that are solved with */
} test_device_case;

static inline double *test_room(weft_context *ctx, size_t n) {
    void *p;
    test_ok(ctx, weft_alloc(ctx, &p, n * sizeof(double) + 8));
    return p;
}

static inline void test_put(weft_context *ctx, double *to, const double *from, size_t n) {
    if (n > 0)
        test_ok(ctx, weft_copy(ctx, to, from, n * sizeof *to));
}

static inline test_device_case test_case_of(weft_context *ctx, weft_sparse *matrix, weft_chol *plan,
                                            size_t rhs) {
    test_device_case c = {.ctx = ctx,
                          .matrix = matrix,
                          .plan = plan,
                          .n = weft_sparse_rows(matrix),
                          .entries = weft_sparse_entries(matrix),
                          .rhs = rhs};
    c.value = test_room(ctx, c.entries);
    c.wanted = test_room(ctx, c.entries);
    c.b = test_room(ctx, c.n * rhs);
    c.x = test_room(ctx, c.n * rhs);
    return c;
}

static inline void test_case_drop(test_device_case *c) {
    test_ok(c->ctx, weft_free(c->ctx, c->value));
    test_ok(c->ctx, weft_free(c->ctx, c->wanted));
    test_ok(c->ctx, weft_free(c->ctx, c->b));
    test_ok(c->ctx, weft_free(c->ctx, c->x));
    weft_chol_destroy(c->plan);
    weft_sparse_destroy(c->matrix);
}

static inline void test_draw(test_random *r, size_t n, double *b) {
    for (size_t k = 0; k < n; k++)
        b[k] = test_unit(r);
}

static inline weft_chol_solve_options test_solve_options(int refine, const double *value) {
    return (weft_chol_solve_options){
        .size = sizeof(weft_chol_solve_options), .refine = refine, .value = value};
}

static inline weft_chol *test_case_plan(weft_context *ctx, test_random *r,
                                        const weft_sparse *matrix, weft_chol_kind kind,
                                        weft_precision precision) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    const weft_chol_options options = {
        .size = sizeof options, .kind = kind, .precision = precision};
    weft_chol *plan;
    test_ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
    plan->small = smalls[test_below(r, 4)];
    plan->least_work = 0;
    return plan;
}

/* Of the chain: 2 on the diagonal and -1 beside it, and b of the solution 1, 2, 3, 4. */
static const double test_chain[] = {2, -1, 2, -1, 2, -1, 2}, test_chain_b[] = {0, 0, 0, 5};

static inline test_device_case test_chain_case_of(weft_context *ctx,
                                                  const weft_chol_options *options) {
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    weft_sparse *matrix;
    weft_chol *plan;
    test_ok(ctx, weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64, start,
                                        row, test_chain));
    test_ok(ctx, weft_chol_analyze(ctx, matrix, options, &plan));
    test_device_case c = test_case_of(ctx, matrix, plan, 1);
    test_put(ctx, c.b, test_chain_b, 4);
    return c;
}

static inline test_device_case test_chain_case(weft_context *ctx) {
    return test_chain_case_of(ctx, NULL);
}

/* The chain's values with one replaced, all times 2^power. */
static inline void test_put_chain(test_device_case *c, int power, int at, double replaced) {
    double value[7];
    for (int k = 0; k < 7; k++)
        value[k] = ldexp(k == at ? replaced : test_chain[k], power);
    test_put(c->ctx, c->value, value, 7);
}

static inline void *test_fetch_l(weft_context *ctx, const weft_chol *plan) {
    const size_t bytes = (size_t)plan->device->schedule.l * wi_chol_number(plan);
    void *const l = malloc(bytes + 1);
    assert_non_null(l);
    if (bytes > 0)
        test_ok(ctx, weft_copy(ctx, l, plan->device->l, bytes));
    return l;
}

/* Factors by two rungs in turns, twice each: the same column fails, if any; else L has the same
 * bits. */
static inline void test_same_factors(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan,
                                     const char *rung, const char *other) {
    void *wanted = NULL;
    int64_t failed = -1;
    for (int k = 0; k < 4; k++) {
        const char *const now = k % 2 ? other : rung;
        test_ok(ctx, weft_use(ctx, "sparse", now));
        const weft_status status = weft_chol_factor(ctx, plan, matrix);
        if (status != WEFT_OK && status != WEFT_ENOTSPD)
            fail_msg("%s: %s", now, weft_message(ctx));
        const int64_t column = status == WEFT_OK ? -1 : plan->failed;
        void *const l = column < 0 ? test_fetch_l(ctx, plan) : NULL;
        if (k == 0) {
            failed = column;
            wanted = l;
            continue;
        }
        assert_int_equal(column, failed);
        if (l && memcmp(l, wanted, (size_t)plan->device->schedule.l * wi_chol_number(plan)) != 0)
            fail_msg("launch %d of %s: L has other bits", k / 2, now);
        free(l);
    }
    free(wanted);
}

#endif
