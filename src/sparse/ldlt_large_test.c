/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt of larger matrices: several windows and blocks of columns in a front, several threads.
 * Their inertia is known from their eigenvalues. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ldlt.h"
#include "testing.h"

/* Right-hand sides: a group of those that are solved together, and more. */
static size_t sides_for(const weft_context *ctx) {
    return ctx->kind == WI_CPU ? 18 : 9;
}

/* On a cpu every number of threads is tested at once. */
static bool is_other_cpu(const weft_context *ctx) {
    return ctx->kind == WI_CPU && ctx->threads > 1;
}

static uint64_t add_bits(uint64_t hash, const void *from, size_t bytes) {
    const unsigned char *const byte = from;
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ byte[k]) * UINT64_C(0x100000001B3);
    return hash;
}

/* A hash of the bits of L, D and the interchanges. */
static uint64_t hash_of(weft_context *ctx, const weft_chol *plan) {
    const wi_pivots *const pivots = &plan->numbers.pivots;
    const size_t n = (size_t)plan->symbolic.n;
    size_t count;
    double *const l = test_ldlt_fetch(ctx, plan, &count);
    uint64_t hash = add_bits(UINT64_C(0xCBF29CE484222325), l, count * sizeof *l);
    free(l);
    hash = add_bits(hash, pivots->d, n * sizeof *pivots->d);
    hash = add_bits(hash, pivots->mark, n);
    return add_bits(hash, pivots->swap, n * sizeof *pivots->swap);
}

/* Factors and solves in one place; the hash is of the factor and of the solution. */
static uint64_t run(weft_context *ctx, const weft_sparse *matrix, weft_chol_kind kind,
                    double least_work, weft_chol_report *report) {
    const weft_chol_options options = {.size = sizeof options, .kind = kind, .ordering = "amd"};
    const size_t n = weft_sparse_rows(matrix), sides = sides_for(ctx);
    double *const x = malloc(n * sides * sizeof *x);
    weft_chol *const plan = test_ldlt_plan(ctx, matrix, &options);
    plan->least_work = least_work;
    assert_int_equal(weft_chol_reserve(ctx, plan, sides), WEFT_OK);
    const size_t needed = test_report_of(ctx, plan).bytes_needed;
    test_ldlt_factor(ctx, plan, matrix);
    for (size_t k = 0; k < n * sides; k++)
        x[k] = (double)(k % 13) - 5;
    assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, sides, x, n, x, n), WEFT_OK);
    *report = test_report_of(ctx, plan);
    const uint64_t hash = add_bits(hash_of(ctx, plan), x, n * sides * sizeof *x);
    assert_true(report->bytes_needed == needed && report->bytes_peak == needed);
    assert_int_equal(report->positive + report->negative + report->perturbed, n);
    weft_chol_destroy(plan);
    free(x);
    return hash;
}

/* The same bits for any number of threads, with tasks and without; or by both rungs of a GPU. */
static weft_chol_report run_everywhere(weft_context *own, const weft_sparse *matrix,
                                       weft_chol_kind kind, const char *what) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
    static const char *const rungs[] = {NULL, "overlapped"};
    weft_chol_report report = {.size = sizeof report};
    const bool on_gpu = own->kind != WI_CPU;
    uint64_t expected = 0;
    for (int k = 0; k < (on_gpu ? 2 : 3); k++) {
        weft_context *const ctx = on_gpu ? own : test_open(places[k]);
        assert_int_equal(weft_use(ctx, "sparse", on_gpu ? rungs[k] : NULL), WEFT_OK);
        const uint64_t hash = run(ctx, matrix, kind, k % 2 ? 1e5 : 0, &report);
        if (k == 0)
            expected = hash;
        if (hash != expected)
            fail_msg("%s: %s gives other bits than the first run", what,
                     on_gpu ? rungs[k] : places[k]);
        if (!on_gpu)
            weft_close(ctx);
    }
    if (!(report.backward_error <= 1e-13))
        fail_msg("%s: backward error %g, %zu stalled, %zu replaced", what, report.backward_error,
                 report.stalled, report.perturbed);
    return report;
}

/* A - shift I. */
static void subtract_shift(weft_context *ctx, weft_sparse *matrix, double shift) {
    const size_t n = weft_sparse_entries(matrix);
    double *const value = malloc(n * sizeof *value);
    memcpy(value, weft_sparse_values(matrix), n * sizeof *value);
    for (size_t j = 0; j < weft_sparse_cols(matrix); j++)
        value[weft_sparse_starts(matrix)[j]] -= shift;
    assert_int_equal(weft_sparse_update(ctx, matrix, n, value), WEFT_OK);
    free(value);
}

