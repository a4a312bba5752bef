/* SPDX-License-Identifier: Apache-2.0 */
/* What convolve's rungs cost, for the choice of one. `args` is a wi_convolve_args. */
#ifndef WI_CONVOLVE_COST_H
#define WI_CONVOLVE_COST_H

#include "convolve/convolve.h"

/* Seconds that each rung is predicted to take. */
double wi_convolve_threads_seconds(const weft_context *ctx, const void *args);
double wi_convolve_separable_seconds(const weft_context *ctx, const void *args);
double wi_convolve_low_rank_seconds(const weft_context *ctx, const void *args);
double wi_convolve_transforms_seconds(const weft_context *ctx, const void *args);
double wi_convolve_blocks_seconds(const weft_context *ctx, const void *args);
double wi_convolve_rows_seconds(const weft_context *ctx, const void *args);
double wi_convolve_two_pass_seconds(const weft_context *ctx, const void *args);
double wi_convolve_fused_seconds(const weft_context *ctx, const void *args);
double wi_convolve_tensor_seconds(const weft_context *ctx, const void *args);
double wi_convolve_quads_seconds(const weft_context *ctx, const void *args);
double wi_convolve_low_rank_fused_seconds(const weft_context *ctx, const void *args);

#endif
