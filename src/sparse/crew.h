/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a dissection that have no part help others with theirs: these post jobs, each of
 * pieces that may be done in any order and at the same time. What comes out must not depend on who
 * does a piece. */
#ifndef WI_SPARSE_CREW_H
#define WI_SPARSE_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void wi_crew_work(void *user, int32_t piece);

typedef struct wi_crew_job {
    wi_crew_work *work;
    void *user;
    int32_t pieces;
    int32_t next, left; /* the first piece that nobody has begun; pieces that are not done */
    struct wi_crew_job *after;
} wi_crew_job;

/* Threads wait with `lock` for news of jobs and of whatever else their owner has for them. */
typedef struct wi_crew {
    pthread_mutex_t lock;
    pthread_cond_t news;
    pthread_cond_t ended; /* a job's last piece */
    atomic_int idle;      /* threads that wait for news */
    wi_crew_job *jobs;    /* those with pieces that nobody has begun */
} wi_crew;

void wi_crew_open(wi_crew *crew);
void wi_crew_close(wi_crew *crew);

/* Would somebody help at once? What a thread does together with others takes more work. */
static inline bool wi_crew_is_idle(const wi_crew *crew) {
    return crew && atomic_load_explicit(&crew->idle, memory_order_relaxed) > 0;
}

/* In the calls below `crew` may be NULL: then nobody helps. */

/* From now on others may do pieces of this job, which must stay where it is until one of the two
 * calls after this returns. */
void wi_crew_post(wi_crew *crew, wi_crew_job *job);
/* Does the pieces that nobody has begun, and waits for the others. */
void wi_crew_finish(wi_crew *crew, wi_crew_job *job);
/* Waits for the pieces that are under way; the others are not done. */
void wi_crew_cancel(wi_crew *crew, wi_crew_job *job);
/* Posts and finishes a job. */
void wi_crew_run(wi_crew *crew, int32_t pieces, wi_crew_work *work, void *user);

/* With the lock held and crew->jobs not NULL: does one piece. */
void wi_crew_help(wi_crew *crew);

#ifdef __cplusplus
}
#endif
#endif
