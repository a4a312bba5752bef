/* SPDX-License-Identifier: Apache-2.0 */
/* The factorization of small blocks for one instruction set. */
#include "cholesky/cholesky_simd.h"

#include "cpu/lanes.h"

enum {
    TOGETHER = 4 /* vectors of a column in registers while the columns before it are subtracted */
};

WI_INLINE float square_root_f32(float x) {
    return (float)wi_sqrt(x); /* rounding twice gives the same as once */
}

#define NAME(f) f##_f64
#define WORD double
#define SQUARE_ROOT wi_sqrt
#define SPLAT wi_splat
#define PLUS_PRODUCT wi_plus_product
#include "cholesky/cholesky_simd_block.inc"

#define NAME(f) f##_f32
#define WORD float
#define SQUARE_ROOT square_root_f32
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#include "cholesky/cholesky_simd_block.inc"

const wi_cholesky_simd WI_FOR_ISA(wi_cholesky_simd) = {factor_f64, factor_f32};
