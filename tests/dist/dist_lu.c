/* SPDX-License-Identifier: Apache-2.0 */
/* Dense systems over ranks. */
#include "dist_matrix.h"

#include "limits.h"

/* ---- matrices ---- */

enum {
    NOWHERE = 1 << 20 /* no column */
};

/* P' L U whose elimination rounds nothing: multipliers are 0, 1/2 or 1/4 and only of even columns
 * and odd rows, so that no sum of products has many terms. If column `zero` depends on those before
 * it, no rows are exchanged. */
static double *exact_matrix(test_random *r, size_t m, size_t n, size_t zero) {
    double *const a = calloc(m * n + 1, sizeof *a), *const l = calloc(m + 1, sizeof *l);
    assert_true(a && l);
    for (size_t k = 0; k < m && k < n; k++) {
        for (size_t i = k + 1; i < m; i++)
            l[i] = k % 2 == 0 && i % 2 == 1 && k != zero ? 0.25 * (double)dist_draw(r, 3) : 0;
        l[k] = 1;
        for (size_t j = k; j < n; j++) {
            const double u = j == k ? (k == zero ? 0 : (double)(1 << dist_draw(r, 3)))
                                    : (double)dist_draw(r, 9) - 4;
            for (size_t i = k; i < m; i++)
                a[i + j * m] += l[i] * u;
        }
    }
    for (size_t k = 0; k < m && zero == NOWHERE; k++) {
        const size_t with = k + dist_draw(r, m - k);
        for (size_t j = 0; j < n; j++) {
            const double x = a[k + j * m];
            a[k + j * m] = a[with + j * m];
            a[with + j * m] = x;
        }
    }
    free(l);
    return a;
}

/* ---- factors ---- */

enum {
    LU_RUNGS = 4
};
static const char *const lu_rungs[LU_RUNGS] = {"ranks", "ranks_blocks", "ranks_grid",
                                               "ranks_columns"};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The same bits as on one place, where nothing is rounded; with a NaN only the same outcome. */
static void exact_case(test_random *r, const factor_case *f, size_t zero, bool nan) {
    const size_t pivots = least(f->m, f->n);
    double *const a = exact_matrix(r, f->m, f->n, zero);
    int64_t *const pivot = calloc(pivots + 1, sizeof *pivot);
    const bool by_rows = dist_draw(r, 2);
    const piece p = choose_piece(r, f->type, by_rows, f->m, dist_deal(r, f->shape, f->n));
    if (nan)
        a[dist_draw(r, f->m * f->n)] = NAN;
    dist_array da = take_piece(r, &p, a), dp = dist_take(r, NULL, pivots * sizeof *pivot);
    const weft_status one =
        weft_lu_factor(dist_one, 0, WEFT_F64, f->m, f->n, a, f->m ? f->m : 1, pivot);
    const unsigned how = by_rows ? WEFT_ROW_MAJOR : 0;
    expect_outcome(one, weft_lu_factor(dist_ctx, how, f->type, f->m, p.part.n, da.p, p.ld, dp.p));
    if (!nan) {
        expect_piece(&da, &p, a, "factors of weft_lu_factor");
        dist_expect(&dp, pivot, pivots * sizeof *pivot, "pivots of weft_lu_factor");
    }
    dist_give(&da), dist_give(&dp);
    free(a), free(pivot);
}

/* |P A - L U| <= 30 n u |L| |U|, and multipliers are at most 1. */
static void check_factors(const factor_case *f, const double *lu, const int64_t *pivot, double *a) {
    const double u = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const size_t m = f->m, n = f->n, r = least(m, n);
    for (size_t k = 0; k < r; k++) {
        assert_true(pivot[k] >= (int64_t)k && pivot[k] < (int64_t)m);
        for (size_t j = 0; j < n; j++) {
            const double x = a[k + j * m];
            a[k + j * m] = a[(size_t)pivot[k] + j * m];
            a[(size_t)pivot[k] + j * m] = x;
        }
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k <= least(least(i, j), r - 1); k++) {
                const double product = (k == i ? 1 : lu[i + k * m]) * lu[k + j * m];
                sum += product;
                size += fabs(product);
            }
            assert_true(i <= j || fabs(lu[i + j * m]) <= 1);
            if (!(fabs(sum - a[i + j * m]) <= 30 * (double)n * u * size))
                fail_msg("P A - L U is %g at (%zu, %zu)", sum - a[i + j * m], i, j);
        }
}

