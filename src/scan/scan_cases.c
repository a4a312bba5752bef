/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of scan for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "scan/scan.h"

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_scan(NULL, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 1, &x, &y, NULL),
                     WEFT_EARG);
    assert_int_equal(
        weft_scan_wide(NULL, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 1, &x, WEFT_F32, &y, NULL, NULL),
        WEFT_EARG);
    assert_true(y == 2);
}

/* Types that do not hold all elements, and outputs that overlap. */
static void wide_arguments(weft_context *ctx) {
    static const weft_type narrow[][2] = {{WEFT_I8, WEFT_U64},  {WEFT_U32, WEFT_I32},
                                          {WEFT_I64, WEFT_I32}, {WEFT_I8, WEFT_F64},
                                          {WEFT_F32, WEFT_F16}, {WEFT_F16, WEFT_BF16},
                                          {WEFT_F32, WEFT_I64}, {WEFT_U8, (weft_type)99}};
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++)
        REFUSED("weft_scan_wide", "y_type",
                weft_scan_wide(ctx, WEFT_INCLUSIVE, WEFT_SUM, narrow[k][0], 4, r.x, narrow[k][1],
                               r.y, NULL, NULL));
    REFUSED(
        "weft_scan_wide", "y",
        weft_scan_wide(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.x, WEFT_I64, r.x, NULL, NULL));
    REFUSED("weft_scan_wide", "total",
            weft_scan_wide(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.x, WEFT_I32, r.y, NULL,
                           (int32_t *)(void *)r.y + 3));
    REFUSED("weft_scan_wide", "op",
            weft_scan_wide(ctx, WEFT_INCLUSIVE, (weft_op)-1, WEFT_I32, 4, r.x, WEFT_I32, r.y, NULL,
                           NULL));
    rig_close(&r);
}

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_scan", "x",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, NULL, r.y, NULL));
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.x, NULL, NULL));
    rig_close(&r);
}

static void misaligned(weft_context *ctx) {
    rig r = rig_open(ctx);
    void *const off = (char *)r.x + 2;
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.y, off, NULL));
    if (ctx->kind == WI_CUDA) { /* on the host any memory will do for one element */
        REFUSED("weft_scan", "init",
                weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 4, r.y, r.z, off));
    }
    rig_close(&r);
}

static void bad_types_and_ops(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        const weft_type t = bad_types[k];
        REFUSED("weft_scan", "type",
                weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, t, 4, r.x, r.y, NULL));
    }
    for (int k = 0; k < 2; k++) {
        const weft_op op = (weft_op)(k ? WEFT_OP_COUNT : -1);
        const weft_scan_kind kind = (weft_scan_kind)(k ? 2 : -1);
        REFUSED("weft_scan", "op", weft_scan(ctx, WEFT_INCLUSIVE, op, WEFT_I32, 4, r.x, r.y, NULL));
        REFUSED("weft_scan", "kind", weft_scan(ctx, kind, WEFT_SUM, WEFT_I32, 4, r.x, r.y, NULL));
    }
    for (int op = WEFT_ARGMIN; op <= WEFT_NRMINF; op++) {
        const weft_status status =
            weft_scan(ctx, WEFT_INCLUSIVE, (weft_op)op, WEFT_I32, 4, r.x, r.y, NULL);
        test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_scan", "op");
    }
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = 8;
    REFUSED("weft_scan", "y",
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x, r.x + 1, NULL));
    REFUSED("weft_scan", "x",
            weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x + n - 1, r.x, NULL));
    rig_close(&r);
}

static void impossible_sizes(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = SIZE_MAX / 4;
    REFUSED("weft_scan", NULL,
            weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, r.x, r.y, NULL));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 0, NULL, NULL, NULL),
                     WEFT_OK);
}

/* A refused weft_use does not change the choice; a forced rung that does not fit is refused. */
static void forced_misfit(weft_context *ctx) {
    if (ctx->kind == WI_CPU || weft_use(ctx, "scan", "doubling_shared") != WEFT_OK) {
        print_message("skipped on %s: no rung there refuses a call\n", weft_place(ctx));
        return;
    }
    const size_t n = 1025;
    test_buffer x = test_buffer_open(ctx, true, n * 4), y = test_buffer_open(ctx, true, n * 4);
    test_buffer_poison(&x, n * 4, 0);
    test_buffer_poison(&y, n * 4, 0);
    assert_int_equal(weft_use(ctx, "scan", "fastest"), WEFT_EARG);
    weft_status status = weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n, x.p, y.p, NULL);
    test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_scan", "doubling_shared");
    assert_true(test_has_word(weft_message(ctx), "1024"));
    const unsigned char *now = test_buffer_read(&y, "refused scan");
    assert_true(now[0] == TEST_POISON && now[n * 4 - 1] == TEST_POISON);
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, n - 1, x.p, y.p, NULL),
                     WEFT_OK);
    assert_string_equal(weft_used(ctx, "scan"), "doubling_shared");
    test_buffer_close(&x);
    test_buffer_close(&y);
}

/* ---- allocations ---- */

static const float two = 2;

static weft_status run_scan(weft_context *ctx, test_arrays *a) {
    return weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, a->n, a->x, a->z, &two);
}

static weft_status run_scan_bytes(weft_context *ctx, test_arrays *a) {
    return weft_scan(ctx, WEFT_EXCLUSIVE, WEFT_MAX, WEFT_I8, a->n, a->x, a->z, NULL);
}

static weft_status run_scan_wide(weft_context *ctx, test_arrays *a) {
    return weft_scan_wide(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_F32, a->n / 2, a->x, WEFT_F64, a->z,
                          NULL, a->result);
}

static const test_refusal refusals[] = {
    {"scan: null arguments", null_arguments},       {"scan: misaligned", misaligned},
    {"scan: bad types and ops", bad_types_and_ops}, {"scan: overlaps", overlaps},
    {"scan: impossible sizes", impossible_sizes},   {"scan: empty", empty},
    {"scan: forced misfit", forced_misfit},         {"scan: wide", wide_arguments},
};

static const test_call calls[] = {
    {"weft_scan", run_scan, &wi_scan_ladder, NULL},
    {"weft_scan_wide", run_scan_wide, &wi_scan_ladder, NULL},
    {"weft_scan of bytes", run_scan_bytes, &wi_scan_ladder, NULL},
};

const test_cases wi_scan_cases = {.without_context = without_context,
                                  .refusals = refusals,
                                  .refusal_count = sizeof refusals / sizeof *refusals,
                                  .calls = calls,
                                  .call_count = sizeof calls / sizeof *calls};
