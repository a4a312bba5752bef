/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrices, by columns or by rows and with gaps between their lines, as arguments of fuzzed
 * calls. */
#ifndef WEFT_FUZZ_MATRICES_H
#define WEFT_FUZZ_MATRICES_H

#include "calls/calls.h"

/* One matrix and, of an output, what it has to hold. */
typedef struct fuzz_matrix {
    fuzz_array *array;
    weft_type type;
    size_t rows, cols, ld;
    bool by_rows;
    long double *want, *bound; /* rows x cols by rows: a number, and how far off one may be; an
                                  infinite bound: anything will do */
} fuzz_matrix;

/* How the matrices of a call lie. */
typedef struct fuzz_layout {
    bool by_rows;
    size_t most_gap;
} fuzz_layout;

fuzz_layout fuzz_layout_draw(fuzz *f);

/* A matrix of whole numbers -3 ... 3, of which sums of products are exact in every type that is
 * used for them; `strange` puts an infinity or a NaN in one place, some of the time. */
fuzz_matrix fuzz_matrix_take(fuzz *f, const char *name, weft_type type, size_t rows, size_t cols,
                             fuzz_layout layout, bool strange);
/* The same of given numbers, by rows. */
fuzz_matrix fuzz_matrix_of(fuzz *f, const char *name, weft_type type, size_t rows, size_t cols,
                           fuzz_layout layout, const long double *values);
/* The call writes it: what is wanted is, for the time being, what it holds. */
void fuzz_matrix_output(fuzz *f, fuzz_matrix *m);

/* Element (i, j) as it was before the call; integers as they are. */
long double fuzz_matrix_at(const fuzz_matrix *m, size_t i, size_t j);
/* The same after it. */
long double fuzz_matrix_after(fuzz *f, const fuzz_matrix *m, size_t i, size_t j);
/* Fails unless an output holds what is wanted and its gaps what they held. */
void fuzz_matrix_check(fuzz *f, const fuzz_matrix *m, const char *call);

/* Makes the leading dimension wrong, some of the time. */
void fuzz_matrix_spoil(fuzz *f, fuzz_matrix *m, const char *ld_name);

/* A factor that calls multiply by: 0, 1, or another small number. */
double fuzz_factor(fuzz *f);
/* An extent of at most `most`, mostly small. */
size_t fuzz_extent(fuzz *f, size_t most);

#endif
