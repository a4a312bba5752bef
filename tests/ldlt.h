/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of L D Lt for tests, factored in memory that was poisoned before. */
#ifndef WEFT_TEST_LDLT_H
#define WEFT_TEST_LDLT_H

#include <stdlib.h>
#include <string.h>

#include "sparse/chol_device.h"
#include "systems.h"

/* A plan that wakes all threads of the context for any matrix. */
static inline weft_chol *test_ldlt_plan(weft_context *ctx, const weft_sparse *matrix,
                                        const weft_chol_options *options) {
    weft_chol *plan;
    if (weft_chol_analyze(ctx, matrix, options, &plan) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    plan->least_work = 0;
    return plan;
}

/* The same; on a GPU a block of threads does fronts of up to 64, 32, 8 or no rows. */
static inline weft_chol *test_ldlt_plan_of(weft_context *ctx, const weft_sparse *matrix,
                                           const weft_chol_options *options, test_random *r) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8, 0};
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, options);
    plan->small = smalls[test_below(r, sizeof smalls / sizeof *smalls)];
    return plan;
}

static inline void test_ldlt_factor(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    assert_int_equal(weft_chol_reserve(ctx, plan, 1), WEFT_OK);
    if (ctx->kind == WI_CPU)
        memset(plan->numbers.l, 0xFF, plan->report.factor_bytes);
    memset(plan->numbers.pivots.d, 0xFF, wi_pivots_bytes(plan));
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

/* The columns of L from their diagonal down, supernode by supernode, from either kind of place. To
 * be freed; *count is how many numbers there are. */
static inline double *test_ldlt_fetch(weft_context *ctx, const weft_chol *plan, size_t *count) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const size_t bytes = plan->on_device ? (size_t)plan->device->schedule.l * sizeof(double) : 0;
    double *const there = malloc(bytes + 1), *const l = malloc(plan->report.factor_bytes + 1);
    assert_true(there && l);
    if (bytes > 0)
        assert_int_equal(weft_copy(ctx, there, plan->device->l, bytes), WEFT_OK);
    *count = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const wi_front_record *r = plan->on_device ? plan->device->schedule.front : NULL;
        while (r && r->number != s)
            r++;
        for (int64_t j = 0; j < wi_super_columns(symbolic, s); j++)
            for (int64_t i = j; i < wi_super_height(symbolic, s); i++)
                l[(*count)++] = r ? there[r->panel + i + j * r->ld] : wi_chol_column(plan, s, j)[i];
    }
    free(there);
    return l;
}

#endif
