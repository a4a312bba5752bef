/* SPDX-License-Identifier: Apache-2.0 */
/* Coarser graphs: pairs of vertices joined by heavy edges become one (heavy edge matching, Karypis
 * and Kumar 1998). Vertices are taken in the order of their numbers, in which neighbours are
 * usually near each other in memory, and a pair is numbered by its first vertex. */
#include "sparse/separator.h"

enum {
    NONE = -1,
    FEW = 8 /* a vertex with at most so many neighbours may be paired with one at distance 2 */
};

/* The free neighbour of v with the heaviest edge; among equals the lightest vertex. */
static inline int32_t heaviest(const wi_graph *g, const int32_t *mate, int32_t v, int32_t most) {
    int32_t best = NONE, best_tie = 0, best_weight = 0;
    const int32_t room = most - g->weight[v];
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t u = g->row[e], tie = g->tie ? g->tie[e] : 1;
        if (tie < best_tie || mate[u] != NONE)
            continue;
        const int32_t weight = g->weight[u];
        if (weight <= room && (tie > best_tie || weight < best_weight)) {
            best = u;
            best_tie = tie;
            best_weight = weight;
        }
    }
    return best;
}

static void pair(int32_t *mate, int32_t u, int32_t v) {
    mate[u] = v;
    mate[v] = u;
}

/* Pairs each vertex with a free neighbour if it has one; skips vertices with at most `from`
 * neighbours and those with more than `to`. */
static void match_neighbours(const wi_graph *g, int32_t *mate, int32_t most, int32_t above,
                             int32_t up_to) {
    for (int32_t v = 0; v < g->n; v++) {
        const int32_t degree = g->start[v + 1] - g->start[v];
        if (mate[v] != NONE || degree <= above || degree > up_to)
            continue;
        const int32_t u = heaviest(g, mate, v, most);
        if (u != NONE)
            pair(mate, u, v);
    }
}

/* Pairs remaining vertices of few neighbours with one another if their first neighbour is the same:
 * the points of a star. `waiting` has an entry for every vertex, and one for vertices without
 * neighbours. */
static void match_points(const wi_graph *g, int32_t *mate, int32_t most, int32_t *waiting) {
    for (int32_t v = 0; v <= g->n; v++)
        waiting[v] = NONE;
    for (int32_t v = 0; v < g->n; v++) {
        const int32_t degree = g->start[v + 1] - g->start[v];
        if (mate[v] != NONE || degree > FEW)
            continue;
        int32_t *const other = &waiting[degree == 0 ? g->n : g->row[g->start[v]]];
        if (*other != NONE && g->weight[*other] + g->weight[v] <= most) {
            pair(mate, *other, v);
            *other = NONE;
        } else {
            *other = v;
        }
    }
}

/* Numbers the pairs. Returns how many there are. */
static int32_t number_pairs(int32_t n, const int32_t *mate, int32_t *to) {
    int32_t count = 0;
    for (int32_t v = 0; v < n; v++) {
        const int32_t u = mate[v];
        to[v] = u != NONE && u < v ? to[u] : count++;
    }
    return count;
}

/* Appends the edges of v to those of the coarse vertex c, which begin at `begin`. slot[k] is the
 * index of the edge to k if that is not before `begin`. Returns the end. */
static inline int32_t add_edges(const wi_graph *g, int32_t v, const int32_t *to, int32_t c,
                                int32_t begin, int32_t end, int32_t *slot, wi_graph *coarse) {
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t k = to[g->row[e]], tie = g->tie ? g->tie[e] : 1;
        if (k == c)
            continue;
        if (slot[k] >= begin) {
            coarse->tie[slot[k]] += tie;
        } else {
            slot[k] = end;
            coarse->row[end] = k;
            coarse->tie[end++] = tie;
        }
    }
    return end;
}

static void contract(const wi_graph *g, const int32_t *mate, const int32_t *to, int32_t *slot,
                     wi_graph *coarse) {
    int32_t c = 0, end = 0;
    for (int32_t k = 0; k < coarse->n; k++)
        slot[k] = NONE;
    for (int32_t v = 0; v < g->n; v++) {
        const int32_t u = mate[v], begin = end;
        if (u != NONE && u < v)
            continue;
        coarse->start[c] = begin;
        coarse->weight[c] = g->weight[v] + (u == NONE ? 0 : g->weight[u]);
        end = add_edges(g, v, to, c, begin, end, slot, coarse);
        if (u != NONE)
            end = add_edges(g, u, to, c, begin, end, slot, coarse);
        c++;
    }
    coarse->start[c] = end;
}

