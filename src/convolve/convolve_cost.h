/* SPDX-License-Identifier: Apache-2.0 */
/* What convolve's rungs cost, for the choice of one. `args` is a wi_convolve_args. */
#ifndef WI_CONVOLVE_COST_H
#define WI_CONVOLVE_COST_H

#include "convolve/convolve.h"

/* How many threads a call on a cpu uses whose outputs take so many weights each: that depends on
 * what it moves, in the type of its sums, and on its multiply-adds, four of which count as a byte.
 */
int wi_convolve_team(const weft_context *ctx, const wi_convolve_args *a, double weights);

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
