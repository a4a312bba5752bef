/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of cholesky for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "cholesky/cholesky.h"

enum {
    ORDER = 100,
    COLUMNS = 20
};

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_cholesky_factor(NULL, 0, WEFT_F32, 1, &x, 1), WEFT_EARG);
    assert_int_equal(weft_cholesky_solve(NULL, 0, WEFT_F32, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_true(x == 1 && y == 2);
}

/* ---- arguments ---- */

static void wrong_factor(weft_context *ctx) {
    rig r = rig_open(ctx);
    const char *const name = "weft_cholesky_factor";
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(name, "type", weft_cholesky_factor(ctx, 0, bad_types[k], 2, r.x, 2));
    test_refused(ctx, weft_cholesky_factor(ctx, 0, WEFT_F16, 2, r.x, 2), WEFT_EUNSUPPORTED, name,
                 "type");
    REFUSED(name, "how", weft_cholesky_factor(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 2, r.x, 2));
    REFUSED(name, "a", weft_cholesky_factor(ctx, 0, WEFT_F32, 2, NULL, 2));
    REFUSED(name, "lda", weft_cholesky_factor(ctx, 0, WEFT_F32, 3, r.x, 2));
    REFUSED(name, "a", weft_cholesky_factor(ctx, 0, WEFT_F32, 2, (char *)r.x + 1, 2));
    REFUSED(name, "lda", weft_cholesky_factor(ctx, 0, WEFT_F32, SIZE_MAX / 2, r.x, SIZE_MAX / 2));
    rig_close(&r);
}

static void wrong_solve(weft_context *ctx) {
    rig r = rig_open(ctx);
    const char *const name = "weft_cholesky_solve";
    test_refused(ctx, weft_cholesky_solve(ctx, 0, WEFT_I32, 2, 1, r.x, 2, r.y, 2),
                 WEFT_EUNSUPPORTED, name, "type");
    REFUSED(name, "how",
            weft_cholesky_solve(ctx, WEFT_UNIT_DIAGONAL, WEFT_F32, 2, 1, r.x, 2, r.y, 2));
    REFUSED(name, "l", weft_cholesky_solve(ctx, 0, WEFT_F32, 2, 1, NULL, 2, r.y, 2));
    REFUSED(name, "b", weft_cholesky_solve(ctx, 0, WEFT_F32, 2, 1, r.x, 2, NULL, 2));
    REFUSED(name, "lda", weft_cholesky_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 2, r.y, 3));
    REFUSED(name, "ldb", weft_cholesky_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 3, r.y, 2));
    REFUSED(name, "ldb", weft_cholesky_solve(ctx, WEFT_ROW_MAJOR, WEFT_F32, 3, 2, r.x, 3, r.y, 1));
    REFUSED(name, "b", weft_cholesky_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 3, r.x + 1, 3));
    rig_close(&r);
}

/* With nothing to do no array is needed, and none is written. */
static void empty(weft_context *ctx) {
    rig r = rig_open(ctx);
    assert_int_equal(weft_cholesky_factor(ctx, 0, WEFT_F64, 0, NULL, 0), WEFT_OK);
    assert_int_equal(weft_cholesky_solve(ctx, 0, WEFT_F64, 0, 3, NULL, 0, NULL, 0), WEFT_OK);
    assert_int_equal(weft_cholesky_solve(ctx, 0, WEFT_F32, 2, 0, r.x, 2, NULL, 2), WEFT_OK);
    rig_close(&r);
}

static const test_refusal refusals[] = {
    {"weft_cholesky_factor", wrong_factor},
    {"weft_cholesky_solve", wrong_solve},
    {"calls of cholesky without elements", empty},
};

/* ---- allocations ---- */

/* All elements of z are equal: the matrix is not positive definite, which is found in the end. */
static weft_status run_factor(weft_context *ctx, test_arrays *a) {
    const weft_status status = weft_cholesky_factor(ctx, 0, WEFT_F32, ORDER, a->z, ORDER);
    return status == WEFT_ENOTSPD ? WEFT_OK : status;
}

static weft_status run_solve(weft_context *ctx, test_arrays *a) {
    return weft_cholesky_solve(ctx, 0, WEFT_F32, ORDER, COLUMNS, a->x, ORDER, a->z, ORDER);
}

static const test_call calls[] = {
    {"weft_cholesky_factor", run_factor, &wi_cholesky_ladder, NULL},
    {"weft_cholesky_solve", run_solve, NULL, NULL},
};

const test_cases wi_cholesky_cases = {.without_context = without_context,
                                      .refusals = refusals,
                                      .refusal_count = sizeof refusals / sizeof *refusals,
                                      .calls = calls,
                                      .call_count = sizeof calls / sizeof *calls};
