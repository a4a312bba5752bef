/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices as squares of numbers: the oracle of the sparse calls. */
#ifndef WEFT_FUZZ_DENSE_H
#define WEFT_FUZZ_DENSE_H

#include "calls/calls.h"

enum {
    FUZZ_PATH_BYTES = 256
};

typedef struct fuzz_dense {
    size_t rows, cols;
    double *value; /* row by row */
    bool *there;   /* is it part of the pattern? */
    double slack;  /* how far off values may be, relative to their size */
} fuzz_dense;

fuzz_dense fuzz_dense_take(fuzz *f, size_t rows, size_t cols);

static inline size_t fuzz_at(const fuzz_dense *a, size_t i, size_t j) {
    return i * a->cols + j;
}

/* The matrix as the library has it: only the lower half of a symmetric one is looked at. */
weft_sparse *fuzz_make(fuzz *f, const fuzz_dense *a, weft_storage storage);
/* Fails unless the matrix holds exactly this, symmetric or not. */
void fuzz_check_matrix(const weft_sparse *m, const fuzz_dense *a, bool symmetric);
/* A file of this process, under TMPDIR. */
void fuzz_path(char path[FUZZ_PATH_BYTES]);

#endif
