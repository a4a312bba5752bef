/* SPDX-License-Identifier: Apache-2.0 */
/* weft_blend for the tests that run for every call (tests/cases.h): with no context, with wrong
 * arguments, and with each of its allocations failed. */
#include <math.h>
#include <stdint.h>

#include "arguments.h"
#include "blend/blend.h"
#include "cases.h"

static const char call[] = "weft_blend";

static weft_blending good(void) {
    return (weft_blending){
        .type = WEFT_F32, .width = 4, .height = 3, .channels = 1, .weight_a = 0.5, .weight_b = 0.5};
}

static void without_context(void) {
    float a[12] = {1}, out[12] = {2};
    const weft_blending b = good();
    assert_int_equal(weft_blend(NULL, &b, a, a, NULL, out), WEFT_EARG);
    assert_true(out[0] == 2);
}

/* With this one member changed, the call is refused with a message that has `word`. */
#define BAD(word, member, value)                                                                   \
    do {                                                                                           \
        weft_blending changed = good();                                                            \
        changed.member = (value);                                                                  \
        REFUSED(call, word, weft_blend(ctx, &changed, r.x, r.y, NULL, r.z));                       \
    } while (0)

static void arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_blending b = good();
    REFUSED(call, "blending", weft_blend(ctx, NULL, r.x, r.y, NULL, r.z));
    REFUSED(call, "a", weft_blend(ctx, &b, NULL, r.y, NULL, r.z));
    REFUSED(call, "b", weft_blend(ctx, &b, r.x, NULL, NULL, r.z));
    REFUSED(call, "out", weft_blend(ctx, &b, r.x, r.y, NULL, NULL));
    REFUSED(call, "mask", weft_blend(ctx, &b, r.x, r.y, (char *)r.x + 2, r.z));
    REFUSED(call, "overlap", weft_blend(ctx, &b, r.x, r.y, NULL, r.x + 1));
    REFUSED(call, "overlap", weft_blend(ctx, &b, r.x, r.y, r.z + 3, r.z));
    BAD("channels", channels, 0);
    BAD("channels", channels, 5);
    BAD("lda", lda, 3);
    BAD("ldb", ldb, 3);
    BAD("ldout", ldout, 3);
    BAD("weight_a", weight_a, NAN);
    BAD("weight_a", weight_a, 1e300); /* infinite in f32 */
    BAD("weight_b", weight_b, -INFINITY);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        BAD("type", type, bad_types[k]);
    b.ldmask = 3;
    REFUSED(call, "ldmask", weft_blend(ctx, &b, r.x, r.y, r.x, r.z));
    b = good();
    b.width = SIZE_MAX;
    b.channels = 2;
    REFUSED(call, "width", weft_blend(ctx, &b, r.x, r.y, NULL, r.z));
    b = good();
    b.type = WEFT_I32;
    test_refused(ctx, weft_blend(ctx, &b, r.x, r.y, NULL, r.z), WEFT_EUNSUPPORTED, call, "type");
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    weft_blending b = good();
    b.width = 0;
    assert_int_equal(weft_blend(ctx, &b, NULL, NULL, NULL, NULL), WEFT_OK);
    b = good();
    b.height = 0;
    assert_int_equal(weft_blend(ctx, &b, NULL, NULL, NULL, NULL), WEFT_OK);
}

/* An image of 100 columns of the arrays' elements; its allocations are to fail in turn. */
static weft_status run(weft_context *ctx, test_arrays *a) {
    weft_blending b = good();
    b.width = 100;
    b.height = a->n / 100;
    return weft_blend(ctx, &b, a->x, a->y, NULL, a->z);
}

static const test_refusal refusals[] = {
    {"blend: arguments", arguments},
    {"blend: empty", empty},
};

static const test_call calls[] = {
    {"weft_blend", run, &wi_blend_ladder, NULL},
};

const test_cases wi_blend_cases = {.without_context = without_context,
                                   .refusals = refusals,
                                   .refusal_count = sizeof refusals / sizeof *refusals,
                                   .calls = calls,
                                   .call_count = sizeof calls / sizeof *calls};
