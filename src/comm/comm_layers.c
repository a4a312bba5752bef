/* SPDX-License-Identifier: Apache-2.0 */
/* The table that describes steps, and the choice of what runs them. */
#include "comm/comm_layers.h"

#include "comm/comm_mailbox.h"
#include "comm/comm_nccl.h"
#include "comm/comm_staged.h"

static const wi_comm_table *below(const weft_context *ctx) {
    return ctx->comm->below;
}

weft_status wi_comm_all_say(weft_context *ctx, bool own, bool *all) {
    const wi_comm_table *const calls = below(ctx) ? below(ctx) : ctx->comm->calls;
    const uint64_t says = own;
    uint64_t least = 0;
    const weft_status status = calls->all_reduce(ctx, &says, &least, 1, WEFT_U64, WEFT_MIN);
    *all = status == WEFT_OK && least;
    return status;
}

bool wi_comm_on_gpu(const weft_context *ctx, const wi_comm_side *s) {
    return wi_comm_elements(s) == 0 || wi_is_device(ctx->child, s->p);
}

weft_status wi_comm_run_below(weft_context *ctx, const wi_comm_step *s) {
    const wi_comm_table *const calls = below(ctx);
    char *const from = s->from.p, *const to = s->to.p;
    const size_t n = (from ? &s->from : &s->to)->count;
    switch (s->kind) {
    case WI_COMM_BROADCAST:
        return calls->broadcast(ctx, from ? from : to, n, s->type, s->other);
    case WI_COMM_REDUCE:
        return calls->reduce(ctx, from, to, n, s->type, s->op, s->other);
    case WI_COMM_ALL_REDUCE:
        return calls->all_reduce(ctx, from, to, n, s->type, s->op);
    case WI_COMM_EXSCAN:
        return calls->exscan(ctx, from, to, n, s->type, s->op);
    case WI_COMM_ALL_GATHER:
        return calls->all_gather(ctx, from, to, n, s->type);
    case WI_COMM_ALL_GATHER_V:
        return calls->all_gather_v(ctx, from, to, s->to.counts, s->type);
    case WI_COMM_REDUCE_SCATTER:
        return calls->reduce_scatter(ctx, from, to, n, s->type, s->op);
    case WI_COMM_ALL_TO_ALL_V:
        return calls->all_to_all_v(ctx, from, s->from.counts, to, s->to.counts, s->type);
    case WI_COMM_SEND:
        return calls->send(ctx, from, n, s->type, s->other);
    default:
        return calls->recv(ctx, to, n, s->type, s->other);
    }
}

static weft_status run(weft_context *ctx, const wi_comm_step *s) {
    bool taken = false;
    weft_status status = WEFT_OK;
    ctx->comm->carried = below(ctx)->name;
    if (ctx->comm->mail)
        status = wi_comm_mailbox_run(ctx, s, &taken);
    if (ctx->comm->nccl && status == WEFT_OK && !taken)
        status = wi_comm_nccl_run(ctx, s, &taken);
    if (status != WEFT_OK || taken)
        return status;
    return ctx->comm->staged ? wi_comm_staged_run(ctx, s) : wi_comm_run_below(ctx, s);
}

/* ---- the table ---- */

static wi_comm_side blocks_of(const void *p, size_t n, int blocks) {
    return n == 0 ? (wi_comm_side){.p = NULL}
                  : (wi_comm_side){.p = (char *)(uintptr_t)p, .count = n, .blocks = blocks};
}

static wi_comm_side one(const void *p, size_t n) {
    return blocks_of(p, n, 1);
}

static wi_comm_side each_rank(const weft_context *ctx, const void *p, size_t n) {
    return blocks_of(p, n, ctx->comm->size);
}

static wi_comm_side counted(const weft_context *ctx, const void *p, const size_t counts[]) {
    return (wi_comm_side){.p = (char *)(uintptr_t)p, .counts = counts, .blocks = ctx->comm->size};
}

static weft_status barrier(weft_context *ctx) {
    return below(ctx)->barrier(ctx);
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    wi_comm_step s = {.kind = WI_COMM_BROADCAST, .type = type, .other = root};
    *(ctx->comm->rank == root ? &s.from : &s.to) = one(data, n);
    return run(ctx, &s);
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    const wi_comm_step s = {.kind = WI_COMM_REDUCE,
                            .from = one(from, n),
                            .to = one(to, ctx->comm->rank == root ? n : 0),
                            .type = type,
                            .op = op,
                            .other = root};
    return run(ctx, &s);
}

static weft_status reduce_all(weft_context *ctx, wi_comm_kind kind, const void *from, void *to,
                              size_t n, weft_type type, weft_op op) {
    const wi_comm_step s = {
        .kind = kind, .from = one(from, n), .to = one(to, n), .type = type, .op = op};
    return run(ctx, &s);
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    return reduce_all(ctx, WI_COMM_ALL_REDUCE, from, to, n, type, op);
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    return reduce_all(ctx, WI_COMM_EXSCAN, from, to, n, type, op);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    const wi_comm_step s = {.kind = WI_COMM_ALL_GATHER,
                            .from = one(from, n),
                            .to = each_rank(ctx, to, n),
                            .type = type};
    return run(ctx, &s);
}

static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    const wi_comm_step s = {.kind = WI_COMM_ALL_GATHER_V,
                            .from = one(from, counts[ctx->comm->rank]),
                            .to = counted(ctx, to, counts),
                            .type = type};
    return run(ctx, &s);
}

static weft_status reduce_scatter(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op) {
    const wi_comm_step s = {.kind = WI_COMM_REDUCE_SCATTER,
                            .from = each_rank(ctx, from, n),
                            .to = one(to, n),
                            .type = type,
                            .op = op};
    return run(ctx, &s);
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    const wi_comm_step s = {.kind = WI_COMM_ALL_TO_ALL_V,
                            .from = counted(ctx, from, sent),
                            .to = counted(ctx, to, got),
                            .type = type};
    return run(ctx, &s);
}

static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    const wi_comm_step s = {
        .kind = WI_COMM_SEND, .from = one(data, n), .type = type, .other = to_rank};
    return run(ctx, &s);
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    const wi_comm_step s = {
        .kind = WI_COMM_RECV, .to = one(data, n), .type = type, .other = from_rank};
    return run(ctx, &s);
}

static weft_status look(weft_context *ctx, weft_status status) {
    return below(ctx)->look(ctx, status);
}

static void close_all(weft_context *ctx) {
    wi_comm_nccl_close(ctx);
    wi_comm_staged_close(ctx);
    below(ctx)->close(ctx);
}

static const wi_comm_table table = {.barrier = barrier,
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

void wi_comm_layers_open(weft_context *ctx, bool device) {
    wi_comm *const comm = ctx->comm;
    if (!comm->below) {
        comm->below = comm->calls;
        comm->layered = table;
        comm->layered.name = comm->below->name;
        comm->layered.device = comm->below->device;
        comm->calls = &comm->layered;
    }
    comm->layered.device = comm->layered.device || device;
}
