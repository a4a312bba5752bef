/* SPDX-License-Identifier: Apache-2.0 */
/* Each step is cut into turns of wi_comm.piece elements of each block. A turn's elements are packed
 * into pinned memory, one block after another; the backend below takes them from there and leaves
 * what comes in other pinned memory, from where they are copied to their places. Two of each are
 * used in turns: what turn t + 1 sends is copied while turn t travels. */
#include "comm/comm_staged.h"

#ifdef WEFT_CUDA

#    include "comm/dist.h"
#    include "core/gpu.h"

enum {
    BUFFERS = 2
};

typedef struct wi_staged {
    wi_comm_table table; /* what ctx->comm->calls points to */
    const wi_comm_table *under;
    char *pinned;
    size_t bytes;     /* of it */
    bool is_pageable; /* for there was no pinned memory */
    size_t *turn_sent, *turn_got;
    cudaEvent_t packed[BUFFERS]; /* what the turn sends is in pinned memory */
} staged;

static staged *staged_of(const weft_context *ctx) {
    return ctx->comm->staged;
}

/* ---- steps and their turns ---- */

typedef enum step_kind {
    BROADCAST,
    REDUCE,
    ALL_REDUCE,
    EXSCAN,
    ALL_GATHER,
    ALL_GATHER_V,
    REDUCE_SCATTER,
    ALL_TO_ALL_V,
    SEND,
    RECV
} step_kind;

/* What a step reads, or writes: `blocks` blocks that follow each other; of counts[k] elements, or
 * of `count` each where counts is NULL. */
typedef struct side {
    char *p;
    const size_t *counts;
    size_t count;
    int blocks;
    bool packed;           /* it passes through pinned memory */
    char *pinned[BUFFERS]; /* where */
} side;

typedef struct step {
    step_kind kind;
    side from, to;
    weft_type type;
    weft_op op;
    int other; /* the root, or the other rank of a message */
} step;

/* What can fail on this rank alone is noted, and the step goes on, for the others wait for it. */
static void note(weft_context *ctx, weft_status *first, weft_status status) {
    if (*first == WEFT_OK)
        *first = wi_local(ctx, status);
}

static size_t count_of(const side *s, int k) {
    return s->counts ? s->counts[k] : s->count;
}

/* Elements of block k in turn t. */
static size_t turn_count(const weft_context *ctx, const side *s, int k, size_t t) {
    const size_t n = count_of(s, k), first = t * ctx->comm->piece, left = n > first ? n - first : 0;
    return left < ctx->comm->piece ? left : ctx->comm->piece;
}

static size_t turn_elements(const weft_context *ctx, const side *s, size_t t) {
    size_t all = 0;
    for (int k = 0; k < s->blocks; k++)
        all += turn_count(ctx, s, k, t);
    return all;
}

static size_t turns_of(const weft_context *ctx, const side *s) {
    size_t most = 0;
    for (int k = 0; k < s->blocks; k++)
        most = count_of(s, k) > most ? count_of(s, k) : most;
    return most == 0 ? 0 : (most - 1) / ctx->comm->piece + 1;
}

static size_t turns_of_step(const weft_context *ctx, const step *s) {
    const size_t from = turns_of(ctx, &s->from), to = turns_of(ctx, &s->to);
    return from > to ? from : to;
}

/* ---- pinned memory ---- */

static void free_pinned(staged *m) {
    if (m->is_pageable)
        wi_host_free(m->pinned);
    else if (m->pinned)
        cudaFreeHost(m->pinned);
    m->pinned = NULL;
    m->bytes = 0;
    m->is_pageable = false;
}

/* Other memory is slower, but the other ranks wait already. */
static weft_status take_pinned(weft_context *ctx, size_t bytes) {
    staged *const m = staged_of(ctx);
    void *p = NULL;
    if (bytes <= m->bytes)
        return WEFT_OK;
    free_pinned(m);
    if (cudaHostAlloc(&p, bytes, cudaHostAllocDefault) != cudaSuccess) {
        cudaGetLastError();
        p = wi_host_alloc(bytes);
        m->is_pageable = true;
    }
    m->pinned = p;
    m->bytes = p ? bytes : 0;
    return p ? WEFT_OK : wi_comm_break(ctx, "no host memory for what ranks exchange");
}

