/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of gather for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "gather/gather.h"
#include "weft/expr.h"

static void without_context(void) {
    float x = 1, y = 2;
    uint64_t bad = 3;
    const uint32_t index = 0;
    const weft_gathered array = {4, &x, &y};
    assert_int_equal(weft_gather(NULL, 1, 4, WEFT_U32, &index, 1, &x, &y, &bad), WEFT_EARG);
    assert_int_equal(weft_gather_arrays(NULL, 1, WEFT_U32, &index, 1, 1, &array, &bad), WEFT_EARG);
    assert_int_equal(weft_scatter(NULL, 1, 4, &x, WEFT_U32, &index, WEFT_REPEATS_ANY, 1, &y, &bad),
                     WEFT_EARG);
    const weft_table_column column = {0, 4, &y};
    assert_int_equal(weft_take_columns(NULL, 1, 4, &x, 1, &column), WEFT_EARG);
    assert_int_equal(weft_put_columns(NULL, 1, 4, &x, 1, &column), WEFT_EARG);
    assert_null(weft_strided(NULL, &x, 4));
    assert_true(x == 1 && y == 2 && bad == 3);
}

enum {
    N = 8
};

static void gather_arguments(weft_context *ctx) {
    static const char call[] = "weft_gather", arrays[] = "weft_gather_arrays";
    rig r = rig_open(ctx);
    const uint32_t index[N] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t negative[N] = {0, 1, -2, 3, 4, 99, 6, 7};
    weft_gathered array[2] = {{4, r.x, r.y}, {4, r.x, r.z}};
    REFUSED(call, "index", weft_gather(ctx, N, 4, WEFT_U32, NULL, N, r.x, r.y, NULL));
    REFUSED(call, "x", weft_gather(ctx, N, 4, WEFT_U32, index, N, NULL, r.y, NULL));
    REFUSED(call, "y", weft_gather(ctx, N, 4, WEFT_U32, index, N, r.x, NULL, NULL));
    REFUSED(call, "width", weft_gather(ctx, N, 0, WEFT_U32, index, N, r.x, r.y, NULL));
    REFUSED(call, "index_type", weft_gather(ctx, N, 4, WEFT_U8, index, N, r.x, r.y, NULL));
    REFUSED(call, "type", weft_gather(ctx, N, 4, bad_types[0], index, N, r.x, r.y, NULL));
    REFUSED(call, "overlap", weft_gather(ctx, N, 4, WEFT_U32, index, N, r.x, r.x, NULL));
    REFUSED(call, "index[2]", weft_gather(ctx, N, 4, WEFT_I32, negative, N, r.x, r.y, NULL));
    REFUSED(call, "index[6]", weft_gather(ctx, N, 4, WEFT_U32, index, 6, r.x, r.y, NULL));
    REFUSED(call, "index[0]", weft_gather(ctx, N, 4, WEFT_U32, index, 0, NULL, r.y, NULL));
    REFUSED(arrays, "array", weft_gather_arrays(ctx, N, WEFT_U32, index, N, 1, NULL, NULL));
    REFUSED(arrays, "arrays",
            weft_gather_arrays(ctx, N, WEFT_U32, index, N, WEFT_GATHERED_MOST + 1, array, NULL));
    REFUSED(arrays, "index[7]", weft_gather_arrays(ctx, N, WEFT_U32, index, 7, 2, array, NULL));
    array[1].y = r.y;
    REFUSED(arrays, "overlap", weft_gather_arrays(ctx, N, WEFT_U32, index, N, 2, array, NULL));
    array[1].y = NULL;
    REFUSED(arrays, "array[1].y", weft_gather_arrays(ctx, N, WEFT_U32, index, N, 2, array, NULL));
    array[1].width = 0;
    REFUSED(arrays, "width", weft_gather_arrays(ctx, N, WEFT_U32, index, N, 2, array, NULL));
    rig_close(&r);
}

