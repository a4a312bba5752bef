/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of lu for the tests of all calls: with no context, with wrong arguments, and with each
 * of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "lu/lu.h"

enum {
    ORDER = 100,
    COLUMNS = 20
};

static void without_context(void) {
    float x = 1, y = 2;
    int64_t pivot = 0;
    assert_int_equal(weft_lu_factor(NULL, 0, WEFT_F32, 1, 1, &x, 1, &pivot), WEFT_EARG);
    assert_int_equal(weft_lu_solve(NULL, 0, WEFT_F32, 1, 1, &x, 1, &pivot, &y, 1), WEFT_EARG);
    assert_int_equal(weft_lu_inverse(NULL, 0, WEFT_F32, 1, &x, 1, &pivot), WEFT_EARG);
    assert_true(x == 1 && y == 2);
}

/* ---- arguments ---- */

static void wrong_factor(weft_context *ctx) {
    rig r = rig_open(ctx);
    int64_t *const pivot = (int64_t *)(void *)r.y;
    const char *const name = "weft_lu_factor";
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        REFUSED(name, "type", weft_lu_factor(ctx, 0, bad_types[k], 2, 2, r.x, 2, pivot));
    test_refused(ctx, weft_lu_factor(ctx, 0, WEFT_F16, 2, 2, r.x, 2, pivot), WEFT_EUNSUPPORTED,
                 name, "type");
    REFUSED(name, "how", weft_lu_factor(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 2, 2, r.x, 2, pivot));
    REFUSED(name, "a", weft_lu_factor(ctx, 0, WEFT_F32, 2, 2, NULL, 2, pivot));
    REFUSED(name, "pivot", weft_lu_factor(ctx, 0, WEFT_F32, 2, 2, r.x, 2, NULL));
    REFUSED(name, "lda", weft_lu_factor(ctx, 0, WEFT_F32, 3, 2, r.x, 2, pivot));
    REFUSED(name, "lda", weft_lu_factor(ctx, WEFT_ROW_MAJOR, WEFT_F32, 2, 3, r.x, 2, pivot));
    REFUSED(name, "a", weft_lu_factor(ctx, 0, WEFT_F32, 2, 2, (char *)r.x + 1, 2, pivot));
    REFUSED(name, "pivot", weft_lu_factor(ctx, 0, WEFT_F32, 2, 2, r.x, 2, (int64_t *)(void *)r.x));
    REFUSED(name, "a", weft_lu_factor(ctx, 0, WEFT_F32, SIZE_MAX / 2, 2, r.x, SIZE_MAX / 2, pivot));
    rig_close(&r);
}

static void wrong_solve(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const int64_t pivot[] = {0, 1, 2};
    const char *const name = "weft_lu_solve";
    test_refused(ctx, weft_lu_solve(ctx, 0, WEFT_I32, 2, 1, r.x, 2, pivot, r.y, 2),
                 WEFT_EUNSUPPORTED, name, "type");
    REFUSED(name, "how",
            weft_lu_solve(ctx, WEFT_UPPER_TRIANGLE, WEFT_F32, 2, 1, r.x, 2, pivot, r.y, 2));
    REFUSED(name, "lu", weft_lu_solve(ctx, 0, WEFT_F32, 2, 1, NULL, 2, pivot, r.y, 2));
    REFUSED(name, "pivot", weft_lu_solve(ctx, 0, WEFT_F32, 2, 1, r.x, 2, NULL, r.y, 2));
    REFUSED(name, "b", weft_lu_solve(ctx, 0, WEFT_F32, 2, 1, r.x, 2, pivot, NULL, 2));
    REFUSED(name, "lda", weft_lu_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 2, pivot, r.y, 3));
    REFUSED(name, "ldb", weft_lu_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 3, pivot, r.y, 2));
    REFUSED(name, "ldb", weft_lu_solve(ctx, WEFT_ROW_MAJOR, WEFT_F32, 3, 2, r.x, 3, pivot, r.y, 1));
    REFUSED(name, "b", weft_lu_solve(ctx, 0, WEFT_F32, 3, 1, r.x, 3, pivot, r.x + 1, 3));
    rig_close(&r);
}

