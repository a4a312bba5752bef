/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a context. Why not OpenMP's threads: they are bound to the thread that calls, they
 * vanish in a fork without notice, a call waits for them even if they have nothing to do, the
 * environment decides the size of their stack, and the process ends if there are none to be had.
 *
 * A job has a number of ranks, each done once. Any thread may claim any rank, but tries its own
 * first, because that rank's data may be in its cache. Nobody waits for a thread that has not
 * begun: another thread claims its rank. */
#include "cpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum {
    LINE_BYTES = 64,
    STACK_BYTES = 1 << 20,
    /* How often a waiting thread looks for work before it calls sched_yield at each look (about 20
     * us), and before it sleeps (about a millisecond more). */
    BUSY = 1 << 9,
    YIELDING = BUSY + (1 << 11),
    SIZE_BITS = 16
};

/* A rank, and the thread that it belongs to; rank 0 belongs to the calling thread. */
typedef struct member {
    wi_team *team;
    pthread_t thread;
    int rank;
    _Atomic uint64_t claimed; /* the latest job of which this rank was claimed */
} member;

struct wi_team {
    /* The number of the latest job and how many ranks it has, in one word. A job has not ended
     * while one of its ranks is unclaimed or unfinished, so a thread that has claimed a rank may
     * read the job. */
    _Alignas(LINE_BYTES) _Atomic uint64_t job;
    _Alignas(LINE_BYTES) atomic_int left; /* ranks of the job that are not finished */
    atomic_int asleep;                    /* threads */
    atomic_int caller_cpu; /* the processor that the calling thread was last seen on */
    atomic_bool caller_sleeps, closing;
    /* Written by the calling thread. */
    _Alignas(LINE_BYTES) wi_team_work *work;
    void *user;
    bool busy;
    unsigned forks;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    int count, most; /* threads besides the calling one: how many exist, and how many may */
    member members[];
};

static atomic_uint forks;
static bool watching; /* wi_forks counts forks */

static void note_fork(void) {
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void) {
    watching = pthread_atfork(NULL, NULL, note_fork) == 0;
}

unsigned wi_forks(void) {
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

static uint64_t job_of(uint64_t number, int size) {
    return number << SIZE_BITS | (uint64_t)size;
}

static uint64_t number_of(uint64_t job) {
    return job >> SIZE_BITS;
}

static int size_of(uint64_t job) {
    return (int)(job & (((uint64_t)1 << SIZE_BITS) - 1));
}

static bool claim(wi_team *team, int rank, uint64_t job) {
    _Atomic uint64_t *const claimed = &team->members[rank].claimed;
    uint64_t before = atomic_load(claimed);
    return before < number_of(job) &&
           atomic_compare_exchange_strong(claimed, &before, number_of(job));
}

static void do_rank(wi_team *team, int rank, uint64_t job) {
    team->work(team->user, rank, size_of(job));
    if (atomic_fetch_sub(&team->left, 1) == 1 && atomic_load(&team->caller_sleeps)) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_signal(&team->done);
        pthread_mutex_unlock(&team->lock);
    }
}

/* Does the ranks of a job that nobody else claims, beginning with `first` and wrapping around. */
static void do_job(wi_team *team, int first, uint64_t job) {
    const int size = size_of(job);
    for (int k = 0; k < size; k++) {
        const int rank = (first + k) % size;
        if (claim(team, rank, job))
            do_rank(team, rank, job);
    }
}

/* Waits a little before a thread's look number k for work; false if it should sleep instead. */
static bool may_look_again(int k) {
    if (k < BUSY)
        wi_cpu_relax();
    else
        sched_yield();
    return k < YIELDING;
}

/* Records which processor the calling thread is on. */
static void show_cpu(wi_team *team) {
    atomic_store_explicit(&team->caller_cpu, sched_getcpu(), memory_order_relaxed);
}

/* Moves this thread to another processor if it is on that of the calling thread. Systems often wake
 * a thread on the processor of the one that wakes it, although another is idle, and then the two
 * take turns for milliseconds. Afterwards it may run anywhere, as before. */
static void step_aside(wi_team *team) {
    const int cpu = sched_getcpu();
    cpu_set_t allowed, others;
    if (cpu < 0 || cpu != atomic_load_explicit(&team->caller_cpu, memory_order_relaxed) ||
        pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0)
        return;
    others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) > 0 &&
        pthread_setaffinity_np(pthread_self(), sizeof others, &others) == 0)
        pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}

static bool has_news(wi_team *team, uint64_t job) {
    return atomic_load(&team->job) != job || atomic_load(&team->closing);
}