/* The Laplacian of a square of side x side points, 1e-3 - shift added to the diagonal; how many
 * eigenvalues are below 0, and how close the closest is. */
static weft_sparse *shifted_laplacian(weft_context *ctx, size_t side, double shift) {
    weft_sparse *const matrix = test_generated(ctx, "laplace2d", side);
    subtract_shift(ctx, matrix, shift);
    return matrix;
}

static size_t count_below(size_t side, double shift, double *closest) {
    const double pi = acos(-1);
    size_t below = 0;
    *closest = INFINITY;
    for (size_t i = 1; i <= side; i++) {
        for (size_t j = 1; j <= side; j++) {
            const double eigenvalue = 4 + 1e-3 - 2 * cos((double)i * pi / (double)(side + 1)) -
                                      2 * cos((double)j * pi / (double)(side + 1)) - shift;
            below += eigenvalue < 0;
            *closest = fmin(*closest, fabs(eigenvalue));
        }
    }
    return below;
}

static void laplacians(weft_context *ctx) {
    test_random r = test_random_at(1);
    const int count = (int)test_times(ctx->kind == WI_CPU ? 12 : 4);
    for (int k = 0; k < count && !is_other_cpu(ctx); k++) {
        const size_t side = 20 + test_below(&r, ctx->kind == WI_CPU ? 30 : 8);
        double closest, shift;
        size_t below;
        do {
            shift = 4 + 4 * test_unit(&r);
            below = count_below(side, shift, &closest);
        } while (closest < 1e-5);
        weft_sparse *const matrix = shifted_laplacian(ctx, side, shift);
        const weft_chol_report report =
            run_everywhere(ctx, matrix, WEFT_CHOL_INDEFINITE, "Laplacian");
        if (report.perturbed == 0 && report.negative != below)
            fail_msg("side %zu, shift %.17g: %zu pivots below 0, %zu eigenvalues", side, shift,
                     report.negative, below);
        weft_sparse_destroy(matrix);
    }
}

/* Every pair of rows connected; the diagonal is 0, or c. With cos(i j) beside it. */
typedef struct full {
    size_t n;
    double diagonal;
} full;

static size_t full_column(const void *user, size_t j, int64_t *row, double *value) {
    const full *const f = user;
    for (size_t i = j; i < f->n; i++) {
        row[i - j] = (int64_t)i;
        value[i - j] = i == j ? f->diagonal : cos((double)(i * j % 1000));
    }
    return f->n - j;
}

