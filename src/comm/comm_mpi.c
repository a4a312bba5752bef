/* SPDX-License-Identifier: Apache-2.0 */
/* Communication over MPI. Every step is non-blocking, and is waited for in comm_mpi_wait.c. */
#include "comm/comm_mpi.h"

#include <string.h>

#include "comm/dist.h"
#include "core/smaller.h"

enum {
    DATA_TAG = 2
};

/* ---- types ---- */

static MPI_Datatype mpi_type(weft_type type) {
    switch (type) {
    case WEFT_I8:
        return MPI_INT8_T;
    case WEFT_I16:
        return MPI_INT16_T;
    case WEFT_I32:
        return MPI_INT32_T;
    case WEFT_I64:
        return MPI_INT64_T;
    case WEFT_U8:
        return MPI_UINT8_T;
    case WEFT_U32:
        return MPI_UINT32_T;
    case WEFT_U64:
        return MPI_UINT64_T;
    case WEFT_F32:
        return MPI_FLOAT;
    case WEFT_F64:
        return MPI_DOUBLE;
    default:
        return MPI_UINT16_T; /* u16, and the bits of f16 and bf16 */
    }
}

static MPI_Op mpi_op(weft_op op) {
    switch (op) {
    case WEFT_SUM:
        return MPI_SUM;
    case WEFT_PRODUCT:
        return MPI_PROD;
    case WEFT_MIN:
        return MPI_MIN;
    case WEFT_MAX:
        return MPI_MAX;
    case WEFT_AND:
        return MPI_BAND;
    case WEFT_OR:
        return MPI_BOR;
    default:
        return MPI_BXOR;
    }
}

static weft_status begin_reducing(weft_context *ctx, weft_type type, weft_op op) {
    const bool sum = op == WEFT_SUM && (type == WEFT_F32 || type == WEFT_F64);
    if (!sum && (wi_type_is_float(type) || op > WEFT_XOR))
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: communication does not reduce %s with op %d",
                       ctx->comm->call, weft_type_name(type), (int)op);
    return wi_mpi_begin(ctx);
}

/* ---- pieces: MPI counts in int ---- */

static const char *at(const void *p, size_t i, weft_type type) {
    return (const char *)p + i * weft_type_size(type);
}

static char *out(void *p, size_t i, weft_type type) {
    return (char *)p + i * weft_type_size(type);
}

/* Piece `turn` of n elements: where it begins, and how many there are. */
static size_t piece_of(const weft_context *ctx, size_t n, size_t turn, size_t *first) {
    *first = turn * ctx->comm->piece;
    return *first < n ? wi_smaller(n - *first, ctx->comm->piece) : 0;
}

/* ---- the steps ---- */

static weft_status barrier(weft_context *ctx) {
    const weft_status status = wi_mpi_begin(ctx);
    if (status != WEFT_OK)
        return status;
    MPI_Request request;
    const int error = MPI_Ibarrier(wi_mpi_of(ctx)->all, &request);
    return wi_mpi_finish(ctx, error, request);
}

