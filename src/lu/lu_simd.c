/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of a few columns for one instruction set: each pivot's column is taken from several
 * columns at a time. */
#include "lu/lu_simd.h"

#include <stdbool.h>

#include "cpu/lanes.h"
#include "lu/lu.h"

enum {
    TOGETHER = 8 /* columns that a pivot's column is taken from at a time */
};

typedef int32_t wi_ints __attribute__((vector_size(WI_VECTOR_BYTES)));

#define NAME(f) f##_f64
#define WORD double
#define VECTOR wi_doubles
#define BITS wi_longs
#define SIZE fabs
#define SPLAT wi_splat
#define PLUS_PRODUCT wi_plus_product
#define PLUS_PRODUCT_WORD fma
#include "lu/lu_simd_panel.inc"

#define NAME(f) f##_f32
#define WORD float
#define VECTOR wi_floats
#define BITS wi_ints
#define SIZE fabsf
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#define PLUS_PRODUCT_WORD fmaf
#include "lu/lu_simd_panel.inc"

const wi_lu_simd WI_FOR_ISA(wi_lu_simd) = {eliminate_f64, eliminate_f32};
