/* SPDX-License-Identifier: Apache-2.0 */
/* Dense kernels of the Cholesky factorization, in double precision. Internal.
 *
 * Matrices are column-major: element (i, j) of A is a[i + j * lda], lda at least the number of
 * rows. Of a symmetric or triangular matrix only what lies on and below the diagonal is read or
 * written. No pointer need be aligned; arrays do not overlap; sizes may be 0.
 *
 * One call runs on one thread. An element c of a result is computed by the same chain of roundings
 * in every call that computes it, on every instruction set: first
 *
 *     s = fma(-a_ik, b_jk, s)    for k = 0, 1, ... K - 1 in turn, from s = -0 on; c = c + s,
 *     c = fma(-a_ik, b_jk, c)    for k = K, K + 1, ... in turn,
 *
 * then, in factorizations and solves, one product with the rounded reciprocal of the diagonal. K is
 * 0 in solves; in an update the number of all k; in column j of an elimination, j rounded down to a
 * multiple of WI_DENSE_APART. (The products are summed first, so that c is rounded once and not
 * once for each product.) So rows and columns of a result may be shared out among threads in any
 * way without changing a bit. (wi_dense_subtract_transposed and wi_dense_backward sum differently,
 * and say so.) */
#ifndef WI_SPARSE_DENSE_H
#define WI_SPARSE_DENSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What kernels on a GPU compute as well. */
#ifdef __CUDACC__
#    define WI_COUNTED static __host__ __device__ inline
#else
#    define WI_COUNTED static inline
#endif

static inline int64_t wi_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- factorization: some columns are eliminated, then their products are subtracted from the rest
 * (an update). Elimination stores the rows of L a second time, packed: in groups, in the order in
 * which the instruction set reads them for products. ---- */

enum {
    WI_DENSE_GROUP = 24, /* rows may be divided at multiples of this, which every instruction set's
                            group divides; */
    WI_DENSE_NARROW_GROUP = 48, /* those of floats at multiples of this */
    WI_DENSE_APART = 8          /* columns whose products an elimination subtracts one by one */
};

/* Doubles that n columns of m packed rows take. They begin at a multiple of 64 bytes. */
static inline int64_t wi_dense_packed(int64_t m, int64_t n) {
    return (m + WI_DENSE_GROUP - 1) / WI_DENSE_GROUP * WI_DENSE_GROUP * n;
}

/* Rows begin .. end - 1 of the first n columns of a factorization, of which A has the rows from
 * the first one's diagonal down: rows before n become L, where L Lt is what they were, rows from n
 * on, B, become B L^-T. `begin` is a multiple of WI_DENSE_GROUP; rows before it that are also
 * before n are done; the other rows may be done by others at the same time. All of them share
 * `packed`, for rows of A from 0 on. Gives n, or the first column whose pivot is not above 0 or is
 * not finite; then the columns before it are done in the rows down to it, and the pivot is what
 * elimination left there. Below row n, and in wi_dense_update, calls on so few rows that n columns
 * of them stay in the second-level cache are fastest. */
int64_t wi_dense_eliminate(int64_t begin, int64_t end, int64_t n, double *a, int64_t lda,
                           double *packed);

/* C -= P Qt, on and below the diagonal, where P, `packed`, and Q, `across`, are packed rows of k
 * columns, the same for Lt: rows row .. row + m - 1 and columns column .. column + n - 1 of C.
 * `row` is `column` or a multiple of WI_DENSE_GROUP; c points to the element in that row and
 * column, which may be above the diagonal. */
void wi_dense_update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                     const double *packed, const double *across, double *c, int64_t ldc);

/* ---- L D Lt: the pivots of a window of columns are chosen in a copy of its square (ldlt_simd.h);
 * what follows for the rows below it is the same as above, with the square's L packed first and
 * the rows divided by D between elimination and update ---- */

/* What a pivot is. */
enum {
    WI_PIVOT_ONE = 0,
    WI_PIVOT_FIRST,  /* the first column of two, */
    WI_PIVOT_SECOND, /* and the second */
    WI_PIVOT_CHANGED /* one column, and its pivot was replaced */
};

