/* SPDX-License-Identifier: Apache-2.0 */
/* sparse: matrices of doubles that are mostly zero. */
#ifndef WEFT_SPARSE_H
#define WEFT_SPARSE_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which entries of a matrix the caller gives. */
typedef enum weft_storage {
    WEFT_GENERAL = 0,     /* every entry; no symmetry is meant */
    WEFT_SYMMETRIC_LOWER, /* of a symmetric matrix, the entries on and below the diagonal */
    WEFT_SYMMETRIC_UPPER, /* of a symmetric matrix, the entries on and above the diagonal */
    WEFT_SYMMETRIC_FULL   /* of a symmetric matrix, every entry: a[i][j] and a[j][i] both */
} weft_storage;

/* A sparse matrix, in host memory whatever the place. It keeps copies of all that it is given, and
 * may outlive the context it was made with. */
typedef struct weft_sparse weft_sparse;

/* The three ways to give a matrix of rows x cols. Indices count from 0 and are int32_t or int64_t,
 * as index_type (WEFT_I32 or WEFT_I64; weft_type_of(start) tells) says.
 *
 *     csc       column j has the entries k = start[j] ... start[j+1]-1: value[k] in row index[k]
 *     csr       row i has the entries k = start[i] ... start[i+1]-1: value[k] in column index[k]
 *     triplets  value[k] in row row[k] and column col[k], k = 0 ... n-1
 *
 * start has cols + 1 (csr: rows + 1) elements, the first 0, none less than the one before. Entries
 * may come in any order, and those of one place are summed in the order given. Entries that are
 * zero are part of the pattern.
 *
 * Refused, with a message that names the entry: an index out of range, start that decreases, a
 * matrix meant symmetric that is not square, an entry on the wrong side of the diagonal for LOWER
 * or UPPER, sums a[i][j] and a[j][i] of FULL that are not equal (an entry left out counts as 0):
 * all WEFT_EARG; and a value or sum that is not finite: WEFT_ENONFINITE. On failure *matrix is
 * NULL.
 */
WEFT_API weft_status weft_sparse_create_csc(weft_context *ctx, weft_sparse **matrix,
                                            weft_storage storage, size_t rows, size_t cols,
                                            weft_type index_type, const void *start,
                                            const void *index, const double *value);
WEFT_API weft_status weft_sparse_create_csr(weft_context *ctx, weft_sparse **matrix,
                                            weft_storage storage, size_t rows, size_t cols,
                                            weft_type index_type, const void *start,
                                            const void *index, const double *value);
WEFT_API weft_status weft_sparse_create_triplets(weft_context *ctx, weft_sparse **matrix,
                                                 weft_storage storage, size_t rows, size_t cols,
                                                 size_t n, weft_type index_type, const void *row,
                                                 const void *col, const double *value);

/* Reads a Matrix Market file: coordinate or array; real, integer or pattern
 * (whose entries become 1); general or symmetric. A general file whose matrix is its own transpose
 * becomes symmetric. Zeros of array files are left out. Complex, hermitian and skew-symmetric files
 * are WEFT_EUNSUPPORTED; what is no Matrix Market file is WEFT_EFORMAT, with the line. Numbers are
 * read as the nearest double. More than 2^24 + 1024 x entries rows or columns are taken for a
 * mistake, WEFT_EFORMAT. */
WEFT_API weft_status weft_sparse_read(weft_context *ctx, weft_sparse **matrix, const char *path);

/* Writes a Matrix Market file, coordinate real, general or symmetric, with
 * as many digits as reading the same doubles back takes. */
WEFT_API weft_status weft_sparse_write(weft_context *ctx, const weft_sparse *matrix,
                                       const char *path);

/* Frees the matrix. NULL is allowed. */
WEFT_API void weft_sparse_destroy(weft_sparse *matrix);

/* New values for the same pattern: value[0 ... n) in the order of the entries that the matrix was
 * created from, duplicates included; for a matrix from a file, in the order of weft_sparse_values.
 * Refused as at creation, and then nothing has changed. Allocates nothing. */
WEFT_API weft_status weft_sparse_update(weft_context *ctx, weft_sparse *matrix, size_t n,
                                        const double *value);

/* Facts about a matrix. NULL has none: 0, and NULL. */
WEFT_API size_t weft_sparse_rows(const weft_sparse *matrix);
WEFT_API size_t weft_sparse_cols(const weft_sparse *matrix);
WEFT_API int weft_sparse_is_symmetric(const weft_sparse *matrix); /* was it given as one? */

/* What is held: the distinct entries by columns, rows ascending in each; of a symmetric matrix only
 * those on and below the diagonal. Column j has the entries k = start[j] ... start[j+1]-1, in
 * row[k]. The arrays belong to the matrix and stay in place until it is destroyed. */
WEFT_API size_t weft_sparse_entries(const weft_sparse *matrix);
WEFT_API const int64_t *weft_sparse_starts(const weft_sparse *matrix);
WEFT_API const int64_t *weft_sparse_row_indices(const weft_sparse *matrix);
WEFT_API const double *weft_sparse_values(const weft_sparse *matrix);

/* Y = A X for `n` columns: X is cols x n, Y rows x n, column-major with ldx and ldy elements from
 * one column to the next, in host memory; they must not overlap. A symmetric matrix acts with both
 * its halves. Each y[i] is a[i][0] x[0] + a[i][1] x[1] + ... over the entries there are, added up
 * in this order in double: the same bits for any number of threads. */
WEFT_API weft_status weft_sparse_multiply(weft_context *ctx, const weft_sparse *matrix, size_t n,
                                          const double *x, size_t ldx, double *y, size_t ldy);

#ifdef __cplusplus
}
#endif
#endif
