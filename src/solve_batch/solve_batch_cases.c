/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of solve_batch for the tests of all calls: with no context, with wrong arguments, and
 * with each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "solve_batch/solve_batch.h"

enum {
    ORDER = 5,
    SYSTEMS = 40,
    APART = ORDER * ORDER
};

static void without_context(void) {
    float a = 1, b = 2;
    int32_t p = 0, info = 7;
    assert_int_equal(weft_lu_factor_batch_strided(NULL, 0, WEFT_F32, 1, &a, 1, 1, &p, &info, 1),
                     WEFT_EARG);
    assert_int_equal(
        weft_lu_solve_batch_strided(NULL, 0, WEFT_F32, 1, 1, &a, 1, 1, &p, &b, 1, 1, 1), WEFT_EARG);
    assert_int_equal(
        weft_solve_batch_strided(NULL, 0, WEFT_F32, 1, 1, &a, 1, 1, &b, 1, 1, &info, 1), WEFT_EARG);
    assert_int_equal(weft_cholesky_factor_batch_strided(NULL, 0, WEFT_F32, 1, &a, 1, 1, &info, 1),
                     WEFT_EARG);
    assert_int_equal(
        weft_cholesky_solve_batch_strided(NULL, 0, WEFT_F32, 1, 1, &a, 1, 1, &b, 1, 1, 1),
        WEFT_EARG);
    assert_int_equal(
        weft_solve_spd_batch_strided(NULL, 0, WEFT_F32, 1, 1, &a, 1, 1, &b, 1, 1, &info, 1),
        WEFT_EARG);
    assert_true(a == 1 && b == 2 && info == 7);
}

/* ---- arguments ---- */

static void wrong_factor(weft_context *ctx) {
    rig r = rig_open(ctx);
    const char *const name = "weft_lu_factor_batch_strided";
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(name, "type",
                weft_lu_factor_batch_strided(ctx, 0, bad_types[k], 2, r.x, 2, 4, r.y, r.z, 2));
    test_refused(ctx, weft_lu_factor_batch_strided(ctx, 0, WEFT_F16, 2, r.x, 2, 4, r.y, r.z, 2),
                 WEFT_EUNSUPPORTED, name, "type");
    test_refused(ctx,
                 weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 65, r.x, 65, 9000, r.y, r.z, 1),
                 WEFT_EUNSUPPORTED, name, "n is 65");
    REFUSED(
        name, "how",
        weft_lu_factor_batch_strided(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 2, r.x, 2, 4, r.y, r.z, 2));
    REFUSED(name, "a", weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, NULL, 2, 4, r.y, r.z, 2));
    REFUSED(name, "a",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, (char *)r.x + 1, 2, 4, r.y, r.z, 2));
    REFUSED(name, "lda", weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 3, r.x, 2, 9, r.y, r.z, 2));
    REFUSED(name, "stride_a",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 3, r.x, 3, 8, r.y, r.z, 2));
    REFUSED(name, "stride_a",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, r.x, 2, SIZE_MAX / 2, r.y, r.z, 9));
    REFUSED(name, "pivot",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, r.x, 2, 4, NULL, r.z, 2));
    REFUSED(name, "info",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, r.x, 2, 4, r.y, NULL, 2));
    REFUSED(name, "overlap",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 2, r.x, 2, 4, r.y, r.x + 1, 2));
    REFUSED(name, "count",
            weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, 8, r.x, 8, 64, r.y, r.z, SIZE_MAX / 4));
    rig_close(&r);
}

static void wrong_solve(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const int32_t pivot[] = {0, 1, 0, 1}, wrong[] = {0, 1, 1, 2};
    const char *const name = "weft_lu_solve_batch_strided";
    REFUSED(name, "how",
            weft_lu_solve_batch_strided(ctx, WEFT_UPPER_TRIANGLE, WEFT_F32, 2, 1, r.x, 2, 4, pivot,
                                        r.y, 2, 2, 2));
    REFUSED(name, "lu",
            weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, NULL, 2, 4, pivot, r.y, 2, 2, 2));
    REFUSED(name, "pivot[3]",
            weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, wrong, r.y, 2, 2, 2));
    REFUSED(name, "b",
            weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, pivot, NULL, 2, 2, 2));
    REFUSED(name, "ldb",
            weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, pivot, r.y, 1, 2, 2));
    REFUSED(name, "ldb",
            weft_lu_solve_batch_strided(ctx, WEFT_ROW_MAJOR, WEFT_F32, 2, 3, r.x, 2, 4, pivot, r.y,
                                        2, 6, 2));
    REFUSED(name, "stride_b",
            weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 2, r.x, 2, 4, pivot, r.y, 2, 3, 2));
    REFUSED(
        name, "b",
        weft_lu_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, pivot, r.x + 1, 2, 2, 2));
    rig_close(&r);
}

static void wrong_others(weft_context *ctx) {
    rig r = rig_open(ctx);
    test_refused(ctx,
                 weft_solve_batch_strided(ctx, 0, WEFT_I32, 2, 1, r.x, 2, 4, r.y, 2, 2, r.z, 2),
                 WEFT_EUNSUPPORTED, "weft_solve_batch_strided", "type");
    REFUSED("weft_solve_batch_strided", "info",
            weft_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, r.y, 2, 2, NULL, 2));
    REFUSED("weft_solve_batch_strided", "a",
            weft_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, NULL, 2, 4, r.y, 2, 2, r.z, 2));
    REFUSED(
        "weft_cholesky_factor_batch_strided", "how",
        weft_cholesky_factor_batch_strided(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 2, r.x, 2, 4, r.z, 2));
    REFUSED("weft_cholesky_factor_batch_strided", "a",
            weft_cholesky_factor_batch_strided(ctx, 0, WEFT_F32, 2, NULL, 2, 4, r.z, 2));
    REFUSED("weft_cholesky_solve_batch_strided", "l",
            weft_cholesky_solve_batch_strided(ctx, 0, WEFT_F32, 2, 1, NULL, 2, 4, r.y, 2, 2, 2));
    REFUSED("weft_solve_spd_batch_strided", "b",
            weft_solve_spd_batch_strided(ctx, 0, WEFT_F32, 2, 1, r.x, 2, 4, NULL, 2, 2, r.z, 2));
    rig_close(&r);
}