/* Does it lie elsewhere than in host memory, or would a turn have it in pieces? */
static bool is_packed(const weft_context *ctx, const side *s, size_t turns) {
    return turns > 0 && s->p && (!wi_is_host(ctx->child, s->p) || (s->blocks > 1 && turns > 1));
}

/* Gives both sides of a step their pinned memory. */
static weft_status take_sides(weft_context *ctx, step *s, size_t turns) {
    side *const sides[] = {&s->from, &s->to};
    const size_t buffers = turns > 1 ? BUFFERS : 1;
    size_t bytes[2], all = 0;
    for (int k = 0; k < 2; k++) {
        sides[k]->packed = is_packed(ctx, sides[k], turns);
        bytes[k] = sides[k]->packed ? turn_elements(ctx, sides[k], 0) * weft_type_size(s->type) : 0;
        all += buffers * bytes[k];
    }
    const weft_status status = take_pinned(ctx, all);
    char *next = staged_of(ctx)->pinned;
    for (int k = 0; k < 2 && status == WEFT_OK; k++) {
        for (size_t b = 0; b < buffers && sides[k]->packed; b++, next += bytes[k])
            sides[k]->pinned[b] = next;
    }
    return status;
}

/* Queues copies of what turn t has of a side, to its pinned memory or back. */
static weft_status queue_copies(weft_context *ctx, const step *s, const side *x, size_t t,
                                bool back) {
    const size_t size = weft_type_size(s->type);
    const cudaStream_t stream = ctx->child->gpu->stream;
    cudaError_t error = cudaSuccess;
    if (!x->packed)
        return WEFT_OK;
    char *place = x->p, *pinned = x->pinned[t % BUFFERS];
    for (int k = 0; k < x->blocks && error == cudaSuccess; k++) {
        char *const there = place + t * ctx->comm->piece * size;
        const size_t bytes = turn_count(ctx, x, k, t) * size;
        if (bytes > 0)
            error = cudaMemcpyAsync(back ? there : pinned, back ? pinned : there, bytes,
                                    cudaMemcpyDefault, stream);
        place += count_of(x, k) * size;
        pinned += bytes;
    }
    return wi_cuda(ctx->child, error, "copying what ranks exchange");
}

/* Queues the copies of what turn t sends, and a mark behind them. */
static weft_status pack(weft_context *ctx, const step *s, size_t t) {
    const weft_status status = queue_copies(ctx, s, &s->from, t, false);
    if (status != WEFT_OK)
        return status;
    return wi_cuda(ctx->child,
                   cudaEventRecord(staged_of(ctx)->packed[t % BUFFERS], ctx->child->gpu->stream),
                   "marking copies of what ranks exchange");
}

/* Waits for them, and so for all copies that turns before t - 1 have queued. */
static weft_status wait_packed(weft_context *ctx, size_t t) {
    return wi_cuda(ctx->child, cudaEventSynchronize(staged_of(ctx)->packed[t % BUFFERS]),
                   "waiting for copies of what ranks exchange");
}

/* ---- by the backend below ---- */

static char *turn_place(const weft_context *ctx, const step *s, const side *x, size_t t) {
    if (x->packed)
        return x->pinned[t % BUFFERS];
    return x->p ? x->p + t * ctx->comm->piece * weft_type_size(s->type) : NULL;
}

/* The counts of turn t, for steps that have several. */
static const size_t *turn_counts(const weft_context *ctx, const side *x, size_t t, size_t *counts) {
    for (int k = 0; k < x->blocks; k++)
        counts[k] = turn_count(ctx, x, k, t);
    return counts;
}

