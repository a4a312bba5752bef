/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the ranks of a distributed context communicate: messages between two of them, and what
 * all do together. */
#ifndef WI_COLLECTIVES_H
#define WI_COLLECTIVES_H

#include "comm/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_step_kind {
    WI_STEP_MESSAGE, /* there and back between two ranks; half the time counts */
    WI_STEP_ALL_REDUCE,
    WI_STEP_ALL_GATHER,
    WI_STEP_REDUCE_SCATTER,
    WI_STEP_REDUCE,
    WI_STEP_BROADCAST,
    WI_STEP_ALL_TO_ALL,
    WI_STEP_KINDS
} wi_step_kind;

/* What is to be measured. */
typedef struct wi_step {
    wi_step_kind kind;
    size_t bytes;   /* of a message; of what a rank combines, sends or, in all, gathers */
    int samples;    /* of which the median counts */
    int a, b;       /* of a message: the ranks */
    bool device[2]; /* does the memory lie on a GPU: [0] of rank a, or of all ranks; [1] of rank b
                     */
    bool by_mail;   /* true: by mailboxes, if they take it; false: as the context is set */
} wi_step;

typedef struct wi_step_rate {
    size_t bytes;          /* rounded so that every rank has as many */
    double seconds;        /* until the slowest rank has ended */
    double algorithm;      /* bytes / seconds */
    double bus;            /* bytes that a rank sends in the best algorithm known, per second */
    const char *transport; /* what carried it */
    bool right;            /* all ranks have got what they should have */
} wi_step_rate;

/* "message", "all-reduce", ... */
const char *wi_step_name(wi_step_kind kind);

/* Measures a step. All ranks call this with the same arguments and get the same answer. */
weft_status wi_step_measure(weft_context *rank, const wi_step *step, wi_step_rate *rate);

#ifdef __cplusplus
}
#endif
#endif
