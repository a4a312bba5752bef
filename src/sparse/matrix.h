/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a sparse matrix that its own files share. */
#ifndef WI_SPARSE_MATRIX_H
#define WI_SPARSE_MATRIX_H

#include "sparse/sparse.h"

/* More rows or columns than this cannot be indexed by arrays of C. */
static const size_t wi_most_rows = PTRDIFF_MAX / sizeof(int64_t) - 1;

/* `count` elements of 8 bytes; NULL, having said so, if there is no memory for them. */
void *wi_sparse_take(weft_context *ctx, const char *call, size_t count);

/* An empty matrix with start and row_start, to be filled and then finished. */
weft_status wi_sparse_begin(weft_context *ctx, const char *call, weft_storage storage, size_t rows,
                            size_t cols, weft_sparse **matrix);

/* Takes row, value, col and at for the entries that start promises. */
weft_status wi_sparse_make_room(weft_context *ctx, const char *call, weft_sparse *matrix);

/* Fills row_start, col, at and fingerprint from start and row. */
void wi_sparse_index_rows(weft_sparse *matrix);

/* Checks and sums the values given, entry by entry; the matrix changes only if all are good. */
weft_status wi_sparse_set_values(weft_context *ctx, const char *call, weft_sparse *matrix,
                                 const double *value);

#endif
