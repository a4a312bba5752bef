/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of map for the tests of all calls: with no context, with wrong arguments, and with each
 * of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "map/map.h"

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_add(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_axpy(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_fill(NULL, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_iota(NULL, WEFT_F32, 1, &x, &x, &y), WEFT_EARG);
    assert_int_equal(weft_add_matrix(NULL, WEFT_F32, 1, 1, &x, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_axpy_matrix(NULL, WEFT_F32, 1, 1, &x, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_fill_matrix(NULL, WEFT_F32, 1, 1, &x, &y, 1), WEFT_EARG);
    assert_int_equal(weft_iota_matrix(NULL, WEFT_F32, 1, 1, &x, &x, &y, 1), WEFT_EARG);
    assert_true(y == 2);
}

static void null_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I32, 4, NULL, r.y, r.z));
    REFUSED("weft_add", "y", weft_add(ctx, WEFT_I32, 4, r.x, NULL, r.z));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, 4, r.x, r.y, NULL));
    REFUSED("weft_axpy", "alpha", weft_axpy(ctx, WEFT_I32, 4, NULL, r.x, r.y));
    REFUSED("weft_axpy", "x", weft_axpy(ctx, WEFT_I32, 4, &r.one, NULL, r.y));
    REFUSED("weft_axpy", "y", weft_axpy(ctx, WEFT_I32, 4, &r.one, r.x, NULL));
    REFUSED("weft_fill", "value", weft_fill(ctx, WEFT_I32, 4, NULL, r.x));
    REFUSED("weft_fill", "x", weft_fill(ctx, WEFT_I32, 4, &r.one, NULL));
    REFUSED("weft_iota", "start", weft_iota(ctx, WEFT_I32, 4, NULL, &r.one, r.x));
    REFUSED("weft_iota", "step", weft_iota(ctx, WEFT_I32, 4, &r.one, NULL, r.x));
    REFUSED("weft_iota", "x", weft_iota(ctx, WEFT_I32, 4, &r.one, &r.one, NULL));
    REFUSED("weft_add_matrix", "z", weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 2, r.y, 2, NULL, 2));
    REFUSED("weft_axpy_matrix", "x",
            weft_axpy_matrix(ctx, WEFT_I32, 2, 2, &r.one, NULL, 2, r.y, 2));
    REFUSED("weft_fill_matrix", "x", weft_fill_matrix(ctx, WEFT_I32, 2, 2, &r.one, NULL, 2));
    REFUSED("weft_iota_matrix", "x",
            weft_iota_matrix(ctx, WEFT_I32, 2, 2, &r.one, &r.one, NULL, 2));
    rig_close(&r);
}

/* Half an element off: no C array has such an address, and a GPU would fault. */
static void misaligned(weft_context *ctx) {
    rig r = rig_open(ctx);
    void *const off = (char *)r.x + 2;
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I32, 4, off, r.y, r.z));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, 4, r.y, r.z, off));
    REFUSED("weft_axpy", "y", weft_axpy(ctx, WEFT_I32, 4, &r.one, r.y, off));
    REFUSED("weft_fill_matrix", "x", weft_fill_matrix(ctx, WEFT_I32, 2, 2, &r.one, off, 2));
    rig_close(&r);
}

static void unknown_types(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++) {
        const weft_type t = bad_types[k];
        REFUSED("weft_add", "type", weft_add(ctx, t, 4, r.x, r.y, r.z));
        REFUSED("weft_axpy", "type", weft_axpy(ctx, t, 4, &r.one, r.x, r.y));
        REFUSED("weft_fill", "type", weft_fill(ctx, t, 4, &r.one, r.x));
        REFUSED("weft_iota", "type", weft_iota(ctx, t, 4, &r.one, &r.one, r.x));
        REFUSED("weft_add_matrix", "type", weft_add_matrix(ctx, t, 2, 2, r.x, 2, r.y, 2, r.z, 2));
    }
    rig_close(&r);
}

static void overlaps(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = 8;
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, n, r.x, r.y, r.x + 1));
    REFUSED("weft_add", "z", weft_add(ctx, WEFT_I32, n, r.x + 1, r.y, r.x));
    REFUSED("weft_add", "y", weft_add(ctx, WEFT_I32, n, r.x, r.y, r.y + n - 1));
    REFUSED("weft_add", "x", weft_add(ctx, WEFT_I8, n, r.x, r.y, (char *)r.x + 1));
    REFUSED("weft_axpy", "x", weft_axpy(ctx, WEFT_I32, n, &r.one, r.y + 3, r.y));
    REFUSED("weft_add_matrix", "z",
            weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 4, r.y, 4, r.x + 1, 4));
    REFUSED("weft_add_matrix", "ldz", /* in place needs one layout */
            weft_add_matrix(ctx, WEFT_I32, 2, 2, r.x, 4, r.y, 4, r.x, 3));
    rig_close(&r);
}

