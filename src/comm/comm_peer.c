/* SPDX-License-Identifier: Apache-2.0 */
/* Communication between the GPUs of one process, a thread for each. A step is: all tell where their
 * memory is, meet, copy what they want from there, and meet again. Memory may be of the host or of
 * any of the GPUs; copies between GPUs go directly where these reach each other, and otherwise the
 * driver takes them through host memory. */
#include "comm/comm_peer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "comm/dist.h"
#include "core/gpu.h"
#include "cpu/team.h"

enum {
#ifdef WEFT_EMU
    BUSY = 10, /* the ranks' work is done on the cores that threads would wait on */
    YIELDING = 20,
#else
    BUSY = 2000,     /* looks without a pause */
    YIELDING = 4000, /* and then so many that yield the core; then the thread sleeps */
#endif
    LEAVING = 1 << 16 /* what a rank that leaves adds to `here` */
};

/* What a rank shows the others in a step. */
typedef struct shown {
    const void *from;
    const size_t *counts;
    /* Of messages: from this rank to each other one. */
    atomic_int posted; /* the receiver + 1; 0: none */
    const void *message;
} shown;

struct wi_peer_room {
    int size;
    atomic_int here; /* how many have arrived, and LEAVING for each that will never come again */
    atomic_int failing, failed; /* the first rank that failed + 1: claimed, and told of */
    atomic_uint met;            /* how often all have met */
    int verdict;                /* `failed` when they last did, the same for all */
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    weft_status status;         /* of the rank that failed */
    char why[WI_MESSAGE_BYTES]; /* and why */
    shown ranks[];
};

static wi_peer_room *room_of(const weft_context *ctx) {
    return ctx->comm->state;
}

wi_peer_room *wi_peer_room_open(int size) {
    const size_t bytes = sizeof(wi_peer_room) + (size_t)size * sizeof(shown);
    wi_peer_room *const room = wi_host_alloc(bytes);
    if (!room)
        return NULL;
    memset(room, 0, bytes);
    room->size = size;
    pthread_mutex_init(&room->lock, NULL);
    pthread_cond_init(&room->all_here, NULL);
    return room;
}

void wi_peer_room_close(wi_peer_room *room) {
    if (!room)
        return;
    pthread_cond_destroy(&room->all_here);
    pthread_mutex_destroy(&room->lock);
    wi_host_free(room);
}

void wi_peer_room_clear(wi_peer_room *room) {
    atomic_store(&room->here, 0);
    atomic_store(&room->failing, 0);
    atomic_store(&room->failed, 0);
    for (int r = 0; r < room->size; r++)
        atomic_store(&room->ranks[r].posted, 0);
}

/* ---- meeting ---- */

