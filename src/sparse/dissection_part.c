/* SPDX-License-Identifier: Apache-2.0 */
/* One large part of a dissection: its graph, its separator, and its vertices sorted by sides. The
 * loops over a large part are cut into pieces, which threads without work take. */
#include <string.h>

#include "sparse/dissection_graph.h"

enum {
    PIECES = 24
};

/* Who helps with a part: nobody with a small one. */
static wi_job_queue *helpers(const wi_arena *arena, const wi_dissection_part *p) {
    const bool together = p->n >= WI_SHARED_VERTICES && wi_job_queue_has_idle(arena->queue);
    return together ? arena->queue : NULL;
}

/* The first vertex of a piece. */
static int32_t piece_at(const wi_dissection_part *p, int32_t piece, int32_t pieces) {
    return (int32_t)((int64_t)p->n * piece / pieces);
}

/* ---- the graph ---- */

typedef struct extraction {
    const wi_dissection *d;
    const wi_dissection_part *p;
    wi_graph *graph;
    int32_t at[PIECES + 1]; /* the first edge of each piece */
} extraction;

static void count_edges(void *user, int32_t piece) {
    extraction *const x = user;
    const wi_graph *const base = &x->d->base;
    int32_t count = 0;
    for (int32_t k = piece_at(x->p, piece, PIECES); k < piece_at(x->p, piece + 1, PIECES); k++) {
        const int32_t v = x->d->member[x->p->begin + k];
        for (int32_t e = base->start[v]; e < base->start[v + 1]; e++)
            count += wi_is_inside(x->p, wi_dissection_place(x->d, base->row[e]));
    }
    x->at[piece + 1] = count;
}

/* Lists the vertices begin ... end - 1 of the part, and their edges from place `to` on. */
static void list_vertices(const extraction *x, int32_t begin, int32_t end, int32_t to) {
    const wi_graph *const base = &x->d->base;
    wi_graph *const graph = x->graph;
    for (int32_t k = begin; k < end; k++) {
        const int32_t v = x->d->member[x->p->begin + k];
        graph->weight[k] = base->weight[v];
        for (int32_t e = base->start[v]; e < base->start[v + 1]; e++) {
            const int32_t place = wi_dissection_place(x->d, base->row[e]);
            if (wi_is_inside(x->p, place))
                graph->row[to++] = place - x->p->begin;
        }
        graph->start[k + 1] = to;
    }
}

static void list_piece(void *user, int32_t piece) {
    const extraction *const x = user;
    list_vertices(x, piece_at(x->p, piece, PIECES), piece_at(x->p, piece + 1, PIECES),
                  x->at[piece]);
}

/* An upper bound on the edges within the part. */
static int32_t bound_edges(const wi_dissection *d, const wi_dissection_part *p) {
    int32_t entries = 0;
    for (int32_t k = p->begin; k < p->begin + p->n; k++)
        entries += d->base.start[d->member[k] + 1] - d->base.start[d->member[k]];
    return entries;
}

static bool extract(const wi_dissection *d, wi_arena *arena, const wi_dissection_part *p,
                    wi_graph *graph) {
    wi_job_queue *const queue = helpers(arena, p);
    extraction x = {.d = d, .p = p, .graph = graph};
    if (queue) {
        wi_job_run(queue, PIECES, count_edges, &x);
        for (int32_t k = 0; k < PIECES; k++)
            x.at[k + 1] += x.at[k];
    }
    const size_t n = (size_t)p->n, entries = (size_t)(queue ? x.at[PIECES] : bound_edges(d, p));
    *graph = (wi_graph){.n = p->n, .total = p->columns};
    graph->start = wi_arena_take(arena, (2 * n + 1 + entries) * sizeof(int32_t));
    if (!graph->start)
        return false;
    graph->weight = graph->start + n + 1;
    graph->row = graph->weight + n;
    graph->start[0] = 0;
    if (queue) {
        wi_job_run(queue, PIECES, list_piece, &x);
    } else
        list_vertices(&x, 0, p->n, 0);
    return true;
}

/* ---- the sides ---- */

/* While the vertices are sorted: side 0, then side 1, then the separator. */
typedef struct sorting {
    wi_dissection *d;
    const wi_dissection_part *p;
    const uint8_t *side;
    const int32_t *weight;
    int32_t *moved;
    int32_t pieces;
    int32_t count[PIECES][3], weigh[PIECES][3]; /* of each piece; then where its vertices go */
} sorting;

