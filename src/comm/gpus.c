/* SPDX-License-Identifier: Apache-2.0 */
/* Opens places of several GPUs, and gives their calls to all of them. */
#include "comm/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_mailbox.h"
#include "comm/comm_nccl.h"
#include "comm/comm_peer.h"
#include "core/cores.h"
#include "core/gpu.h"
#include "cpu/team.h"

#ifdef WEFT_EMU
#    define GPU "emu"
#else
#    define GPU "gpu"
#endif

enum {
    LEAST_BYTES = 4 << 20, /* less is done faster by one GPU: waking the others costs tens of µs */
    LARGE_BYTES = 1 << 16, /* shares of arrays at least so large begin at round numbers */
    ROUND = 4096,
    MOST_NUMBER = 9999 /* of a GPU in a list */
};

struct wi_gpus {
    int count;
    wi_dealt *dealt;
    wi_peer_room *room;
    wi_mailboxes *mail;   /* or NULL */
    weft_context callers; /* only what a team of threads needs: one thread for each GPU */
    char about[WI_MESSAGE_BYTES];
    weft_context *rank[WI_MOST_GPUS];
};

/* ---- opening ---- */

/* Reads "0,2" into `numbers`. */
static weft_status read_list(weft_context *ctx, const char *source, const char *list, int numbers[],
                             int *count) {
    const char *at = list;
    for (*count = 0; *at; (*count)++) {
        char *end;
        const long number = strtol(at, &end, 10);
        const bool ends = *end == '\0' || (*end == ',' && end[1] != '\0');
        const bool digits = *at >= '0' && *at <= '9' && number <= MOST_NUMBER;
        if (!digits || !ends || *count == WI_MOST_GPUS)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: \"%.64s\" is not a list of GPUs; write \"" GPU "s:0,2\" with "
                           "1 to %d different numbers, or \"" GPU "s\" for all",
                           source, list, WI_MOST_GPUS);
        for (int k = 0; k < *count; k++) {
            if (numbers[k] == number)
                return wi_fail(ctx, WEFT_EARG,
                               "%s: place \"" GPU "s:%.64s\" names GPU %ld twice; name it once",
                               source, list, number);
        }
        numbers[*count] = (int)number;
        at = *end ? end + 1 : end;
    }
    return WEFT_OK;
}

/* Opens an ordinary context of GPU `number`. */
static weft_status open_child(weft_context *ctx, int number, weft_context **child) {
    char place[WI_PLACE_BYTES];
    snprintf(place, sizeof place, GPU ":%d", number);
    const weft_status status = weft_open(child, place);
    return status == WEFT_OK ? status : wi_fail(ctx, status, "%s", weft_message(NULL));
}

/* Opens all GPUs that can be opened; fails only if none can. */
static weft_status open_all(weft_context *ctx, int visible, weft_context *child[], int *count) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < visible && *count < WI_MOST_GPUS; k++) {
        const weft_status opened = open_child(ctx, k, &child[*count]);
        status = opened == WEFT_OK ? status : opened;
        *count += opened == WEFT_OK;
    }
    return *count > 0 ? WEFT_OK : status;
}

static weft_status open_children(weft_context *ctx, const char *source, const char *list,
                                 weft_context *child[], int *count) {
    int numbers[WI_MOST_GPUS] = {0}, wanted = 0;
    weft_status status = read_list(ctx, source, list, numbers, &wanted);
    if (status != WEFT_OK)
        return status;
    const int visible = wi_gpu_visible();
    if (visible == 0)
        return open_child(ctx, 0, child); /* which says why there is none */
    if (wanted == 0)
        return open_all(ctx, visible, child, count);
    for (int k = 0; k < wanted; k++) {
        if (numbers[k] >= visible)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: place \"" GPU "s:%.64s\" names GPU %d, and this machine has %d, "
                           "numbered from 0; name those that it has",
                           source, list, numbers[k], visible);
    }
    for (; *count < wanted && status == WEFT_OK; *count += status == WEFT_OK)
        status = open_child(ctx, numbers[*count], &child[*count]);
    return status;
}

