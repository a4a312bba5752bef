/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of exact for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "exact/exact_scan.h"
#include "exact/exact_segments.h"

static void without_context(void) {
    double x = 1, z = 2;
    weft_exact *sum = NULL;
    char bytes[WEFT_EXACT_BYTES];
    uint64_t count;
    assert_int_equal(weft_exact_reduce(NULL, WEFT_SUM, WEFT_F64, 1, &x, WEFT_F64, &z), WEFT_EARG);
    assert_int_equal(weft_exact_dot(NULL, WEFT_F64, 1, &x, &x, WEFT_F64, &z), WEFT_EARG);
    assert_int_equal(weft_dot(NULL, WEFT_F64, 1, &x, &x, &z), WEFT_EARG);
    assert_int_equal(weft_exact_scan(NULL, WEFT_INCLUSIVE, WEFT_F64, 1, &x, &z, NULL), WEFT_EARG);
    const uint64_t offsets[2] = {0, 1};
    const weft_exact_column column = {WEFT_SUM, WEFT_F64, &x, WEFT_F64, &z};
    assert_int_equal(weft_exact_reduce_segments(NULL, WEFT_SUM, WEFT_F64, 1, &x, 1, WEFT_U64,
                                                offsets, WEFT_F64, &z),
                     WEFT_EARG);
    assert_int_equal(weft_exact_reduce_by_key(NULL, 1, 8, &x, NULL, 1, &column, &count), WEFT_EARG);
    assert_int_equal(weft_mean(NULL, WEFT_F64, 1, &x, WEFT_F64, &z), WEFT_EARG);
    assert_int_equal(weft_variance(NULL, WEFT_F64, 1, &x, 0, WEFT_F64, &z), WEFT_EARG);
    assert_int_equal(weft_exact_create(NULL, &sum), WEFT_EARG);
    assert_int_equal(weft_exact_add(NULL, sum, WEFT_F64, 1, &x), WEFT_EARG);
    assert_int_equal(weft_exact_add_dot(NULL, sum, WEFT_F64, 1, &x, &x), WEFT_EARG);
    assert_int_equal(weft_exact_add_value(NULL, sum, x), WEFT_EARG);
    assert_int_equal(weft_exact_add_product(NULL, sum, x, x), WEFT_EARG);
    assert_int_equal(weft_exact_merge(NULL, sum, sum), WEFT_EARG);
    assert_int_equal(weft_exact_round(NULL, sum, WEFT_F64, &z), WEFT_EARG);
    assert_int_equal(weft_exact_count(NULL, sum, &count), WEFT_EARG);
    assert_int_equal(weft_exact_save(NULL, sum, bytes), WEFT_EARG);
    assert_int_equal(weft_exact_load(NULL, sum, bytes), WEFT_EARG);
    weft_exact_destroy(NULL);
    assert_true(z == 2 && !sum);
}