/* Waits until there is a newer job than this one. */
static void await_news(wi_team *team, uint64_t job) {
    for (int k = 0; !has_news(team, job); k++) {
        if (k == BUSY) /* from now on it yields, and should not take turns with the caller */
            step_aside(team);
        if (may_look_again(k))
            continue;
        pthread_mutex_lock(&team->lock);
        atomic_fetch_add(&team->asleep, 1);
        while (!has_news(team, job))
            pthread_cond_wait(&team->wake, &team->lock);
        atomic_fetch_sub(&team->asleep, 1);
        pthread_mutex_unlock(&team->lock);
        step_aside(team);
    }
}

static void *serve(void *argument) {
    const member *const me = argument;
    wi_team *const team = me->team;
    while (!atomic_load(&team->closing)) {
        const uint64_t job = atomic_load(&team->job);
        do_job(team, me->rank, job);
        await_news(team, job);
    }
    return NULL;
}

static void await_end(wi_team *team) {
    for (int k = 0; atomic_load(&team->left) > 0; k++) {
        if (may_look_again(k))
            continue;
        pthread_mutex_lock(&team->lock);
        atomic_store(&team->caller_sleeps, true);
        while (atomic_load(&team->left) > 0)
            pthread_cond_wait(&team->done, &team->lock);
        atomic_store(&team->caller_sleeps, false);
        pthread_mutex_unlock(&team->lock);
        show_cpu(team);
    }
}

static void wake(wi_team *team, int wanted) {
    int asleep = atomic_load(&team->asleep);
    if (asleep == 0)
        return;
    pthread_mutex_lock(&team->lock);
    if (wanted >= asleep)
        pthread_cond_broadcast(&team->wake);
    for (; wanted < asleep && wanted > 0; wanted--)
        pthread_cond_signal(&team->wake);
    pthread_mutex_unlock(&team->lock);
    sched_yield(); /* one that was woken on this processor can step aside */
}

/* Makes threads until there are `wanted`, or as many as the system allows. They block all signals.
 */
static void grow(wi_team *team, int wanted) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (team->count >= wanted || pthread_attr_init(&attributes) != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_setstacksize(&attributes, STACK_BYTES); /* else the system's default */
    while (team->count < wanted &&
           pthread_create(&team->members[team->count + 1].thread, &attributes, serve,
                          &team->members[team->count + 1]) == 0)
        team->count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void init_locks(wi_team *team) {
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->done, NULL);
}

/* After a fork there are no threads, and their work is not done: forget both. */
static void start_anew(wi_team *team) {
    init_locks(team);
    atomic_store(&team->asleep, 0);
    team->count = 0;
    team->busy = false;
    team->forks = wi_forks();
}

/* Does the calling thread's rank and, unless `together`, those that nobody has begun. */
static void run(wi_team *team, int size, wi_team_work *work, void *user, bool together) {
    const uint64_t job = job_of(number_of(atomic_load(&team->job)) + 1, size);
    team->busy = true;
    team->work = work;
    team->user = user;
    atomic_store(&team->left, size);
    atomic_store(&team->members[0].claimed, number_of(job));
    show_cpu(team);
    atomic_store(&team->job, job);
    wake(team, size - 1);
    do_rank(team, 0, job);
    if (!together)
        do_job(team, 1, job);
    await_end(team);
    team->busy = false;
}

/* The context's team if it is not in use and more than one thread is wanted, else NULL. */
static wi_team *free_team(const weft_context *ctx, int size) {
    if (size <= 1)
        return NULL;
    wi_team *const team = ctx->team;
    if (team->forks != wi_forks())
        start_anew(team);
    if (team->busy || size - 1 > team->most)
        return NULL;
    grow(team, size - 1);
    return team;
}

void wi_team_run(const weft_context *ctx, int size, wi_team_work *work, void *user) {
    wi_team *const team = free_team(ctx, size);
    if (team)
        run(team, size, work, user, false);
    for (int rank = 0; rank < size && !team; rank++)
        work(user, rank, size);
}

void wi_team_run_together(const weft_context *ctx, int size, wi_team_work *work, void *user) {
    wi_team *const team = free_team(ctx, size);
    const int most = team ? team->count + 1 : 1;
    if (most == 1)
        work(user, 0, 1);
    else
        run(team, size < most ? size : most, work, user, true);
}

wi_team *wi_team_open(int threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    wi_team *const team =
        watching ? wi_host_alloc(sizeof *team + (size_t)threads * sizeof *team->members) : NULL;
    if (!team)
        return NULL;
    *team = (wi_team){.most = threads - 1, .forks = wi_forks()};
    for (int k = 0; k < threads; k++)
        team->members[k] = (member){.team = team, .rank = k};
    init_locks(team);
    return team;
}

void wi_team_close(wi_team *team) {
    if (!team)
        return;
    if (team->forks == wi_forks()) {
        atomic_store(&team->closing, true);
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->lock);
        for (int k = 1; k <= team->count; k++)
            pthread_join(team->members[k].thread, NULL);
        pthread_cond_destroy(&team->wake);
        pthread_cond_destroy(&team->done);
        pthread_mutex_destroy(&team->lock);
    }
    wi_host_free(team);
}
