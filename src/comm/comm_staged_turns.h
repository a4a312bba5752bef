/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of backend `staged`, for comm_staged.c and comm_staged_turns.c alone.
 *
 * Each step is cut into turns of wi_comm.piece elements of each block. A turn's elements are packed
 * into pinned memory, one block after another; the backend below takes them from there and leaves
 * what comes in other pinned memory, from where they are copied to their places. Two of each are
 * used in turns: what turn t + 1 sends is copied while turn t travels. */
#ifndef WI_COMM_STAGED_TURNS_H
#define WI_COMM_STAGED_TURNS_H

#include "comm/comm_staged.h"

#ifdef WEFT_CUDA

#    include "core/gpu.h"

enum {
    WI_STAGED_BUFFERS = 2
};

typedef struct wi_staged {
    wi_comm_table table; /* what ctx->comm->calls points to */
    const wi_comm_table *under;
    char *pinned;
    size_t bytes;     /* of it */
    bool is_pageable; /* for there was no pinned memory */
    size_t *turn_sent, *turn_got;
    cudaEvent_t packed[WI_STAGED_BUFFERS]; /* what the turn sends is in pinned memory */
} wi_staged;

static inline wi_staged *wi_staged_of(const weft_context *ctx) {
    return ctx->comm->staged;
}

/* ---- steps and their turns ---- */

typedef enum wi_staged_kind {
    WI_STAGED_BROADCAST,
    WI_STAGED_REDUCE,
    WI_STAGED_ALL_REDUCE,
    WI_STAGED_EXSCAN,
    WI_STAGED_ALL_GATHER,
    WI_STAGED_ALL_GATHER_V,
    WI_STAGED_REDUCE_SCATTER,
    WI_STAGED_ALL_TO_ALL_V,
    WI_STAGED_SEND,
    WI_STAGED_RECV
} wi_staged_kind;

/* What a step reads, or writes: `blocks` blocks that follow each other; of counts[k] elements, or
 * of `count` each where counts is NULL. */
typedef struct wi_staged_side {
    char *p;
    const size_t *counts;
    size_t count;
    int blocks;
    bool packed;                     /* it passes through pinned memory */
    char *pinned[WI_STAGED_BUFFERS]; /* where */
} wi_staged_side;

typedef struct wi_staged_step {
    wi_staged_kind kind;
    wi_staged_side from, to;
    weft_type type;
    weft_op op;
    int other; /* the root, or the other rank of a message */
} wi_staged_step;

/* What can fail on this rank alone is noted, and the step goes on, for the others wait for it. */
void wi_staged_note(weft_context *ctx, weft_status *first, weft_status status);

/* Runs a step. */
weft_status wi_staged_run(weft_context *ctx, wi_staged_step *s);

void wi_staged_free_pinned(wi_staged *m);

#endif
#endif
