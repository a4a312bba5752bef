/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions of backend `staged`, and its opening. */
#include "comm/comm_staged.h"

#ifdef WEFT_CUDA

#    include "comm/comm_staged_turns.h"
#    include "comm/dist.h"
#    include "core/gpu.h"

/* A message to, or from, memory that the backend below takes: what is queued must have ended. */
static bool goes_directly(weft_context *ctx, weft_status *own) {
    if (!ctx->comm->takes_device)
        return false;
    wi_staged_note(ctx, own, weft_sync(ctx->child));
    return true;
}

/* ---- the table ---- */

static char *readable(const void *p) {
    return (char *)(uintptr_t)p;
}

static wi_staged_side one(const void *p, size_t n) {
    return n > 0 ? (wi_staged_side){.p = readable(p), .count = n, .blocks = 1}
                 : (wi_staged_side){.p = NULL};
}

static wi_staged_side each_rank(const weft_context *ctx, const void *p, size_t n) {
    return n > 0 ? (wi_staged_side){.p = readable(p), .count = n, .blocks = ctx->comm->size}
                 : (wi_staged_side){.p = NULL};
}

static wi_staged_side counted(const weft_context *ctx, const void *p, const size_t counts[]) {
    return (wi_staged_side){.p = readable(p), .counts = counts, .blocks = ctx->comm->size};
}

static weft_status barrier(weft_context *ctx) {
    return wi_staged_of(ctx)->under->barrier(ctx);
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    wi_staged_step s = {.kind = WI_STAGED_BROADCAST, .type = type, .other = root};
    *(ctx->comm->rank == root ? &s.from : &s.to) = one(data, n);
    return wi_staged_run(ctx, &s);
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    wi_staged_step s = {
        .kind = WI_STAGED_REDUCE, .from = one(from, n), .type = type, .op = op, .other = root};
    if (ctx->comm->rank == root)
        s.to = one(to, n);
    return wi_staged_run(ctx, &s);
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    wi_staged_step s = {.kind = WI_STAGED_ALL_REDUCE,
                        .from = one(from, n),
                        .to = one(to, n),
                        .type = type,
                        .op = op};
    return wi_staged_run(ctx, &s);
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    wi_staged_step s = {
        .kind = WI_STAGED_EXSCAN, .from = one(from, n), .to = one(to, n), .type = type, .op = op};
    return wi_staged_run(ctx, &s);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    wi_staged_step s = {.kind = WI_STAGED_ALL_GATHER,
                        .from = one(from, n),
                        .to = each_rank(ctx, to, n),
                        .type = type};
    return wi_staged_run(ctx, &s);
}

static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    wi_staged_step s = {.kind = WI_STAGED_ALL_GATHER_V,
                        .from = one(from, counts[ctx->comm->rank]),
                        .to = counted(ctx, to, counts),
                        .type = type};
    return wi_staged_run(ctx, &s);
}

static weft_status reduce_scatter(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op) {
    const size_t bytes = n * weft_type_size(type);
    wi_staged_step s = {.kind = WI_STAGED_REDUCE_SCATTER,
                        .from = each_rank(ctx, from, n),
                        .to = one(to, n),
                        .type = type,
                        .op = op};
    if (n <= ctx->comm->piece)
        return wi_staged_run(ctx, &s);
    weft_status status = WEFT_OK;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++)
        status = reduce(ctx, readable(from) + (size_t)r * bytes, to, n, type, op, r);
    return status;
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    weft_status own = WEFT_OK;
    wi_staged_step s = {.kind = WI_STAGED_ALL_TO_ALL_V,
                        .from = counted(ctx, from, sent),
                        .to = counted(ctx, to, got),
                        .type = type};
    if (!goes_directly(ctx, &own))
        return wi_staged_run(ctx, &s);
    const weft_status status =
        wi_staged_of(ctx)->under->all_to_all_v(ctx, from, sent, to, got, type);
    return status == WEFT_OK ? own : status;
}

static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    weft_status own = WEFT_OK;
    wi_staged_step s = {
        .kind = WI_STAGED_SEND, .from = one(data, n), .type = type, .other = to_rank};
    if (!goes_directly(ctx, &own))
        return wi_staged_run(ctx, &s);
    const weft_status status = wi_staged_of(ctx)->under->send(ctx, data, n, type, to_rank);
    return status == WEFT_OK ? own : status;
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    weft_status own = WEFT_OK;
    wi_staged_step s = {
        .kind = WI_STAGED_RECV, .to = one(data, n), .type = type, .other = from_rank};
    if (!goes_directly(ctx, &own))
        return wi_staged_run(ctx, &s);
    const weft_status status = wi_staged_of(ctx)->under->recv(ctx, data, n, type, from_rank);
    return status == WEFT_OK ? own : status;
}

static weft_status look(weft_context *ctx, weft_status status) {
    return wi_staged_of(ctx)->under->look(ctx, status);
}

/* ---- opening ---- */

static void end(weft_context *ctx) {
    wi_staged *const m = wi_staged_of(ctx);
    wi_staged_free_pinned(m);
    for (int b = 0; b < WI_STAGED_BUFFERS; b++)
        if (m->packed[b])
            cudaEventDestroy(m->packed[b]);
    ctx->comm->calls = m->under;
    ctx->comm->staged = NULL;
    wi_host_free(m);
}

static void close_all(weft_context *ctx) {
    const wi_comm_table *const under = wi_staged_of(ctx)->under;
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
    wi_staged *const m = wi_host_alloc(sizeof *m + 2 * size * sizeof(size_t));
    if (!m)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a communicator");
    *m = (wi_staged){.table = table, .under = comm->calls};
    m->turn_sent = (size_t *)(m + 1);
    m->turn_got = m->turn_sent + size;
    m->table.name = m->under->name;
    comm->staged = m;
    comm->calls = &m->table;
    weft_status status = wi_gpu_enter(ctx->child, &before);
    for (int b = 0; b < WI_STAGED_BUFFERS && status == WEFT_OK; b++)
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
