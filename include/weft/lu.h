/* SPDX-License-Identifier: Apache-2.0 */
/* lu: factors of general matrices by Gaussian elimination with exchanges of rows, and what is
 * solved with them. */
#ifndef WEFT_LU_H
#define WEFT_LU_H

#include <stdint.h>

#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `how`: WEFT_ROW_MAJOR.
 *
 * P A = L U: A is m x n, and with r = min(m, n), L is m x r and lower triangular with ones on its
 * diagonal, and U is r x n and upper triangular. They take the place of A: U is on the diagonal and
 * above, and L, without its ones, below.
 *
 * Column k = 0, 1, ... r - 1 is eliminated in turn: of its elements in rows k ... m - 1 the one of
 * the largest absolute value, of equals the one in the first row, is its pivot. pivot[k] is this
 * row, counted from 0, and rows k and pivot[k] of the whole matrix are exchanged; so k <= pivot[k]
 * < m, and P is the product of these exchanges. (LAPACK's ipiv counts from 1.) Where rounding
 * decides which element is the largest, variants may differ.
 *
 * The type is f64 or f32; others are WEFT_EUNSUPPORTED. Leading dimensions are as in weft_gemm;
 * what lies between lines is neither read nor written. A and pivot share no memory. With m or n = 0
 * nothing is done.
 *
 * WEFT_ESINGULAR: a pivot is exactly 0, and so are all elements from it on down in its column; the
 * message names the first such column, counted from 0. The factorization is complete all the same,
 * P A = L U, but systems with it have no or many solutions. That no pivot is 0 does not mean that A
 * is far from singular: weft_solve estimates how far it is. WEFT_ENONFINITE: a pivot is NaN (which
 * counts as larger than any number) or infinite; the message names the first such column. Earlier
 * columns of L and rows of U are right, what follows is NaN or not to be used, and every pivot[k]
 * still names a row. If both happen, this is what is reported. NaN or infinity that never reaches a
 * pivot, in the columns after the m-th, is not reported.
 *
 * The error: each element of L U is within about r u |L| |U| of that of P A, u = 2^-53 of f64 and
 * 2^-24 of f32. The same call gives the same bits each time on the same place, whatever the number
 * of threads, and whether stored by columns or by rows.
 *
 * Arrays may be host or device memory, mixed freely. The call returns when the factorization is
 * done, since it says whether A is singular: it cannot be captured into a CUDA graph. A matrix
 * stored by rows is transposed, factored and transposed back: in place if it is square, else with
 * temporary memory of its own size.
 *
 * A host matrix that does not fit the memory of a GPU (7/8 of what is free there) is factored there
 * all the same, in panels of columns that come one after another, and weft_used(ctx, "lu") says
 * "streamed"; where pivots are tied, rounding may then choose others. If memory runs out on the
 * way, what A holds is lost.
 *
 * On place mpi the matrix is the columns of all ranks in their order: a rank passes n of them, any
 * number, of m rows each, m the same on all. pivot has the min(m, columns of all) pivots on every
 * rank, and columns in messages are counted in the whole. All ranks return the same status and
 * message of WEFT_ESINGULAR and WEFT_ENONFINITE. Temporary memory is about twice a rank's part, or
 * four times where ranks form a grid (variant "ranks_grid"; the environment variable WEFT_GRID
 * gives its shape, as "4x2"). On place gpus a large matrix is factored by all GPUs. The bits depend
 * on the number of ranks or GPUs and on the shape of a grid, and on nothing else that may change
 * from run to run; where no rounding happens they are those of one place. */
WEFT_API weft_status weft_lu_factor(weft_context *ctx, unsigned how, weft_type type, size_t m,
                                    size_t n, void *a, size_t lda, int64_t *pivot);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A.
 *
 * op(A) X = B, where op(A) is A or, with WEFT_TRANSPOSE_A, its transpose: X takes the place of B, n
 * x nrhs. `lu` and `pivot` are what weft_lu_factor left of A, n x n, with the same flag
 * WEFT_ROW_MAJOR, which holds for B as well.
 *
 * Leading dimensions are as in weft_gemm. B shares no memory with lu or pivot. pivot[k] is at least
 * k and below n, which is checked where pivot is host memory.
 *
 * Whether A is singular is not asked, weft_lu_factor has said it: a zero on the diagonal of U gives
 * infinity and NaN, and WEFT_OK. L and U are solved by the library's choice of variants of
 * weft_trsm, and what that says of accuracy holds here. The same call gives the same bits each time
 * on the same place, whatever the number of threads.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream. It takes temporary memory as large as B. Factors in host memory
 * that do not fit the memory of a GPU come there in panels, twice.
 *
 * On place mpi a rank passes n columns of lu, as many as to weft_lu_factor, all of pivot, and any
 * number nrhs of columns of B; the order is the number of columns of lu on all ranks, of which lda
 * and, unless B is stored by rows, ldb are at least that. X comes where B was. On place gpus many
 * right-hand sides are shared out to the GPUs. */
WEFT_API weft_status weft_lu_solve(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                   size_t nrhs, const void *lu, size_t lda, const int64_t *pivot,
                                   void *b, size_t ldb);

/* `how`: WEFT_ROW_MAJOR.
 *
 * A^-1 in the place of the factors of A, n x n, that weft_lu_factor left in lu and pivot with the
 * same flag. Its columns are the solutions of A x = e of the columns e of the unit matrix. To solve
 * systems use weft_lu_solve, which is faster and more accurate.
 *
 * WEFT_ESINGULAR: U has a zero on its diagonal; the message names the first such column, and lu is
 * as it was. The call returns when this is known, and cannot be captured into a CUDA graph; with
 * device memory the rest is queued. Leading dimensions, pivot and the promise of bits are as in
 * weft_lu_solve. It takes temporary memory as large as lu.
 *
 * On place mpi a rank passes n columns of lu, as many as to weft_lu_factor, and all of pivot, and
 * gets these columns of A^-1; the order is the number of columns on all ranks, and columns in
 * messages are counted in the whole. All ranks return the same status and message of
 * WEFT_ESINGULAR. On place gpus the first GPU does the work. */
WEFT_API weft_status weft_lu_inverse(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                     void *lu, size_t lda, const int64_t *pivot);

#ifdef __cplusplus
}
#endif
#endif
