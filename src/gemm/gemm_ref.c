/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of gemm: three loops, which say in C what the public header says in words. Each
 * sum takes in its products from the first to the last, each by one fused multiply-add. */
#include <math.h>

#include "cpu/half.h"
#include "gemm/gemm.h"

#define AS_IT_IS(x) (x)
#define AS_F32(x) ((float)(x))
/* Whole numbers are multiplied modulo 2^32, as unsigned. */
#define WHOLE(x) ((uint32_t)(int32_t)(x))
#define SIGNED(x) ((int32_t)(x))
#define WHOLE_PLUS_PRODUCT(a, b, c) ((c) + (a) * (b))

#define NAME(f) f##_f64
#define IN double
#define OUT double
#define SUM double
#define WIDEN AS_IT_IS
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define SCALAR AS_IT_IS
#define PLUS_PRODUCT fma
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_f32
#define IN float
#define OUT float
#define SUM float
#define WIDEN AS_IT_IS
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define SCALAR AS_F32
#define PLUS_PRODUCT fmaf
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_f16_f32
#define IN uint16_t
#define OUT float
#define SUM float
#define WIDEN wi_f16_widen
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define SCALAR AS_F32
#define PLUS_PRODUCT fmaf
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_bf16_f32
#define IN uint16_t
#define OUT float
#define SUM float
#define WIDEN wi_bf16_widen
#define WIDEN_OUT AS_IT_IS
#define NARROW AS_IT_IS
#define SCALAR AS_F32
#define PLUS_PRODUCT fmaf
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_f16
#define IN uint16_t
#define OUT uint16_t
#define SUM float
#define WIDEN wi_f16_widen
#define WIDEN_OUT wi_f16_widen
#define NARROW wi_f16_narrow
#define SCALAR AS_F32
#define PLUS_PRODUCT fmaf
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_bf16
#define IN uint16_t
#define OUT uint16_t
#define SUM float
#define WIDEN wi_bf16_widen
#define WIDEN_OUT wi_bf16_widen
#define NARROW wi_bf16_narrow
#define SCALAR AS_F32
#define PLUS_PRODUCT fmaf
#include "gemm/gemm_ref_loops.inc"

#define NAME(f) f##_i8
#define IN int8_t
#define OUT int32_t
#define SUM uint32_t
#define WIDEN WHOLE
#define WIDEN_OUT WHOLE
#define NARROW SIGNED
#define SCALAR WHOLE
#define PLUS_PRODUCT WHOLE_PLUS_PRODUCT
#include "gemm/gemm_ref_loops.inc"

weft_status wi_gemm_serial(weft_context *ctx, const void *args) {
    const wi_gemm_args *const g = args;
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
    case WEFT_BF16:
        (g->out == WEFT_BF16 ? multiply_bf16 : multiply_bf16_f32)(g);
        break;
    default:
        multiply_i8(g);
    }
    return WEFT_OK;
}
