/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of the factorization refuse, unusual shapes, progress and cancelling, plans from
 * files, and memory: the report's promise compared with what the process takes. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "systems.h"
#include "testing.h"

static weft_chol *analyzed(weft_context *ctx, const weft_sparse *matrix) {
    weft_chol *plan;
    if (weft_chol_analyze(ctx, matrix, NULL, &plan) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return plan;
}

/* ---- refusals ---- */

static void refuse_plans(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan) {
    double x[9];
    assert_int_equal(weft_chol_reserve(NULL, plan, 1), WEFT_EARG);
    assert_int_equal(weft_chol_on_progress(NULL, plan, NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_chol_factor(NULL, plan, matrix), WEFT_EARG);
    assert_int_equal(weft_chol_direction(NULL, plan, x), WEFT_EARG);
    assert_int_equal(weft_chol_solve(NULL, plan, matrix, NULL, 1, x, 9, x, 9), WEFT_EARG);
    assert_int_equal(weft_chol_condition(NULL, plan, matrix, x), WEFT_EARG);
    test_refused(ctx, weft_chol_reserve(ctx, NULL, 1), WEFT_EARG, "weft_chol_reserve", "plan");
    test_refused(ctx, weft_chol_on_progress(ctx, NULL, NULL, NULL), WEFT_EARG,
                 "weft_chol_on_progress", "plan");
    test_refused(ctx, weft_chol_factor(ctx, NULL, matrix), WEFT_EARG, "weft_chol_factor", "plan");
    test_refused(ctx, weft_chol_factor(ctx, plan, NULL), WEFT_EARG, "weft_chol_factor", "matrix");
    test_refused(ctx, weft_chol_direction(ctx, NULL, x), WEFT_EARG, "weft_chol_direction", "plan");
    test_refused(ctx, weft_chol_direction(ctx, plan, x), WEFT_EARG, "weft_chol_direction", "plan");
    test_refused(ctx, weft_chol_solve(ctx, NULL, matrix, NULL, 1, x, 9, x, 9), WEFT_EARG,
                 "weft_chol_solve", "plan");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, 9, x, 9), WEFT_EARG,
                 "weft_chol_solve", "factor");
    test_refused(ctx, weft_chol_condition(ctx, plan, matrix, x), WEFT_EARG, "weft_chol_condition",
                 "factor");
}

static void refuse_solves(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan) {
    static const char call[] = "weft_chol_solve";
    double b[32] = {0}, x[32] = {0};
    const struct {
        weft_chol_solve_options options;
        const char *word;
    } wrong[] = {
        {{.size = 0}, "size"},
        {{.size = sizeof(weft_chol_solve_options) + 1}, "size"},
        {{.size = sizeof(weft_chol_solve_options), .part = (weft_chol_part)3}, "part"},
        {{.size = sizeof(weft_chol_solve_options), .part = (weft_chol_part)-1}, "part"},
        {{.size = sizeof(weft_chol_solve_options), .refine = -1}, "refine"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        test_refused(ctx, weft_chol_solve(ctx, plan, matrix, &wrong[k].options, 1, b, 9, x, 9),
                     WEFT_EARG, call, wrong[k].word);
    const weft_chol_solve_options old = {.size = sizeof old.size};
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, &old, 1, b, 9, x, 9), WEFT_OK);
    test_refused(ctx, weft_chol_solve(ctx, plan, NULL, NULL, 1, b, 9, x, 9), WEFT_EARG, call,
                 "matrix");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, NULL, 9, x, 9), WEFT_EARG, call,
                 "b");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 9, NULL, 9), WEFT_EARG, call,
                 "x");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 8, x, 9), WEFT_EARG, call,
                 "ldb");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 9, x, 8), WEFT_EARG, call,
                 "ldx");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, b, 9, b + 1, 9), WEFT_EARG, call,
                 "overlap");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 2, b, 9, b, 10), WEFT_EARG, call,
                 "ldx");
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, SIZE_MAX / 4, b, 9, x, 9), WEFT_EARG,
                 call, NULL);
    b[11 + 8] = NAN;
    x[0] = 77;
    test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 2, b, 11, x, 9), WEFT_ENONFINITE,
                 call, "row 8 of column 1");
    assert_true(x[0] == 77);
    test_refused(ctx, weft_chol_condition(ctx, plan, matrix, NULL), WEFT_EARG,
                 "weft_chol_condition", "estimate");
    test_refused(ctx, weft_chol_condition(ctx, plan, NULL, x), WEFT_EARG, "weft_chol_condition",
                 "matrix");
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 0, NULL, 9, NULL, 9), WEFT_OK);
}

