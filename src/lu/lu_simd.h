/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of a few columns, compiled for each instruction set. */
#ifndef WI_LU_SIMD_H
#define WI_LU_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/isa.h"

/* Columns that are eliminated, and the rows from their first pivot on down. */
typedef struct wi_lu_panel {
    size_t rows, columns; /* columns <= rows */
    void *a;              /* the first pivot */
    size_t lda;
    int64_t row;    /* the number of its row, and column, in the whole matrix */
    int64_t *pivot; /* of these columns */
    int64_t *first; /* WI_LU_WORDS */
} wi_lu_panel;

/* Rows are exchanged in these columns only. */
typedef void wi_lu_eliminate(const wi_lu_panel *p);

typedef struct wi_lu_simd {
    wi_lu_eliminate *f64, *f32;
} wi_lu_simd;

WI_DECLARE_ISAS(wi_lu_simd, wi_lu_simd);

#endif
