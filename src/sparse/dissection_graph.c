/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that a dissection divides: columns with the same neighbours become one vertex, and
 * columns with very many neighbours are set aside. */
#include "sparse/dissection_graph.h"

#include <string.h>

/* Do u and v have the same neighbours, except for each other? The lists ascend. */
static bool alike(const wi_pattern *graph, int64_t u, int64_t v) {
    const int64_t *a = graph->row + graph->start[u], *b = graph->row + graph->start[v];
    const int64_t *const end = graph->row + graph->start[u + 1];
    const int64_t *const b_end = graph->row + graph->start[v + 1];
    while (true) {
        a += a < end && *a == v;
        b += b < b_end && *b == u;
        if (a == end || b == b_end)
            return a == end && b == b_end;
        if (*a++ != *b++)
            return false;
    }
}

/* Loops over all columns are cut into pieces, which threads without work take. */
typedef struct preparation {
    wi_dissection *d;
    const wi_pattern *graph;
    int32_t pieces;
    int32_t *leader;
    uint32_t *hash; /* of a column and its neighbours */
    int64_t dense;  /* columns with more neighbours would be in every separator */
    atomic_int leaders, denser;
} preparation;

/* The first column of a piece. */
static int64_t piece_at(const preparation *p, int32_t piece) {
    return p->graph->n * piece / p->pieces;
}

static void hash_columns(void *user, int32_t piece) {
    const preparation *const p = user;
    const int64_t *const start = p->graph->start, *const row = p->graph->row;
    for (int64_t v = piece_at(p, piece); v < piece_at(p, piece + 1); v++) {
        uint32_t hash = wi_hash_vertex(v);
        for (int64_t e = start[v]; e < start[v + 1]; e++)
            hash += wi_hash_vertex(row[e]);
        p->hash[v] = hash;
    }
}

/* leader[v] = the first column with the same neighbours as v. All such columns are neighbours of
 * each other, and lists ascend, so the first one found is the same for all of them. */
static void find_leaders(void *user, int32_t piece) {
    preparation *const p = user;
    const int64_t *const start = p->graph->start, *const row = p->graph->row;
    int32_t count = 0, denser = 0;
    for (int64_t v = piece_at(p, piece); v < piece_at(p, piece + 1); v++) {
        int64_t e = start[v];
        while (e < start[v + 1] && row[e] < v &&
               !(p->hash[row[e]] == p->hash[v] && alike(p->graph, row[e], v)))
            e++;
        const bool found = e < start[v + 1] && row[e] < v;
        p->leader[v] = (int32_t)(found ? row[e] : v);
        count += !found;
        denser += start[v + 1] - start[v] > p->dense;
    }
    atomic_fetch_add(&p->leaders, count);
    atomic_fetch_add(&p->denser, denser);
}

/* Numbers the vertices, with those that come last at the end, and lists their columns. `leader`
 * becomes the vertex of each column. */
static void number_vertices(wi_dissection *d, int64_t limit, int32_t *leader, int32_t leaders) {
    const wi_pattern *const graph = d->args->graph;
    const int32_t n = (int32_t)graph->n;
    int32_t late = leaders, early = 0;
    for (int32_t j = n - 1; j >= 0; j--) {
        if (leader[j] == j && graph->start[j + 1] - graph->start[j] > limit)
            d->local[j] = --late;
    }
    d->inner = late;
    for (int32_t v = 0; v <= leaders; v++)
        d->first[v] = 0;
    for (int32_t j = 0; j < n; j++) {
        if (leader[j] == j && graph->start[j + 1] - graph->start[j] <= limit)
            d->local[j] = early++;
        d->vertex[j] = d->local[leader[j]];
        d->first[d->vertex[j]]++;
    }
    for (int32_t v = 0, at = 0; v <= leaders; v++) {
        at += d->first[v];
        d->first[v] = at;
    }
    for (int32_t j = n - 1; j >= 0; j--)
        d->column[--d->first[d->vertex[j]]] = j;
}

/* The same where every column is a vertex, with the same number. */
static void copy_base(void *user, int32_t piece) {
    const preparation *const p = user;
    wi_dissection *const d = p->d;
    const int64_t *const start = p->graph->start;
    const int32_t begin = (int32_t)piece_at(p, piece), end = (int32_t)piece_at(p, piece + 1);
    wi_graph *const base = &d->base;
    for (int64_t e = start[begin]; e < start[end]; e++)
        base->row[e] = (int32_t)p->graph->row[e];
    for (int32_t v = begin; v < end; v++) {
        d->vertex[v] = d->column[v] = v;
        d->first[v + 1] = v + 1;
        base->start[v + 1] = (int32_t)start[v + 1];
        base->weight[v] = 1;
        d->member[v] = v;
        atomic_store_explicit(&d->place[v], v, memory_order_relaxed);
    }
}

/* Builds the graph of the vertices, from the first column of each. */
static void fill_base(wi_dissection *d) {
    const wi_pattern *const graph = d->args->graph;
    wi_graph *const base = &d->base;
    int32_t to = 0;
    for (int32_t v = 0; v < base->n; v++) {
        const int64_t j = d->column[d->first[v]];
        base->start[v] = to;
        base->weight[v] = d->first[v + 1] - d->first[v];
        for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++) {
            const int64_t i = graph->row[e];
            const int32_t u = d->vertex[i];
            if (u != v && d->column[d->first[u]] == i)
                base->row[to++] = u;
        }
        d->member[v] = v;
        atomic_store_explicit(&d->place[v], v, memory_order_relaxed);
    }
    base->start[base->n] = to;
}

bool wi_dissection_prepare(wi_dissection *d, wi_arena *arena) {
    static const double worthwhile = 0.9;
    enum {
        PIECES = 24
    };
    const wi_pattern *const graph = d->args->graph;
    const size_t n = (size_t)graph->n, entries = (size_t)graph->start[n];
    int32_t *const memory = wi_arena_take(arena, (8 * n + 2 + entries) * sizeof *memory);
    if (!memory)
        return false;
    d->vertex = memory;
    d->local = d->vertex + n;
    d->column = d->local + n;
    d->first = d->column + n;
    d->base.start = d->first + n + 1;
    d->base.weight = d->base.start + n + 1;
    d->member = d->base.weight + n;
    d->place = (_Atomic int32_t *)(d->member + n);
    d->base.row = d->member + 2 * n;
    int32_t *const leader = d->base.weight;
    wi_job_queue *const queue = n < WI_SHARED_VERTICES ? NULL : wi_dissection_queue(d);
    preparation p = {.d = d,
                     .graph = graph,
                     .pieces = queue ? PIECES : 1,
                     .leader = leader,
                     .hash = (uint32_t *)d->member,
                     .dense = (int64_t)wi_order_dense(graph->n)};
    wi_job_run(queue, p.pieces, hash_columns, &p);
    wi_job_run(queue, p.pieces, find_leaders, &p);
    const int32_t leaders = p.leaders;
    const bool alone = (double)leaders > worthwhile * (double)n;
    d->base.n = alone ? (int32_t)n : leaders;
    d->base.total = d->inner = (int32_t)n;
    d->base.start[0] = d->first[0] = 0;
    if (alone && p.denser == 0) {
        wi_job_run(queue, p.pieces, copy_base, &p);
        return true;
    }
    for (int32_t j = 0; alone && j < (int32_t)n; j++)
        leader[j] = j;
    number_vertices(d, p.dense, leader, d->base.n);
    fill_base(d);
    return true;
}
