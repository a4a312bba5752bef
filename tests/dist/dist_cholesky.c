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
    const bool by_rows = dist_draw(r, 2), upper = dist_draw(r, 2) && dist_on_gpus();
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
    dist_array da = take_piece(r, &p, a);
    const weft_status one = weft_cholesky_factor(dist_one, 0, WEFT_F64, n, a, n);
    assert_true(one != WEFT_OK);
    expect_outcome(one, weft_cholesky_factor(dist_ctx, 0, f->type, p.part.n, da.p, p.ld));
    dist_give(&da);
    free(a);
}

void dist_test_cholesky(void **state) {
    (void)state;
    static const size_t cases[][2] = {{0, 3},  {1, 1},  {2, 1},   {5, 7},
                                      {33, 1}, {64, 0}, {100, 3}, {140, 30}};
    test_random r = test_random_at(83);
    double one = 1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++) {
            const size_t n = cases[k][0];
            const factor_case f = {n, n, dist_draw(&r, 2) ? WEFT_F64 : WEFT_F32, (dist_shape)shape};
            if (!is_wanted(&r, n))
                continue;
            good_case(&r, &f, cases[k][1]);
            if (n > 0)
                bad_case(&r, &f, dist_draw(&r, 2));
        }
    assert_string_equal(weft_used(dist_ctx, "cholesky"), "ranks");
    if (!dist_on_gpus())
        test_refused(dist_ctx,
                     weft_cholesky_factor(dist_ctx, WEFT_UPPER_TRIANGLE, WEFT_F64, 1, &one,
                                          (size_t)dist_ranks),
                     WEFT_EUNSUPPORTED, "weft_cholesky_factor", "lower triangle");
}
