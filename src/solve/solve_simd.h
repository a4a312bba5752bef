/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of residuals in twice the precision of f64, compiled for each instruction set; all sets give
 * the same bits. */
#ifndef WI_SOLVE_SIMD_H
#define WI_SOLVE_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"

enum {
    WI_SOLVE_LANES = 8
};

/* Sums of one row that are made in lanes: term k goes to lane k % 8. */
typedef struct wi_solve_sums {
    double high[WI_SOLVE_LANES], low[WI_SOLVE_LANES], size[WI_SOLVE_LANES];
} wi_solve_sums;

typedef struct wi_solve_simd {
    /* Of n rows, one after the other: high + low -= a x, size += |a x|. */
    void (*down)(size_t n, const double *a, double x, double *high, double *low, double *size);
    /* Of one row: n terms, a multiple of 8 but at the row's end. */
    void (*along)(size_t n, const double *a, const double *x, wi_solve_sums *sums);
    void (*widen)(size_t n, const float *from, double *to);
} wi_solve_simd;

WI_DECLARE_ISAS(wi_solve_simd, wi_solve_simd);

#endif
