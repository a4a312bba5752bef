/* SPDX-License-Identifier: Apache-2.0 */
/* Precision MIXED: large fronts, the same bits each time, what the report says, what is refused,
 * and plans that were saved. */
#include "mixed.h"
#include "sparse/generate.h"

/* ---- larger fronts, and the same bits ---- */

/* Column j of a full matrix: with a strong diagonal, of which every third sign is below 0 if it is
 * quasi-definite; an indefinite one has numbers of one size everywhere. */
typedef struct full {
    size_t n;
    weft_chol_kind kind;
} full;

static size_t full_column(const void *user, size_t j, int64_t *row, double *value) {
    const full *const f = user;
    const double sign = f->kind != WEFT_CHOL_DEFINITE && j % 3 == 2 ? -1 : 1;
    for (size_t i = j; i < f->n; i++) {
        const double any = sin((double)(i * 37 + j * 11)), hash = 1e4 * sin((double)(i * 317 + j));
        row[i - j] = (int64_t)i;
        value[i - j] = f->kind == WEFT_CHOL_INDEFINITE ? hash - floor(hash) - 0.5
                       : i == j                        ? sign * (3 + 0.01 * (double)j)
                                                       : 3 * any / (double)f->n;
    }
    return f->n - j;
}

static weft_sparse *make_full(weft_context *ctx, size_t n, weft_chol_kind kind) {
    const full f = {n, kind};
    weft_sparse *matrix;
    assert_int_equal(
        wi_generate_columns(ctx, "test", &(wi_made_columns){n, n, full_column, &f}, &matrix),
        WEFT_OK);
    return matrix;
}

/* One front of several blocks of columns: with a wrong product refinement would take many steps. */
static void large_fronts(weft_context *ctx) {
    static const size_t sizes[] = {1, 17, 65, 257, 63, 130, 600};
    const size_t count = ctx->kind == WI_CPU ? 7 : test_largest_wanted() ? 4 : 3;
    test_random r = test_random_at(3);
    for (size_t k = 0; k < count; k++) {
        for (int kind = 0; kind < 3; kind++) {
            const size_t n = sizes[k], sides = 3;
            double *const b = malloc(3 * sides * n * sizeof *b), *const x = b + sides * n;
            assert_non_null(b);
            weft_sparse *const matrix = make_full(ctx, n, (weft_chol_kind)kind);
            weft_chol *const plan = test_mixed_plan(ctx, matrix, (weft_chol_kind)kind,
                                                    WEFT_PRECISION_MIXED, "natural", (int)k);
            test_mixed_sides(&r, sides * n, b);
            test_mixed_exactly(matrix, (weft_chol_kind)kind, sides, b, x + sides * n);
            test_mixed_factor(ctx, plan, matrix);
            test_mixed_solve(ctx, plan, matrix, false, sides, b, x);
            const weft_chol_report report = test_report_of(ctx, plan);
            assert_true(test_mixed_distance(n, sides, x, x + sides * n) <= test_mixed_good);
            const bool is_easy = kind != WEFT_CHOL_INDEFINITE;
            if (report.fell_back ||
                (is_easy && (report.krylov_steps > 0 || report.refinements > 6)))
                fail_msg("kind %d, n = %zu: %zu steps, %zu of GMRES, fell back: %d", kind, n,
                         report.refinements, report.krylov_steps, report.fell_back);
            assert_true(is_easy || n < 17 || report.pairs >= n / 8);
            weft_chol_destroy(plan);
            weft_sparse_destroy(matrix);
            free(b);
        }
    }
}

/* The bytes of L, on whichever side they are; to be freed. */
static void *fetch_l(weft_context *ctx, const weft_chol *plan, size_t *bytes) {
    *bytes = plan->on_device ? (size_t)plan->device->schedule.l * sizeof(float)
                             : test_report_of(ctx, plan).factor_bytes;
    void *const l = malloc(*bytes + 1);
    assert_non_null(l);
    if (!plan->on_device)
        memcpy(l, plan->numbers.l, *bytes);
    else
        assert_int_equal(weft_copy(ctx, l, plan->device->l, *bytes), WEFT_OK);
    return l;
}

/* L and x of one run; what of L is above diagonals was zero before. */
static void run_once(weft_context *ctx, const weft_sparse *matrix, weft_chol_kind kind,
                     const double *b, double *x, void **l, size_t *bytes) {
    weft_chol *const plan = test_mixed_plan(ctx, matrix, kind, WEFT_PRECISION_MIXED, "amd", 1);
    assert_int_equal(weft_chol_reserve(ctx, plan, 2), WEFT_OK);
    if (ctx->kind == WI_CPU)
        memset(plan->numbers.l, 0, test_report_of(ctx, plan).factor_bytes);
    assert_int_equal(weft_chol_factor(ctx, plan, matrix), WEFT_OK);
    *l = fetch_l(ctx, plan, bytes);
    test_mixed_solve(ctx, plan, matrix, false, 2, b, x);
    assert_int_equal(test_report_of(ctx, plan).fell_back, 0);
    weft_chol_destroy(plan);
}

