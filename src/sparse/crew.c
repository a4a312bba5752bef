/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that threads do together. Pieces take a good part of a millisecond, so one lock for all is
 * enough. */
#include "sparse/crew.h"

void wi_crew_open(wi_crew *crew) {
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->news, NULL);
    pthread_cond_init(&crew->ended, NULL);
    crew->jobs = NULL;
    atomic_init(&crew->idle, 0);
}

void wi_crew_close(wi_crew *crew) {
    pthread_cond_destroy(&crew->ended);
    pthread_cond_destroy(&crew->news);
    pthread_mutex_destroy(&crew->lock);
}

static void take_out(wi_crew *crew, const wi_crew_job *job) {
    wi_crew_job **at = &crew->jobs;
    while (*at != job)
        at = &(*at)->after;
    *at = job->after;
}

/* With the lock held: does the next piece. */
static void do_piece(wi_crew *crew, wi_crew_job *job) {
    const int32_t piece = job->next++;
    if (job->next == job->pieces)
        take_out(crew, job);
    pthread_mutex_unlock(&crew->lock);
    job->work(job->user, piece);
    pthread_mutex_lock(&crew->lock);
    if (--job->left == 0)
        pthread_cond_broadcast(&crew->ended);
}

void wi_crew_help(wi_crew *crew) {
    do_piece(crew, crew->jobs);
}

void wi_crew_post(wi_crew *crew, wi_crew_job *job) {
    job->next = 0;
    job->left = job->pieces;
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    job->after = crew->jobs;
    crew->jobs = job;
    pthread_cond_broadcast(&crew->news);
    pthread_mutex_unlock(&crew->lock);
}

void wi_crew_finish(wi_crew *crew, wi_crew_job *job) {
    while (!crew && job->next < job->pieces)
        job->work(job->user, job->next++);
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    while (job->next < job->pieces)
        do_piece(crew, job);
    while (job->left > 0)
        pthread_cond_wait(&crew->ended, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

void wi_crew_cancel(wi_crew *crew, wi_crew_job *job) {
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    if (job->next < job->pieces)
        take_out(crew, job);
    job->left -= job->pieces - job->next;
    job->next = job->pieces;
    while (job->left > 0)
        pthread_cond_wait(&crew->ended, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

void wi_crew_run(wi_crew *crew, int32_t pieces, wi_crew_work *work, void *user) {
    wi_crew_job job = {.work = work, .user = user, .pieces = pieces};
    wi_crew_post(crew, &job);
    wi_crew_finish(crew, &job);
}
