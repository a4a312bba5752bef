/* SPDX-License-Identifier: Apache-2.0 */
/* solve_batch: many small dense systems of one order, a stride apart. */
#ifndef WEFT_SOLVE_BATCH_H
#define WEFT_SOLVE_BATCH_H

#include <stdint.h>

#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What all calls of this header have in common.
 *
 * There are `count` matrices A of n x n, n <= WEFT_BATCH_MOST: matrix s begins s stride_a elements
 * behind the first. Leading dimensions are as in weft_gemm; matrices, and those of right-hand
 * sides, do not share elements. What lies between lines and between matrices is neither used nor
 * changed. (Where a GPU works on matrices in host memory, it is copied there and back as it is.)
 *
 * The type is f64 or f32; others are WEFT_EUNSUPPORTED, and so are larger n: call weft_lu_factor
 * and its kin for each. With n or count = 0 nothing is done, and info is not written; with nrhs = 0
 * info is written as usual.
 *
 * A system that cannot be solved does not stop the others, and the calls return WEFT_OK: info[s]
 * says how system s went. 0: well. k + 1: the pivot of column k, counted from 0, is exactly 0 or,
 * of Cholesky, not above 0. -(k + 1): it is NaN or infinite. k is the first such column; if both
 * happen, info tells of the NaN or infinity. Nothing here says whether a system is nearly singular:
 * weft_solve reports that of single systems.
 *
 * Over ranks (place mpi) every rank passes systems of its own: no rank needs another's, and orders
 * and counts may differ. If one rank's arguments are refused, the others' calls fail, too.
 *
 * Errors are those of weft_lu_factor, weft_cholesky_factor and substitution. Multipliers may be
 * quotients that are off by one more rounding, and a solution beyond the range of the type may be
 * infinite or NaN. The same call gives the same bits each time on the same place, and a system has
 * the same bits in every batch.
 *
 * Arrays may be host or device memory, mixed freely. With all of them on the device the call is
 * queued on the context's stream, and may be captured into a CUDA graph. */
#define WEFT_BATCH_MOST 64

/* `how`: WEFT_ROW_MAJOR.
 *
 * Replaces each matrix by its factors, P A = L U, as weft_lu_factor does: also where pivots are 0.
 * pivot[s n + k] is the row, from k on, that row k of matrix s was exchanged with. (These are
 * 32-bit numbers, unlike weft_lu_factor's.) info has `count` numbers. */
WEFT_API weft_status weft_lu_factor_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                                  size_t n, void *a, size_t lda, size_t stride_a,
                                                  int32_t *pivot, int32_t *info, size_t count);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A.
 *
 * Solves op(A) X = B with these factors, for `nrhs` right-hand sides of each system: X takes the
 * place of B, n x nrhs, stored like A. A singular A is not noticed: X then has infinities or NaN.
 * pivot is checked where it is host memory. */
WEFT_API weft_status weft_lu_solve_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                                 size_t n, size_t nrhs, const void *lu, size_t lda,
                                                 size_t stride_a, const int32_t *pivot, void *b,
                                                 size_t ldb, size_t stride_b, size_t count);

/* `how`: WEFT_ROW_MAJOR, WEFT_TRANSPOSE_A.
 *
 * Solves op(A) X = B by elimination with exchanges of rows, in one pass over A, which is only read.
 * X takes the place of B, except in systems whose info is not 0: their B is unchanged. */
WEFT_API weft_status weft_solve_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                              size_t n, size_t nrhs, const void *a, size_t lda,
                                              size_t stride_a, void *b, size_t ldb, size_t stride_b,
                                              int32_t *info, size_t count);

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * A = L L' of each symmetric positive definite matrix, of which the lower triangle is stored, in
 * its place; or, with WEFT_UPPER_TRIANGLE, A = U' U. The other triangle is neither used nor
 * changed. Where info is not 0 the triangle is not to be used. */
WEFT_API weft_status weft_cholesky_factor_batch_strided(weft_context *ctx, unsigned how,
                                                        weft_type type, size_t n, void *a,
                                                        size_t lda, size_t stride_a, int32_t *info,
                                                        size_t count);

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * Solves A X = B with these factors; X takes the place of B. */
WEFT_API weft_status weft_cholesky_solve_batch_strided(weft_context *ctx, unsigned how,
                                                       weft_type type, size_t n, size_t nrhs,
                                                       const void *l, size_t lda, size_t stride_a,
                                                       void *b, size_t ldb, size_t stride_b,
                                                       size_t count);

/* `how`: WEFT_ROW_MAJOR, WEFT_UPPER_TRIANGLE.
 *
 * Solves A X = B with symmetric positive definite A, in one pass over the one triangle, which is
 * only read. X takes the place of B, except in systems whose info is not 0: their B is unchanged.
 */
WEFT_API weft_status weft_solve_spd_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                                  size_t n, size_t nrhs, const void *a, size_t lda,
                                                  size_t stride_a, void *b, size_t ldb,
                                                  size_t stride_b, int32_t *info, size_t count);

#ifdef __cplusplus
}
#endif
#endif
