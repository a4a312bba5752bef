/* SPDX-License-Identifier: Apache-2.0 */
/* Better separators by moving one vertex at a time (Fiduccia and Mattheyses 1982; for separators
 * Ashcraft and Liu 1996). A vertex that leaves the separator for one side draws in its neighbours
 * on the other. In one pass all moves go to one side, so that a vertex's gain can only rise: when a
 * neighbour that would have to come is drawn in by another. */
#include "sparse/separator.h"

enum {
    PASSES = 10,
    /* A pass is given up so many moves after the best separator it found, and so many more for each
     * vertex that it began with. A few hundred would do to smooth a separator; these let it turn: a
     * slanted cut of a mesh has fewer points than a straight one, but there is a hill between. */
    VAIN_MOVES = 3000,
    VAIN_ROUNDS = 5
};

bool wi_parting_take(wi_room *room, int32_t n, wi_parting *p) {
    int32_t *const memory = wi_room_take(room, 6 * (size_t)n * sizeof *memory);
    *p = (wi_parting){.list = memory,
                      .gain = memory + n,
                      .heap = memory + 2 * (size_t)n,
                      .at = memory + 3 * (size_t)n,
                      .moved = memory + 4 * (size_t)n,
                      .drawn = memory + 5 * (size_t)n};
    return memory;
}

/* ---- the separator's vertices by gain ---- */

static inline void heap_put(wi_parting *p, int32_t place, int32_t v) {
    p->heap[place] = v;
    p->at[v] = place;
}

static void heap_raise(wi_parting *p, int32_t v) {
    int32_t place = p->at[v];
    while (place > 0) {
        const int32_t up = (place - 1) / 2;
        if (p->gain[p->heap[up]] >= p->gain[v])
            break;
        heap_put(p, place, p->heap[up]);
        place = up;
    }
    heap_put(p, place, v);
}

static void heap_push(wi_parting *p, int32_t v) {
    p->at[v] = p->heaped++;
    heap_raise(p, v);
}

static int32_t heap_pop(wi_parting *p) {
    const int32_t first = p->heap[0], last = p->heap[--p->heaped];
    p->at[first] = -1;
    if (p->heaped == 0)
        return first;
    int32_t place = 0;
    for (int32_t below; (below = 2 * place + 1) < p->heaped; place = below) {
        if (below + 1 < p->heaped && p->gain[p->heap[below + 1]] > p->gain[p->heap[below]])
            below++;
        if (p->gain[p->heap[below]] <= p->gain[last])
            break;
        heap_put(p, place, p->heap[below]);
    }
    heap_put(p, place, last);
    return first;
}

/* ---- moves ---- */

static void shift(wi_parting *p, int32_t v, uint8_t to) {
    p->weight[p->side[v]] -= p->graph->weight[v];
    p->weight[to] += p->graph->weight[v];
    p->side[v] = to;
}

/* Finds the gain of v, in the separator, when it leaves it from `other`'s side. */
static void enter(wi_parting *p, int32_t v, uint8_t other) {
    const wi_graph *const g = p->graph;
    int32_t gain = g->weight[v];
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
        gain -= p->side[g->row[e]] == other ? g->weight[g->row[e]] : 0;
    p->gain[v] = gain;
    heap_push(p, v);
}

/* Draws v from side `other` into the separator. */
static void draw(wi_parting *p, int32_t v, uint8_t other) {
    const wi_graph *const g = p->graph;
    shift(p, v, WI_SEPARATOR);
    for (int32_t e = g->start[v]; e < g->start[v + 1]; e++) {
        const int32_t u = g->row[e];
        if (p->side[u] == WI_SEPARATOR && p->at[u] >= 0) {
            p->gain[u] += g->weight[v];
            heap_raise(p, u);
        }
    }
    enter(p, v, other);
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

/* Takes back the moves after the first `kept`. */
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

/* Strikes from the list what has left the separator. */
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

/* Moves vertices to side `to` and keeps the best that came of it. Returns whether that is better
 * than before. */
static bool pass(wi_parting *p, uint8_t to) {
    const int32_t vain = VAIN_MOVES + VAIN_ROUNDS * p->count;
    const uint8_t other = 1 - to;
    int32_t kept = 0, best[3] = {p->weight[0], p->weight[1], p->weight[2]};
    p->heaped = p->moves = 0;
    for (int32_t k = 0; k < p->count; k++)
        enter(p, p->list[k], other);
    while (p->heaped > 0 && p->moves - kept < vain) {
        const int32_t v = heap_pop(p);
        if (p->weight[to] + p->graph->weight[v] > p->most)
            continue;
        move(p, v, to);
        if (wi_parting_better(p, best)) {
            kept = p->moves;
            for (int k = 0; k < 3; k++)
                best[k] = p->weight[k];
        }
    }
    take_back(p, kept, other);
    strike(p);
    return kept > 0;
}

void wi_parting_refine(wi_parting *p) {
    int vain = 0;
    uint8_t to = p->weight[0] > p->weight[1];
    for (int k = 0; k < PASSES && vain < 2 && p->count > 0; k++) {
        vain = pass(p, to) ? 0 : vain + 1;
        to = 1 - to;
    }
}

void wi_parting_set(wi_parting *p, const wi_graph *graph, uint8_t *side) {
    p->graph = graph;
    p->side = side;
    p->count = p->heaped = p->moves = 0;
    p->most = (int32_t)((int64_t)graph->total * 3 / 5);
    p->weight[0] = p->weight[1] = p->weight[2] = 0;
    for (int32_t v = 0; v < graph->n; v++) {
        p->weight[side[v]] += graph->weight[v];
        if (side[v] == WI_SEPARATOR)
            p->list[p->count++] = v;
    }
}

void wi_parting_grow(wi_parting *p, const wi_graph *graph, uint8_t *side, int32_t from) {
    for (int32_t v = 0; v < graph->n; v++)
        side[v] = 1;
    wi_parting_set(p, graph, side);
    while (p->weight[0] < p->weight[1]) {
        if (p->heaped == 0) {
            while (side[from] != 1)
                from = from + 1 < graph->n ? from + 1 : 0;
            draw(p, from, 1);
        }
        move(p, heap_pop(p), 0);
    }
    strike(p);
}