static void weigh_piece(void *user, int32_t piece) {
    sorting *const s = user;
    int32_t count[3] = {0, 0, 0}, weight[3] = {0, 0, 0};
    const int32_t end = piece_at(s->p, piece + 1, s->pieces);
    for (int32_t k = piece_at(s->p, piece, s->pieces); k < end; k++) {
        count[s->side[k]]++;
        weight[s->side[k]] += s->weight[k];
    }
    memcpy(s->count[piece], count, sizeof count);
    memcpy(s->weigh[piece], weight, sizeof weight);
}

static void move_piece(void *user, int32_t piece) {
    sorting *const s = user;
    int32_t *const at = s->count[piece];
    const int32_t end = piece_at(s->p, piece + 1, s->pieces);
    for (int32_t k = piece_at(s->p, piece, s->pieces); k < end; k++)
        s->moved[at[s->side[k]]++] = s->d->member[s->p->begin + k];
}

static void place_piece(void *user, int32_t piece) {
    const sorting *const s = user;
    const int32_t end = piece_at(s->p, piece + 1, s->pieces);
    for (int32_t k = piece_at(s->p, piece, s->pieces); k < end; k++) {
        const int32_t v = s->moved[k], place = s->p->begin + k;
        s->d->member[place] = v;
        atomic_store_explicit(&s->d->place[v], place, memory_order_relaxed);
    }
}

/* Counts the vertices of each side, and what they weigh; afterwards pieces can move theirs. */
static void weigh_sides(wi_job_queue *queue, sorting *s, int32_t count[3], int32_t weight[3]) {
    int32_t at = 0;
    wi_job_run(queue, s->pieces, weigh_piece, s);
    for (int i = 0; i < 3; i++) {
        const int32_t first = at;
        weight[i] = 0;
        for (int32_t k = 0; k < s->pieces; k++) {
            const int32_t own = s->count[k][i];
            weight[i] += s->weigh[k][i];
            s->count[k][i] = at;
            at += own;
        }
        count[i] = at - first;
    }
}

/* A part of the room of p for its first side, the rest for the second; all of it for each if one
 * thread divides both, one after the other. */
static void share_room(const wi_dissection *d, const wi_dissection_part *p,
                       wi_dissection_part sides[2]) {
    enum {
        LINE = 64
    };
    sides[0].room = sides[1].room = p->room;
    if (d->threads == 1)
        return;
    const double share = (double)sides[0].n / ((double)sides[0].n + (double)sides[1].n);
    const size_t first = (size_t)((double)p->room.bytes * share) / LINE * LINE;
    sides[0].room = (wi_room){p->room.memory, first};
    sides[1].room = (wi_room){p->room.memory + first, p->room.bytes - first};
}

bool wi_dissection_split(wi_dissection *d, wi_arena *arena, const wi_dissection_part *p,
                         wi_dissection_part sides[2], bool *worth) {
    wi_graph graph;
    int32_t count[3], weight[3];
    *worth = false;
    uint8_t *const side = wi_arena_take(arena, (size_t)p->n);
    if (!side || !extract(d, arena, p, &graph))
        return false;
    if (graph.start[graph.n] == 0)
        return true;
    if (!d->separate(arena, &graph, (uint64_t)p->at, side))
        return false;
    wi_job_queue *const queue = helpers(arena, p);
    sorting s = {d, p, side, graph.weight, graph.start, queue ? PIECES : 1, {{0}}, {{0}}};
    weigh_sides(queue, &s, count, weight);
    if (weight[0] < p->columns / 8 || weight[1] < p->columns / 8)
        return true;
    wi_job_run(queue, s.pieces, move_piece, &s);
    wi_job_run(queue, s.pieces, place_piece, &s);
    sides[0] =
        (wi_dissection_part){.begin = p->begin, .n = count[0], .columns = weight[0], .at = p->at};
    sides[1] = (wi_dissection_part){
        .begin = p->begin + count[0], .n = count[1], .columns = weight[1], .at = p->at + weight[0]};
    share_room(d, p, sides);
    wi_dissection_place_columns(d, sides[1].begin + count[1], count[2], sides[1].at + weight[1]);
    *worth = true;
    return true;
}
