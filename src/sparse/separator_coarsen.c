/* SPDX-License-Identifier: Apache-2.0 */
/* Coarser graphs: pairs of vertices joined by heavy edges become one (heavy edge matching, Karypis
 * and Kumar 1998). Vertices are taken in the order of their numbers, in which neighbours are
 * usually near each other in memory, and a pair is numbered by its first vertex. */
#include "sparse/separator.h"

enum {
    NONE = -1,
    MATCH_PIECES = 24,
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
    int32_t reach[MATCH_PIECES];       /* the longest edge */
} matching;

/* The first vertex of one of `pieces` pieces. */
static int32_t piece_at(const wi_graph *g, int32_t piece, int32_t pieces) {
    return (int32_t)((int64_t)g->n * piece / pieces);
}

/* The longest edge of v. */
static int32_t reach_of(const wi_graph *g, int32_t v) {
    int32_t reach = 0;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        reach = g->row[e] - v > reach ? g->row[e] - v : reach;
    return reach;
}

/* Lists vertices of few neighbours. */
static void begin_piece(void *user, int32_t piece) {
    matching *const m = user;
    const int32_t *const start = m->graph->start;
    const int32_t begin = piece_at(m->graph, piece, m->pieces);
    const int32_t end = piece_at(m->graph, piece + 1, m->pieces);
    int32_t count = 0, reach = 0;
    for (int32_t v = begin; v < end; v++) {
        m->mate[v] = m->waiting[v] = NONE;
        m->left[begin + count] = v;
        count += start[v + 1] - start[v] <= m->usual;
    }
    for (int32_t v = begin; v < end && m->pieces > 1; v++) {
        const int32_t own = reach_of(m->graph, v);
        reach = own > reach ? own : reach;
    }
    m->lefts[piece] = count;
    m->reach[piece] = reach;
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
            const int32_t u = m->mate[v] == NONE
                                  ? wi_match_heaviest(m->graph, m->mate, v, m->most, NONE)
                                  : NONE;
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

/* Numbers the pairs by their first vertices. */
static void number_piece(void *user, int32_t piece) {
    const matching *const m = user;
    int32_t next = m->numbers[piece];
    const int32_t end = piece_at(m->graph, piece + 1, m->pieces);
    for (int32_t v = piece_at(m->graph, piece, m->pieces); v < end; v++) {
        const int32_t u = m->mate[v];
        if (u != NONE && u < v)
            continue;
        m->to[v] = next;
        if (u != NONE)
            m->to[u] = next;
        next++;
    }
}

/* Finds pairs and numbers them. Returns how many there are. */
static int32_t match(wi_job_queue *queue, matching *m) {
    wi_job_run(queue, m->pieces, begin_piece, m);
    int32_t reach = 0;
    for (int32_t k = 0; k < m->pieces; k++)
        reach = m->reach[k] > reach ? m->reach[k] : reach;
    match_few(m);
    wi_match_neighbours(queue, m->graph, reach, m->most, m->mate);
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
    const wi_graph *graph;
    const int32_t *mate, *to;
    wi_graph *coarse;
    int32_t *slots; /* of each piece, as many as there are coarse vertices */
    int32_t pieces;
} contraction;

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
    for (int32_t v = piece_at(g, piece, c->pieces); v < piece_at(g, piece + 1, c->pieces); v++) {
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
    const wi_graph *const g = c->graph;
    int32_t *const slot = clear_slots(c, piece);
    for (int32_t v = piece_at(g, piece, c->pieces); v < piece_at(g, piece + 1, c->pieces); v++) {
        const int32_t u = c->mate[v], own = c->to[v], begin = c->coarse->start[own];
        if (u != NONE && u < v)
            continue;
        const int32_t end = add_edges(g, v, c->to, own, begin, begin, slot, c->coarse);
        if (u != NONE)
            add_edges(g, u, c->to, own, begin, end, slot, c->coarse);
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

static int32_t *borrow(wi_arena *arena, wi_scratch *scratch, size_t count) {
    if (count > scratch->count)
        return wi_arena_take(arena, count * sizeof(int32_t));
    scratch->memory += count;
    scratch->count -= count;
    return scratch->memory - count;
}

bool wi_coarsen(wi_arena *arena, wi_scratch scratch, const wi_graph *g, int32_t most,
                wi_graph *coarse, int32_t *to) {
    enum {
        PIECES = 12 /* each has a slot for every coarse vertex */
    };
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
    const size_t count = (size_t)coarse->n;
    coarse->weight = wi_arena_take(arena, (2 * count + 1 + 2 * entries) * sizeof *coarse->weight);
    if (!coarse->weight)
        return false;
    coarse->start = coarse->weight + count;
    coarse->row = coarse->start + count + 1;
    coarse->tie = coarse->row + entries;
    contraction c = {g, mate, to, coarse, NULL, PIECES};
    if (together && !(c.slots = borrow(arena, &scratch, PIECES * count)))
        return false;
    if (together)
        contract_together(queue, &c);
    else
        contract(g, mate, to, m.waiting, coarse);
    wi_arena_trim(arena, coarse->tie + coarse->start[coarse->n]);
    return true;
}
