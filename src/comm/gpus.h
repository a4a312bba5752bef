/* SPDX-License-Identifier: Apache-2.0 */
/* Places of several GPUs in one process. The context that the user has is an ordinary one of the
 * first GPU, on which calls run that have no distributed rung; calls that have one are given to all
 * GPUs: each has a distributed context of backend `peer`, and a thread that makes the same call on
 * it with this GPU's share of the arrays. */
#ifndef WI_GPUS_H
#define WI_GPUS_H

#include "comm/dist.h"
#include "weft/mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is it the user's context of such a place? (Not one of its ranks.) */
static inline bool wi_is_gpus(const weft_context *ctx) {
    return ctx && ctx->gpus && !ctx->comm;
}

/* Opens the place: `list` is "0,2", or "" for all GPUs that work. */
weft_status wi_gpus_open(weft_context *ctx, const char *source, const char *list);
void wi_gpus_close(weft_context *ctx);

int wi_gpus_count(const weft_context *ctx);
struct wi_dealt *wi_gpus_dealt(const weft_context *ctx);
weft_context *wi_gpus_rank(const weft_context *ctx, int rank);
const char *wi_gpus_about(const weft_context *ctx);

/* weft_alloc, weft_free and weft_copy of such a place. */
weft_status wi_gpus_alloc(weft_context *ctx, void **memory, size_t bytes);
weft_status wi_gpus_free(weft_context *ctx, void *memory);
weft_status wi_gpus_copy(weft_context *ctx, void *to, const void *from, size_t bytes);

/* Is the call to go to all GPUs? Yes if its distributed rung is forced; and if the largest array,
 * of n elements of `width` bytes at p, lies on all of them or in host memory, and is large enough.
 * Otherwise, and on every other place, no. */
bool wi_gpus_wanted(weft_context *ctx, const wi_ladder *ladder, const void *p, size_t n,
                    size_t width);

/* Is it to go there whatever its size, because its distributed rung is forced? */
bool wi_gpus_forced(weft_context *ctx, const wi_ladder *ladder);

/* Elements `first` ... `first + n - 1` of an array: the share of one rank. */
typedef struct wi_share {
    size_t first, n;
} wi_share;

/* This rank's share of n elements of `width` bytes at p: those that its GPU holds, or else an equal
 * part. */
wi_share wi_gpus_share(const weft_context *rank, const void *p, size_t n, size_t width);

/* Element `first` of the share, of an array that may be NULL. */
static inline void *wi_share_of(const void *p, wi_share share, size_t width) {
    return p ? (char *)(uintptr_t)p + share.first * width : NULL;
}

/* Makes a call on a rank's context: a public one, or steps between which the ranks agree. */
typedef weft_status (*wi_gpus_part)(weft_context *rank, void *user);

/* Calls `part` for all ranks, each in its own thread, and returns when all GPUs have done the work.
 * The rung that ran becomes the one that weft_used tells of. */
weft_status wi_gpus_run(weft_context *ctx, const wi_ladder *ladder, const char *call,
                        wi_gpus_part part, void *user);

/* Puts n elements of this rank in place: behind those of the ranks before it, in an array of all;
 * NULL: they are there. *total = how many all have. All ranks must be ready: `status` is how this
 * one has fared. */
weft_status wi_gpus_put(weft_context *rank, weft_status status, void *to, const void *from,
                        size_t n, size_t width, uint64_t *total);

#ifdef __cplusplus
}
#endif
#endif
