/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of solve for the tests of all calls: with no context, with wrong arguments, and with
 * each of their allocations failed. */
#include "arguments.h"
#include "cases.h"
#include "limits.h"
#include "solve/system.h"

enum {
#ifdef WEFT_EMU
    ORDER = 7,
#else
    ORDER = 20,
#endif
    SIDE = 4
};

static void without_context(void) {
    float x = 1, y = 2;
    assert_int_equal(weft_solve(NULL, 0, WEFT_F32, 1, 1, &x, 1, &x, 1, &y, 1, NULL, NULL),
                     WEFT_EARG);
    assert_int_equal(weft_solve_spd(NULL, 0, WEFT_F32, 1, 1, &x, 1, &x, 1, &y, 1, NULL, NULL),
                     WEFT_EARG);
    assert_true(y == 2);
}

/* ---- wrong arguments ---- */

typedef weft_status solving_call(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                 size_t nrhs, const void *a, size_t lda, const void *b, size_t ldb,
                                 void *x, size_t ldx, const weft_solve_options *options,
                                 weft_report *report);

static void refuse_arrays(rig r, solving_call *call, const char *name) {
    const weft_type t = WEFT_F32;
    const void *const a = r.x, *const off = (const char *)r.x + 1;
    void *const x = r.z;
    REFUSED(name, "type", call(r.ctx, 0, (weft_type)99, 4, 3, a, 4, r.y, 4, x, 4, NULL, NULL));
    REFUSED(name, "how", call(r.ctx, 1 << 8, t, 4, 3, a, 4, r.y, 4, x, 4, NULL, NULL));
    REFUSED(name, "a", call(r.ctx, 0, t, 4, 3, NULL, 4, r.y, 4, x, 4, NULL, NULL));
    REFUSED(name, "a", call(r.ctx, 0, t, 4, 3, off, 4, r.y, 4, x, 4, NULL, NULL));
    REFUSED(name, "b", call(r.ctx, 0, t, 4, 3, a, 4, NULL, 4, x, 4, NULL, NULL));
    REFUSED(name, "x", call(r.ctx, 0, t, 4, 3, a, 4, r.y, 4, NULL, 4, NULL, NULL));
    REFUSED(name, "lda", call(r.ctx, 0, t, 4, 3, a, 3, r.y, 4, x, 4, NULL, NULL));
    REFUSED(name, "ldb", call(r.ctx, 0, t, 4, 3, a, 4, r.y, 3, x, 4, NULL, NULL));
    REFUSED(name, "ldx", call(r.ctx, WEFT_ROW_MAJOR, t, 4, 3, a, 4, r.y, 3, x, 2, NULL, NULL));
    REFUSED(name, "overlap", call(r.ctx, 0, t, 4, 3, a, 4, r.y, 4, r.x, 4, NULL, NULL));
    REFUSED(name, "overlap", call(r.ctx, 0, t, 4, 3, a, 4, r.y, 4, r.y + 1, 4, NULL, NULL));
    test_refused(r.ctx, call(r.ctx, 0, WEFT_F16, 4, 3, a, 4, r.y, 4, x, 4, NULL, NULL),
                 WEFT_EUNSUPPORTED, name, "type");
}

static void refuse_options(rig r, solving_call *call, const char *name) {
    const weft_solve_options wrong[] = {
        {.size = 0},
        {.size = sizeof(weft_solve_options) + 1},
        {.size = sizeof(weft_solve_options), .precision = (weft_precision)6},
        {.size = sizeof(weft_solve_options), .equilibrate = (weft_equilibrate)2},
        {.size = sizeof(weft_solve_options), .precision = WEFT_PRECISION_MIXED},
    };
    static const char *const word[] = {"options.size", "options.size", "options.precision",
                                       "options.equilibrate", "options.precision"};
    weft_report report = {.size = 0};
    const weft_solve_options no_steps = {
        .size = sizeof no_steps, .refine = -1, .precision = WEFT_PRECISION_MIXED};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        REFUSED(name, word[k],
                call(r.ctx, 0, WEFT_F32, 4, 3, r.x, 4, r.y, 4, r.z, 4, &wrong[k], NULL));
    REFUSED(name, "options.refine",
            call(r.ctx, 0, WEFT_F64, 2, 1, r.x, 2, r.y, 2, r.z, 2, &no_steps, NULL));
    REFUSED(name, "report.size",
            call(r.ctx, 0, WEFT_F32, 4, 3, r.x, 4, r.y, 4, r.z, 4, NULL, &report));
}