static void random_case(test_random *r, const factor_case *f) {
    const size_t pivots = least(f->m, f->n);
    double *const a = random_matrix(r, f->m, f->n);
    const bool by_rows = dist_draw(r, 2);
    const piece p = choose_piece(r, f->type, by_rows, f->m, dist_deal(r, f->shape, f->n));
    dist_array da = take_piece(r, &p, a), dp = dist_take(r, NULL, pivots * sizeof(int64_t));
    const unsigned how = by_rows ? WEFT_ROW_MAJOR : 0;
    dist_ok(dist_ctx, weft_lu_factor(dist_ctx, how, f->type, f->m, p.part.n, da.p, p.ld, dp.p));
    double *const lu = gather(&da, &p, f->n);
    int64_t *const pivot = dist_fetch(&dp);
    if (pivots > 0)
        check_factors(f, lu, pivot, a);
    dist_give(&da), dist_give(&dp);
    free(a), free(lu), free(pivot);
}

static const size_t sizes[][2] = {{0, 0},     {0, 3},    {3, 0},    {1, 1},    {2, 1},
                                  {1, 2},     {5, 5},    {33, 33},  {70, 20},  {20, 70},
                                  {100, 100}, {131, 97}, {97, 131}, {260, 240}};

/* Rungs in turn; on emu, which is slow, the teaching rung has small matrices only, and of four
 * kinds of matrices a turn has two. */
static void factor_cases(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case f = {size[0], size[1], dist_draw(r, 2) ? WEFT_F64 : WEFT_F32, shape};
    const int rungs = !is_curbed(&f) ? LU_RUNGS : dist_on_gpus() ? 2 : LU_RUNGS - 1;
    const char *const rung = lu_rungs[turn % rungs];
    const bool grid = turn % rungs == 2, empty = f.m == 0 || f.n == 0;
    const bool all = !dist_ctx->gpu, first = turn / LU_RUNGS % 2;
    if (grid && dist_on_gpus())
        return;
#ifdef WEFT_EMU
    const size_t width = wi_lu_dealt_width;
    if (dist_draw(r, 2))
        wi_lu_dealt_width = 4 + 4 * (size_t)dist_draw(r, 2);
#endif
    dist_ok(dist_ctx, weft_use(dist_ctx, "lu", rung));
    if (grid)
        choose_grid(r);
    if (all || first || empty)
        exact_case(r, &f, NOWHERE, false);
    if (all || !first)
        random_case(r, &f);
    if (!empty && (all || !first))
        exact_case(r, &f, dist_draw(r, least(f.m, f.n)), false);
    if (!empty && (all || first))
        exact_case(r, &f, NOWHERE, true);
    if (!empty)
        assert_string_equal(weft_used(dist_ctx, "lu"), rung);
    unsetenv("WEFT_GRID");
#ifdef WEFT_EMU
    wi_lu_dealt_width = width;
#endif
}

/* All ranks refuse a grid of another number of ranks, and the GPUs of a process any. */
static void refused_grid(void) {
    double one[8] = {1};
    int64_t pivot[1] = {0};
    dist_ok(dist_ctx, weft_use(dist_ctx, "lu", "ranks_grid"));
    if (dist_on_gpus()) {
        test_refused(dist_ctx, weft_lu_factor(dist_ctx, 0, WEFT_F64, 1, 1, one, 1, pivot),
                     WEFT_EUNSUPPORTED, "weft_lu_factor", "place mpi");
        return;
    }
    setenv("WEFT_GRID", "5x5", 1);
    test_refused(dist_ctx, weft_lu_factor(dist_ctx, 0, WEFT_F64, 1, 1, one, 1, pivot), WEFT_EARG,
                 "weft_lu_factor", "WEFT_GRID");
    unsetenv("WEFT_GRID");
}

