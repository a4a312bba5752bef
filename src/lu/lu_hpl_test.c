/* SPDX-License-Identifier: Apache-2.0 */
/* The residuals of the HPL benchmark, which must be below 16, for a random system: two of its first
 * version and that of the second; by weft_lu_factor and weft_lu_solve, of the order 20000 on a GPU.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "weft/lu.h"

enum {
    HPL_THRESHOLD = 16,
    GPU_ORDER = 20000,
#ifdef WEFT_EMU
    ORDER = 60
#else
    ORDER = 700
#endif
};

static const double eps = 0x1p-53;

typedef struct hpl_system {
    size_t n;
    double *a, *x; /* A by columns; the right-hand side, and then the solution */
    double *b;
} hpl_system;

static double *numbers(size_t n) {
    double *const p = malloc(n * sizeof *p);
    assert_non_null(p);
    return p;
}

/* Of [-1/2, 1/2); each column has a generator of its own. */
static hpl_system make(size_t n) {
    const hpl_system s = {n, numbers(n * n), numbers(n), numbers(n)};
#pragma omp parallel for
    for (size_t j = 0; j <= n; j++) {
        test_random r = test_random_at(j);
        double *const column = j < n ? s.a + j * n : s.b;
        for (size_t i = 0; i < n; i++)
            column[i] = test_unit(&r) / 2;
    }
    memcpy(s.x, s.b, n * sizeof *s.x);
    return s;
}

static void drop(hpl_system s) {
    free(s.a);
    free(s.b);
    free(s.x);
}

static double larger(double a, double b) {
    return b <= a ? a : b; /* NaN stays */
}

/* What the residuals are made of: largest elements, and sums of columns and of rows. */
typedef struct hpl_norms {
    double rest, a_one, a_most, x_one, x_most, b_most;
} hpl_norms;

static hpl_norms norms_of(const hpl_system *s) {
    const size_t n = s->n;
    double rest = 0, a_one = 0, a_most = 0, x_one = 0, x_most = 0, b_most = 0;
#pragma omp parallel for reduction(max : a_one)
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fabs(s->a[i + j * n]);
        a_one = larger(sum, a_one);
    }
#pragma omp parallel for schedule(static, 8) reduction(max : rest, a_most)
    for (size_t i = 0; i < n; i++) {
        long double sum = s->b[i];
        double size = 0;
        for (size_t j = 0; j < n; j++) {
            sum -= (long double)s->a[i + j * n] * s->x[j];
            size += fabs(s->a[i + j * n]);
        }
        rest = larger((double)fabsl(sum), rest);
        a_most = larger(size, a_most);
    }
    for (size_t i = 0; i < n; i++) {
        x_one += fabs(s->x[i]);
        x_most = larger(fabs(s->x[i]), x_most);
        b_most = larger(fabs(s->b[i]), b_most);
    }
    return (hpl_norms){rest, a_one, a_most, x_one, x_most, b_most};
}

static void check(const hpl_system *s, const char *place) {
    const hpl_norms v = norms_of(s);
    const double n = (double)s->n;
    const double ratios[] = {v.rest / (eps * v.a_one * n), v.rest / (eps * v.a_one * v.x_one),
                             v.rest / (eps * (v.a_most * v.x_most + v.b_most) * n)};
    print_message("HPL's residuals on %s, n %zu: %.3g %.3g %.3g\n", place, s->n, ratios[0],
                  ratios[1], ratios[2]);
    for (size_t k = 0; k < 3; k++)
        if (!(ratios[k] < HPL_THRESHOLD))
            fail_msg("residual %zu on %s, n %zu, is %g", k, place, s->n, ratios[k]);
}

static size_t order_on(const weft_context *ctx) {
#ifndef WEFT_EMU
    if (test_place_is_gpu(weft_place(ctx)))
        return GPU_ORDER;
#endif
    (void)ctx;
    return ORDER;
}

static void residuals(weft_context *ctx) {
    const hpl_system s = make(order_on(ctx));
    double *const lu = numbers(s.n * s.n);
    int64_t *const pivot = malloc(s.n * sizeof *pivot);
    assert_non_null(pivot);
    memcpy(lu, s.a, s.n * s.n * sizeof *lu);
    if (weft_lu_factor(ctx, 0, WEFT_F64, s.n, s.n, lu, s.n, pivot) != WEFT_OK ||
        weft_lu_solve(ctx, 0, WEFT_F64, s.n, 1, lu, s.n, pivot, s.x, s.n) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    check(&s, weft_place(ctx));
    free(pivot);
    free(lu);
    drop(s);
}

static void test_residuals(void **state) {
    (void)state;
    test_each_place(residuals);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_residuals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
