/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rungs of trsm and trmm: the loops that one would write. Each sum takes in its products
 * from the first to the last, each by one fused multiply-add. */
#include <math.h>

#include "gemm/trmm.h"
#include "gemm/trsm.h"

#define NAME(f) f##_f64
#define WORD double
#define PLUS_PRODUCT fma
#include "gemm/triangle_ref_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define PLUS_PRODUCT fmaf
#include "gemm/triangle_ref_loops.inc"

weft_status wi_trsm_serial(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    if (t.type == WEFT_F64)
        solve_f64(&t);
    else
        solve_f32(&t);
    return WEFT_OK;
}

weft_status wi_trmm_serial(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    if (t.type == WEFT_F64)
        multiply_f64(&t);
    else
        multiply_f32(&t);
    return WEFT_OK;
}
