/* SPDX-License-Identifier: Apache-2.0 */
/* Improves separators by moving one vertex at a time (Fiduccia and Mattheyses 1982; for separators
 * Ashcraft and Liu 1996). A vertex that leaves the separator for one side pulls its neighbours on
 * the other side into it. In one pass all moves go to one side, so a vertex's gain can only rise:
 * when another move pulls in a neighbour that it would have pulled in. */
#include <string.h>

#include "sparse/separator.h"

enum {
    LARGE = 60000, /* vertices: in graphs with more, a pass moves at most one of SWEEP */
    SWEEP = 8,
    NONE = -1
};

bool wi_parting_take(wi_arena *arena, int32_t n, int count, wi_parting *p) {
    const size_t each = WI_PARTING_ARRAYS * (size_t)n;
    int32_t *memory = wi_arena_take(arena, (size_t)count * each * sizeof *memory);
    for (int k = 0; k < count && memory; k++, memory += each)
        p[k] = (wi_parting){.list = memory,
                            .moved = memory + n,
                            .drawn = memory + 2 * (size_t)n,
                            .standing = (wi_standing *)(memory + 3 * (size_t)n),
                            .links = (wi_link *)(memory + 5 * (size_t)n),
                            .most_links = n + n / 2};
    return memory;
}

/* ---- the separator's vertices by gain ---- */

/* The number of the chain for a gain. Chain 0 has the largest possible gain, the weight of the
 * heaviest vertex; the last one has all very bad gains together. */
static inline int32_t chain_of(const wi_parting *p, int32_t gain) {
    const int32_t chain = (p->heaviest - gain) >> p->shift;
    return chain < WI_CHAINS ? chain : WI_CHAINS - 1;
}

static void clear_chains(wi_parting *p) {
    enum {
        TIMES = 4, /* links for each vertex of the separator */
        LEAST = 1 << 10
    };
    for (int32_t k = 0; k < WI_CHAINS; k++)
        p->first[k] = NONE;
    p->best = WI_CHAINS;
    p->linked = 0;
    p->full = p->count < p->most_links / TIMES - LEAST ? TIMES * p->count + LEAST : p->most_links;
}

/* Does the vertex of link k still have it? */
static inline bool counts(const wi_parting *p, int32_t k) {
    return p->standing[p->links[k].vertex].link == k;
}

/* Throws away the links that do not count. The others stay in their order, so that links of a chain
 * stay in theirs. There are at most as many as there are vertices. */
static void clear_links(wi_parting *p) {
    int32_t to = 0;
    for (int32_t k = 0; k < WI_CHAINS; k++)
        p->first[k] = NONE;
    for (int32_t k = 0; k < p->linked; k++) {
        const int32_t v = p->links[k].vertex, chain = chain_of(p, p->standing[v].gain);
        if (p->standing[v].link != k)
            continue;
        p->links[to] = (wi_link){v, p->first[chain]};
        p->standing[v].link = p->first[chain] = to++;
    }
    p->linked = to;
    p->full = to < p->full / 2 ? p->full : p->most_links;
}

/* The latest vertex comes out first, so that a pass works along the separator. */
static inline void chain_push(wi_parting *p, int32_t v) {
    if (p->linked == p->full)
        clear_links(p);
    const int32_t chain = chain_of(p, p->standing[v].gain), link = p->linked++;
    p->links[link] = (wi_link){v, p->first[chain]};
    p->standing[v].link = p->first[chain] = link;
    if (chain < p->best)
        p->best = chain;
}

/* Takes out the vertex with the largest gain; NONE if there is none. */
static int32_t chain_pop(wi_parting *p) {
    for (; p->best < WI_CHAINS; p->best++) {
        for (int32_t k; (k = p->first[p->best]) != NONE;) {
            p->first[p->best] = p->links[k].before;
            if (!counts(p, k))
                continue;
            p->standing[p->links[k].vertex].link = NONE;
            return p->links[k].vertex;
        }
    }
    return NONE;
}

/* ---- moves ---- */

static void shift(wi_parting *p, int32_t v, uint8_t to) {
    p->weight[p->side[v]] -= p->graph->weight[v];
    p->weight[to] += p->graph->weight[v];
    p->side[v] = to;
}

/* Computes the gain of v, which is in the separator: it would pull in its neighbours on side
 * `other`. */
