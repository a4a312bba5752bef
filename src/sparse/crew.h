/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do pieces of work together, step by step. A crew of one may be inside a larger one:
 * it neither waits nor shares. */
#ifndef WI_SPARSE_CREW_H
#define WI_SPARSE_CREW_H

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "cpu/team.h"

/* What the members share. Three counters in turns: while one hands out the pieces of a step, a
 * member that is late may still ask the one before, and the next is set to 0. */
typedef struct wi_crew_pieces {
    atomic_llong next[3];
    atomic_uint arrived; /* members, over all steps */
} wi_crew_pieces;

typedef struct wi_crew {
    int rank, size;
    unsigned step;
    int64_t alone; /* the next piece of a crew of one */
    wi_crew_pieces *pieces;
} wi_crew;

static inline wi_crew wi_crew_of_one(int rank) {
    return (wi_crew){.rank = rank, .size = 1};
}

/* The next piece of this step that nobody has taken; false if all `count` are. */
static inline bool wi_crew_take(wi_crew *crew, int64_t count, int64_t *piece) {
    *piece = crew->size == 1 ? crew->alone++
                             : atomic_fetch_add_explicit(&crew->pieces->next[crew->step % 3], 1,
                                                         memory_order_relaxed);
    return *piece < count;
}

/* Waits until `arrived` has come to `all`: busily for as long as a short step takes; then letting
 * others have the processor, for a member that is missing may be waiting for it; then asleep. */
static inline void wi_crew_watch(const wi_crew_pieces *pieces, unsigned all) {
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

/* Ends a step: everyone waits for everyone's pieces. */
static inline void wi_crew_wait(wi_crew *crew) {
    crew->alone = 0;
    if (crew->size == 1)
        return;
    if (crew->rank == 0)
        atomic_store_explicit(&crew->pieces->next[(crew->step + 1) % 3], 0, memory_order_relaxed);
    crew->step++;
    atomic_fetch_add_explicit(&crew->pieces->arrived, 1, memory_order_acq_rel);
    wi_crew_watch(crew->pieces, crew->step * (unsigned)crew->size);
}

#endif
