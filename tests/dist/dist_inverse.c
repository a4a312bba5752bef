/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses over ranks. */
#include "dist_matrix.h"

/* A A^-1 is the unit matrix. */
static void inverse_case(test_random *r, dist_shape shape, const size_t size[2], int turn) {
    const factor_case f = square_case(r, shape, size[0]);
    const size_t n = f.n;
    double *const a = random_matrix(r, n, n), *const unit = calloc(n * n + 1, sizeof *unit);
    const unsigned how = dist_draw(r, 2) ? WEFT_ROW_MAJOR : 0;
    const piece p = choose_piece(r, f.type, how, n, dist_deal(r, shape, n));
    (void)turn;
    assert_non_null(unit);
    for (size_t k = 0; k < n; k++) {
        a[k * (n + 1)] += 4; /* far from singular */
        unit[k * (n + 1)] = 1;
    }
    dist_array da = take_piece(r, &p, a), dp = dist_take(r, NULL, n * sizeof(int64_t));
    dist_ok(dist_ctx, weft_lu_factor(dist_ctx, how, f.type, n, p.part.n, da.p, p.ld, dp.p));
    dist_ok(dist_ctx, weft_lu_inverse(dist_ctx, how, f.type, p.part.n, da.p, p.ld, dp.p));
    double *const x = gather(&da, &p, n);
    check_solution(&f, false, a, x, unit, n);
    expect_piece(&da, &p, x, "weft_lu_inverse"); /* what lies between is as it was */
    dist_give(&da), dist_give(&dp);
    free(a), free(x), free(unit);
}

/* Of a singular matrix all ranks name the column, and the factors stay. */
static void no_inverse(test_random *r, bool by_rows) {
    const size_t n = dist_ctx->gpu ? 8 : 20, column = dist_draw(r, n);
    const unsigned how = by_rows ? WEFT_ROW_MAJOR : 0;
    double *const a = random_matrix(r, n, n);
    int64_t pivot[20], one[20];
    for (size_t i = 0; i < n; i++)
        a[i + column * n] = 0;
    const piece p = choose_piece(r, WEFT_F64, by_rows, n, dist_deal(r, DIST_UNEVEN, n));
    dist_array da = take_piece(r, &p, a);
    assert_int_equal(weft_lu_factor(dist_ctx, how, WEFT_F64, n, p.part.n, da.p, p.ld, pivot),
                     WEFT_ESINGULAR);
    assert_int_equal(weft_lu_factor(dist_one, 0, WEFT_F64, n, n, a, n, one), WEFT_ESINGULAR);
    unsigned char *const before = dist_fetch(&da);
    const weft_status status = weft_lu_inverse(dist_one, 0, WEFT_F64, n, a, n, one);
    assert_int_equal(status, WEFT_ESINGULAR);
    expect_outcome(status, weft_lu_inverse(dist_ctx, how, WEFT_F64, p.part.n, da.p, p.ld, pivot));
    dist_expect(&da, before, piece_bytes(&p), "weft_lu_inverse of a singular matrix");
    dist_give(&da);
    free(a), free(before);
}

/* One rank's pivots are wrong: none inverts. */
static void refused_inverse(void) {
    const size_t ranks = (size_t)dist_ranks;
    double a[64];
    int64_t pivot[64];
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit;
    if (dist_on_gpus() || ranks > 64)
        return;
    for (size_t k = 0; k < ranks; k++) {
        a[k] = k == (size_t)dist_rank ? 2 : 0;
        pivot[k] = (int64_t)k;
    }
    pivot[0] -= wrong;
    dist_refused_by_one(weft_lu_inverse(dist_ctx, 0, WEFT_F64, 1, a, ranks, pivot), culprit,
                        "weft_lu_inverse", "pivot");
    assert_true(a[dist_rank] == 2);
    pivot[0] = 0;
    dist_ok(dist_ctx, weft_lu_inverse(dist_ctx, 0, WEFT_F64, 1, a, ranks, pivot));
    assert_true(a[dist_rank] == 0.5);
}

void dist_test_lu_inverse(void **state) {
    (void)state;
    static const size_t cases[][2] = {{0, 0}, {1, 1}, {2, 2}, {9, 9}, {33, 33}, {100, 100}};
    test_random r = test_random_at(51);
    const size_t count = dist_ctx->gpu ? 4 : sizeof cases / sizeof *cases;
    dist_for_each_matrix(89, cases, count, 1, inverse_case);
    if (!dist_ctx->gpu)
        no_inverse(&r, false);
    no_inverse(&r, true);
    refused_inverse();
}