static weft_status run_turn(weft_context *ctx, const step *s, size_t t) {
    const staged *const m = staged_of(ctx);
    const wi_comm_table *const under = m->under;
    char *const from = turn_place(ctx, s, &s->from, t), *const to = turn_place(ctx, s, &s->to, t);
    const size_t n = turn_count(ctx, s->from.p ? &s->from : &s->to, 0, t);
    switch (s->kind) {
    case BROADCAST:
        return under->broadcast(ctx, from ? from : to, n, s->type, s->other);
    case REDUCE:
        return under->reduce(ctx, from, to, n, s->type, s->op, s->other);
    case ALL_REDUCE:
        return under->all_reduce(ctx, from, to, n, s->type, s->op);
    case EXSCAN:
        return under->exscan(ctx, from, to, n, s->type, s->op);
    case ALL_GATHER:
        return under->all_gather(ctx, from, to, n, s->type);
    case ALL_GATHER_V:
        return under->all_gather_v(ctx, from, to, turn_counts(ctx, &s->to, t, m->turn_got),
                                   s->type);
    case REDUCE_SCATTER:
        return under->reduce_scatter(ctx, from, to, n, s->type, s->op);
    case ALL_TO_ALL_V:
        return under->all_to_all_v(ctx, from, turn_counts(ctx, &s->from, t, m->turn_sent), to,
                                   turn_counts(ctx, &s->to, t, m->turn_got), s->type);
    case SEND:
        return under->send(ctx, from, n, s->type, s->other);
    default:
        return under->recv(ctx, to, n, s->type, s->other);
    }
}

/* Arrays in host memory that need no packing. */
static weft_status run_plainly(weft_context *ctx, const step *s, size_t turns) {
    weft_status status = WEFT_OK;
    for (size_t t = 0; t < turns && status == WEFT_OK; t++)
        status = run_turn(ctx, s, t);
    return status;
}

static weft_status run_packed(weft_context *ctx, const step *s, size_t turns) {
    const bool keeps = s->kind == EXSCAN && ctx->comm->rank == 0; /* what is in `to` */
    weft_status own = WEFT_OK, status = WEFT_OK;
    note(ctx, &own, pack(ctx, s, 0));
    for (size_t t = 0; t < turns && status == WEFT_OK; t++) {
        note(ctx, &own, wait_packed(ctx, t));
        if (t + 1 < turns)
            note(ctx, &own, pack(ctx, s, t + 1));
        status = run_turn(ctx, s, t);
        if (status == WEFT_OK && !keeps)
            note(ctx, &own, queue_copies(ctx, s, &s->to, t, true));
    }
    note(ctx, &own, wi_gpu_sync(ctx->child));
    ctx->comm->carried = "staged";
    return status == WEFT_OK ? own : status;
}

static weft_status run(weft_context *ctx, step *s) {
    const size_t turns = turns_of_step(ctx, s);
    int before;
    const weft_status entered = wi_local(ctx, wi_gpu_enter(ctx->child, &before));
    weft_status status = take_sides(ctx, s, turns);
    if (status == WEFT_OK && (s->from.packed || s->to.packed))
        status = run_packed(ctx, s, turns);
    else if (status == WEFT_OK)
        status = run_plainly(ctx, s, turns);
    if (entered == WEFT_OK)
        wi_gpu_leave(ctx->child, before);
    return status == WEFT_OK ? entered : status;
}

/* A message to, or from, memory that the backend below takes: what is queued must have ended. */
static bool goes_directly(weft_context *ctx, weft_status *own) {
    if (!ctx->comm->takes_device)
        return false;
    note(ctx, own, weft_sync(ctx->child));
    return true;
}

/* ---- the table ---- */

static char *readable(const void *p) {
    return (char *)(uintptr_t)p;
}

static side one(const void *p, size_t n) {
    return n > 0 ? (side){.p = readable(p), .count = n, .blocks = 1} : (side){.p = NULL};
}

static side each_rank(const weft_context *ctx, const void *p, size_t n) {
    return n > 0 ? (side){.p = readable(p), .count = n, .blocks = ctx->comm->size}
                 : (side){.p = NULL};
}

static side counted(const weft_context *ctx, const void *p, const size_t counts[]) {
    return (side){.p = readable(p), .counts = counts, .blocks = ctx->comm->size};
}

static weft_status barrier(weft_context *ctx) {
    return staged_of(ctx)->under->barrier(ctx);
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    step s = {.kind = BROADCAST, .type = type, .other = root};
    *(ctx->comm->rank == root ? &s.from : &s.to) = one(data, n);
    return run(ctx, &s);
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    step s = {.kind = REDUCE, .from = one(from, n), .type = type, .op = op, .other = root};
    if (ctx->comm->rank == root)
        s.to = one(to, n);
    return run(ctx, &s);
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    step s = {.kind = ALL_REDUCE, .from = one(from, n), .to = one(to, n), .type = type, .op = op};
    return run(ctx, &s);
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    step s = {.kind = EXSCAN, .from = one(from, n), .to = one(to, n), .type = type, .op = op};
    return run(ctx, &s);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    step s = {.kind = ALL_GATHER, .from = one(from, n), .to = each_rank(ctx, to, n), .type = type};
    return run(ctx, &s);
}

