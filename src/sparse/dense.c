/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization. */
#include "sparse/dense.h"

#include "sparse/dense_simd.h"

static const wi_dense_simd *simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_simd);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t wi_dense_room(int64_t m, int64_t n, int64_t k) {
    const int64_t deep = least(k, WI_DENSE_DEEP);
    return wi_dense_packed_a(m, deep) + wi_dense_packed_b(n, deep);
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