void dist_test_lu_factor(void **state) {
    (void)state;
    dist_for_each_matrix(80, sizes, sizeof sizes / sizeof *sizes, LU_RUNGS, factor_cases);
    refused_grid();
    dist_ok(dist_ctx, weft_use(dist_ctx, "lu", dist_on_gpus() ? "ranks" : "auto"));
}

/* ---- systems ---- */

static void solve_case(test_random *r, const factor_case *f, size_t rhs, bool transposed) {
    const size_t n = f->n;
    double *const a = random_matrix(r, n, n), *const b = random_matrix(r, n, rhs);
    const bool by_rows = dist_draw(r, 2);
    const unsigned how = (by_rows ? WEFT_ROW_MAJOR : 0) | (transposed ? WEFT_TRANSPOSE_A : 0);
    const piece pa = choose_piece(r, f->type, by_rows, n, dist_deal(r, f->shape, n));
    const piece pb = choose_piece(r, f->type, by_rows, n,
                                  dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), rhs));
    dist_array da = take_piece(r, &pa, a), db = take_piece(r, &pb, b);
    dist_array dp = dist_take(r, NULL, n * sizeof(int64_t));
    dist_ok(dist_ctx, weft_lu_factor(dist_ctx, how & WEFT_ROW_MAJOR, f->type, n, pa.part.n, da.p,
                                     pa.ld, dp.p));
    dist_ok(dist_ctx, weft_lu_solve(dist_ctx, how, f->type, pa.part.n, pb.part.n, da.p, pa.ld, dp.p,
                                    db.p, pb.ld));
    double *const x = gather(&db, &pb, rhs);
    check_solution(f, transposed, a, x, b, rhs);
    dist_give(&da), dist_give(&db), dist_give(&dp);
    free(a), free(b), free(x);
}

static void solve_cases(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case f = square_case(r, shape, size[0]);
    if (!is_curbed(&f) || turn % 2)
        solve_case(r, &f, size[1], false);
    if (!is_curbed(&f) || turn % 2 == 0)
        solve_case(r, &f, size[1], true);
}

void dist_test_lu_solve(void **state) {
    (void)state;
    static const size_t cases[][2] = {{0, 3},  {3, 0},   {1, 1},   {2, 1},   {5, 7},
                                      {33, 1}, {64, 40}, {100, 3}, {70, 130}};
    dist_for_each_matrix(81, cases, sizeof cases / sizeof *cases, 1, solve_cases);
}

/* ---- weft_solve ---- */

static void check_report(const weft_report *report, const factor_case *f, size_t rhs) {
    const int ranks = dist_on_gpus() ? wi_gpus_count(dist_ctx) : dist_ranks;
    assert_string_equal(report->variant, "ranks");
    assert_int_equal(report->ranks, ranks);
    assert_int_equal(report->n, f->n);
    assert_int_equal(report->right_hand_sides, rhs);
    if (rhs > 0 &&
        !(report->backward_error <= 2 * (f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON)))
        fail_msg("n %zu: backward error %g", f->n, report->backward_error);
}

/* The determinant of one place: factors of A + E, where |E| <= n eps |A|, change log |det A| by
 * tr(A^-1 E), which is not more than n^2 eps times the condition of A. */
static void check_determinant(const weft_report *report, const factor_case *f, double *a) {
    const double eps = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON, n = (double)f->n;
    weft_report one = {.size = sizeof one};
    double b = 0;
    dist_ok(dist_one,
            weft_solve(dist_one, 0, WEFT_F64, f->n, 0, a, f->n, &b, f->n, &b, f->n, NULL, &one));
    assert_int_equal(one.sign_det, report->sign_det);
    const double apart = fabs(one.log_abs_det - report->log_abs_det);
    const double most = n * n * eps * (1 + one.condition_estimate);
    if (!(apart <= most))
        fail_msg("n %zu: log |det| differs by %g, at most %g", f->n, apart, most);
}