static void wrong_arrays(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const char call[] = "weft_exact_reduce";
    void *const off = (char *)r.x + 2;
    const size_t n = 8, most = SIZE_MAX / 4;
    const weft_type f32 = WEFT_F32;
    REFUSED(call, "x", weft_exact_reduce(ctx, WEFT_SUM, f32, 4, NULL, f32, r.z));
    REFUSED(call, "result", weft_exact_reduce(ctx, WEFT_SUM, f32, 4, r.x, f32, NULL));
    REFUSED(call, "x", weft_exact_reduce(ctx, WEFT_SUM, f32, 4, off, f32, r.z));
    REFUSED(call, "result", weft_exact_reduce(ctx, WEFT_SUM, f32, n, r.x, f32, r.x + 2));
    REFUSED(call, NULL, weft_exact_reduce(ctx, WEFT_SUM, f32, most, r.x, f32, r.z));
    REFUSED("weft_exact_dot", "y", weft_exact_dot(ctx, f32, 4, r.x, NULL, f32, r.z));
    REFUSED(call, "x", weft_exact_reduce(ctx, WEFT_SUM, WEFT_I32, 4, NULL, WEFT_I64, r.z));
    REFUSED("weft_dot", "x", weft_dot(ctx, f32, 4, NULL, r.y, r.z));
    REFUSED("weft_dot", "y", weft_dot(ctx, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_mean", "result", weft_mean(ctx, f32, 4, r.x, f32, NULL));
    REFUSED("weft_mean", "x", weft_mean(ctx, f32, 4, NULL, f32, r.z));
    REFUSED("weft_variance", "result", weft_variance(ctx, f32, n, r.x, 1, f32, r.x));
    rig_close(&r);
}

static void wrong_scans(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const char call[] = "weft_exact_scan";
    const weft_scan_kind kind = WEFT_INCLUSIVE;
    const weft_type f32 = WEFT_F32;
    const size_t n = 8, most = SIZE_MAX / 4;
    REFUSED(call, "x", weft_exact_scan(ctx, kind, f32, 4, NULL, r.y, NULL));
    REFUSED(call, "y", weft_exact_scan(ctx, kind, f32, 4, r.x, NULL, NULL));
    REFUSED(call, "y", weft_exact_scan(ctx, kind, f32, n, r.x, r.x + 1, NULL));
    REFUSED(call, "y", weft_exact_scan(ctx, kind, f32, 4, r.x, (char *)r.y + 2, NULL));
    REFUSED(call, NULL, weft_exact_scan(ctx, kind, f32, most, r.x, r.y, NULL));
    REFUSED(call, "kind", weft_exact_scan(ctx, (weft_scan_kind)2, f32, 4, r.x, r.y, NULL));
    if (ctx->kind == WI_CUDA) /* on the host any memory will do for one element */
        REFUSED(call, "init", weft_exact_scan(ctx, kind, f32, 4, r.x, r.y, (char *)r.z + 2));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(call, "type", weft_exact_scan(ctx, kind, bad_types[k], 4, r.x, r.y, NULL));
    test_refused(ctx, weft_exact_scan(ctx, kind, WEFT_I32, 4, r.x, r.y, NULL), WEFT_EUNSUPPORTED,
                 call, "type");
    assert_int_equal(weft_exact_scan(ctx, kind, f32, 0, NULL, NULL, NULL), WEFT_OK);
    rig_close(&r);
}

static void wrong_segments(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const char call[] = "weft_exact_reduce_segments";
    const uint64_t offsets[3] = {0, 3, 4}, falling[3] = {0, 5, 4}, late[3] = {1, 3, 4};
    const weft_type f32 = WEFT_F32, u64 = WEFT_U64;
    const weft_op sum = WEFT_SUM;
    REFUSED(call, "x",
            weft_exact_reduce_segments(ctx, sum, f32, 4, NULL, 2, u64, offsets, f32, r.z));
    REFUSED(call, "y",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, offsets, f32, NULL));
    REFUSED(call, "y",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, offsets, f32, r.x));
    REFUSED(call, "offsets",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, NULL, f32, r.z));
    REFUSED(call, "offsets",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, falling, f32, r.z));
    REFUSED(call, "offsets",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, late, f32, r.z));
    REFUSED(call, "offset_type",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, WEFT_U8, offsets, f32, r.z));
    REFUSED(call, "segments",
            weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 0, u64, offsets, f32, r.z));
    REFUSED(call, "op",
            weft_exact_reduce_segments(ctx, (weft_op)-1, f32, 4, r.x, 2, u64, offsets, f32, r.z));
    test_refused(ctx,
                 weft_exact_reduce_segments(ctx, WEFT_MAX, f32, 4, r.x, 2, u64, offsets, f32, r.z),
                 WEFT_EUNSUPPORTED, call, "op");
    test_refused(ctx,
                 weft_exact_reduce_segments(ctx, sum, WEFT_I32, 4, r.x, 2, u64, offsets, f32, r.z),
                 WEFT_EUNSUPPORTED, call, "type");
    test_refused(ctx,
                 weft_exact_reduce_segments(ctx, sum, f32, 4, r.x, 2, u64, offsets, WEFT_I64, r.z),
                 WEFT_EUNSUPPORTED, call, "result_type");
    rig_close(&r);
}

