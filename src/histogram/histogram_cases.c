/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of histogram for the tests of all calls: with no context, with wrong arguments, and
 * with each of their allocations failed. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "arguments.h"
#include "cases.h"
#include "histogram/histogram.h"

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(
        weft_histogram(NULL, WEFT_F32, 1, 1, &x, NULL, WEFT_OVERWRITE, WEFT_U32, &y, NULL),
        WEFT_EARG);
    assert_true(y == 2);
}

static void histogram_arguments(weft_context *ctx) {
    static const char call[] = "weft_histogram";
    rig r = rig_open(ctx);
    const weft_bins good = {.count = 4, .lo = 0, .hi = 1};
#define COUNT_I32(n, channels, x, bins, counting, type, counts, outside)                           \
    weft_histogram(ctx, WEFT_I32, n, channels, x, bins, counting, type, counts, outside)
    REFUSED(call, "x", COUNT_I32(4, 1, NULL, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "counts", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, NULL, NULL));
    REFUSED(call, "counts",
            COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, (char *)r.y + 1, NULL));
    REFUSED(call, "outside",
            COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, (char *)r.z + 1));
    REFUSED(call, "channels", COUNT_I32(4, 0, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "channels", COUNT_I32(4, 5, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "counting", COUNT_I32(4, 1, r.x, &good, (weft_counting)2, WEFT_U32, r.y, NULL));
    REFUSED(call, "count_type", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_F32, r.y, NULL));
    REFUSED(call, "n",
            COUNT_I32((size_t)1 << 31, 1, r.x, &good, WEFT_OVERWRITE, WEFT_I32, r.y, NULL));
    REFUSED(call, "n",
            COUNT_I32((size_t)1 << 32, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, NULL));
    REFUSED(call, "n", COUNT_I32(SIZE_MAX, 4, r.x, &good, WEFT_OVERWRITE, WEFT_U64, r.y, NULL));
    REFUSED(call, "counts", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.x + 3, NULL));
    REFUSED(call, "outside", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, r.x));
    REFUSED(call, "outside", COUNT_I32(4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y, r.y + 3));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        REFUSED(call, "type",
                weft_histogram(ctx, bad_types[k], 4, 1, r.x, &good, WEFT_OVERWRITE, WEFT_U32, r.y,
                               NULL));
    }
    weft_status status = COUNT_I32(4, 1, r.x, NULL, WEFT_OVERWRITE, WEFT_U32, r.y, NULL);
    test_refused(ctx, status, WEFT_EUNSUPPORTED, call, "bins");
    rig_close(&r);
}

static void histogram_bins(weft_context *ctx) {
    rig r = rig_open(ctx);
    const double with_nan[] = {0, NAN, 1}, falling[] = {0, 2 + DBL_EPSILON * 2, 2};
    const weft_bins bad[] = {
        {.count = 0, .lo = 0, .hi = 1},          {.count = WEFT_MOST_BINS + 1, .lo = 0, .hi = 1},
        {.count = 2, .lo = 1, .hi = 1},          {.count = 2, .lo = 2, .hi = 1},
        {.count = 2, .lo = NAN, .hi = 1},        {.count = 2, .lo = 0, .hi = INFINITY},
        {.count = 2, .lo = -1e308, .hi = 1e308}, {.count = 2, .edges = with_nan},
        {.count = 2, .edges = falling},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        REFUSED("weft_histogram", bad[k].edges ? "edges" : "bins",
                COUNT_I32(4, 1, r.x, &bad[k], WEFT_OVERWRITE, WEFT_U32, r.y, r.z));
    }
    assert_null(strstr(weft_message(ctx), "is 2, after 2;"));
    rig_close(&r);
}

/* ---- allocations ---- */

static weft_status run_histogram(weft_context *ctx, test_arrays *a) {
    const weft_bins bins = {.count = 1000, .lo = 0.1, .hi = 1.7};
    return weft_histogram(ctx, WEFT_F32, a->n, 1, a->x, &bins, WEFT_OVERWRITE, WEFT_U32, a->z,
                          NULL);
}

static weft_status run_histogram_edges(weft_context *ctx, test_arrays *a) {
    const double edges[] = {-1, 0, 1, 1, 2.5};
    const weft_bins bins = {.count = 4, .edges = edges};
    return weft_histogram(ctx, WEFT_BF16, a->n, 2, a->x, &bins, WEFT_OVERWRITE, WEFT_U64, a->z,
                          NULL);
}

static weft_status run_histogram_bytes(weft_context *ctx, test_arrays *a) {
    return weft_histogram(ctx, WEFT_U8, a->n, 4, a->x, NULL, WEFT_OVERWRITE, WEFT_U32, a->z, NULL);
}

static const test_refusal refusals[] = {
    {"histogram: arguments", histogram_arguments},
    {"histogram: bins", histogram_bins},
};

static const test_call calls[] = {
    {"weft_histogram", run_histogram, &wi_histogram_ladder, NULL},
    {"weft_histogram of edges", run_histogram_edges, &wi_histogram_ladder, NULL},
    {"weft_histogram of bytes", run_histogram_bytes, &wi_histogram_ladder, NULL},
};

const test_cases wi_histogram_cases = {.without_context = without_context,
                                       .refusals = refusals,
                                       .refusal_count = sizeof refusals / sizeof *refusals,
                                       .calls = calls,
                                       .call_count = sizeof calls / sizeof *calls};
