/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that stand above a backend and take over some of its steps: `nccl`, for large ones between
 * GPUs, `mailbox`, for small ones between those of a process, and `staged`, for arrays in memory of
 * GPUs where the backend takes host memory only. With any of them a rank's calls describe each
 * step, and the first way that takes it runs it. */
#ifndef WI_COMM_LAYERS_H
#define WI_COMM_LAYERS_H

#include "comm/comm.h"

typedef enum wi_comm_kind {
    WI_COMM_BROADCAST,
    WI_COMM_REDUCE,
    WI_COMM_ALL_REDUCE,
    WI_COMM_EXSCAN,
    WI_COMM_ALL_GATHER,
    WI_COMM_ALL_GATHER_V,
    WI_COMM_REDUCE_SCATTER,
    WI_COMM_ALL_TO_ALL_V,
    WI_COMM_SEND,
    WI_COMM_RECV
} wi_comm_kind;

/* What this rank reads in a step, or writes: `blocks` blocks that follow each other, of counts[k]
 * elements, or of `count` each where counts is NULL. p is NULL if it has none. */
typedef struct wi_comm_side {
    char *p;
    const size_t *counts;
    size_t count;
    int blocks;
} wi_comm_side;

/* A broadcast has its data in `from` on the root, and in `to` on the others. */
typedef struct wi_comm_step {
    wi_comm_kind kind;
    wi_comm_side from, to;
    weft_type type;
    weft_op op;
    int other; /* the root, or the other rank of a message */
} wi_comm_step;

static inline size_t wi_comm_count(const wi_comm_side *s, int k) {
    return s->counts ? s->counts[k] : s->count;
}

static inline size_t wi_comm_elements(const wi_comm_side *s) {
    size_t all = 0;
    for (int k = 0; k < s->blocks; k++)
        all += wi_comm_count(s, k);
    return all;
}

/* Does this rank have that side in memory of its GPU, if it has any? */
bool wi_comm_on_gpu(const weft_context *ctx, const wi_comm_side *s);

/* Makes the calls of ctx's communicator go through these ways first. `device`: one of them takes
 * memory of GPUs, whatever the backend does. May be called for each way that is opened. */
void wi_comm_layers_open(weft_context *ctx, bool device);

/* *all = is `own` true on every rank? Asked through the backend itself. */
weft_status wi_comm_all_say(weft_context *ctx, bool own, bool *all);

/* Runs a step by the backend itself. */
weft_status wi_comm_run_below(weft_context *ctx, const wi_comm_step *s);

#endif