static void wrong_keys(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const char call[] = "weft_exact_reduce_by_key";
    uint64_t *const count = (uint64_t *)(void *)r.z;
    weft_exact_column column = {WEFT_SUM, WEFT_F32, r.x, WEFT_F32, r.y};
    REFUSED(call, "keys", weft_exact_reduce_by_key(ctx, 2, 4, NULL, NULL, 1, &column, count));
    REFUSED(call, "width", weft_exact_reduce_by_key(ctx, 2, 0, r.x, NULL, 1, &column, count));
    REFUSED(call, "count", weft_exact_reduce_by_key(ctx, 2, 4, r.x, NULL, 1, &column, NULL));
    REFUSED(call, "column", weft_exact_reduce_by_key(ctx, 2, 4, r.x, NULL, 1, NULL, count));
    REFUSED(call, "columns",
            weft_exact_reduce_by_key(ctx, 2, 4, r.x, NULL, WEFT_COLUMNS + 1, &column, count));
    column.y = NULL;
    REFUSED(call, "column[0].y", weft_exact_reduce_by_key(ctx, 2, 4, r.x, NULL, 1, &column, count));
    column.op = WEFT_MAX;
    test_refused(ctx, weft_exact_reduce_by_key(ctx, 2, 4, r.x, NULL, 1, &column, count),
                 WEFT_EUNSUPPORTED, call, "op");
    rig_close(&r);
}

static void wrong_types(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_type f32 = WEFT_F32, i32 = WEFT_I32;
    static const char call[] = "weft_exact_reduce";
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        const weft_type t = bad_types[k];
        REFUSED(call, "type", weft_exact_reduce(ctx, WEFT_SUM, t, 4, r.x, f32, r.z));
        REFUSED(call, "result_type", weft_exact_reduce(ctx, WEFT_SUM, f32, 4, r.x, t, r.z));
        REFUSED("weft_dot", "type", weft_dot(ctx, t, 4, r.x, r.y, r.z));
    }
    REFUSED(call, "result_type", weft_exact_reduce(ctx, WEFT_SUM, i32, 4, r.x, i32, r.z));
    REFUSED(call, "op", weft_exact_reduce(ctx, (weft_op)-1, f32, 4, r.x, f32, r.z));
    test_refused(ctx, weft_exact_reduce(ctx, WEFT_MIN, f32, 4, r.x, f32, r.z), WEFT_EUNSUPPORTED,
                 call, "op");
    test_refused(ctx, weft_exact_reduce(ctx, WEFT_SUM, f32, 4, r.x, i32, r.z), WEFT_EUNSUPPORTED,
                 call, "result_type");
    test_refused(ctx, weft_mean(ctx, i32, 4, r.x, f32, r.z), WEFT_EUNSUPPORTED, "weft_mean",
                 "type");
    rig_close(&r);
}

static void wrong_sums(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_exact *sum;
    double x = 1;
    char bytes[WEFT_EXACT_BYTES];
    REFUSED("weft_exact_create", "sum", weft_exact_create(ctx, NULL));
    assert_int_equal(weft_exact_create(ctx, &sum), WEFT_OK);
    REFUSED("weft_exact_add", "sum", weft_exact_add(ctx, NULL, WEFT_F64, 1, &x));
    REFUSED("weft_exact_add", "x", weft_exact_add(ctx, sum, WEFT_F64, 1, NULL));
    REFUSED("weft_exact_add_dot", "y", weft_exact_add_dot(ctx, sum, WEFT_F64, 1, &x, NULL));
    REFUSED("weft_exact_add_value", "sum", weft_exact_add_value(ctx, NULL, x));
    REFUSED("weft_exact_add_product", "sum", weft_exact_add_product(ctx, NULL, x, x));
    REFUSED("weft_exact_merge", "other", weft_exact_merge(ctx, sum, NULL));
    REFUSED("weft_exact_round", "result", weft_exact_round(ctx, sum, WEFT_F64, NULL));
    REFUSED("weft_exact_count", "count", weft_exact_count(ctx, sum, NULL));
    REFUSED("weft_exact_save", "bytes", weft_exact_save(ctx, sum, NULL));
    REFUSED("weft_exact_load", "bytes", weft_exact_load(ctx, sum, NULL));
    test_refused(ctx, weft_exact_round(ctx, sum, WEFT_U8, &x), WEFT_EUNSUPPORTED,
                 "weft_exact_round", "type");
    assert_int_equal(weft_exact_save(ctx, sum, bytes), WEFT_OK);
    bytes[8 + 32] = 2;
    test_refused(ctx, weft_exact_load(ctx, sum, bytes), WEFT_EFORMAT, "weft_exact_load", "bytes");
    bytes[0] = 'x';
    test_refused(ctx, weft_exact_load(ctx, sum, bytes), WEFT_EFORMAT, "weft_exact_load", "bytes");
    weft_exact_destroy(sum);
    rig_close(&r);
}

