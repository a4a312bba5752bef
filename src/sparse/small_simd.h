/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of a few rows, compiled for each instruction set. */
#ifndef WI_SPARSE_SMALL_SIMD_H
#define WI_SPARSE_SMALL_SIMD_H

#include <stdint.h>

#include "cpu/isa.h"

enum {
    WI_SMALL_ROWS = 16,  /* of a small front, and what its columns are apart */
    WI_SMALL_COLUMNS = 8 /* of a small panel to solve with */
};

typedef struct wi_small_simd {
    /* Factors the first `columns` columns of a front of `height` rows, assembled in `front`,
     * aligned to 64 bytes and 0 in the rows from `height` on, and changed. Stores them in the
     * panel, what is left in the update, whose columns are height - columns apart. Returns
     * `columns`, or the first column whose pivot is not > 0 or not finite; the panel then has the
     * columns before it and the pivot. */
    int64_t (*factor)(int64_t height, int64_t columns, double *front, double *panel,
                      double *update);

    /* A panel of `columns` rows and columns, and height - columns rows below, against one
     * right-hand side y: forward with it, backward with its transpose. Row i of it is row rows[i]
     * of y, of its columns the next after the one before. Bits are those of dense.h. */
    void (*forward)(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                    double *y);
    void (*backward)(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                     double *y);
} wi_small_simd;

WI_DECLARE_ISAS(wi_small_simd, wi_small_simd);

#endif
