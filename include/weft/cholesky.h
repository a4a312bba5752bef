/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky: factors of symmetric positive definite matrices, and what is solved with them. */
#ifndef WEFT_CHOLESKY_H
#define WEFT_CHOLESKY_H

#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * A = L L' of a symmetric positive definite matrix, n x n, of which the lower triangle is stored: L
 * takes its place. Or, with WEFT_UPPER_TRIANGLE, A = U' U of the upper triangle.
 * WEFT_UPPER_TRIANGLE names the triangle as rows and columns are counted, whichever way they are
 * stored. The other triangle is neither read nor written. (Where a GPU works on A in host memory,
 * it is copied there and back as it is.)
 *
 * The type is f64 or f32; others are WEFT_EUNSUPPORTED. Leading dimensions are as in weft_gemm;
 * what lies between lines is neither read nor written. With n = 0 nothing is done.
 *
 * WEFT_ENOTSPD: A is not positive definite within rounding. The message names the first column j,
 * counted from 0, whose pivot (what is left of its diagonal element, and the square of L's) is not
 * above 0: the leading block of A that ends there is not positive definite. WEFT_ENONFINITE: the
 * first pivot that is no finite number above 0 is NaN or infinite. In either case rows 0 ... j of L
 * (columns of U) are right up to column j - 1, and element (j, j) is the pivot; what else is in the
 * triangle is not to be used. With these rows, d = (-y, 1, 0 ... 0) where L11' y = (row j of L)'
 * has d' A d = the pivot: it shows that A is not positive definite.
 *
 * The error: each element of L L' is within about n u |L| |L'| of that of A, u = 2^-53 of f64 and
 * 2^-24 of f32. The same call gives the same bits each time on the same place, whatever the number
 * of threads. The lower triangle by columns is in memory the upper one by rows, and has the same
 * bits.
 *
 * A may be host or device memory. The call returns when the factorization is done, since it says
 * whether A is positive definite: it cannot be captured into a CUDA graph.
 *
 * A host matrix that does not fit the memory of a GPU (7/8 of what is free there) is factored there
 * all the same, in panels of columns that come one after another, and weft_used(ctx, "cholesky")
 * says "streamed". If memory runs out on the way, what A holds is lost.
 *
 * On place mpi the matrix is the columns of all ranks in their order, and a rank passes n of them,
 * any number, with all rows. All ranks return the same status and message, and columns are counted
 * in the whole. With WEFT_UPPER_TRIANGLE columns are exchanged for those of the lower one first,
 * and back at the end, which takes temporary memory of three times a rank's part more (four times
 * by rows), and the other triangle is copied and put back as it is. On place gpus a large matrix is
 * factored by all GPUs; if one of them fails meanwhile, columns may be factored already. In both
 * the bits depend on the number of ranks or GPUs, and on the shape of their grid (weft/lu.h). */
WEFT_API weft_status weft_cholesky_factor(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                          void *a, size_t lda);

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * A X = B: X takes the place of B, n x nrhs. `l` is what weft_cholesky_factor left of A, n x n,
 * with the same flags; WEFT_ROW_MAJOR holds for B as well. B shares no memory with l, of which only
 * the one triangle is read. Leading dimensions are as in weft_gemm.
 *
 * Triangles are solved by the library's choice of variants of weft_trsm, and what that says of
 * accuracy holds here. Whether a diagonal element is 0 is not asked. The same call gives the same
 * bits each time on the same place, whatever the number of threads.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. It takes temporary memory as large as B. A factor in host memory
 * that does not fit the memory of a GPU comes there in panels, twice.
 *
 * On place mpi a rank passes n columns of l, as many as to weft_cholesky_factor, and any number
 * nrhs of columns of B; the order is the number of columns of l on all ranks. */
WEFT_API weft_status weft_cholesky_solve(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                         size_t nrhs, const void *l, size_t lda, void *b,
                                         size_t ldb);

#ifdef __cplusplus
}
#endif
#endif
