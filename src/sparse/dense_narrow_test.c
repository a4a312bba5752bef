/* SPDX-License-Identifier: Apache-2.0 */
/* The dense kernels of floats on every instruction set of this processor: the same bits as loops in
 * the order that dense.h promises, wherever rows are cut, and nothing else is written; solves
 * beside those of doubles with the same numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/dense.h"
#include "sparse/dense_simd.h"
#include "testing.h"

enum {
    MOST = 330,
    LD = MOST + 5
};

static float a[LD * MOST], wanted[LD * MOST], c[LD * MOST], expected[LD * MOST];
enum {
    AFTER = 64 /* numbers after those that packed rows take */
};
static float packed[(MOST + WI_DENSE_NARROW_GROUP) * MOST + AFTER] __attribute__((aligned(64)));
static double wide[LD * MOST];

/* Numbers on and below a diagonal that is large; NaN elsewhere. */
static void fill(test_random *r, int64_t m, int64_t n, float *to) {
    for (int64_t k = 0; k < LD * MOST; k++)
        to[k] = NAN;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < m; i++)
            to[i + j * LD] = (float)(i == j ? 2 + (double)n + test_unit(r) : test_unit(r));
}

/* The first k products are summed and added at once, those after them one by one. */
static float after(const float *row, const float *column, int64_t apart, int64_t k, float x) {
    float sum = -0.0f;
    for (int64_t p = 0; p < apart; p++)
        sum = fmaf(-row[p * LD], column[p * LD], sum);
    x += sum;
    for (int64_t p = apart; p < k; p++)
        x = fmaf(-row[p * LD], column[p * LD], x);
    return x;
}

static void eliminate(int64_t m, int64_t n, float *l) {
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < m; i++)
            l[i + j * LD] =
                after(l + i, l + j, j / WI_DENSE_APART * WI_DENSE_APART, j, l[i + j * LD]);
        l[j + j * LD] = (float)sqrt(l[j + j * LD]);
        for (int64_t i = j + 1; i < m; i++)
            l[i + j * LD] *= 1 / l[j + j * LD];
    }
}

static void same(const float *x, const float *y, const char *what, int isa, int64_t m, int64_t n) {
    for (int64_t k = 0; k < LD * MOST; k++)
        if (memcmp(&x[k], &y[k], sizeof *x) != 0)
            fail_msg(
                "%s, instruction set %d, m = %lld, n = %lld: row %lld, column %lld is %a, not %a",
                what, isa, (long long)m, (long long)n, (long long)(k % LD), (long long)(k / LD),
                (double)x[k], (double)y[k]);
}

/* A multiple of a group of rows, up to `most`. */
static int64_t some_groups(test_random *r, int64_t most) {
    const int64_t groups = most / WI_DENSE_NARROW_GROUP;
    return (1 + (int64_t)test_below(r, (uint64_t)groups + 1)) * WI_DENSE_NARROW_GROUP;
}

/* The columns, and what they change, in pieces of rows. */
static void check_factor(test_random *r, wi_isa isa, int64_t m, int64_t n) {
    const wi_dense_narrow_simd *const simd = WI_OF_ISA(isa, wi_dense_narrow_simd);
    int64_t row = (n + WI_DENSE_NARROW_GROUP - 1) / WI_DENSE_NARROW_GROUP * WI_DENSE_NARROW_GROUP;
    fill(r, m, n, a);
    memcpy(wanted, a, sizeof a);
    eliminate(m, n, wanted);
    row = wi_least(row, m);
    float *const after_packed = packed + wi_dense_narrow_packed(m, n);
    for (int64_t k = 0; k < AFTER; k++)
        after_packed[k] = 7;
    assert_int_equal(simd->eliminate(0, row, n, a, LD, packed), n);
    while (row < m) {
        const int64_t end = wi_least(m, row + some_groups(r, 100));
        assert_int_equal(simd->eliminate(row, end, n, a, LD, packed), n);
        row = end;
    }
    same(a, wanted, "eliminate", (int)isa, m, n);
    for (int64_t k = 0; k < AFTER; k++)
        assert_true(after_packed[k] == 7);
    fill(r, m, m, c);
    memcpy(expected, c, sizeof c);
    for (int64_t j = n; j < m; j++)
        for (int64_t i = j; i < m; i++)
            expected[i + j * LD] = after(a + i, a + j, n, n, expected[i + j * LD]);
    for (int64_t column = n, across; column < m; column += across) {
        across = wi_least(m - column, 1 + (int64_t)test_below(r, 90));
        for (int64_t i = column, end; i < m; i = end) {
            end = wi_least(m,
                           i / WI_DENSE_NARROW_GROUP * WI_DENSE_NARROW_GROUP + some_groups(r, 100));
            simd->update(i, end - i, column, across, n, packed, packed, c + i + column * LD, LD);
        }
    }
    same(c, expected, "update", (int)isa, m, n);
}

