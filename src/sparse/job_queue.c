/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that threads do together. Pieces take a good part of a millisecond, so one lock for all is
 * enough. */
#include "sparse/job_queue.h"

#include <sched.h>

#include "cpu/team.h"

void wi_job_queue_open(wi_job_queue *queue) {
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->news, NULL);
    pthread_cond_init(&queue->ended, NULL);
    queue->jobs = NULL;
    atomic_init(&queue->told, 0);
    atomic_init(&queue->idle, 0);
}

void wi_job_queue_close(wi_job_queue *queue) {
    pthread_cond_destroy(&queue->ended);
    pthread_cond_destroy(&queue->news);
    pthread_mutex_destroy(&queue->lock);
}

/* What a thread does before it looks again; false if it has looked so often that it should sleep.
 * It waits as threads of a team do: some 20 us busily, then a millisecond while it lets others have
 * its processor. */
static bool may_look_again(int looks) {
    enum {
        BUSY = 1 << 9,
        YIELDING = BUSY + (1 << 11)
    };
    if (looks < BUSY)
        wi_cpu_relax();
    else
        sched_yield();
    return looks < YIELDING;
}

void wi_job_queue_lock(wi_job_queue *queue) {
    enum {
        TIMES = 1 << 8
    };
    for (int k = 0; k < TIMES; k++) {
        if (pthread_mutex_trylock(&queue->lock) == 0)
            return;
        wi_cpu_relax();
    }
    pthread_mutex_lock(&queue->lock);
}

void wi_job_queue_tell(wi_job_queue *queue, bool all) {
    atomic_fetch_add_explicit(&queue->told, 1, memory_order_relaxed);
    if (all)
        pthread_cond_broadcast(&queue->news);
    else
        pthread_cond_signal(&queue->news);
}

void wi_job_queue_await(wi_job_queue *queue) {
    const unsigned told = atomic_load_explicit(&queue->told, memory_order_relaxed);
    atomic_fetch_add(&queue->idle, 1);
    pthread_mutex_unlock(&queue->lock);
    for (int k = 0; atomic_load_explicit(&queue->told, memory_order_relaxed) == told; k++) {
        if (!may_look_again(k))
            break;
    }
    wi_job_queue_lock(queue);
    if (atomic_load_explicit(&queue->told, memory_order_relaxed) == told)
        pthread_cond_wait(&queue->news, &queue->lock);
    atomic_fetch_sub(&queue->idle, 1);
}

/* With the lock held: waits until no piece of the job is under way. */
static void await_end(wi_job_queue *queue, wi_job *job) {
    if (atomic_load_explicit(&job->left, memory_order_relaxed) == 0)
        return;
    pthread_mutex_unlock(&queue->lock);
    for (int k = 0; atomic_load_explicit(&job->left, memory_order_relaxed) > 0; k++) {
        if (!may_look_again(k))
            break;
    }
    wi_job_queue_lock(queue);
    while (atomic_load_explicit(&job->left, memory_order_relaxed) > 0)
        pthread_cond_wait(&queue->ended, &queue->lock);
}

static void take_out(wi_job_queue *queue, const wi_job *job) {
    wi_job **at = &queue->jobs;
    while (*at != job)
        at = &(*at)->after;
    *at = job->after;
}

/* With the lock held: does the next piece. */
static void do_piece(wi_job_queue *queue, wi_job *job) {
    const int32_t piece = job->next++;
    if (job->next == job->pieces)
        take_out(queue, job);
    pthread_mutex_unlock(&queue->lock);
    job->work(job->user, piece);
    wi_job_queue_lock(queue);
    if (atomic_fetch_sub(&job->left, 1) == 1)
        pthread_cond_broadcast(&queue->ended);
}

void wi_job_help(wi_job_queue *queue) {
    do_piece(queue, queue->jobs);
}

void wi_job_post(wi_job_queue *queue, wi_job *job) {
    job->next = 0;
    atomic_init(&job->left, job->pieces);
    if (!queue)
        return;
    wi_job_queue_lock(queue);
    job->after = queue->jobs;
    queue->jobs = job;
    wi_job_queue_tell(queue, true);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_finish(wi_job_queue *queue, wi_job *job) {
    while (!queue && job->next < job->pieces)
        job->work(job->user, job->next++);
    if (!queue)
        return;
    wi_job_queue_lock(queue);
    while (job->next < job->pieces)
        do_piece(queue, job);
    await_end(queue, job);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_cancel(wi_job_queue *queue, wi_job *job) {
    if (!queue)
        return;
    wi_job_queue_lock(queue);
    if (job->next < job->pieces)
        take_out(queue, job);
    atomic_fetch_sub(&job->left, job->pieces - job->next);
    job->next = job->pieces;
    await_end(queue, job);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_run(wi_job_queue *queue, int32_t pieces, wi_job_work *work, void *user) {
    wi_job job = {.work = work, .user = user, .pieces = pieces};
    wi_job_post(queue, &job);
    wi_job_finish(queue, &job);
}
