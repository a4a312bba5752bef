/* SPDX-License-Identifier: Apache-2.0 */
/* One staged call on its way through a rung of the ladder "stage", and what the rungs share. */
#ifndef WI_STAGE_JOB_H
#define WI_STAGE_JOB_H

#include "core/gpu.h"
#include "core/rowcopy.h"
#include "core/stage_plan.h"

enum {
    WI_STAGE_SLOTS = 4,       /* segments being processed at once */
    WI_STAGE_ALIGNMENT = 256, /* of each array in a buffer */
    WI_STAGE_COPIERS = 14     /* at most: more threads than saturate the memory slow each other */
};

/* What a context keeps between calls. */
struct wi_stage {
    /* Of the rung "segmented": streams, events and pinned buffers, all made or none; buffers on the
     * device once a call needs them. */
    bool has_ring;
    cudaStream_t in, out;
    struct {
        cudaEvent_t arrived, computed, finished;
    } events[WI_STAGE_SLOTS];
    char *pinned; /* areas for the inputs of each slot, then areas for their outputs */
    char *device; /* two areas for each slot, or NULL */
    /* Of the rung "pinned": one buffer for whole arrays. */
    char *whole;
    size_t whole_bytes;
};

/* One call on its way through a rung. */
typedef struct wi_stage_job {
    weft_context *ctx;
    const wi_stage_args *args;
    wi_stage_arrays arrays;
    wi_memory memory[WI_MAX_OPERANDS]; /* of each array */
    size_t host_bytes;                 /* all that must cross the link */
} wi_stage_job;

/* Threads that copy between pageable and pinned memory. */
static inline int wi_stage_copiers(const weft_context *ctx) {
    return ctx->threads < WI_STAGE_COPIERS ? ctx->threads : WI_STAGE_COPIERS;
}

static inline size_t wi_stage_align(size_t bytes) {
    return (bytes + WI_STAGE_ALIGNMENT - 1) / WI_STAGE_ALIGNMENT * WI_STAGE_ALIGNMENT;
}

static inline bool wi_on_device(const wi_stage_job *j, int k) {
    return j->memory[k] == WI_MEMORY_DEVICE;
}

/* Does array k go to the device, or come back, through a pinned buffer (a bounce buffer)? */
static inline bool wi_bounces_in(const wi_stage_job *j, int k) {
    return j->memory[k] == WI_MEMORY_PAGEABLE && j->arrays.array[k].in;
}

static inline bool wi_bounces_out(const wi_stage_job *j, int k) {
    return j->memory[k] == WI_MEMORY_PAGEABLE && j->arrays.array[k].out;
}

/* Queues the caller's kernel on a segment; a copy has none. at[k] is the device copy of array k,
 * its rows without gaps; not used for arrays that are device memory already. NULL: all arrays are
 * used where they lie. */
weft_status wi_stage_run_kernel(const wi_stage_job *j, wi_segment s, char *const at[]);

/* Rungs "pageable" and, if `bounce`, "pinned". */
weft_status wi_stage_run_whole(const wi_stage_job *j, bool bounce);

/* Rung "segmented"; and frees what it keeps in the context, or as much of that as there is. */
weft_status wi_stage_run_segments(const wi_stage_job *j);
void wi_stage_drop_ring(weft_context *ctx);

#endif
