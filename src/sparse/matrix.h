/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a sparse matrix that its own files share. */
#ifndef WI_SPARSE_MATRIX_H
#define WI_SPARSE_MATRIX_H

#include "sparse/sparse.h"

/* More rows or columns than this cannot be indexed by arrays of C. */
static const size_t wi_most_rows = PTRDIFF_MAX / sizeof(int64_t) - 1;

/* Whose words messages use. */
typedef struct wi_voice {
    const char *call;
    bool command; /* rows and columns count from 1, and what helps are options */
} wi_voice;

/* How messages number rows and columns, and how they say so. */
static inline int64_t wi_first_number(const wi_voice *voice) {
    return voice->command ? 1 : 0;
}

static inline const char *wi_counted(const wi_voice *voice) {
    return voice->command ? "counted from 1" : "counted from 0";
}

/* What a matrix is built from. */
typedef struct wi_triplets {
    weft_storage storage;
    double symmetry_tolerance; /* as in weft_sparse_input */
    size_t rows, cols, n;
    const int64_t *row, *col;
    const double *value;
} wi_triplets;

/* In weft_sparse.home: the value is of the half that is ignored. */
static const int64_t wi_left_out = INT64_MIN;

/* WEFT_EARG unless these may stand in a weft_sparse_input. */
weft_status wi_sparse_check_meaning(weft_context *ctx, const char *call, weft_storage storage,
                                    double symmetry_tolerance);

/* `count` elements of 8 bytes; NULL, having said so, if there is no memory for them. */
void *wi_sparse_take(weft_context *ctx, const char *call, size_t count);

/* An empty matrix with start and row_start, to be filled and then finished. */
weft_status wi_sparse_begin(weft_context *ctx, const char *call, weft_storage storage, size_t rows,
                            size_t cols, weft_sparse **matrix);

/* Takes row, value, col and at for the entries that start promises. */
weft_status wi_sparse_make_room(weft_context *ctx, const char *call, weft_sparse *matrix);

/* Fills row_start, col, at and fingerprint from start and row. */
void wi_sparse_index_rows(weft_sparse *matrix);

/* Builds a matrix from triplets; takes nothing over. */
weft_status wi_sparse_build(weft_context *ctx, const wi_voice *voice, const wi_triplets *given,
                            weft_sparse **matrix);

/* Checks and sums the values given, entry by entry; the matrix changes only if all are good. */
weft_status wi_sparse_set_values(weft_context *ctx, const wi_voice *voice, weft_sparse *matrix,
                                 const double *value);

#endif
