/* SPDX-License-Identifier: Apache-2.0 */
/* How a call's work is divided among threads. */
#ifndef WI_CPU_TEAM_H
#define WI_CPU_TEAM_H

#include "core/core.h"

enum {
    /* Bytes of work worth a thread: waking one takes as long as going through some 100 KiB in
     * cache. */
    WI_WORTHWHILE_BYTES = 1 << 19
};

/* Threads for a call that goes through `bytes` of its largest array, cut into `units` pieces. */
static inline int wi_team_size(const weft_context *ctx, size_t units, size_t bytes) {
    const size_t worthwhile = bytes / WI_WORTHWHILE_BYTES;
    const size_t useful = worthwhile < units ? worthwhile : units;
    if (useful <= 1)
        return 1;
    return useful < (size_t)ctx->threads ? (int)useful : ctx->threads;
}

/* The first of `units` pieces of work that thread `rank` of `team` does; its last is the one before
 * the next thread's first. */
static inline size_t wi_team_share(size_t units, int rank, int team) {
    size_t each = units / (size_t)team, rest = units % (size_t)team;
    size_t before = (size_t)rank;
    return each * before + (before < rest ? before : rest);
}

/* Tells the processor that this thread is only waiting. */
static inline void wi_cpu_relax(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

#endif