static weft_sparse *make_full(weft_context *ctx, size_t n, double diagonal) {
    const full f = {n, diagonal};
    const wi_made_columns columns = {.n = n, .most = n, .column = full_column, .user = &f};
    weft_sparse *matrix;
    if (wi_generate_columns(ctx, "test", &columns, &matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* Emu takes seconds for the largest matrix: with the usual budget it has one kind of diagonal, by
 * the seed, and every second round has none. */
static bool is_curbed(const weft_context *ctx) {
#ifdef WEFT_EMU
    return ctx->kind != WI_CPU && test_times(2) < 2;
#else
    return false && ctx;
#endif
}

static void full_fronts(weft_context *ctx) {
    static const size_t sizes[] = {1, 2, 63, 65, 130, 257, 3, 23, 24, 25, 64, 255, 330};
    const size_t count = ctx->kind == WI_CPU ? sizeof sizes / sizeof *sizes : 6;
    const size_t drawn = is_curbed(ctx) ? test_seed() % 2 : 2;
    for (size_t k = 0; k < 2 * count && !is_other_cpu(ctx); k++) {
        const size_t n = sizes[k / 2];
        const bool is_largest = n == 257;
        char what[48];
        if ((k % 2 && n == 1) || !test_size_wanted(n) ||
            (is_largest && (k % 2 == drawn || !test_largest_wanted())))
            continue;
        snprintf(what, sizeof what, "full, %zu, diagonal %s", n, k % 2 ? "0" : "large");
        weft_sparse *const matrix = make_full(ctx, n, k % 2 ? 0 : -2.0 * (double)n);
        const weft_chol_report report = run_everywhere(ctx, matrix, WEFT_CHOL_INDEFINITE, what);
        if (k % 2 == 0)
            assert_int_equal(report.negative, n);
        else
            assert_true(report.pairs > 0 && report.perturbed == 0);
        if (k % 2 == 0 && !(is_largest && is_curbed(ctx))) {
            const weft_chol_report known =
                run_everywhere(ctx, matrix, WEFT_CHOL_QUASIDEFINITE, what);
            assert_int_equal(known.negative, n);
        }
        weft_sparse_destroy(matrix);
    }
}

/* [H Bt; B -C] of a Laplacian H and conditions on four neighbouring unknowns each; C = c I. There
 * are as many pivots below 0 as conditions. */
static weft_sparse *saddle(weft_context *ctx, size_t side, double c) {
    const size_t n = side * side, conditions = n / 4, entries = 3 * n + 5 * conditions;
    int64_t *const row = malloc(2 * entries * sizeof *row), *const col = row + entries;
    double *const value = malloc(entries * sizeof *value);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct {
            size_t column;
            bool there;
        } beside[] = {{i, true}, {i - 1, i % side > 0}, {i - side, i >= side}};
        for (size_t k = 0; k < 3; k++) {
            if (!beside[k].there)
                continue;
            row[count] = (int64_t)i;
            col[count] = (int64_t)beside[k].column;
            value[count++] = k == 0 ? 4 : -1;
        }
    }
    for (size_t k = 0; k < conditions; k++) {
        for (size_t j = 0; j < 5; j++) {
            if (j == 4 && c == 0)
                continue;
            row[count] = (int64_t)(n + k);
            col[count] = (int64_t)(j == 4 ? n + k : 4 * k + j);
            value[count++] = j == 4 ? -c : 1 + (double)(j * k % 3);
        }
    }
    weft_sparse *matrix;
    const size_t all = n + conditions;
    if (weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, all, all, count, WEFT_I64,
                                    row, col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    free(row);
    free(value);
    return matrix;
}

static void saddles(weft_context *ctx) {
    static const double c[] = {1, 1e-6, 0};
    const size_t largest = ctx->kind == WI_CPU ? 50 : 20, step = ctx->kind == WI_CPU ? 20 : 10;
    for (size_t side = 10; side <= largest && !is_other_cpu(ctx); side += step) {
        for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
            if (side > 10 && is_curbed(ctx) && (k != test_seed() % 3 || !test_largest_wanted()))
                continue;
            weft_sparse *const matrix = saddle(ctx, side, c[k]);
            weft_chol_report report = run_everywhere(ctx, matrix, WEFT_CHOL_INDEFINITE, "saddle");
            assert_int_equal(report.negative, side * side / 4);
            assert_int_equal(report.positive, side * side);
            if (c[k] > 0) {
                report =
                    run_everywhere(ctx, matrix, WEFT_CHOL_QUASIDEFINITE, "saddle, signs known");
                assert_int_equal(report.negative, side * side / 4);
                assert_int_equal(report.perturbed, 0);
            }
            weft_sparse_destroy(matrix);
        }
    }
}

/* The small ones of the real matrices, shifted by a tenth of the mean of their diagonals: as many
 * eigenvalues are below 0 on every place. */
static void files(weft_context *ctx) {
    static const char *const names[] = {"494_bus", "bcsstk20", "bcsstk02"};
    const char *const folder = getenv("WEFT_MATRICES");
    for (size_t k = 0; k < sizeof names / sizeof *names && folder && !is_other_cpu(ctx); k++) {
        char path[4096];
        double sum = 0;
        weft_sparse *matrix;
        snprintf(path, sizeof path, "%s/%s.mtx", folder, names[k]);
        if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
            continue;
        for (size_t j = 0; j < weft_sparse_cols(matrix); j++)
            sum += weft_sparse_values(matrix)[weft_sparse_starts(matrix)[j]];
        subtract_shift(ctx, matrix, sum / (double)weft_sparse_cols(matrix) / 10);
        const weft_chol_report own = run_everywhere(ctx, matrix, WEFT_CHOL_INDEFINITE, names[k]);
        weft_context *const cpu = test_open("cpu:1");
        const weft_chol_report other = run_everywhere(cpu, matrix, WEFT_CHOL_INDEFINITE, names[k]);
        weft_close(cpu);
        assert_true(own.negative > 0 && own.positive > 0);
        if (own.perturbed == 0 && other.perturbed == 0)
            assert_int_equal(own.negative, other.negative);
        weft_sparse_destroy(matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(laplacians),
        TEST_ON_EACH_PLACE(full_fronts),
        TEST_ON_EACH_PLACE(saddles),
        TEST_ON_EACH_PLACE(files),
    };
    return cmocka_run_group_tests_name("ldlt_large", tests, NULL, NULL);
}
