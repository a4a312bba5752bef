/* SPDX-License-Identifier: Apache-2.0 */
/* Positive definite systems over ranks. */
#include "dist_matrix.h"

/* Symmetric, and positive definite but for column `wrong`. */
static double *symmetric_matrix(test_random *r, size_t n, size_t wrong) {
    double *const a = random_matrix(r, n, n);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++)
            a[j + i * n] = a[i + j * n];
        a[j + j * n] = j == wrong ? -1 : (double)n;
    }
    return a;
}

/* |A - L L'| <= 30 n u |L| |L'| in the lower triangle; the other one is as it was. */
static void check_factor(const factor_case *f, bool upper, const double *l, const double *a) {
    const double u = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const size_t n = f->n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k <= j; k++) {
                const double x = upper ? l[k + i * n] : l[i + k * n],
                             y = upper ? l[k + j * n] : l[j + k * n];
                sum += x * y;
                size += fabs(x * y);
            }
            if (!(fabs(sum - a[i + j * n]) <= 30 * (double)n * u * size))
                fail_msg("L L' - A is %g at (%zu, %zu)", sum - a[i + j * n], i, j);
            if (i > j && (upper ? l[i + j * n] : l[j + i * n]) != a[i + j * n])
                fail_msg("the other triangle was changed at (%zu, %zu)", i, j);
        }
}

static void good_case(test_random *r, const factor_case *f, size_t rhs) {
    const size_t n = f->n;
    double *const a = symmetric_matrix(r, n, n), *const b = random_matrix(r, n, rhs);
    const bool by_rows = dist_draw(r, 2), upper = dist_draw(r, 2);
    const unsigned how = (by_rows ? WEFT_ROW_MAJOR : 0) | (upper ? WEFT_UPPER_TRIANGLE : 0);
    const piece pa = choose_piece(r, f->type, by_rows, n, dist_deal(r, f->shape, n));
    const piece pb = choose_piece(r, f->type, by_rows, n,
                                  dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), rhs));
    dist_array da = take_piece(r, &pa, a), db = take_piece(r, &pb, b);
    dist_ok(dist_ctx, weft_cholesky_factor(dist_ctx, how, f->type, pa.part.n, da.p, pa.ld));
    double *const l = gather(&da, &pa, n);
    check_factor(f, upper, l, a);
    dist_ok(dist_ctx, weft_cholesky_solve(dist_ctx, how, f->type, pa.part.n, pb.part.n, da.p, pa.ld,
                                          db.p, pb.ld));
    double *const x = gather(&db, &pb, rhs);
    check_solution(f, false, a, x, b, rhs);
    dist_give(&da), dist_give(&db);
    free(a), free(b), free(l), free(x);
}

/* The status and the column of one place, on all ranks. */
static void bad_case(test_random *r, const factor_case *f, bool nan) {
    const size_t n = f->n, wrong = dist_draw(r, n);
    double *const a = symmetric_matrix(r, n, wrong);
    a[wrong + wrong * n] = nan ? NAN : a[wrong + wrong * n];
    const piece p = choose_piece(r, f->type, false, n, dist_deal(r, f->shape, n));
    const unsigned how = dist_draw(r, 2) ? WEFT_UPPER_TRIANGLE : 0;
    dist_array da = take_piece(r, &p, a);
    const weft_status one = weft_cholesky_factor(dist_one, how, WEFT_F64, n, a, n);
    assert_true(one != WEFT_OK);
    expect_outcome(one, weft_cholesky_factor(dist_ctx, how, f->type, p.part.n, da.p, p.ld));
    dist_give(&da);
    free(a);
}

/* ---- weft_solve_spd ---- */

static void check_report(const weft_report *report, const factor_case *f, size_t rhs) {
    assert_string_equal(report->variant, "ranks");
    assert_int_equal(report->ranks, dist_on_gpus() ? wi_gpus_count(dist_ctx) : dist_ranks);
    assert_int_equal(report->n, f->n);
    assert_int_equal(report->right_hand_sides, rhs);
    assert_int_equal(report->sign_det, 1);
    if (rhs > 0 &&
        !(report->backward_error <= 2 * (f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON)))
        fail_msg("n %zu: backward error %g", f->n, report->backward_error);
}

