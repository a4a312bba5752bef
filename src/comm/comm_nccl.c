/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a step goes by NCCL is decided by all ranks together, for it must be the same on all: a
 * small all-reduce of the backend below tells whether each has its arrays on its GPU. The first
 * such step opens NCCL. A step is queued on the rank's stream and waited for, with an eye on ranks
 * that have failed. */
#include "comm/comm_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "comm/nccl.h"
#include "core/gpu.h"

#ifdef WEFT_CUDA

#    include <sched.h>

enum {
#    ifdef WEFT_EMU
    LEAST_BYTES = 1 << 14, /* so that tests are short */
#    else
    LEAST_BYTES = 1 << 20, /* less is as fast without, */
#    endif
    LEAST_REDUCED = 1 << 14, /* but for reductions, which a processor does there */
    FILE_BYTES = 1024,
    SPINS = 1000,
    LOOK_TURNS = 4096
};

typedef enum nccl_state {
    UNTRIED,
    OPEN,
    NONE,  /* on all ranks */
    FAILED /* it was open, and may be on others */
} nccl_state;

struct wi_nccl {
    nccl_state state;
    const wi_nccl_library *library;
    void *comm;
    char file[FILE_BYTES]; /* that WEFT_NCCL names; or "" */
    char why[WI_NCCL_WHY_BYTES];
    char about[WI_NCCL_WHY_BYTES + 64];
};

static struct wi_nccl *nccl_of(const weft_context *ctx) {
    return ctx->comm->nccl;
}

/* ---- opening ---- */

static void say_why(struct wi_nccl *m, const char *what, int result) {
    snprintf(m->why, sizeof m->why, "%s: %.100s", what, m->library->error(result));
}

/* Leaves NCCL without a word to the other ranks. */
static weft_status give_up(weft_context *ctx, nccl_state state, const char *otherwise) {
    struct wi_nccl *const m = nccl_of(ctx);
    if (m->comm)
        m->library->leave(m->comm);
    m->comm = NULL;
    wi_nccl_unload(m->library);
    m->library = NULL;
    m->state = state;
    if (!*m->why)
        snprintf(m->why, sizeof m->why, "%s", otherwise);
    return WEFT_OK;
}

/* Rank 0 makes the name of the communicator, and all join it. */
static weft_status join(weft_context *ctx) {
    struct wi_nccl *const m = nccl_of(ctx);
    const wi_comm *const comm = ctx->comm;
    wi_nccl_id id = {{0}};
    int before, result = WI_NCCL_OK;
    bool well;
    if (comm->rank == 0)
        result = m->library->unique_id(&id);
    if (result != WI_NCCL_OK)
        say_why(m, "ncclGetUniqueId", result);
    weft_status status = wi_comm_all_say(ctx, result == WI_NCCL_OK, &well);
    if (status != WEFT_OK || !well)
        return status == WEFT_OK ? give_up(ctx, NONE, "rank 0 cannot open it") : status;
    status = ctx->comm->below->broadcast(ctx, id.bytes, sizeof id.bytes, WEFT_U8, 0);
    if (status != WEFT_OK)
        return status;
    const bool entered = wi_gpu_enter(ctx->child, &before) == WEFT_OK;
    if (entered) {
        result = m->library->init_rank(&m->comm, comm->size, id, comm->rank);
        wi_gpu_leave(ctx->child, before);
    }
    if (result != WI_NCCL_OK) {
        m->comm = NULL;
        say_why(m, "ncclCommInitRank", result);
    }
    status = wi_comm_all_say(ctx, entered && result == WI_NCCL_OK, &well);
    if (status == WEFT_OK && well)
        m->state = OPEN;
    return status == WEFT_OK && !well ? give_up(ctx, NONE, "another rank cannot open it") : status;
}

static weft_status open_nccl(weft_context *ctx) {
    struct wi_nccl *const m = nccl_of(ctx);
    bool well;
    m->library = wi_nccl_load(m->file, m->why);
    const weft_status status = wi_comm_all_say(ctx, m->library != NULL, &well);
    if (status != WEFT_OK)
        return status;
    return well ? join(ctx) : give_up(ctx, NONE, "another rank does not have it");
}

/* ---- steps ---- */

static int nccl_type(weft_type type) {
    switch (type) {
    case WEFT_I8:
        return WI_NCCL_I8;
    case WEFT_U8:
        return WI_NCCL_U8;
    case WEFT_I32:
        return WI_NCCL_I32;
    case WEFT_U32:
        return WI_NCCL_U32;
    case WEFT_I64:
        return WI_NCCL_I64;
    case WEFT_U64:
        return WI_NCCL_U64;
    case WEFT_F32:
        return WI_NCCL_F32;
    case WEFT_F64:
        return WI_NCCL_F64;
    default:
        return -1;
    }
}

static int nccl_op(weft_op op) {
    switch (op) {
    case WEFT_SUM:
        return WI_NCCL_SUM;
    case WEFT_PRODUCT:
        return WI_NCCL_PRODUCT;
    case WEFT_MIN:
        return WI_NCCL_MIN;
    case WEFT_MAX:
        return WI_NCCL_MAX;
    default:
        return -1;
    }
}

