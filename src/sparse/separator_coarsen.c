/* SPDX-License-Identifier: Apache-2.0 */
/* Coarser graphs: pairs of vertices joined by heavy edges become one (heavy edge matching, Karypis
 * and Kumar 1998). Vertices are taken in the order of their numbers, in which neighbours are
 * usually near each other in memory, and a pair is numbered by its first vertex. */
#include <string.h>

#include "sparse/separator.h"

enum {
    NONE = -1,
    PIECES = 12, /* of a contraction: each has a slot for every coarse vertex */
    MATCH_PIECES = 2 * PIECES,
    FEW = 8 /* a vertex with at most so many neighbours may be paired with one at distance 2 */
};

/* What is done before and after vertices are paired goes by pieces, which several threads may do.
 */
typedef struct matching {
    const wi_graph *graph;
    int32_t most, usual; /* weight of a pair; half of the usual number of neighbours */
    int32_t pieces;
    int32_t *mate, *to;
    int32_t *left;    /* vertices with few neighbours, then those without a mate, from the first
                         place of their piece on */
    int32_t *waiting; /* of match_points */
    int32_t lefts[MATCH_PIECES];       /* how many are left over */
    int32_t numbers[MATCH_PIECES + 1]; /* of each piece's first coarse vertex */
    int32_t edges[MATCH_PIECES];       /* of the pairs whose first vertex is in the piece */
} matching;

/* The first vertex of one of `pieces` pieces. */
static int32_t piece_at(const wi_graph *g, int32_t piece, int32_t pieces) {
    return (int32_t)((int64_t)g->n * piece / pieces);
}

/* Lists vertices of few neighbours. */
static void begin_piece(void *user, int32_t piece) {
    matching *const m = user;
    const int32_t *const start = m->graph->start;
    const int32_t begin = piece_at(m->graph, piece, m->pieces);
    const int32_t end = piece_at(m->graph, piece + 1, m->pieces);
    int32_t count = 0;
    for (int32_t v = begin; v < end; v++) {
        m->mate[v] = m->waiting[v] = NONE;
        m->left[begin + count] = v;
        count += start[v + 1] - start[v] <= m->usual;
    }
    m->lefts[piece] = count;
}

static void pair(int32_t *mate, int32_t u, int32_t v) {
    mate[u] = v;
    mate[v] = u;
}

/* Vertices with few neighbours come first: others leave them nobody. */
static void match_few(matching *m) {
    for (int32_t piece = 0; piece < m->pieces; piece++) {
        const int32_t *const few = m->left + piece_at(m->graph, piece, m->pieces);
        for (int32_t k = 0; k < m->lefts[piece]; k++) {
            const int32_t v = few[k];
            const int32_t u =
                m->mate[v] == NONE ? wi_match_heaviest(m->graph, m->mate, v, m->most, NONE) : NONE;
            if (u != NONE)
                pair(m->mate, u, v);
        }
    }
}

/* Lists what is left over, and counts the coarse vertices whose first vertex is in the piece. */
static void list_left(void *user, int32_t piece) {
    matching *const m = user;
    const int32_t begin = piece_at(m->graph, piece, m->pieces);
    const int32_t end = piece_at(m->graph, piece + 1, m->pieces);
    int32_t pairs = 0, count = 0;
    for (int32_t v = begin; v < end; v++) {
        m->left[begin + count] = v;
        count += m->mate[v] == NONE;
        pairs += m->mate[v] > v;
    }
    m->lefts[piece] = count;
    m->numbers[piece + 1] = pairs + count;
}

/* Pairs remaining vertices of few neighbours with one another if their first neighbour is the same:
 * the points of a star. `waiting` has an entry for every vertex, and one for vertices without
 * neighbours. */
static void match_points(matching *m) {
    const wi_graph *const g = m->graph;
    m->waiting[g->n] = NONE;
    for (int32_t piece = 0; piece < m->pieces; piece++) {
        const int32_t *const left = m->left + piece_at(g, piece, m->pieces);
        for (int32_t k = 0; k < m->lefts[piece]; k++) {
            const int32_t v = left[k], degree = g->start[v + 1] - g->start[v];
            if (degree > FEW)
                continue;
            int32_t *const other = &m->waiting[degree == 0 ? g->n : g->row[g->start[v]]];
            if (*other != NONE && g->weight[*other] + g->weight[v] <= m->most) {
                pair(m->mate, *other, v);
                m->numbers[piece + 1]--;
                *other = NONE;
            } else {
                *other = v;
            }
        }
    }
}

static int32_t degree_of(const wi_graph *g, int32_t v) {
    return g->start[v + 1] - g->start[v];
}

/* Numbers the pairs by their first vertices. */
static void number_piece(void *user, int32_t piece) {
    matching *const m = user;
    int32_t next = m->numbers[piece], edges = 0;
    const int32_t end = piece_at(m->graph, piece + 1, m->pieces);
    for (int32_t v = piece_at(m->graph, piece, m->pieces); v < end; v++) {
        const int32_t u = m->mate[v];
        if (u != NONE && u < v)
            continue;
        m->to[v] = next;
        if (u != NONE)
            m->to[u] = next;
        edges += degree_of(m->graph, v) + (u == NONE ? 0 : degree_of(m->graph, u));
        next++;
    }
    m->edges[piece] = edges;
}

/* Finds pairs and numbers them. Returns how many there are. */
static int32_t match(wi_job_queue *queue, matching *m) {
    wi_job_run(queue, m->pieces, begin_piece, m);
    match_few(m);
    wi_match_neighbours(queue, m->graph, m->to, m->most, m->mate);
    wi_job_run(queue, m->pieces, list_left, m);
    match_points(m);
    m->numbers[0] = 0;
    for (int32_t k = 0; k < m->pieces; k++)
        m->numbers[k + 1] += m->numbers[k];
    wi_job_run(queue, m->pieces, number_piece, m);
    return m->numbers[m->pieces];
}