/* The distributed context of one rank, which owns `child`. */
static weft_status open_rank(weft_context *ctx, int rank, weft_context *child) {
    weft_context *const r = wi_host_alloc(sizeof *r);
    wi_comm *const comm = wi_host_alloc(sizeof *comm);
    if (!r || !comm) {
        wi_host_free(r);
        wi_host_free(comm);
        weft_close(child);
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for a communicator");
    }
    *comm = (wi_comm){.call = "weft_open"};
    *r = (weft_context){.kind = child->kind,
                        .threads = child->threads,
                        .device = child->device,
                        .machine = child->machine,
                        .tracer = child->tracer,
                        .gpu = child->gpu,
                        .team = child->team,
                        .comm = comm,
                        .child = child,
                        .gpus = ctx->gpus};
    memcpy(r->place, child->place, sizeof r->place);
    ctx->gpus->rank[rank] = r;
    wi_comm_peer_open(r, ctx->gpus->room, rank);
    if (r->comm->size > 1) {
        wi_comm_nccl_open(r);
        wi_comm_mailbox_open(r, ctx->gpus->mail);
    }
    const weft_status status = wi_dist_room(r, "weft_open");
    return status == WEFT_OK ? status : wi_fail(ctx, status, "%s", r->message);
}

static weft_status open_callers(weft_context *ctx, int count) {
    struct wi_gpus *const gpus = ctx->gpus;
    gpus->room = wi_peer_room_open(count);
    gpus->mail = wi_mailboxes_open(count);
    gpus->callers.threads = count;
    gpus->callers.team = wi_team_open(count);
    if (!gpus->room || !gpus->callers.team)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for %d threads", count);
    return WEFT_OK;
}

/* Makes the user's context one of the first GPU. */
static void become_first(weft_context *ctx) {
    const weft_context *const first = ctx->gpus->rank[0]->child;
    ctx->kind = first->kind;
    ctx->threads = first->threads;
    ctx->device = first->device;
    ctx->machine = first->machine;
    ctx->tracer = first->tracer;
    ctx->gpu = first->gpu;
    ctx->team = first->team;
}

static void describe(weft_context *ctx) {
    struct wi_gpus *const gpus = ctx->gpus;
    char numbers[WI_PLACE_BYTES] = "", number[16];
    const char *why;
    for (int r = 0; r < gpus->count; r++) {
        snprintf(number, sizeof number, "%d", gpus->rank[r]->device);
        wi_append(numbers, sizeof numbers, ",", number);
    }
    snprintf(ctx->place, sizeof ctx->place, GPU "s:%.50s", numbers);
    const bool reach = wi_dealt_reaches(gpus->dealt, &why);
    if (gpus->count == 1)
        snprintf(gpus->about, sizeof gpus->about, "self");
    else if (reach)
        snprintf(gpus->about, sizeof gpus->about, "peer: %d GPUs, which reach each other's memory",
                 gpus->count);
    else
        snprintf(gpus->about, sizeof gpus->about, "peer: %d GPUs; %s", gpus->count, why);
}

/* Children share the host's threads, which stage their parts of host arrays. */
static void share_threads(weft_context *const child[], int count) {
    for (int k = 0; k < count; k++) {
        const int share = child[k]->threads / count;
        child[k]->threads = share > 1 ? share : 1;
    }
}

weft_status wi_gpus_open(weft_context *ctx, const char *source, const char *list) {
    weft_context *child[WI_MOST_GPUS] = {NULL};
    int count = 0, owned = 0;
    struct wi_gpus *const gpus = wi_host_alloc(sizeof *gpus);
    if (!gpus)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a place of several GPUs", source);
    memset(gpus, 0, sizeof *gpus);
    ctx->gpus = gpus;
    weft_status status = open_children(ctx, source, list, child, &count);
    const int threads = count > 0 ? child[0]->threads : 1;
    if (status == WEFT_OK)
        status = open_callers(ctx, count);
    if (status == WEFT_OK)
        share_threads(child, count);
    while (owned < count && status == WEFT_OK) {
        status = open_rank(ctx, owned, child[owned]);
        owned++;
        gpus->count += gpus->rank[owned - 1] != NULL; /* also if it failed: it is closed with ctx */
    }
    for (int k = owned; k < count; k++)
        weft_close(child[k]);
    if (status == WEFT_OK)
        status = wi_dealt_open(ctx, child, count, &gpus->dealt);
    if (status != WEFT_OK)
        return status;
    become_first(ctx);
    ctx->threads = threads;
    describe(ctx);
    return WEFT_OK;
}

static weft_status end_nccl(weft_context *rank, void *user) {
    (void)user;
    return wi_comm_nccl_end(rank);
}

