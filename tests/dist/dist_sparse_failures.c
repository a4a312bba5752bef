/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks learn if a sparse call goes wrong on one, or cannot be done over ranks. */
#include "dist_matrix.h"
#include "sparse/generate.h"
#include "sparse/ranks.h"

enum {
    EDGE = 6,
    N = EDGE * EDGE
};

/* The rank that goes wrong. */
static bool is_culprit(void) {
    return dist_rank == dist_ranks / 2;
}

/* The culprit has got `own` with these words, and the others WEFT_ECOMM with the same. */
static void expect_fault(weft_status status, weft_status own, const char *call, const char *words) {
    test_refused(dist_ctx, status, is_culprit() ? own : WEFT_ECOMM, call, words);
}

/* A matrix over ranks by its columns; `step` is what each rank's number of columns is short of. */
static weft_status make(weft_sparse **matrix, weft_storage storage, size_t wrong_columns,
                        weft_type type, size_t rows) {
    const size_t first = N * (size_t)dist_rank / (size_t)dist_ranks,
                 end = N * (size_t)(dist_rank + 1) / (size_t)dist_ranks;
    int64_t start[N + 2] = {0}, row[2 * N];
    double value[2 * N];
    size_t n = 0;
    for (size_t j = first; j < end; j++) {
        row[n] = (int64_t)j;
        value[n++] = 4;
        if (j + 1 < N) {
            row[n] = (int64_t)j + 1;
            value[n++] = -1;
        }
        start[j - first + 1] = (int64_t)n;
    }
    start[end - first + 1] = (int64_t)n;
    return weft_sparse_create_csc(dist_ctx, matrix, storage, rows, end - first + wrong_columns,
                                  type, start, row, value);
}

static void refuse_matrices(void) {
    weft_sparse *matrix = NULL;
    expect_fault(make(&matrix, WEFT_SYMMETRIC_LOWER, 0, is_culprit() ? WEFT_F32 : WEFT_I64, N),
                 WEFT_EARG, "weft_sparse_create_csc", "index_type");
    assert_null(matrix);
    expect_fault(make(is_culprit() ? NULL : &matrix, WEFT_SYMMETRIC_LOWER, 0, WEFT_I64, N),
                 WEFT_EARG, "weft_sparse_create_csc", "matrix is NULL");
    assert_null(matrix);
    test_refused(dist_ctx, make(&matrix, WEFT_SYMMETRIC_LOWER, is_culprit(), WEFT_I64, N),
                 WEFT_EARG, "weft_sparse_create_csc", "37 columns");
    assert_null(matrix);
    /* a fault of the matrix is told by all in the same words */
    test_refused(dist_ctx, make(&matrix, WEFT_SYMMETRIC_UPPER, 0, WEFT_I64, N), WEFT_EARG,
                 "weft_sparse_create_csc", "row 1 and column 0");
    assert_null(matrix);
    if (dist_ranks > 1)
        test_refused(dist_ctx,
                     make(&matrix, WEFT_SYMMETRIC_LOWER, 0, WEFT_I64, dist_rank > 0 ? N + 1 : N),
                     WEFT_EARG, "weft_sparse_create_csc", "rank 1");
    assert_null(matrix);
}

static weft_chol *plan_of(weft_context *ctx, const weft_sparse *matrix, double least) {
    weft_chol *plan;
    dist_ok(ctx, weft_chol_analyze(ctx, matrix, NULL, &plan));
    plan->least_work = least;
    return plan;
}

