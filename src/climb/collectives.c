/* SPDX-License-Identifier: Apache-2.0 */
/* Element i of what rank r sends is SPREAD * r + i, of 32 bits, so that each place of the output
 * tells what should be there. */
#include "climb/collectives.h"

#include <string.h>

#include "climb/meter.h"
#include "comm/comm_mailbox.h"
#include "comm/dist.h"

enum {
    SPREAD = 7919,
    MOST_SAMPLES = 51
};

typedef struct rig {
    weft_context *rank;
    const wi_step *step;
    size_t n;            /* elements of a message, or of all blocks */
    size_t from_n, to_n; /* elements of this rank's arrays */
    void *from, *to;     /* of this rank's place, or of the host */
    void *host[2]; /* copies of them in host memory, if communication needs that; and checks */
    bool device;   /* this rank's arrays are memory of its GPU */
    bool staged;   /* they go through host[] */
    size_t *each;  /* n / ranks for each rank */
    const char *carried; /* the way that took the step; NULL: the backend itself */
} rig;

const char *wi_step_name(wi_step_kind kind) {
    static const char *const names[WI_STEP_KINDS] = {"message",        "all-reduce", "all-gather",
                                                     "reduce-scatter", "reduce",     "broadcast",
                                                     "all-to-all"};
    return names[kind];
}

static size_t ranks_of(const rig *g) {
    return (size_t)g->rank->comm->size;
}

static bool takes_part(const rig *g) {
    const int rank = g->rank->comm->rank;
    return g->step->kind != WI_STEP_MESSAGE || rank == g->step->a || rank == g->step->b;
}

/* ---- memory ---- */

static weft_status take(rig *g, size_t n, void **p) {
    weft_context *const child = g->rank->child;
    const size_t bytes = n * sizeof(uint32_t);
    if (!g->device)
        return wi_dist_take(g->rank, n, sizeof(uint32_t), p);
    return wi_local(g->rank, weft_alloc(child, p, bytes));
}

static void give(const rig *g, void *p) {
    if (g->device)
        weft_free(g->rank->child, p);
    else
        wi_host_free(p);
}

/* Copies between an array of the rank and its copy in host memory. */
static weft_status move(const rig *g, void *to, const void *from, size_t n) {
    weft_context *const child = g->rank->child;
    const weft_status status = weft_copy(child, to, from, n * sizeof(uint32_t));
    return wi_local(g->rank, status == WEFT_OK ? weft_sync(child) : status);
}

static void lay_out(rig *g) {
    const size_t ranks = ranks_of(g), block = g->step->bytes / sizeof(uint32_t) / ranks;
    const wi_step_kind kind = g->step->kind;
    g->n = block > 0 ? block * ranks : ranks;
    if (kind == WI_STEP_MESSAGE)
        g->n = g->step->bytes / sizeof(uint32_t) > 0 ? g->step->bytes / sizeof(uint32_t) : 1;
    g->from_n = kind == WI_STEP_ALL_GATHER ? g->n / ranks : g->n;
    g->to_n = kind == WI_STEP_REDUCE_SCATTER ? g->n / ranks : g->n;
    g->device = g->step->device[kind == WI_STEP_MESSAGE && g->rank->comm->rank == g->step->b];
    g->staged = g->device && !g->rank->comm->calls->device;
}

/* What this rank sends; of a broadcast and a message only the sender has anything. */
static void fill(const rig *g, uint32_t *x) {
    const int rank = g->rank->comm->rank;
    const bool silent = g->step->kind == WI_STEP_BROADCAST && rank != 0;
    for (size_t i = 0; i < g->from_n; i++)
        x[i] = silent ? 0 : (uint32_t)(SPREAD * (size_t)rank + i);
}

