/* SPDX-License-Identifier: Apache-2.0 */
/* Communication of one rank with itself: copies. */
#include <stdio.h>
#include <string.h>

#include "comm/comm.h"

static weft_status copy(void *to, const void *from, size_t n, weft_type type) {
    if (n > 0)
        memmove(to, from, n * weft_type_size(type));
    return WEFT_OK;
}

static weft_status barrier(weft_context *ctx) {
    (void)ctx;
    return WEFT_OK;
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    (void)ctx, (void)data, (void)n, (void)type, (void)root;
    return WEFT_OK;
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    (void)ctx, (void)op, (void)root;
    return copy(to, from, n, type);
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    (void)ctx, (void)op;
    return copy(to, from, n, type);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    (void)ctx;
    return copy(to, from, n, type);
}

static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    (void)ctx;
    return copy(to, from, counts[0], type);
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    (void)ctx, (void)got;
    return copy(to, from, sent[0], type);
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    (void)ctx, (void)from, (void)to, (void)n, (void)type, (void)op;
    return WEFT_OK;
}

/* No rank sends to itself: it would wait for itself to receive. */
static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    (void)data, (void)n, (void)type, (void)to_rank;
    return wi_comm_break(ctx, "the only rank cannot send to itself");
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    (void)data, (void)n, (void)type, (void)from_rank;
    return wi_comm_break(ctx, "the only rank cannot receive from itself");
}

static weft_status look(weft_context *ctx, weft_status status) {
    (void)ctx;
    return status;
}

static weft_status split(weft_context *ctx, weft_context *part, int colour) {
    (void)ctx, (void)colour;
    wi_comm_self_open(part);
    return WEFT_OK;
}

static void close_self(weft_context *ctx) {
    (void)ctx;
}

static const wi_comm_table table = {.name = "self",
                                    .barrier = barrier,
                                    .broadcast = broadcast,
                                    .reduce = reduce,
                                    .all_reduce = all_reduce,
                                    .all_gather = all_gather,
                                    .all_gather_v = all_gather_v,
                                    .reduce_scatter = all_reduce,
                                    .all_to_all_v = all_to_all_v,
                                    .exscan = exscan,
                                    .send = send,
                                    .recv = recv,
                                    .look = look,
                                    .split = split,
                                    .close = close_self};

void wi_comm_self_open(weft_context *ctx) {
    wi_comm *const comm = ctx->comm;
    comm->calls = &table;
    comm->rank = comm->host_rank = 0;
    comm->size = comm->host_size = 1;
    snprintf(comm->about, sizeof comm->about, "self");
}
