/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of matrices lie that BLAS stores in full, as a band or packed. In each of them
 * the elements of a column that are stored lie one after another. */
#ifndef WB_COLUMNS_H
#define WB_COLUMNS_H

#include "blas.h"

typedef enum wb_storage {
    WB_FULL,
    WB_BAND,
    WB_PACKED
} wb_storage;

/* A symmetric or triangular matrix of order n, of which one triangle is stored. */
typedef struct wb_triangle {
    wb_storage storage;
    bool upper;
    int n, k, ld; /* k: diagonals beside the main one, of a band */
} wb_triangle;

/* From the address of the matrix to where element (0, j) would be if it were stored. */
static inline ptrdiff_t wb_column(const wb_triangle *t, ptrdiff_t j) {
    switch (t->storage) {
    case WB_FULL:
        return j * t->ld;
    case WB_BAND:
        return j * t->ld + (t->upper ? t->k : 0) - j;
    default:
        return t->upper ? j * (j + 1) / 2 : j * (2 * (ptrdiff_t)t->n - j - 1) / 2;
    }
}

/* The first row of column j that is stored, beside the diagonal. */
static inline int wb_first(const wb_triangle *t, int j) {
    return !t->upper ? j + 1 : t->storage == WB_BAND ? wb_most(0, j - t->k) : 0;
}

/* How many rows of column j are stored, beside the diagonal. */
static inline int wb_count(const wb_triangle *t, int j) {
    const int most = t->upper ? j : t->n - 1 - j;
    return t->storage == WB_BAND ? wb_least(most, t->k) : most;
}

#endif
