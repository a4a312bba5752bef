/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of dense systems over ranks is what one place says of them. */
#include "dist_matrix.h"

/* A system, and what one place says of it. */
typedef struct reported {
    factor_case f;
    bool spd, transposed;
    size_t rhs;
    double *a, *b, *x;
    weft_report one;
} reported;

static unsigned how_of(const reported *s) {
    return s->transposed ? WEFT_TRANSPOSE_A : 0;
}

static weft_status solve_on_one(reported *s, const weft_solve_options *options) {
    const size_t n = s->f.n;
    s->one = (weft_report){.size = sizeof s->one};
    return (s->spd ? weft_solve_spd : weft_solve)(dist_one, how_of(s), WEFT_F64, n, s->rhs, s->a, n,
                                                  s->b, n, s->x, n, options, &s->one);
}

/* All ranks get the whole of X. */
static weft_status solve_on_all(test_random *r, const reported *s,
                                const weft_solve_options *options, weft_report *report,
                                double **x) {
    const size_t n = s->f.n;
    const piece pa = choose_piece(r, s->f.type, dist_draw(r, 2), n, dist_deal(r, s->f.shape, n));
    const piece pb = choose_piece(r, s->f.type, pa.by_rows, n, dist_deal(r, DIST_UNEVEN, s->rhs));
    const unsigned how = how_of(s) | (pa.by_rows ? WEFT_ROW_MAJOR : 0);
    dist_array da = take_piece(r, &pa, s->a), db = take_piece(r, &pb, s->b);
    *report = (weft_report){.size = sizeof *report};
    const weft_status status =
        (s->spd ? weft_solve_spd : weft_solve)(dist_ctx, how, s->f.type, pa.part.n, pb.part.n, da.p,
                                               pa.ld, db.p, pb.ld, db.p, pb.ld, options, report);
    *x = gather(&db, &pb, s->rhs);
    dist_give(&da), dist_give(&db);
    return status;
}

static reported take(test_random *r, const factor_case *f, bool spd, size_t rhs) {
    const size_t n = f->n;
    reported s = {.f = *f, .spd = spd, .transposed = !spd && dist_draw(r, 2), .rhs = rhs};
    s.a = random_matrix(r, n, n);
    s.b = random_matrix(r, n, rhs);
    s.x = random_matrix(r, n, rhs);
    for (size_t j = 0; j < n && spd; j++) {
        for (size_t i = 0; i < j; i++)
            s.a[j + i * n] = s.a[i + j * n];
        s.a[j + j * n] = (double)n;
    }
    return s;
}

static void give(reported *s) {
    free(s->a), free(s->b), free(s->x);
}

