/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of group for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "group/group.h"

static void without_context(void) {
    float x = 1, y = 2;
    uint64_t count = 3;
    const uint64_t offsets[2] = {0, 1};
    const weft_column column = {WEFT_SUM, WEFT_F32, &x, &y};
    assert_int_equal(
        weft_reduce_segments(NULL, WEFT_SUM, WEFT_F32, 1, &x, 1, WEFT_U64, offsets, &y), WEFT_EARG);
    assert_int_equal(weft_reduce_segments_columns(NULL, 1, 1, WEFT_U64, offsets, 1, &column),
                     WEFT_EARG);
    assert_int_equal(weft_reduce_by_key(NULL, 1, 4, &x, NULL, 1, &column, &count), WEFT_EARG);
    assert_int_equal(weft_scan_segments(NULL, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 1, &x, &y, 1,
                                        WEFT_U64, offsets),
                     WEFT_EARG);
    assert_int_equal(weft_scan_by_key(NULL, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 1, 4, &x, &x, &y),
                     WEFT_EARG);
    assert_true(y == 2 && count == 3);
}

enum {
    N = 8
};

static weft_status reduce(weft_context *ctx, const void *x, size_t segments, weft_type offset_type,
                          const void *offsets, void *y) {
    return weft_reduce_segments(ctx, WEFT_SUM, WEFT_I32, N, x, segments, offset_type, offsets, y);
}

static void segments_arguments(weft_context *ctx) {
    static const char call[] = "weft_reduce_segments";
    rig r = rig_open(ctx);
    const uint32_t good[3] = {0, 3, N}, falls[4] = {0, 5, 4, N}, late[3] = {1, 3, N},
                   early[3] = {0, 3, N - 1};
    const int32_t negative[3] = {0, -1, N};
    int64_t *const y = (int64_t *)(void *)r.y;
    REFUSED(call, "x", reduce(ctx, NULL, 2, WEFT_U32, good, y));
    REFUSED(call, "y", reduce(ctx, r.x, 2, WEFT_U32, good, NULL));
    REFUSED(call, "offsets", reduce(ctx, r.x, 2, WEFT_U32, NULL, y));
    REFUSED(call, "segments", reduce(ctx, r.x, 0, WEFT_U32, good, y));
    REFUSED(call, "offset_type", reduce(ctx, r.x, 2, WEFT_I16, good, y));
    REFUSED(call, "overlap", reduce(ctx, r.x, 2, WEFT_U32, good, r.x));
    REFUSED(call, "fall", reduce(ctx, r.x, 3, WEFT_U32, falls, y));
    REFUSED(call, "fall", reduce(ctx, r.x, 2, WEFT_I32, negative, y));
    assert_non_null(strstr(weft_message(ctx), "from -1 to 8"));
    REFUSED(call, "offsets", reduce(ctx, r.x, 2, WEFT_U32, late, y));
    REFUSED(call, "offsets", reduce(ctx, r.x, 2, WEFT_U32, early, y));
    REFUSED(call, "segments", reduce(ctx, r.x, SIZE_MAX, WEFT_U32, good, y));
    REFUSED(
        call, "op",
        weft_reduce_segments(ctx, (weft_op)WEFT_OP_COUNT, WEFT_I32, N, r.x, 2, WEFT_U32, good, y));
    test_refused(ctx, weft_reduce_segments(ctx, WEFT_XOR, WEFT_I32, N, r.x, 2, WEFT_U32, good, y),
                 WEFT_EUNSUPPORTED, call, "op");
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        REFUSED(call, "type",
                weft_reduce_segments(ctx, WEFT_SUM, bad_types[k], N, r.x, 2, WEFT_U32, good, y));
        REFUSED(call, "type", reduce(ctx, r.x, 2, bad_types[k], good, y));
    }
    rig_close(&r);
}