static bool reduces(wi_comm_kind kind) {
    return kind == WI_COMM_REDUCE || kind == WI_COMM_ALL_REDUCE || kind == WI_COMM_REDUCE_SCATTER;
}

/* Can NCCL do it? Of a floating-point reduction only a sum is ours, as of all backends. */
static bool can(const wi_comm_step *s) {
    if (s->kind == WI_COMM_EXSCAN || s->kind == WI_COMM_SEND || s->kind == WI_COMM_RECV)
        return false;
    if (!reduces(s->kind))
        return true;
    const bool summed = !wi_type_is_float(s->type) || s->op == WEFT_SUM;
    return summed && nccl_type(s->type) >= 0 && nccl_op(s->op) >= 0;
}

/* Elements that tell, alike on all ranks, whether it is worth it. Of an exchange ranks do not know
 * how much the others have, so the largest count decides. */
static weft_status find_size(weft_context *ctx, const wi_comm_step *s, uint64_t *size) {
    const size_t from = wi_comm_elements(&s->from), to = wi_comm_elements(&s->to);
    const uint64_t own = from > to ? from : to;
    *size = own;
    return s->kind == WI_COMM_ALL_TO_ALL_V
               ? ctx->comm->below->all_reduce(ctx, &own, size, 1, WEFT_U64, WEFT_MAX)
               : WEFT_OK;
}

/* Is the step one for NCCL? The answer is the same on all ranks. */
static weft_status choose(weft_context *ctx, const wi_comm_step *s, bool *yes) {
    struct wi_nccl *const m = nccl_of(ctx);
    const size_t least = reduces(s->kind) ? LEAST_REDUCED : LEAST_BYTES;
    uint64_t size = 0;
    *yes = false;
    if (m->state == NONE || ctx->comm->broken || !can(s) || s->from.counts == ctx->comm->ones)
        return WEFT_OK; /* an exchange of `ones` is one of counts */
    weft_status status = find_size(ctx, s, &size);
    if (status != WEFT_OK || size < least / weft_type_size(s->type))
        return status;
    const bool own =
        m->state != FAILED && wi_comm_on_gpu(ctx, &s->from) && wi_comm_on_gpu(ctx, &s->to);
    status = wi_comm_all_say(ctx, own, yes);
    if (status == WEFT_OK && *yes && m->state == UNTRIED)
        status = open_nccl(ctx);
    *yes = *yes && m->state == OPEN;
    return status;
}

/* ---- by NCCL ---- */

/* Sends and receives what each pair of ranks has for each other, as bytes. */
static int queue_exchange(weft_context *ctx, const wi_comm_step *s, void *stream) {
    const struct wi_nccl *const m = nccl_of(ctx);
    const size_t size = weft_type_size(s->type);
    const bool same = s->kind == WI_COMM_ALL_GATHER_V; /* every rank gets the same */
    const char *from = s->from.p;
    char *to = s->to.p;
    int result = m->library->group_start();
    for (int r = 0; r < ctx->comm->size && result == WI_NCCL_OK; r++) {
        const size_t sent = same ? s->from.count : s->from.counts[r], got = s->to.counts[r];
        if (sent > 0)
            result = m->library->send(from, sent * size, WI_NCCL_U8, r, m->comm, stream);
        if (got > 0 && result == WI_NCCL_OK)
            result = m->library->recv(to, got * size, WI_NCCL_U8, r, m->comm, stream);
        from += same ? 0 : sent * size;
        to += got * size;
    }
    const int ended = m->library->group_end();
    return result == WI_NCCL_OK ? ended : result;
}

static int queue_step(weft_context *ctx, const wi_comm_step *s, void *stream) {
    const struct wi_nccl *const m = nccl_of(ctx);
    const wi_nccl_library *const l = m->library;
    const int type = nccl_type(s->type), op = nccl_op(s->op);
    const size_t n = (s->from.p ? &s->from : &s->to)->count, bytes = n * weft_type_size(s->type);
    char *const from = s->from.p, *const to = s->to.p, *const data = from ? from : to;
    switch (s->kind) {
    case WI_COMM_BROADCAST:
        return l->broadcast(data, data, bytes, WI_NCCL_U8, s->other, m->comm, stream);
    case WI_COMM_REDUCE:
        return l->reduce(from, to, n, type, op, s->other, m->comm, stream);
    case WI_COMM_ALL_REDUCE:
        return l->all_reduce(from, to, n, type, op, m->comm, stream);
    case WI_COMM_ALL_GATHER:
        return l->all_gather(from, to, bytes, WI_NCCL_U8, m->comm, stream);
    case WI_COMM_REDUCE_SCATTER:
        return l->reduce_scatter(from, to, n, type, op, m->comm, stream);
    default:
        return queue_exchange(ctx, s, stream);
    }
}

