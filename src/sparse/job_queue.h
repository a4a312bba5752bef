/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a dissection that have no part help others with theirs: these post jobs, each of
 * pieces that may be done in any order and at the same time. What comes out must not depend on who
 * does a piece. */
#ifndef WI_SPARSE_JOB_QUEUE_H
#define WI_SPARSE_JOB_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void wi_job_work(void *user, int32_t piece);

typedef struct wi_job {
    wi_job_work *work;
    void *user;
    int32_t pieces;
    int32_t next;    /* the first piece that nobody has begun */
    atomic_int left; /* pieces that are not done; changes with the lock held */
    struct wi_job *after;
} wi_job;

/* Threads wait with `lock` for news of jobs and of whatever else their owner has for them. */
typedef struct wi_job_queue {
    pthread_mutex_t lock;
    wi_job *jobs; /* those with pieces that nobody has begun */
    pthread_cond_t news;
    pthread_cond_t ended; /* a job's last piece */
    /* These are looked at all the time, so they have lines of the cache of their own. */
    _Alignas(64) atomic_uint told; /* how often there were news */
    _Alignas(64) atomic_int idle;  /* threads that wait for news */
} wi_job_queue;

void wi_job_queue_open(wi_job_queue *queue);
void wi_job_queue_close(wi_job_queue *queue);

/* Would somebody help at once? What a thread does together with others takes more work. */
static inline bool wi_job_queue_has_idle(const wi_job_queue *queue) {
    return queue && atomic_load_explicit(&queue->idle, memory_order_relaxed) > 0;
}

/* Tries often before it sleeps: the lock is never held for long, and many want it at once. */
void wi_job_queue_lock(wi_job_queue *queue);
/* With the lock held: there are news, which are told to one of those that wait, or to all. */
void wi_job_queue_tell(wi_job_queue *queue, bool all);
/* With the lock held: waits for news, at first in a loop, for a thread that sleeps comes late. */
void wi_job_queue_await(wi_job_queue *queue);

/* In the calls below `queue` may be NULL: then nobody helps. */

/* From now on others may do pieces of this job, which must stay where it is until one of the two
 * calls after this returns. */
void wi_job_post(wi_job_queue *queue, wi_job *job);
/* Does the pieces that nobody has begun, and waits for the others. */
void wi_job_finish(wi_job_queue *queue, wi_job *job);
/* Waits for the pieces that are under way; the others are not done. */
void wi_job_cancel(wi_job_queue *queue, wi_job *job);
/* Posts and finishes a job. */
void wi_job_run(wi_job_queue *queue, int32_t pieces, wi_job_work *work, void *user);

/* With the lock held and queue->jobs not NULL: does one piece. */
void wi_job_help(wi_job_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
