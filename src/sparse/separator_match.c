/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of neighbours, by several threads with the result of one that goes from the first vertex to
 * the last. What a vertex finds depends on smaller vertices at distance one and two. Vertices are
 * cut into layers, so that edges lead to the same layer or to the next: these are in its own layer
 * or in the one before. Each layer is one thread's, which follows the thread of the layer before as
 * closely as the edges allow. In a mesh that is a row behind, if layers are cut where all edges
 * across are long. */
#include <sched.h>

#include "cpu/team.h"
#include "sparse/separator.h"

enum {
    NONE = -1,
    LEAST = 1 << 15, /* vertices: with fewer, one thread is as fast */
    PIECES = 24,
    CUTS = 8, /* in a piece, at most */
    LAYERS = PIECES * CUTS,
    FEWEST = 8, /* with fewer, threads wait for each other most of the time */
    NEWS = 32   /* vertices: a thread tells so often how far it is */
};

/* How far a thread is: all vertices of its layer before this one are done. */
typedef struct progress {
    _Alignas(64) atomic_int vertex;
} progress;

/* Where layers may begin in a piece of the vertices. */
typedef struct cuts {
    int32_t count, at[CUTS];
    int32_t last[CUTS + 1]; /* the last neighbour of the piece's vertices before each, and of all */
} cuts;

typedef struct sweep {
    const wi_graph *graph;
    int32_t *mate;
    int32_t *below; /* the last neighbour of a vertex in the layer before its own; -1: none */
    int32_t most, layers, begin[LAYERS + 2];
    int32_t near; /* edges that are shorter do not lead to the next layer */
    cuts cut[PIECES];
    progress at[LAYERS + 1];
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

/* Waits until the layer before is done with vertex v; *known: the first one with which it is not,
 * when last seen. Its thread has begun, for pieces are given out in their order. */
static void follow(const progress *before, int32_t v, int32_t *known) {
    enum {
        BUSY = 1 << 9
    };
    for (int k = 0; *known <= v; k++) {
        *known = atomic_load_explicit(&before->vertex, memory_order_acquire);
        if (*known > v)
            return;
        if (k < BUSY)
            wi_cpu_relax();
        else
            sched_yield();
    }
}

/* The last neighbour of v before `begin`; NONE if there is none. */
static int32_t last_below(const wi_graph *g, int32_t v, int32_t begin) {
    int32_t below = NONE;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        below = g->row[e] < begin && g->row[e] > below ? g->row[e] : below;
    return below;
}

/* Finds `below` for vertices up to `last` of the layer, which begins at `begin`. */
static void look(const sweep *s, int32_t begin, int32_t last, int32_t *seen) {
    for (; *seen <= last; ++*seen)
        s->below[*seen] = last_below(s->graph, *seen, begin);
}

/* The last vertex of the layer before that has to be done before v is matched: neighbours of
 * neighbours after v. */
static int32_t needed_by(const sweep *s, int32_t v, int32_t begin, int32_t end, int32_t *seen) {
    const wi_graph *const g = s->graph;
    int32_t needed = NONE;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t u = g->row[e];
        if (u <= v || u >= end)
            continue;
        look(s, begin, u, seen);
        needed = s->below[u] > needed ? s->below[u] : needed;
    }
    return needed;
}