static weft_status nccl_failed(weft_context *ctx, int result) {
    struct wi_nccl *const m = nccl_of(ctx);
    char why[WI_MESSAGE_BYTES];
    say_why(m, "NCCL", result);
    snprintf(why, sizeof why, "rank %d: %s", ctx->comm->rank, m->why);
    give_up(ctx, FAILED, "");
    const weft_status status = wi_comm_break(ctx, why);
    ctx->comm->below->look(ctx, status);
    return status;
}

/* Waits for the stream; if a rank has failed, or NCCL has, the communicator is broken. */
static weft_status wait(weft_context *ctx) {
    const struct wi_nccl *const m = nccl_of(ctx);
    const cudaEvent_t event = ctx->gpu->order;
    for (unsigned turn = 1;; turn++) {
        const cudaError_t error = cudaEventQuery(event);
        if (error == cudaSuccess)
            return WEFT_OK;
        if (error != cudaErrorNotReady)
            return wi_cuda(ctx, error, "communication by NCCL");
        cudaGetLastError();
        if (turn > SPINS)
            sched_yield();
        if (turn % LOOK_TURNS != 0)
            continue;
        int result = WI_NCCL_OK;
        const int asked = m->library->async_error(m->comm, &result);
        if (asked != WI_NCCL_OK || (result != WI_NCCL_OK && result != WI_NCCL_IN_PROGRESS))
            return nccl_failed(ctx, asked != WI_NCCL_OK ? asked : result);
        const weft_status status = ctx->comm->below->look(ctx, WEFT_OK);
        if (status != WEFT_OK) {
            give_up(ctx, FAILED, "a rank has failed");
            return status;
        }
    }
}

static weft_status queue_and_wait(weft_context *ctx, const wi_comm_step *s) {
    int before;
    weft_status status = wi_local(ctx, wi_gpu_enter(ctx->child, &before));
    if (status != WEFT_OK)
        return status;
    const cudaStream_t stream = ctx->child->gpu->stream;
    const int result = queue_step(ctx, s, stream);
    if (result != WI_NCCL_OK)
        status = nccl_failed(ctx, result);
    if (status == WEFT_OK)
        status = wi_cuda(ctx, cudaEventRecord(ctx->child->gpu->order, stream),
                         "marking communication by NCCL");
    if (status == WEFT_OK)
        status = wait(ctx);
    wi_gpu_leave(ctx->child, before);
    ctx->comm->carried = "nccl";
    return status;
}

weft_status wi_comm_nccl_run(weft_context *ctx, const wi_comm_step *s, bool *taken) {
    const weft_status status = choose(ctx, s, taken);
    return status == WEFT_OK && *taken ? queue_and_wait(ctx, s) : status;
}

void wi_comm_nccl_open(weft_context *rank) {
    wi_comm *const comm = rank->comm;
    struct wi_nccl *const m = wi_host_alloc(sizeof *m);
    if (!m)
        return;
    *m = (struct wi_nccl){.state = UNTRIED};
    const char *const wish = getenv("WEFT_NCCL");
    if (wish)
        snprintf(m->file, sizeof m->file, "%s", wish);
    comm->nccl = m;
    wi_comm_layers_open(rank, false);
}

weft_status wi_comm_nccl_end(weft_context *rank) {
    struct wi_nccl *const m = rank->comm->nccl;
    bool all_open;
    if (!m || (m->state != OPEN && m->state != FAILED))
        return WEFT_OK;
    const weft_status status = wi_comm_all_say(rank, m->state == OPEN, &all_open);
    if (all_open)
        m->library->destroy(m->comm);
    m->comm = all_open ? NULL : m->comm;
    give_up(rank, NONE, "it has been closed");
    return status;
}

void wi_comm_nccl_close(weft_context *rank) {
    struct wi_nccl *const m = rank->comm->nccl;
    if (!m)
        return;
    give_up(rank, NONE, "");
    rank->comm->nccl = NULL;
    wi_host_free(m);
}

const char *wi_comm_nccl_about(const weft_context *rank) {
    struct wi_nccl *const m = rank->comm->nccl;
    if (!m)
        return "";
    if (m->state >= NONE)
        snprintf(m->about, sizeof m->about, "not by NCCL: %s", m->why);
    else
        snprintf(m->about, sizeof m->about, "%s",
                 m->state == OPEN ? "large steps by NCCL" : "NCCL not needed so far");
    return m->about;
}

#else

weft_status wi_comm_nccl_run(weft_context *ctx, const wi_comm_step *s, bool *taken) {
    (void)ctx;
    (void)s;
    *taken = false;
    return WEFT_OK;
}

void wi_comm_nccl_open(weft_context *rank) {
    (void)rank;
}

weft_status wi_comm_nccl_end(weft_context *rank) {
    (void)rank;
    return WEFT_OK;
}

void wi_comm_nccl_close(weft_context *rank) {
    (void)rank;
}

const char *wi_comm_nccl_about(const weft_context *rank) {
    (void)rank;
    return "";
}
#endif