void wi_gpus_close(weft_context *ctx) {
    struct wi_gpus *const gpus = ctx->gpus;
    if (gpus->count > 1 && gpus->callers.team && ctx->gpu)
        wi_gpus_run(ctx, NULL, "weft_close", end_nccl, NULL);
    wi_team_close(gpus->callers.team);
    wi_mailboxes_close(gpus->mail);
    for (int r = 0; r < gpus->count; r++) {
        weft_context *const rank = gpus->rank[r];
        wi_comm_nccl_close(rank);
        weft_close(rank->child);
        wi_host_free(rank->comm->words);
        wi_host_free(rank->comm);
        wi_host_free(rank);
    }
    wi_peer_room_close(gpus->room);
    wi_dealt_close(gpus->dealt);
    wi_host_free(gpus);
    ctx->gpus = NULL;
}

int wi_gpus_count(const weft_context *ctx) {
    return ctx->gpus->count;
}

wi_dealt *wi_gpus_dealt(const weft_context *ctx) {
    return ctx->gpus->dealt;
}

weft_context *wi_gpus_rank(const weft_context *ctx, int rank) {
    return ctx->gpus->rank[rank];
}

const char *wi_gpus_about(const weft_context *ctx) {
    return ctx->gpus->about;
}

/* ---- shares ---- */

bool wi_gpus_forced(weft_context *ctx, const wi_ladder *ladder) {
    if (!wi_is_gpus(ctx) || wi_gpu_capturing(ctx))
        return false;
    const wi_row *const forced = wi_forced_row(ctx, ladder);
    return forced && forced->scope == WI_DISTRIBUTED;
}

bool wi_gpus_wanted(weft_context *ctx, const wi_ladder *ladder, const void *p, size_t n,
                    size_t width) {
    const char *begin;
    size_t block;
    if (!wi_is_gpus(ctx) || wi_gpu_capturing(ctx))
        return false;
    if (wi_gpus_forced(ctx, ladder))
        return true;
    if (ctx->gpus->count == 1 || n * width < LEAST_BYTES)
        return false;
    return wi_dealt_find(ctx->gpus->dealt, p, &begin, &block) || wi_is_host(ctx, p);
}

/* The first element of a rank's share of n elements at p, part of memory at `begin` of which each
 * GPU in turn holds a block: the first that begins in the rank's block. */
static size_t dealt_begin(const char *begin, size_t block, const char *p, size_t n, size_t width,
                          int rank) {
    const char *const from = begin + (size_t)rank * block;
    if (from <= p)
        return 0;
    const size_t elements = ((size_t)(from - p) + width - 1) / width;
    return elements < n ? elements : n;
}

static size_t even_begin(size_t n, size_t width, int rank, int count) {
    const size_t begin =
        n / (size_t)count * (size_t)rank + n % (size_t)count * (size_t)rank / (size_t)count;
    return n / (size_t)count * width >= LARGE_BYTES ? begin / ROUND * ROUND : begin;
}

wi_share wi_gpus_share(const weft_context *rank, const void *p, size_t n, size_t width) {
    struct wi_gpus *const gpus = rank->gpus;
    const int r = rank->comm->rank, count = gpus->count;
    size_t ends[2], block = 0;
    const char *begin = NULL;
    const bool dealt = width > 0 && wi_dealt_find(gpus->dealt, p, &begin, &block);
    for (int k = 0; k < 2; k++) {
        if (r + k == 0 || r + k == count)
            ends[k] = r + k == 0 ? 0 : n;
        else
            ends[k] = dealt ? dealt_begin(begin, block, p, n, width, r + k)
                            : even_begin(n, width, r + k, count);
    }
    return (wi_share){ends[0], ends[1] - ends[0]};
}

/* ---- running ---- */

/* A call that all ranks are making. */
typedef struct job {
    weft_context *ctx;
    const char *call;
    wi_gpus_part part;
    void *user;
    weft_status status[WI_MOST_GPUS];
} job;

static void make_call(void *user, int r, int size) {
    job *const j = user;
    weft_context *const rank = j->ctx->gpus->rank[r];
    if (size < j->ctx->gpus->count) { /* the others would never come */
        j->status[r] = wi_fail(rank, WEFT_ENOMEM,
                               "%s: the system gives %d threads, and %d GPUs need as many; raise "
                               "the limit on threads",
                               j->call, size, j->ctx->gpus->count);
        return;
    }
    rank->comm->broken = rank->comm->left = false;
    rank->comm->call = j->call;
    weft_status status = j->part(rank, j->user);
    const weft_status done = wi_gpu_wait_queued(rank->child);
    if (status == WEFT_OK && done != WEFT_OK)
        status = wi_local(rank, done);
    if (status != WEFT_OK) {
        wi_comm_mailbox_leave(rank);
        wi_comm_peer_leave(rank, status);
    }
    j->status[r] = status;
}