/* Refined to the last bits, x is that of one place. */
static void check_refined(const factor_case *f, unsigned how, double *a, double *b, const double *x,
                          size_t rhs) {
    const size_t n = f->n;
    const double u = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double *const wanted = calloc(n * rhs + 1, sizeof *wanted);
    assert_non_null(wanted);
    dist_ok(dist_one, weft_solve(dist_one, how & WEFT_TRANSPOSE_A, WEFT_F64, n, rhs, a, n, b, n,
                                 wanted, n, NULL, NULL));
    for (size_t k = 0; k < rhs; k++) {
        double most = 0;
        for (size_t i = 0; i < n; i++)
            most = fmax(most, fabs(wanted[i + k * n]));
        for (size_t i = 0; i < n; i++)
            if (!(fabs(x[i + k * n] - wanted[i + k * n]) <= 2 * u * most))
                fail_msg("n %zu: x[%zu] is %g off", n, i, x[i + k * n] - wanted[i + k * n]);
    }
    free(wanted);
}

static void system_case(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case square = square_case(r, shape, size[0]), *const f = &square;
    const bool transposed = dist_draw(r, 2);
    const size_t n = f->n, rhs = size[1];
    double *const a = random_matrix(r, n, n), *const b = random_matrix(r, n, rhs);
    const bool by_rows = dist_draw(r, 2);
    const unsigned how = (by_rows ? WEFT_ROW_MAJOR : 0) | (transposed ? WEFT_TRANSPOSE_A : 0);
    const piece pa = choose_piece(r, f->type, by_rows, n, dist_deal(r, f->shape, n));
    const piece pb = choose_piece(r, f->type, by_rows, n,
                                  dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), rhs));
    dist_array da = take_piece(r, &pa, a), db = take_piece(r, &pb, b);
    dist_array dx = take_piece(r, &pb, b);
    weft_report report = {.size = sizeof report};
    dist_ok(dist_ctx, weft_solve(dist_ctx, how, f->type, pa.part.n, pb.part.n, da.p, pa.ld, db.p,
                                 pb.ld, dx.p, pb.ld, NULL, &report));
    double *const x = gather(&dx, &pb, rhs);
    check_solution(f, transposed, a, x, b, rhs);
    check_refined(f, how, a, b, x, rhs);
    check_report(&report, f, rhs);
    if (!transposed)
        check_determinant(&report, f, a);
    expect_piece(&da, &pa, a, "a of weft_solve");
    expect_piece(&db, &pb, b, "b of weft_solve");
    dist_give(&da), dist_give(&db), dist_give(&dx);
    free(a), free(b), free(x);
    (void)turn;
}

/* ---- exact residuals ---- */

/* Of a row one number is near 1, and the others have any size down to 2^-range: sums of three
 * numbers do not tell their residuals. */
static double *spread_matrix(test_random *r, size_t n, int range) {
    double *const a = random_matrix(r, n, n);
    for (size_t e = 0; e < n * n; e++)
        a[e] = e % n == e / n ? 1 + a[e] / 4 : ldexp(a[e], -8 - (int)dist_draw(r, (size_t)range));
    return a;
}

