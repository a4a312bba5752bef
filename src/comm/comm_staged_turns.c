/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of a step. */
#include "comm/comm_staged_turns.h"

#ifdef WEFT_CUDA

#    include "comm/dist.h"

void wi_staged_note(weft_context *ctx, weft_status *first, weft_status status) {
    if (*first == WEFT_OK)
        *first = wi_local(ctx, status);
}

static size_t count_of(const wi_staged_side *s, int k) {
    return s->counts ? s->counts[k] : s->count;
}

/* Elements of block k in turn t. */
static size_t turn_count(const weft_context *ctx, const wi_staged_side *s, int k, size_t t) {
    const size_t n = count_of(s, k), first = t * ctx->comm->piece, left = n > first ? n - first : 0;
    return left < ctx->comm->piece ? left : ctx->comm->piece;
}

static size_t turn_elements(const weft_context *ctx, const wi_staged_side *s, size_t t) {
    size_t all = 0;
    for (int k = 0; k < s->blocks; k++)
        all += turn_count(ctx, s, k, t);
    return all;
}

static size_t turns_of(const weft_context *ctx, const wi_staged_side *s) {
    size_t most = 0;
    for (int k = 0; k < s->blocks; k++)
        most = count_of(s, k) > most ? count_of(s, k) : most;
    return most == 0 ? 0 : (most - 1) / ctx->comm->piece + 1;
}

static size_t turns_of_step(const weft_context *ctx, const wi_staged_step *s) {
    const size_t from = turns_of(ctx, &s->from), to = turns_of(ctx, &s->to);
    return from > to ? from : to;
}

/* ---- pinned memory ---- */

