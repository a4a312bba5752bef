/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of lu: elimination as on paper. Each column in turn gives its largest element to
 * the diagonal, is divided by it, and is taken from the columns on its right. */
#include <math.h>

#include "lu/lu.h"

#define NAME(f) f##_f64
#define WORD double
#define SIZE fabs
#define PLUS_PRODUCT fma
#include "lu/lu_ref_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define SIZE fabsf
#define PLUS_PRODUCT fmaf
#include "lu/lu_ref_loops.inc"

weft_status wi_lu_serial(weft_context *ctx, const void *args) {
    const wi_lu_args *const g = args;
    (void)ctx;
    g->first[WI_LU_SINGULAR] = g->first[WI_LU_INFINITE] = WI_LU_NONE;
    if (g->type == WEFT_F64)
        eliminate_f64(g);
    else
        eliminate_f32(g);
    return WEFT_OK;
}
