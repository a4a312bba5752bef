/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of residuals, compiled for each instruction set. */
#ifndef WI_SPARSE_RESIDUAL_SIMD_H
#define WI_SPARSE_RESIDUAL_SIMD_H

#include <stdint.h>
#include <string.h>

#include "cpu/isa.h"
#include "sparse/sparse.h"

/* The bits of |x|. Their order is that of the magnitudes, with infinity and NaN last. */
static inline uint64_t wi_size_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & UINT64_MAX >> 1;
}

/* Is |a| larger than b, which is not negative? NaN counts as larger than any number. */
static inline bool wi_worse(double a, double b) {
    return wi_size_bits(a) > wi_size_bits(b);
}

typedef struct wi_residual_simd {
    /* Computes rows begin ... end - 1 as `args` asks; raises the maxima in `misfit`. */
    void (*rows)(const wi_residual_args *args, size_t begin, size_t end, wi_misfit *misfit);
    /* The largest magnitude of x; NaN if there is one. */
    double (*largest)(size_t n, const double *x);
    /* Are all magnitudes 0 or from `least` to `most`? */
    bool (*within)(size_t n, const double *x, double least, double most);
} wi_residual_simd;

WI_DECLARE_ISAS(wi_residual_simd, wi_residual_simd);

#endif
