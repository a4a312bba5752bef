/* SPDX-License-Identifier: Apache-2.0 */
/* random inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_RANDOM_H
#define WI_RANDOM_H

#include "core/call.h"
#include "core/rows.h"
#include "random/random_numbers.h"
#include "weft/random.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const wi_ladder wi_random_ladder;

/* Runs a checked call on this place alone; nothing if it is empty. */
weft_status wi_random_call_run(weft_context *ctx, wi_call *call, wi_random_args *args);

/* A permutation of few numbers, by a cpu. */
void wi_random_small_permutation(const wi_random_args *args);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_random_serial(weft_context *ctx, const void *args);
weft_status wi_random_threads(weft_context *ctx, const void *args);
weft_status wi_random_one_each(weft_context *ctx, const void *args);
weft_status wi_random_block_each(weft_context *ctx, const void *args);
weft_status wi_random_tiles(weft_context *ctx, const void *args);
weft_status wi_random_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
