/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization. */
#include "sparse/dense.h"

#include <math.h>

#include "sparse/dense_simd.h"

static const wi_dense_simd *simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_simd);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t wi_dense_room(int64_t m, int64_t n, int64_t k) {
    const int64_t deep = least(k, WI_DENSE_DEEP);
    const int64_t packed = wi_dense_packed_a(m, deep) + wi_dense_packed_b(n, deep);
    const int64_t triangle = n > WI_DENSE_NARROW ? WI_DENSE_TRIANGLE : 0;
    return packed > triangle ? packed : triangle;
}

void wi_dense_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                       const double *b, int64_t ldb, double *c, int64_t ldc, double *room) {
    simd()->multiply(m, n, k, a, lda, b, ldb, c, ldc, room);
}

void wi_dense_update(int64_t m, int64_t k, const double *a, int64_t lda, int64_t begin, int64_t end,
                     double *c, int64_t ldc, double *room) {
    simd()->update(m, k, a, lda, begin, end, c, ldc, room);
}

int64_t wi_dense_panel(int64_t m, int64_t n, double *a, int64_t lda, double *room) {
    return simd()->panel(m, n, a, lda, room);
}

int64_t wi_dense_cholesky(int64_t n, double *a, int64_t lda, double *room) {
    return simd()->panel(n, n, a, lda, room);
}

void wi_dense_solve_right(int64_t m, int64_t n, const double *l, int64_t ldl, double *b,
                          int64_t ldb, double *room) {
    simd()->solve_right(m, n, l, ldl, b, ldb, room);
}

void wi_dense_subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                       const double *x, int64_t ldx, double *y, int64_t ldy) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                y[i + r * ldy] = fma(-a[i + j * lda], x[j + r * ldx], y[i + r * ldy]);
}

void wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                      int64_t ldx) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++) {
            x[j + r * ldx] *= 1 / l[j + j * ldl];
            wi_dense_subtract(n - j - 1, 1, 1, l + j + 1 + j * ldl, ldl, x + j + r * ldx, ldx,
                              x + j + 1 + r * ldx, ldx);
        }
}

void wi_dense_subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                  const double *y, int64_t ldy, double *x, int64_t ldx) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < n; j++) {
            double sum[8] = {0};
            for (int64_t i = 0; i < m; i++)
                sum[i % 8] = fma(a[i + j * lda], y[i + r * ldy], sum[i % 8]);
            x[j + r * ldx] -=
                ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
        }
}

void wi_dense_backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                       int64_t ldx) {
    for (int64_t j = n - 1; j >= 0; j--)
        for (int64_t r = 0; r < count; r++) {
            wi_dense_subtract_transposed(n - j - 1, 1, 1, l + j + 1 + j * ldl, ldl,
                                         x + j + 1 + r * ldx, ldx, x + j + r * ldx, ldx);
            x[j + r * ldx] *= 1 / l[j + j * ldl];
        }
}