/* The same entries, but not as half of a symmetric matrix. */
static void refuse_general(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan) {
    const size_t n = weft_sparse_rows(matrix);
    weft_sparse *general;
    assert_int_equal(weft_sparse_create_csc(
                         ctx, &general, WEFT_GENERAL, n, n, WEFT_I64, weft_sparse_starts(matrix),
                         weft_sparse_row_indices(matrix), weft_sparse_values(matrix)),
                     WEFT_OK);
    test_refused(ctx, weft_chol_factor(ctx, plan, general), WEFT_EARG, "weft_chol_factor",
                 "pattern");
    weft_sparse_destroy(general);
}

/* A front larger than any memory, as in a plan of 2^29 rows that are all connected. */
static void refuse_front(weft_context *ctx, const weft_sparse *matrix) {
    weft_chol *const plan = analyzed(ctx, matrix);
    plan->symbolic.largest_front = INT64_C(1) << 29;
    test_refused(ctx, weft_chol_reserve(ctx, plan, 1), WEFT_ENOMEM, "weft_chol_reserve", "front");
    test_refused(ctx, weft_chol_factor(ctx, plan, matrix), WEFT_ENOMEM, "weft_chol_factor",
                 "front");
    weft_chol_destroy(plan);
}

/* Another pattern of the same size, even with the same number of entries. */
static void refuse_matrices(weft_context *ctx, weft_chol *plan) {
    const int64_t row[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7, 7, 7, 7};
    const int64_t col[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3};
    double value[21], x[9] = {0};
    for (int k = 0; k < 21; k++)
        value[k] = k < 9 ? 9 : 1;
    for (size_t entries = 20; entries <= 21; entries++) {
        weft_sparse *other;
        assert_int_equal(weft_sparse_create_triplets(ctx, &other, WEFT_SYMMETRIC_LOWER, 9, 9,
                                                     entries, WEFT_I64, row, col, value),
                         WEFT_OK);
        test_refused(ctx, weft_chol_factor(ctx, plan, other), WEFT_EARG, "weft_chol_factor",
                     "pattern");
        test_refused(ctx, weft_chol_solve(ctx, plan, other, NULL, 1, x, 9, x, 9), WEFT_EARG,
                     "weft_chol_solve", "pattern");
        /* A plan that claims this pattern nevertheless, as a forged file might. */
        weft_chol *const forged = analyzed(ctx, other);
        weft_sparse *const mesh = test_generated(ctx, "laplace2d", 3);
        weft_chol *const wrong = analyzed(ctx, mesh);
        wrong->fingerprint = forged->fingerprint;
        wrong->report.nnz_a = forged->report.nnz_a;
        test_refused(ctx, weft_chol_factor(ctx, wrong, other), WEFT_EARG, "weft_chol_factor",
                     "matrix");
        weft_chol_destroy(forged);
        weft_chol_destroy(wrong);
        weft_sparse_destroy(mesh);
        weft_sparse_destroy(other);
    }
}

static void test_refusals(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 3);
    weft_chol *const plan = analyzed(ctx, matrix);
    refuse_plans(ctx, matrix, plan);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    test_refused(ctx, weft_chol_direction(ctx, plan, NULL), WEFT_EARG, "weft_chol_direction",
                 "plan");
    refuse_solves(ctx, matrix, plan);
    refuse_matrices(ctx, plan);
    refuse_general(ctx, matrix, plan);
    refuse_front(ctx, matrix);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* ---- unusual shapes ---- */

