/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels for factors of floats. Solves work in double: L is widened piece by piece, which
 * stay in the first-level cache, and given to the kernels of double. */
#include <stdbool.h>

#include "sparse/dense.h"
#include "sparse/dense_simd.h"

enum {
    BLOCK = 8,  /* columns of L solved at a time; as in dense_solve_simd.c, so is */
    DEPTH = 32, /* the columns of a piece: chains of products go on from piece to piece */
    ROWS = 64   /* of a piece */
};

static const wi_dense_narrow_simd *simd(void) {
    return WI_OF_ISA(wi_cpu_isa(), wi_dense_narrow_simd);
}

int64_t wi_dense_narrow_eliminate(int64_t begin, int64_t end, int64_t n, float *a, int64_t lda,
                                  float *packed) {
    return simd()->eliminate(begin, end, n, a, lda, packed);
}

void wi_dense_narrow_update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                            const float *packed, const float *across, float *c, int64_t ldc) {
    simd()->update(row, m, column, n, k, packed, across, c, ldc);
}

void wi_dense_widen(int64_t m, int64_t n, const float *a, int64_t lda, double *to, int64_t ldt) {
    simd()->widen(m, n, a, lda, to, ldt);
}

#define NAME(f) wi_dense_narrow_##f
typedef float real;
#include "sparse/dense_pack.inc"

void wi_dense_narrow_subtract(int64_t m, int64_t n, int64_t count, const float *a, int64_t lda,
                              const double *x, int64_t ldx, double *y, int64_t ldy) {
    double piece[ROWS * DEPTH];
    for (int64_t i = 0; i < m; i += ROWS) {
        const int64_t rows = wi_least(ROWS, m - i);
        for (int64_t j = 0; j < n; j += DEPTH) {
            const int64_t columns = wi_least(DEPTH, n - j);
            wi_dense_widen(rows, columns, a + i + j * lda, lda, piece, ROWS);
            wi_dense_subtract(rows, columns, count, piece, ROWS, x + j, ldx, y + i, ldy);
        }
    }
}

void wi_dense_narrow_subtract_transposed(int64_t m, int64_t n, int64_t count, const float *a,
                                         int64_t lda, const double *y, int64_t ldy, double *x,
                                         int64_t ldx) {
    double piece[ROWS * DEPTH];
    for (int64_t j = 0; j < n; j += DEPTH) {
        const int64_t columns = wi_least(DEPTH, n - j);
        for (int64_t i = 0; i < m; i += ROWS) {
            const int64_t rows = wi_least(ROWS, m - i);
            wi_dense_widen(rows, columns, a + i + j * lda, lda, piece, ROWS);
            wi_dense_subtract_transposed(rows, columns, count, piece, ROWS, y + i, ldy, x + j, ldx);
        }
    }
}

void wi_dense_narrow_forward(int64_t n, int64_t count, const float *l, int64_t ldl, double *x,
                             int64_t ldx) {
    double corner[BLOCK * BLOCK];
    for (int64_t j = 0; j < n; j += BLOCK) {
        const int64_t wide = wi_least(BLOCK, n - j);
        const float *const block = l + j + j * ldl;
        wi_dense_widen(wide, wide, block, ldl, corner, BLOCK);
        wi_dense_forward(wide, count, corner, BLOCK, x + j, ldx);
        wi_dense_narrow_subtract(n - j - wide, wide, count, block + wide, ldl, x + j, ldx,
                                 x + j + wide, ldx);
    }
}

void wi_dense_narrow_backward(int64_t n, int64_t count, const float *l, int64_t ldl, double *x,
                              int64_t ldx) {
    double corner[BLOCK * BLOCK];
    for (int64_t end = n, j; end > 0; end = j) {
        j = (end - 1) / BLOCK * BLOCK;
        const int64_t wide = end - j;
        const float *const block = l + j + j * ldl;
        wi_dense_narrow_subtract_transposed(n - end, wide, count, block + wide, ldl, x + end, ldx,
                                            x + j, ldx);
        wi_dense_widen(wide, wide, block, ldl, corner, BLOCK);
        wi_dense_backward(wide, count, corner, BLOCK, x + j, ldx);
    }
}