/* The rank whose failure the user is told of: the first that did not fail because of another. */
static int told_rank(const job *j, int count) {
    int told = -1;
    for (int r = 0; r < count; r++) {
        if (j->status[r] == WEFT_OK)
            continue;
        if (j->status[r] != WEFT_ECOMM)
            return r;
        told = told < 0 ? r : told;
    }
    return told;
}

weft_status wi_gpus_run(weft_context *ctx, const wi_ladder *ladder, const char *call,
                        wi_gpus_part part, void *user) {
    struct wi_gpus *const gpus = ctx->gpus;
    job j = {.ctx = ctx, .call = call, .part = part, .user = user};
    const weft_status status = wi_gpu_wait_queued(ctx); /* it may write to the arrays */
    if (status != WEFT_OK)
        return status;
    wi_peer_room_clear(gpus->room);
    wi_mailboxes_clear(gpus->mail);
    wi_team_run_together(&gpus->callers, gpus->count, make_call, &j);
    const int told = told_rank(&j, gpus->count);
    if (told >= 0)
        return wi_fail(ctx, j.status[told], "%s", gpus->rank[told]->message);
    if (ladder)
        wi_take_used(ctx, ladder, gpus->rank[0]);
    return WEFT_OK;
}

weft_status wi_gpus_put(weft_context *rank, weft_status status, void *to, const void *from,
                        size_t n, size_t width, uint64_t *total) {
    uint64_t before = 0;
    *total = 0;
    status = wi_agree(rank, 0, status);
    if (status == WEFT_OK)
        status = wi_all_counts(rank, n, &before, total);
    if (status == WEFT_OK && n > 0 && from)
        status =
            wi_local(rank, weft_copy(rank->child, (char *)to + before * width, from, n * width));
    return wi_agree(rank, 0, status);
}

/* ---- memory ---- */

weft_status wi_gpus_alloc(weft_context *ctx, void **memory, size_t bytes) {
    const char *why;
    wi_dealt *const dealt = ctx->gpus->dealt;
    const bool deals = wi_dealt_reaches(dealt, &why) && ctx->gpus->count > 1 &&
                       bytes >= wi_dealt_least(dealt) && !wi_gpu_capturing(ctx);
    return deals ? wi_dealt_take(ctx, dealt, memory, bytes) : wi_gpu_alloc(ctx, memory, bytes);
}

weft_status wi_gpus_free(weft_context *ctx, void *memory) {
    const char *begin;
    size_t block;
    bool found;
    if (!wi_dealt_find(ctx->gpus->dealt, memory, &begin, &block) || begin != memory)
        return wi_gpu_free(ctx, memory);
    const weft_status status = wi_gpu_wait_queued(ctx); /* it may use the memory */
    if (status != WEFT_OK)
        return status;
    return wi_dealt_give(ctx, ctx->gpus->dealt, memory, &found);
}

typedef struct copying {
    char *to;
    const char *from;
    const void *guide; /* `to` or `from`: the one whose blocks say which GPU copies what */
    size_t bytes;
} copying;

static weft_status copy_share(weft_context *rank, void *user) {
    const copying *const c = user;
    const wi_share s = wi_gpus_share(rank, c->guide, c->bytes, 1);
    return wi_local(rank, weft_copy(rank->child, c->to + s.first, c->from + s.first, s.n));
}

/* Every GPU copies what it holds. */
weft_status wi_gpus_copy(weft_context *ctx, void *to, const void *from, size_t bytes) {
    const char *begin;
    size_t block;
    const bool there = wi_dealt_find(ctx->gpus->dealt, to, &begin, &block),
               here = wi_dealt_find(ctx->gpus->dealt, from, &begin, &block);
    if (bytes < LEAST_BYTES || ctx->gpus->count == 1 || !(there || here) || wi_gpu_capturing(ctx))
        return wi_gpu_copy(ctx, to, from, bytes);
    copying c = {to, from, there ? to : from, bytes};
    return wi_gpus_run(ctx, NULL, "weft_copy", copy_share, &c);
}