/* A diagonal matrix; n = 0 and 1 too. */
static void test_diagonal(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 1000, 70000};
    weft_context *const ctx = test_open("cpu:2");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k];
        int64_t *const start = malloc((n + 1) * sizeof *start);
        double *const value = malloc((n + 1) * sizeof *value), *const x = calloc(n + 1, sizeof *x);
        weft_sparse *matrix;
        double condition, logdet = 0;
        for (size_t i = 0; i <= n; i++) {
            start[i] = (int64_t)i;
            value[i] = ldexp(1, (int)(i % 5));
            x[i] = 3 * value[i];
            logdet += i < n ? log(value[i]) : 0;
        }
        assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, WEFT_I64,
                                                start, start, value),
                         WEFT_OK);
        weft_chol *const plan = analyzed(ctx, matrix);
        plan->least_work = 0;
        assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_OK);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs(x[i] - 3) <= 0x1p-50);
        assert_int_equal(weft_chol_condition(ctx, plan, matrix, &condition), WEFT_OK);
        assert_true(n == 0 ? condition == 0 : condition >= 1 - 1e-12 && condition <= 16.001);
        assert_true(fabs(test_report_of(ctx, plan).logdet - logdet) <= 1e-9);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
        free(start);
        free(value);
        free(x);
    }
    weft_close(ctx);
}

/* A 2 x 2 matrix with this lower triangle. */
static weft_sparse *two(weft_context *ctx, double a, double b, double c) {
    static const int64_t start[] = {0, 2, 3}, row[] = {0, 1, 1};
    const double value[] = {a, b, c};
    weft_sparse *matrix;
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 2, 2, WEFT_I64,
                                            start, row, value),
                     WEFT_OK);
    return matrix;
}

/* A pivot of 0 is refused like those below 0; a singular matrix and one that overflows get
 * different statuses. */
