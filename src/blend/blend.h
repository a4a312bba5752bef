/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_BLEND_H
#define WI_BLEND_H

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
} wi_blend_args;

extern const wi_ladder wi_blend_ladder;

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

#ifdef __cplusplus
}
#endif
#endif
