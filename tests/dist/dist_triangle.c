/* SPDX-License-Identifier: Apache-2.0 */
/* trsm and trmm over ranks: each has its columns of A, before it is transposed, and of B (rows, by
 * rows). Products of small whole numbers are exact; solutions are those of one place but for
 * rounding. */
#include <math.h>
#include <stdio.h>

#include "dist_parts.h"

typedef weft_status triangle_call(weft_context *ctx, unsigned how, weft_type type, size_t m,
                                  size_t n, double alpha, const void *a, size_t lda, void *b,
                                  size_t ldb);

static double value_at(const matrix *m, const unsigned char *p, size_t row, size_t col) {
    const unsigned char *const x = p + at(m, row, col);
    return m->width == 8 ? *(const double *)(const void *)x : *(const float *)(const void *)x;
}

static void set_at(matrix *m, size_t row, size_t col, double value) {
    unsigned char *const x = m->p + at(m, row, col);
    if (m->width == 8)
        *(double *)(void *)x = value;
    else
        *(float *)(void *)x = (float)value;
}

/* A triangle that is far from singular; what must not be read is NaN. */
static void make_triangle(test_random *r, matrix *a, unsigned how, bool solves) {
    const size_t order = a->rows;
    for (size_t i = 0; i < order; i++)
        for (size_t j = 0; j < order; j++) {
            const double whole = (double)dist_draw(r, 7) - 3;
            const bool inside = how & WEFT_UPPER_TRIANGLE ? i < j : i > j;
            double value = solves ? whole / (4 * (double)order) : whole;
            if (i == j)
                value = how & WEFT_UNIT_DIAGONAL ? NAN : solves ? 1 + fabs(whole) / 4 : whole;
            set_at(a, i, j, inside || i == j ? value : NAN);
        }
}

static void compare(const matrix *wanted, matrix *part, const dist_array *got, bool rows,
                    size_t first, double tolerance, const char *what) {
    unsigned char *const p = dist_fetch(got);
    double largest = 1;
    for (size_t i = 0; i < wanted->rows; i++)
        for (size_t j = 0; j < wanted->cols; j++)
            largest = fmax(largest, fabs(value_at(wanted, wanted->p, i, j)));
    for (size_t i = 0; i < part->rows; i++)
        for (size_t j = 0; j < part->cols; j++) {
            const size_t row = i + (rows ? first : 0), col = j + (rows ? 0 : first);
            const double x = value_at(part, p, i, j), y = value_at(wanted, wanted->p, row, col);
            if (!(fabs(x - y) <= tolerance * largest))
                fail_msg("%s: rank %d of %d: (%zu, %zu) is %g, not %g", what, dist_rank, dist_ranks,
                         row, col, x, y);
            memcpy(part->p + at(part, i, j), p + at(part, i, j), part->width);
        }
    dist_expect(got, part->p, bytes_of(part), what); /* what lies between is as it was */
    free(p);
}

static void triangle_case(test_random *r, dist_shape shape, size_t order, size_t count,
                          bool solves) {
    static const double scalars[] = {1, 1, 2, -1, 0};
    triangle_call *const call = solves ? weft_trsm : weft_trmm;
    const weft_type type = dist_draw(r, 2) ? WEFT_F64 : WEFT_F32;
    const bool rows = dist_draw(r, 2), right = dist_draw(r, 2), apart = rows == right;
    const unsigned how = (rows ? WEFT_ROW_MAJOR : 0) | (right ? WEFT_RIGHT : 0) |
                         (dist_draw(r, 2) ? WEFT_TRANSPOSE_A : 0) |
                         (dist_draw(r, 2) ? WEFT_UPPER_TRIANGLE : 0) |
                         (dist_draw(r, 2) ? WEFT_UNIT_DIAGONAL : 0);
    const double alpha = scalars[dist_draw(r, sizeof scalars / sizeof *scalars)];
    const size_t m = right ? count : order, n = right ? order : count;
    matrix a = matrix_of(order, order, rows, 0, type), b = whole_of(r, m, n, rows, type);
    make_triangle(r, &a, how, solves);
    if (alpha == 0)
        memset(b.p, 0xff, bytes_of(&b));
    const dist_part pa = dist_deal(r, shape, order), pb = apart ? deal_other(r, count) : pa;
    matrix own_a = part_of(r, &a, rows, pa, type), own_b = part_of(r, &b, rows, pb, type);
    dist_array da = take_part(r, &own_a), db = take_part(r, &own_b);
    dist_ok(dist_one, call(dist_one, how, type, m, n, alpha, a.p, a.ld, b.p, b.ld));
    dist_ok(dist_ctx,
            call(dist_ctx, how, type, right ? own_b.rows : pa.n, right ? pa.n : own_b.cols, alpha,
                 alpha ? da.p : NULL, own_a.ld, db.p, own_b.ld));
    char what[128];
    snprintf(what, sizeof what, "weft_%s of %s, how %u, order %zu, %zu beside, alpha %g",
             solves ? "trsm" : "trmm", test_type_name(type), how, order, count, alpha);
    const double u = type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    compare(&b, &own_b, &db, rows, pb.first, solves ? 16 * u * (double)(order + 8) : 0, what);
    dist_give(&da), dist_give(&db);
    free(a.p), free(b.p), free(own_a.p), free(own_b.p);
}

/* One rank's arrays are refused: none works. */
static void one_refused(bool solves) {
    triangle_call *const call = solves ? weft_trsm : weft_trmm;
    const char *const name = solves ? "weft_trsm" : "weft_trmm";
    const double a[64] = {1};
    double b[64] = {1};
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit;
    const size_t ranks = (size_t)dist_ranks;
    if (dist_on_gpus() || ranks > 64)
        return;
    dist_refused_by_one(call(dist_ctx, 0, WEFT_F64, 1, 1, 3, wrong ? NULL : a, ranks, b, ranks),
                        culprit, name, "a");
    dist_refused_by_one(call(dist_ctx, WEFT_RIGHT, WEFT_F64, 2, 1, 3, a, ranks, b, wrong ? 1 : 2),
                        culprit, name, "ldb");
    assert_true(b[0] == 1);
}

static weft_status beside(void *user) {
    double a[64], b[2] = {1, 1};
    for (size_t k = 0; k < (size_t)dist_ranks; k++)
        a[k] = 1;
    return (*(triangle_call *const *)user)(dist_ctx, WEFT_RIGHT | WEFT_UPPER_TRIANGLE, WEFT_F64, 2,
                                           1, 1, a, (size_t)dist_ranks, b, 2);
}

static void each_triangle(uint64_t stream, bool solves) {
    static const size_t sizes[][2] = {{1, 1},   {0, 3},   {3, 0},    {2, 9},  {9, 2},
                                      {23, 17}, {17, 40}, {130, 50}, {600, 7}};
    test_random r = test_random_at(stream);
    const int times = dist_ctx->gpu ? 2 : 8;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            for (int t = 0; t < times && dist_wanted(k, shape, sizes[k][0] * sizes[k][1]); t++)
                triangle_case(&r, (dist_shape)shape, sizes[k][0], sizes[k][1], solves);
    assert_string_equal(weft_used(dist_ctx, solves ? "trsm" : "trmm"), "ranks");
    one_refused(solves);
    triangle_call *call = solves ? weft_trsm : weft_trmm;
    if (dist_ranks <= 64)
        fail_allocations(beside, &call);
}

void dist_test_trsm(void **state) {
    (void)state;
    each_triangle(49, true);
}

void dist_test_trmm(void **state) {
    (void)state;
    each_triangle(50, false);
}