static weft_status open_rig(rig *g) {
    weft_status status = wi_dist_take(g->rank, ranks_of(g), sizeof *g->each, (void **)&g->each);
    for (size_t r = 0; r < ranks_of(g) && status == WEFT_OK; r++)
        g->each[r] = g->n / ranks_of(g);
    if (status == WEFT_OK)
        status = take(g, g->from_n, &g->from);
    if (status == WEFT_OK)
        status = take(g, g->to_n, &g->to);
    if (status == WEFT_OK)
        status = wi_dist_take(g->rank, g->from_n, sizeof(uint32_t), &g->host[0]);
    if (status == WEFT_OK)
        status = wi_dist_take(g->rank, g->to_n, sizeof(uint32_t), &g->host[1]);
    if (status != WEFT_OK)
        return status;
    fill(g, g->host[0]);
    return move(g, g->from, g->host[0], g->from_n);
}

static void close_rig(rig *g) {
    give(g, g->from);
    give(g, g->to);
    wi_host_free(g->host[0]);
    wi_host_free(g->host[1]);
    wi_host_free(g->each);
}

/* ---- steps ---- */

static weft_status exchange_messages(const rig *g, const void *from, void *to) {
    const wi_comm *const comm = g->rank->comm;
    const bool first = comm->rank == g->step->a;
    const int other = first ? g->step->b : g->step->a;
    const wi_comm_table *const calls = comm->calls;
    if (!takes_part(g))
        return WEFT_OK;
    if (first) {
        const weft_status status = calls->send(g->rank, from, g->n, WEFT_U32, other);
        return status == WEFT_OK ? calls->recv(g->rank, to, g->n, WEFT_U32, other) : status;
    }
    const weft_status status = calls->recv(g->rank, to, g->n, WEFT_U32, other);
    return status == WEFT_OK ? calls->send(g->rank, from, g->n, WEFT_U32, other) : status;
}

static weft_status communicate(const rig *g, void *from, void *to) {
    const wi_comm_table *const calls = g->rank->comm->calls;
    weft_context *const rank = g->rank;
    switch (g->step->kind) {
    case WI_STEP_ALL_REDUCE:
        return calls->all_reduce(rank, from, to, g->n, WEFT_U32, WEFT_SUM);
    case WI_STEP_ALL_GATHER:
        return calls->all_gather(rank, from, to, g->from_n, WEFT_U32);
    case WI_STEP_REDUCE_SCATTER:
        return calls->reduce_scatter(rank, from, to, g->to_n, WEFT_U32, WEFT_SUM);
    case WI_STEP_REDUCE:
        return calls->reduce(rank, from, to, g->n, WEFT_U32, WEFT_SUM, 0);
    case WI_STEP_BROADCAST:
        return calls->broadcast(rank, from, g->n, WEFT_U32, 0);
    case WI_STEP_ALL_TO_ALL:
        return calls->all_to_all_v(rank, from, g->each, to, g->each, WEFT_U32);
    default:
        return exchange_messages(g, from, to);
    }
}

/* The step as a rung would make it: through host memory if communication takes no other. */
static weft_status run(const rig *g) {
    const bool spreads = g->step->kind == WI_STEP_BROADCAST;
    if (!g->staged || !takes_part(g))
        return communicate(g, g->from, g->to);
    weft_status status = move(g, g->host[0], g->from, g->from_n);
    if (status == WEFT_OK)
        status = communicate(g, g->host[0], g->host[1]);
    if (status == WEFT_OK)
        status =
            spreads ? move(g, g->from, g->host[0], g->from_n) : move(g, g->to, g->host[1], g->to_n);
    return status;
}

static weft_status time_once(rig *g, double *seconds) {
    const wi_comm_table *const calls = g->rank->comm->calls;
    weft_status status = calls->barrier(g->rank);
    const double begin = wi_now();
    if (status == WEFT_OK)
        status = run(g);
    g->carried = g->rank->comm->carried;
    uint64_t own = (uint64_t)((wi_now() - begin) * 1e9), slowest = 0;
    if (status == WEFT_OK)
        status = calls->all_reduce(g->rank, &own, &slowest, 1, WEFT_U64, WEFT_MAX);
    *seconds = (double)slowest * (g->step->kind == WI_STEP_MESSAGE ? 0.5e-9 : 1e-9);
    return status;
}

