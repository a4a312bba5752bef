/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization. */
#include "sparse/dense.h"

#include "sparse/dense_simd.h"

static const wi_dense_simd *simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_simd);
}

int64_t wi_dense_eliminate(int64_t begin, int64_t end, int64_t n, double *a, int64_t lda,
                           double *packed) {
    return simd()->eliminate(begin, end, n, a, lda, packed);
}

void wi_dense_update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                     const double *packed, double *c, int64_t ldc) {
    simd()->update(row, m, column, n, k, packed, c, ldc);
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