static void test_edges_of_double(void **state) {
    (void)state;
    const struct {
        double a, b, c;
        weft_status status;
    } cases[] = {{1, 1, 1, WEFT_ESINGULAR},         {0, 0, 1, WEFT_ESINGULAR},
                 {-0.0, 0, 1, WEFT_ESINGULAR},      {0, 1, 0, WEFT_ENOTSPD},
                 {0, 1, 1, WEFT_ENOTSPD},           {1, 1, 1 - 0x1p-30, WEFT_ENOTSPD},
                 {4, 2, 1 + 0x1p-52, WEFT_OK},      {1e-300, 1e200, 1, WEFT_ENONFINITE},
                 {4, 4, 4, WEFT_ESINGULAR},         {1e300, 1e100, 1e300, WEFT_OK},
                 {1e-300, 1e-310, 1e-300, WEFT_OK}, {5e-324, 0, 5e-324, WEFT_OK}};
    weft_context *const ctx = test_open("cpu:1");
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_sparse_ladder, rows);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static const int64_t natural[] = {0, 1};
        const weft_chol_options options = {
            .size = sizeof options, .ordering = "given", .permutation = natural};
        weft_sparse *const matrix = two(ctx, cases[k].a, cases[k].b, cases[k].c);
        weft_chol *plan;
        double d[2];
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
        for (size_t row = 0; row < count; row++) {
            test_use(ctx, "sparse", rows[row]);
            const weft_status status = weft_chol_factor(ctx, plan, matrix);
            if (status != cases[k].status)
                fail_msg("case %zu, %s: %s: %s", k, rows[row] ? rows[row]->name : "auto",
                         weft_status_name(status), weft_message(ctx));
            if (status != WEFT_OK)
                test_refused(ctx, status, status, "weft_chol_factor", "column");
            assert_int_equal(weft_chol_direction(ctx, plan, d),
                             status == WEFT_ENOTSPD || status == WEFT_ESINGULAR ? WEFT_OK
                                                                                : WEFT_EARG);
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* Multiplied by powers of 4, small and large, a matrix keeps its condition number. */
static void test_condition_of_scaled(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", 9);
    const size_t entries = weft_sparse_entries(matrix);
    double *const value = malloc(2 * entries * sizeof *value), *const scaled = value + entries;
    double expected = 0;
    memcpy(value, weft_sparse_values(matrix), entries * sizeof *value);
    for (int power = -1060; power <= 1020; power += 20) {
        double condition;
        for (size_t k = 0; k < entries; k++)
            scaled[k] = ldexp(value[k], power);
        assert_int_equal(weft_sparse_update(ctx, matrix, entries, scaled), WEFT_OK);
        weft_chol *const plan = analyzed(ctx, matrix);
        assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
        assert_int_equal(weft_chol_condition(ctx, plan, matrix, &condition), WEFT_OK);
        if (power == -1060) /* few digits are left of 1e-319 */
            expected = condition;
        if (!(fabs(condition / expected - 1) <= 1e-3) || !(condition > 1))
            fail_msg("times 2^%d: condition %g, not %g", power, condition, expected);
        weft_chol_destroy(plan);
    }
    free(value);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* ---- progress ---- */

typedef struct progress {
    int calls, stop_after; /* 0: never */
    double last;
} progress;

static int watch(void *user, double done) {
    progress *const p = user;
    assert_true(done > p->last && done <= 1);
    p->last = done;
    p->calls++;
    return p->stop_after > 0 && p->calls >= p->stop_after;
}

static void check_progress(weft_context *ctx, const wi_row *row, const weft_sparse *matrix) {
    weft_chol *const plan = analyzed(ctx, matrix);
    const size_t n = weft_sparse_rows(matrix);
    double *const x = calloc(n, sizeof *x);
    progress p = {.stop_after = 0};
    plan->least_work = 0;
    test_use(ctx, "sparse", row);
    assert_int_equal(weft_chol_on_progress(ctx, plan, watch, &p), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_true(p.calls > 2 && (ctx->threads > 1 || p.last > 0.9));
    for (int stop = 1; stop < 40; stop += 1 + stop / 4) {
        p = (progress){.stop_after = stop};
        const weft_status status = weft_chol_factor(ctx, plan, matrix);
        if (p.calls < stop) {
            assert_int_equal(status, WEFT_OK);
            continue;
        }
        test_refused(ctx, status, WEFT_ECANCELLED, "weft_chol_factor", "cancelled");
        assert_int_equal(p.calls, stop);
        assert_true(test_report_of(ctx, plan).factor_seconds == 0);
        test_refused(ctx, weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_EARG,
                     "weft_chol_solve", "factor");
    }
    assert_int_equal(weft_chol_on_progress(ctx, plan, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_OK);
    free(x);
    weft_chol_destroy(plan);
}

static void test_progress(void **state) {
    (void)state;
    static const char *const places[] = {"cpu:1", "cpu:3"};
    for (int k = 0; k < 2; k++) {
        const wi_row *rows[TEST_MAX_ROWS];
        weft_context *const ctx = test_open(places[k]);
        weft_sparse *const matrix = test_generated(ctx, "laplace2d", 60);
        const size_t count = test_rows(ctx, &wi_sparse_ladder, rows);
        for (size_t row = 0; row < count; row++)
            check_progress(ctx, rows[row], matrix);
        weft_sparse_destroy(matrix);
        weft_close(ctx);
    }
}

/* ---- plans from files, reports, memory ---- */

static void test_loaded(void **state) {
    (void)state;
    char path[64];
    weft_context *const ctx = test_open("cpu:2");
    weft_sparse *const matrix = test_generated(ctx, "laplace3d", 6);
    const size_t n = weft_sparse_rows(matrix);
    const int file = memfd_create("plan", 0);
    double *const x = malloc(2 * n * sizeof *x), *const y = x + n;
    weft_chol *const plan = analyzed(ctx, matrix), *loaded;
    assert_true(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
    assert_int_equal(weft_chol_load(ctx, path, &loaded), WEFT_OK);
    for (size_t i = 0; i < n; i++)
        x[i] = y[i] = (double)i;
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, loaded, matrix), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, loaded, matrix, NULL, 1, y, n, y, n), WEFT_OK);
    assert_memory_equal(x, y, n * sizeof *x);
    free(x);
    close(file);
    weft_chol_destroy(plan);
    weft_chol_destroy(loaded);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* A matrix too small for a second thread does not get one. */
static void test_small_alone(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2");
    static const size_t sizes[] = {3, 30};
    for (size_t k = 0; k < 2; k++) {
        weft_sparse *const matrix = test_generated(ctx, "laplace3d", sizes[k]);
        weft_chol *const plan = analyzed(ctx, matrix);
        assert_int_equal(weft_chol_reserve(ctx, plan, 1), WEFT_OK);
        assert_true(plan->numbers.cut.alone == (k == 0));
        assert_int_equal(plan->numbers.cut.threads, 1 + k);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

static void test_report(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:2"), *const alone = test_open("cpu:1");
    weft_sparse *const matrix = test_generated(ctx, "laplace3d", 16);
    const size_t n = weft_sparse_rows(matrix);
    double *const x = calloc(20 * n, sizeof *x);
    weft_chol *const plan = analyzed(ctx, matrix);
    plan->least_work = 0;
    weft_chol_report report = test_report_of(ctx, plan);
    const size_t needed = report.bytes_needed;
    assert_true(report.bytes_peak == 0 && report.factor_seconds == 0 && report.logdet == 0);
    assert_true(report.order_seconds > 0 && report.order_seconds < report.analyze_seconds);
    assert_true(test_report_of(alone, plan).bytes_needed < needed);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    report = test_report_of(alone, plan);
    assert_true(report.bytes_needed == needed && report.bytes_peak == needed);
    assert_true(report.factor_seconds > 0 && report.factor_gflops > 0 && report.logdet > 0);
    x[0] = 1;
    assert_int_equal(weft_chol_solve(alone, plan, matrix, NULL, 20, x, n, x, n), WEFT_OK);
    report = test_report_of(ctx, plan);
    assert_true(report.bytes_needed > needed && report.bytes_peak == report.bytes_needed);
    assert_true(report.solve_seconds > 0 && report.backward_error > 0 &&
                report.backward_error <= 1e-13 && report.refinements == 0);
    /* 16 of them are solved together; the report must not be that of the last ones, which need no
     * step. */
    const weft_chol_solve_options refined = {.size = sizeof refined, .refine = 5};
    memset(x, 0, 20 * n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = sin((double)i);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, &refined, 20, x, n, x, n), WEFT_OK);
    report = test_report_of(ctx, plan);
    assert_true(report.backward_error > 0 && report.refinements > 0);
    free(x);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(alone);
    weft_close(ctx);
}

static size_t resident(void) {
    unsigned long pages = 0, all = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The most memory resident since this process started this program. */
static size_t most_resident(void) {
    char line[256];
    size_t kib = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %zu", &kib) != 1)
            kib = 0;
    }
    if (file)
        fclose(file);
    return kib * 1024;
}

/* How many bytes factor and solve took, relative to the prediction. Runs in its own process, so
 * that no freed memory is used again. */
static double memory_ratio(void) {
    weft_context *const ctx = test_open("cpu:2");
    weft_sparse *const matrix = test_generated(ctx, "laplace3d", 36);
    const size_t n = weft_sparse_rows(matrix);
    double *const x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    const size_t before = resident();
    weft_chol *const plan = analyzed(ctx, matrix);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_OK);
    return ((double)most_resident() - (double)before) /
           (double)test_report_of(ctx, plan).bytes_needed;
}

static void test_memory(void **state) {
    (void)state;
    int ends[2], status;
    double ratio = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ratio = memory_ratio();
        _exit(write(ends[1], &ratio, sizeof ratio) != sizeof ratio);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &ratio, sizeof ratio), sizeof ratio);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    print_message("peak memory over what was predicted: %.4f\n", ratio);
#if !defined __SANITIZE_ADDRESS__
    assert_true(ratio >= 0.95 && ratio <= 1.05);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), /* first: a forked process has only the calling thread */
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_edges_of_double), cmocka_unit_test(test_condition_of_scaled),
        cmocka_unit_test(test_progress),        cmocka_unit_test(test_loaded),
        cmocka_unit_test(test_report),          cmocka_unit_test(test_small_alone),
    };
    return cmocka_run_group_tests_name("chol_calls", tests, NULL, NULL);
}
