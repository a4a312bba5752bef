/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests: two plans of one matrix, in two contexts, that must give the same bits. */
#ifndef WI_CHOL_PAIR_H
#define WI_CHOL_PAIR_H

#include "sparse/chol_device.h"
#include "systems.h"
#include "testing.h"

typedef struct chol_pair {
    weft_context *ctx[2];
    weft_chol *plan[2];
    weft_sparse *matrix;
} chol_pair;

/* A plan in which one block of threads factors a front of up to `small` rows. */
static inline weft_chol *chol_pair_plan(weft_context *ctx, const weft_sparse *matrix,
                                        weft_chol_options options, int small) {
    weft_chol *plan;
    options.size = sizeof options;
    test_ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
    plan->small = small;
    return plan;
}

/* The pair takes over the matrix, and chol_pair_close destroys it. */
static inline chol_pair chol_pair_open(weft_context *first, weft_context *second,
                                       weft_sparse *matrix, weft_chol_options options, int small) {
    return (chol_pair){{first, second},
                       {chol_pair_plan(first, matrix, options, small),
                        chol_pair_plan(second, matrix, options, small)},
                       matrix};
}

static inline void chol_pair_close(chol_pair *p) {
    weft_chol_destroy(p->plan[0]);
    weft_chol_destroy(p->plan[1]);
    weft_sparse_destroy(p->matrix);
}

static inline weft_chol_report chol_pair_report(const chol_pair *p, int which) {
    return test_report_of(p->ctx[which], p->plan[which]);
}

static inline void chol_pair_factor(const chol_pair *p) {
    for (int k = 0; k < 2; k++)
        test_ok(p->ctx[k], weft_chol_factor(p->ctx[k], p->plan[k], p->matrix));
}

/* Solves for random right-hand sides, and compares the bits. */
static inline void chol_pair_solve(const chol_pair *p, size_t rhs,
                                   const weft_chol_solve_options *options, test_random *r) {
    const size_t n = weft_sparse_rows(p->matrix), bytes = n * rhs * sizeof(double);
    double *const b = malloc(bytes + 1), *const x[2] = {malloc(bytes + 1), malloc(bytes + 1)};
    assert_true(b && x[0] && x[1]);
    for (size_t k = 0; k < n * rhs; k++)
        b[k] = test_unit(r);
    for (int k = 0; k < 2; k++) {
        memset(x[k], 0xff, bytes);
        test_ok(p->ctx[k],
                weft_chol_solve(p->ctx[k], p->plan[k], p->matrix, options, rhs, b, n, x[k], n));
    }
    assert_memory_equal(x[0], x[1], bytes);
    free(b);
    free(x[0]);
    free(x[1]);
}

/* Factors a matrix that may be indefinite or singular: both plans must fail at the same column,
 * with the same direction d (see weft_chol_direction), or neither may fail. */
static inline void chol_pair_fail(const chol_pair *p) {
    const size_t n = weft_sparse_rows(p->matrix);
    weft_status status[2];
    for (int k = 0; k < 2; k++)
        status[k] = weft_chol_factor(p->ctx[k], p->plan[k], p->matrix);
    assert_int_equal(status[0], status[1]);
    assert_int_equal(p->plan[0]->failed, p->plan[1]->failed);
    if (status[0] != WEFT_ENOTSPD && status[0] != WEFT_ESINGULAR)
        return;
    double *const d = malloc(2 * n * sizeof *d + 1);
    assert_non_null(d);
    for (size_t k = 0; k < 2; k++)
        test_ok(p->ctx[k], weft_chol_direction(p->ctx[k], p->plan[k], d + k * n));
    assert_memory_equal(d, d + n, n * sizeof *d);
    free(d);
}

#endif
