/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems, compiled for each instruction set. */
#ifndef WI_SOLVE_BATCH_SIMD_H
#define WI_SOLVE_BATCH_SIMD_H

#include "cpu/isa.h"
#include "solve_batch/solve_batch.h"

typedef struct wi_solve_batch_simd {
    wi_batch_systems *f64, *f32;
} wi_solve_batch_simd;

WI_DECLARE_ISAS(wi_solve_batch_simd, wi_solve_batch_simd);

#endif
