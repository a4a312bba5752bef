/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals that are correctly rounded. */
#ifndef WI_SOLVE_EXACT_H
#define WI_SOLVE_EXACT_H

#include "cpu/isa.h"
#include "solve/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* p->r = c - G (x + low), each element rounded once. */
void wi_system_exact_cpu(weft_context *ctx, const wi_product *p);
weft_status wi_system_exact_cuda(weft_context *ctx, const wi_product *p);
/* Rows that cascades do not tell, of parts of a matrix. */
weft_status wi_system_wide_cpu(weft_context *ctx, const wi_wide_args *args);
weft_status wi_system_wide_cuda(weft_context *ctx, const wi_wide_args *args);

enum {
    WI_SOLVE_EXACT_ROWS = 64 /* worked on together */
};

/* A cascade (exact_cascade.h) for each row. */
typedef struct wi_solve_exact_sums {
    double sum[3][WI_SOLVE_EXACT_ROWS], lost[WI_SOLVE_EXACT_ROWS];
} wi_solve_exact_sums;

typedef struct wi_solve_exact_simd {
    /* Of all rows: adds a x. */
    void (*add)(const double *a, double x, wi_solve_exact_sums *sums);
} wi_solve_exact_simd;

WI_DECLARE_ISAS(wi_solve_exact_simd, wi_solve_exact_simd);

#ifdef __cplusplus
}
#endif
#endif