/* D: d[k] is on its diagonal; e[k] below that if the mark of column k is FIRST. */
typedef struct wi_dense_pivots {
    double *d, *e;
    int8_t *mark;
} wi_dense_pivots;

/* (*x, *y) = D^-1 (*x, *y) for a pivot of two columns. D is divided by its entry off the diagonal,
 * the largest of the three or close to it, so that nothing overflows. */
WI_COUNTED void wi_dense_divide_pair(double d, double e, double next, double *x, double *y) {
    const double upper = d / e, lower = next / e, scale = 1 / (upper * lower - 1);
    const double a = *x / e, b = *y / e;
    *x = (lower * a - b) * scale;
    *y = (upper * b - a) * scale;
}

/* Packs rows 0 ... n - 1 of L, n x n with 1 on the diagonal, as wi_dense_eliminate wants them for
 * the rows from n on. */
void wi_dense_pack(int64_t n, const double *l, int64_t ldl, double *packed);

/* Rows begin ... end - 1 of `across` and of A = the packed rows D^-1. begin is a multiple of
 * WI_DENSE_GROUP. */
void wi_dense_divide(int64_t begin, int64_t end, int64_t n, const wi_dense_pivots *pivots,
                     const double *packed, double *across, double *a, int64_t lda);

/* x = D^-1 x for `count` right-hand sides; x is n x count. */
void wi_dense_divide_sides(int64_t n, int64_t count, const wi_dense_pivots *pivots, double *x,
                           int64_t ldx);

/* ---- solves with `count` right-hand sides, each a column. A column of the result does not depend
 * on the others. ---- */

/* x = L \ x; x is n x count. */
void wi_dense_forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                      int64_t ldx);

/* y -= A x; A is m x n, x n x count, y m x count. */
void wi_dense_subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                       const double *x, int64_t ldx, double *y, int64_t ldy);

/* x -= At y. The sum over the rows of a column is made of eight chains of fma, one for every eighth
 * row, which are added in pairs and then subtracted from x. So columns of A may be divided among
 * threads, rows may not. */
void wi_dense_subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                  const double *y, int64_t ldy, double *x, int64_t ldx);

/* x = Lt \ x, from the last block of eight columns to the first (the last has the remainder of n).
 * For each block, first the products of the rows below it are summed as above and subtracted; then
 * its own rows, from the last to the first, are chains of fma. */
void wi_dense_backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                       int64_t ldx);

/* ---- the same for a factor of floats. All chains are as above, in float; solves widen L, which
 * rounds nothing, and work in double. Rows of wi_dense_narrow_subtract_transposed are summed 64 at
 * a time. ---- */

static inline int64_t wi_dense_narrow_packed(int64_t m, int64_t n) {
    return (m + WI_DENSE_NARROW_GROUP - 1) / WI_DENSE_NARROW_GROUP * WI_DENSE_NARROW_GROUP * n;
}
int64_t wi_dense_narrow_eliminate(int64_t begin, int64_t end, int64_t n, float *a, int64_t lda,
                                  float *packed);
void wi_dense_narrow_update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                            const float *packed, const float *across, float *c, int64_t ldc);
void wi_dense_narrow_pack(int64_t n, const double *l, int64_t ldl, float *packed);
void wi_dense_narrow_divide(int64_t begin, int64_t end, int64_t n, const wi_dense_pivots *pivots,
                            const float *packed, float *across, float *a, int64_t lda);
void wi_dense_narrow_forward(int64_t n, int64_t count, const float *l, int64_t ldl, double *x,
                             int64_t ldx);
void wi_dense_narrow_subtract(int64_t m, int64_t n, int64_t count, const float *a, int64_t lda,
                              const double *x, int64_t ldx, double *y, int64_t ldy);
void wi_dense_narrow_subtract_transposed(int64_t m, int64_t n, int64_t count, const float *a,
                                         int64_t lda, const double *y, int64_t ldy, double *x,
                                         int64_t ldx);
void wi_dense_narrow_backward(int64_t n, int64_t count, const float *l, int64_t ldl, double *x,
                              int64_t ldx);

/* `to` = A, m x n. */
void wi_dense_widen(int64_t m, int64_t n, const float *a, int64_t lda, double *to, int64_t ldt);

#ifdef __cplusplus
}
#endif
#endif