/* The other triangle must not be read. */
static void poison_triangle(double *a, size_t n, bool upper) {
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            if (upper ? i > j : i < j)
                a[i + j * n] = NAN;
}

/* x, refined to its last bits, and the determinant are those of one place. */
static void check_one(const factor_case *f, unsigned how, const double *a, const double *b,
                      const double *x, size_t rhs, const weft_report *report) {
    const double u = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const size_t n = f->n;
    double *const wanted = calloc(n * rhs + 1, sizeof *wanted);
    weft_report one = {.size = sizeof one};
    assert_non_null(wanted);
    dist_ok(dist_one,
            weft_solve_spd(dist_one, how, WEFT_F64, n, rhs, a, n, b, n, wanted, n, NULL, &one));
    if (!(fabs(one.log_abs_det - report->log_abs_det) <=
          (double)n * (double)n * u * (1 + one.condition_estimate)))
        fail_msg("n %zu: log |det| is %g, %g on one place", n, report->log_abs_det,
                 one.log_abs_det);
    for (size_t e = 0; e < n * rhs; e++)
        if (!(fabs(x[e] - wanted[e]) <= 2 * u))
            fail_msg("n %zu: x[%zu] is %g off", n, e, x[e] - wanted[e]);
    free(wanted);
}

static void system_case(test_random *r, const factor_case *f, size_t rhs) {
    const size_t n = f->n;
    double *const a = symmetric_matrix(r, n, n), *const b = random_matrix(r, n, rhs);
    const bool by_rows = dist_draw(r, 2), upper = dist_draw(r, 2);
    const unsigned half = upper ? WEFT_UPPER_TRIANGLE : 0;
    const unsigned how = half | (by_rows ? WEFT_ROW_MAJOR : 0);
    const weft_solve_options options = {.size = sizeof options, .exact = dist_draw(r, 4) == 0};
    const piece pa = choose_piece(r, f->type, by_rows, n, dist_deal(r, f->shape, n));
    const piece pb = choose_piece(r, f->type, by_rows, n,
                                  dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), rhs));
    double *const half_a = calloc(n * n + 1, sizeof *half_a);
    assert_non_null(half_a);
    memcpy(half_a, a, n * n * sizeof *a);
    poison_triangle(half_a, n, upper);
    dist_array da = take_piece(r, &pa, half_a), db = take_piece(r, &pb, b);
    weft_report report = {.size = sizeof report};
    dist_ok(dist_ctx, weft_solve_spd(dist_ctx, how, f->type, pa.part.n, pb.part.n, da.p, pa.ld,
                                     db.p, pb.ld, db.p, pb.ld, &options, &report));
    double *const x = gather(&db, &pb, rhs);
    check_solution(f, false, a, x, b, rhs);
    check_report(&report, f, rhs);
    check_one(f, half, half_a, b, x, rhs, &report);
    dist_give(&da), dist_give(&db);
    free(a), free(b), free(x), free(half_a);
}

/* v' A v <= 0 within rounding, with v[column] = 1 and zeros behind it. */
static void check_witness(const double *a, const double *v, size_t n, size_t column) {
    double sum = 0, size = 0;
    assert_true(v[column] == 1);
    for (size_t j = 0; j < n; j++) {
        assert_true(j <= column || v[j] == 0);
        for (size_t i = 0; i < n; i++) {
            sum += v[i] * a[i + j * n] * v[j];
            size += fabs(v[i] * a[i + j * n] * v[j]);
        }
    }
    if (!(sum <= (double)n * DBL_EPSILON * size))
        fail_msg("column %zu of %zu: v' A v is %g", column, n, sum);
}

