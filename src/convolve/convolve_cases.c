/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of convolve for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include <math.h>
#include <stdint.h>

#include "arguments.h"
#include "cases.h"
#include "convolve/convolve.h"

static const char call[] = "weft_convolve";
static const double filter[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

static weft_convolution good(void) {
    return (weft_convolution){.type = WEFT_F32,
                              .out = WEFT_F32,
                              .width = 4,
                              .height = 3,
                              .channels = 1,
                              .images = 1,
                              .filter_width = 3,
                              .filter_height = 3,
                              .filter = filter};
}

static void without_context(void) {
    float x[12] = {1}, y[12] = {2};
    const weft_convolution c = good();
    assert_int_equal(weft_convolve(NULL, &c, x, y), WEFT_EARG);
    assert_true(y[0] == 2);
}

/* Refused with a message that has `word`, if one member is changed. */
#define BAD(word, member, value)                                                                   \
    do {                                                                                           \
        weft_convolution changed = good();                                                         \
        changed.member = (value);                                                                  \
        REFUSED(call, word, weft_convolve(ctx, &changed, r.x, r.y));                               \
    } while (0)

static void arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_convolution c = good();
    double special[9] = {0};
    REFUSED(call, "c", weft_convolve(ctx, NULL, r.x, r.y));
    REFUSED(call, "x", weft_convolve(ctx, &c, NULL, r.y));
    REFUSED(call, "y", weft_convolve(ctx, &c, r.x, NULL));
    REFUSED(call, "x", weft_convolve(ctx, &c, (char *)r.x + 2, r.y));
    REFUSED(call, "overlap", weft_convolve(ctx, &c, r.x, r.x));
    REFUSED(call, "overlap", weft_convolve(ctx, &c, r.x, r.x + 11));
    BAD("filter", filter, NULL);
    BAD("filter_width", filter_width, 0);
    BAD("filter_height", filter_height, 0);
    BAD("filter_width", filter_width, (size_t)1 << 30);
    BAD("width", width, (size_t)1 << 30);
    BAD("height", height, SIZE_MAX);
    BAD("channels", channels, 0);
    BAD("channels", channels, 5);
    BAD("border", border, (weft_border)5);
    BAD("how", how, 64);
    BAD("ldx", ldx, 3);
    BAD("ldy", ldy, 3);
    BAD("apart_x", apart_x, 2);
    BAD("apart_y", apart_y, 2);
    BAD("images", images, SIZE_MAX);
    BAD("filters", filters, SIZE_MAX);
    special[7] = NAN;
    BAD("filter", filter, special);
    special[7] = 1e300; /* infinite in f32 */
    BAD("f32", filter, special);
    rig_close(&r);
}

static void types(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        BAD("type", type, bad_types[k]);
        BAD("type", out, bad_types[k]);
    }
    weft_convolution c = good();
    c.type = WEFT_I32;
    test_refused(ctx, weft_convolve(ctx, &c, r.x, r.y), WEFT_EUNSUPPORTED, call, "type");
    c = good();
    c.out = WEFT_BF16;
    test_refused(ctx, weft_convolve(ctx, &c, r.x, r.y), WEFT_EUNSUPPORTED, call, "out");
    c = good();
    c.channels = 3;
    c.filters = 2;
    REFUSED(call, "filters", weft_convolve(ctx, &c, r.x, r.y));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    weft_convolution c = good();
    c.images = 0;
    assert_int_equal(weft_convolve(ctx, &c, NULL, NULL), WEFT_OK);
    c = good();
    c.width = 0;
    assert_int_equal(weft_convolve(ctx, &c, NULL, NULL), WEFT_OK);
    c = good();
    c.height = 2;
    c.border = WEFT_BORDER_VALID;
    float x[8] = {0};
    assert_int_equal(weft_convolve(ctx, &c, x, NULL), WEFT_OK);
}

/* ---- allocations ---- */

static weft_status run(weft_context *ctx, test_arrays *a, size_t side, unsigned how) {
    double weights[25];
    for (int k = 0; k < 25; k++)
        weights[k] = 1;
    weft_convolution c = good();
    c.width = 60;
    c.height = a->n / 60 < 70 ? a->n / 60 : 70;
    c.filter_width = c.filter_height = side;
    c.filter = weights;
    c.how = how;
    return weft_convolve(ctx, &c, a->x, a->z);
}

static weft_status run_dense(weft_context *ctx, test_arrays *a) {
    return run(ctx, a, 5, WEFT_DENSE);
}

static weft_status run_factors(weft_context *ctx, test_arrays *a) {
    return run(ctx, a, 3, 0);
}

/* A filter of rank 2. */
static weft_status run_terms(weft_context *ctx, test_arrays *a) {
    double weights[25];
    for (int k = 0; k < 25; k++)
        weights[k] = k / 5 + k % 5 + 1;
    weft_convolution c = good();
    c.width = 60;
    c.height = a->n / 60 < 70 ? a->n / 60 : 70;
    c.filter_width = c.filter_height = 5;
    c.filter = weights;
    c.how = WEFT_ANY_ORDER;
    return weft_convolve(ctx, &c, a->x, a->z);
}

static weft_status run_any_order(weft_context *ctx, test_arrays *a) {
    return run(ctx, a, 5, WEFT_DENSE | WEFT_ANY_ORDER);
}

static const test_refusal refusals[] = {
    {"convolve: arguments", arguments},
    {"convolve: types", types},
    {"convolve: empty", empty},
};

static const test_call calls[] = {
    {"weft_convolve", run_dense, &wi_convolve_ladder, NULL},
    {"weft_convolve by factors", run_factors, &wi_convolve_ladder, NULL},
    {"weft_convolve in any order", run_any_order, &wi_convolve_ladder, NULL},
    {"weft_convolve of rank two", run_terms, &wi_convolve_ladder, NULL},
};

const test_cases wi_convolve_cases = {.without_context = without_context,
                                      .refusals = refusals,
                                      .refusal_count = sizeof refusals / sizeof *refusals,
                                      .calls = calls,
                                      .call_count = sizeof calls / sizeof *calls};