/* Twice on this place; on a cpu also with 1, 2 and 7 threads. Emu takes seconds for each kind of
 * matrix. */
static void same_bits(weft_context *own) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
    test_random r = test_random_at(4);
    const wi_recipe recipe = {.n = own->kind == WI_CPU ? 9 : 3};
    weft_sparse *matrix;
    assert_int_equal(wi_generate_elasticity3d(own, "test", &recipe, &matrix), WEFT_OK);
    const size_t n = weft_sparse_rows(matrix);
    double *const b = malloc(6 * n * sizeof *b), *const x = b + 2 * n, *const y = x + 2 * n;
    assert_non_null(b);
    test_mixed_sides(&r, 2 * n, b);
    for (int kind = 0; kind < 3; kind++) {
        void *l, *again;
        if (!test_largest_wanted() && kind != (int)(test_seed() % 3))
            continue;
        size_t bytes, others;
        run_once(own, matrix, (weft_chol_kind)kind, b, x, &l, &bytes);
        for (int k = 0; k < (own->kind == WI_CPU ? 3 : 1); k++) {
            weft_context *const ctx = own->kind == WI_CPU ? test_open(places[k]) : own;
            run_once(ctx, matrix, (weft_chol_kind)kind, b, y, &again, &others);
            assert_int_equal(others, bytes);
            assert_memory_equal(again, l, bytes);
            assert_memory_equal(y, x, 2 * n * sizeof *x);
            free(again);
            if (ctx != own)
                weft_close(ctx);
        }
        free(l);
    }
    free(b);
    weft_sparse_destroy(matrix);
}

/* ---- what else there is ---- */

enum {
    N = 30
};

/* For which L of f32 does not serve. */
static weft_sparse *make_hard(weft_context *ctx, test_random *r) {
    double eigenvalue[N];
    for (size_t i = 0; i < N; i++)
        eigenvalue[i] = i % 2 ? 1 : 1e-12;
    return test_mixed_spectrum(ctx, r, N, eigenvalue);
}

/* What a plan of f32 takes and refuses; once it fell back it is one of f64, also for matrices that
 * would not need it. */
static void report_and_memory(weft_context *ctx) {
    test_random r = test_random_at(7);
    double b[N], x[N];
    test_mixed_sides(&r, N, b);
    weft_sparse *const easy = make_full(ctx, N, WEFT_CHOL_DEFINITE);
    weft_sparse *const hard = make_hard(ctx, &r);
    weft_chol *const wide =
        test_mixed_plan(ctx, easy, WEFT_CHOL_DEFINITE, WEFT_PRECISION_FULL, NULL, 0);
    weft_chol *const plan =
        test_mixed_plan(ctx, easy, WEFT_CHOL_DEFINITE, WEFT_PRECISION_MIXED, NULL, 0);
    test_mixed_factor(ctx, wide, easy);
    test_mixed_factor(ctx, plan, easy);
    const weft_chol_solve_options part = {.size = sizeof part, .part = WEFT_CHOL_L};
    test_refused(ctx, weft_chol_solve(ctx, plan, easy, &part, 1, b, N, x, N), WEFT_EUNSUPPORTED,
                 "weft_chol_solve", "WEFT_PRECISION_FULL");
    test_mixed_solve(ctx, plan, easy, false, 1, b, x);
    const weft_chol_report full_report = test_report_of(ctx, wide),
                           narrow = test_report_of(ctx, plan);
    assert_int_equal(full_report.factor_type, WEFT_F64);
    assert_true(narrow.factor_type == WEFT_F32 && !narrow.fell_back && narrow.refinements > 0);
    assert_int_equal(2 * narrow.factor_bytes, full_report.factor_bytes);
    assert_true(narrow.bytes_peak <= narrow.bytes_needed);
    assert_true(fabs(narrow.logdet - full_report.logdet) <= 1e-5 * fabs(full_report.logdet));
    assert_int_equal(weft_chol_factor(ctx, plan, hard), WEFT_OK);
    test_mixed_solve(ctx, plan, hard, false, 1, b, x);
    const weft_chol_report after = test_report_of(ctx, plan);
    assert_true(after.factor_type == WEFT_F64 && after.fell_back);
    assert_int_equal(after.factor_bytes, full_report.factor_bytes);
    assert_true(after.bytes_peak <= after.bytes_needed);
    assert_int_equal(weft_chol_factor(ctx, plan, easy), WEFT_OK);
    assert_int_equal(test_report_of(ctx, plan).factor_type, WEFT_F64);
    weft_chol_destroy(plan);
    weft_chol_destroy(wide);
    weft_sparse_destroy(hard);
    weft_sparse_destroy(easy);
}