/* All ranks have the column, the message and the proof of one place. */
static void refused_system(test_random *r, const factor_case *f) {
    const size_t n = f->n, wrong = dist_draw(r, n);
    double *const a = symmetric_matrix(r, n, wrong), *const b = random_matrix(r, n, 1);
    double *const v = calloc(n, sizeof *v), *const x = random_matrix(r, n, 1);
    const bool upper = dist_draw(r, 2);
    const weft_solve_options options = {.size = sizeof options, .witness = v};
    const piece p = choose_piece(r, WEFT_F64, false, n, dist_deal(r, f->shape, n));
    const unsigned how = upper ? WEFT_UPPER_TRIANGLE : 0;
    weft_report report = {.size = sizeof report};
    dist_array da = take_piece(r, &p, a);
    const size_t rhs = dist_rank == 0;
    const weft_status one =
        weft_solve_spd(dist_one, how, WEFT_F64, n, 1, a, n, b, n, x, n, NULL, NULL);
    assert_int_equal(one, WEFT_ENOTSPD);
    expect_outcome(one, weft_solve_spd(dist_ctx, how, WEFT_F64, p.part.n, rhs, da.p, p.ld, b, n, x,
                                       n, &options, &report));
    assert_int_equal(report.column, wrong);
    check_witness(a, v, n, wrong);
    dist_give(&da);
    free(a), free(b), free(v), free(x);
}

static void not_finite(test_random *r) {
    const size_t n = 20, column = 7;
    double *const a = symmetric_matrix(r, n, n), b[20] = {1}, x[20] = {0};
    const dist_part part = dist_deal(r, DIST_UNEVEN, n);
    a[13 + column * n] = (double)INFINITY;
    const weft_status status = weft_solve_spd(dist_ctx, 0, WEFT_F64, part.n, dist_rank == 0,
                                              a + part.first * n, n, b, n, x, n, NULL, NULL);
    const bool own = column >= part.first && column < part.first + part.n;
    assert_int_equal(status, own ? WEFT_ENONFINITE : WEFT_ECOMM);
    assert_non_null(strstr(weft_message(dist_ctx), "row 13 of column 7 "));
    assert_true(x[0] == 0);
    free(a);
}

static void system_cases(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case f = square_case(r, shape, size[0]);
    (void)turn;
    system_case(r, &f, size[1]);
    if (!is_curbed(&f))
        refused_system(r, &f);
}

void dist_test_solve_spd(void **state) {
    (void)state;
    static const size_t cases[][2] = {{1, 1}, {2, 0}, {5, 7}, {33, 1}, {64, 70}, {100, 3}};
    test_random r = test_random_at(88);
    dist_for_each_matrix(84, cases, sizeof cases / sizeof *cases, 1, system_cases);
    not_finite(&r);
}

static void factor_cases(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case f = square_case(r, shape, size[0]);
    const bool grid = !dist_on_gpus() && turn % 2;
    dist_ok(dist_ctx, weft_use(dist_ctx, "cholesky", grid ? "ranks_grid" : "ranks"));
    if (grid)
        choose_grid(r);
    good_case(r, &f, size[1]);
    if (f.n > 0 && !is_curbed(&f))
        bad_case(r, &f, dist_draw(r, 2));
    if (f.n > 0)
        assert_string_equal(weft_used(dist_ctx, "cholesky"), grid ? "ranks_grid" : "ranks");
    unsetenv("WEFT_GRID");
}

void dist_test_cholesky(void **state) {
    (void)state;
    static const size_t cases[][2] = {{0, 3},  {1, 1},  {2, 1},   {9, 4},    {5, 7},
                                      {33, 1}, {64, 0}, {100, 3}, {140, 30}, {250, 2}};
    dist_for_each_matrix(83, cases, sizeof cases / sizeof *cases, dist_on_gpus() ? 1 : 2,
                         factor_cases);
    dist_ok(dist_ctx, weft_use(dist_ctx, "cholesky", dist_on_gpus() ? "ranks" : "auto"));
}
