/* SPDX-License-Identifier: Apache-2.0 */
/* Products of packed blocks, and packing, compiled for each instruction set.
 *
 * Blocks are packed for the tiles of C that stay in registers, `rows` by `columns` elements. A
 * block of A is cut into panels of `rows` rows, the last one of as few whole vectors as hold what
 * is left; one of B into panels of `columns` columns, the last one of fewer if half as many or one
 * do. A panel lies product after product: its elements of product 0, then those of product 1. What
 * a panel has beyond the matrix is 0. */
#ifndef WI_GEMM_SIMD_H
#define WI_GEMM_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"
#include "weft/core.h"

/* A side of a product: element i of product p, i counting rows of A or columns of B, is at
 * x[i + p * ld] or, `across`, at x[i * ld + p]. */
typedef struct wi_gemm_side {
    const void *x;
    size_t ld;
    bool across;
} wi_gemm_side;

/* C = alpha A B + beta C for packed A, m x k, and B, k x n; beta = 0: C is not read. Element (i, j)
 * of C is at c[i * row_step + j * column_step]. */
typedef struct wi_gemm_block {
    size_t m, n, k;
    const void *a, *b;
    void *c;
    size_t row_step, column_step;
    double alpha, beta;
} wi_gemm_block;

typedef void wi_gemm_multiply(const wi_gemm_block *block);

/* The same of A as it lies; what `block` calls A is room for a packed panel. */
typedef void wi_gemm_multiply_thin(const wi_gemm_block *block, const wi_gemm_side *a);

/* Packs elements 0 ... count - 1 of products 0 ... k - 1. */
typedef void wi_gemm_pack(const wi_gemm_side *side, size_t count, size_t k, void *packed);

/* What there is for one type of A and B. */
typedef struct wi_gemm_kernel {
    weft_type sums;
    size_t rows, columns; /* of a tile */
    size_t lanes;         /* of a vector */
    size_t depth;         /* products of which sums are made before they are added to C */
    wi_gemm_pack *pack_a, *pack_b;
    wi_gemm_multiply *multiply;
    wi_gemm_multiply_thin *multiply_thin; /* or NULL */
} wi_gemm_kernel;

/* And runs of C, where it is narrower than its sums, which are f32. */
typedef struct wi_gemm_simd {
    wi_gemm_kernel kernel[WEFT_TYPE_COUNT]; /* by the type of A and B */
    void (*widen[WEFT_TYPE_COUNT])(size_t n, const void *from, float *to);
    void (*narrow[WEFT_TYPE_COUNT])(size_t n, const float *from, void *to);
} wi_gemm_simd;

WI_DECLARE_ISAS(wi_gemm_simd, wi_gemm_simd);

#endif
