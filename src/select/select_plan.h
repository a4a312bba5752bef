/* SPDX-License-Identifier: Apache-2.0 */
/* How the rung "threads" of select cuts a call into blocks and those into tiles, and what its
 * buffers hold. */
#ifndef WI_SELECT_PLAN_H
#define WI_SELECT_PLAN_H

#include "core/smaller.h"
#include "cpu/stream.h"
#include "select/select_simd.h"

enum {
    WI_SELECT_KEEP_BYTES = 1 << 12 /* of a tile, if the block before is written during a tile */
};

/* The outputs of a block. */
enum {
    WI_SELECT_TO_KEPT,
    WI_SELECT_TO_REST,
    WI_SELECT_TO_POSITIONS,
    WI_SELECT_OUTPUTS
};

typedef struct wi_select_plan {
    const wi_select_args *args;
    const wi_select_simd *simd;
    wi_select_job job;
    int tested_log;            /* log2 of tested_bytes */
    size_t width;              /* bytes of an element that is moved */
    size_t tile, tiles, block; /* elements of a tile, tiles of a block, elements of a block */
    size_t blocks, whole_blocks;
    size_t size[WI_SELECT_OUTPUTS]; /* bytes of an element of each output; 0: not wanted */
    char *to[WI_SELECT_OUTPUTS];    /* where each output of all blocks begins */
    size_t marks_bytes, room[WI_SELECT_OUTPUTS]; /* for a block */
    bool in_place;                               /* the output overwrites the input */
    bool keeps; /* it only selects the tested elements themselves, with streaming stores */
    void (*store)(void *to, const void *from, size_t bytes);
} wi_select_plan;

wi_select_plan wi_select_make_plan(const wi_select_args *args);

static inline int wi_select_log_of(size_t bytes) {
    return __builtin_ctzll(bytes);
}

/* To whole cache lines. */
static inline size_t wi_select_round_up(size_t bytes) {
    return wi_round_up(bytes, WI_LINE_BYTES);
}

#endif
