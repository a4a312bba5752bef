/* SPDX-License-Identifier: Apache-2.0 */
/* gemm: products of matrices, and what triangular matrices multiply and solve. */
#ifndef WEFT_GEMM_H
#define WEFT_GEMM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a call is to be computed; combined with |. Each call says which of them it takes. */
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
    WEFT_TF32 = 1 << 4,
    /* Of triangular matrices, and of symmetric ones of which one triangle is stored. */
    WEFT_UPPER_TRIANGLE = 1 << 5, /* the upper triangle; without it, the lower one */
    WEFT_UNIT_DIAGONAL = 1 << 6,  /* the diagonal is all ones, and not read */
    WEFT_RIGHT = 1 << 7           /* A stands on the right of B */
};

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_TRANSPOSE_B, WEFT_F32_STRICT, WEFT_TF32.
 *
 * C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) is k x n and C is m x n; op(X) is X,
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
 * queued on the context's stream. On a GPU, A or B is copied to temporary memory first if its
 * columns (rows, with WEFT_ROW_MAJOR) do not all begin at multiples of 16 bytes. */
WEFT_API weft_status weft_gemm(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                               size_t m, size_t n, size_t k, double alpha, const void *a,
                               size_t lda, const void *b, size_t ldb, double beta, void *c,
                               size_t ldc);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_UPPER_TRIANGLE.
 *
 * C = alpha A A' + beta C, A being n x k or, with WEFT_TRANSPOSE_A, C = alpha A' A + beta C, A
 * being k x n. C is symmetric, n x n, and only its lower triangle or, with WEFT_UPPER_TRIANGLE, its
 * upper one is read and written, diagonal included. (Where a GPU works on C in host memory, the
 * other triangle is copied there and back as it is.)
 *
 * The type is f64 or f32; others are WEFT_EUNSUPPORTED. alpha and beta are rounded to it. Leading
 * dimensions are as in weft_gemm; what lies between lines is neither read nor written. C shares no
 * memory with A.
 *
 * beta = 0: C is not read. alpha = 0 or k = 0: A is not read, and C = beta C. Else NaN and infinity
 * spread as the formula says. The same call gives the same bits each time on the same place,
 * whatever the number of threads. The error of an element is that of weft_gemm's.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. On a GPU, A is copied to temporary memory first if its columns
 * (rows, with WEFT_ROW_MAJOR) do not all begin at multiples of 16 bytes. */
WEFT_API weft_status weft_syrk(weft_context *ctx, unsigned how, weft_type type, size_t n, size_t k,
                               double alpha, const void *a, size_t lda, double beta, void *c,
                               size_t ldc);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_UPPER_TRIANGLE, WEFT_UNIT_DIAGONAL, WEFT_RIGHT.
 *
 * B = alpha op(A)^-1 B or, with WEFT_RIGHT, B = alpha B op(A)^-1: solves op(A) X = alpha B or X
 * op(A) = alpha B, and X takes the place of B, m x n. A is a triangular matrix of order m or, with
 * WEFT_RIGHT, n; op(A) is A, or its transpose with WEFT_TRANSPOSE_A. WEFT_UPPER_TRIANGLE names the
 * triangle that A is stored in, before op and as seen by its rows and columns however these lie in
 * memory. The other triangle is not read, nor is the diagonal with WEFT_UNIT_DIAGONAL.
 *
 * The type is f64 or f32; others are WEFT_EUNSUPPORTED. alpha is rounded to it. Leading dimensions
 * are as in weft_gemm; what lies between lines is neither read nor written. B shares no memory with
 * A.
 *
 * alpha = 0: A and B are not read, and B = 0. Else NaN and infinity spread as substitution spreads
 * them. Whether A is singular is not asked: a zero on its diagonal gives infinity and NaN, and
 * WEFT_OK.
 *
 * The same call gives the same bits each time on the same place, whatever the number of threads.
 *
 * On a cpu X is found by substitution, whose residual |op(A) X - alpha B| is at most about m u |A|
 * |X| (n with WEFT_RIGHT) for each element, u = 2^-53 of f64 and 2^-24 of f32. On a GPU the variant
 * that the library chooses multiplies by inverses of the blocks of 64 x 64 on the diagonal of A,
 * and substitutes blocks: there the bound grows with the condition numbers of these blocks, and is
 * lost if an inverse leaves the range of the type; what substitution makes infinite may be NaN
 * there. `weft_use(ctx, "trsm", "column")` substitutes there too, slowly.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. */
WEFT_API weft_status weft_trsm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                               double alpha, const void *a, size_t lda, void *b, size_t ldb);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_UPPER_TRIANGLE, WEFT_UNIT_DIAGONAL, WEFT_RIGHT.
 *
 * B = alpha op(A) B or, with WEFT_RIGHT, B = alpha B op(A), in place, for the triangular matrix A.
 * Everything is said as in weft_trsm, of which it is the opposite; the error of an element is at
 * most about m u |alpha| |A| |B| (n with WEFT_RIGHT) on every place. */
WEFT_API weft_status weft_trmm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                               double alpha, const void *a, size_t lda, void *b, size_t ldb);

#ifdef __cplusplus
}
#endif
#endif
