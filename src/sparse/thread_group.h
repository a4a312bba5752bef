/* SPDX-License-Identifier: Apache-2.0 */
/* A group of threads that do a sequence of steps together. Each step consists of pieces that any
 * thread may take, and ends with a barrier. A group of one thread may work inside a larger group:
 * it neither waits nor shares. */
#ifndef WI_SPARSE_THREAD_GROUP_H
#define WI_SPARSE_THREAD_GROUP_H

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "cpu/team.h"

/* What the threads of a group share. Three counters are used in turn: one gives out the pieces of
 * the current step; a late thread may still read the one before; the next one is set to 0. */
typedef struct wi_thread_group_pieces {
    atomic_llong next[3];
    atomic_uint arrived; /* threads that reached the barrier, counted over all steps */
} wi_thread_group_pieces;

typedef struct wi_thread_group {
    int rank, size;
    unsigned step;
    int64_t alone; /* the next piece, in a group of one */
    wi_thread_group_pieces *pieces;
} wi_thread_group;

static inline wi_thread_group wi_thread_group_of_one(int rank) {
    return (wi_thread_group){.rank = rank, .size = 1};
}

/* The next piece of this step that nobody has taken; false if all `count` are. */
static inline bool wi_thread_group_take(wi_thread_group *group, int64_t count, int64_t *piece) {
    *piece = group->size == 1 ? group->alone++
                              : atomic_fetch_add_explicit(&group->pieces->next[group->step % 3], 1,
                                                          memory_order_relaxed);
    return *piece < count;
}

/* Waits until `arrived` reaches `all`: first in a loop, for as long as a short step takes; then
 * yielding, because a thread that has not arrived may be waiting for this processor; then asleep.
 */
static inline void wi_thread_group_watch(const wi_thread_group_pieces *pieces, unsigned all) {
    enum {
        BUSY = 1 << 11,
        YIELDING = BUSY + (1 << 6)
    };
    static const struct timespec nap = {0, 50000};
    for (int k = 0; (int)(atomic_load_explicit(&pieces->arrived, memory_order_acquire) - all) < 0;
         k++) {
        if (k < BUSY)
            wi_cpu_relax();
        else if (k < YIELDING)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
}

/* Ends a step: a barrier for all threads of the group. */
static inline void wi_thread_group_wait(wi_thread_group *group) {
    group->alone = 0;
    if (group->size == 1)
        return;
    if (group->rank == 0)
        atomic_store_explicit(&group->pieces->next[(group->step + 1) % 3], 0, memory_order_relaxed);
    group->step++;
    atomic_fetch_add_explicit(&group->pieces->arrived, 1, memory_order_acq_rel);
    wi_thread_group_watch(group->pieces, group->step * (unsigned)group->size);
}

#endif
