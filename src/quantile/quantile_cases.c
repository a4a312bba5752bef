/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of quantile for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "arguments.h"
#include "cases.h"
#include "quantile/quantile.h"

static void without_context(void) {
    const float x = 1;
    const uint64_t rank = 0;
    const double q = 0.5;
    double y = 2;
    assert_int_equal(weft_nth(NULL, WEFT_F32, 1, &x, 1, &rank, &y), WEFT_EARG);
    assert_int_equal(weft_quantiles(NULL, WEFT_LINEAR, WEFT_F32, 1, &x, 1, &q, &y), WEFT_EARG);
    assert_int_equal(weft_median(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_true(y == 2);
}

static void nth_arguments(weft_context *ctx) {
    static const char call[] = "weft_nth";
    rig r = rig_open(ctx);
    const uint64_t ranks[] = {3, 0}, high[] = {1, 4};
    REFUSED(call, "x", weft_nth(ctx, WEFT_I32, 4, NULL, 2, ranks, r.y));
    REFUSED(call, "x", weft_nth(ctx, WEFT_I32, 4, (char *)r.x + 1, 2, ranks, r.y));
    REFUSED(call, "ranks", weft_nth(ctx, WEFT_I32, 4, r.x, 2, NULL, r.y));
    REFUSED(call, "ranks", weft_nth(ctx, WEFT_I32, 4, r.x, 2, high, r.y));
    REFUSED(call, "ranks", weft_nth(ctx, WEFT_I32, 0, NULL, 2, ranks, r.y));
    REFUSED(call, "values", weft_nth(ctx, WEFT_I32, 4, r.x, 2, ranks, NULL));
    REFUSED(call, "values", weft_nth(ctx, WEFT_I32, 4, r.x, 2, ranks, r.x + 3));
    REFUSED(call, NULL, weft_nth(ctx, WEFT_I32, SIZE_MAX / 4, r.x, 2, ranks, r.y));
    if (ctx->kind == WI_CUDA)
        REFUSED(call, "ranks", weft_nth(ctx, WEFT_I32, 4, r.x, 2, (uint64_t *)r.z, r.y));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(call, "type", weft_nth(ctx, bad_types[k], 4, r.x, 2, ranks, r.y));
    assert_int_equal(weft_nth(ctx, WEFT_I32, 4, r.x, 0, NULL, NULL), WEFT_OK);
    rig_close(&r);
}

static void quantiles_arguments(weft_context *ctx) {
    static const char call[] = "weft_quantiles";
    rig r = rig_open(ctx);
    const double q[] = {0, 1}, bad[][2] = {{0, 1.5}, {-0.1, 0}, {0, NAN}, {0, 1 + DBL_EPSILON}};
    double *const y = (double *)r.y;
    REFUSED(call, "x", weft_quantiles(ctx, WEFT_LINEAR, WEFT_I32, 4, NULL, 2, q, y));
    REFUSED(call, "q", weft_quantiles(ctx, WEFT_LINEAR, WEFT_I32, 4, r.x, 2, NULL, y));
    REFUSED(call, "quantiles", weft_quantiles(ctx, WEFT_LINEAR, WEFT_I32, 4, r.x, 2, q, NULL));
    REFUSED(call, "quantiles",
            weft_quantiles(ctx, WEFT_LINEAR, WEFT_I32, 4, r.x, 2, q, (double *)r.x));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        REFUSED(call, "q", weft_quantiles(ctx, WEFT_LINEAR, WEFT_I32, 4, r.x, 2, bad[k], y));
    assert_null(strstr(weft_message(ctx), "is 1;")); /* which would be from 0 to 1 */
    for (int k = 0; k < 2; k++) {
        const weft_quantile_rule rule = (weft_quantile_rule)(k ? WEFT_MIDPOINT + 1 : -1);
        REFUSED(call, "rule", weft_quantiles(ctx, rule, WEFT_I32, 4, r.x, 2, q, y));
    }
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        REFUSED(call, "type", weft_quantiles(ctx, WEFT_LINEAR, bad_types[k], 4, r.x, 2, q, y));
        REFUSED("weft_median", "type", weft_median(ctx, bad_types[k], 4, r.x, y));
    }
    REFUSED("weft_median", "median", weft_median(ctx, WEFT_I32, 4, r.x, NULL));
    REFUSED("weft_median", "x", weft_median(ctx, WEFT_I32, 4, NULL, y));
    rig_close(&r);
}

static void of_nothing(weft_context *ctx) {
    double got[3] = {1, 2, 3};
    const double q[] = {0, 0.5};
    assert_int_equal(weft_quantiles(ctx, WEFT_LINEAR, WEFT_F32, 0, NULL, 2, q, got), WEFT_OK);
    assert_true(isnan(got[0]) && isnan(got[1]) && got[2] == 3);
    assert_int_equal(weft_median(ctx, WEFT_I8, 0, NULL, &got[2]), WEFT_OK);
    assert_true(isnan(got[2]));
}

/* ---- allocations ---- */

static weft_status run_median(weft_context *ctx, test_arrays *a) {
    return weft_median(ctx, WEFT_F32, a->n, a->x, a->result);
}

static weft_status run_nth(weft_context *ctx, test_arrays *a) {
    const uint64_t ranks[] = {0, a->n - 1, a->n / 3};
    return weft_nth(ctx, WEFT_F32, a->n, a->x, 3, ranks, a->z);
}

static const test_refusal refusals[] = {
    {"quantile: arguments of nth", nth_arguments},
    {"quantile: arguments of quantiles", quantiles_arguments},
    {"quantile: of nothing", of_nothing},
};

static const test_call calls[] = {
    {"weft_median", run_median, &wi_quantile_ladder, NULL},
    {"weft_nth", run_nth, &wi_quantile_ladder, NULL},
};

const test_cases wi_quantile_cases = {.without_context = without_context,
                                      .refusals = refusals,
                                      .refusal_count = sizeof refusals / sizeof *refusals,
                                      .calls = calls,
                                      .call_count = sizeof calls / sizeof *calls};
