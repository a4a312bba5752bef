/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a sparse matrix that only its own files use. */
#ifndef WI_SPARSE_MATRIX_H
#define WI_SPARSE_MATRIX_H

#include "sparse/sparse.h"

/* Rows or columns that a C array can index, at most. */
static const size_t wi_most_rows = PTRDIFF_MAX / sizeof(int64_t) - 1;

/* In whose terms messages speak: the library's or the command's. */
typedef struct wi_voice {
    const char *call;
    bool command; /* rows and columns count from 1, and remedies are options of the command */
} wi_voice;

/* The first number of rows and columns in messages, and the words that say so. */
static inline int64_t wi_first_number(const wi_voice *voice) {
    return voice->command ? 1 : 0;
}

static inline const char *wi_counted(const wi_voice *voice) {
    return voice->command ? "counted from 1" : "counted from 0";
}

/* The data that a matrix is built from. */
typedef struct wi_triplets {
    weft_storage storage;
    double symmetry_tolerance; /* as in weft_sparse_input */
    size_t rows, cols, n;
    const int64_t *row, *col;
    const double *value;
} wi_triplets;

/* In weft_sparse.home: the value is in the half that is ignored. */
static const int64_t wi_left_out = INT64_MIN;

/* WEFT_EARG unless these are valid in a weft_sparse_input. */
weft_status wi_sparse_check_meaning(weft_context *ctx, const char *call, weft_storage storage,
                                    double symmetry_tolerance);

/* Allocates `count` elements of 8 bytes; NULL if there is no memory, and then the message is set.
 */
void *wi_sparse_take(weft_context *ctx, const char *call, size_t count);

/* Creates an empty matrix with start and row_start, to be filled and then finished. */
weft_status wi_sparse_begin(weft_context *ctx, const char *call, weft_storage storage, size_t rows,
                            size_t cols, weft_sparse **matrix);

/* Allocates row, value, col and at for as many entries as start says. */
weft_status wi_sparse_make_room(weft_context *ctx, const char *call, weft_sparse *matrix);

/* Fills row_start, col, at and fingerprint from start and row. */
void wi_sparse_index_rows(weft_sparse *matrix);

/* A hash of the pattern: start and row. */
uint64_t wi_sparse_fingerprint(const weft_sparse *matrix);

/* If both halves of a symmetric matrix are given, each entry once, in order by columns or by rows,
 * then fills all but the values and the fingerprint of a matrix that has begun, and sets `paired`.
 * If not, `paired` stays false, and the matrix is to be begun anew. */
weft_status wi_sparse_take_pairs(weft_context *ctx, const char *call, const wi_triplets *given,
                                 weft_sparse *matrix);

/* Builds a matrix from triplets, which it copies. */
weft_status wi_sparse_build(weft_context *ctx, const wi_voice *voice, const wi_triplets *given,
                            weft_sparse **matrix);

/* Checks the given values and sums duplicates; the matrix changes only if all are valid. */
weft_status wi_sparse_set_values(weft_context *ctx, const wi_voice *voice, weft_sparse *matrix,
                                 const double *value);

#endif
