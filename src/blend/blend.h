/* SPDX-License-Identifier: Apache-2.0 */
/* blend inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_BLEND_H
#define WI_BLEND_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/blend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One checked call on memory that the place can access. */
typedef struct wi_blend_args {
    weft_type type;
    size_t rows, cols; /* cols: elements of a row */
    size_t channels;
    const void *a, *b, *mask; /* mask may be NULL */
    void *out;
    size_t lda, ldb, ldmask, ldout;
    float weight_a, weight_b;
    bool over_link; /* images are in pinned host memory */
} wi_blend_args;

extern const wi_ladder wi_blend_ladder;

/* Runs a checked call: its arrays are a, b, out and, with one, the mask, in this order. */
weft_status wi_blend_call_run(weft_context *ctx, wi_call *call, const weft_blending *blending);

/* Is a checked call to go to all GPUs of a place? And runs it so: each blends the rows that it
 * holds, of a single row pixels. */
bool wi_blend_wants_gpus(weft_context *ctx, const wi_call *call);
weft_status wi_blend_over_gpus(weft_context *ctx, const wi_call *call,
                               const weft_blending *blending);
/* Runs a call over ranks, each with rows of its own; `status` is what its checks have said. If it
 * is not WEFT_OK, nothing else is valid. */
weft_status wi_blend_over_ranks(weft_context *ctx, const wi_call *call,
                                const weft_blending *blending, weft_status status);

/* The same call as one long row, if that leaves out no element of an array. */
wi_blend_args wi_blend_flat(const wi_blend_args *args);

/* In a build with OpenACC: where its loops run, for `weft info`. */
const char *wi_blend_openacc_device(void);

/* The rungs. */
weft_status wi_blend_serial(weft_context *ctx, const void *args);
weft_status wi_blend_threads(weft_context *ctx, const void *args);
weft_status wi_blend_openacc(weft_context *ctx, const void *args); /* in a build with OpenACC */
weft_status wi_blend_openacc_blocks(weft_context *ctx, const void *args);
weft_status wi_blend_direct(weft_context *ctx, const void *args);
weft_status wi_blend_vectors(weft_context *ctx, const void *args);
weft_status wi_blend_ranks(weft_context *ctx, const void *request);

#ifdef __cplusplus
}
#endif
#endif