static void enter(wi_parting *p, int32_t v, uint8_t other) {
    const wi_graph *const g = p->graph;
    int32_t gain = g->weight[v];
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        gain -= p->side[g->row[e]] == other ? g->weight[g->row[e]] : 0;
    p->standing[v].gain = gain;
    chain_push(p, v);
}

/* Pulls v from side `other` into the separator: as `enter`, and those of its neighbours that are
 * there gain its weight. If v leaves, others are drawn, whose neighbours come from memory until
 * then. */
static void draw(wi_parting *p, int32_t v, uint8_t other) {
    const wi_graph *const g = p->graph;
    const uint8_t *const side = p->side;
    const int32_t *const weight = g->weight, own = weight[v], end = g->start[v + 1];
    int32_t gain = own;
    shift(p, v, WI_SEPARATOR);
    for (int32_t e = g->start[v]; e < end; e++) {
        const int32_t u = g->row[e];
        if (side[u] == other) {
            gain -= weight[u];
            __builtin_prefetch(&g->row[g->start[u]]);
        } else if (side[u] == WI_SEPARATOR && p->standing[u].link != NONE) {
            p->standing[u].gain += own;
            chain_push(p, u);
        }
    }
    p->standing[v].gain = gain;
    chain_push(p, v);
    p->list[p->count++] = v;
}

static void move(wi_parting *p, int32_t v, uint8_t to) {
    const wi_graph *const g = p->graph;
    const uint8_t other = 1 - to;
    shift(p, v, to);
    p->moved[p->moves] = v;
    p->drawn[p->moves++] = p->count;
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        if (p->side[g->row[e]] == other)
            draw(p, g->row[e], other);
    }
}

/* Undoes the moves after the first `kept`. */
static void take_back(wi_parting *p, int32_t kept, uint8_t other) {
    if (kept == p->moves)
        return;
    for (int32_t k = kept; k < p->moves; k++)
        shift(p, p->moved[k], WI_SEPARATOR);
    for (int32_t k = p->drawn[kept]; k < p->count; k++)
        shift(p, p->list[k], other);
    p->count = p->drawn[kept];
    p->moves = kept;
}

/* Removes from the list what has left the separator. */
static void strike(wi_parting *p) {
    int32_t to = 0;
    for (int32_t k = 0; k < p->count; k++) {
        if (p->side[p->list[k]] == WI_SEPARATOR)
            p->list[to++] = p->list[k];
    }
    p->count = to;
}

static int32_t larger(const int32_t weight[3]) {
    return weight[0] > weight[1] ? weight[0] : weight[1];
}

bool wi_parting_better(const wi_parting *p, const int32_t weight[3]) {
    const int32_t large = larger(p->weight), large_then = larger(weight);
    const int32_t beyond = large > p->most ? large - p->most : 0;
    const int32_t beyond_then = large_then > p->most ? large_then - p->most : 0;
    if (beyond != beyond_then)
        return beyond < beyond_then;
    return p->weight[2] < weight[2] || (p->weight[2] == weight[2] && large < large_then);
}

static bool is_stopped(const wi_parting *p) {
    return p->stop && atomic_load_explicit(p->stop, memory_order_relaxed);
}

/* Moves vertices to side `to` as long as there is room, then keeps the best state reached. Returns
 * whether it is better than before. Passes do not stop early: a few hundred moves are enough to
 * smooth a separator, but many more are needed to turn it. A slanted cut of a mesh has fewer points
 * than a straight one, and all cuts between the two are worse than both. */
bool wi_parting_pass(wi_parting *p, uint8_t to, const wi_pass_watch *watch) {
    const uint8_t other = 1 - to;
    int32_t kept = 0, best[3] = {p->weight[0], p->weight[1], p->weight[2]};
    p->moves = 0;
    clear_chains(p);
    for (int32_t k = 0; k < p->count; k++)
        enter(p, p->list[k], other);
    const int32_t limit = p->graph->n > LARGE ? p->graph->n / SWEEP : INT32_MAX;
    for (int32_t v; (v = chain_pop(p)) != NONE && p->moves < limit && !is_stopped(p);) {
        if (p->weight[to] + p->graph->weight[v] > p->most)
            continue;
        move(p, v, to);
        if (wi_parting_better(p, best)) {
            kept = p->moves;
            for (int k = 0; k < 3; k++)
                best[k] = p->weight[k];
            if (watch)
                watch->better(watch->user);
        } else if (watch && kept > 0 && p->moves - kept == watch->patience) {
            watch->stale(watch->user, kept, best);
        }
    }
    take_back(p, kept, other);
    strike(p);
    return kept > 0;
}