static double unit_of(const reported *s) {
    return s->f.type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

static void expect_near(const char *what, size_t n, double got, double wanted, double by) {
    if (!(got <= by * wanted && got >= wanted / by))
        fail_msg("n %zu: %s is %g, and %g on one place", n, what, got, wanted);
}

/* The largest error of X is within the bound, and the bound is not far from that. */
static void check_bound(const reported *s, const weft_report *report, const double *x) {
    const size_t n = s->f.n;
    for (size_t k = 0; k < s->rhs; k++) {
        double most = 0, off = 0;
        for (size_t e = k * n; e < (k + 1) * n; e++) {
            most = fmax(most, fabs(s->x[e]));
            off = fmax(off, fabs(x[e] - s->x[e]));
        }
        if (!(off <= (report->forward_bound + DBL_EPSILON) * most))
            fail_msg("n %zu: an error of %g, relative, and a bound of %g", n, off / most,
                     report->forward_bound);
    }
    if (report->condition_estimate * unit_of(s) < 1e-3 && s->rhs > 0 &&
        !(report->forward_bound <= 100 * unit_of(s) * report->condition_estimate))
        fail_msg("n %zu: a bound of %g", n, report->forward_bound);
}

static void good_case(test_random *r, const factor_case *f, bool spd, size_t rhs) {
    reported s = take(r, f, spd, rhs);
    weft_report report;
    double *x;
    dist_ok(dist_one, solve_on_one(&s, NULL));
    dist_ok(dist_ctx, solve_on_all(r, &s, NULL, &report, &x));
    if (s.one.condition_estimate * unit_of(&s) < 1e-3) {
        expect_near("condition_estimate", f->n, report.condition_estimate, s.one.condition_estimate,
                    1.1);
        if (!s.transposed) /* ranks factor A, one place op(A) */
            expect_near("growth", f->n, report.growth, s.one.growth, 1.1);
        assert_int_equal(report.sign_det, s.one.sign_det);
    }
    check_bound(&s, &report, x);
    give(&s);
    free(x);
}

/* Nothing is estimated if nobody wants it. */
static void bare_case(test_random *r, const factor_case *f, bool spd) {
    reported s = take(r, f, spd, 1);
    const weft_solve_options options = {.size = sizeof options, .no_estimates = 1};
    weft_report report;
    double *x;
    dist_ok(dist_ctx, solve_on_all(r, &s, &options, &report, &x));
    assert_true(isnan(report.condition_estimate) && isnan(report.forward_bound));
    assert_true(isnan(report.growth));
    give(&s);
    free(x);
}

/* ---- badly scaled ---- */

/* Multiplies rows, columns and right-hand sides by powers of two, of a symmetric matrix the same on
 * both sides. */
static void scale_apart(test_random *r, reported *s, int range) {
    const size_t n = s->f.n, all = 2 * (size_t)range + 1;
    int *const row = malloc(2 * n * sizeof *row), *const column = row + n;
    assert_non_null(row);
    for (size_t i = 0; i < n; i++) {
        row[i] = (int)dist_draw(r, all) - range;
        column[i] = s->spd ? row[i] : (int)dist_draw(r, all) - range;
    }
    for (size_t e = 0; e < n * n; e++)
        s->a[e] = ldexp(s->a[e], row[e % n] + column[e / n]);
    for (size_t k = 0; k < s->rhs; k++) {
        const int shift = (int)dist_draw(r, all) - range;
        for (size_t i = 0; i < n; i++)
            s->b[i + k * n] = ldexp(s->b[i + k * n], (s->transposed ? column : row)[i] + shift);
    }
    free(row);
}

/* Each element of b - op(A) x is rounding. */
static void check_rows(const reported *s, const double *x) {
    const size_t n = s->f.n;
    for (size_t e = 0; e < n * s->rhs; e++) {
        const size_t i = e % n;
        long double sum = s->b[e], size = fabsl(sum);
        for (size_t j = 0; j < n; j++) {
            const long double a = s->a[s->transposed ? j + i * n : i + j * n];
            sum -= a * x[e - i + j];
            size += fabsl(a * x[e - i + j]);
        }
        if (!(fabsl(sum) <= 4 * (long double)unit_of(s) * size))
            fail_msg("n %zu: row %zu of b - A x is %Lg of %Lg", n, i, sum, size);
    }
}

static void scaled_case(test_random *r, const factor_case *f, bool spd, size_t rhs) {
    reported s = take(r, f, spd, rhs);
    weft_report report;
    double *x;
    scale_apart(r, &s, f->type == WEFT_F64 ? 250 : 20);
    for (size_t e = 0; e < f->n * (f->n + rhs) && f->type == WEFT_F32; e++) { /* as it is passed */
        double *const at = e < f->n * f->n ? &s.a[e] : &s.b[e - f->n * f->n];
        *at = (double)(float)*at;
    }
    dist_ok(dist_one, solve_on_one(&s, NULL));
    dist_ok(dist_ctx, solve_on_all(r, &s, NULL, &report, &x));
    assert_int_equal(report.sign_det, s.one.sign_det);
    if (fabs(report.log_abs_det - s.one.log_abs_det) > 1e-3)
        fail_msg("log |det| is %g, and %g on one place", report.log_abs_det, s.one.log_abs_det);
    if (f->type == WEFT_F64) { /* which one place solves */
        assert_int_equal(report.equilibrated, s.one.equilibrated);
        assert_int_equal(report.row_power_least, s.one.row_power_least);
        assert_int_equal(report.row_power_most, s.one.row_power_most);
        assert_int_equal(report.column_power_least, s.one.column_power_least);
        assert_int_equal(report.column_power_most, s.one.column_power_most);
    }
    check_rows(&s, x);
    give(&s);
    free(x);
}

/* ---- factors of f32 ---- */

static void mixed_case(test_random *r, const factor_case *f, bool spd, double scale, bool hard) {
    const size_t n = f->n;
    reported s = take(r, f, spd, 2);
    const weft_solve_options options = {.size = sizeof options, .precision = WEFT_PRECISION_MIXED};
    weft_report report;
    double *x;
    for (size_t e = 0; e < n * n; e++) /* of a condition that f32 cannot tell from singular */
        s.a[e] =
            hard ? 1 / (double)(e / n + e % n + 1) + (e % (n + 1) ? 0 : 0x1p-36) : s.a[e] * scale;
    dist_ok(dist_one, solve_on_one(&s, NULL));
    dist_ok(dist_ctx, solve_on_all(r, &s, &options, &report, &x));
    assert_int_equal(report.equilibrated, scale != 1);
    if (s.one.condition_estimate < 1e4 || hard) {
        assert_int_equal(report.fell_back, hard);
        assert_int_equal(report.factor_type, hard ? WEFT_F64 : WEFT_F32);
    }
    if (!(report.backward_error <= 2 * DBL_EPSILON))
        fail_msg("n %zu: backward error %g", n, report.backward_error);
    check_bound(&s, &report, x);
    give(&s);
    free(x);
}

/* ---- singular ---- */

/* |A v| is rounding, v[column] = 1, and v is 0 behind that; on all ranks. */
static void singular_case(test_random *r, const factor_case *f) {
    const size_t n = f->n, column = n - 1 - dist_draw(r, n / 2 + 1);
    const factor_case exact = {n, n, WEFT_F64, f->shape};
    reported s = take(r, &exact, false, 1);
    double *const v = calloc(n, sizeof *v), *x;
    const weft_solve_options options = {.size = sizeof options,
                                        .witness = dist_rank % 2 ? NULL : v};
    weft_report report;
    assert_non_null(v);
    s.transposed = false;
    for (size_t i = 0; i < n; i++) { /* elimination rounds nothing */
        for (size_t j = 0; j < n; j++)
            s.a[i + j * n] = i == j ? 2 : i < j ? (double)dist_draw(r, 3) : 0;
        s.a[i + column * n] = i < column ? s.a[i + column * n] : 0;
    }
    if (dist_draw(r, 2))
        scale_apart(r, &s, 50);
    assert_int_equal(solve_on_all(r, &s, &options, &report, &x), WEFT_ESINGULAR);
    assert_int_equal(report.column, column);
    for (size_t i = 0; i < n && options.witness; i++) {
        double sum = 0, size = 0;
        for (size_t j = 0; j < n; j++) {
            sum += s.a[i + j * n] * v[j];
            size += fabs(s.a[i + j * n] * v[j]);
        }
        if (!(fabs(sum) <= 10 * (double)n * DBL_EPSILON * size))
            fail_msg("row %zu of A v is %g", i, sum);
        assert_true(i != column || v[i] == 1);
        assert_true(i <= column || v[i] == 0);
    }
    give(&s);
    free(v), free(x);
}

/* On emu a larger matrix has one of the six. */
static void report_cases(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const size_t n = size[0];
    const bool spd = dist_draw(r, 2);
    const factor_case f = square_case(r, shape, n), f64 = {n, n, WEFT_F64, shape};
    const size_t drawn = dist_draw(r, 6);
    (void)turn;
    for (size_t kind = 0; kind < 6; kind++) {
        if (is_curbed(&f) && kind != drawn)
            continue;
        if (kind == 0)
            good_case(r, &f, spd, size[1]);
        else if (kind == 1)
            singular_case(r, &f);
        else if (kind == 2)
            bare_case(r, &f, spd);
        else if (kind == 5)
            scaled_case(r, &f, spd, size[1]);
        else
            mixed_case(r, &f64, spd, kind == 3 ? 1 : 0x1p200, false);
    }
    for (int kind = 0; kind < 2 && n == 9; kind++)
        mixed_case(r, &f64, kind, 1, true);
}

void dist_test_report(void **state) {
    (void)state;
    static const size_t cases[][2] = {{1, 1}, {2, 0}, {9, 3}, {33, 1}, {70, 66}, {150, 2}};
    dist_for_each_matrix(87, cases, sizeof cases / sizeof *cases, 1, report_cases);
}
