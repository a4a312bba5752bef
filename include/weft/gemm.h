/* SPDX-License-Identifier: Apache-2.0 */
/* gemm: products of matrices. */
#ifndef WEFT_GEMM_H
#define WEFT_GEMM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a product is to be computed; combined with |. */
enum {
    /* Matrices are stored row after row; without it, column after column (docs/matrices.md). */
    WEFT_ROW_MAJOR = 1 << 0,
    WEFT_TRANSPOSE_A = 1 << 1, /* A is stored as its transpose, k x m */
    WEFT_TRANSPOSE_B = 1 << 2, /* B is stored as its transpose, n x k */
    /* Of f32 alone; at most one of the two. Without either, a product has the accuracy of f32, by
     * whatever way is fastest. */
    WEFT_F32_STRICT = 1 << 3, /* fused multiply-adds in f32, and nothing else */
    /* Elements of A and B may be cut to the 11 significant bits of tf32, an error of up to 2^-10 of
     * each; numbers below 2^-126 may become zero. */
    WEFT_TF32 = 1 << 4
};

/* C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) is k x n and C is m x n; op(X) is X,
 * or its transpose.
 *
 * `type` is that of A and B, `out` that of C. Sums are kept in a type of their own:
 *
 *     type   out          sums
 *     f64    f64          f64
 *     f32    f32          f32
 *     f16    f16 or f32   f32
 *     bf16   bf16 or f32  f32
 *     i8     i32          i32, modulo 2^32
 *
 * Other pairs are WEFT_EUNSUPPORTED. alpha and beta are rounded to the type of the sums; of i8 they
 * are whole numbers that an i32 holds. An element of C is rounded to `out` once.
 *
 * Leading dimensions: column j of a matrix stored by columns starts at element j ld, and ld is at
 * least its number of rows; with WEFT_ROW_MAJOR the same holds of rows. What lies in between is
 * neither read nor written.
 *
 * beta = 0: C is not read, so NaN or infinity in it do no harm. alpha = 0 or k = 0: A and B are not
 * read, and C = beta C. Else NaN and infinity spread as the formula says. C shares no memory with A
 * or B. A and B may be the same.
 *
 * The same call gives the same bits each time on the same place, whatever the number of threads. On
 * a cpu an element's bits do not depend on m and n either; on a GPU they do where k is long and C
 * is small, for then k is cut. Places, and devices of different kinds, may add products in a
 * different order.
 *
 * The error of an element of f32 is at most about k 2^-24 sum |a| |b| unless WEFT_TF32 is given.
 * Tensor cores, which a GPU uses for f16, bf16 and tf32, cut sums in f32 instead of rounding them:
 * twice that; and factors of f16 below 2^-14 count there as if they were 2^-14.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. Large host matrices are multiplied piece by piece on a GPU, while
 * the next pieces travel; they need not fit its memory. How they are cut depends on the call and on
 * the device, not on how much of its memory is free. On a GPU, A or B may be copied to temporary
 * memory first if its columns (rows, with WEFT_ROW_MAJOR) do not all begin at multiples of 16
 * bytes. */
WEFT_API weft_status weft_gemm(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                               size_t m, size_t n, size_t k, double alpha, const void *a,
                               size_t lda, const void *b, size_t ldb, double beta, void *c,
                               size_t ldc);

/* `count` products of one shape, C_i = alpha op(A_i) op(B_i) + beta C_i. Matrix i of A begins
 * i * stride_a elements after the first, and so on. What weft_gemm says holds for each product; but
 * also: the bits of a product do not depend on the others, nor on how many there are.
 *
 * stride_a or stride_b may be 0, which means the same matrix for all, and matrices of A or B may
 * share elements. Those of C may not: stride_c is at least the elements from the first of a matrix
 * to its last; or all matrices lie side by side, each in the gaps between the columns (rows, with
 * WEFT_ROW_MAJOR) of the others. count = 0 does nothing.
 *
 * Arrays may be host or device memory, mixed freely. If the matrices of a host array have gaps
 * between their columns and other gaps between matrices, a GPU does one product after the other,
 * which is slow. */
WEFT_API weft_status weft_gemm_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                             weft_type out, size_t m, size_t n, size_t k,
                                             double alpha, const void *a, size_t lda,
                                             size_t stride_a, const void *b, size_t ldb,
                                             size_t stride_b, double beta, void *c, size_t ldc,
                                             size_t stride_c, size_t count);

/* The same of matrices at any addresses: a[i], b[i] and c[i] are those of product i. All have the
 * same leading dimensions. Addresses in a, or in b, may repeat. Matrices of C share no memory with
 * any other, which is not checked.
 *
 * The arrays of addresses may be host or device memory. On a GPU the matrices are memory of that
 * GPU: they are not copied. Addresses in host memory are looked at: NULL and misaligned ones are
 * refused, and of some of them it is asked whether they are the GPU's. Nothing is known of
 * addresses in device memory. On a GPU the products are queued on the context's stream; arrays of
 * addresses in host memory have been copied when the call returns. */
WEFT_API weft_status weft_gemm_batch(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                                     size_t m, size_t n, size_t k, double alpha,
                                     const void *const *a, size_t lda, const void *const *b,
                                     size_t ldb, double beta, void *const *c, size_t ldc,
                                     size_t count);

#ifdef __cplusplus
}
#endif
#endif