static weft_status broadcast(weft_context *ctx, void *data, size_t n, weft_type type, int root) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = wi_mpi_begin(ctx);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error =
            MPI_Ibcast(out(data, i, type), count, mpi_type(type), root, m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

static weft_status reduce(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op, int root) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = begin_reducing(ctx, type, op);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        void *const result = ctx->comm->rank == root ? out(to, i, type) : NULL;
        const int error = MPI_Ireduce(at(from, i, type), result, count, mpi_type(type), mpi_op(op),
                                      root, m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

static weft_status all_reduce(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type, weft_op op) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = begin_reducing(ctx, type, op);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error = MPI_Iallreduce(at(from, i, type), out(to, i, type), count, mpi_type(type),
                                         mpi_op(op), m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

static weft_status exscan(weft_context *ctx, const void *from, void *to, size_t n, weft_type type,
                          weft_op op) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = begin_reducing(ctx, type, op);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error = MPI_Iexscan(at(from, i, type), out(to, i, type), count, mpi_type(type),
                                      mpi_op(op), m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

static weft_status reduce_scatter(weft_context *ctx, const void *from, void *to, size_t n,
                                  weft_type type, weft_op op) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = begin_reducing(ctx, type, op);
    if (status == WEFT_OK && n <= ctx->comm->piece) {
        MPI_Request request;
        const int error = MPI_Ireduce_scatter_block(from, to, (int)n, mpi_type(type), mpi_op(op),
                                                    m->all, &request);
        return wi_mpi_finish(ctx, error, request);
    }
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++)
        status = reduce(ctx, at(from, (size_t)r * n, type), to, n, type, op, r);
    return status;
}

/* ---- exchange ---- */

/* Begins to send and to receive piece `turn` of what goes to, and comes from, each other rank.
 * Returns the number of requests, or -1 after *error. With `same`, all ranks get the same. */
static int begin_pieces(weft_context *ctx, const void *from, const size_t sent[], bool same,
                        void *to, const size_t got[], weft_type type, size_t turn, int *error) {
    wi_mpi *const m = wi_mpi_of(ctx);
    int count = 0;
    size_t send_at = 0, recv_at = 0, first;
    *error = MPI_SUCCESS;
    for (int r = 0; r < ctx->comm->size && *error == MPI_SUCCESS; r++) {
        const bool other = r != ctx->comm->rank;
        const size_t n_recv = piece_of(ctx, got[r], turn, &first);
        if (other && n_recv > 0)
            *error = MPI_Irecv(out(to, recv_at + first, type), (int)n_recv, mpi_type(type), r,
                               DATA_TAG, m->all, &m->requests[count++]);
        const size_t n_send = piece_of(ctx, sent[r], turn, &first);
        if (other && n_send > 0 && *error == MPI_SUCCESS)
            *error = MPI_Isend(at(from, send_at + first, type), (int)n_send, mpi_type(type), r,
                               DATA_TAG, m->all, &m->requests[count++]);
        recv_at += got[r];
        send_at += same ? 0 : sent[r];
    }
    return *error == MPI_SUCCESS ? count : -1;
}

static size_t turns_of(const weft_context *ctx, const size_t sent[], const size_t got[]) {
    size_t most = 0;
    for (int r = 0; r < ctx->comm->size; r++) {
        most = sent[r] > most ? sent[r] : most;
        most = got[r] > most ? got[r] : most;
    }
    return most == 0 ? 0 : (most - 1) / ctx->comm->piece + 1;
}

static weft_status copy_own(weft_context *ctx, const void *from, const size_t sent[], bool same,
                            void *to, const size_t got[], weft_type type) {
    const int rank = ctx->comm->rank;
    const size_t bytes = sent[rank] * weft_type_size(type);
    size_t send_at = 0, recv_at = 0;
    for (int r = 0; r < rank; r++) {
        recv_at += got[r];
        send_at += same ? 0 : sent[r];
    }
    char *const here = out(to, recv_at, type);
    const char *const there = at(from, send_at, type);
    if (bytes > 0 && ctx->comm->takes_device)
        return wi_local(ctx, weft_copy(ctx->child, here, there, bytes));
    if (bytes > 0)
        memcpy(here, there, bytes);
    return WEFT_OK;
}

static weft_status exchange(weft_context *ctx, const void *from, const size_t sent[], bool same,
                            void *to, const size_t got[], weft_type type) {
    wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = wi_mpi_begin(ctx);
    if (status != WEFT_OK)
        return status;
    const weft_status own = copy_own(ctx, from, sent, same, to, got, type);
    const size_t turns = turns_of(ctx, sent, got);
    for (size_t turn = 0; turn < turns && status == WEFT_OK; turn++) {
        int error;
        const int count = begin_pieces(ctx, from, sent, same, to, got, type, turn, &error);
        status = count < 0 ? wi_mpi_failed(ctx, error) : wi_mpi_wait(ctx, m->requests, count);
    }
    return status == WEFT_OK ? own : status;
}

static weft_status all_to_all_v(weft_context *ctx, const void *from, const size_t sent[], void *to,
                                const size_t got[], weft_type type) {
    return exchange(ctx, from, sent, false, to, got, type);
}

/* All ranks know all counts, so all go the same way here. */
static weft_status all_gather_v(weft_context *ctx, const void *from, void *to,
                                const size_t counts[], weft_type type) {
    wi_mpi *const m = wi_mpi_of(ctx);
    const int size = ctx->comm->size;
    size_t all = 0;
    for (int r = 0; r < size; r++) {
        m->counts[r] = (int)wi_smaller(counts[r], ctx->comm->piece);
        m->offsets[r] = (int)wi_smaller(all, ctx->comm->piece);
        all += counts[r];
    }
    if (all > ctx->comm->piece) {
        for (int r = 0; r < size; r++)
            m->sent[r] = counts[ctx->comm->rank];
        return exchange(ctx, from, m->sent, true, to, counts, type);
    }
    const weft_status status = wi_mpi_begin(ctx);
    if (status != WEFT_OK)
        return status;
    MPI_Request request;
    const int error = MPI_Iallgatherv(from, m->counts[ctx->comm->rank], mpi_type(type), to,
                                      m->counts, m->offsets, mpi_type(type), m->all, &request);
    return wi_mpi_finish(ctx, error, request);
}

static weft_status all_gather(weft_context *ctx, const void *from, void *to, size_t n,
                              weft_type type) {
    wi_mpi *const m = wi_mpi_of(ctx);
    if (n > ctx->comm->piece / (size_t)ctx->comm->size) {
        for (int r = 0; r < ctx->comm->size; r++)
            m->sent[r] = n;
        return exchange(ctx, from, m->sent, true, to, m->sent, type);
    }
    const weft_status status = wi_mpi_begin(ctx);
    if (status != WEFT_OK)
        return status;
    MPI_Request request;
    const int error =
        MPI_Iallgather(from, (int)n, mpi_type(type), to, (int)n, mpi_type(type), m->all, &request);
    return wi_mpi_finish(ctx, error, request);
}

static weft_status send(weft_context *ctx, const void *data, size_t n, weft_type type,
                        int to_rank) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = wi_mpi_begin(ctx);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error = MPI_Isend(at(data, i, type), count, mpi_type(type), to_rank, DATA_TAG,
                                    m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

static weft_status recv(weft_context *ctx, void *data, size_t n, weft_type type, int from_rank) {
    const wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = wi_mpi_begin(ctx);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        MPI_Request request;
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error = MPI_Irecv(out(data, i, type), count, mpi_type(type), from_rank, DATA_TAG,
                                    m->all, &request);
        status = wi_mpi_finish(ctx, error, request);
    }
    return status;
}

/* ---- in the background ---- */

static weft_status begin_broadcast(weft_context *ctx, void *data, size_t n, weft_type type,
                                   int root) {
    wi_mpi *const m = wi_mpi_of(ctx);
    m->under_way = m->behind;
    m->under_way_count = 0;
    if (n > ctx->comm->piece * WI_MPI_BEHIND)
        return broadcast(ctx, data, n, type, root);
    weft_status status = wi_mpi_begin(ctx);
    for (size_t i = 0; i < n && status == WEFT_OK; i += ctx->comm->piece) {
        const int count = (int)wi_smaller(n - i, ctx->comm->piece);
        const int error = MPI_Ibcast(out(data, i, type), count, mpi_type(type), root, m->all,
                                     &m->behind[m->under_way_count++]);
        status = error == MPI_SUCCESS ? WEFT_OK : wi_mpi_failed(ctx, error);
    }
    return status;
}

/* Blocks that take several pieces are exchanged at once. If the copy of what stays here fails, the
 * others still get theirs. */
static weft_status begin_exchange(weft_context *ctx, const void *from, const size_t sent[],
                                  void *to, const size_t got[], weft_type type) {
    wi_mpi *const m = wi_mpi_of(ctx);
    int error;
    m->under_way = m->requests;
    m->under_way_count = 0;
    if (turns_of(ctx, sent, got) > 1)
        return exchange(ctx, from, sent, false, to, got, type);
    const weft_status status = wi_mpi_begin(ctx);
    if (status != WEFT_OK)
        return status;
    const weft_status own = copy_own(ctx, from, sent, false, to, got, type);
    const int count = begin_pieces(ctx, from, sent, false, to, got, type, 0, &error);
    m->under_way_count = count < 0 ? 0 : count;
    return count < 0 ? wi_mpi_failed(ctx, error) : own;
}

static weft_status poll_behind(weft_context *ctx, bool wait, bool *over) {
    wi_mpi *const m = wi_mpi_of(ctx);
    weft_status status = wi_mpi_begin(ctx);
    int done = 1;
    if (status == WEFT_OK && wait)
        status = wi_mpi_wait(ctx, m->under_way, m->under_way_count);
    else if (status == WEFT_OK)
        MPI_Testall(m->under_way_count, m->under_way, &done, MPI_STATUSES_IGNORE);
    *over = done;
    if (done)
        m->under_way_count = 0;
    return status;
}

static weft_status look(weft_context *ctx, weft_status status) {
    return status == WEFT_OK ? wi_mpi_look(ctx) : status;
}

const wi_comm_table wi_comm_mpi = {.name = "mpi",
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
                                   .begin_broadcast = begin_broadcast,
                                   .begin_exchange = begin_exchange,
                                   .poll = poll_behind,
                                   .look = look,
                                   .split = wi_comm_mpi_split,
                                   .close = wi_comm_mpi_close};
