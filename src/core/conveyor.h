/* SPDX-License-Identifier: Apache-2.0 */
/* A conveyor is a software pipeline for a call that is cut into segments. A segment occupies one of
 * a few slots (staging buffers): a team of threads fills the slot with its inputs, the calling
 * thread submits it to the device, and when the device has finished, the team drains the slot: it
 * copies the outputs away. Several slots are in use at a time. The conveyor does not call CUDA:
 * stage_segments.c gives it the functions that submit, and that ask the device how far it is. */
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
 *     fill(s)      every piece; after arrived(s - slots)
 *     submit(s)    after fill(s), submit(s - 1), and drain(s - slots)
 *     arrived(s)   the device has read the inputs: the slot may be filled again
 *     finished(s)  the device has written the outputs: the slot may be drained
 *     drain(s)     every piece
 * Any thread of the team calls fill and drain; only the calling thread calls the others. arrived
 * and finished do not wait: they set *yes if it has happened. */
typedef struct wi_conveyor {
    const weft_context *ctx; /* its threads do the work */
    size_t segments, slots;
    size_t fill_pieces,
        drain_pieces; /* of each segment; 0: there is nothing to fill, or to drain */
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
