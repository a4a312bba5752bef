/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of products with vectors for one instruction set. Sums along columns stay in the
 * first-level cache while four columns at a time are added to them; sums across stay in registers,
 * as many lanes of them whatever the vectors' width. */
#include "gemm/gemv_simd.h"

#include <math.h>

#include "gemm/vector_simd.h"

enum {
    GROUP = 4, /* columns at a time */
    LANE_BYTES = 64
};

WI_INLINE const float *widened_f16(size_t n, const uint16_t *from, float *buffer) {
    wi_f16_widen_run(n, from, buffer);
    return buffer;
}

WI_INLINE const float *widened_bf16(size_t n, const uint16_t *from, float *buffer) {
    wi_bf16_widen_run(n, from, buffer);
    return buffer;
}

#define AS_IT_IS(x) (x)
#define IN_PLACE(n, from, buffer) ((void)(n), (void)(buffer), (from))

#define NAME(f) f##_f64
#define IN double
#define SUM double
#define VECTOR wi_doubles
#define AT IN_PLACE
#define SPLAT wi_splat
#define PLUS_PRODUCT wi_plus_product
#define PLUS_WORD fma
#include "gemm/gemv_simd_piece.inc"

#define NAME(f) f##_f32
#define IN float
#define SUM float
#define VECTOR wi_floats
#define AT IN_PLACE
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_piece.inc"

#define NAME(f) f##_f16
#define IN uint16_t
#define SUM float
#define VECTOR wi_floats
#define AT widened_f16
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_piece.inc"

#define NAME(f) f##_bf16
#define IN uint16_t
#define SUM float
#define VECTOR wi_floats
#define AT widened_bf16
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_piece.inc"

#define NAME(f) f##_f64
#define OUT double
#define SUM double
#define WIDEN AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_WORD fma
#include "gemm/gemv_simd_finish.inc"

#define NAME(f) f##_f32
#define OUT float
#define SUM float
#define WIDEN AS_IT_IS
#define NARROW AS_IT_IS
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_finish.inc"

#define NAME(f) f##_f16
#define OUT uint16_t
#define SUM float
#define WIDEN wi_f16_widen
#define NARROW wi_f16_narrow
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_finish.inc"

#define NAME(f) f##_bf16
#define OUT uint16_t
#define SUM float
#define WIDEN wi_bf16_widen
#define NARROW wi_bf16_narrow
#define PLUS_WORD fmaf
#include "gemm/gemv_simd_finish.inc"

const wi_gemv_simd WI_FOR_ISA(wi_gemv_simd) = {
    .kernel =
        {[WEFT_F64] = {along_f64, across_f64, wi_take_f64, {[WEFT_F64] = finish_f64}, add_f64},
         [WEFT_F32] = {along_f32, across_f32, wi_take_f32, {[WEFT_F32] = finish_f32}, add_f32},
         [WEFT_F16] = {along_f16,
                       across_f16,
                       wi_take_f16,
                       {[WEFT_F16] = finish_f16, [WEFT_F32] = finish_f32},
                       add_f16},
         [WEFT_BF16] = {along_bf16,
                        across_bf16,
                        wi_take_bf16,
                        {[WEFT_BF16] = finish_bf16, [WEFT_F32] = finish_f32},
                        add_bf16}},
};
