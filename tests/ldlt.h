/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of L D Lt for tests, factored in memory that was poisoned before. */
#ifndef WEFT_TEST_LDLT_H
#define WEFT_TEST_LDLT_H

#include <string.h>

#include "sparse/chol.h"
#include "testing.h"

/* A plan that wakes all threads of the context for any matrix. */
static inline weft_chol *test_ldlt_plan(weft_context *ctx, const weft_sparse *matrix,
                                        const weft_chol_options *options) {
    weft_chol *plan;
    if (weft_chol_analyze(ctx, matrix, options, &plan) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    plan->least_work = 0;
    return plan;
}

static inline weft_chol_report test_ldlt_report(weft_context *ctx, const weft_chol *plan) {
    weft_chol_report report = {.size = sizeof report};
    assert_int_equal(weft_chol_get_report(ctx, plan, &report), WEFT_OK);
    return report;
}

static inline void test_ldlt_factor(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    assert_int_equal(weft_chol_reserve(ctx, plan, 1), WEFT_OK);
    memset(plan->numbers.l, 0xFF, plan->report.factor_bytes);
    memset(plan->numbers.pivots.d, 0xFF, wi_pivots_bytes(plan));
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

#endif