void wi_parting_refine(wi_parting *p) {
    int vain = 0; /* passes in a row that have found nothing */
    uint8_t to = p->weight[0] > p->weight[1];
    for (int k = 0; k < WI_PASSES && vain < WI_VAIN && p->count > 0; k++) {
        vain = wi_parting_pass(p, to, NULL) ? 0 : vain + 1;
        to = 1 - to;
    }
}

/* ---- another graph ---- */

enum {
    SET_PIECES = 24
};

/* While a division is set: what the pieces of the graph have. */
typedef struct setting {
    wi_parting *parting;
    const int32_t *to; /* or NULL: the division is there */
    const uint8_t *coarse;
    int32_t pieces;
    int32_t weight[SET_PIECES][3], heaviest[SET_PIECES], count[SET_PIECES];
} setting;

/* The first vertex of a piece. */
static int32_t piece_at(const setting *s, int32_t piece) {
    return (int32_t)((int64_t)s->parting->graph->n * piece / s->pieces);
}

/* Lists the piece's part of the separator in `moved`, from its own place on. */
static void set_piece(void *user, int32_t piece) {
    setting *const s = user;
    wi_parting *const p = s->parting;
    const int32_t *const own = p->graph->weight, begin = piece_at(s, piece);
    int32_t weight[3] = {0, 0, 0}, heaviest = 1, count = 0;
    for (int32_t v = begin; v < piece_at(s, piece + 1); v++) {
        if (s->to)
            p->side[v] = s->coarse[s->to[v]];
        weight[p->side[v]] += own[v];
        heaviest = own[v] > heaviest ? own[v] : heaviest;
        if (p->side[v] == WI_SEPARATOR)
            p->moved[begin + count++] = v;
    }
    memcpy(s->weight[piece], weight, sizeof weight);
    s->heaviest[piece] = heaviest;
    s->count[piece] = count;
}

void wi_parting_project(wi_job_queue *queue, wi_parting *p, const wi_graph *graph, uint8_t *side,
                        const int32_t *to, const uint8_t *coarse) {
    const bool together = graph->n >= WI_SHARED_VERTICES && wi_job_queue_has_idle(queue);
    setting s = {.parting = p, .to = to, .coarse = coarse, .pieces = together ? SET_PIECES : 1};
    p->graph = graph;
    p->side = side;
    p->count = p->moves = 0;
    p->heaviest = 1;
    p->most = (int32_t)((int64_t)graph->total * 3 / 5);
    p->weight[0] = p->weight[1] = p->weight[2] = 0;
    wi_job_run(queue, s.pieces, set_piece, &s);
    for (int32_t k = 0; k < s.pieces; k++) {
        for (int i = 0; i < 3; i++)
            p->weight[i] += s.weight[k][i];
        if (s.heaviest[k] > p->heaviest)
            p->heaviest = s.heaviest[k];
        memcpy(p->list + p->count, p->moved + piece_at(&s, k),
               (size_t)s.count[k] * sizeof *p->list);
        p->count += s.count[k];
    }
    p->shift = 0;
    while (p->heaviest >> p->shift >= WI_CHAINS / 8)
        p->shift++;
}

void wi_parting_set(wi_parting *p, const wi_graph *graph, uint8_t *side) {
    wi_parting_project(NULL, p, graph, side, NULL, NULL);
}

void wi_parting_grow(wi_parting *p, const wi_graph *graph, uint8_t *side, int32_t from) {
    for (int32_t v = 0; v < graph->n; v++)
        side[v] = 1;
    wi_parting_set(p, graph, side);
    clear_chains(p);
    while (p->weight[0] < p->weight[1]) {
        if (p->weight[WI_SEPARATOR] == 0) {
            while (side[from] != 1)
                from = from + 1 < graph->n ? from + 1 : 0;
            draw(p, from, 1);
        }
        move(p, chain_pop(p), 0);
    }
    strike(p);
}
