/* SPDX-License-Identifier: Apache-2.0 */
/* The conveyor. Pieces of work are numbered, and each direction has a counter from which threads
 * take the next number. The calling thread raises the limit of each counter, and takes pieces
 * itself while it has nothing to submit. No thread waits for another inside the loop, so one thread
 * is enough, and a failure stops all. */
#include "core/conveyor.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "cpu/team.h"

enum {
    LINE_BYTES = 64,
    /* How often a helper looks for work before it calls sched_yield at each look, and before it
     * sleeps instead (about a millisecond later). */
    BUSY = 64,
    YIELDING = BUSY + (1 << 11),
    SLEEP_NS = 50000
};

/* One direction, fill or drain: the pieces of segments 0 ... limit - 1 may be taken. */
typedef struct side {
    _Alignas(LINE_BYTES) atomic_size_t next; /* the next piece, counted over all segments */
    _Alignas(LINE_BYTES) atomic_size_t limit;
    _Alignas(LINE_BYTES) atomic_size_t done[WI_CONVEYOR_SLOTS]; /* pieces done, for each slot */
    size_t pieces;                                              /* of a segment */
    void (*work)(void *user, size_t segment, size_t piece);
} side;

typedef struct belt {
    const wi_conveyor *c;
    weft_status status;
    side fill, drain;
    _Alignas(LINE_BYTES) atomic_bool stop;
    /* Used by the calling thread only: how many segments have reached each state. */
    size_t submitted, arrived, finished, drained;
} belt;

/* Does one piece of one direction; false if none may be taken now. */
static bool work_on(const wi_conveyor *c, side *s) {
    size_t ticket = atomic_load_explicit(&s->next, memory_order_relaxed);
    do {
        /* Acquire: this thread must see what the thread that raised the limit saw. */
        if (ticket >= atomic_load_explicit(&s->limit, memory_order_acquire) * s->pieces)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &ticket, ticket + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    const size_t segment = ticket / s->pieces;
    s->work(c->user, segment, ticket % s->pieces);
    atomic_fetch_add_explicit(&s->done[segment % c->slots], 1, memory_order_release);
    return true;
}

/* Drains first, because that frees slots. */
static bool help(belt *b) {
    return work_on(b->c, &b->drain) || work_on(b->c, &b->fill);
}

/* Are all pieces of a segment done? */
static bool complete(const wi_conveyor *c, side *s, size_t segment) {
    return atomic_load_explicit(&s->done[segment % c->slots], memory_order_acquire) >=
           (segment / c->slots + 1) * s->pieces;
}

static bool handed_out(const wi_conveyor *c, side *s) {
    return atomic_load_explicit(&s->next, memory_order_relaxed) >= c->segments * s->pieces;
}

static void raise_limit(const wi_conveyor *c, side *s, size_t limit) {
    atomic_store_explicit(&s->limit, limit < c->segments ? limit : c->segments,
                          memory_order_release);
}

/* Waits a little before a helper's look number k for work. */
static void wait_to_look(unsigned k) {
    const struct timespec nap = {0, SLEEP_NS};
    if (k < BUSY)
        wi_cpu_relax();
    else if (k < YIELDING)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static void assist(belt *b) {
    unsigned idle = 0;
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
        if (help(b))
            idle = 0;
        else if (handed_out(b->c, &b->fill) && handed_out(b->c, &b->drain))
            return;
        else
            wait_to_look(++idle);
    }
}

/* Submits the next segment if it is filled and its slot is free. */
static weft_status send_next(belt *b, bool *moved) {
    const wi_conveyor *const c = b->c;
    if (b->submitted == c->segments || b->submitted >= b->drained + c->slots ||
        !complete(c, &b->fill, b->submitted))
        return WEFT_OK;
    *moved = true;
    return c->submit(c->user, b->submitted++);
}

/* Asks which submitted segments have arrived or finished, and raises the limits accordingly. */
static weft_status look(belt *b, bool *moved) {
    const wi_conveyor *const c = b->c;
    weft_status status = WEFT_OK;
    bool yes = false;
    if (b->arrived < b->submitted)
        status = c->arrived(c->user, b->arrived, &yes);
    if (yes) {
        raise_limit(c, &b->fill, ++b->arrived + c->slots);
        *moved = true;
    }
    yes = false;
    if (status == WEFT_OK && b->finished < b->arrived)
        status = c->finished(c->user, b->finished, &yes);
    if (yes) {
        raise_limit(c, &b->drain, ++b->finished);
        *moved = true;
    }
    while (b->drained < b->finished && complete(c, &b->drain, b->drained))
        b->drained++;
    return status;
}

static weft_status lead(belt *b) {
    weft_status status = WEFT_OK;
    while (status == WEFT_OK && b->drained < b->c->segments) {
        bool moved = false;
        status = send_next(b, &moved);
        if (status == WEFT_OK)
            status = look(b, &moved);
        if (status == WEFT_OK && !moved && !help(b))
            wi_cpu_relax();
    }
    atomic_store_explicit(&b->stop, true, memory_order_relaxed);
    return status;
}

static void take_part(void *user, int rank, int size) {
    belt *const b = user;
    (void)size;
    if (rank == 0)
        b->status = lead(b);
    else
        assist(b);
}

weft_status wi_conveyor_run(const wi_conveyor *conveyor) {
    belt b = {
        .c = conveyor,
        .fill = {.pieces = conveyor->fill_pieces, .work = conveyor->fill},
        .drain = {.pieces = conveyor->drain_pieces, .work = conveyor->drain},
    };
    raise_limit(conveyor, &b.fill, conveyor->slots);
    wi_team_run(conveyor->ctx, conveyor->threads, take_part, &b);
    return b.status;
}