static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    step s = {.kind = ALL_GATHER_V,
              .from = one(from, counts[ctx->comm->rank]),
              .to = counted(ctx, to, counts),
              .type = type};
    return run(ctx, &s);
}

static weft_status reduce_scatter(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op) {
    const size_t bytes = n * weft_type_size(type);
    step s = {.kind = REDUCE_SCATTER,
              .from = each_rank(ctx, from, n),
              .to = one(to, n),
              .type = type,
              .op = op};
    if (n <= ctx->comm->piece)
        return run(ctx, &s);
    weft_status status = WEFT_OK;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++)
        status = reduce(ctx, readable(from) + (size_t)r * bytes, to, n, type, op, r);
    return status;
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    weft_status own = WEFT_OK;
    step s = {.kind = ALL_TO_ALL_V,
              .from = counted(ctx, from, sent),
              .to = counted(ctx, to, got),
              .type = type};
    if (!goes_directly(ctx, &own))
        return run(ctx, &s);
    const weft_status status = staged_of(ctx)->under->all_to_all_v(ctx, from, sent, to, got, type);
    return status == WEFT_OK ? own : status;
}

static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    weft_status own = WEFT_OK;
    step s = {.kind = SEND, .from = one(data, n), .type = type, .other = to_rank};
    if (!goes_directly(ctx, &own))
        return run(ctx, &s);
    const weft_status status = staged_of(ctx)->under->send(ctx, data, n, type, to_rank);
    return status == WEFT_OK ? own : status;
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    weft_status own = WEFT_OK;
    step s = {.kind = RECV, .to = one(data, n), .type = type, .other = from_rank};
    if (!goes_directly(ctx, &own))
        return run(ctx, &s);
    const weft_status status = staged_of(ctx)->under->recv(ctx, data, n, type, from_rank);
    return status == WEFT_OK ? own : status;
}

static weft_status look(weft_context *ctx, weft_status status) {
    return staged_of(ctx)->under->look(ctx, status);
}

/* ---- opening ---- */

static void end(weft_context *ctx) {
    staged *const m = staged_of(ctx);
    free_pinned(m);
    for (int b = 0; b < BUFFERS; b++)
        if (m->packed[b])
            cudaEventDestroy(m->packed[b]);
    ctx->comm->calls = m->under;
    ctx->comm->staged = NULL;
    wi_host_free(m);
}

static void close_all(weft_context *ctx) {
    const wi_comm_table *const under = staged_of(ctx)->under;
    int before;
    const weft_status entered = wi_gpu_enter(ctx->child, &before);
    if (!ctx->comm->broken) /* else MPI may still write to its memory */
        end(ctx);
    if (entered == WEFT_OK)
        wi_gpu_leave(ctx->child, before);
    under->close(ctx);
}

static const wi_comm_table table = {.device = true,
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
                                    .close = close_all};

weft_status wi_comm_staged_open(weft_context *ctx) {
    wi_comm *const comm = ctx->comm;
    const size_t size = (size_t)comm->size;
    int before;
    staged *const m = wi_host_alloc(sizeof *m + 2 * size * sizeof(size_t));
    if (!m)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a communicator");
    *m = (staged){.table = table, .under = comm->calls};
    m->turn_sent = (size_t *)(m + 1);
    m->turn_got = m->turn_sent + size;
    m->table.name = m->under->name;
    comm->staged = m;
    comm->calls = &m->table;
    weft_status status = wi_gpu_enter(ctx->child, &before);
    for (int b = 0; b < BUFFERS && status == WEFT_OK; b++)
        status =
            wi_cuda(ctx->child, cudaEventCreateWithFlags(&m->packed[b], cudaEventDisableTiming),
                    "cudaEventCreate: for what ranks exchange");
    if (status != WEFT_OK)
        end(ctx);
    wi_gpu_leave(ctx->child, before);
    return wi_local(ctx, status);
}

#else

weft_status wi_comm_staged_open(weft_context *ctx) {
    (void)ctx;
    return WEFT_OK;
}
#endif
