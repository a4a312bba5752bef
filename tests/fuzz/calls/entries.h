/* SPDX-License-Identifier: Apache-2.0 */
/* The entries that a sparse matrix is created from, and the dense matrix that they add up to. */
#ifndef WEFT_FUZZ_ENTRIES_H
#define WEFT_FUZZ_ENTRIES_H

#include "calls/dense.h"

enum {
    FUZZ_MOST_ENTRIES = 400
};

typedef struct fuzz_entries {
    fuzz *f;
    weft_form form;
    weft_storage storage;
    weft_type index_type, start_type;
    size_t rows, cols, n;
    int64_t row[FUZZ_MOST_ENTRIES], col[FUZZ_MOST_ENTRIES];
    double value[FUZZ_MOST_ENTRIES];
    bool rounded;     /* the halves of FULL differ by rounding */
    double tolerance; /* as in weft_sparse_input */
    fuzz_array *starts, *rows_given, *cols_given, *values;
    weft_status expected; /* if it is wrong */
} fuzz_entries;

double fuzz_draw_value(fuzz *f);
/* Fills in everything of a matrix but its arrays; f->wrong tells if it has to be refused. */
void fuzz_draw_entries(fuzz_entries *c);
/* The matrix that the entries make with these values; of a symmetric one both halves of the
 * pattern, and the values of the lower half. */
fuzz_dense fuzz_add_up(const fuzz_entries *c, const double *value);
/* Is an entry of this storage left out of account? */
bool fuzz_is_ignored(weft_storage storage, int64_t row, int64_t col);
/* Fails unless the matrix holds what the entries make. */
void fuzz_check_entries(const fuzz_entries *c, const weft_sparse *m, const double *value);
/* New values, products, files. */
void fuzz_use_matrix(fuzz_entries *c, weft_sparse *m);

#endif
