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
 * a cpu an element's bits do not depend on m and n either; on a GPU they do, for where tiles
 * of C do not keep it busy to the end k is cut. Places, and devices of different kinds, may add
 * products in a different order.
 *
 * The error of an element of f32 is at most about k 2^-24 sum |a| |b| unless WEFT_TF32 is given.
 * Without WEFT_F32_STRICT a GPU may compute a product of f32 as six of bf16 on tensor cores, with
 * sums that are rounded every 64 of k: errors were seen to be at most 0.8 of those of fused
 * multiply-adds. It needs temporary memory, half as much again as A and B take; without it, or
 * where an element is infinite, NaN, at least 2^127, or below 2^-100 and not 0, these do the work.
 * Tensor cores, which a GPU uses for f16, bf16 and tf32, cut sums
 * in f32 instead of rounding them: twice that; and factors of f16 below 2^-14 count there as if
 * they were 2^-14.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. Large host matrices are multiplied piece by piece on a GPU, while
 * the next pieces travel; they need not fit its memory. How they are cut depends on the call and on
 * the device, not on how much of its memory is free. On a GPU, A or B may be copied to temporary
 * memory first if its columns (rows, with WEFT_ROW_MAJOR) do not all begin at multiples of 16
 * bytes.
 *
 * On several GPUs of one process (docs/gpus.md) each computes columns of C (rows, with
 * WEFT_ROW_MAJOR), those that it holds; the bits are those of that product on one GPU.
 *
 * Over ranks (docs/clusters.md) each passes its own columns of op(A), of op(B) and of C; the
 * matrices are those of all ranks side by side, in their order. m is the same on all. n is the
 * number of this rank's columns of op(B) and C, and k that of its columns of op(A), m x k; its part
 * of op(B) has as many rows as all ranks together have columns of op(A). With WEFT_ROW_MAJOR rows
 * take the place of columns: n is the same on all, m is the number of this rank's rows of op(A) and
 * C, and k that of its rows of op(B), k x n. A part may be empty. A rank that multiplies on a cpu
 * gets the bits that one cpu gets. */
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
 * which is slow.
 *
 * Over ranks (place mpi) every rank multiplies matrices of its own; extents and counts may differ.
 * So it is for weft_gemm_batch. */
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
 * (rows, with WEFT_ROW_MAJOR) do not all begin at multiples of 16 bytes.
 *
 * On several GPUs of one process each computes columns of C, fewer where they are longer.
 *
 * Over ranks each passes its own columns of op(A), n x k, which is A or its transpose, and of C, as
 * to weft_gemm: n is the number of its columns of C and k that of its columns of op(A); the parts
 * of both have as many rows as all ranks together have columns of C. With WEFT_ROW_MAJOR rows take
 * the place of columns: n is the number of this rank's rows of op(A) and C, and k is the same on
 * all. It takes temporary memory up to three times its part of op(A). */
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
 * X is found by substitution; its residual |op(A) X - alpha B| is at most about m u |A| |X| (n with
 * WEFT_RIGHT) for each element, u = 2^-53 of f64 and 2^-24 of f32. On a GPU the library's choice
 * multiplies by inverses of blocks of 64 x 64 on A's diagonal instead, and corrects what it gets if
 * c, the largest row sum of |inverse| |block|, exceeds 2048: it loses digits only if c^2 u is over
 * 100 or so, or if an inverse leaves the type's range. What substitution makes infinite may be NaN
 * there. `weft_use(ctx, "trsm", "column")` substitutes there too, slowly.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream.
 *
 * On several GPUs of one process each solves for columns of B, or with WEFT_RIGHT for rows (by rows
 * it is the other way round); all read A.
 *
 * Over ranks each passes its own columns of A, as it is stored before op, and of B; with
 * WEFT_ROW_MAJOR its own rows of both. n is the number of its columns of B, and m that of its
 * columns of A, whose parts have as many rows as all ranks together have columns of A. With
 * WEFT_RIGHT, where A is of the order of B's columns, m is the same on all and n is the number of
 * its columns of both. With WEFT_ROW_MAJOR and WEFT_RIGHT, m counts its rows of B and n those of A;
 * without WEFT_RIGHT m counts its rows of both, and n is the same on all. The other triangle of A
 * travels, too, but changes nothing. It takes temporary memory for 256 columns of A and, where
 * columns of B must be exchanged for rows first, three times the rank's part of B. */
WEFT_API weft_status weft_trsm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                               double alpha, const void *a, size_t lda, void *b, size_t ldb);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A, WEFT_UPPER_TRIANGLE, WEFT_UNIT_DIAGONAL, WEFT_RIGHT.
 *
 * B = alpha op(A) B or, with WEFT_RIGHT, B = alpha B op(A), in place, for the triangular matrix A.
 * Everything is said as in weft_trsm, of which it is the opposite; the error of an element is at
 * most about m u |alpha| |A| |B| (n with WEFT_RIGHT) on every place. */