static void match_layer(void *user, int32_t layer) {
    sweep *const s = user;
    const int32_t begin = s->begin[layer], end = s->begin[layer + 1];
    const progress *const before = &s->at[layer > 0 ? layer - 1 : 0];
    int32_t seen = begin, known = layer == 0 ? INT32_MAX : 0;
    for (int32_t v = begin; v < end; v++) {
        look(s, begin, v, &seen);
        follow(before, s->below[v], &known);
        if (s->mate[v] == NONE) {
            follow(before, needed_by(s, v, begin, end, &seen), &known);
            match_one(s->graph, s->mate, v, s->most);
        }
        if (v % NEWS == 0)
            atomic_store_explicit(&s->at[layer].vertex, v + 1, memory_order_release);
    }
    atomic_store_explicit(&s->at[layer].vertex, end, memory_order_release);
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* The last neighbour of v; of those within `near` if that is less than n. */
static int32_t last_within(const wi_graph *g, int32_t v, int32_t near) {
    int32_t last = NONE;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        last = g->row[e] - v < near ? larger(last, g->row[e]) : last;
    return last;
}

/* Cuts where no short edge is across. */
static void find_cuts(void *user, int32_t piece) {
    sweep *const s = user;
    const wi_graph *const g = s->graph;
    const int32_t begin = (int32_t)((int64_t)g->n * piece / PIECES);
    const int32_t end = (int32_t)((int64_t)g->n * (piece + 1) / PIECES);
    cuts *const c = &s->cut[piece];
    int32_t covered = NONE, last = NONE;
    c->count = 0;
    for (int32_t v = larger(0, begin - s->near); v < begin; v++)
        covered = larger(covered, last_within(g, v, s->near));
    for (int32_t v = begin; v < end; v++) {
        if (v > 0 && covered < v && c->count < CUTS) {
            c->at[c->count] = v;
            c->last[c->count++] = last;
        }
        covered = larger(covered, last_within(g, v, s->near));
        last = larger(last, last_within(g, v, INT32_MAX));
    }
    c->last[c->count] = last;
}

/* A part of the longest edges. */
static int32_t near_edges(const wi_graph *g) {
    enum {
        SAMPLES = 256,
        PART = 16
    };
    int32_t longest = 0;
    for (int32_t k = 0; k < SAMPLES; k++) {
        const int32_t v = (int32_t)((int64_t)g->n * k / SAMPLES);
        longest = larger(longest, last_within(g, v, INT32_MAX) - v);
    }
    return longest / PART + 1;
}

/* Do threads follow each other closely enough? So much of a layer has to be done before the next
 * one begins. */
static bool is_close(const sweep *s) {
    enum {
        FIRST = 32, /* vertices of a layer */
        CLOSE = 4
    };
    int64_t behind = 0;
    for (int32_t k = 1; k < s->layers; k++) {
        const int32_t begin = s->begin[k], end = s->begin[k + 1];
        int32_t below = s->begin[k - 1];
        for (int32_t v = begin; v < begin + FIRST && v < end; v++)
            below = larger(below, last_below(s->graph, v, begin));
        behind += below - s->begin[k - 1];
    }
    return behind < s->graph->n / CLOSE;
}

/* Layers begin at cuts, and end after the last neighbour of all before them. False if there are too
 * few for that to help. */
static bool cut_layers(wi_job_queue *queue, sweep *s) {
    int32_t last = NONE, least = 0;
    s->near = near_edges(s->graph);
    wi_job_run(queue, PIECES, find_cuts, s);
    s->layers = 1;
    s->begin[0] = 0;
    for (int32_t piece = 0; piece < PIECES; piece++) {
        const cuts *const c = &s->cut[piece];
        for (int32_t k = 0; k < c->count; k++) {
            if (c->at[k] <= least)
                continue;
            s->begin[s->layers++] = c->at[k];
            least = larger(last, c->last[k]);
        }
        last = larger(last, c->last[c->count]);
    }
    s->begin[s->layers] = s->graph->n;
    return s->layers >= FEWEST && is_close(s);
}

/* A smaller neighbour that is free stays so: it has found nobody, and v neither. So only larger
 * ones are looked at. */
void wi_match_neighbours(wi_job_queue *queue, const wi_graph *g, int32_t *scratch, int32_t most,
                         int32_t *mate) {
    sweep s = {.graph = g, .mate = mate, .below = scratch, .most = most};
    if (!queue || g->n < LEAST || !cut_layers(queue, &s)) {
        for (int32_t v = 0; v < g->n; v++) {
            if (mate[v] == NONE)
                match_one(g, mate, v, most);
        }
        return;
    }
    for (int32_t k = 0; k < s.layers; k++)
        atomic_init(&s.at[k].vertex, 0);
    wi_job_run(queue, s.layers, match_layer, &s);
}