/* A plan that falls back on one place has memory for f32 on another: it is taken anew there. */
static void two_places(weft_context *ctx) {
    test_random r = test_random_at(9);
    double b[N], x[N];
    test_mixed_sides(&r, N, b);
    weft_context *const other = test_open("cpu:2");
    weft_sparse *const easy = make_full(ctx, N, WEFT_CHOL_DEFINITE);
    weft_sparse *const hard = make_hard(ctx, &r);
    for (int k = 0; k < 2; k++) {
        weft_context *const first = k ? ctx : other, *const second = k ? other : ctx;
        weft_chol *const plan =
            test_mixed_plan(ctx, easy, WEFT_CHOL_DEFINITE, WEFT_PRECISION_MIXED, NULL, k);
        test_mixed_factor(first, plan, easy);
        test_mixed_factor(second, plan, hard);
        test_mixed_solve(second, plan, hard, false, 1, b, x);
        assert_int_equal(test_report_of(second, plan).fell_back, 1);
        test_mixed_factor(first, plan, easy);
        test_mixed_solve(first, plan, easy, false, 1, b, x);
        assert_true(test_report_of(first, plan).backward_error <= 0x1p-52);
        weft_chol_destroy(plan);
    }
    weft_sparse_destroy(hard);
    weft_sparse_destroy(easy);
    weft_close(other);
}

/* A matrix that is not positive definite is refused with the proof that FULL gives. */
static void refused(weft_context *ctx) {
    test_random r = test_random_at(8);
    const size_t n = 24;
    double eigenvalue[TEST_MIXED_LARGEST], d[2][TEST_MIXED_LARGEST];
    for (size_t i = 0; i < n; i++)
        eigenvalue[i] = i == 7 ? -0.5 : 1;
    weft_sparse *const matrix = test_mixed_spectrum(ctx, &r, n, eigenvalue);
    for (int k = 0; k < 2; k++) {
        const weft_precision precision = k == 0 ? WEFT_PRECISION_FULL : WEFT_PRECISION_MIXED;
        weft_chol *const plan =
            test_mixed_plan(ctx, matrix, WEFT_CHOL_DEFINITE, precision, NULL, 0);
        test_refused(ctx, weft_chol_factor(ctx, plan, matrix), WEFT_ENOTSPD, "weft_chol_factor",
                     "is not positive definite");
        assert_int_equal(weft_chol_direction(ctx, plan, d[k]), WEFT_OK);
        assert_int_equal(test_report_of(ctx, plan).fell_back, k);
        weft_chol_destroy(plan);
    }
    assert_memory_equal(d[0], d[1], n * sizeof **d);
    const weft_chol_options other = {.size = sizeof other, .precision = WEFT_PRECISION_TF32};
    weft_chol *plan;
    test_refused(ctx, weft_chol_analyze(ctx, matrix, &other, &plan), WEFT_EUNSUPPORTED,
                 "weft_chol_analyze", "WEFT_PRECISION_MIXED");
    weft_sparse_destroy(matrix);
}

/* A plan that was saved keeps its precision. */
static void saved(weft_context *ctx) {
    static char memory[20000];
    size_t bytes;
    double b[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    weft_chol *loaded;
    weft_sparse *const matrix = make_full(ctx, 9, WEFT_CHOL_DEFINITE);
    weft_chol *const plan =
        test_mixed_plan(ctx, matrix, WEFT_CHOL_DEFINITE, WEFT_PRECISION_MIXED, NULL, 0);
    assert_int_equal(weft_chol_save_memory(ctx, plan, memory, sizeof memory, &bytes), WEFT_OK);
    assert_int_equal(weft_chol_load_memory(ctx, memory, bytes, &loaded), WEFT_OK);
    assert_int_equal(weft_chol_factor(ctx, loaded, matrix), WEFT_OK);
    test_mixed_solve(ctx, loaded, matrix, false, 1, b, b);
    assert_int_equal(test_report_of(ctx, loaded).factor_type, WEFT_F32);
    weft_chol_destroy(loaded);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(large_fronts),      TEST_ON_EACH_PLACE(same_bits),
        TEST_ON_EACH_PLACE(report_and_memory), TEST_ON_EACH_PLACE(refused),
        TEST_ON_EACH_PLACE(two_places),        TEST_ON_EACH_PLACE(saved),
    };
    return cmocka_run_group_tests_name("chol_mixed_calls", tests, NULL, NULL);
}