WEFT_API weft_status weft_trmm(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                               double alpha, const void *a, size_t lda, void *b, size_t ldb);

/* ---- products with vectors, and transposes ---- */

/* y = alpha op(A) x + beta y, where op(A) is m x n: x has n elements and y has m. A is stored as in
 * weft_gemm, by columns or, with WEFT_ROW_MAJOR, by rows; with WEFT_TRANSPOSE_A it is stored as its
 * transpose, n x m, which is what BLAS calls the transposed product. Other flags are refused.
 *
 * `type` is that of A and x, `out` that of y, and sums are kept in a type of their own:
 *
 *     type   out          sums
 *     f64    f64          f64
 *     f32    f32          f32
 *     f16    f16 or f32   f32
 *     bf16   bf16 or f32  f32
 *
 * Strides are as in BLAS: elements of x lie incx apart, and incx is not 0. x is the lowest address
 * of the vector in memory; with a negative incx element 0 is the last in memory, at
 * x[(n - 1) |incx|]. The same holds of y. What lies in between is neither read nor written.
 *
 * beta = 0: y is not read. alpha = 0 or n = 0: A and x are not read, and y = beta y. Else NaN and
 * infinity spread as the formula says. y shares no memory with A or x.
 *
 * The same call gives the same bits each time on the same place, whatever the number of threads. On
 * a cpu they do not depend on the instruction set, and an element's bits not on m. The error of an
 * element is at most about n 2^-24 sum |a| |x|, with sums of f64 n 2^-53 of it.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. It is fastest where lines of A begin at multiples of 16 bytes.
 *
 * On several GPUs of one process (docs/gpus.md) each multiplies the lines of A that it holds.
 *
 * Over ranks (docs/clusters.md) each passes its own n elements of x and m of y, any numbers; the
 * vectors are those of all ranks in their order, and op(A) has a column for each element of x and a
 * row for each of y. Of op(A) a rank passes its own n columns, with all rows, or with
 * WEFT_ROW_MAJOR its own m rows, with all columns. WEFT_TRANSPOSE_A changes only how
 * they are stored. With rows
 * a rank that multiplies on a cpu gets the bits that one cpu gets; with columns the sums of the
 * ranks are added in f64, in their order, and rounded once. */
WEFT_API weft_status weft_gemv(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                               size_t m, size_t n, double alpha, const void *a, size_t lda,
                               const void *x, ptrdiff_t incx, double beta, void *y, ptrdiff_t incy);

/* A = A + alpha x yt: element (i, j) of A, m x n, takes in alpha x[i] y[j]. A is stored by columns
 * or, with WEFT_ROW_MAJOR, by rows; other flags are refused. All are of one type: f64, f32, f16 or
 * bf16. alpha y[j] is rounded, and x[i] times that is added with one rounding; of 16-bit floats
 * both in f32, rounded to A's type at the end.
 *
 * Strides incx and incy are as in weft_gemv. alpha = 0: nothing is read or written. Else NaN and
 * infinity spread as the formula says, also where they meet a 0. A shares no memory with x or y;
 * x and y may be the same.
 *
 * The same call gives the same bits each time, on a cpu and on a GPU. Arrays may be host or device
 * memory, mixed freely; with all of them on the device the call is queued.
 *
 * On several GPUs of one process each changes the lines of A that it holds. Over ranks each passes
 * its own m elements of x and n of y, any numbers, and its own n columns of A, with all rows; with
 * WEFT_ROW_MAJOR its own m rows, with all columns. The bits are those of one place. */
WEFT_API weft_status weft_ger(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                              double alpha, const void *x, ptrdiff_t incx, const void *y,
                              ptrdiff_t incy, void *a, size_t lda);

/* B = At: A is m x n, B is n x m, and their elements are of any kind, `width` bytes each, 1 to 16.
 * Both are stored by columns or, with WEFT_ROW_MAJOR, by rows; other flags are refused. lda and ldb
 * count elements. Neither matrix needs an alignment; the call is fastest with widths of 1, 2, 4, 8
 * and 16 where the lines of both begin at multiples of 16 bytes.
 *
 * In place, b = a, if the matrix is square and lda = ldb, or if neither A nor B has gaps between
 * its lines. A matrix that is not square then takes temporary memory of its own size. Else A and B
 * share no memory.
 *
 * Over ranks (place mpi) every rank passes some columns of A: n of them, any number, and m is the
 * same on all. It gets an even part of B's m columns: of R ranks, rank r those from r m / R to (r +
 * 1) m / R - 1, rounded down, as weft_fft divides; their length, and so the least ldb, is the sum
 * of all n. With WEFT_ROW_MAJOR it is rows, and the parts of n and m change places. B is another
 * array than A. */
WEFT_API weft_status weft_transpose(weft_context *ctx, unsigned how, size_t width, size_t m,
                                    size_t n, const void *a, size_t lda, void *b, size_t ldb);

#ifdef __cplusplus
}
#endif
#endif
