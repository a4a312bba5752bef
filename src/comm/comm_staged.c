/* SPDX-License-Identifier: Apache-2.0 */
/* Each step is cut into turns of wi_comm.piece elements of each block. A turn's elements are packed
 * into pinned memory, one block after another; the backend takes them from there and leaves what
 * comes in other pinned memory, from where they are copied to their places. Two of each are used in
 * turns: what turn t + 1 sends is copied while turn t travels. */
#include "comm/comm_staged.h"

#ifdef WEFT_CUDA

#    include "comm/dist.h"
#    include "core/gpu.h"

enum {
    BUFFERS = 2
};

struct wi_staged {
    char *pinned;
    size_t bytes;     /* of it */
    bool is_pageable; /* for there was no pinned memory */
    size_t *turn_sent, *turn_got;
    cudaEvent_t packed[BUFFERS]; /* what the turn sends is in pinned memory */
};

static struct wi_staged *staged_of(const weft_context *ctx) {
    return ctx->comm->staged;
}

/* A side of a step, and where it is in its turns. */
typedef struct side {
    wi_comm_side all;
    bool packed; /* it passes through pinned memory */
    char *pinned[BUFFERS];
} side;

typedef struct flow {
    const wi_comm_step *step;
    side from, to;
    size_t turns, size; /* bytes of an element */
} flow;

/* What can fail on this rank alone is noted, and the step goes on, for the others wait for it. */
static void note(weft_context *ctx, weft_status *first, weft_status status) {
    if (*first == WEFT_OK)
        *first = wi_local(ctx, status);
}

/* ---- turns ---- */

/* Elements of block k in turn t. */
static size_t turn_count(const weft_context *ctx, const wi_comm_side *s, int k, size_t t) {
    const size_t n = wi_comm_count(s, k), first = t * ctx->comm->piece;
    const size_t left = n > first ? n - first : 0;
    return left < ctx->comm->piece ? left : ctx->comm->piece;
}

static size_t turn_elements(const weft_context *ctx, const wi_comm_side *s, size_t t) {
    size_t all = 0;
    for (int k = 0; k < s->blocks; k++)
        all += turn_count(ctx, s, k, t);
    return all;
}

static size_t turns_of(const weft_context *ctx, const wi_comm_side *s) {
    size_t most = 0;
    for (int k = 0; k < s->blocks; k++)
        most = wi_comm_count(s, k) > most ? wi_comm_count(s, k) : most;
    return most == 0 ? 0 : (most - 1) / ctx->comm->piece + 1;
}

/* ---- pinned memory ---- */

