/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of gemm for the tests of all calls: with no context, and with each of their allocations
 * failed. */
#include "cases.h"
#include "gemm/gemm.h"
#include "gemm/gemm_batch.h"
#include "gemm/gemv.h"
#include "gemm/ger.h"
#include "gemm/syrk.h"
#include "gemm/transpose.h"
#include "gemm/trmm.h"
#include "gemm/trsm.h"

enum {
#ifdef WEFT_EMU
    ORDER = 100 /* of a triangle */
#else
    ORDER = 300 /* of a triangle that is cut in halves */
#endif
};

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_gemm(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, 1, &x, 1, &x, 1, 0, &y, 1),
                     WEFT_EARG);
    assert_int_equal(weft_gemm_batch_strided(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, 1, &x, 1, 1, &x,
                                             1, 1, 0, &y, 1, 1, 1),
                     WEFT_EARG);
    assert_int_equal(
        weft_gemm_batch(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, 1, NULL, 1, NULL, 1, 0, NULL, 1, 1),
        WEFT_EARG);
    assert_int_equal(weft_gemv(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, &x, 1, &x, 1, 0, &y, 1),
                     WEFT_EARG);
    assert_int_equal(weft_ger(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_transpose(NULL, 0, 4, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_syrk(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, 0, &y, 1), WEFT_EARG);
    assert_int_equal(weft_trsm(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_int_equal(weft_trmm(NULL, 0, WEFT_F32, 1, 1, 1, &x, 1, &y, 1), WEFT_EARG);
    assert_true(y == 2);
}

/* ---- allocations ---- */

static weft_status run_gemm(weft_context *ctx, test_arrays *a) {
    return weft_gemm(ctx, 0, WEFT_F32, WEFT_F32, 100, 90, 30, 2, a->x, 110, a->y, 30, 0.5, a->z,
                     100);
}

static weft_status run_gemm_halves(weft_context *ctx, test_arrays *a) {
    return weft_gemm(ctx, WEFT_ROW_MAJOR, WEFT_BF16, WEFT_BF16, 90, 100, 30, 1, a->x, 30, a->y, 100,
                     0, a->z, 100);
}

static weft_status run_gemm_thin(weft_context *ctx, test_arrays *a) {
    return weft_gemm(ctx, 0, WEFT_F32, WEFT_F32, 20, 8, 256, 1, a->x, 20, a->y, 256, 0, a->z, 20);
}

static weft_status run_gemm_batch(weft_context *ctx, test_arrays *a) {
    return weft_gemm_batch_strided(ctx, 0, WEFT_F32, WEFT_F32, 20, 18, 10, 2, a->x, 20, 200, a->y,
                                   10, 0, 0.5, a->z, 20, 360, 9);
}

static weft_status run_gemv(weft_context *ctx, test_arrays *a) {
    return weft_gemv(ctx, 0, WEFT_F32, WEFT_F32, 90, 100, 2, a->x, 110, a->y, -2, 0.5, a->z, 3);
}

/* Its sums are cut into slices. */
static weft_status run_gemv_long(weft_context *ctx, test_arrays *a) {
    return weft_gemv(ctx, WEFT_TRANSPOSE_A, WEFT_F32, WEFT_F32, 2, 5000, 1, a->x, 5000, a->y, 1, 0,
                     a->z, 1);
}

static weft_status run_ger(weft_context *ctx, test_arrays *a) {
    return weft_ger(ctx, WEFT_ROW_MAJOR, WEFT_F32, 90, 100, 2, a->x, 1, a->y, -3, a->z, 110);
}

static weft_status run_transpose(weft_context *ctx, test_arrays *a) {
    return weft_transpose(ctx, 0, 4, 90, 100, a->x, 91, a->z, 103);
}

static weft_status run_transpose_in_place(weft_context *ctx, test_arrays *a) {
    return weft_transpose(ctx, 0, 4, 90, 100, a->z, 90, a->z, 100);
}

static weft_status run_syrk(weft_context *ctx, test_arrays *a) {
    return weft_syrk(ctx, 0, WEFT_F32, 100, 90, 2, a->x, 101, 0, a->z, 100);
}

static weft_status run_trsm(weft_context *ctx, test_arrays *a) {
    return weft_trsm(ctx, WEFT_UNIT_DIAGONAL, WEFT_F32, ORDER, 30, 1, a->x, ORDER + 1, a->z, ORDER);
}

static weft_status run_trmm(weft_context *ctx, test_arrays *a) {
    return weft_trmm(ctx, WEFT_RIGHT, WEFT_F32, 30, ORDER, 1, a->x, ORDER + 1, a->z, 30);
}

static const test_call calls[] = {
    {"weft_gemm", run_gemm, &wi_gemm_ladder, NULL},
    {"weft_gemm of bf16", run_gemm_halves, &wi_gemm_ladder, NULL},
    {"weft_gemm of a thin C", run_gemm_thin, &wi_gemm_ladder, NULL},
    {"weft_gemm_batch_strided", run_gemm_batch, &wi_gemm_batch_ladder, NULL},
    {"weft_gemv", run_gemv, &wi_gemv_ladder, NULL},
    {"weft_gemv of long sums", run_gemv_long, &wi_gemv_ladder, NULL},
    {"weft_ger", run_ger, &wi_ger_ladder, NULL},
    {"weft_transpose", run_transpose, &wi_transpose_ladder, NULL},
    {"weft_transpose in place", run_transpose_in_place, NULL, NULL},
    {"weft_syrk", run_syrk, &wi_syrk_ladder, NULL},
    {"weft_trsm", run_trsm, &wi_trsm_ladder, NULL},
    {"weft_trmm", run_trmm, &wi_trmm_ladder, NULL},
};

const test_cases wi_gemm_cases = {
    .without_context = without_context, .calls = calls, .call_count = sizeof calls / sizeof *calls};
