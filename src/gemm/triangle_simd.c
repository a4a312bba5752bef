/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks on the diagonal for one instruction set: the sums of a few rows of X, two vectors wide,
 * stay in registers while they are made. */
#include "gemm/triangle_simd.h"

#include <math.h>

#include "cpu/vector.h"

enum {
    GROUP = 4 /* rows whose sums are made together */
};

#define NAME(f) f##_f64
#define WORD double
#define PLUS_PRODUCT fma
#include "gemm/triangle_simd_block.inc"

#define NAME(f) f##_f32
#define WORD float
#define PLUS_PRODUCT fmaf
#include "gemm/triangle_simd_block.inc"

const wi_triangle_simd WI_FOR_ISA(wi_triangle_simd) = {
    .f64 = {COLUMNS_f64, load_f64, store_f64, solve_f64, multiply_f64},
    .f32 = {COLUMNS_f32, load_f32, store_f32, solve_f32, multiply_f32},
};
