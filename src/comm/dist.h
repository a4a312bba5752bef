/* SPDX-License-Identifier: Apache-2.0 */
/* What every distributed rung stands on. A distributed context has a communicator (ctx->comm) and a
 * context for the work of this rank alone (ctx->child), with whom it shares the device, the stream
 * and the threads. Public calls on it, and only those on it, run rows of scope WI_DISTRIBUTED.
 *
 * A rung must never leave other ranks waiting: what can fail on one rank alone (memory, the local
 * call) stands between two steps of communication, and wi_agree stands before the next. */
#ifndef WI_DIST_H
#define WI_DIST_H

#include "comm/comm.h"
#include "core/call.h"
#include "core/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Does the context stand for several ranks? Then the call's checks return nothing to the caller:
 * all that they say goes to wi_dist_run. NULL is no such context. */
static inline bool wi_is_dist(const weft_context *ctx) {
    return ctx && ctx->comm;
}

/* The arguments of most distributed rungs: the checked description of the call, and the arguments
 * that a local rung gets. If the checks have failed neither is valid, and the rung does not run. */
typedef struct wi_dist_args {
    const wi_call *call;
    const void *args;
} wi_dist_args;

/* Takes what the communicator needs for each rank. */
weft_status wi_dist_room(weft_context *ctx, const char *source);

/* Opens a distributed place, "mpi" or "mpi:LOCAL", into a new context; `handed` as in
 * wi_comm_mpi_open. Collective. */
weft_status wi_dist_open(weft_context *ctx, const char *source, const char *place,
                         const void *handed);
/* Waits until the other ranks close their contexts, too, or have failed. */
void wi_dist_close(weft_context *ctx);

/* A number that stands for the arguments that all ranks must pass alike: begin with 0. */
uint64_t wi_alike(uint64_t before, uint64_t argument);
uint64_t wi_alike_bytes(uint64_t before, const void *p, size_t bytes);

/* All ranks learn whether all are well; `alike` must be the same on all. Returns `status` where
 * that is not WEFT_OK, and on the other ranks WEFT_ECOMM with a message that names the first rank
 * that failed, and why. */
weft_status wi_agree(weft_context *ctx, uint64_t alike, weft_status status);

/* Runs a public call over all ranks. `status` is what this rank's checks have said; the rung runs
 * if they said WEFT_OK on all of them. Returns WEFT_OK if the call has ended well on all. */
weft_status wi_dist_run(weft_context *ctx, const wi_ladder *ladder, const char *call,
                        weft_type type, uint64_t alike, weft_status status, const void *args);

/* Ends a local call: the message of the child, if it failed, becomes the context's own, with the
 * name of the public call. */
weft_status wi_local(weft_context *ctx, weft_status status);

/* Makes a local call, unless one before it has failed: `status` is a variable that keeps the first
 * failure of this rank's own calls, until all ranks agree. */
#define WI_LOCAL_STEP(ctx, status, call)                                                           \
    do {                                                                                           \
        if ((status) == WEFT_OK)                                                                   \
            (status) = wi_local((ctx), (call));                                                    \
    } while (0)

/* The arguments of the rung `wi_run_own`, of calls for which no rank needs another: each makes the
 * call on its own place. */
typedef struct wi_own_call {
    weft_status (*call)(weft_context *own, void *user);
    void *user;
} wi_own_call;
weft_status wi_run_own(weft_context *ctx, const void *own_call);

/* all[r * n + k] = own[k] of rank r; n <= WI_COMM_WORDS, else WEFT_EARG and nothing is sent. Valid
 * until the next such step. */
weft_status wi_all_words(weft_context *ctx, const uint64_t *own, size_t n, const uint64_t **all);

/* *before = the sum of n over the ranks before this one, *total = over all ranks. */
weft_status wi_all_counts(weft_context *ctx, uint64_t n, uint64_t *before, uint64_t *total);

/* got[r] = what rank r has in its sent[] for this rank. */
weft_status wi_exchange_counts(weft_context *ctx, const size_t sent[], size_t got[]);

/* all_to_all_v of elements of `width` bytes. */
weft_status wi_dist_exchange(weft_context *ctx, const void *from, const size_t sent[], void *to,
                             const size_t got[], size_t width);

/* Host memory for a rung; n elements of `width` bytes. */
weft_status wi_dist_take(weft_context *ctx, size_t n, size_t width, void **p);

/* Memory of this rank's own place where the communicator takes such, else host memory; and frees
 * it. */
bool wi_dist_stays(const weft_context *ctx);
weft_status wi_dist_take_near(weft_context *ctx, size_t n, size_t width, void **p);
void wi_dist_give_near(weft_context *ctx, void *p);
/* Does the communicator reach all memory of this rank's own place? */
static inline bool wi_dist_reaches(const weft_context *ctx) {
    return wi_dist_stays(ctx) || !ctx->child->gpu;
}

/* Copies rows between memory that the child's place can reach; on a GPU the copy may be queued. */
weft_status wi_dist_copy_rows(weft_context *ctx, void *to, size_t to_pitch_bytes, const void *from,
                              size_t from_pitch_bytes, size_t rows, size_t row_bytes);

/* Runs a rung's steps on a checked call's arrays or, on a GPU, on copies of those that are in host
 * memory, as wi_call_run does. `steps` begins with wi_agree, by which the ranks learn whether all
 * have got there. */
typedef weft_status (*wi_dist_steps)(weft_context *ctx, const wi_part *part, void *user);
weft_status wi_dist_call_run(weft_context *ctx, wi_call *call, wi_dist_steps steps, void *user);

/* Adds `more` to n unsigned integers of `width` bytes, in host memory or on the device, but for
 * those of 8 bytes that are WEFT_NOWHERE. */
weft_status wi_dist_add(weft_context *ctx, void *p, size_t n, size_t width, uint64_t more);

/* Moves elements 1 ... n - 1 one place to the front; p may be NULL. */
weft_status wi_dist_drop_first(weft_context *ctx, void *p, size_t n, size_t width);

#ifdef __cplusplus
}
#endif
#endif