/* Plans belong to the place that they have memory for. */
static void refuse_plans(const weft_sparse *matrix) {
    weft_chol *const all = plan_of(dist_ctx, matrix, 0), *const one = plan_of(dist_one, matrix, 0);
    dist_ok(dist_ctx, weft_chol_reserve(dist_ctx, all, 1));
    dist_ok(dist_one, weft_chol_reserve(dist_one, one, 1));
    test_refused(dist_one, weft_chol_factor(dist_one, all, matrix), WEFT_EARG, "weft_chol_factor",
                 "share of the ranks");
    test_refused(dist_ctx, weft_chol_factor(dist_ctx, one, matrix), WEFT_EARG, "weft_chol_factor",
                 "one process");
    test_refused(dist_ctx,
                 weft_chol_factor_values(dist_ctx, all, matrix, weft_sparse_values(matrix)),
                 WEFT_EUNSUPPORTED, "weft_chol_factor_values", "weft_sparse_update");
    test_refused(dist_ctx, weft_chol_direction(dist_ctx, all, NULL), WEFT_EARG,
                 "weft_chol_direction", "not positive definite");
    expect_fault(weft_chol_factor(dist_ctx, is_culprit() ? NULL : all, matrix), WEFT_EARG,
                 "weft_chol_factor", "plan is NULL");
    if (!dist_ctx->gpu) {
        dist_ok(dist_ctx, weft_use(dist_ctx, "sparse", "left_looking"));
        test_refused(dist_ctx, weft_chol_factor(dist_ctx, all, matrix), WEFT_EUNSUPPORTED,
                     "weft_chol_factor", "multifrontal");
        dist_ok(dist_ctx, weft_use(dist_ctx, "sparse", "auto"));
    }
    weft_chol_destroy(all), weft_chol_destroy(one);
}

/* What does not pay is not shared: each rank has all of L, and nothing is sent but b. */
static void keep_small(const weft_sparse *matrix) {
    weft_chol *const plan = plan_of(dist_ctx, matrix, 1e30);
    dist_ok(dist_ctx, weft_chol_factor(dist_ctx, plan, matrix));
    assert_null(plan->numbers.cut.owners);
    assert_true(plan->numbers.cut.alone);
    weft_chol_destroy(plan);
}

static int stop(void *user, double done) {
    (void)user, (void)done;
    return is_culprit();
}

/* One rank cancels, or has a right-hand side that is not finite: all have the same status. */
static void stop_on_all(const weft_sparse *matrix) {
    weft_chol *const plan = plan_of(dist_ctx, matrix, 0);
    const size_t own = weft_sparse_own_rows(dist_ctx, matrix, NULL);
    double b[N + 1], x[N + 1] = {7};
    for (size_t i = 0; i <= N; i++)
        b[i] = 1;
    dist_ok(dist_ctx, weft_chol_on_progress(dist_ctx, plan, stop, NULL));
    test_refused(dist_ctx, weft_chol_factor(dist_ctx, plan, matrix), WEFT_ECANCELLED,
                 "weft_chol_factor", "cancelled");
    dist_ok(dist_ctx, weft_chol_on_progress(dist_ctx, plan, NULL, NULL));
    test_refused(dist_ctx, weft_chol_solve(dist_ctx, plan, matrix, NULL, 1, b, N, x, N), WEFT_EARG,
                 "weft_chol_solve", "no factor");
    dist_ok(dist_ctx, weft_chol_factor(dist_ctx, plan, matrix));
    if (is_culprit())
        b[own - 1] = (double)NAN;
    test_refused(dist_ctx, weft_chol_solve(dist_ctx, plan, matrix, NULL, 1, b, N, x, N),
                 WEFT_ENONFINITE, "weft_chol_solve", "column 0");
    assert_true(x[0] == 7);
    const weft_chol_solve_options options = {.size = sizeof options,
                                             .value = weft_sparse_values(matrix)};
    test_refused(dist_ctx, weft_chol_solve(dist_ctx, plan, matrix, &options, 1, b, N, x, N),
                 WEFT_EUNSUPPORTED, "weft_chol_solve", "weft_sparse_update");
    weft_chol_destroy(plan);
}

/* ---- memory ---- */

/* What is tried, with the things that it needs. */
typedef struct attempt {
    weft_sparse *matrix;
    weft_chol *plan;
} attempt;

