/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of neighbours, by several threads with the result of one that goes from the first vertex to
 * the last. What a vertex finds depends on smaller vertices at distance one and two. Vertices are
 * cut into blocks that are no shorter than any edge, so these are in its own block or in the one
 * before; each block is one thread's, which follows the thread of the block before as closely as
 * the edges allow. In a mesh that is a row or two behind, in the next layer. */
#include <sched.h>

#include "cpu/team.h"
#include "sparse/separator.h"

enum {
    NONE = -1,
    BLOCKS = 48, /* at most */
    FEWEST = 8,  /* with fewer, threads wait for each other most of the time */
    NEWS = 32    /* vertices: a thread tells so often how far it is */
};

/* How far a thread is: all vertices of its block before this one are done. */
typedef struct progress {
    _Alignas(WI_APART) atomic_int vertex;
} progress;

typedef struct sweep {
    const wi_graph *graph;
    int32_t *mate;
    int32_t most, length; /* of blocks */
    progress at[BLOCKS];
} sweep;

int32_t wi_match_heaviest(const wi_graph *g, const int32_t *mate, int32_t v, int32_t most,
                          int32_t after) {
    int32_t best = NONE, best_tie = 0, best_weight = 0;
    const int32_t room = most - g->weight[v];
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t u = g->row[e], tie = g->tie ? g->tie[e] : 1;
        if (tie < best_tie || u <= after || mate[u] != NONE)
            continue;
        const int32_t weight = g->weight[u];
        if (!g->tie && weight == 1 && room >= 1)
            return u; /* no other is lighter */
        if (weight <= room && (tie > best_tie || weight < best_weight)) {
            best = u;
            best_tie = tie;
            best_weight = weight;
        }
    }
    return best;
}

static void match_one(const wi_graph *g, int32_t *mate, int32_t v, int32_t most) {
    const int32_t u = wi_match_heaviest(g, mate, v, most, v);
    if (u == NONE)
        return;
    mate[u] = v;
    mate[v] = u;
}

/* The last neighbour of v before `end`, or v. */
static int32_t last_before(const wi_graph *g, int32_t v, int32_t end) {
    int32_t last = v;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        last = g->row[e] > last && g->row[e] < end ? g->row[e] : last;
    return last;
}

/* Waits until the block before is done with vertex v; *known: the first one with which it is not,
 * when last seen. Its thread has begun, for pieces are given out in their order. */
static void follow(const progress *before, int32_t v, int32_t *known) {
    enum {
        BUSY = 1 << 9
    };
    for (int k = 0; *known <= v; k++) {
        *known = atomic_load_explicit(&before->vertex, memory_order_acquire);
        if (k < BUSY)
            wi_cpu_relax();
        else
            sched_yield();
    }
}

static void match_block(void *user, int32_t block) {
    sweep *const s = user;
    const wi_graph *const g = s->graph;
    const int32_t begin = block * s->length;
    const int32_t end = g->n - begin < s->length ? g->n : begin + s->length;
    int32_t seen = begin, needed = NONE, known = begin == 0 ? INT32_MAX : 0;
    for (int32_t v = begin; v < end; v++) {
        /* What v finds was decided by neighbours of v, and of its neighbours. */
        int32_t last = v;
        for (int round = 0; round < 2; round++) {
            for (; seen <= last; seen++) {
                for (int32_t e = g->start[seen]; e < g->start[seen + 1]; e++)
                    needed = g->row[e] < begin && g->row[e] > needed ? g->row[e] : needed;
            }
            follow(&s->at[block > 0 ? block - 1 : 0], needed, &known);
            if (s->mate[v] != NONE)
                break;
            last = last_before(g, v, end);
        }
        if (s->mate[v] == NONE)
            match_one(g, s->mate, v, s->most);
        if (v % NEWS == 0)
            atomic_store_explicit(&s->at[block].vertex, v + 1, memory_order_release);
    }
    atomic_store_explicit(&s->at[block].vertex, end, memory_order_release);
}

/* A smaller neighbour that is free stays so: it has found nobody, and v neither. So only larger ones
 * are looked at. */
void wi_match_neighbours(wi_job_queue *queue, const wi_graph *g, int32_t reach, int32_t most,
                         int32_t *mate) {
    const int32_t least = g->n / BLOCKS + 1;
    sweep s = {.graph = g, .mate = mate, .most = most, .length = reach > least ? reach : least};
    const int32_t blocks = (g->n + s.length - 1) / s.length;
    if (!queue || blocks < FEWEST) {
        for (int32_t v = 0; v < g->n; v++) {
            if (mate[v] == NONE)
                match_one(g, mate, v, most);
        }
        return;
    }
    for (int32_t k = 0; k < blocks; k++)
        atomic_init(&s.at[k].vertex, 0);
    wi_job_run(queue, blocks, match_block, &s);
}