static void impossible_sizes(weft_context *ctx) {
    rig r = rig_open(ctx);
    const size_t n = SIZE_MAX / 4, half = SIZE_MAX / 2;
    REFUSED("weft_add", NULL, weft_add(ctx, WEFT_I32, n, r.x, r.y, r.z));
    REFUSED("weft_add", NULL, weft_add(ctx, WEFT_I32, SIZE_MAX, r.x, r.y, r.z));
    REFUSED("weft_axpy", NULL, weft_axpy(ctx, WEFT_I32, n, &r.one, r.x, r.y));
    REFUSED("weft_fill", NULL, weft_fill(ctx, WEFT_I32, n, &r.one, r.x));
    REFUSED("weft_iota", NULL, weft_iota(ctx, WEFT_I32, n, &r.one, &r.one, r.x));
    REFUSED("weft_fill_matrix", NULL,
            weft_fill_matrix(ctx, WEFT_I32, half, half, &r.one, r.x, half));
    REFUSED("weft_fill_matrix", NULL, weft_fill_matrix(ctx, WEFT_I32, half, 2, &r.one, r.x, 4));
    REFUSED("weft_fill_matrix", "ldx", weft_fill_matrix(ctx, WEFT_I32, 2, 4, &r.one, r.x, 3));
    REFUSED("weft_add_matrix", "ldx", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 3, r.y, 4, r.z, 4));
    REFUSED("weft_add_matrix", "ldy", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 4, r.y, 0, r.z, 4));
    REFUSED("weft_add_matrix", "ldz", weft_add_matrix(ctx, WEFT_I32, 2, 4, r.x, 4, r.y, 4, r.z, 1));
    REFUSED("weft_axpy_matrix", "ldy",
            weft_axpy_matrix(ctx, WEFT_I32, 2, 4, &r.one, r.x, 4, r.y, 3));
    REFUSED("weft_iota_matrix", "ldx",
            weft_iota_matrix(ctx, WEFT_I32, 2, 4, &r.one, &r.one, r.x, 2));
    rig_close(&r);
}

static void empty(weft_context *ctx) {
    const float one = 1;
    assert_int_equal(weft_add(ctx, WEFT_F32, 0, NULL, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_axpy(ctx, WEFT_F32, 0, &one, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_fill(ctx, WEFT_F32, 0, &one, NULL), WEFT_OK);
    assert_int_equal(weft_iota(ctx, WEFT_F32, 0, &one, &one, NULL), WEFT_OK);
    assert_int_equal(weft_fill_matrix(ctx, WEFT_F32, 0, 5, &one, NULL, 5), WEFT_OK);
    assert_int_equal(weft_fill_matrix(ctx, WEFT_F32, 5, 0, &one, NULL, 0), WEFT_OK);
}

/* ---- allocations ---- */

static const float two = 2;

static weft_status run_add(weft_context *ctx, test_arrays *a) {
    return weft_add(ctx, WEFT_F32, a->n, a->x, a->y, a->z);
}

static weft_status run_axpy(weft_context *ctx, test_arrays *a) {
    return weft_axpy(ctx, WEFT_F32, a->n, &two, a->x, a->z);
}

static weft_status run_fill(weft_context *ctx, test_arrays *a) {
    return weft_fill(ctx, WEFT_F32, a->n, &two, a->z);
}

static weft_status run_iota(weft_context *ctx, test_arrays *a) {
    return weft_iota(ctx, WEFT_F32, a->n, &two, &two, a->z);
}

static weft_status run_add_matrix(weft_context *ctx, test_arrays *a) {
    return weft_add_matrix(ctx, WEFT_F32, a->n / 1000, 900, a->x, 1000, a->y, 1000, a->z, 1000);
}

static const test_refusal refusals[] = {
    {"map: null arguments", null_arguments},     {"map: misaligned", misaligned},
    {"map: unknown types", unknown_types},       {"map: overlaps", overlaps},
    {"map: impossible sizes", impossible_sizes}, {"map: empty", empty},
};

static const test_call calls[] = {
    {"weft_add", run_add, &wi_map_ladder, NULL},
    {"weft_axpy", run_axpy, &wi_map_ladder, NULL},
    {"weft_fill", run_fill, &wi_map_ladder, NULL},
    {"weft_iota", run_iota, &wi_map_ladder, NULL},
    {"weft_add_matrix", run_add_matrix, &wi_map_ladder, NULL},
};

const test_cases wi_map_cases = {.without_context = without_context,
                                 .refusals = refusals,
                                 .refusal_count = sizeof refusals / sizeof *refusals,
                                 .calls = calls,
                                 .call_count = sizeof calls / sizeof *calls};
