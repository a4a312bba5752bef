/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of gemv: each sum takes in its products from the first to the last. */
#include <math.h>

#include "cpu/half.h"
#include "gemm/gemv.h"

#define AS_IT_IS(x) (x)

#define NAME(f) f##_f64
#define IN double
#define OUT double
#define SUM double
#define WIDEN AS_IT_IS
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fma
#include "gemm/gemv_ref_loops.inc"

#define NAME(f) f##_f32
#define IN float
#define OUT float
#define SUM float
#define WIDEN AS_IT_IS
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fmaf
#include "gemm/gemv_ref_loops.inc"

#define NAME(f) f##_f16_f32
#define IN uint16_t
#define OUT float
#define SUM float
#define WIDEN wi_f16_widen
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fmaf
#include "gemm/gemv_ref_loops.inc"

#define NAME(f) f##_bf16_f32
#define IN uint16_t
#define OUT float
#define SUM float
#define WIDEN wi_bf16_widen
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_PRODUCT fmaf
#include "gemm/gemv_ref_loops.inc"

#define NAME(f) f##_f16
#define IN uint16_t
#define OUT uint16_t
#define SUM float
#define WIDEN wi_f16_widen
#define WIDEN_OUT wi_f16_widen
#define NARROW wi_f16_narrow
#define PLUS_PRODUCT fmaf
#include "gemm/gemv_ref_loops.inc"

#define NAME(f) f##_bf16
#define IN uint16_t
#define OUT uint16_t
#define SUM float
#define WIDEN wi_bf16_widen
#define WIDEN_OUT wi_bf16_widen
#define NARROW wi_bf16_narrow
#define PLUS_PRODUCT fmaf
#include "gemm/gemv_ref_loops.inc"

weft_status wi_gemv_serial(weft_context *ctx, const void *args) {
    const wi_gemv_args *const g = args;
    (void)ctx;
    switch (g->type) {
    case WEFT_F64:
        multiply_f64(g);
        break;
    case WEFT_F32:
        multiply_f32(g);
        break;
    case WEFT_F16:
        (g->out == WEFT_F16 ? multiply_f16 : multiply_f16_f32)(g);
        break;
    default:
        (g->out == WEFT_BF16 ? multiply_bf16 : multiply_bf16_f32)(g);
    }
    return WEFT_OK;
}