void wi_staged_free_pinned(wi_staged *m) {
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
    wi_staged *const m = wi_staged_of(ctx);
    void *p = NULL;
    if (bytes <= m->bytes)
        return WEFT_OK;
    wi_staged_free_pinned(m);
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
static bool is_packed(const weft_context *ctx, const wi_staged_side *s, size_t turns) {
    return turns > 0 && s->p && (!wi_is_host(ctx->child, s->p) || (s->blocks > 1 && turns > 1));
}

/* Gives both sides of a step their pinned memory. */
static weft_status take_sides(weft_context *ctx, wi_staged_step *s, size_t turns) {
    wi_staged_side *const sides[] = {&s->from, &s->to};
    const size_t buffers = turns > 1 ? WI_STAGED_BUFFERS : 1;
    size_t bytes[2], all = 0;
    for (int k = 0; k < 2; k++) {
        sides[k]->packed = is_packed(ctx, sides[k], turns);
        bytes[k] = sides[k]->packed ? turn_elements(ctx, sides[k], 0) * weft_type_size(s->type) : 0;
        all += buffers * bytes[k];
    }
    const weft_status status = take_pinned(ctx, all);
    char *next = wi_staged_of(ctx)->pinned;
    for (int k = 0; k < 2 && status == WEFT_OK; k++) {
        for (size_t b = 0; b < buffers && sides[k]->packed; b++, next += bytes[k])
            sides[k]->pinned[b] = next;
    }
    return status;
}

/* Queues copies of what turn t has of a side, to its pinned memory or back. */
static weft_status queue_copies(weft_context *ctx, const wi_staged_step *s, const wi_staged_side *x,
                                size_t t, bool back) {
    const size_t size = weft_type_size(s->type);
    const cudaStream_t stream = ctx->child->gpu->stream;
    cudaError_t error = cudaSuccess;
    if (!x->packed)
        return WEFT_OK;
    char *place = x->p, *pinned = x->pinned[t % WI_STAGED_BUFFERS];
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
static weft_status pack(weft_context *ctx, const wi_staged_step *s, size_t t) {
    const weft_status status = queue_copies(ctx, s, &s->from, t, false);
    if (status != WEFT_OK)
        return status;
    return wi_cuda(
        ctx->child,
        cudaEventRecord(wi_staged_of(ctx)->packed[t % WI_STAGED_BUFFERS], ctx->child->gpu->stream),
        "marking copies of what ranks exchange");
}

/* Waits for them, and so for all copies that turns before t - 1 have queued. */
static weft_status wait_packed(weft_context *ctx, size_t t) {
    return wi_cuda(ctx->child,
                   cudaEventSynchronize(wi_staged_of(ctx)->packed[t % WI_STAGED_BUFFERS]),
                   "waiting for copies of what ranks exchange");
}

/* ---- by the backend below ---- */

static char *turn_place(const weft_context *ctx, const wi_staged_step *s, const wi_staged_side *x,
                        size_t t) {
    if (x->packed)
        return x->pinned[t % WI_STAGED_BUFFERS];
    return x->p ? x->p + t * ctx->comm->piece * weft_type_size(s->type) : NULL;
}

/* The counts of turn t, for steps that have several. */
static const size_t *turn_counts(const weft_context *ctx, const wi_staged_side *x, size_t t,
                                 size_t *counts) {
    for (int k = 0; k < x->blocks; k++)
        counts[k] = turn_count(ctx, x, k, t);
    return counts;
}

static weft_status run_turn(weft_context *ctx, const wi_staged_step *s, size_t t) {
    const wi_staged *const m = wi_staged_of(ctx);
    const wi_comm_table *const under = m->under;
    char *const from = turn_place(ctx, s, &s->from, t), *const to = turn_place(ctx, s, &s->to, t);
    const size_t n = turn_count(ctx, s->from.p ? &s->from : &s->to, 0, t);
    switch (s->kind) {
    case WI_STAGED_BROADCAST:
        return under->broadcast(ctx, from ? from : to, n, s->type, s->other);
    case WI_STAGED_REDUCE:
        return under->reduce(ctx, from, to, n, s->type, s->op, s->other);
    case WI_STAGED_ALL_REDUCE:
        return under->all_reduce(ctx, from, to, n, s->type, s->op);
    case WI_STAGED_EXSCAN:
        return under->exscan(ctx, from, to, n, s->type, s->op);
    case WI_STAGED_ALL_GATHER:
        return under->all_gather(ctx, from, to, n, s->type);
    case WI_STAGED_ALL_GATHER_V:
        return under->all_gather_v(ctx, from, to, turn_counts(ctx, &s->to, t, m->turn_got),
                                   s->type);
    case WI_STAGED_REDUCE_SCATTER:
        return under->reduce_scatter(ctx, from, to, n, s->type, s->op);
    case WI_STAGED_ALL_TO_ALL_V:
        return under->all_to_all_v(ctx, from, turn_counts(ctx, &s->from, t, m->turn_sent), to,
                                   turn_counts(ctx, &s->to, t, m->turn_got), s->type);
    case WI_STAGED_SEND:
        return under->send(ctx, from, n, s->type, s->other);
    default:
        return under->recv(ctx, to, n, s->type, s->other);
    }
}

/* Arrays in host memory that need no packing. */
static weft_status run_plainly(weft_context *ctx, const wi_staged_step *s, size_t turns) {
    weft_status status = WEFT_OK;
    for (size_t t = 0; t < turns && status == WEFT_OK; t++)
        status = run_turn(ctx, s, t);
    return status;
}

static weft_status run_packed(weft_context *ctx, const wi_staged_step *s, size_t turns) {
    const bool keeps = s->kind == WI_STAGED_EXSCAN && ctx->comm->rank == 0; /* what is in `to` */
    weft_status own = WEFT_OK, status = WEFT_OK;
    wi_staged_note(ctx, &own, pack(ctx, s, 0));
    for (size_t t = 0; t < turns && status == WEFT_OK; t++) {
        wi_staged_note(ctx, &own, wait_packed(ctx, t));
        if (t + 1 < turns)
            wi_staged_note(ctx, &own, pack(ctx, s, t + 1));
        status = run_turn(ctx, s, t);
        if (status == WEFT_OK && !keeps)
            wi_staged_note(ctx, &own, queue_copies(ctx, s, &s->to, t, true));
    }
    wi_staged_note(ctx, &own, wi_gpu_sync(ctx->child));
    ctx->comm->carried = "staged";
    return status == WEFT_OK ? own : status;
}

weft_status wi_staged_run(weft_context *ctx, wi_staged_step *s) {
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

#endif
