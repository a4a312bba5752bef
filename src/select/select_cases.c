/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of select for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "select/select.h"

static void without_context(void) {
    float x = 1, y = 2;
    uint64_t count = 3;
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_F32};
    assert_int_equal(weft_select(NULL, p, 1, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_select_where(NULL, p, 1, &x, 4, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_select_count(NULL, p, 1, &x, &count), WEFT_EARG);
    assert_int_equal(weft_select_indices(NULL, p, 1, &x, WEFT_U32, &y, &count), WEFT_EARG);
    assert_int_equal(weft_partition(NULL, p, 1, &x, &y, NULL, &count), WEFT_EARG);
    assert_int_equal(weft_partition_where(NULL, p, 1, &x, 4, &x, &y, NULL, &count), WEFT_EARG);
    assert_int_equal(weft_expand(NULL, p, 1, &x, 4, 1, &x, NULL, &y), WEFT_EARG);
    assert_int_equal(weft_unique(NULL, WEFT_F32, 1, &x, &y, &count), WEFT_EARG);
    assert_int_equal(weft_run_length(NULL, WEFT_F32, 1, &x, &y, WEFT_U32, &y, &count), WEFT_EARG);
    assert_true(y == 2 && count == 3);
}

/* select and similar calls: 16 elements in x, y and z; the count is after them in z. */
static void select_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    enum {
        N = 16
    };
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_I32}, bytes = WEFT_FLAGGED;
    weft_predicate bad = p;
    uint64_t *const count = (uint64_t *)(void *)(r.z + 32);
    void *const off = (char *)r.x + 2;
    const size_t too_many = (size_t)PTRDIFF_MAX / 2;
    REFUSED("weft_select", "x", weft_select(ctx, p, N, NULL, r.y, count));
    REFUSED("weft_select", "y", weft_select(ctx, p, N, r.x, NULL, count));
    REFUSED("weft_select", "count", weft_select(ctx, p, N, r.x, r.y, NULL));
    REFUSED("weft_select", "count", weft_select(ctx, p, 0, r.x, r.y, NULL));
    REFUSED("weft_select", "x", weft_select(ctx, p, N, off, r.y, count));
    REFUSED("weft_select", "count", weft_select(ctx, p, N, r.x, r.y, (uint64_t *)(void *)r.x));
    REFUSED("weft_select", "overlap", weft_select(ctx, p, N, r.x, r.x + 1, count));
    REFUSED("weft_select", "x", weft_select(ctx, p, too_many, r.x, r.y, count));
    REFUSED("weft_select_where", "s", weft_select_where(ctx, p, N, NULL, 4, r.x, r.y, count));
    REFUSED("weft_select_where", "width", weft_select_where(ctx, p, N, r.x, 0, r.y, r.z, count));
    REFUSED("weft_select_where", "x", weft_select_where(ctx, p, N, r.x, 4, NULL, r.z, count));
    REFUSED("weft_select_where", "width",
            weft_select_where(ctx, bytes, N, r.x, too_many, r.y, r.z, count));
    REFUSED("weft_select_where", "overlap", weft_select_where(ctx, p, N, r.x, 4, r.y, r.x, count));
    REFUSED("weft_select_count", "x", weft_select_count(ctx, p, N, NULL, count));
    REFUSED("weft_select_count", "count", weft_select_count(ctx, p, N, r.x, NULL));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, p, N, r.x, WEFT_I16, r.y, count));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, bytes, ((size_t)1 << 32) + 1, r.x, WEFT_U32, r.y, count));
    REFUSED("weft_select_indices", "index_type",
            weft_select_indices(ctx, bytes, ((size_t)1 << 31) + 1, r.x, WEFT_I32, r.y, count));
    REFUSED("weft_select_indices", "overlap",
            weft_select_indices(ctx, p, N, r.x, WEFT_U32, r.x, count));
    REFUSED("weft_partition", "overlap", weft_partition(ctx, p, N, r.x, r.x, NULL, count));
    REFUSED("weft_partition", "overlap", weft_partition(ctx, p, N, r.x, r.y, r.y, count));
    REFUSED("weft_partition", "z", weft_partition(ctx, p, N, r.x, r.y, off, count));
    REFUSED("weft_partition_where", "overlap",
            weft_partition_where(ctx, p, N, r.x, 4, r.y, r.z, r.x, count));
    REFUSED("weft_expand", "s", weft_expand(ctx, p, N, NULL, 4, N, r.x, NULL, r.y));
    REFUSED("weft_expand", "x", weft_expand(ctx, p, N, r.x, 4, N, NULL, NULL, r.y));
    REFUSED("weft_expand", "y", weft_expand(ctx, p, N, r.x, 4, N, r.y, NULL, NULL));
    REFUSED("weft_expand", "fill", weft_expand(ctx, p, N, r.x, 4, N, r.y, r.z + 1, r.z));
    REFUSED("weft_expand", "overlap", weft_expand(ctx, p, N, r.x, 4, N, r.y, NULL, r.x));
    REFUSED("weft_unique", "x", weft_unique(ctx, WEFT_I32, N, NULL, r.y, count));
    REFUSED("weft_unique", "overlap", weft_unique(ctx, WEFT_I32, N, r.x, r.x + 1, count));
    REFUSED("weft_run_length", "length_type",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_F32, r.z, count));
    REFUSED("weft_run_length", "length_type",
            weft_run_length(ctx, WEFT_I8, (size_t)1 << 31, r.x, r.y, WEFT_I32, r.z, count));
    REFUSED("weft_run_length", "lengths",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_U32, NULL, count));
    REFUSED("weft_run_length", "overlap",
            weft_run_length(ctx, WEFT_I32, N, r.x, r.y, WEFT_U32, r.x, count));
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        bad.type = bad_types[k];
        REFUSED("weft_select", "type", weft_select(ctx, bad, N, r.x, r.y, count));
        REFUSED("weft_unique", "type", weft_unique(ctx, bad.type, N, r.x, r.y, count));
    }
    bad = p;
    bad.test = (weft_test)WEFT_TEST_COUNT;
    REFUSED("weft_partition", "test", weft_partition(ctx, bad, N, r.x, r.y, r.z, count));
    rig_close(&r);
}