/* ---- edges ---- */

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
    const matching *m;
    wi_graph *coarse;
    int32_t *slots;  /* of each piece, as many as there are coarse vertices */
    wi_graph listed; /* edges, those of a piece from at[piece] on */
    int32_t at[PIECES], before[PIECES + 1]; /* and from before[piece] on in the coarse graph */
} contraction;

/* Lists the edges of a piece's coarse vertices; start[c + 1] is where those of c end, counted from
 * where the piece's begin. */
static void list_edges(void *user, int32_t piece) {
    contraction *const c = user;
    const matching *const m = c->m;
    const wi_graph *const g = m->graph;
    int32_t *const slot = c->slots + (size_t)piece * (size_t)c->coarse->n;
    int32_t end = c->at[piece], own = m->numbers[2 * piece];
    for (int32_t k = 0; k < c->coarse->n; k++)
        slot[k] = NONE;
    for (int32_t v = piece_at(g, piece, PIECES); v < piece_at(g, piece + 1, PIECES); v++) {
        const int32_t u = m->mate[v], begin = end;
        if (u != NONE && u < v)
            continue;
        c->coarse->weight[own] = g->weight[v] + (u == NONE ? 0 : g->weight[u]);
        end = add_edges(g, v, m->to, own, begin, end, slot, &c->listed);
        if (u != NONE)
            end = add_edges(g, u, m->to, own, begin, end, slot, &c->listed);
        c->coarse->start[++own] = end - c->at[piece];
    }
    c->before[piece + 1] = end - c->at[piece];
}

static void place_edges(void *user, int32_t piece) {
    const contraction *const c = user;
    const int32_t before = c->before[piece], count = c->before[piece + 1] - before;
    const size_t bytes = (size_t)count * sizeof(int32_t);
    for (int32_t k = c->m->numbers[2 * piece]; k < c->m->numbers[2 * piece + 2]; k++)
        c->coarse->start[k + 1] += before;
    memcpy(c->coarse->row + before, c->listed.row + c->at[piece], bytes);
    memcpy(c->coarse->tie + before, c->listed.tie + c->at[piece], bytes);
}

static int32_t *borrow(wi_arena *arena, wi_scratch *scratch, size_t count) {
    if (count > scratch->count)
        return wi_arena_take(arena, count * sizeof(int32_t));
    scratch->memory += count;
    scratch->count -= count;
    return scratch->memory - count;
}

/* Lists the edges that `contract` lists, in its order. */
static bool contract_together(wi_arena *arena, wi_scratch scratch, const matching *m,
                              wi_graph *coarse) {
    const size_t entries = (size_t)m->graph->start[m->graph->n];
    contraction c = {.m = m, .coarse = coarse, .before = {0}};
    c.listed.row = borrow(arena, &scratch, 2 * entries);
    c.slots = borrow(arena, &scratch, PIECES * (size_t)coarse->n);
    if (!c.listed.row || !c.slots)
        return false;
    c.listed.tie = c.listed.row + entries;
    for (int32_t k = 0, at = 0; k < PIECES; k++) {
        c.at[k] = at;
        at += m->edges[2 * k] + m->edges[2 * k + 1];
    }
    wi_job_run(arena->queue, PIECES, list_edges, &c);
    for (int32_t k = 0; k < PIECES; k++)
        c.before[k + 1] += c.before[k];
    const size_t edges = (size_t)c.before[PIECES];
    coarse->row = wi_arena_take(arena, 2 * edges * sizeof *coarse->row);
    if (!coarse->row)
        return false;
    coarse->tie = coarse->row + edges;
    coarse->start[0] = 0;
    wi_job_run(arena->queue, PIECES, place_edges, &c);
    return true;
}

static bool contract_alone(wi_arena *arena, const matching *m, wi_graph *coarse) {
    const size_t entries = (size_t)m->graph->start[m->graph->n];
    coarse->row = wi_arena_take(arena, 2 * entries * sizeof *coarse->row);
    if (!coarse->row)
        return false;
    coarse->tie = coarse->row + entries;
    contract(m->graph, m->mate, m->to, m->waiting, coarse);
    wi_arena_trim(arena, coarse->tie + coarse->start[coarse->n]);
    return true;
}

bool wi_coarsen(wi_arena *arena, wi_scratch scratch, const wi_graph *g, int32_t most,
                wi_graph *coarse, int32_t *to) {
    const size_t n = (size_t)g->n, entries = (size_t)g->start[g->n];
    const bool together = g->n >= WI_SHARED_VERTICES && wi_job_queue_has_idle(arena->queue);
    wi_job_queue *const queue = together ? arena->queue : NULL;
    int32_t *const mate = borrow(arena, &scratch, 3 * n + 1);
    if (!mate)
        return false;
    matching m = {.graph = g,
                  .most = most,
                  .usual = g->n > 0 ? (int32_t)(entries / n / 2) : 0,
                  .pieces = together ? MATCH_PIECES : 1,
                  .mate = mate,
                  .to = to,
                  .left = mate + n,
                  .waiting = mate + 2 * n};
    *coarse = (wi_graph){.n = match(queue, &m), .total = g->total};
    coarse->weight = wi_arena_take(arena, (2 * (size_t)coarse->n + 1) * sizeof *coarse->weight);
    if (!coarse->weight)
        return false;
    coarse->start = coarse->weight + coarse->n;
    return together ? contract_together(arena, scratch, &m, coarse)
                    : contract_alone(arena, &m, coarse);
}
