/* SPDX-License-Identifier: Apache-2.0 */
/* A conveyor moves a call through a few slots, segment by segment: a team of threads fills a slot,
 * the calling thread submits it to the device, and the team drains it when the device has finished;
 * several slots are in use at any time. It does not use CUDA itself: stage_segments.c gives it the
 * functions to submit and to ask. */
#ifndef WI_CONVEYOR_H
#define WI_CONVEYOR_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CONVEYOR_SLOTS = 8 /* at most */
};

/* Segment s uses slot s % slots. The order of events is
 *     fill(s)    every piece; after arrived(s - slots)
 *     submit(s)  after fill(s), submit(s - 1), and drain(s - slots)
 *     arrived(s) the slot's inputs have been read: it may be filled again
 *     finished(s)
 *     drain(s)   every piece
 * submit, arrived and finished are called by the calling thread alone, one at a time. */
typedef struct wi_conveyor {
    const weft_context *ctx; /* its threads do the work */
    size_t segments, slots;
    size_t fill_pieces,
        drain_pieces; /* pieces of each segment; 0 if there is nothing to fill or drain */
    int threads;      /* how many work, the calling thread included */
    void *user;
    void (*fill)(void *user, size_t segment, size_t piece);
    void (*drain)(void *user, size_t segment, size_t piece);
    weft_status (*submit)(void *user, size_t segment);
    weft_status (*arrived)(void *user, size_t segment, bool *yes);
    weft_status (*finished)(void *user, size_t segment, bool *yes);
} wi_conveyor;

/* Runs all segments. Returns the first status that is not WEFT_OK, once no thread uses any slot;
 * submitted segments may still be running on the device then. */
weft_status wi_conveyor_run(const wi_conveyor *conveyor);

#ifdef __cplusplus
}
#endif
#endif
