/* SPDX-License-Identifier: Apache-2.0 */
/* The factorization of small blocks, compiled for each instruction set. */
#ifndef WI_CHOLESKY_SIMD_H
#define WI_CHOLESKY_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"

enum {
    WI_CHOLESKY_SIDE = 64 /* of a block, at most */
};

/* L in the place of the lower triangle of A, whose columns lie WI_CHOLESKY_SIDE apart. Returns the
 * number of columns that are done: n, or the first whose pivot, left where it is, is no finite
 * number above 0. */
typedef size_t wi_cholesky_block(size_t n, void *a);

typedef struct wi_cholesky_simd {
    wi_cholesky_block *f64, *f32;
} wi_cholesky_simd;

WI_DECLARE_ISAS(wi_cholesky_simd, wi_cholesky_simd);

#endif