/* ---- the same by several threads ---- */

typedef struct contraction {
    const wi_graph *graph;
    const int32_t *mate, *to;
    wi_graph *coarse;
    int32_t *slots; /* of each piece, as many as there are coarse vertices */
    int32_t pieces;
} contraction;

/* The first vertex of a piece. */
static int32_t piece_at(const contraction *c, int32_t piece) {
    return (int32_t)((int64_t)c->graph->n * piece / c->pieces);
}

/* The slots of a piece, none of which is in use. */
static int32_t *clear_slots(const contraction *c, int32_t piece) {
    int32_t *const slot = c->slots + (size_t)piece * (size_t)c->coarse->n;
    for (int32_t k = 0; k < c->coarse->n; k++)
        slot[k] = NONE;
    return slot;
}

/* How many edges v adds to those of its coarse vertex; slot[k] is the latest vertex with an edge to
 * k. */
static int32_t new_edges(const wi_graph *g, int32_t v, const int32_t *to, int32_t *slot) {
    int32_t count = 0;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t k = to[g->row[e]];
        count += k != to[v] && slot[k] != to[v];
        slot[k] = to[v];
    }
    return count;
}

static void count_edges(void *user, int32_t piece) {
    const contraction *const c = user;
    const wi_graph *const g = c->graph;
    int32_t *const slot = clear_slots(c, piece);
    for (int32_t v = piece_at(c, piece); v < piece_at(c, piece + 1); v++) {
        const int32_t u = c->mate[v];
        if (u != NONE && u < v)
            continue;
        c->coarse->weight[c->to[v]] = g->weight[v] + (u == NONE ? 0 : g->weight[u]);
        c->coarse->start[c->to[v] + 1] =
            new_edges(g, v, c->to, slot) + (u == NONE ? 0 : new_edges(g, u, c->to, slot));
    }
}

static void list_edges(void *user, int32_t piece) {
    const contraction *const c = user;
    int32_t *const slot = clear_slots(c, piece);
    for (int32_t v = piece_at(c, piece); v < piece_at(c, piece + 1); v++) {
        const int32_t u = c->mate[v], own = c->to[v], begin = c->coarse->start[own];
        if (u != NONE && u < v)
            continue;
        const int32_t end = add_edges(c->graph, v, c->to, own, begin, begin, slot, c->coarse);
        if (u != NONE)
            add_edges(c->graph, u, c->to, own, begin, end, slot, c->coarse);
    }
}

/* Lists the edges that `contract` lists, in its order. */
static void contract_together(wi_job_queue *queue, contraction *c) {
    int32_t *const start = c->coarse->start;
    wi_job_run(queue, c->pieces, count_edges, c);
    start[0] = 0;
    for (int32_t k = 0; k < c->coarse->n; k++)
        start[k + 1] += start[k];
    wi_job_run(queue, c->pieces, list_edges, c);
}

bool wi_coarsen(wi_arena *arena, const wi_graph *g, int32_t most, wi_graph *coarse, int32_t *to) {
    enum {
        PIECES = 12
    };
    const size_t n = (size_t)g->n, entries = (size_t)g->start[g->n];
    const bool together = g->n >= WI_SHARED_VERTICES && wi_job_queue_has_idle(arena->queue);
    int32_t *const mate = wi_arena_take(arena, (2 * n + 1) * sizeof *mate), *const slot = mate + n;
    if (!mate)
        return false;
    const int32_t usual = g->n > 0 ? (int32_t)(entries / n / 2) : 0;
    for (int32_t v = 0; v < g->n; v++)
        mate[v] = NONE;
    match_neighbours(g, mate, most, 0, usual);
    match_neighbours(g, mate, most, usual, INT32_MAX);
    match_points(g, mate, most, slot);
    *coarse = (wi_graph){.n = number_pairs(g->n, mate, to), .total = g->total};
    const size_t count = (size_t)coarse->n;
    contraction c = {g, mate, to, coarse, NULL, PIECES};
    if (together && !(c.slots = wi_arena_take(arena, PIECES * count * sizeof *c.slots)))
        return false;
    coarse->weight = wi_arena_take(arena, (2 * count + 1 + 2 * entries) * sizeof *coarse->weight);
    if (!coarse->weight)
        return false;
    coarse->start = coarse->weight + count;
    coarse->row = coarse->start + count + 1;
    coarse->tie = coarse->row + entries;
    if (together)
        contract_together(arena->queue, &c);
    else
        contract(g, mate, to, slot, coarse);
    wi_arena_trim(arena, coarse->tie + coarse->start[coarse->n]);
    return true;
}
