/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the factorizations. */
#include "sparse/dense.h"

#include <stdbool.h>

#include "sparse/dense_simd.h"

static const wi_dense_simd *simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_simd);
}

int64_t wi_dense_eliminate(int64_t begin, int64_t end, int64_t n, double *a, int64_t lda,
                           double *packed) {
    return simd()->eliminate(begin, end, n, a, lda, packed);
}

void wi_dense_update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                     const double *packed, const double *across, double *c, int64_t ldc) {
    simd()->update(row, m, column, n, k, packed, across, c, ldc);
}

/* ---- L D Lt ---- */

#define NAME(f) wi_dense_##f
typedef double real;
#include "sparse/dense_pack.inc"

void wi_dense_divide_sides(int64_t n, int64_t count, const wi_dense_pivots *pivots, double *x,
                           int64_t ldx) {
    for (int64_t r = 0; r < count; r++) {
        double *const side = x + r * ldx;
        for (int64_t k = 0; k < n; k++) {
            if (pivots->mark[k] == WI_PIVOT_FIRST) {
                wi_dense_divide_pair(pivots->d[k], pivots->e[k], pivots->d[k + 1], &side[k],
                                     &side[k + 1]);
                k++;
            } else {
                side[k] /= pivots->d[k];
            }
        }
    }
}

static const wi_dense_solve_simd *solve_simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_solve_simd);
}

void wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                      int64_t ldx) {
    solve_simd()->forward(n, count, l, ldl, x, ldx);
}

void wi_dense_subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                       const double *x, int64_t ldx, double *y, int64_t ldy) {
    solve_simd()->subtract(m, n, count, a, lda, x, ldx, y, ldy);
}

void wi_dense_backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                       int64_t ldx) {
    solve_simd()->backward(n, count, l, ldl, x, ldx);
}

void wi_dense_subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                  const double *y, int64_t ldy, double *x, int64_t ldx) {
    solve_simd()->subtract_transposed(m, n, count, a, lda, y, ldy, x, ldx);
}