static void column_arguments(weft_context *ctx) {
    static const char take[] = "weft_take_columns", put[] = "weft_put_columns";
    rig r = rig_open(ctx);
    weft_table_column column[WEFT_TABLE_COLUMNS + 1] = {{0, 4, r.y}, {4, 4, r.z}};
    REFUSED(take, "record_bytes", weft_take_columns(ctx, N, 0, r.x, 2, column));
    REFUSED(take, "records", weft_take_columns(ctx, N, 8, NULL, 2, column));
    REFUSED(take, "column", weft_take_columns(ctx, N, 8, r.x, 2, NULL));
    REFUSED(take, "columns", weft_take_columns(ctx, N, 8, r.x, WEFT_TABLE_COLUMNS + 1, column));
    REFUSED(take, "column[1]", weft_take_columns(ctx, N, 7, r.x, 2, column));
    REFUSED(put, "column[1]", weft_put_columns(ctx, N, 7, r.x, 2, column));
    column[1].array = r.y;
    REFUSED(take, "overlap", weft_take_columns(ctx, N, 8, r.x, 2, column));
    column[1].array = r.x;
    REFUSED(put, "overlap", weft_put_columns(ctx, N, 8, r.x, 2, column));
    column[1].array = NULL;
    REFUSED(put, "column[1].array", weft_put_columns(ctx, N, 8, r.x, 2, column));
    column[1].width = 0;
    REFUSED(put, "column[1]", weft_put_columns(ctx, N, 8, r.x, 2, column));
    rig_close(&r);
}

static void scatter_arguments(weft_context *ctx) {
    static const char call[] = "weft_scatter";
    rig r = rig_open(ctx);
    const uint32_t index[N] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t negative[N] = {0, 1, 2, 3, -4, 99, 6, 7};
    const weft_repeats any = WEFT_REPEATS_ANY;
    REFUSED(call, "index", weft_scatter(ctx, N, 4, r.x, WEFT_U32, NULL, any, N, r.y, NULL));
    REFUSED(call, "x", weft_scatter(ctx, N, 4, NULL, WEFT_U32, index, any, N, r.y, NULL));
    REFUSED(call, "y", weft_scatter(ctx, N, 4, r.x, WEFT_U32, index, any, N, NULL, NULL));
    REFUSED(call, "width", weft_scatter(ctx, N, 0, r.x, WEFT_U32, index, any, N, r.y, NULL));
    REFUSED(call, "index_type", weft_scatter(ctx, N, 4, r.x, WEFT_F32, index, any, N, r.y, NULL));
    REFUSED(call, "repeats",
            weft_scatter(ctx, N, 4, r.x, WEFT_U32, index, (weft_repeats)5, N, r.y, NULL));
    REFUSED(call, "overlap", weft_scatter(ctx, N, 4, r.x, WEFT_U32, index, any, N, r.x, NULL));
    REFUSED(call, "index[4]", weft_scatter(ctx, N, 4, r.x, WEFT_I64, negative, any, N, r.y, NULL));
    rig_close(&r);
}

/* ---- allocations: the elements, all 1, are indices in other words ---- */

static weft_status run_gather(weft_context *ctx, test_arrays *a) {
    const uint32_t index[3] = {2, 0, 1};
    return weft_gather(ctx, 3, 4, WEFT_U32, index, a->n, a->x, a->z, NULL);
}

static weft_status run_take_columns(weft_context *ctx, test_arrays *a) {
    const weft_table_column column = {4, 4, a->z};
    return weft_take_columns(ctx, a->n / 2, 8, a->x, 1, &column);
}

static weft_status run_put_columns(weft_context *ctx, test_arrays *a) {
    const weft_table_column column = {4, 4, a->x};
    return weft_put_columns(ctx, a->n / 2, 8, a->z, 1, &column);
}

static weft_status run_strided(weft_context *ctx, test_arrays *a) {
    const void *const column = weft_strided(ctx, (const char *)a->x + 4, 8);
    return weft_binary(ctx, WEFT_X_MAX, WEFT_U32, a->n / 2, column, column, a->z);
}

static weft_status run_scatter(weft_context *ctx, test_arrays *a) {
    const uint32_t index[3] = {2, 0, 2};
    return weft_scatter(ctx, 3, 4, a->x, WEFT_U32, index, WEFT_REPEATS_LAST, a->n, a->z, NULL);
}

static const test_refusal refusals[] = {
    {"gather: arguments", gather_arguments},
    {"scatter: arguments", scatter_arguments},
    {"columns: arguments", column_arguments},
};

static const test_call calls[] = {
    {"weft_gather", run_gather, &wi_gather_ladder, NULL},
    {"weft_scatter", run_scatter, &wi_scatter_ladder, NULL},
    {"weft_take_columns", run_take_columns, NULL, NULL},
    {"weft_put_columns", run_put_columns, NULL, NULL},
    {"weft_binary", run_strided, NULL, NULL},
};

const test_cases wi_gather_cases = {.without_context = without_context,
                                    .refusals = refusals,
                                    .refusal_count = sizeof refusals / sizeof *refusals,
                                    .calls = calls,
                                    .call_count = sizeof calls / sizeof *calls};
