/* SPDX-License-Identifier: Apache-2.0 */
/* map: one output element from the elements at the same position.
 *
 * Every call here takes any weft_type and any count from 0. Arrays may be host or device memory,
 * mixed freely, and need no alignment beyond that of C's own types. An output may be the same array
 * as an input (in place); any other overlap is WEFT_EARG. On host memory a call returns when the
 * answer is there; when all arrays are device memory it is queued on the context's stream.
 *
 * Integers wrap modulo 2^bits. f32 and f64 products and sums are each rounded, never fused; f16 and
 * bf16 compute in f32 and round once at the end. So the bits are the same on every place.
 *
 * Scalars (alpha, value, start, step) are pointers to one element of `type`, in host memory.
 *
 * Matrices: `rows` runs of `cols` elements each; consecutive rows start `ld` elements apart, and ld
 * >= cols. Memory between cols and ld is neither read nor written. (For a column-major matrix swap
 * the meaning of rows and cols.)
 *
 * Over ranks (place mpi) every rank passes its part of each array; iota counts on from rank to
 * rank, and scalars are the same on all. */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* z[i] = x[i] + y[i] */
WEFT_API weft_status weft_add(weft_context *ctx, weft_type type, size_t n, const void *x,
                              const void *y, void *z);

/* y[i] = alpha x[i] + y[i]. alpha = 0 still reads x, so NaN and infinity spread. */
WEFT_API weft_status weft_axpy(weft_context *ctx, weft_type type, size_t n, const void *alpha,
                               const void *x, void *y);

/* x[i] = value */
WEFT_API weft_status weft_fill(weft_context *ctx, weft_type type, size_t n, const void *value,
                               void *x);

/* x[i] = start + i step, each element computed from i and not from the element before. Integers
 * wrap; f64 rounds i, the product and the sum; the other floats compute in f64 and round once at
 * the end. */
WEFT_API weft_status weft_iota(weft_context *ctx, weft_type type, size_t n, const void *start,
                               const void *step, void *x);

/* The same on matrices. For element (r, c) of iota, i is r cols + c. */
WEFT_API weft_status weft_add_matrix(weft_context *ctx, weft_type type, size_t rows, size_t cols,
                                     const void *x, size_t ldx, const void *y, size_t ldy, void *z,
                                     size_t ldz);
WEFT_API weft_status weft_axpy_matrix(weft_context *ctx, weft_type type, size_t rows, size_t cols,
                                      const void *alpha, const void *x, size_t ldx, void *y,
                                      size_t ldy);
WEFT_API weft_status weft_fill_matrix(weft_context *ctx, weft_type type, size_t rows, size_t cols,
                                      const void *value, void *x, size_t ldx);
WEFT_API weft_status weft_iota_matrix(weft_context *ctx, weft_type type, size_t rows, size_t cols,
                                      const void *start, const void *step, void *x, size_t ldx);

#ifdef __cplusplus
}
#endif
#endif
