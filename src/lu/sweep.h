/* SPDX-License-Identifier: Apache-2.0 */
/* An elimination over ranks, whose columns are dealt out in turn (cyclic.h): block after block, its
 * owner factors it, all get a message with what they need of it, and change their own columns. */
#ifndef WI_SWEEP_H
#define WI_SWEEP_H

#include "lu/cyclic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step on a GPU may be asked for in two parts, so that a product begins while a block is already
 * being factored beside it. */
typedef enum wi_sweep_part {
    WI_SWEEP_BEGIN = 1, /* of factoring: the first kernels; of changing: all before the product */
    WI_SWEEP_REST = 2,
    WI_SWEEP_ALL = WI_SWEEP_BEGIN | WI_SWEEP_REST
} wi_sweep_part;

/* What an elimination does on one rank, in its child's context. Each step may fail there alone: the
 * rank then takes part in the communication to the end. */
typedef struct wi_sweep_steps {
    /* Bytes of the message about block k. */
    size_t (*message_bytes)(const void *user, size_t k);
    /* Factors block k, which is this rank's, and fills the message. */
    weft_status (*factor)(void *user, size_t k, char *message, wi_sweep_part part);
    /* Does a cluster of this rank's GPU factor block k? All of it is then asked for at once. Or
     * NULL: none does. */
    bool (*in_cluster)(const void *user, size_t k);
    /* The message about block k is there. */
    weft_status (*arrived)(void *user, size_t k, const char *message);
    /* All have the message about block k, which is this rank's. What is queued then goes beside the
     * product. Or NULL. */
    weft_status (*sent)(void *user, size_t k);
    /* Changes own columns first ... first + n - 1, of blocks after k. `beside`: a block is factored
     * at the same time. */
    weft_status (*update)(void *user, size_t k, const char *message, size_t first, size_t n,
                          wi_sweep_part part, bool beside);
    /* The same for the first n own columns, of blocks before k; or NULL. */
    weft_status (*update_left)(void *user, size_t k, const char *message, size_t n);
} wi_sweep_steps;

/* Blocks that have so many columns each, up to column `end`. */
typedef struct wi_sweep_stretch {
    size_t end, width;
} wi_sweep_stretch;

enum {
    WI_SWEEP_STRETCHES = 3 /* at most */
};

typedef struct wi_sweep {
    const wi_cyclic *c;
    const wi_sweep_steps *steps;
    void *user;
    size_t blocks; /* that are factored */
    /* How wide they are, the last stretch without end; a block that is dealt out has whole ones,
     * and each stretch whole ones of those. None: they are those that are dealt out. */
    wi_sweep_stretch stretch[WI_SWEEP_STRETCHES];
    int stretches;
    bool forked;  /* of a GPU: the side lane still has work that the second block waits for */
    bool ahead;   /* the next block is factored and sent while others are changed */
    bool in_turn; /* ... after it is factored, which takes all of a GPU */
    char *message[2];
    size_t message_bytes; /* of the largest */
    char *wire;           /* a copy in host memory, if the communicator reaches no other */
    weft_status status;   /* of this rank's own steps */
} wi_sweep;

/* Adds a stretch, if it has blocks. */
void wi_sweep_add(wi_sweep *s, size_t end, size_t width);
/* The first column of block k. */
size_t wi_sweep_first(const wi_sweep *s, size_t k);
/* Takes the memory for messages; may fail on one rank alone. */
weft_status wi_sweep_take(wi_sweep *s);
/* Does it. Returns WEFT_OK on all ranks, or a failure on all. */
weft_status wi_sweep_run(wi_sweep *s);
void wi_sweep_end(wi_sweep *s);

/* How many blocks of threads a product beside a block that is factored may have; 0: any. */
unsigned wi_sweep_blocks_beside(const weft_context *child);

#ifdef __cplusplus
}
#endif
#endif