static void sleep_until_met(wi_peer_room *room, unsigned before) {
    pthread_mutex_lock(&room->lock);
    while (atomic_load(&room->met) == before)
        pthread_cond_wait(&room->all_here, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

/* Counts this rank, as 1 or LEAVING; whoever is the last of all ends the meeting. */
static bool count_in(wi_peer_room *room, int as) {
    const int here = atomic_fetch_add(&room->here, as) + as, arrived = here % LEAVING;
    if (arrived + here / LEAVING != room->size)
        return false;
    atomic_fetch_sub(&room->here, arrived);
    room->verdict = atomic_load(&room->failed);
    pthread_mutex_lock(&room->lock);
    atomic_fetch_add(&room->met, 1);
    pthread_cond_broadcast(&room->all_here);
    pthread_mutex_unlock(&room->lock);
    return true;
}

/* Waits until all ranks that have not left are here. */
static void meet(wi_peer_room *room) {
    const unsigned before = atomic_load(&room->met);
    if (count_in(room, 1))
        return;
    for (int look = 0; atomic_load(&room->met) == before; look++) {
        if (look < BUSY)
            wi_cpu_relax();
        else if (look < YIELDING)
            sched_yield();
        else
            sleep_until_met(room, before);
    }
}

static void note_failure(weft_context *ctx, weft_status status) {
    wi_peer_room *const room = room_of(ctx);
    int none = 0;
    if (status == WEFT_OK)
        return;
    if (atomic_compare_exchange_strong(&room->failing, &none, ctx->comm->rank + 1)) {
        room->status = status;
        snprintf(room->why, sizeof room->why, "%s", ctx->message);
        atomic_store(&room->failed, ctx->comm->rank + 1);
    }
    while (atomic_load(&room->failed) == 0) /* another rank is just writing why it failed */
        wi_cpu_relax();
}

/* Ends a step, in which `status` is how this rank has fared. If any rank failed, the communicator
 * is broken on all. */
static weft_status end_step(weft_context *ctx, weft_status status) {
    wi_peer_room *const room = room_of(ctx);
    char why[WI_MESSAGE_BYTES];
    note_failure(ctx, status);
    meet(room);
    const int failed = room->verdict; /* not what one of them does in its next step already */
    if (failed == 0)
        return WEFT_OK;
    snprintf(why, sizeof why, "rank %d failed: %.400s", failed - 1, room->why);
    if (failed == ctx->comm->rank + 1) {
        ctx->comm->broken = true;
        snprintf(ctx->comm->why, sizeof ctx->comm->why, "%s", why);
        return room->status;
    }
    return wi_comm_break(ctx, why);
}

/* For a rank that will not come to the others' meetings, after a failure: they do not wait for it.
 */
static void leave(weft_context *ctx) {
    if (!ctx->comm->left)
        count_in(room_of(ctx), LEAVING);
    ctx->comm->left = true;
}

static weft_status break_and_leave(weft_context *ctx) {
    const weft_status status = wi_comm_break(ctx, room_of(ctx)->why);
    leave(ctx);
    return status;
}

void wi_comm_peer_leave(weft_context *rank, weft_status status) {
    note_failure(rank, status);
    leave(rank);
}

static bool on_host(const weft_context *ctx, const void *p) {
    return !p || wi_is_host(ctx->child, p);
}

/* Begins a step: memory that the GPU may still write to must be complete before others read it. */
static weft_status begin_step(weft_context *ctx, const void *from, const size_t *counts) {
    wi_peer_room *const room = room_of(ctx);
    shown *const own = &room->ranks[ctx->comm->rank];
    if (ctx->comm->broken)
        return wi_comm_check(ctx);
    own->from = from;
    own->counts = counts;
    note_failure(ctx, on_host(ctx, from) ? WEFT_OK : wi_local(ctx, weft_sync(ctx->child)));
    meet(room);
    return WEFT_OK;
}

/* After a failure the ranks may be in different steps: nobody copies what another shows. */
static weft_status copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    if (bytes == 0 || to == from || atomic_load(&room_of(ctx)->failed) != 0)
        return WEFT_OK;
    if (!on_host(ctx, to) || !on_host(ctx, from)) {
        const weft_status status = weft_copy(ctx->child, to, from, bytes);
        return wi_local(ctx, status == WEFT_OK ? weft_sync(ctx->child) : status);
    }
    memmove(to, from, bytes);
    return WEFT_OK;
}

/* ---- moving ---- */

static weft_status barrier(weft_context *ctx) {
    const weft_status status = begin_step(ctx, NULL, NULL);
    return status == WEFT_OK ? end_step(ctx, WEFT_OK) : status;
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    weft_status status = begin_step(ctx, data, NULL);
    if (status != WEFT_OK)
        return status;
    status = copy(ctx, data, room_of(ctx)->ranks[root].from, n * weft_type_size(type));
    return end_step(ctx, status);
}

/* to = counts[r] elements of each rank r; or n of each, if counts is NULL. */
static weft_status gather(weft_context *ctx, const void *from, void *to, const size_t *counts,
                          size_t n, weft_type type) {
    const wi_peer_room *const room = room_of(ctx);
    const size_t size = weft_type_size(type);
    char *at = to;
    weft_status status = begin_step(ctx, from, NULL);
    if (status != WEFT_OK)
        return status;
    for (int r = 0; r < room->size && status == WEFT_OK; r++) {
        const size_t bytes = (counts ? counts[r] : n) * size;
        status = copy(ctx, at, room->ranks[r].from, bytes);
        at += bytes;
    }
    return end_step(ctx, status);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    return gather(ctx, from, to, NULL, n, type);
}

static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    return gather(ctx, from, to, counts, 0, type);
}

