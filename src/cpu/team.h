/* SPDX-License-Identifier: Apache-2.0 */
/* How a call's work is divided among threads, and the threads of a context. They are made when a
 * call first needs them, and anew in a process that fork made; they sleep when there is nothing to
 * do for long. */
#ifndef WI_CPU_TEAM_H
#define WI_CPU_TEAM_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* Bytes of work worth a thread: waking one takes as long as going through some 100 KiB in
     * cache. */
    WI_WORTHWHILE_BYTES = 1 << 19,
    /* Of a last cache that is larger than this, many processors have their share. */
    WI_CACHE_SHARE_BYTES = 32 << 20
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

/* One thread's part: `rank` from 0 to size - 1. */
typedef void wi_team_work(void *user, int rank, int size);

/* Calls work for all ranks, at most ctx->threads; the calling thread does rank 0. A rank must not
 * wait for another: a thread that comes late, its processor having been given to somebody else,
 * finds its rank done by one that had time. */
void wi_team_run(const weft_context *ctx, int size, wi_team_work *work, void *user);

/* The same for ranks that wait for each other: each has a thread to itself. `size`, which work is
 * told, is smaller if the system gives no more threads. */
void wi_team_run_together(const weft_context *ctx, int size, wi_team_work *work, void *user);

/* What a context has for its threads, none of which runs yet; NULL if there is no memory. */
wi_team *wi_team_open(int threads);
void wi_team_close(wi_team *team);

/* How often this process has come out of a fork: what threads, devices and locks were there before
 * the latest is gone. */
unsigned wi_forks(void);

/* Tells the processor that this thread is only waiting. */
static inline void wi_cpu_relax(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

#ifdef __cplusplus
}
#endif
#endif