/* ---- what should have come ---- */

static uint32_t expected(const rig *g, size_t i) {
    const size_t ranks = ranks_of(g), rank = (size_t)g->rank->comm->rank, block = g->n / ranks;
    const size_t all = SPREAD * (ranks * (ranks - 1) / 2); /* what the ranks add */
    switch (g->step->kind) {
    case WI_STEP_ALL_GATHER:
        return (uint32_t)(SPREAD * (i / block) + i % block);
    case WI_STEP_REDUCE_SCATTER:
        return (uint32_t)(all + ranks * (rank * block + i));
    case WI_STEP_ALL_TO_ALL:
        return (uint32_t)(SPREAD * (i / block) + rank * block + i % block);
    case WI_STEP_BROADCAST:
        return (uint32_t)i;
    case WI_STEP_MESSAGE:
        return (uint32_t)(SPREAD * (size_t)(g->rank->comm->rank == g->step->a ? g->step->b
                                                                              : g->step->a) +
                          i);
    default:
        return (uint32_t)(all + ranks * i);
    }
}

static weft_status check(const rig *g, bool *right) {
    const wi_step_kind kind = g->step->kind;
    const bool spreads = kind == WI_STEP_BROADCAST;
    const bool gets = takes_part(g) && (kind != WI_STEP_REDUCE || g->rank->comm->rank == 0);
    const size_t n = spreads ? g->from_n : g->to_n;
    uint32_t *const got = g->host[!spreads];
    weft_status status = gets ? move(g, got, spreads ? g->from : g->to, n) : WEFT_OK;
    uint64_t own = 1, least = 0;
    for (size_t i = 0; i < n && gets && status == WEFT_OK; i++)
        own = own && got[i] == expected(g, i);
    status = wi_agree(g->rank, 0, status);
    if (status == WEFT_OK)
        status = g->rank->comm->calls->all_reduce(g->rank, &own, &least, 1, WEFT_U64, WEFT_MIN);
    *right = least == 1;
    return status;
}

/* What part of the bytes a rank sends in the best algorithm known. */
static double bus_factor(const rig *g) {
    const double ranks = (double)ranks_of(g), others = (ranks - 1) / ranks;
    switch (g->step->kind) {
    case WI_STEP_ALL_REDUCE:
        return 2 * others;
    case WI_STEP_ALL_GATHER:
    case WI_STEP_REDUCE_SCATTER:
    case WI_STEP_ALL_TO_ALL:
        return others;
    default:
        return 1;
    }
}

weft_status wi_step_measure(weft_context *rank, const wi_step *step, wi_step_rate *rate) {
    rig g = {.rank = rank, .step = step};
    double samples[MOST_SAMPLES];
    const int count = step->samples < MOST_SAMPLES ? step->samples : MOST_SAMPLES;
    lay_out(&g);
    memset(rate, 0, sizeof *rate);
    rank->comm->carried = NULL;
    const bool by_mail = rank->comm->by_mail;
    wi_comm_mailbox_use(rank, by_mail || step->by_mail);
    weft_status status = wi_agree(rank, 0, open_rig(&g));
    for (int k = -1; k < count && status == WEFT_OK; k++) {
        double one;
        status = time_once(&g, &one);
        if (k >= 0)
            samples[k] = one;
    }
    if (status == WEFT_OK)
        status = check(&g, &rate->right);
    if (status == WEFT_OK) {
        rate->bytes = g.n * sizeof(uint32_t);
        rate->seconds = wi_median(samples, (size_t)count);
        rate->algorithm = (double)rate->bytes / (rate->seconds > 0 ? rate->seconds : 1e-9);
        rate->bus = rate->algorithm * bus_factor(&g);
        rate->transport = g.staged ? "staged" : g.carried ? g.carried : rank->comm->calls->name;
    }
    wi_comm_mailbox_use(rank, by_mail);
    close_rig(&g);
    return status;
}
