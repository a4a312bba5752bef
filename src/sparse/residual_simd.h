/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of residuals, compiled for each instruction set. */
#ifndef WI_SPARSE_RESIDUAL_SIMD_H
#define WI_SPARSE_RESIDUAL_SIMD_H

#include <math.h>

#include "cpu/isa.h"
#include "sparse/sparse.h"

/* Is a worse than b? NaN is worse than anything. */
static inline bool wi_worse(double a, double b) {
    return !(a <= b) && !isnan(b);
}

typedef struct wi_residual_simd {
    /* Rows begin ... end - 1 of what `args` asks for; the figures of `misfit` rise to theirs. */
    void (*rows)(const wi_residual_args *args, size_t begin, size_t end, wi_misfit *misfit);
    double (*largest)(size_t n, const double *x);
} wi_residual_simd;

WI_DECLARE_ISAS(wi_residual_simd, wi_residual_simd);

#endif