/* Where in its memory a rank has what it sends to this one. */
static const char *sent_here(const weft_context *ctx, int r, size_t size) {
    const shown *const other = &room_of(ctx)->ranks[r];
    size_t before = 0;
    for (int k = 0; k < ctx->comm->rank; k++)
        before += other->counts[k];
    return (const char *)other->from + before * size;
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    const size_t size = weft_type_size(type);
    char *at = to;
    weft_status status = begin_step(ctx, from, sent);
    if (status != WEFT_OK)
        return status;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++) {
        status = copy(ctx, at, got[r] ? sent_here(ctx, r, size) : NULL, got[r] * size);
        at += got[r] * size;
    }
    return end_step(ctx, status);
}

/* ---- messages: the sender waits until the receiver has copied ---- */

static bool wait_a_little(wi_peer_room *room, int look) {
    if (look < BUSY)
        wi_cpu_relax();
    else
        sched_yield();
    return atomic_load(&room->failed) == 0;
}

static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    wi_peer_room *const room = room_of(ctx);
    shown *const own = &room->ranks[ctx->comm->rank];
    (void)n, (void)type;
    if (to_rank == ctx->comm->rank)
        return wi_comm_break(ctx, "a rank cannot send to itself");
    weft_status status = wi_comm_check(ctx);
    if (status == WEFT_OK && !on_host(ctx, data))
        status = wi_local(ctx, weft_sync(ctx->child));
    if (status != WEFT_OK)
        return status;
    own->message = data;
    atomic_store(&own->posted, to_rank + 1);
    for (int look = 0; atomic_load(&own->posted) != 0; look++) {
        if (!wait_a_little(room, look))
            return break_and_leave(ctx);
    }
    return WEFT_OK;
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    wi_peer_room *const room = room_of(ctx);
    shown *const other = &room->ranks[from_rank];
    if (from_rank == ctx->comm->rank)
        return wi_comm_break(ctx, "a rank cannot receive from itself");
    if (ctx->comm->broken)
        return wi_comm_check(ctx);
    for (int look = 0; atomic_load(&other->posted) != ctx->comm->rank + 1; look++) {
        if (!wait_a_little(room, look))
            return break_and_leave(ctx);
    }
    const weft_status status = copy(ctx, data, other->message, n * weft_type_size(type));
    note_failure(ctx, status);
    atomic_store(&other->posted, 0);
    return status;
}

/* ---- reducing: on the host, in the order of the ranks ---- */

