/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of summary for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include <math.h>

#include "arguments.h"
#include "cases.h"
#include "summary/summary.h"

static void without_context(void) {
    const float x = 1;
    weft_statistics y = {.count = 2};
    assert_int_equal(weft_summary(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(y.count, 2);
}

static void arguments(weft_context *ctx) {
    static const char call[] = "weft_summary";
    rig r = rig_open(ctx);
    weft_statistics *const y = (weft_statistics *)r.y;
    REFUSED(call, "x", weft_summary(ctx, WEFT_I32, 4, NULL, y));
    REFUSED(call, "x", weft_summary(ctx, WEFT_I32, 4, (char *)r.x + 1, y));
    REFUSED(call, "result", weft_summary(ctx, WEFT_I32, 4, r.x, NULL));
    REFUSED(call, "result", weft_summary(ctx, WEFT_I32, 0, r.x, NULL));
    REFUSED(call, "result", weft_summary(ctx, WEFT_I32, 4, r.x, (weft_statistics *)r.x));
    REFUSED(call, NULL, weft_summary(ctx, WEFT_I32, SIZE_MAX / 4, r.x, y));
    if (ctx->kind == WI_CUDA) /* on the host any memory will do */
        REFUSED(call, "result",
                weft_summary(ctx, WEFT_I32, 4, r.x, (weft_statistics *)(void *)(r.y + 1)));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(call, "type", weft_summary(ctx, bad_types[k], 4, r.x, y));
    rig_close(&r);
}

static void of_nothing(weft_context *ctx) {
    weft_statistics s;
    assert_int_equal(weft_summary(ctx, WEFT_F16, 0, NULL, &s), WEFT_OK);
    assert_true(s.count == 0 && s.nans == 0);
    assert_true(s.min_at == WEFT_NOWHERE && s.max_at == WEFT_NOWHERE);
    assert_true(isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.variance));
}

/* The statistics are longer than a->result, hence z. */
static weft_status run_summary(weft_context *ctx, test_arrays *a) {
    return weft_summary(ctx, WEFT_F32, a->n, a->x, (weft_statistics *)(void *)a->z);
}

static const test_refusal refusals[] = {
    {"summary: arguments", arguments},
    {"summary: of nothing", of_nothing},
};

static const test_call calls[] = {
    {"weft_summary", run_summary, &wi_summary_ladder, NULL},
};

const test_cases wi_summary_cases = {.without_context = without_context,
                                     .refusals = refusals,
                                     .refusal_count = sizeof refusals / sizeof *refusals,
                                     .calls = calls,
                                     .call_count = sizeof calls / sizeof *calls};
