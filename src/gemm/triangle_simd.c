/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks on the diagonal for one instruction set: the sums of a few rows of X, two vectors wide,
 * stay in registers while they are made. */
#include "gemm/triangle_simd.h"

#include "cpu/lanes.h"

enum {
    GROUP = 4,  /* rows whose sums are made together */
    VECTORS = 2 /* of a row of a panel */
};

#define NAME(f) f##_f64
#define WORD double
#define VECTOR wi_doubles
#define SPLAT wi_splat
#define PLUS_PRODUCT wi_plus_product
#include "gemm/triangle_simd_block.inc"

#define NAME(f) f##_f32
#define WORD float
#define VECTOR wi_floats
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#include "gemm/triangle_simd_block.inc"

const wi_triangle_simd WI_FOR_ISA(wi_triangle_simd) = {
    .f64 = {COLUMNS_f64, pack_f64, load_f64, store_f64, solve_f64, multiply_f64},
    .f32 = {COLUMNS_f32, pack_f32, load_f32, store_f32, solve_f32, multiply_f32},
};
