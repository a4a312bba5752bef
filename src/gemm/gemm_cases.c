/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of gemm for the tests of all calls: with no context, and with each of their allocations
 * failed. */
#include "cases.h"
#include "gemm/gemm.h"

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_gemm(NULL, 0, WEFT_F32, WEFT_F32, 1, 1, 1, 1, &x, 1, &x, 1, 0, &y, 1),
                     WEFT_EARG);
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

static const test_call calls[] = {
    {"weft_gemm", run_gemm, &wi_gemm_ladder, NULL},
    {"weft_gemm of bf16", run_gemm_halves, &wi_gemm_ladder, NULL},
};

const test_cases wi_gemm_cases = {
    .without_context = without_context, .calls = calls, .call_count = sizeof calls / sizeof *calls};
