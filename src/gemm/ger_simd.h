/* SPDX-License-Identifier: Apache-2.0 */
/* Columns plus multiples of a vector, compiled for each instruction set; all sets give the same
 * bits. */
#ifndef WI_GER_SIMD_H
#define WI_GER_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"
#include "weft/core.h"

enum {
    WI_GER_STRIP = 512 /* elements of a column at a time, at most */
};

/* Adds x times `by` to n elements of a column; x and `by` are of the type that sums are made in. */
typedef void wi_ger_add(size_t n, const void *x, double by, void *a);

typedef struct wi_ger_kernel {
    wi_ger_add *add;
    void (*take)(size_t n, const void *x, ptrdiff_t step, void *to); /* x converted, without gaps */
} wi_ger_kernel;

typedef struct wi_ger_simd {
    wi_ger_kernel kernel[WEFT_TYPE_COUNT];
} wi_ger_simd;

WI_DECLARE_ISAS(wi_ger_simd, wi_ger_simd);

#endif