static weft_status create_once(attempt *a) {
    weft_sparse *matrix = NULL;
    const weft_status status = make(&matrix, WEFT_SYMMETRIC_LOWER, 0, WEFT_I64, N);
    assert_true((status == WEFT_OK) == (matrix != NULL));
    (void)a;
    weft_sparse_destroy(matrix);
    return status;
}

static weft_status analyze_once(attempt *a) {
    weft_chol *plan = NULL;
    const weft_status status = weft_chol_analyze(dist_ctx, a->matrix, NULL, &plan);
    assert_true((status == WEFT_OK) == (plan != NULL));
    weft_chol_destroy(plan);
    return status;
}

static weft_status factor_once(attempt *a) {
    return weft_chol_factor(dist_ctx, a->plan, a->matrix);
}

static weft_status solve_once(attempt *a) {
    static double b[3 * N], x[3 * N];
    const weft_chol_solve_options options = {.size = sizeof options, .exact = 1};
    return weft_chol_solve(dist_ctx, a->plan, a->matrix, &options, 3, b, N, x, N);
}

static weft_status multiply_once(attempt *a) {
    static double x[N], y[N];
    return weft_sparse_multiply(dist_ctx, a->matrix, 1, x, N, y, N);
}

/* Each allocation of the culprit fails in turn; the others hear of it, and the next call works. */
static void fail_allocations(weft_status (*call)(attempt *a), attempt *a, const char *name) {
    enum {
        MOST = 100
    };
    weft_status status = WEFT_ENOMEM;
    int k = 0;
    for (; k < MOST && status != WEFT_OK; k++) {
        dist_left = is_culprit() ? k : -1;
        status = call(a);
        dist_left = -1;
        if (status != WEFT_OK)
            expect_fault(status, WEFT_ENOMEM, name, "memory");
    }
    assert_true(k > 1 && k < MOST);
}

static void run_out_of_memory(weft_sparse *matrix) {
    attempt a = {.matrix = matrix, .plan = plan_of(dist_ctx, matrix, 0)};
    fail_allocations(create_once, &a, "weft_sparse_create_csc");
    fail_allocations(analyze_once, &a, "weft_chol_analyze");
    fail_allocations(factor_once, &a, "weft_chol_factor");
    fail_allocations(solve_once, &a, "weft_chol_solve");
    fail_allocations(multiply_once, &a, "weft_sparse_multiply");
    weft_chol_destroy(a.plan);
}

/* A general matrix has to be square. */
static void multiply_general(void) {
    const int64_t start[2] = {0, 1}, index[1] = {0};
    const double value[1] = {3};
    double x[2] = {2, 2}, y[2] = {0};
    weft_sparse *matrix;
    dist_ok(dist_ctx, weft_sparse_create_csr(dist_ctx, &matrix, WEFT_GENERAL, 1, (size_t)dist_ranks,
                                             WEFT_I64, start, index, value));
    x[0] = dist_rank + 1;
    dist_ok(dist_ctx, weft_sparse_multiply(dist_ctx, matrix, 1, x, 1, y, 1));
    assert_true(y[0] == 3); /* of the first element, rank 0's */
    weft_sparse_destroy(matrix);
    dist_ok(dist_one, weft_sparse_create_csr(dist_one, &matrix, WEFT_GENERAL, 1, 2, WEFT_I64, start,
                                             index, value));
    test_refused(dist_ctx, weft_sparse_multiply(dist_ctx, matrix, 1, x, 1, y, 1), WEFT_EUNSUPPORTED,
                 "weft_sparse_multiply", "columns");
    weft_sparse_destroy(matrix);
}

void dist_test_sparse_failures(void **state) {
    (void)state;
    weft_sparse *matrix;
    refuse_matrices();
    dist_ok(dist_ctx, make(&matrix, WEFT_SYMMETRIC_LOWER, 0, WEFT_I64, N));
    refuse_plans(matrix);
    keep_small(matrix);
    stop_on_all(matrix);
    run_out_of_memory(matrix);
    weft_sparse_destroy(matrix);
    multiply_general();
}