static void columns_arguments(weft_context *ctx) {
    static const char call[] = "weft_reduce_segments_columns";
    rig r = rig_open(ctx);
    const uint32_t good[3] = {0, 3, N}, falls[4] = {0, 5, 4, N};
    int64_t *const y = (int64_t *)(void *)r.y;
    weft_column column[2] = {{WEFT_SUM, WEFT_I32, r.x, y}, {WEFT_MAX, WEFT_I32, r.x, y + N}};
#define COLUMNS(segments, offsets, columns, at)                                                    \
    weft_reduce_segments_columns(ctx, N, segments, WEFT_U32, offsets, columns, at)
    REFUSED(call, "column", COLUMNS(2, good, 1, NULL));
    REFUSED(call, "columns", COLUMNS(2, good, WEFT_COLUMNS + 1, column));
    REFUSED(call, "offsets", COLUMNS(2, NULL, 2, column));
    REFUSED(call, "fall", COLUMNS(3, falls, 2, column));
    REFUSED(call, "fall", COLUMNS(3, falls, 0, NULL));
    REFUSED(call, "segments", COLUMNS(0, good, 2, column));
    column[1].y = y;
    REFUSED(call, "overlap", COLUMNS(2, good, 2, column));
    column[1].y = NULL;
    REFUSED(call, "column[1].y", COLUMNS(2, good, 2, column));
    column[1].type = bad_types[0];
    REFUSED(call, "type", COLUMNS(2, good, 2, column));
    column[0].op = WEFT_AND;
    test_refused(ctx, COLUMNS(2, good, 2, column), WEFT_EUNSUPPORTED, call, "op");
    assert_int_equal(COLUMNS(2, good, 0, NULL), WEFT_OK);
#undef COLUMNS
    rig_close(&r);
}

static void by_key_arguments(weft_context *ctx) {
    static const char call[] = "weft_reduce_by_key";
    rig r = rig_open(ctx);
    int64_t *const y = (int64_t *)(void *)r.y;
    uint64_t *const count = (uint64_t *)(void *)r.z;
    weft_column column[2] = {{WEFT_SUM, WEFT_I32, r.x, y}, {WEFT_SUM, WEFT_I32, r.x, y + N}};
    REFUSED(call, "keys", weft_reduce_by_key(ctx, N, 4, NULL, NULL, 1, column, count));
    REFUSED(call, "width", weft_reduce_by_key(ctx, N, 0, r.x, NULL, 1, column, count));
    REFUSED(call, "count", weft_reduce_by_key(ctx, N, 4, r.x, NULL, 1, column, NULL));
    REFUSED(call, "column", weft_reduce_by_key(ctx, N, 4, r.x, NULL, 1, NULL, count));
    REFUSED(call, "columns",
            weft_reduce_by_key(ctx, N, 4, r.x, NULL, WEFT_COLUMNS + 1, column, count));
    REFUSED(call, "overlap", weft_reduce_by_key(ctx, N, 4, r.x, r.x + 1, 1, column, count));
    REFUSED(call, "overlap", weft_reduce_by_key(ctx, N, 4, r.x, y, 1, column, count));
    column[1].y = y;
    REFUSED(call, "overlap", weft_reduce_by_key(ctx, N, 4, r.x, NULL, 2, column, count));
    column[1].x = NULL;
    column[1].y = y + N;
    REFUSED(call, "column[1].x", weft_reduce_by_key(ctx, N, 4, r.x, NULL, 2, column, count));
    column[1].type = bad_types[0];
    REFUSED(call, "type", weft_reduce_by_key(ctx, N, 4, r.x, NULL, 2, column, count));
    column[0].op = WEFT_AND;
    test_refused(ctx, weft_reduce_by_key(ctx, N, 4, r.x, NULL, 1, column, count), WEFT_EUNSUPPORTED,
                 call, "op");
    rig_close(&r);
}