/* ---- allocations ---- */

static const weft_predicate wanted = {.test = WEFT_GE, .type = WEFT_F32, .a.f32 = 1};
static const float two = 2;

static weft_status run_select(weft_context *ctx, test_arrays *a) {
    return weft_select(ctx, wanted, a->n, a->x, a->z, a->result);
}

static weft_status run_select_wide(weft_context *ctx, test_arrays *a) {
    return weft_select_where(ctx, wanted, a->n / 3, a->x, 12, a->y, a->z, a->result);
}

static weft_status run_partition(weft_context *ctx, test_arrays *a) {
    return weft_partition(ctx, wanted, a->n, a->x, a->z, NULL, a->result);
}

static weft_status run_expand(weft_context *ctx, test_arrays *a) {
    return weft_expand(ctx, wanted, a->n, a->x, 4, a->n, a->y, &two, a->z);
}

static weft_status run_run_length(weft_context *ctx, test_arrays *a) {
    return weft_run_length(ctx, WEFT_F32, a->n / 2, a->x, a->z, WEFT_U32, a->z + a->n / 2,
                           a->result);
}

static const test_refusal refusals[] = {
    {"select: arguments", select_arguments},
};

static const test_call calls[] = {
    {"weft_select", run_select, &wi_select_ladder, NULL},
    {"weft_select_where", run_select_wide, &wi_select_ladder, NULL},
    {"weft_partition", run_partition, &wi_select_ladder, NULL},
    {"weft_expand", run_expand, &wi_select_ladder, NULL},
    {"weft_run_length", run_run_length, &wi_select_ladder, NULL},
};

const test_cases wi_select_cases = {.without_context = without_context,
                                    .refusals = refusals,
                                    .refusal_count = sizeof refusals / sizeof *refusals,
                                    .calls = calls,
                                    .call_count = sizeof calls / sizeof *calls};
