/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of products with vectors, compiled for each instruction set; all sets give the same bits.
 * x and the sums are of the type that sums are kept in, without gaps. */
#ifndef WI_GEMV_SIMD_H
#define WI_GEMV_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"
#include "weft/core.h"

enum {
    WI_GEMV_STRIP = 512, /* rows of a piece by columns, at most */
    WI_GEMV_DEPTH = 4096 /* terms of a piece, at most */
};

/* Of S, m x n, at a: sum[i] = sum of S(i, j) x[j] over j, for i < m; or, `across`, sum[j] = sum of
 * S(i, j) x[i] over i, for j < n. */
typedef void wi_gemv_piece(size_t m, size_t n, const void *a, size_t lda, const void *x, void *sum);

/* y = alpha sum + beta y; sum NULL: y = beta y. */
typedef void wi_gemv_finish(size_t n, const void *sum, double alpha, double beta, void *y,
                            ptrdiff_t step);

typedef struct wi_gemv_kernel {
    wi_gemv_piece *along, *across;
    void (*take)(size_t n, const void *x, ptrdiff_t step,
                 void *to);                            /* x converted, gaps left out */
    wi_gemv_finish *finish[WEFT_TYPE_COUNT];           /* by the type of y */
    void (*add)(size_t n, const void *from, void *to); /* to += from */
} wi_gemv_kernel;

typedef struct wi_gemv_simd {
    wi_gemv_kernel kernel[WEFT_TYPE_COUNT]; /* by the type of A */
} wi_gemv_simd;

WI_DECLARE_ISAS(wi_gemv_simd, wi_gemv_simd);

#endif
