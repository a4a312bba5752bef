/* SPDX-License-Identifier: Apache-2.0 */
/* What gemm's CUDA rungs cost, for the choice of one. `args` is a wi_gemm_args. */
#ifndef WI_GEMM_COST_H
#define WI_GEMM_COST_H

#include "gemm/gemm.h"

enum {
    WI_GEMM_THIN_MOST = 64 /* rows or columns of a thin C */
};

/* The shape of a product (core/tuning.h): the costs of products of different shapes may be wrong by
 * different factors. */
unsigned wi_gemm_shape_of(const void *args);

/* Seconds that each rung is predicted to take. */
double wi_gemm_gemv_seconds(const weft_context *ctx, const void *args);
double wi_gemm_outer_seconds(const weft_context *ctx, const void *args);
double wi_gemm_thin_seconds(const weft_context *ctx, const void *args);
double wi_gemm_narrow_seconds(const weft_context *ctx, const void *args);
double wi_gemm_small_seconds(const weft_context *ctx, const void *args);
double wi_gemm_pipeline_seconds(const weft_context *ctx, const void *args);
double wi_gemm_tensor_seconds(const weft_context *ctx, const void *args);
double wi_gemm_ring_seconds(const weft_context *ctx, const void *args);
double wi_gemm_parts_seconds(const weft_context *ctx, const void *args);

#endif
