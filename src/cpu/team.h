/* SPDX-License-Identifier: Apache-2.0 */
/* How a call's work is divided among threads. */
#ifndef WI_CPU_TEAM_H
#define WI_CPU_TEAM_H

#include "core/core.h"

/* Threads for `units` pieces of work, each large enough to be worth waking a thread for. */
static inline int wi_team_size(const weft_context *ctx, size_t units) {
    if (units <= 1)
        return 1;
    return units < (size_t)ctx->threads ? (int)units : ctx->threads;
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
