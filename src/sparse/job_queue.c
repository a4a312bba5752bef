/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that threads do together. Pieces take a good part of a millisecond, so one lock for all is
 * enough. */
#include "sparse/job_queue.h"

void wi_job_queue_open(wi_job_queue *queue) {
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->news, NULL);
    pthread_cond_init(&queue->ended, NULL);
    queue->jobs = NULL;
    atomic_init(&queue->idle, 0);
}

void wi_job_queue_close(wi_job_queue *queue) {
    pthread_cond_destroy(&queue->ended);
    pthread_cond_destroy(&queue->news);
    pthread_mutex_destroy(&queue->lock);
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
    pthread_mutex_lock(&queue->lock);
    if (--job->left == 0)
        pthread_cond_broadcast(&queue->ended);
}

void wi_job_help(wi_job_queue *queue) {
    do_piece(queue, queue->jobs);
}

void wi_job_post(wi_job_queue *queue, wi_job *job) {
    job->next = 0;
    job->left = job->pieces;
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    job->after = queue->jobs;
    queue->jobs = job;
    pthread_cond_broadcast(&queue->news);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_finish(wi_job_queue *queue, wi_job *job) {
    while (!queue && job->next < job->pieces)
        job->work(job->user, job->next++);
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    while (job->next < job->pieces)
        do_piece(queue, job);
    while (job->left > 0)
        pthread_cond_wait(&queue->ended, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_cancel(wi_job_queue *queue, wi_job *job) {
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    if (job->next < job->pieces)
        take_out(queue, job);
    job->left -= job->pieces - job->next;
    job->next = job->pieces;
    while (job->left > 0)
        pthread_cond_wait(&queue->ended, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

void wi_job_run(wi_job_queue *queue, int32_t pieces, wi_job_work *work, void *user) {
    wi_job job = {.work = work, .user = user, .pieces = pieces};
    wi_job_post(queue, &job);
    wi_job_finish(queue, &job);
}