static void factors(void **state) {
    test_random r = test_random_at(1);
    (void)state;
    for (int64_t k = 0; k < 120; k++) {
        const int64_t m = 1 + (int64_t)test_below(&r, k < 90 ? 110 : MOST - 1);
        const int64_t n = 1 + (int64_t)test_below(&r, (uint64_t)wi_least(m, 256));
        for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++)
            check_factor(&r, isa, m, n);
    }
}

/* A pivot that is not above 0, or not finite, is where it ends. */
static void pivots(void **state) {
    static const float bad[] = {0, -1, INFINITY, NAN};
    test_random r = test_random_at(2);
    (void)state;
    for (int64_t k = 0; k < 200; k++) {
        const int64_t n = 1 + (int64_t)test_below(&r, 120),
                      at = (int64_t)test_below(&r, (uint64_t)n);
        for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++) {
            fill(&r, n, n, a);
            for (int64_t j = 0; j < at; j++)
                a[at + j * LD] = 0;
            a[at + at * LD] = bad[k % 4];
            assert_int_equal(
                WI_OF_ISA(isa, wi_dense_narrow_simd)->eliminate(0, n, n, a, LD, packed), at);
            assert_memory_equal(&a[at + at * LD], &bad[k % 4], sizeof *a);
        }
    }
}

/* As with doubles: each way within rounding, and the same wherever columns are cut. */
static void solves(void **state) {
    static double x[LD * 3], y[LD * 3];
    static const double factor[LD * 3] = {0.7};
    test_random r = test_random_at(3);
    (void)state;
    for (int k = 0; k < 60; k++) {
        const int64_t n = 1 + (int64_t)test_below(&r, 200), count = 1 + (int64_t)test_below(&r, 3);
        const int64_t cut = (int64_t)test_below(&r, (uint64_t)n + 1);
        fill(&r, n, n, a);
        wi_dense_widen(n, n, a, LD, wide, LD);
        for (int64_t i = 0; i < LD * 3; i++)
            x[i] = y[i] = test_unit(&r);
        wi_dense_forward(n, count, wide, LD, y, LD);
        wi_dense_narrow_forward(n, count, a, LD, x, LD);
        assert_memory_equal(x, y, sizeof x); /* chains of products go on from piece to piece */
        wi_dense_backward(n, count, wide, LD, y, LD);
        wi_dense_narrow_backward(n, count, a, LD, x, LD);
        for (int64_t i = 0; i < LD * 3; i++)
            if (!(fabs(x[i] - y[i]) <= 1e-15))
                fail_msg("n = %lld: %a, not %a", (long long)n, x[i], y[i]);
        memcpy(y, x, sizeof x);
        const int64_t below = n - cut; /* rows may be cut anywhere */
        wi_dense_narrow_subtract(n, 1, count, a, LD, factor, LD, x, LD);
        wi_dense_narrow_subtract(cut, 1, count, a, LD, factor, LD, y, LD);
        wi_dense_narrow_subtract(below, 1, count, a + cut, LD, factor, LD, y + cut, LD);
        assert_memory_equal(x, y, sizeof x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors),
        cmocka_unit_test(pivots),
        cmocka_unit_test(solves),
    };
    return cmocka_run_group_tests_name("dense_narrow", tests, NULL, NULL);
}
