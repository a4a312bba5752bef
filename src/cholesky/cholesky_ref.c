/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of cholesky: each column is finished, and taken from those on its right. */
#include <math.h>
#include <stddef.h>

#include "cholesky/cholesky.h"

/* Element (i, j) of L, i >= j, is at l[i row + j column]: of the upper triangle, U = L'. */
typedef struct triangle {
    size_t n;
    void *l;
    size_t row, column;
} triangle;

#define NAME(f) f##_f64
#define WORD double
#define SQUARE_ROOT sqrt
#define PLUS_PRODUCT fma
#include "cholesky/cholesky_ref_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define SQUARE_ROOT sqrtf
#define PLUS_PRODUCT fmaf
#include "cholesky/cholesky_ref_loops.inc"

weft_status wi_cholesky_serial(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const triangle t = {g->n, g->a, g->upper ? g->lda : 1, g->upper ? 1 : g->lda};
    (void)ctx;
    g->first[WI_CHOLESKY_INDEFINITE] = g->first[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    if (g->type == WEFT_F64)
        factor_f64(&t, g->first);
    else
        factor_f32(&t, g->first);
    return WEFT_OK;
}
