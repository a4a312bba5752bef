/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization. */
#include "sparse/dense.h"

#include <math.h>

int64_t wi_dense_room(int64_t m, int64_t n, int64_t k) {
    (void)m;
    (void)n;
    (void)k;
    return 8;
}

void wi_dense_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                       const double *b, int64_t ldb, double *c, int64_t ldc, double *room) {
    (void)room;
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t i = 0; i < m; i++)
                c[i + j * ldc] = fma(-a[i + p * lda], b[j + p * ldb], c[i + j * ldc]);
}

void wi_dense_update(int64_t m, int64_t k, const double *a, int64_t lda, int64_t begin, int64_t end,
                     double *c, int64_t ldc, double *room) {
    for (int64_t j = begin; j < end; j++)
        wi_dense_multiply(m - j, 1, k, a + j, lda, a + j, lda, c + j + j * ldc, ldc, room);
}

int64_t wi_dense_cholesky(int64_t n, double *a, int64_t lda, double *room) {
    for (int64_t j = 0; j < n; j++) {
        wi_dense_multiply(n - j, 1, j, a + j, lda, a + j, lda, a + j + j * lda, lda, room);
        if (!(a[j + j * lda] > 0 && a[j + j * lda] < INFINITY))
            return j;
        a[j + j * lda] = sqrt(a[j + j * lda]);
        const double scale = 1 / a[j + j * lda];
        for (int64_t i = j + 1; i < n; i++)
            a[i + j * lda] *= scale;
    }
    return n;
}

void wi_dense_solve_right(int64_t m, int64_t n, const double *l, int64_t ldl, double *b,
                          int64_t ldb, double *room) {
    for (int64_t j = 0; j < n; j++) {
        wi_dense_multiply(m, 1, j, b, ldb, l + j, ldl, b + j * ldb, ldb, room);
        const double scale = 1 / l[j + j * ldl];
        for (int64_t i = 0; i < m; i++)
            b[i + j * ldb] *= scale;
    }
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
