/* SPDX-License-Identifier: Apache-2.0 */
/* The dense kernels of dense.h, compiled for each instruction set. */
#ifndef WI_SPARSE_DENSE_SIMD_H
#define WI_SPARSE_DENSE_SIMD_H

#include <stdint.h>

#include "cpu/isa.h"

enum {
    /* What is packed at a time, in rows and columns: of A it fits the second-level cache, and
     * WI_DENSE_DEEP columns of a tile's rows of A and of B together fit the first. */
    WI_DENSE_TALL = 240, /* a multiple of the rows of every tile */
    WI_DENSE_WIDE = 768,
    WI_DENSE_DEEP = 256,
    WI_DENSE_TILE_ROWS = 24, /* of the largest tile */
    WI_DENSE_TILE_COLUMNS = 8
};

/* Doubles that up to WI_DENSE_TALL rows of A take when packed, in whole tiles, and up to
 * WI_DENSE_WIDE rows of B. */
static inline int64_t wi_dense_packed_a(int64_t m, int64_t k) {
    return (m < WI_DENSE_TALL
                ? (m + WI_DENSE_TILE_ROWS - 1) / WI_DENSE_TILE_ROWS * WI_DENSE_TILE_ROWS
                : WI_DENSE_TALL) *
           k;
}
static inline int64_t wi_dense_packed_b(int64_t n, int64_t k) {
    return (n < WI_DENSE_WIDE
                ? (n + WI_DENSE_TILE_COLUMNS - 1) / WI_DENSE_TILE_COLUMNS * WI_DENSE_TILE_COLUMNS
                : WI_DENSE_WIDE) *
           k;
}

typedef struct wi_dense_simd {
    void (*multiply)(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc, double *room);
    void (*update)(int64_t m, int64_t k, const double *a, int64_t lda, int64_t begin, int64_t end,
                   double *c, int64_t ldc, double *room);
    int64_t (*panel)(int64_t m, int64_t n, double *a, int64_t lda, double *room);
    void (*solve_right)(int64_t m, int64_t n, const double *l, int64_t ldl, double *b, int64_t ldb,
                        double *room);
} wi_dense_simd;

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
WI_DECLARE_ISAS(wi_dense_solve_simd, wi_dense_solve_simd);

#endif