/* ---- allocations ---- */

static weft_status run_sum(weft_context *ctx, test_arrays *a) {
    return weft_exact_reduce(ctx, WEFT_SUM, WEFT_F32, a->n, a->x, WEFT_F64, a->result);
}

static weft_status run_dot(weft_context *ctx, test_arrays *a) {
    return weft_dot(ctx, WEFT_F32, a->n, a->x, a->y, a->result);
}

static weft_status run_scan(weft_context *ctx, test_arrays *a) {
    return weft_exact_scan(ctx, WEFT_INCLUSIVE, WEFT_F32, a->n, a->x, a->z, NULL);
}

static weft_status run_segments(weft_context *ctx, test_arrays *a) {
    const uint64_t offsets[3] = {0, a->n / 3, a->n};
    return weft_exact_reduce_segments(ctx, WEFT_SUM, WEFT_F32, a->n, a->x, 2, WEFT_U64, offsets,
                                      WEFT_F32, a->z);
}

static weft_status run_keys(weft_context *ctx, test_arrays *a) {
    const weft_exact_column column = {WEFT_SUM, WEFT_F32, a->y, WEFT_F32, a->z};
    return weft_exact_reduce_by_key(ctx, a->n, 4, a->x, NULL, 1, &column,
                                    (uint64_t *)(void *)a->result);
}

static weft_status run_variance(weft_context *ctx, test_arrays *a) {
    return weft_variance(ctx, WEFT_F32, a->n, a->x, 1, WEFT_F64, a->result);
}

static weft_status run_create(weft_context *ctx, test_arrays *a) {
    weft_exact *sum;
    const weft_status status = weft_exact_create(ctx, &sum);
    (void)a;
    weft_exact_destroy(sum);
    return status;
}

static const test_refusal refusals[] = {
    {"exact: wrong arrays", wrong_arrays},     {"exact: wrong scans", wrong_scans},
    {"exact: wrong segments", wrong_segments}, {"exact: wrong keys", wrong_keys},
    {"exact: wrong types", wrong_types},       {"exact: wrong sums", wrong_sums}};

static const test_call calls[] = {
    {"weft_exact_reduce sum", run_sum, &wi_exact_ladder, NULL},
    {"weft_dot", run_dot, &wi_exact_ladder, NULL},
    {"weft_exact_scan", run_scan, &wi_exact_scan_ladder, NULL},
    {"weft_exact_reduce_segments", run_segments, &wi_exact_segments_ladder, NULL},
    {"weft_exact_reduce_by_key", run_keys, &wi_exact_segments_ladder, NULL},
    {"weft_variance", run_variance, &wi_exact_ladder, NULL},
    {"weft_exact_create", run_create, NULL, NULL}};

const test_cases wi_exact_cases = {.without_context = without_context,
                                   .refusals = refusals,
                                   .refusal_count = sizeof refusals / sizeof *refusals,
                                   .calls = calls,
                                   .call_count = sizeof calls / sizeof *calls};