/* x is the exact solution, rounded, so it has the bits of one place. */
static void rounded_case(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const size_t n = size[0], rhs = size[1];
    const factor_case square = {n, n, dist_draw(r, 4) ? WEFT_F64 : WEFT_F32, shape};
    const factor_case *const f = &square;
    const bool transposed = dist_draw(r, 3) == 0, spread = dist_draw(r, 2);
    double *const a =
        spread ? spread_matrix(r, n, f->type == WEFT_F64 ? 400 : 60) : random_matrix(r, n, n);
    double *const b = random_matrix(r, n, rhs), *const wanted = random_matrix(r, n, rhs);
    const unsigned how = transposed ? WEFT_TRANSPOSE_A : 0;
    const weft_solve_options options = {.size = sizeof options, .exact = 1};
    const piece pa = choose_piece(r, f->type, false, n, dist_deal(r, f->shape, n));
    const piece pb = choose_piece(r, f->type, false, n, dist_deal(r, DIST_UNEVEN, rhs));
    const piece all = {f->type, false, n, n, {0, n}}, sides = {f->type, false, n, n, {0, rhs}};
    unsigned char *const one_a = packed(&all, a), *const one_b = packed(&sides, b);
    dist_array da = take_piece(r, &pa, a), db = take_piece(r, &pb, b);
    weft_report report = {.size = sizeof report};
    dist_ok(dist_one, weft_solve(dist_one, how, f->type, n, rhs, one_a, n, one_b, n, one_b, n,
                                 &options, &report));
    copy_piece(&sides, wanted, one_b, true);
    assert_int_equal(report.stalled, 0);
    dist_ok(dist_ctx, weft_solve(dist_ctx, how, f->type, pa.part.n, pb.part.n, da.p, pa.ld, db.p,
                                 pb.ld, db.p, pb.ld, &options, &report));
    assert_string_equal(report.variant, "ranks");
    assert_true(report.exact == 1 && report.stalled == 0);
    if (!(report.backward_error <= 2 * (f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON)))
        fail_msg("n %zu: backward error %g", n, report.backward_error);
    double *const x = gather(&db, &pb, rhs);
    for (size_t e = 0; e < n * rhs; e++)
        if (!(x[e] == wanted[e]))
            fail_msg("n %zu, %s%s%s: x[%zu] is %a, and %a on one place", n, weft_type_name(f->type),
                     transposed ? ", transposed" : "", spread ? ", spread" : "", e, x[e],
                     wanted[e]);
    dist_give(&da), dist_give(&db);
    free(a), free(b), free(x), free(wanted), free(one_a), free(one_b);
    (void)turn;
}

void dist_test_solve_exact(void **state) {
    (void)state;
    static const size_t cases[][2] = {{1, 1}, {6, 0}, {5, 20}, {33, 2}, {70, 3}};
    dist_for_each_matrix(83, cases, sizeof cases / sizeof *cases, 1, rounded_case);
}

/* ---- refusals ---- */

/* What is refused is refused on all ranks, and the report has the column. */
static void refused_system(test_random *r, bool nan) {
    const size_t n = 20, column = 7;
    double *const a = random_matrix(r, n, n), b[20] = {1}, x[20] = {0};
    weft_report report = {.size = sizeof report};
    for (size_t i = 0; i < n && !nan; i++)
        a[i + column * n] = 0;
    if (nan)
        a[3 + column * n] = NAN;
    const dist_part part = dist_deal(r, DIST_UNEVEN, n);
    const bool first = dist_rank == 0;
    const weft_status status = weft_solve(dist_ctx, 0, WEFT_F64, part.n, first, a + part.first * n,
                                          n, b, n, x, n, NULL, &report);
    const bool own = column >= part.first && column < part.first + part.n;
    assert_int_equal(status, !nan ? WEFT_ESINGULAR : own ? WEFT_ENONFINITE : WEFT_ECOMM);
    assert_non_null(strstr(weft_message(dist_ctx), "column 7 "));
    assert_true(nan || report.column == column);
    assert_true(x[0] == 0);
    free(a);
}

void dist_test_solve(void **state) {
    (void)state;
    static const size_t cases[][2] = {{1, 1}, {2, 0}, {5, 7}, {33, 1}, {64, 70}, {100, 3}};
    test_random r = test_random_at(82);
    weft_solve_options options = {.size = sizeof options, .precision = WEFT_PRECISION_TF32};
    double one = 1;
    dist_for_each_matrix(82, cases, sizeof cases / sizeof *cases, 1, system_case);
    refused_system(&r, false);
    refused_system(&r, true);
    if (!dist_on_gpus())
        test_refused(dist_ctx,
                     weft_solve(dist_ctx, 0, WEFT_F64, 1, 1, &one, (size_t)dist_ranks, &one,
                                (size_t)dist_ranks, &one, (size_t)dist_ranks, &options, NULL),
                     WEFT_EUNSUPPORTED, "weft_solve", "WEFT_PRECISION_FULL or _MIXED");
}
