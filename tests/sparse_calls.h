/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the sparse slice whose allocations allocation_test.c fails. They have their own
 * small matrices and do not use that test's arrays. */
#ifndef WEFT_SPARSE_CALLS_H
#define WEFT_SPARSE_CALLS_H

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injection.h"
#include "sparse/chol.h"
#include "sparse/order.h"
#include "testing.h"

struct arrays;

/* Indices out of order, each entry given twice: so every allocation is made. */
static inline weft_status run_sparse(weft_context *ctx, struct arrays *a) {
    (void)a;
    static const int32_t row[] = {2, 0, 1, 1, 0, 2}, col[] = {1, 0, 2, 1, 0, 2};
    static const double value[] = {5, 1, 5, 2, 1, 3}, x[] = {1, 1, 1};
    double y[3];
    weft_sparse *matrix;
    weft_status status = weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_FULL, 3, 3, 6,
                                                     WEFT_I32, row, col, value);
    const int before = counted;
    if (status == WEFT_OK)
        status = weft_sparse_update(ctx, matrix, 6, value);
    if (status == WEFT_OK)
        status = weft_sparse_multiply(ctx, matrix, 1, x, 3, y, 3);
    assert_int_equal(counted, before); /* new values and products allocate nothing */
    weft_sparse_destroy(matrix);
    return status;
}

static inline weft_status run_sparse_rows(weft_context *ctx, struct arrays *a) {
    (void)a;
    static const int32_t start[] = {0, 1, 2}, col[] = {1, 0};
    static const double value[] = {1, 2};
    weft_sparse *matrix;
    const weft_status status =
        weft_sparse_create_csr(ctx, &matrix, WEFT_GENERAL, 2, 2, WEFT_I32, start, col, value);
    weft_sparse_destroy(matrix);
    return status;
}

/* A file in memory, read with both its halves. */
static inline weft_status read_text(weft_context *ctx, int *descriptor, const char *text) {
    char path[64];
    if (*descriptor == 0) {
        *descriptor = memfd_create("matrix", 0);
        assert_int_equal(write(*descriptor, text, strlen(text)), strlen(text));
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", *descriptor);
    weft_sparse *matrix;
    const weft_status status = weft_sparse_read_as(ctx, &matrix, path, WEFT_SYMMETRIC_FULL, 0);
    weft_sparse_destroy(matrix);
    return status;
}

/* A dense matrix; and one that is built twice, because its halves differ. */
static inline weft_status run_sparse_read(weft_context *ctx, struct arrays *a) {
    (void)a;
    static int dense, apart;
    const weft_status status =
        read_text(ctx, &dense, "%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n3\n");
    if (status != WEFT_OK)
        return status;
    return read_text(ctx, &apart,
                     "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0\n2 2 3\n");
}

/* A path of four columns: analyzed, saved to a file in memory, and loaded. */
static inline weft_status run_chol(weft_context *ctx, struct arrays *a) {
    (void)a;
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    static const int64_t permutation[] = {2, 0, 3, 1};
    static const double value[] = {2, -1, 2, -1, 2, -1, 2};
    static int descriptor;
    const weft_chol_options options = {.size = sizeof options, .permutation = permutation};
    char path[64];
    weft_sparse *matrix;
    weft_chol *plan = NULL, *loaded = NULL;
    if (ctx->kind != WI_CPU) /* plans exist on cpu places only */
        return WEFT_OK;
    if (descriptor == 0)
        descriptor = memfd_create("plan", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    weft_status status = weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                                start, row, value);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, matrix, &options, &plan);
    if (status == WEFT_OK)
        status = weft_chol_save(ctx, plan, path);
    if (status == WEFT_OK)
        status = weft_chol_load(ctx, path, &loaded);
    weft_chol_destroy(plan);
    weft_chol_destroy(loaded);
    weft_sparse_destroy(matrix);
    return status;
}

