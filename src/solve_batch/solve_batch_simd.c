/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems for one instruction set: the compiler makes vectors of the loops along columns. */
#include "solve_batch/solve_batch_simd.h"

#include <math.h>

#define NAME(f) f##_f64
#define WORD double
#define SIZE fabs
#define ROOT sqrt
#define PLUS_PRODUCT fma
#include "solve_batch/solve_batch_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#define SIZE fabsf
#define ROOT sqrtf
#define PLUS_PRODUCT fmaf
#include "solve_batch/solve_batch_loops.inc"

const wi_solve_batch_simd WI_FOR_ISA(wi_solve_batch_simd) = {systems_f64, systems_f32};