static void refusals_of(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_report report = {.size = sizeof report};
    refuse_arrays(r, weft_solve, "weft_solve");
    refuse_arrays(r, weft_solve_spd, "weft_solve_spd");
    refuse_options(r, weft_solve, "weft_solve");
    refuse_options(r, weft_solve_spd, "weft_solve_spd");
    REFUSED(
        "weft_solve", "WEFT_TRANSPOSE_A",
        weft_solve(ctx, WEFT_UPPER_TRIANGLE, WEFT_F32, 4, 3, r.x, 4, r.y, 4, r.z, 4, NULL, NULL));
    REFUSED(
        "weft_solve_spd", "WEFT_UPPER_TRIANGLE",
        weft_solve_spd(ctx, WEFT_TRANSPOSE_A, WEFT_F32, 4, 3, r.x, 4, r.y, 4, r.z, 4, NULL, NULL));
    assert_int_equal(weft_solve(ctx, 0, WEFT_F32, 0, 3, NULL, 0, NULL, 0, NULL, 0, NULL, &report),
                     WEFT_OK);
    assert_true(report.n == 0 && report.sign_det == 1 && report.log_abs_det == 0);
    rig_close(&r);
}

static const test_refusal refusals[] = {{"weft_solve", refusals_of}};

/* ---- allocations ---- */

static void fill_doubles(double *a, double *b) {
    for (size_t k = 0; k < (size_t)ORDER * ORDER; k++)
        a[k] = k % (ORDER + 1) ? 1 : ORDER;
    for (size_t k = 0; k < (size_t)2 * ORDER; k++)
        b[k] = 1;
}

static weft_status run_f64(weft_context *ctx, test_arrays *a) {
    static double matrix[ORDER * ORDER], right[2 * ORDER];
    fill_doubles(matrix, right);
    matrix[0] = 0x1p30; /* so that it is scaled */
    return weft_solve(ctx, 0, WEFT_F64, ORDER, 2, matrix, ORDER, right, ORDER, a->z, ORDER, NULL,
                      NULL);
}

static weft_status run_spd(weft_context *ctx, test_arrays *a) {
    static double matrix[ORDER * ORDER], right[2 * ORDER];
    fill_doubles(matrix, right);
    return weft_solve_spd(ctx, WEFT_ROW_MAJOR, WEFT_F64, ORDER, 2, matrix, ORDER, right, 2, a->z, 2,
                          NULL, NULL);
}

/* With a matrix, and its factors, that do not fit the GPU. */
static weft_status run_streamed(weft_context *ctx, test_arrays *a, bool spd) {
    static double matrix[ORDER * ORDER], right[2 * ORDER];
    fill_doubles(matrix, right);
#ifdef WEFT_EMU
    wi_lu_resident_bytes = 1;
#endif
    const weft_status status = (spd ? weft_solve_spd : weft_solve)(
        ctx, 0, WEFT_F64, ORDER, 2, matrix, ORDER, right, ORDER, a->z, ORDER, NULL, NULL);
#ifdef WEFT_EMU
    wi_lu_resident_bytes = 0;
#endif
    return status;
}

static weft_status run_streamed_general(weft_context *ctx, test_arrays *a) {
    return run_streamed(ctx, a, false);
}

static weft_status run_streamed_spd(weft_context *ctx, test_arrays *a) {
    return run_streamed(ctx, a, true);
}

/* By GMRES. */
static weft_status run_ill(weft_context *ctx, test_arrays *a) {
    static double matrix[SIDE * SIDE];
    const double right[SIDE] = {1, 2, 3, 4};
    const weft_solve_options options = {.size = sizeof options, .precision = WEFT_PRECISION_MIXED};
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            matrix[i + SIDE * j] = 1 + (i == j) * (i + 1) * 0x1p-21;
    return weft_solve(ctx, 0, WEFT_F64, SIDE, 1, matrix, SIDE, right, SIDE, a->z, SIDE, &options,
                      NULL);
}

static const test_call calls[] = {
    {"weft_solve", run_f64, &wi_solve_ladder, NULL},
    {"weft_solve_spd", run_spd, &wi_solve_ladder, NULL},
    {"weft_solve of a matrix that is streamed", run_streamed_general, NULL, NULL},
    {"weft_solve_spd of a matrix that is streamed", run_streamed_spd, NULL, NULL},
    {"weft_solve of an ill-conditioned matrix", run_ill, NULL, NULL},
};

const test_cases wi_solve_cases = {.without_context = without_context,
                                   .refusals = refusals,
                                   .refusal_count = sizeof refusals / sizeof *refusals,
                                   .calls = calls,
                                   .call_count = sizeof calls / sizeof *calls};
