/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sparse for the tests of all calls: with no context, and with each of their
 * allocations failed. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "sparse/chol.h"
#include "sparse/generate.h"
#include "sparse/order.h"

enum {
    ONES = 20 /* columns of a full matrix */
};

static void without_context(void) {
    float x = 1;
    weft_sparse *matrix = (weft_sparse *)&x;
    const int64_t index[2] = {0, 0};
    const double value = 1;
    double number = 3;
    assert_int_equal(weft_sparse_create_csc(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, WEFT_I64,
                                            index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create_csr(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, WEFT_I64,
                                            index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create_triplets(NULL, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, 1,
                                                 WEFT_I64, index, index, &value),
                     WEFT_EARG);
    assert_int_equal(weft_sparse_create(NULL, &matrix, NULL), WEFT_EARG);
    assert_int_equal(weft_sparse_read(NULL, &matrix, "x.mtx"), WEFT_EARG);
    assert_int_equal(weft_sparse_read_as(NULL, &matrix, "x.mtx", WEFT_GENERAL, 0), WEFT_EARG);
    assert_int_equal(weft_sparse_write(NULL, matrix, "x.mtx"), WEFT_EARG);
    size_t bytes = 3;
    assert_int_equal(weft_sparse_write_memory(NULL, matrix, NULL, 0, &bytes), WEFT_EARG);
    assert_int_equal(weft_sparse_read_memory(NULL, &matrix, "x", 1, WEFT_GENERAL, 0), WEFT_EARG);
    assert_int_equal(weft_sparse_update(NULL, matrix, 1, &value), WEFT_EARG);
    assert_int_equal(weft_sparse_multiply(NULL, matrix, 0, NULL, 1, NULL, 1), WEFT_EARG);
    weft_chol *plan = (weft_chol *)&x;
    weft_chol_report report = {.size = sizeof report};
    assert_int_equal(weft_chol_analyze(NULL, matrix, NULL, &plan), WEFT_EARG);
    assert_int_equal(weft_chol_reserve(NULL, plan, 1), WEFT_EARG);
    assert_int_equal(weft_chol_on_progress(NULL, plan, NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_chol_factor(NULL, plan, matrix), WEFT_EARG);
    assert_int_equal(weft_chol_factor_values(NULL, plan, matrix, &value), WEFT_EARG);
    assert_int_equal(weft_chol_check(NULL, plan), WEFT_EARG);
    assert_int_equal(weft_chol_direction(NULL, plan, &number), WEFT_EARG);
    assert_int_equal(weft_chol_solve(NULL, plan, matrix, NULL, 1, &value, 1, &number, 1),
                     WEFT_EARG);
    assert_int_equal(weft_chol_condition(NULL, plan, matrix, &number), WEFT_EARG);
    assert_int_equal(weft_chol_get_report(NULL, plan, &report), WEFT_EARG);
    assert_int_equal(weft_chol_save(NULL, plan, "x"), WEFT_EARG);
    assert_int_equal(weft_chol_load(NULL, "x", &plan), WEFT_EARG);
    assert_int_equal(weft_chol_save_memory(NULL, plan, NULL, 0, &bytes), WEFT_EARG);
    assert_int_equal(weft_chol_load_memory(NULL, "x", 1, &plan), WEFT_EARG);
    assert_ptr_equal(plan, &x);
    assert_true(number == 3 && bytes == 3);
}

/* ---- allocations ----
 *
 * The calls have small matrices of their own. */

/* Indices out of order, each entry given twice: so every allocation is made. */
static weft_status run_sparse(weft_context *ctx, test_arrays *a) {
    static const int32_t row[] = {2, 0, 1, 1, 0, 2}, col[] = {1, 0, 2, 1, 0, 2};
    static const double value[] = {5, 1, 5, 2, 1, 3}, x[] = {1, 1, 1};
    double y[3];
    weft_sparse *matrix;
    weft_status status = weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_FULL, 3, 3, 6,
                                                     WEFT_I32, row, col, value);
    const int before = a->allocations();
    if (status == WEFT_OK)
        status = weft_sparse_update(ctx, matrix, 6, value);
    if (status == WEFT_OK)
        status = weft_sparse_multiply(ctx, matrix, 1, x, 3, y, 3);
    assert_int_equal(a->allocations(), before); /* new values and products allocate nothing */
    weft_sparse_destroy(matrix);
    return status;
}

static weft_status run_sparse_rows(weft_context *ctx, test_arrays *a) {
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
static weft_status read_text(weft_context *ctx, int *descriptor, const char *text) {
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
static weft_status run_sparse_read(weft_context *ctx, test_arrays *a) {
    (void)a;
    static int dense, apart;
    const weft_status status =
        read_text(ctx, &dense, "%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n3\n");
    if (status != WEFT_OK)
        return status;
    return read_text(ctx, &apart,
                     "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0\n2 2 3\n");
}

/* Both saved to memory, and read again. */
static weft_status through_memory(weft_context *ctx, const weft_chol *plan,
                                  const weft_sparse *matrix) {
    static char memory[2000];
    size_t bytes;
    weft_chol *loaded = NULL;
    weft_sparse *read = NULL;
    weft_status status = weft_chol_save_memory(ctx, plan, memory, sizeof memory, &bytes);
    if (status == WEFT_OK)
        status = weft_chol_load_memory(ctx, memory, bytes, &loaded);
    if (status == WEFT_OK)
        status = weft_sparse_write_memory(ctx, matrix, memory, sizeof memory, &bytes);
    if (status == WEFT_OK)
        status = weft_sparse_read_memory(ctx, &read, memory, bytes, WEFT_GENERAL, 0);
    weft_chol_destroy(loaded);
    weft_sparse_destroy(read);
    return status;
}

/* A path of four columns: analyzed, saved to a file in memory, and loaded. */
static weft_status run_chol(weft_context *ctx, test_arrays *a) {
    (void)a;
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    static const int64_t permutation[] = {2, 0, 3, 1};
    static const double value[] = {2, -1, 2, -1, 2, -1, 2};
    static int descriptor;
    const weft_chol_options options = {.size = sizeof options, .permutation = permutation};
    char path[64];
    weft_sparse *matrix;
    weft_chol *plan = NULL, *loaded = NULL;
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
    weft_chol_destroy(loaded);
    if (status == WEFT_OK)
        status = through_memory(ctx, plan, matrix);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    return status;
}

/* The analysis of a strip of 2 x 1200 points: long enough to be dissected. */
static weft_status run_strip(weft_context *ctx, test_arrays *a) {
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
static weft_status factor_times(weft_context *ctx, weft_chol *plan, weft_sparse *matrix, int power,
                                int before) {
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
static weft_status run_again(weft_context *ctx, const test_arrays *a, weft_chol *plan,
                             weft_sparse *matrix) {
    const weft_chol_solve_options refined = {.size = sizeof refined, .refine = 2};
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, condition;
    weft_status status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = factor_times(ctx, plan, matrix, -600, 0);
    const int before = a->allocations();
    if (status == WEFT_OK)
        status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = weft_chol_solve(ctx, plan, matrix, &refined, 2, x, 4, x, 4);
    if (status == WEFT_OK)
        status = weft_chol_condition(ctx, plan, matrix, &condition);
    if (status == WEFT_OK && a->allocations() != before)
        fail_msg("factored and solved again: %d allocations", a->allocations() - before);
    return status;
}

/* Every variant in turn; if one gets no memory, the factor of the one before must still work. */
static weft_status run_variants(weft_context *ctx, const test_arrays *a, weft_chol *plan,
                                weft_sparse *matrix) {
    (void)a;
    int before = 0;
    weft_status status = weft_chol_factor(ctx, plan, matrix);
    for (size_t k = 0; status == WEFT_OK && k < wi_sparse_ladder.count; k++) {
        const int power = before == 0 ? -600 : 0;
        if (!wi_row_serves(&wi_sparse_ladder.rows[k], ctx))
            continue;
        test_use(ctx, "sparse", &wi_sparse_ladder.rows[k]);
        status = factor_times(ctx, plan, matrix, power, before);
        before = power;
    }
    return status;
}

/* A path of four columns, factored with as many threads as there are. */
static weft_status factor_path(weft_context *ctx, const test_arrays *a,
                               weft_status (*run)(weft_context *ctx, const test_arrays *a,
                                                  weft_chol *plan, weft_sparse *matrix)) {
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    static const double value[] = {2, -1, 2, -1, 2, -1, 2};
    weft_sparse *matrix;
    weft_chol *plan = NULL;
    weft_status status = weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                                start, row, value);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, matrix, NULL, &plan);
    if (status == WEFT_OK) {
        plan->least_work = 0;
        status = weft_chol_reserve(ctx, plan, 2);
    }
    if (status == WEFT_OK)
        status = run(ctx, a, plan, matrix);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    return status;
}

/* Tiny values in memory of the place: on a GPU they are fetched. If there is no memory for that,
 * the earlier factor must still work. */
static weft_status run_values_of(weft_context *ctx, const test_arrays *a, weft_chol *plan,
                                 weft_sparse *matrix) {
    double tiny[7], x[4] = {1, 2, 3, 4}, *const value = a->allocated;
    const weft_chol_solve_options with = {.size = sizeof with, .refine = 1, .value = value};
    for (size_t k = 0; k < 7; k++)
        tiny[k] = ldexp(weft_sparse_values(matrix)[k], -600);
    weft_status status = weft_chol_factor(ctx, plan, matrix);
    if (status == WEFT_OK)
        status = weft_copy(ctx, value, tiny, sizeof tiny);
    if (status != WEFT_OK)
        return status;
    status = weft_chol_factor_values(ctx, plan, matrix, value);
    if (status == WEFT_ENOMEM)
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 4, x, 4), WEFT_OK);
    return status == WEFT_OK ? weft_chol_solve(ctx, plan, matrix, &with, 1, x, 4, x, 4) : status;
}

static weft_status run_values(weft_context *ctx, test_arrays *a) {
    weft_status status = weft_alloc(ctx, &a->allocated, 7 * sizeof(double));
    if (status != WEFT_OK)
        return status;
    status = factor_path(ctx, a, run_values_of);
    weft_free(ctx, a->allocated);
    a->allocated = NULL;
    return status;
}

static weft_status run_factor(weft_context *ctx, test_arrays *a) {
    return factor_path(ctx, a, run_again);
}

static weft_status run_every_factor(weft_context *ctx, test_arrays *a) {
    return factor_path(ctx, a, run_variants);
}

/* Saved, loaded and used: signs given for a quasi-definite matrix; pairs of columns for one whose
 * diagonal is 0. Once there is memory, nothing more is taken. */
static weft_status factor_with_d(weft_context *ctx, const test_arrays *a, const weft_sparse *matrix,
                                 const weft_chol_options *options) {
    static char memory[2000];
    const weft_chol_solve_options exact = {.size = sizeof exact, .exact = 1};
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t bytes;
    weft_chol *plan, *loaded = NULL;
    weft_status status = weft_chol_analyze(ctx, matrix, options, &plan);
    if (status == WEFT_OK)
        status = weft_chol_save_memory(ctx, plan, memory, sizeof memory, &bytes);
    if (status == WEFT_OK)
        status = weft_chol_load_memory(ctx, memory, bytes, &loaded);
    if (status == WEFT_OK)
        status = weft_chol_reserve(ctx, loaded, 2);
    if (status == WEFT_OK && ctx->kind == WI_CUDA) /* the first one makes the maps */
        status = weft_chol_factor(ctx, loaded, matrix);
    const int before = a->allocations();
    if (status == WEFT_OK)
        status = weft_chol_factor(ctx, loaded, matrix);
    if (status == WEFT_OK)
        status = weft_chol_solve(ctx, loaded, matrix, NULL, 2, x, 4, x, 4);
    if (status == WEFT_OK && a->allocations() != before)
        fail_msg("factored and solved: %d allocations", a->allocations() - before);
    if (status == WEFT_OK) /* the second half of x, once */
        status = weft_chol_solve(ctx, loaded, matrix, &exact, 2, x, 4, x, 4);
    weft_chol_destroy(loaded);
    weft_chol_destroy(plan);
    return status;
}

static weft_status run_with_d(weft_context *ctx, test_arrays *a) {
    static const int64_t start[] = {0, 2, 4, 6, 7}, row[] = {0, 1, 1, 2, 2, 3, 3};
    static const double hollow[] = {0, 1, 0, 1e4, 0, 1, 0}, quasi[] = {2, 1, -2, 1, 2, 1, -2};
    static const int8_t signs[] = {1, -1, 1, -1};
    const weft_chol_options any = {.size = sizeof any, .kind = WEFT_CHOL_INDEFINITE};
    const weft_chol_options known = {
        .size = sizeof known, .kind = WEFT_CHOL_QUASIDEFINITE, .signs = signs};
    weft_sparse *matrix;
    weft_status status = weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, WEFT_I64,
                                                start, row, hollow);
    if (status == WEFT_OK)
        status = factor_with_d(ctx, a, matrix, &any);
    if (status == WEFT_OK)
        status = weft_sparse_update(ctx, matrix, 7, quasi);
    if (status == WEFT_OK)
        status = factor_with_d(ctx, a, matrix, &known);
    weft_sparse_destroy(matrix);
    return status;
}

/* Column j of a full matrix of ones; `user` is what is added to its diagonal. */
static size_t ones_column(const void *user, size_t j, int64_t *row, double *value) {
    const double *const added = user;
    for (size_t i = j; i < ONES; i++) {
        row[i - j] = (int64_t)i;
        value[i - j] = 1 + (i == j ? *added : 0);
    }
    return ONES - j;
}

/* L of f32, where that serves: with its memory reserved nothing more is taken, but for maps on a
 * GPU. Where it does not, the memory is taken anew. */
static weft_status factor_mixed(weft_context *ctx, const test_arrays *a, double added,
                                bool serves) {
    const wi_made_columns columns = {ONES, ONES, ones_column, &added};
    const weft_chol_options options = {.size = sizeof options, .precision = WEFT_PRECISION_MIXED};
    weft_chol_report report = {.size = sizeof report};
    double x[2 * ONES];
    weft_sparse *matrix = NULL;
    weft_chol *plan = NULL;
    for (size_t k = 0; k < 2 * ONES; k++)
        x[k] = (double)k;
    weft_status status = wi_generate_columns(ctx, "weft_chol_factor", &columns, &matrix);
    if (status == WEFT_OK)
        status = weft_chol_analyze(ctx, matrix, &options, &plan);
    if (status == WEFT_OK)
        status = weft_chol_reserve(ctx, plan, 2);
    if (status == WEFT_OK && ctx->kind == WI_CUDA && serves)
        status = weft_chol_factor(ctx, plan, matrix);
    const int before = a->allocations();
    if (status == WEFT_OK) {
        status = weft_chol_factor(ctx, plan, matrix);
        if (status == WEFT_ENOMEM && !serves) /* then there is no factor, and the plan can go on */
            assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 2, x, ONES, x, ONES),
                             WEFT_EARG);
    }
    if (status == WEFT_OK)
        status = weft_chol_solve(ctx, plan, matrix, NULL, 2, x, ONES, x, ONES);
    if (status == WEFT_OK && serves && a->allocations() != before)
        fail_msg("factored and solved: %d allocations", a->allocations() - before);
    if (status == WEFT_OK)
        status = weft_chol_get_report(ctx, plan, &report);
    if (status == WEFT_OK)
        assert_int_equal(report.fell_back, !serves);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    return status;
}

static weft_status run_mixed(weft_context *ctx, test_arrays *a) {
    const weft_status status = factor_mixed(ctx, a, 1, true);
    return status == WEFT_OK ? factor_mixed(ctx, a, 1e-9, false) : status;
}

static const test_call calls[] = {
    {"weft_sparse_create_triplets", run_sparse, NULL, NULL},
    {"weft_sparse_create_csr", run_sparse_rows, NULL, NULL},
    {"weft_sparse_read", run_sparse_read, NULL, NULL},
    {"weft_chol_analyze", run_chol, &wi_sparse_order_ladder, NULL},
    {"weft_chol_analyze by dissection", run_strip, NULL, NULL},
    {"weft_chol_factor", run_factor, &wi_sparse_ladder, NULL},
    {"weft_chol_factor by all variants", run_every_factor, NULL, NULL},
    {"weft_chol_factor_values", run_values, NULL, NULL},
    {"weft_chol_factor of L D Lt", run_with_d, NULL, NULL},
    {"weft_chol_factor in mixed precision", run_mixed, NULL, NULL},
};

const test_cases wi_sparse_cases = {
    .without_context = without_context, .calls = calls, .call_count = sizeof calls / sizeof *calls};
