/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of syrk. Each sum takes in its products from the first to the last, each by one
 * fused multiply-add. */
#include <math.h>

#include "gemm/syrk.h"

#define NAME(f) f##_f64
#define WORD double
#define PLUS_PRODUCT fma
#include "gemm/syrk_ref_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define PLUS_PRODUCT fmaf
#include "gemm/syrk_ref_loops.inc"

weft_status wi_syrk_serial(weft_context *ctx, const void *args) {
    const wi_syrk_args *const g = args;
    (void)ctx;
    if (g->type == WEFT_F64)
        multiply_f64(g);
    else
        multiply_f32(g);
    return WEFT_OK;
}
