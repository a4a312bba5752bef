/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a factor on a GPU: foretold, taken by weft_chol_reserve, and no more afterwards. */
#include <math.h>

#include "core/gpu.h"
#include "limits.h"
#include "sparse/chol_device.h"
#include "sparse/generate.h"
#include "systems.h"
#include "testing.h"

/* What the report foretells is what is held; and nothing is allocated later. */
static void memory(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 9);
    const size_t n = weft_sparse_rows(matrix);
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    double b[81] = {1}, x[81];
    assert_int_equal(n, 81);
    const weft_chol_report before = test_report_of(ctx, plan);
    assert_true(before.device_bytes_needed > before.nnz_l * sizeof(double));
    assert_true(before.bytes_needed > before.device_bytes_needed + before.analysis_bytes);
    assert_int_equal(weft_chol_reserve(ctx, plan, 1), WEFT_OK);
    assert_int_equal(test_report_of(ctx, plan).bytes_peak, before.bytes_needed);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, n, x, n), WEFT_OK);
    const weft_chol_report after = test_report_of(ctx, plan);
    assert_int_equal(after.bytes_peak, before.bytes_needed);
    assert_int_equal(after.bytes_needed, before.bytes_needed);
    assert_int_equal(after.device_bytes_needed, before.device_bytes_needed);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

#ifdef WEFT_CUDA
static size_t scratch_bytes(const weft_context *ctx) {
    size_t bytes = 0;
    for (size_t k = 0; k < WI_SCRATCH_BLOCKS; k++)
        bytes += ctx->gpu->scratch[k].bytes;
    return bytes;
}

/* What the kernel of dense Cholesky works with is there, too, before the first factorization. */
static void check_kernels(weft_context *ctx, size_t n) {
    const wi_made_columns columns = {n, n, test_dense_column, &n};
    weft_sparse *matrix;
    double *const x = calloc(n, sizeof *x);
    assert_non_null(x);
    test_ok(ctx, wi_generate_columns(ctx, "test", &columns, &matrix));
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    test_ok(ctx, weft_chol_reserve(ctx, plan, 1));
    const size_t before = scratch_bytes(ctx);
    test_ok(ctx, weft_chol_factor(ctx, plan, matrix));
    test_ok(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n));
    assert_int_equal(scratch_bytes(ctx), before);
    assert_true(before > 0 || plan->device->schedule.flow_from == 0);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    free(x);
}

static void kernels(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
#    ifdef WEFT_EMU
    const int least = wi_chol_flow_least;
    wi_chol_flow_least = WI_PANEL;
    check_kernels(ctx, WI_PANEL + 6);
    wi_chol_flow_least = least;
#    else
    check_kernels(ctx, 600);
#    endif
}

#else
static void kernels(weft_context *ctx) {
    (void)ctx;
}
#endif

#if defined(WEFT_CUDA) && !defined(WEFT_EMU)
static size_t free_bytes(void) {
    size_t left = 0, all = 0;
    assert_int_equal(cudaMemGetInfo(&left, &all), cudaSuccess);
    return left;
}

static void work(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    const size_t n = weft_sparse_rows(matrix);
    double *const x = calloc(n, sizeof *x);
    assert_non_null(x);
    test_ok(ctx, weft_chol_reserve(ctx, plan, 1));
    test_ok(ctx, weft_chol_factor(ctx, plan, matrix));
    test_ok(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n));
    free(x);
}

/* How far what a factorization and a solve take of the GPU is from what was foretold, as a part of
 * that. In a context of its own, whose pool has its first 32 MiB already. */
static double missed(const char *place, const weft_sparse *matrix) {
    weft_context *ctx;
    void *any;
    test_ok(NULL, weft_open(&ctx, place));
    test_ok(ctx, weft_alloc(ctx, &any, 1 << 20));
    test_ok(ctx, weft_free(ctx, any));
    weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
    const size_t before = free_bytes();
    work(ctx, plan, matrix);
    const double taken = (double)before - (double)free_bytes(),
                 foretold = (double)test_report_of(ctx, plan).device_bytes_needed;
    weft_chol_destroy(plan);
    weft_close(ctx);
    print_message("device memory: %.1f MB foretold, %.1f taken\n", foretold / 1e6, taken / 1e6);
    return fabs(taken - foretold) / foretold;
}

/* What a GPU has less is what was foretold, within 3 %. The first factorization also loads kernels,
 * so it counts for nothing; and other processes may use the GPU, so one attempt of five counts. */
static void device(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    weft_sparse *const matrix = test_generated(ctx, "laplace3d", 50);
    double least = 1;
    missed(ctx->place, matrix);
    for (int k = 0; k < 5 && !(least <= 0.03); k++)
        least = fmin(least, missed(ctx->place, matrix));
    assert_true(least <= 0.03);
    weft_sparse_destroy(matrix);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(memory),
        TEST_ON_EACH_PLACE(kernels),
#if defined(WEFT_CUDA) && !defined(WEFT_EMU)
        TEST_ON_EACH_PLACE(device),
#endif
    };
    return cmocka_run_group_tests_name("chol_memory", tests, NULL, NULL);
}