static void free_pinned(struct wi_staged *m) {
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
    struct wi_staged *const m = staged_of(ctx);
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
static bool is_packed(const weft_context *ctx, const wi_comm_side *s, size_t turns) {
    return turns > 0 && s->p && (!wi_is_host(ctx->child, s->p) || (s->blocks > 1 && turns > 1));
}

/* Gives both sides of a step their pinned memory. */
static weft_status take_sides(weft_context *ctx, flow *f) {
    side *const sides[] = {&f->from, &f->to};
    const size_t buffers = f->turns > 1 ? BUFFERS : 1;
    size_t bytes[2], all = 0;
    for (int k = 0; k < 2; k++) {
        sides[k]->packed = is_packed(ctx, &sides[k]->all, f->turns);
        bytes[k] = sides[k]->packed ? turn_elements(ctx, &sides[k]->all, 0) * f->size : 0;
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

/* ---- copies ---- */

/* Queues copies of what turn t has of a side, to its pinned memory or back. */
static weft_status queue_copies(weft_context *ctx, const flow *f, const side *x, size_t t,
                                bool back) {
    const cudaStream_t stream = ctx->child->gpu->stream;
    cudaError_t error = cudaSuccess;
    if (!x->packed)
        return WEFT_OK;
    char *place = x->all.p + t * ctx->comm->piece * f->size, *pinned = x->pinned[t % BUFFERS];
    for (int k = 0; k < x->all.blocks && error == cudaSuccess; k++) {
        const size_t bytes = turn_count(ctx, &x->all, k, t) * f->size;
        if (bytes > 0)
            error = cudaMemcpyAsync(back ? place : pinned, back ? pinned : place, bytes,
                                    cudaMemcpyDefault, stream);
        place += wi_comm_count(&x->all, k) * f->size;
        pinned += bytes;
    }
    return wi_cuda(ctx->child, error, "copying what ranks exchange");
}

/* Queues the copies of what turn t sends, and a mark behind them. */
static weft_status pack(weft_context *ctx, const flow *f, size_t t) {
    const weft_status status = queue_copies(ctx, f, &f->from, t, false);
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

/* ---- steps ---- */

/* A side as turn t has it; `counts` is room for those of the turn. */
static wi_comm_side turn_side(const weft_context *ctx, const flow *f, const side *x, size_t t,
                              size_t *counts) {
    wi_comm_side s = x->all;
    if (x->packed)
        s.p = x->pinned[t % BUFFERS];
    else if (s.p)
        s.p += t * ctx->comm->piece * f->size;
    for (int k = 0; k < s.blocks; k++)
        counts[k] = turn_count(ctx, &x->all, k, t);
    if (s.counts)
        s.counts = counts;
    else if (s.blocks > 0)
        s.count = counts[0];
    return s;
}

static weft_status run_turn(weft_context *ctx, const flow *f, size_t t) {
    const struct wi_staged *const m = staged_of(ctx);
    wi_comm_step turn = *f->step;
    turn.from = turn_side(ctx, f, &f->from, t, m->turn_sent);
    turn.to = turn_side(ctx, f, &f->to, t, m->turn_got);
    return wi_comm_run_below(ctx, &turn);
}

/* Arrays in host memory that need no packing. */
static weft_status run_plainly(weft_context *ctx, const flow *f) {
    weft_status status = WEFT_OK;
    for (size_t t = 0; t < f->turns && status == WEFT_OK; t++)
        status = run_turn(ctx, f, t);
    return status;
}

static weft_status run_packed(weft_context *ctx, const flow *f) {
    const bool keeps =
        f->step->kind == WI_COMM_EXSCAN && ctx->comm->rank == 0; /* what is in `to` */
    weft_status own = WEFT_OK, status = WEFT_OK;
    note(ctx, &own, pack(ctx, f, 0));
    for (size_t t = 0; t < f->turns && status == WEFT_OK; t++) {
        note(ctx, &own, wait_packed(ctx, t));
        if (t + 1 < f->turns)
            note(ctx, &own, pack(ctx, f, t + 1));
        status = run_turn(ctx, f, t);
        if (status == WEFT_OK && !keeps)
            note(ctx, &own, queue_copies(ctx, f, &f->to, t, true));
    }
    note(ctx, &own, wi_gpu_sync(ctx->child));
    ctx->comm->carried = "staged";
    return status == WEFT_OK ? own : status;
}

static weft_status run_in_turns(weft_context *ctx, const wi_comm_step *s) {
    const size_t from = turns_of(ctx, &s->from), to = turns_of(ctx, &s->to);
    flow f = {.step = s,
              .from.all = s->from,
              .to.all = s->to,
              .turns = from > to ? from : to,
              .size = weft_type_size(s->type)};
    int before;
    const weft_status entered = wi_local(ctx, wi_gpu_enter(ctx->child, &before));
    weft_status status = take_sides(ctx, &f);
    if (status == WEFT_OK)
        status = f.from.packed || f.to.packed ? run_packed(ctx, &f) : run_plainly(ctx, &f);
    if (entered == WEFT_OK)
        wi_gpu_leave(ctx->child, before);
    return status == WEFT_OK ? entered : status;
}

/* Blocks that are too large for one turn are reduced one by one, as the backend does it. */
static weft_status reduce_each(weft_context *ctx, const wi_comm_step *s) {
    const size_t bytes = s->from.count * weft_type_size(s->type);
    weft_status status = WEFT_OK;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++) {
        wi_comm_step one = *s;
        one.kind = WI_COMM_REDUCE;
        one.other = r;
        one.from.p += (size_t)r * bytes;
        one.from.blocks = 1;
        if (r != ctx->comm->rank)
            one.to = (wi_comm_side){.p = NULL};
        status = run_in_turns(ctx, &one);
    }
    return status;
}

/* Messages may come from, and go to, memory of GPUs if the backend takes that. */
static bool is_direct(const weft_context *ctx, const wi_comm_step *s) {
    return ctx->comm->takes_device &&
           (s->kind == WI_COMM_ALL_TO_ALL_V || s->kind == WI_COMM_SEND || s->kind == WI_COMM_RECV);
}

weft_status wi_comm_staged_run(weft_context *ctx, const wi_comm_step *s) {
    if (is_direct(ctx, s)) {
        const weft_status own = wi_local(ctx, weft_sync(ctx->child)); /* what is queued has ended */
        const weft_status status = wi_comm_run_below(ctx, s);
        return status == WEFT_OK ? own : status;
    }
    return s->kind == WI_COMM_REDUCE_SCATTER && s->from.count > ctx->comm->piece
               ? reduce_each(ctx, s)
               : run_in_turns(ctx, s);
}

/* ---- opening ---- */

static void end(weft_context *ctx) {
    struct wi_staged *const m = staged_of(ctx);
    free_pinned(m);
    for (int b = 0; b < BUFFERS; b++) {
        if (m->packed[b])
            cudaEventDestroy(m->packed[b]);
    }
    ctx->comm->staged = NULL;
    wi_host_free(m);
}

weft_status wi_comm_staged_open(weft_context *ctx) {
    const size_t size = (size_t)ctx->comm->size;
    int before;
    struct wi_staged *const m = wi_host_alloc(sizeof *m + 2 * size * sizeof(size_t));
    if (!m)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a communicator");
    *m = (struct wi_staged){.turn_sent = (size_t *)(m + 1)};
    m->turn_got = m->turn_sent + size;
    ctx->comm->staged = m;
    weft_status status = wi_gpu_enter(ctx->child, &before);
    for (int b = 0; b < BUFFERS && status == WEFT_OK; b++)
        status =
            wi_cuda(ctx->child, cudaEventCreateWithFlags(&m->packed[b], cudaEventDisableTiming),
                    "cudaEventCreate: for what ranks exchange");
    if (status == WEFT_OK)
        wi_comm_layers_open(ctx, true);
    else
        end(ctx);
    wi_gpu_leave(ctx->child, before);
    return wi_local(ctx, status);
}

void wi_comm_staged_close(weft_context *ctx) {
    int before;
    if (!ctx->comm->staged || ctx->comm->broken) /* then MPI may still write to its memory */
        return;
    const weft_status entered = wi_gpu_enter(ctx->child, &before);
    end(ctx);
    if (entered == WEFT_OK)
        wi_gpu_leave(ctx->child, before);
}

#else

weft_status wi_comm_staged_run(weft_context *ctx, const wi_comm_step *s) {
    return wi_comm_run_below(ctx, s);
}

weft_status wi_comm_staged_open(weft_context *ctx) {
    (void)ctx;
    return WEFT_OK;
}

void wi_comm_staged_close(weft_context *ctx) {
    (void)ctx;
}
#endif
