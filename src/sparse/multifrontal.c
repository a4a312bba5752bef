/* SPDX-License-Identifier: Apache-2.0 */
/* The rung `multifrontal`: subtrees below the cut are tasks, each done by one thread; then come the
 * tops, each done by all threads. Over ranks each does its own supernodes, and sends updates to the
 * owners of their parents. */
#include "sparse/front.h"
#include "sparse/ranks.h"

/* Threads that are awake share a front above the cut if its work is at least this fraction of what
 * pays for waking one. */
static const double together_share = 0.01;

typedef struct multifrontal {
    weft_context *ctx;
    weft_chol *plan;
    const weft_sparse *matrix;
    wi_thread_group_pieces pieces;
    bool tasks;          /* of a stage: are they to be done, */
    int64_t begin, end;  /* and which tops */
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
    for (int64_t k = m->begin; k < m->end; k++) {
        const int64_t s = numbers->tops[k];
        if (!wi_owns(numbers->cut.owners, s))
            continue;
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
    if (m->tasks)
        do_tasks(m, &group,
                 (char *)numbers->rooms +
                     (size_t)(rank * numbers->room_entries) * wi_chol_number(m->plan));
    do_tops(m, &group, numbers->rooms);
}

static void do_stage(void *user, bool tasks, int64_t begin, int64_t end) {
    multifrontal *const m = user;
    m->pieces = (wi_thread_group_pieces){0};
    m->tasks = tasks;
    m->begin = begin;
    m->end = end;
    if (tasks || begin < end)
        wi_team_run_together(m->ctx, wi_chol_team(m->ctx, m->plan), do_share, m);
}

/* ---- over ranks ---- */

/* The first column that failed, as ranks tell it: 0 if the caller has cancelled. */
static uint64_t first_failure(multifrontal *m) {
    return m->cancelled ? 0 : 1 + (uint64_t)m->failed;
}

static void hear_of(multifrontal *m, uint64_t failure) {
    if (failure == 0)
        atomic_store_explicit(&m->cancelled, true, memory_order_relaxed);
    else
        note_failure(m, (int64_t)failure - 1);
}

/* The update of s goes to the owner of its parent, after what its rank knows of failures: if that
 * is before the end of s there is none. */
static weft_status pass_update(void *user, int64_t s, int other, bool send) {
    multifrontal *const m = user;
    const weft_chol *const plan = m->plan;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_numbers *const numbers = &plan->numbers;
    const int64_t at = wi_stack_at(&numbers->cut.update, numbers->update[s], 0);
    const size_t n =
        (size_t)wi_update_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
    uint64_t failure = first_failure(m);
    const weft_status status = wi_over_move(plan, &failure, 1, WEFT_U64, other, send);
    if (status != WEFT_OK)
        return status;
    hear_of(m, failure);
    if (failure <= (uint64_t)symbolic->first[s + 1])
        return WEFT_OK;
    return wi_over_move(plan, (char *)numbers->stack + (size_t)at * wi_chol_number(plan), n,
                        plan->narrow ? WEFT_F32 : WEFT_F64, other, send);
}

/* All ranks learn what all know: the first failure, and the diagonal, or D. */
static weft_status share_results(multifrontal *m) {
    weft_chol *const plan = m->plan;
    const wi_symbolic *const symbolic = &plan->symbolic;
    wi_numbers *const numbers = &plan->numbers;
    const wi_pivots *const pivots = &numbers->pivots;
    uint64_t own = first_failure(m), first = 0;
    if (!numbers->cut.owners)
        return WEFT_OK;
    weft_status status =
        plan->over->comm->calls->all_reduce(plan->over, &own, &first, 1, WEFT_U64, WEFT_MIN);
    if (status != WEFT_OK)
        return status;
    hear_of(m, first);
    if (wi_chol_has_d(plan)) {
        const struct {
            void *p;
            size_t width;
        } parts[] = {{pivots->d, sizeof *pivots->d},
                     {pivots->e, sizeof *pivots->e},
                     {pivots->mark, sizeof *pivots->mark},
                     {pivots->swap, sizeof *pivots->swap}};
        for (size_t k = 0; k < sizeof parts / sizeof *parts && status == WEFT_OK; k++)
            status = wi_over_gather_columns(m->ctx, plan, 1, parts[k].p, parts[k].width);
        return status;
    }
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        for (int64_t j = 0; wi_owns(numbers->cut.owners, s) && j < wi_super_columns(symbolic, s);
             j++)
            numbers->diagonal[symbolic->first[s] + j] =
                plan->narrow ? wi_chol_narrow_column(plan, s, j)[j] : wi_chol_column(plan, s, j)[j];
    }
    return wi_over_gather_columns(m->ctx, plan, 1, numbers->diagonal, sizeof *numbers->diagonal);
}

/* The work of this rank. */
static double own_work(const weft_chol *plan) {
    double work = 0;
    for (int64_t s = 0; s < plan->symbolic.supernodes; s++)
        work += wi_owns(plan->numbers.cut.owners, s) ? wi_super_work(&plan->symbolic, s) : 0;
    return work;
}

weft_status wi_chol_multifrontal(weft_context *ctx, const void *args) {
    const wi_chol_args *const call = args;
    weft_chol *const plan = call->plan;
    const wi_symbolic *const symbolic = &plan->symbolic;
    multifrontal m = {.ctx = ctx,
                      .plan = plan,
                      .matrix = call->matrix,
                      .failed = symbolic->n,
                      .all = plan->numbers.cut.owners ? own_work(plan) : wi_all_work(symbolic)};
    weft_status status =
        wi_over_climb(&(wi_walk){.plan = plan, .stage = do_stage, .pass = pass_update, .user = &m});
    if (status == WEFT_OK)
        status = share_results(&m);
    if (status != WEFT_OK)
        return wi_fail_as(ctx, status, plan->over);
    if (m.cancelled)
        return wi_chol_cancel(ctx, call->call);
    return m.failed < symbolic->n ? wi_chol_fail(ctx, call->call, plan, m.failed) : WEFT_OK;
}
