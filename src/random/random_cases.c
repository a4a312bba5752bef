/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of random for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "random/random.h"

static void without_context(void) {
    int32_t x = 1, y = 2;
    assert_int_equal(weft_random_bits(NULL, WEFT_I32, 1, 0, 0, &y), WEFT_EARG);
    assert_int_equal(weft_random_integers(NULL, WEFT_I32, 1, &x, &x, 0, 0, &y), WEFT_EARG);
    assert_int_equal(weft_random_uniform(NULL, WEFT_F32, 1, 0, 0, &y), WEFT_EARG);
    assert_int_equal(weft_random_normal(NULL, WEFT_F32, 1, 0, 0, &y), WEFT_EARG);
    assert_int_equal(weft_random_permutation(NULL, WEFT_U32, 1, 0, &y), WEFT_EARG);
    assert_int_equal(y, 2);
}

static void wrong_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_type bad = bad_types[0];
    const int32_t zero = 0;
    REFUSED("weft_random_bits", "x", weft_random_bits(ctx, WEFT_I32, 4, 0, 0, NULL));
    REFUSED("weft_random_bits", "type", weft_random_bits(ctx, bad, 4, 0, 0, r.x));
    REFUSED("weft_random_bits", "x", weft_random_bits(ctx, WEFT_I32, 4, 0, 0, (char *)r.x + 2));
    REFUSED("weft_random_bits", NULL, weft_random_bits(ctx, WEFT_I32, SIZE_MAX, 0, 0, r.x));
    REFUSED("weft_random_integers", "low",
            weft_random_integers(ctx, WEFT_I32, 4, NULL, &r.one, 0, 0, r.x));
    REFUSED("weft_random_integers", "high",
            weft_random_integers(ctx, WEFT_I32, 4, &r.one, NULL, 0, 0, r.x));
    REFUSED("weft_random_integers", "low",
            weft_random_integers(ctx, WEFT_I32, 4, &r.one, &zero, 0, 0, r.x));
    REFUSED("weft_random_integers", "x",
            weft_random_integers(ctx, WEFT_I32, 4, &zero, &r.one, 0, 0, NULL));
    REFUSED("weft_random_uniform", "x", weft_random_uniform(ctx, WEFT_F32, 4, 0, 0, NULL));
    REFUSED("weft_random_normal", "type", weft_random_normal(ctx, bad, 4, 0, 0, r.x));
    REFUSED("weft_random_permutation", "x", weft_random_permutation(ctx, WEFT_U32, 4, 0, NULL));
    test_refused(ctx, weft_random_bits(ctx, WEFT_F32, 4, 0, 0, r.x), WEFT_EUNSUPPORTED,
                 "weft_random_bits", "f32");
    test_refused(ctx, weft_random_uniform(ctx, WEFT_U32, 4, 0, 0, r.x), WEFT_EUNSUPPORTED,
                 "weft_random_uniform", "u32");
    test_refused(ctx, weft_random_normal(ctx, WEFT_F16, 4, 0, 0, r.x), WEFT_EUNSUPPORTED,
                 "weft_random_normal", "f16");
    REFUSED("weft_random_permutation", "type", weft_random_permutation(ctx, WEFT_U8, 4, 0, r.x));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    const int32_t zero = 0;
    assert_int_equal(weft_random_bits(ctx, WEFT_I32, 0, 0, 0, NULL), WEFT_OK);
    assert_int_equal(weft_random_integers(ctx, WEFT_I32, 0, &zero, &zero, 0, 0, NULL), WEFT_OK);
    assert_int_equal(weft_random_uniform(ctx, WEFT_F32, 0, 0, 0, NULL), WEFT_OK);
    assert_int_equal(weft_random_normal(ctx, WEFT_F32, 0, 0, 0, NULL), WEFT_OK);
    assert_int_equal(weft_random_permutation(ctx, WEFT_U32, 0, 0, NULL), WEFT_OK);
}

static weft_status run_normal(weft_context *ctx, test_arrays *a) {
    return weft_random_normal(ctx, WEFT_F32, a->n, 1, 3, a->z);
}

static weft_status run_permutation(weft_context *ctx, test_arrays *a) {
    return weft_random_permutation(ctx, WEFT_U32, a->n, 1, a->z);
}

static const test_refusal refusals[] = {{"random: wrong arguments", wrong_arguments},
                                        {"random: empty", empty}};

static const test_call calls[] = {
    {"weft_random_normal", run_normal, &wi_random_ladder, NULL},
    {"weft_random_permutation", run_permutation, &wi_random_ladder, NULL},
};

const test_cases wi_random_cases = {.without_context = without_context,
                                    .refusals = refusals,
                                    .refusal_count = sizeof refusals / sizeof *refusals,
                                    .calls = calls,
                                    .call_count = sizeof calls / sizeof *calls};
