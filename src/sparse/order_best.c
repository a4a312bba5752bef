/* SPDX-License-Identifier: Apache-2.0 */
/* `best`: amd or dissect. Which one is decided by counts of operations alone, so that every run
 * with any number of threads chooses the same: dissect if a sample shows that it is far better;
 * else the one with fewer flops, and amd alone if those are so few that dissect would not pay.
 * With several threads both are under way until that is decided. */
#include <math.h>
#include <string.h>

#include "cpu/team.h"
#include "sparse/dissection.h"
#include "sparse/symbolic.h"

/* The cost of dissect for a vertex and for an entry of the graph, and of a flop of the
 * factorization: seconds on one or two ordinary cores. Only their ratio matters. */
static const double vertex_seconds = 2e-6, entry_seconds = 0.04e-6, flop_seconds = 2e-11;

typedef struct contest {
    wi_order_args amd, dissect;
    double least;                    /* dissect pays if amd takes more flops than this */
    double amd_flops, dissect_flops; /* INFINITY: not known */
    bool judged;                     /* amd has finished, or is not wanted */
    bool dissected;                  /* dissect has finished */
    atomic_bool clear;               /* the sample says dissect, whose flops do not matter then */
    weft_status amd_status, count_status;
    wi_order_limit limit;
    wi_dissection_beside beside;
} contest;

/* If dissect saves such a share of amd's flops, of all factorizations together, it should save more
 * than it costs. */
static double least_flops(const wi_order_args *order) {
    static const double share = 0.4;
    const double times = order->factorizations > 0 ? order->factorizations : 1;
    const int64_t n = order->graph->n;
    const double cost = (double)n * vertex_seconds + (double)order->graph->start[n] * entry_seconds;
    return wi_order_fits_i32(order->graph) && cost < order->seconds_budget
               ? cost / (share * flop_seconds * times)
               : INFINITY;
}

/* Does amd set columns aside? Only then its bound on the flops is far from exact. */
static bool has_dense(const wi_pattern *graph) {
    const double dense = wi_order_dense(graph->n);
    for (int64_t j = 0; j < graph->n; j++) {
        if ((double)(graph->start[j + 1] - graph->start[j]) > dense)
            return true;
    }
    return false;
}

/* Runs amd, which stops if its flops come above c->limit. */
static weft_status run_amd(contest *c) {
    double entries;
    const bool dense = has_dense(c->amd.graph);
    c->amd.limit = dense ? NULL : &c->limit;
    const weft_status status = wi_order_amd(NULL, &c->amd);
    if (status != WEFT_OK || !dense || !(c->amd_flops > c->least))
        return status;
    return wi_predict_cost(NULL, c->amd.call, c->amd.graph, c->amd.perm, &entries, &c->amd_flops);
}

/* What one thread does while others dissect. If they are told in vain that their work is unlikely
 * to be wanted, it is done afterwards. */
static void judge(void *user) {
    static const double unlikely = 0.5;
    contest *const c = user;
    bool clear = false;
    double guess = 0;
    c->judged = true;
    if (c->least < INFINITY)
        c->amd_status = wi_order_sample(&c->amd, c->least, &guess, &clear);
    atomic_store(&c->clear, clear);
    if (guess < c->least * unlikely)
        atomic_store(&c->beside.unwanted, true);
    if (c->amd_status == WEFT_OK && !clear)
        c->amd_status = run_amd(c);
    if (c->amd_status != WEFT_OK || (!clear && !(c->amd_flops > c->least)))
        atomic_store(&c->beside.unwanted, true);
}

/* Dissect is done: amd has to be better. */
static void count(void *user) {
    contest *const c = user;
    double entries, flops;
    c->dissected = true;
    if (atomic_load(&c->clear))
        return;
    c->count_status =
        wi_predict_cost(NULL, c->dissect.call, c->dissect.graph, c->dissect.perm, &entries, &flops);
    if (c->count_status != WEFT_OK)
        return;
    c->dissect_flops = flops;
    atomic_store(&c->limit.flops, fmax(flops, c->least));
}

/* Both at once, unless dissect cannot be wanted. If it fails, it may still turn out that nobody
 * wants it. */
static void run_both(weft_context *ctx, contest *c) {
    enum {
        TOGETHER = 1 << 16 /* columns: with fewer, a second thread would come late */
    };
    c->beside = (wi_dissection_beside){.work = judge, .finished = count, .user = c};
    if (ctx->threads > 1 && c->amd.graph->n >= TOGETHER && c->least < INFINITY)
        wi_dissect(ctx, &c->dissect, "dissect", wi_separate, ctx->threads, &c->beside);
    if (!c->judged)
        judge(c);
}

/* Dissect where it is wanted and has not finished. */
static weft_status run_dissect(weft_context *ctx, contest *c) {
    const bool wanted = c->clear || c->amd_flops > c->least;
    if (!wanted || c->dissected)
        return WEFT_OK;
    const weft_status status = wi_order_dissect(ctx, &c->dissect);
    if (status == WEFT_OK)
        count(c);
    return status;
}

typedef struct copying {
    const int64_t *from;
    int64_t *to;
    size_t n;
} copying;

static void copy_share(void *user, int rank, int size) {
    const copying *const c = user;
    const size_t begin = wi_team_share(c->n, rank, size), end = wi_team_share(c->n, rank + 1, size);
    memcpy(c->to + begin, c->from + begin, (end - begin) * sizeof *c->to);
}

static void decide(const weft_context *ctx, const wi_order_args *order, const contest *c) {
    const bool dissect = c->clear || (c->amd_flops > c->least && c->dissect_flops < c->amd_flops);
    const wi_order_args *const best = dissect ? &c->dissect : &c->amd;
    if (order->chosen)
        *order->chosen = dissect ? "dissect" : "amd";
    if (order->flops && !dissect && !(c->amd_flops > c->least))
        *order->flops = c->amd_flops;
    copying copy = {best->perm, order->perm, (size_t)order->graph->n};
    if (best->perm != order->perm)
        wi_team_run(ctx, wi_team_size(ctx, copy.n, copy.n * sizeof *copy.to), copy_share, &copy);
}

weft_status wi_order_best(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    contest c = {.amd = *order,
                 .dissect = *order,
                 .least = least_flops(order),
                 .amd_flops = INFINITY,
                 .dissect_flops = INFINITY};
    c.amd.flops = &c.amd_flops;
    atomic_init(&c.limit.flops, INFINITY);
    c.dissect.perm = wi_host_alloc((size_t)order->graph->n * sizeof *order->perm);
    weft_status status = c.dissect.perm || order->graph->n == 0 ? WEFT_OK : WEFT_ENOMEM;
    if (status == WEFT_OK)
        run_both(ctx, &c);
    if (status == WEFT_OK)
        status = c.amd_status != WEFT_OK ? c.amd_status : run_dissect(ctx, &c);
    if (status == WEFT_OK)
        status = c.count_status;
    if (status == WEFT_OK)
        decide(ctx, order, &c);
    else
        wi_fail(ctx, status, "%s: no memory for two orderings; free some, or order amd",
                order->call);
    wi_host_free(c.dissect.perm);
    return status;
}
