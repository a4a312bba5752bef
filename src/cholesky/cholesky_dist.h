/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky over ranks and over several GPUs: a call as its user makes it, and what runs it. */
#ifndef WI_CHOLESKY_DIST_H
#define WI_CHOLESKY_DIST_H

#include "cholesky/cholesky.h"
#include "comm/dist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call over ranks, as its user makes it; args.upper is the triangle that the user names. args.n
 * counts the columns that this rank passes. */
typedef struct wi_cholesky_call {
    wi_cholesky_args args;
    bool by_rows;
    size_t order;   /* of the whole */
    bool shared;    /* all ranks pass the same matrix, the whole one */
    int64_t *words; /* what the rung found, in the numbering of the whole, in host memory */
} wi_cholesky_call;

/* Is this matrix, whose memory all GPUs of the place reach, to be factored by all of them? */
bool wi_cholesky_wants_gpus(weft_context *ctx, const wi_cholesky_args *args);
/* Factors it so. `call` is the name of the public call; what the rung found is left in `words`, of
 * the host. */
weft_status wi_cholesky_run_gpus(weft_context *ctx, const char *call, const wi_cholesky_args *args,
                                 int64_t *words);

/* The rungs over ranks; args is a wi_cholesky_call. */
weft_status wi_cholesky_ranks(weft_context *ctx, const void *args);
weft_status wi_cholesky_ranks_grid(weft_context *ctx, const void *args);

/* Makes a call of an upper triangle by a rung for the lower one. */
weft_status wi_cholesky_turned(weft_context *ctx, const wi_cholesky_call *call,
                               weft_status (*rung)(weft_context *ctx, const void *args));

#ifdef __cplusplus
}
#endif
#endif
