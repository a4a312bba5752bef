/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a context, and how a call's work is divided among them. They are made when a call
 * first needs them, and again in the child after a fork; they sleep when they have had no work for
 * a while. */
#ifndef WI_CPU_TEAM_H
#define WI_CPU_TEAM_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* Bytes of work that are worth one more thread: waking it takes as long as processing about 100
     * KiB in cache. */
    WI_WORTHWHILE_BYTES = 1 << 19,
    /* A last-level cache that is larger than this is shared by many processors. */
    WI_CACHE_SHARE_BYTES = 32 << 20
};

/* How many threads a call should use that reads `bytes` of its largest array and is cut into
 * `units` pieces. */
static inline int wi_team_size(const weft_context *ctx, size_t units, size_t bytes) {
    const size_t worthwhile = bytes / WI_WORTHWHILE_BYTES;
    const size_t useful = worthwhile < units ? worthwhile : units;
    if (useful <= 1)
        return 1;
    return useful < (size_t)ctx->threads ? (int)useful : ctx->threads;
}

/* The first of `units` pieces of work of thread `rank` of `team`; its last is the one before the
 * next thread's first. */
static inline size_t wi_team_share(size_t units, int rank, int team) {
    size_t each = units / (size_t)team, rest = units % (size_t)team;
    size_t before = (size_t)rank;
    return each * before + (before < rest ? before : rest);
}

/* Seconds that a team needs for so many cycles of one thread, or to move `bytes` if that takes
 * longer. What is no more than the threads' share of the last cache is taken to come from it. */
static inline double wi_team_seconds(const weft_context *ctx, int team, double cycles,
                                     double bytes) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double share = (double)WI_CACHE_SHARE_BYTES, cache = (double)m->cache_bytes;
    const double working = wi_seconds_working(m, cycles, team);
    const double moving =
        bytes <= share && bytes <= cache ? 0 : bytes / m->bytes_per_s * m->units / team;
    return (team > 1 ? m->launch_s : 0) + (working > moving ? working : moving);
}

/* The work of one thread: `rank` from 0 to size - 1. */
typedef void wi_team_work(void *user, int rank, int size);

/* Calls `work` for all ranks, at most ctx->threads; the calling thread does rank 0. A rank must not
 * wait for another rank: if a thread comes late because another program has its core, a thread that
 * has finished does its rank. */
void wi_team_run(const weft_context *ctx, int size, wi_team_work *work, void *user);

/* The same for ranks that wait for each other: each runs on its own thread. `work` is told the
 * actual `size`, which is smaller if the system does not give enough threads. */
void wi_team_run_together(const weft_context *ctx, int size, wi_team_work *work, void *user);

/* What a context needs for its threads, none of which is started; NULL if there is no memory. */
wi_team *wi_team_open(int threads);
void wi_team_close(wi_team *team);

/* How many forks are in this process's past: threads, devices and locks from before the latest fork
 * no longer exist. */
unsigned wi_forks(void);

/* Tells the processor that this thread is in a waiting loop. */
static inline void wi_cpu_relax(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

#ifdef __cplusplus
}
#endif
#endif
