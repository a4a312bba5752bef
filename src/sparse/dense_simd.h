/* SPDX-License-Identifier: Apache-2.0 */
/* The dense kernels of dense.h, compiled for each instruction set. */
#ifndef WI_SPARSE_DENSE_SIMD_H
#define WI_SPARSE_DENSE_SIMD_H

#include <stdint.h>

#include "cpu/isa.h"

typedef struct wi_dense_simd {
    int64_t group; /* packed rows that are stored together, column by column */
    int64_t (*eliminate)(int64_t begin, int64_t end, int64_t n, double *a, int64_t lda,
                         double *packed);
    void (*update)(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                   const double *packed, const double *across, double *c, int64_t ldc);
    /* C -= A Bt for small matrices that are not packed; C is m x n, A m x k, B n x k. */
    void (*multiply)(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc);
} wi_dense_simd;

/* The same for floats. */
typedef struct wi_dense_narrow_simd {
    int64_t group;
    int64_t (*eliminate)(int64_t begin, int64_t end, int64_t n, float *a, int64_t lda,
                         float *packed);
    void (*update)(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                   const float *packed, const float *across, float *c, int64_t ldc);
    /* `to` = A, m x n. */
    void (*widen)(int64_t m, int64_t n, const float *a, int64_t lda, double *to, int64_t ldt);
} wi_dense_narrow_simd;

typedef struct wi_dense_solve_simd {
    void (*forward)(int64_t n, int64_t count, const double *l, int64_t ldl, double *x, int64_t ldx);
    void (*subtract)(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                     const double *x, int64_t ldx, double *y, int64_t ldy);
    void (*backward)(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                     int64_t ldx);
    void (*subtract_transposed)(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                const double *y, int64_t ldy, double *x, int64_t ldx);
} wi_dense_solve_simd;

WI_DECLARE_ISAS(wi_dense_simd, wi_dense_simd);
WI_DECLARE_ISAS(wi_dense_narrow_simd, wi_dense_narrow_simd);
WI_DECLARE_ISAS(wi_dense_solve_simd, wi_dense_solve_simd);

#endif
