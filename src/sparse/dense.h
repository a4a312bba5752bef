/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization, in double precision. Internal.
 *
 * Matrices are column-major: element (i, j) of A is a[i + j * lda], lda at least the number of
 * rows. Of a symmetric or triangular matrix only what lies on and below the diagonal is read or
 * written. No pointer need be aligned; arrays do not overlap; sizes may be 0.
 *
 * One call runs on one thread. An element of a result is computed by the same chain of roundings in
 * every call that computes it, on every instruction set: first
 *
 *     c = fma(-a_ik, b_jk, c)    for k = 0, 1, ... in turn,
 *
 * then, in factorizations and solves, one product with the rounded reciprocal of the diagonal. So
 * rows and columns of a result may be shared out among threads in any way, and k may be cut into
 * runs done one after the other, without changing a bit. (wi_dense_subtract_transposed and
 * wi_dense_backward sum differently, and say so.) */
#ifndef WI_SPARSE_DENSE_H
#define WI_SPARSE_DENSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles of working room that a call on m rows, n columns and inner length k wants (a
 * factorization of n columns: k = n); a call on smaller sizes makes do with the same. Bounded: no
 * sizes want more than 2 MiB. Aligned to 64 bytes, and one thread's own during a call. */
int64_t wi_dense_room(int64_t m, int64_t n, int64_t k);

/* C -= A Bt; C is m x n, A m x k, B n x k. */
void wi_dense_multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                       const double *b, int64_t ldb, double *c, int64_t ldc, double *room);

/* C -= A At on and below the diagonal, in columns begin .. end - 1 of the m x m matrix C; A is
 * m x k. Both a and c point at their first element whatever `begin` is. */
void wi_dense_update(int64_t m, int64_t k, const double *a, int64_t lda, int64_t begin, int64_t end,
                     double *c, int64_t ldc, double *room);

/* The first n columns of a factorization: of A, m x n with m >= n, the first n rows become L, where
 * L Lt is what they were, and the rows B below become B L^-T. Gives n, or the first column whose
 * pivot is not above 0 or is not finite. Then the columns before it are done, and those from it on
 * are undefined, but for the pivot itself, which is what elimination left there. */
int64_t wi_dense_panel(int64_t m, int64_t n, double *a, int64_t lda, double *room);

/* The same with m = n: A = L, where L Lt = A. */
int64_t wi_dense_cholesky(int64_t n, double *a, int64_t lda, double *room);

/* B = B L^-T; B is m x n, L n x n, from wi_dense_cholesky: reciprocals of its diagonal, which are
 * square roots, neither overflow nor lose bits. */
void wi_dense_solve_right(int64_t m, int64_t n, const double *l, int64_t ldl, double *b,
                          int64_t ldb, double *room);

/* ---- solves with `count` right-hand sides, each a column. A column of the result does not depend
 * on the others. ---- */

/* x = L \ x; x is n x count. */
void wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                      int64_t ldx);

/* y -= A x; A is m x n, x n x count, y m x count. */
void wi_dense_subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                       const double *x, int64_t ldx, double *y, int64_t ldy);

/* x -= At y. The sum over the rows of a column is eight chains of fma, one for every eighth row,
 * which are added up in pairs and then taken from x: columns of A may be shared out among threads,
 * but rows may not. */
void wi_dense_subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                  const double *y, int64_t ldy, double *x, int64_t ldx);

/* x = Lt \ x, from the last block of eight columns to the first (the last is what remains of n):
 * what the rows below a block take from it is a sum as above, then its own rows, the last one
 * first, are chains of fma. */
void wi_dense_backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                       int64_t ldx);

#ifdef __cplusplus
}
#endif
#endif