static void wrong_inverse(weft_context *ctx) {
    rig r = rig_open(ctx);
    static const int64_t pivot[] = {0, 1, 2};
    const char *const name = "weft_lu_inverse";
    test_refused(ctx, weft_lu_inverse(ctx, 0, WEFT_BF16, 2, r.x, 2, pivot), WEFT_EUNSUPPORTED, name,
                 "type");
    REFUSED(name, "how", weft_lu_inverse(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 2, r.x, 2, pivot));
    REFUSED(name, "lu", weft_lu_inverse(ctx, 0, WEFT_F32, 2, NULL, 2, pivot));
    REFUSED(name, "pivot", weft_lu_inverse(ctx, 0, WEFT_F32, 2, r.x, 2, NULL));
    REFUSED(name, "lda", weft_lu_inverse(ctx, 0, WEFT_F32, 3, r.x, 2, pivot));
    rig_close(&r);
}

/* With nothing to do no array is needed, and none is written. */
static void empty(weft_context *ctx) {
    rig r = rig_open(ctx);
    assert_int_equal(weft_lu_factor(ctx, 0, WEFT_F64, 0, 3, NULL, 0, NULL), WEFT_OK);
    assert_int_equal(weft_lu_factor(ctx, WEFT_ROW_MAJOR, WEFT_F64, 3, 0, NULL, 0, NULL), WEFT_OK);
    assert_int_equal(weft_lu_solve(ctx, 0, WEFT_F64, 0, 3, NULL, 0, NULL, NULL, 0), WEFT_OK);
    assert_int_equal(weft_lu_inverse(ctx, 0, WEFT_F64, 0, NULL, 0, NULL), WEFT_OK);
    rig_close(&r);
}

static const test_refusal refusals[] = {
    {"weft_lu_factor", wrong_factor},
    {"weft_lu_solve", wrong_solve},
    {"weft_lu_inverse", wrong_inverse},
    {"calls of lu without elements", empty},
};

/* ---- allocations ---- */

/* Behind the matrix. */
static int64_t *pivot_in(const test_arrays *a) {
    return (int64_t *)(void *)(a->z + ORDER * ORDER);
}

/* All elements of z are equal: the matrix is singular, and its factors complete. */
static weft_status factored(weft_status status) {
    return status == WEFT_ESINGULAR ? WEFT_OK : status;
}

static weft_status run_factor(weft_context *ctx, test_arrays *a) {
    return factored(weft_lu_factor(ctx, 0, WEFT_F32, ORDER, ORDER, a->z, ORDER, pivot_in(a)));
}

static weft_status run_factor_square(weft_context *ctx, test_arrays *a) {
    return factored(
        weft_lu_factor(ctx, WEFT_ROW_MAJOR, WEFT_F32, ORDER, ORDER, a->z, ORDER, pivot_in(a)));
}

static weft_status run_factor_copy(weft_context *ctx, test_arrays *a) {
    return factored(
        weft_lu_factor(ctx, WEFT_ROW_MAJOR, WEFT_F32, ORDER, ORDER - 9, a->z, ORDER, pivot_in(a)));
}

static const int64_t *no_exchanges(void) {
    static int64_t pivot[ORDER];
    for (int64_t k = 0; k < ORDER; k++)
        pivot[k] = k;
    return pivot;
}

static weft_status run_solve(weft_context *ctx, test_arrays *a) {
    return weft_lu_solve(ctx, WEFT_TRANSPOSE_A, WEFT_F32, ORDER, COLUMNS, a->x, ORDER,
                         no_exchanges(), a->z, ORDER);
}

static weft_status run_solve_rows(weft_context *ctx, test_arrays *a) {
    return weft_lu_solve(ctx, WEFT_ROW_MAJOR, WEFT_F32, ORDER, COLUMNS, a->x, ORDER, no_exchanges(),
                         a->z, COLUMNS);
}

static weft_status run_inverse(weft_context *ctx, test_arrays *a) {
    return weft_lu_inverse(ctx, 0, WEFT_F32, ORDER, a->z, ORDER, no_exchanges());
}

static const test_call calls[] = {
    {"weft_lu_factor", run_factor, &wi_lu_ladder, NULL},
    {"weft_lu_factor by rows", run_factor_square, &wi_lu_ladder, NULL},
    {"weft_lu_factor by rows, not square", run_factor_copy, &wi_lu_ladder, NULL},
    {"weft_lu_solve", run_solve, NULL, NULL},
    {"weft_lu_solve by rows", run_solve_rows, NULL, NULL},
    {"weft_lu_inverse", run_inverse, NULL, NULL},
};

const test_cases wi_lu_cases = {.without_context = without_context,
                                .refusals = refusals,
                                .refusal_count = sizeof refusals / sizeof *refusals,
                                .calls = calls,
                                .call_count = sizeof calls / sizeof *calls};
