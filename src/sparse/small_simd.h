/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of a few rows, compiled for each instruction set. */
#ifndef WI_SPARSE_SMALL_SIMD_H
#define WI_SPARSE_SMALL_SIMD_H

#include <stdint.h>

#include "cpu/isa.h"

enum {
    WI_SMALL_ROWS = 16,  /* of a small front, at most; also the distance of its columns */
    WI_SMALL_COLUMNS = 8 /* of a small panel in solves, at most */
};

typedef struct wi_small_simd {
    /* Factors the first `columns` columns of a front of `height` rows. `front` is assembled,
     * aligned to 64 bytes, 0 in the rows from `height` on, and overwritten. Stores the columns in
     * the panel, and the rest in the update, whose columns are height - columns apart. Returns
     * `columns`, or the first column whose pivot is not > 0 or not finite; the panel then has the
     * columns before it and the pivot. */
    int64_t (*factor)(int64_t height, int64_t columns, double *front, double *panel,
                      double *update);

    /* Forward and backward substitution of one right-hand side y with a panel of `columns` columns
     * and `height` rows. Row i of the panel is row rows[i] of y; the rows of its columns follow
     * each other. The bits are those of dense.h. */
    void (*forward)(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                    double *y);
    void (*backward)(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                     double *y);
} wi_small_simd;

WI_DECLARE_ISAS(wi_small_simd, wi_small_simd);

#endif