static uint64_t load(weft_type type, const void *x, size_t i) {
    const size_t size = weft_type_size(type);
    const unsigned unused = 64 - 8 * (unsigned)size;
    const uint64_t bits = wi_element_bits(x, size, i);
    return wi_type_is_signed(type) ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

/* to[i] = to[i] op x[i]. Floats have sums only (wi_comm_reduces). */
static void combine_elements(void *to, const void *x, size_t n, weft_type type, weft_op op) {
    const size_t size = weft_type_size(type);
    const bool is_signed = !wi_type_is_float(type) && wi_type_is_signed(type);
    for (size_t i = 0; i < n; i++) {
        if (type == WEFT_F32) {
            ((float *)to)[i] += ((const float *)x)[i];
        } else if (type == WEFT_F64) {
            ((double *)to)[i] += ((const double *)x)[i];
        } else if (type == WEFT_U64 && op == WEFT_SUM) {
            ((uint64_t *)to)[i] += ((const uint64_t *)x)[i];
        } else {
            const uint64_t both =
                wi_comm_combine(op, is_signed, load(type, to, i), load(type, x, i));
            memcpy((char *)to + i * size, &both, size);
        }
    }
}

/* *host = `from`, or a copy of it in host memory. */
static weft_status bring(weft_context *ctx, const void *from, size_t bytes, void **copied,
                         const void **host) {
    *copied = NULL;
    *host = from;
    if (bytes == 0 || on_host(ctx, from))
        return WEFT_OK;
    const weft_status status = wi_dist_take(ctx, bytes, 1, copied);
    *host = *copied;
    return status == WEFT_OK ? copy(ctx, *copied, from, bytes) : status;
}

/* to = elements first ... first + n - 1 of ranks 0 ... ranks - 1, combined; every rank shows `all`
 * elements. */
static weft_status combine_ranks(weft_context *ctx, const void *from, size_t all, void *to,
                                 size_t first, size_t n, int ranks, weft_type type, weft_op op) {
    const size_t size = weft_type_size(type);
    const bool direct = on_host(ctx, to);
    const wi_peer_room *const room = room_of(ctx);
    void *copied = NULL, *sum = NULL;
    const void *host;
    if (!wi_comm_reduces(type, op))
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: communication does not reduce %s with op %d",
                       ctx->comm->call, weft_type_name(type), (int)op);
    weft_status status = bring(ctx, from, all * size, &copied, &host);
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, n, size, &sum);
    note_failure(ctx, status);
    status = begin_step(ctx, host, NULL);
    if (status == WEFT_OK) {
        for (int r = 0; r < ranks && sum && atomic_load(&room->failed) == 0; r++) {
            const char *const x = (const char *)room->ranks[r].from + first * size;
            if (r == 0)
                memcpy(sum, x, n * size);
            else
                combine_elements(sum, x, n, type, op);
        }
        const bool copies = ranks > 0 && !direct && atomic_load(&room->failed) == 0;
        status = end_step(ctx, copies ? copy(ctx, to, sum, n * size) : WEFT_OK);
    }
    if (status == WEFT_OK && ranks > 0 && direct && n > 0)
        memcpy(to, sum, n * size); /* now that nobody reads `from`, which it may be */
    wi_host_free(sum);
    wi_host_free(copied);
    return status;
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    const wi_comm *const comm = ctx->comm;
    const bool mine = comm->rank == root;
    return combine_ranks(ctx, from, n, to, 0, mine ? n : 0, mine ? comm->size : 0, type, op);
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    return combine_ranks(ctx, from, n, to, 0, n, ctx->comm->size, type, op);
}

static weft_status reduce_scatter(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op) {
    const wi_comm *const comm = ctx->comm;
    return combine_ranks(ctx, from, n * (size_t)comm->size, to, n * (size_t)comm->rank, n,
                         comm->size, type, op);
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    const int rank = ctx->comm->rank;
    return combine_ranks(ctx, from, n, to, 0, rank > 0 ? n : 0, rank, type, op);
}

static weft_status look(weft_context *ctx, weft_status status) {
    wi_peer_room *const room = room_of(ctx);
    note_failure(ctx, status);
    if (ctx->comm->broken)
        leave(ctx);
    return status != WEFT_OK || atomic_load(&room->failed) == 0 ? status : break_and_leave(ctx);
}

static void close_peer(weft_context *ctx) {
    (void)ctx; /* the room belongs to all ranks */
}

static const wi_comm_table table = {.name = "peer",
                                    .device = true,
                                    .barrier = barrier,
                                    .broadcast = broadcast,
                                    .reduce = reduce,
                                    .all_reduce = all_reduce,
                                    .all_gather = all_gather,
                                    .all_gather_v = all_gather_v,
                                    .reduce_scatter = reduce_scatter,
                                    .all_to_all_v = all_to_all_v,
                                    .exscan = exscan,
                                    .send = send,
                                    .recv = recv,
                                    .look = look,
                                    .close = close_peer};

void wi_comm_peer_open(weft_context *ctx, wi_peer_room *room, int rank) {
    wi_comm *const comm = ctx->comm;
    comm->calls = &table;
    comm->state = room;
    comm->rank = comm->host_rank = rank;
    comm->size = comm->host_size = room->size;
    snprintf(comm->about, sizeof comm->about, "peer");
}