/* With nothing to do no array is needed, and none is written. */
static void empty(weft_context *ctx) {
    rig r = rig_open(ctx);
    assert_int_equal(weft_lu_factor_batch_strided(ctx, 0, WEFT_F64, 0, NULL, 0, 0, NULL, NULL, 3),
                     WEFT_OK);
    assert_int_equal(weft_lu_factor_batch_strided(ctx, 0, WEFT_F64, 3, NULL, 3, 0, NULL, NULL, 0),
                     WEFT_OK);
    assert_int_equal(
        weft_lu_solve_batch_strided(ctx, 0, WEFT_F64, 0, 2, NULL, 0, 0, NULL, NULL, 0, 0, 5),
        WEFT_OK);
    assert_int_equal(
        weft_solve_spd_batch_strided(ctx, 0, WEFT_F64, 4, 2, NULL, 4, 16, NULL, 4, 8, NULL, 0),
        WEFT_OK);
    rig_close(&r);
}

/* Without right-hand sides info still says how each system went: the second is singular. */
static void without_sides(weft_context *ctx) {
    const double a[] = {1, 0, 0, 1, /**/ 1, 0, 0, 0};
    int32_t went[2] = {-9, -9}, went_spd[2] = {-9, -9};
    assert_int_equal(weft_solve_batch_strided(ctx, 0, WEFT_F64, 2, 0, a, 2, 4, NULL, 2, 0, went, 2),
                     WEFT_OK);
    assert_int_equal(
        weft_solve_spd_batch_strided(ctx, 0, WEFT_F64, 2, 0, a, 2, 4, NULL, 2, 0, went_spd, 2),
        WEFT_OK);
    assert_true(went[0] == 0 && went[1] == 2 && went_spd[0] == 0 && went_spd[1] == 2);
}

static const test_refusal refusals[] = {
    {"weft_lu_factor_batch_strided", wrong_factor},
    {"weft_lu_solve_batch_strided", wrong_solve},
    {"other calls of solve_batch", wrong_others},
    {"calls of solve_batch without systems", empty},
    {"calls of solve_batch without right-hand sides", without_sides},
};

/* ---- allocations ---- */

static int32_t info[SYSTEMS], pivot[SYSTEMS * ORDER];

static weft_status run_factor(weft_context *ctx, test_arrays *a) {
    return weft_lu_factor_batch_strided(ctx, 0, WEFT_F32, ORDER, a->z, ORDER, APART, pivot, info,
                                        SYSTEMS);
}

static weft_status run_solve(weft_context *ctx, test_arrays *a) {
    for (int32_t k = 0; k < SYSTEMS * ORDER; k++)
        pivot[k] = k % ORDER;
    return weft_lu_solve_batch_strided(ctx, WEFT_ROW_MAJOR, WEFT_F32, ORDER, 2, a->x, ORDER, APART,
                                       pivot, a->z, 2, 2 * ORDER, SYSTEMS);
}

static weft_status run_both(weft_context *ctx, test_arrays *a) {
    return weft_solve_batch_strided(ctx, 0, WEFT_F32, ORDER, 1, a->x, ORDER, APART, a->z, ORDER,
                                    ORDER, info, SYSTEMS);
}

static weft_status run_spd_factor(weft_context *ctx, test_arrays *a) {
    return weft_cholesky_factor_batch_strided(ctx, 0, WEFT_F32, ORDER, a->z, ORDER, APART, info,
                                              SYSTEMS);
}

static weft_status run_spd_solve(weft_context *ctx, test_arrays *a) {
    return weft_cholesky_solve_batch_strided(ctx, 0, WEFT_F32, ORDER, 1, a->x, ORDER, APART, a->z,
                                             ORDER, ORDER, SYSTEMS);
}

static weft_status run_spd_both(weft_context *ctx, test_arrays *a) {
    return weft_solve_spd_batch_strided(ctx, 0, WEFT_F32, ORDER, 1, a->x, ORDER, APART, a->z, ORDER,
                                        ORDER, info, SYSTEMS);
}

static const test_call calls[] = {
    {"weft_lu_factor_batch_strided", run_factor, &wi_solve_batch_ladder, NULL},
    {"weft_lu_solve_batch_strided", run_solve, &wi_solve_batch_ladder, NULL},
    {"weft_solve_batch_strided", run_both, &wi_solve_batch_ladder, NULL},
    {"weft_cholesky_factor_batch_strided", run_spd_factor, &wi_solve_batch_ladder, NULL},
    {"weft_cholesky_solve_batch_strided", run_spd_solve, &wi_solve_batch_ladder, NULL},
    {"weft_solve_spd_batch_strided", run_spd_both, &wi_solve_batch_ladder, NULL},
};

const test_cases wi_solve_batch_cases = {.without_context = without_context,
                                         .refusals = refusals,
                                         .refusal_count = sizeof refusals / sizeof *refusals,
                                         .calls = calls,
                                         .call_count = sizeof calls / sizeof *calls};