static void scan_arguments(weft_context *ctx) {
    static const char call[] = "weft_scan_segments", other[] = "weft_scan_by_key";
    rig r = rig_open(ctx);
    const uint32_t good[3] = {0, 3, N}, falls[4] = {0, 5, 4, N};
    const weft_scan_kind kind = WEFT_EXCLUSIVE, no_kind = (weft_scan_kind)7;
    const weft_op sum = WEFT_SUM;
    const weft_type i32 = WEFT_I32;
    REFUSED(call, "x", weft_scan_segments(ctx, kind, sum, i32, N, NULL, r.y, 2, WEFT_U32, good));
    REFUSED(call, "y", weft_scan_segments(ctx, kind, sum, i32, N, r.x, NULL, 2, WEFT_U32, good));
    REFUSED(call, "overlap",
            weft_scan_segments(ctx, kind, sum, i32, N, r.x, r.x + 1, 2, WEFT_U32, good));
    REFUSED(call, "fall", weft_scan_segments(ctx, kind, sum, i32, N, r.x, r.y, 3, WEFT_U32, falls));
    REFUSED(call, "kind",
            weft_scan_segments(ctx, no_kind, sum, i32, N, r.x, r.y, 2, WEFT_U32, good));
    REFUSED(other, "keys", weft_scan_by_key(ctx, kind, sum, i32, N, 4, NULL, r.x, r.y));
    REFUSED(other, "width", weft_scan_by_key(ctx, kind, sum, i32, N, 0, r.z, r.x, r.y));
    REFUSED(other, "x", weft_scan_by_key(ctx, kind, sum, i32, N, 4, r.z, NULL, r.y));
    REFUSED(other, "overlap", weft_scan_by_key(ctx, kind, sum, i32, N, 4, r.y, r.x, r.y));
    REFUSED(other, "op",
            weft_scan_by_key(ctx, kind, (weft_op)WEFT_OP_COUNT, i32, N, 4, r.z, r.x, r.y));
    test_refused(ctx, weft_scan_by_key(ctx, kind, WEFT_ARGMIN, i32, N, 4, r.z, r.x, r.y),
                 WEFT_EUNSUPPORTED, other, "op");
    test_refused(ctx, weft_scan_by_key(ctx, kind, WEFT_AND, WEFT_F32, N, 4, r.z, r.x, r.y),
                 WEFT_EUNSUPPORTED, other, "integers");
    rig_close(&r);
}

/* ---- allocations ---- */

static weft_status run_segments(weft_context *ctx, test_arrays *a) {
    const uint64_t offsets[3] = {0, 1, a->n};
    return weft_reduce_segments(ctx, WEFT_SUM, WEFT_F32, a->n, a->x, 2, WEFT_U64, offsets, a->z);
}

static weft_status run_columns(weft_context *ctx, test_arrays *a) {
    const uint64_t offsets[3] = {0, 1, a->n};
    const weft_column column[] = {{WEFT_SUM, WEFT_F32, a->x, a->z},
                                  {WEFT_MAX, WEFT_F32, a->y, (float *)a->z + 2}};
    return weft_reduce_segments_columns(ctx, a->n, 2, WEFT_U64, offsets, 2, column);
}

static weft_status run_by_key(weft_context *ctx, test_arrays *a) {
    const weft_column column = {WEFT_MAX, WEFT_F32, a->y, a->z};
    return weft_reduce_by_key(ctx, a->n, 4, a->x, NULL, 1, &column, a->result);
}

static weft_status run_by_wide_key(weft_context *ctx, test_arrays *a) {
    const weft_column column = {WEFT_MAX, WEFT_F32, a->y, a->z};
    return weft_reduce_by_key(ctx, a->n / 3, 12, a->x, NULL, 1, &column, a->result);
}

static weft_status run_scan_segments(weft_context *ctx, test_arrays *a) {
    const uint64_t offsets[3] = {0, 1, a->n};
    return weft_scan_segments(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, a->n, a->x, a->z, 2,
                              WEFT_U64, offsets);
}

static weft_status run_scan_by_key(weft_context *ctx, test_arrays *a) {
    return weft_scan_by_key(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, a->n, 4, a->y, a->x, a->z);
}

static const test_refusal refusals[] = {
    {"group: segments", segments_arguments},
    {"group: columns", columns_arguments},
    {"group: keys", by_key_arguments},
    {"group: scans", scan_arguments},
};

static const test_call calls[] = {
    {"weft_reduce_segments", run_segments, &wi_group_ladder, NULL},
    {"weft_reduce_segments_columns", run_columns, &wi_group_ladder, NULL},
    {"weft_reduce_by_key", run_by_key, &wi_group_ladder, NULL},
    {"weft_reduce_by_key of records", run_by_wide_key, &wi_group_ladder, NULL},
    {"weft_scan_segments", run_scan_segments, &wi_group_scan_ladder, NULL},
    {"weft_scan_by_key", run_scan_by_key, &wi_group_scan_ladder, NULL},
};

const test_cases wi_group_cases = {.without_context = without_context,
                                   .refusals = refusals,
                                   .refusal_count = sizeof refusals / sizeof *refusals,
                                   .calls = calls,
                                   .call_count = sizeof calls / sizeof *calls};
