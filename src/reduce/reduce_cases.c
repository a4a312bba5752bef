/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of reduce for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "reduce/reduce.h"

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_reduce(NULL, WEFT_SUM, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_dot_fast(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_true(y == 2);
}

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_reduce", "x", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, NULL, r.z));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, r.x, NULL));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 0, r.x, NULL));
    REFUSED("weft_dot_fast", "x", weft_dot_fast(ctx, WEFT_I32, 4, NULL, r.y, r.z));
    REFUSED("weft_dot_fast", "y", weft_dot_fast(ctx, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_dot_fast", "result", weft_dot_fast(ctx, WEFT_I32, 4, r.x, r.y, NULL));
    rig_close(&r);
}

static void misaligned(weft_context *ctx) {
    rig r = rig_open(ctx);
    void *const off = (char *)r.x + 2;
    REFUSED("weft_reduce", "x", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, off, r.z));
    if (ctx->kind == WI_CUDA) { /* on the host any memory will do for one element */
        REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, 4, r.y, off));
    }
    REFUSED("weft_dot_fast", "y", weft_dot_fast(ctx, WEFT_I32, 4, r.y, off, r.z));
    rig_close(&r);
}

static void bad_types_and_ops(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        const weft_type t = bad_types[k];
        REFUSED("weft_reduce", "type", weft_reduce(ctx, WEFT_SUM, t, 4, r.x, r.z));
        REFUSED("weft_dot_fast", "type", weft_dot_fast(ctx, t, 4, r.x, r.y, r.z));
    }
    for (int k = 0; k < 2; k++) {
        const weft_op op = (weft_op)(k ? WEFT_OP_COUNT : -1);
        REFUSED("weft_reduce", "op", weft_reduce(ctx, op, WEFT_I32, 4, r.x, r.z));
    }
    for (int op = WEFT_AND; op <= WEFT_XOR; op++) {
        const weft_status status = weft_reduce(ctx, (weft_op)op, WEFT_I32, 4, r.x, r.z);
        test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_reduce", "op");
    }
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = 8;
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_SUM, WEFT_I32, n, r.x, r.x + 2));
    REFUSED("weft_reduce", "result", weft_reduce(ctx, WEFT_MIN, WEFT_I32, n, r.x, r.x));
    REFUSED("weft_dot_fast", "result", weft_dot_fast(ctx, WEFT_I32, n, r.x, r.y, r.y + n - 1));
    rig_close(&r);
}

static void impossible_sizes(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = SIZE_MAX / 4;
    REFUSED("weft_reduce", NULL, weft_reduce(ctx, WEFT_SUM, WEFT_I32, n, r.x, r.z));
    REFUSED("weft_dot_fast", NULL, weft_dot_fast(ctx, WEFT_I32, n, r.x, r.y, r.z));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    int64_t sum = 7;
    uint64_t at = 7;
    float least = 7;
    assert_int_equal(weft_reduce(ctx, WEFT_SUM, WEFT_I8, 0, NULL, &sum), WEFT_OK);
    assert_int_equal(sum, 0);
    assert_int_equal(weft_dot_fast(ctx, WEFT_I8, 0, NULL, NULL, &sum), WEFT_OK);
    assert_int_equal(sum, 0);
    assert_int_equal(weft_reduce(ctx, WEFT_ARGMAX, WEFT_F32, 0, NULL, &at), WEFT_OK);
    assert_true(at == WEFT_NOWHERE);
    assert_int_equal(weft_reduce(ctx, WEFT_MIN, WEFT_F32, 0, NULL, &least), WEFT_OK);
    assert_true(least > 0 && least * 0.5f == least);
}

/* ---- allocations ---- */

static weft_status run_sum(weft_context *ctx, test_arrays *a) {
    return weft_reduce(ctx, WEFT_SUM, WEFT_F32, a->n, a->x, a->result);
}

static weft_status run_argmax(weft_context *ctx, test_arrays *a) {
    return weft_reduce(ctx, WEFT_ARGMAX, WEFT_F32, a->n, a->x, a->result);
}

static weft_status run_nrm2(weft_context *ctx, test_arrays *a) {
    return weft_reduce(ctx, WEFT_NRM2, WEFT_F32, a->n, a->x, a->result);
}

static weft_status run_dot(weft_context *ctx, test_arrays *a) {
    return weft_dot_fast(ctx, WEFT_F32, a->n, a->x, a->y, a->result);
}

static const test_refusal refusals[] = {
    {"reduce: null arguments", null_arguments},       {"reduce: misaligned", misaligned},
    {"reduce: bad types and ops", bad_types_and_ops}, {"reduce: overlaps", overlaps},
    {"reduce: impossible sizes", impossible_sizes},   {"reduce: empty", empty},
};

static const test_call calls[] = {
    {"weft_reduce sum", run_sum, &wi_reduce_ladder, NULL},
    {"weft_reduce argmax", run_argmax, &wi_reduce_ladder, NULL},
    {"weft_reduce nrm2", run_nrm2, &wi_reduce_ladder, NULL},
    {"weft_dot_fast", run_dot, &wi_reduce_ladder, NULL},
};

const test_cases wi_reduce_cases = {.without_context = without_context,
                                    .refusals = refusals,
                                    .refusal_count = sizeof refusals / sizeof *refusals,
                                    .calls = calls,
                                    .call_count = sizeof calls / sizeof *calls};
