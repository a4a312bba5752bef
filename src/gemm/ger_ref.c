/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of ger. */
#include <math.h>

#include "cpu/half.h"
#include "gemm/ger.h"

#define AS_IT_IS(x) (x)

#define NAME(f) f##_f64
#define T double
#define SUM double
#define WIDEN AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fma
#include "gemm/ger_column.inc"

#define NAME(f) f##_f32
#define T float
#define SUM float
#define WIDEN AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fmaf
#include "gemm/ger_column.inc"

#define NAME(f) f##_f16
#define T uint16_t
#define SUM float
#define WIDEN wi_f16_widen
#define NARROW wi_f16_narrow
#define PLUS_PRODUCT fmaf
#include "gemm/ger_column.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define SUM float
#define WIDEN wi_bf16_widen
#define NARROW wi_bf16_narrow
#define PLUS_PRODUCT fmaf
#include "gemm/ger_column.inc"

weft_status wi_ger_serial(weft_context *ctx, const void *args) {
    const wi_ger_args *const g = args;
    (void)ctx;
    for (size_t j = 0; j < g->columns; j++)
        switch (g->type) {
        case WEFT_F64:
            add_column_f64(g, j);
            break;
        case WEFT_F32:
            add_column_f32(g, j);
            break;
        case WEFT_F16:
            add_column_f16(g, j);
            break;
        default:
            add_column_bf16(g, j);
        }
    return WEFT_OK;
}