/* The analysis of a strip of 2 x 1200 points: long enough to be dissected. */
static inline weft_status run_strip(weft_context *ctx, struct arrays *a) {
    (void)a;
    enum {
        N = 2400
    };
    static int64_t row[3 * N], col[3 * N];
    static double value[3 * N];
    size_t entries = 0;
    for (int64_t j = 0; j < N; j++) {
        for (int64_t i = j; i < N && i <= j + 2; i++) {
            if (i == j + 1 && j % 2 == 1)
                continue;
            row[entries] = i;
            col[entries] = j;
            value[entries++] = 1;
        }
    }
    weft_sparse *matrix;
    weft_chol *plan = NULL;
    if (ctx->kind != WI_CPU)
        return WEFT_OK;
    const weft_chol_options options = {.size = sizeof options, .ordering = "dissect"};
    weft_status status = weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, N, N,
                                                     entries, WEFT_I64, row, col, value);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, matrix, &options, &plan);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    return status;
}

/* Factors the matrix times 2^power, which allocates if that is tiny; if the allocation fails, the
 * earlier factor, of the matrix times 2^before, must still work. */
static inline weft_status factor_times(weft_context *ctx, weft_chol *plan, weft_sparse *matrix,
                                       int power, int before) {
    double x[4] = {1, 2, 3, 4}, value[7];
    for (size_t k = 0; k < 7; k++)
        value[k] = ldexp(weft_sparse_values(matrix)[k], power - before);
    weft_status status = weft_sparse_update(ctx, matrix, 7, value);
    if (status != WEFT_OK)
        return status;
    status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_ENOMEM) {
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 4, x, 4), WEFT_OK);
        assert_true(ldexp(x[0], before) > 1 && ldexp(x[0], before) < 10);
    }
    return status;
}

/* What can be repeated with a plan: none of it may allocate. */
static inline weft_status run_again(weft_context *ctx, weft_chol *plan, weft_sparse *matrix) {
    const weft_chol_solve_options refined = {.size = sizeof refined, .refine = 2};
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, condition;
    weft_status status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = factor_times(ctx, plan, matrix, -600, 0);
    const int before = counted;
    if (status == WEFT_OK)
        status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = weft_chol_solve(ctx, plan, matrix, &refined, 2, x, 4, x, 4);
    if (status == WEFT_OK)
        status = weft_chol_condition(ctx, plan, matrix, &condition);
    if (status == WEFT_OK && counted != before)
        fail_msg("factored and solved again: %d allocations", counted - before);
    return status;
}

/* Every variant in turn; if one gets no memory, the factor of the one before must still work. */
static inline weft_status run_variants(weft_context *ctx, weft_chol *plan, weft_sparse *matrix) {
    int before = 0;
    weft_status status = weft_chol_factor(ctx, plan, matrix);
    for (size_t k = 0; status == WEFT_OK && k < wi_sparse_ladder.count; k++) {
        const int power = before == 0 ? -600 : 0;
        test_use(ctx, "sparse", &wi_sparse_ladder.rows[k]);
        status = factor_times(ctx, plan, matrix, power, before);
        before = power;
    }
    return status;
}

/* A path of four columns, factored with as many threads as there are. */
static inline weft_status factor_path(weft_context *ctx,
                                      weft_status (*run)(weft_context *ctx, weft_chol *plan,
                                                         weft_sparse *matrix)) {
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    static const double value[] = {2, -1, 2, -1, 2, -1, 2};
    weft_sparse *matrix;
    weft_chol *plan = NULL;
    if (ctx->kind != WI_CPU)
        return WEFT_OK;
    weft_status status = weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                                start, row, value);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, matrix, NULL, &plan);
    if (status == WEFT_OK) {
        plan->least_work = 0;
        status = weft_chol_reserve(ctx, plan, 2);
    }
    if (status == WEFT_OK)
        status = run(ctx, plan, matrix);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    return status;
}

static inline weft_status run_factor(weft_context *ctx, struct arrays *a) {
    (void)a;
    return factor_path(ctx, run_again);
}

static inline weft_status run_every_factor(weft_context *ctx, struct arrays *a) {
    (void)a;
    return factor_path(ctx, run_variants);
}

#endif
