/* SPDX-License-Identifier: Apache-2.0 */
/* The rung `multifrontal`: subtrees below the cut are tasks, each done by one thread; then come the
 * tops, each done by all threads. */
#include "sparse/front.h"

/* Threads that are awake share a front above the cut if its work is at least this fraction of what
 * pays for waking one. */
static const double together_share = 0.01;

typedef struct multifrontal {
    weft_chol *plan;
    const weft_sparse *matrix;
    wi_thread_group_pieces pieces;
    atomic_llong failed; /* the first column that failed so far; n: none */
    atomic_llong done;   /* work */
    atomic_bool cancelled;
    int64_t top_failed; /* the failed column of the current top, in its own numbering */
    double all;         /* work */
} multifrontal;

static void note_failure(multifrontal *m, int64_t column) {
    long long known = atomic_load_explicit(&m->failed, memory_order_relaxed);
    while (column < known && !atomic_compare_exchange_weak(&m->failed, &known, column)) {
    }
}

/* Adds the work of a front, if there is a progress function; the calling thread, rank 0, reports
 * progress. */
static void note_front(multifrontal *m, int rank, int64_t s) {
    if (!m->plan->progress)
        return;
    atomic_fetch_add_explicit(&m->done, (long long)wi_super_work(&m->plan->symbolic, s),
                              memory_order_relaxed);
    if (rank == 0 &&
        !wi_chol_tell(m->plan,
                      (double)atomic_load_explicit(&m->done, memory_order_relaxed) / m->all))
        atomic_store_explicit(&m->cancelled, true, memory_order_relaxed);
}

static bool goes_on(const multifrontal *m, int64_t column) {
    return !atomic_load_explicit(&m->cancelled, memory_order_relaxed) &&
           column < atomic_load_explicit(&m->failed, memory_order_relaxed);
}

/* Factors the front of s; false if its matrix is not positive definite. */
static bool do_front(multifrontal *m, wi_thread_group *group, int64_t s, void *room,
                     int64_t *failed) {
    const int64_t columns = wi_super_columns(&m->plan->symbolic, s);
    const int64_t done = (m->plan->narrow ? wi_front_do_narrow : wi_front_do)(
        group, m->plan, m->matrix, s, room, failed);
    if (done < columns)
        note_failure(m, m->plan->symbolic.first[s] + done);
    return done == columns;
}

static void do_tasks(multifrontal *m, wi_thread_group *group, void *room) {
    const wi_numbers *const numbers = &m->plan->numbers;
    const wi_symbolic *const symbolic = &m->plan->symbolic;
    wi_thread_group alone = wi_thread_group_of_one(group->rank);
    int64_t k, failed;
    while (wi_thread_group_take(group, numbers->cut.tasks, &k)) {
        for (int64_t s = numbers->tasks[k].begin; s < numbers->tasks[k].end; s++) {
            if (!goes_on(m, symbolic->first[s]) || !do_front(m, &alone, s, room, &failed))
                break;
            note_front(m, group->rank, s);
        }
    }
    wi_thread_group_wait(group);
}

/* All threads see a failure at the same step, because it is stored before they wait for each other.
 */
static void do_tops(multifrontal *m, wi_thread_group *group, void *room) {
    const wi_numbers *const numbers = &m->plan->numbers;
    const wi_symbolic *const symbolic = &m->plan->symbolic;
    wi_thread_group alone = wi_thread_group_of_one(group->rank);
    for (int64_t k = 0; k < numbers->cut.tops; k++) {
        const int64_t s = numbers->tops[k];
        const double work = wi_super_work(symbolic, s);
        const bool together = work >= together_share * m->plan->least_work;
        if (together)
            wi_thread_group_wait(group);
        if (!together && group->rank > 0)
            continue;
        if (!goes_on(m, symbolic->first[s]))
            continue;
        do_front(m, together ? group : &alone, s, room, &m->top_failed);
        if (group->rank == 0)
            note_front(m, 0, s);
    }
}

static void do_share(void *user, int rank, int size) {
    multifrontal *const m = user;
    const wi_numbers *const numbers = &m->plan->numbers;
    wi_thread_group group = {.rank = rank, .size = size, .pieces = &m->pieces};
    do_tasks(m, &group,
             (char *)numbers->rooms +
                 (size_t)(rank * numbers->room_entries) * wi_chol_number(m->plan));
    do_tops(m, &group, numbers->rooms);
}

weft_status wi_chol_multifrontal(weft_context *ctx, const void *args) {
    const wi_chol_args *const call = args;
    weft_chol *const plan = call->plan;
    const wi_symbolic *const symbolic = &plan->symbolic;
    multifrontal m = {
        .plan = plan, .matrix = call->matrix, .failed = symbolic->n, .all = wi_all_work(symbolic)};
    wi_team_run_together(ctx, wi_chol_team(ctx, plan), do_share, &m);
    if (m.cancelled)
        return wi_chol_cancel(ctx, call->call);
    return m.failed < symbolic->n ? wi_chol_fail(ctx, call->call, plan, m.failed) : WEFT_OK;
}
