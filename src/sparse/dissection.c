/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection: a small set of vertices, the separator, divides the graph in two sides; the
 * two sides are ordered in the same way, at the same time, and the separator comes last. Small
 * sides are ordered by minimum degree. Columns with the same neighbours are one vertex of the
 * graph. */
#include "sparse/dissection.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/team.h"

enum {
    /* Sides of at most so many columns are ordered by minimum degree, which takes a fraction of the
     * time of a separator and gives about as little fill there. */
    SMALL = 1000,
    /* A side of more columns than this may be taken by any thread. */
    SHARED = 4000
};

/* The vertices of a part are place[v] = begin ... begin + n - 1 of `member`, in which every part is
 * contiguous. A thread moves only vertices of its own part. Vertices of other parts may move
 * meanwhile, but never into its own range. */
typedef struct dissection {
    const wi_order_args *args;
    wi_separator_rule *separate;
    wi_graph base;   /* the graph that is dissected */
    int32_t *vertex; /* the vertex of each column */
    int32_t *first;  /* the columns of vertex v are column[first[v]] ... */
    int32_t *column;
    int32_t *member;
    _Atomic int32_t *place;
    int32_t *local; /* the number of a column in its small part */
    int32_t inner;  /* vertices to dissect; the others, which have very many neighbours, come after
                       them */
    wi_room *rooms; /* one for each thread */
    atomic_bool failed;
    struct part *shared; /* parts that any thread may take, the latest first */
    int waiting, open;   /* parts in that list, and those plus the ones being divided */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals a change of these three */
} dissection;

/* A part, and where its columns go in the ordering. */
typedef struct part {
    int32_t begin, n;
    int64_t at;
} part;

static inline int32_t place_of(const dissection *d, int32_t v) {
    return atomic_load_explicit(&d->place[v], memory_order_relaxed);
}

static inline bool inside(const part *p, int32_t place) {
    return place >= p->begin && place < p->begin + p->n;
}

/* ---- columns with the same neighbours ---- */

static inline uint32_t scramble(int64_t v) {
    return (uint32_t)((uint64_t)(v + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

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

/* leader[v] = the first column with the same neighbours as v; overwrites hash[]. Returns how many
 * columns are leaders. */
static int32_t find_leaders(const wi_pattern *graph, int32_t *leader, uint32_t *hash) {
    const int64_t *const start = graph->start, *const row = graph->row;
    int32_t count = 0;
    for (int64_t v = 0; v < graph->n; v++) {
        hash[v] = scramble(v);
        for (int64_t e = start[v]; e < start[v + 1]; e++)
            hash[v] += scramble(row[e]);
    }
    for (int64_t v = 0; v < graph->n; v++) {
        leader[v] = (int32_t)v;
        for (int64_t e = start[v]; e < start[v + 1] && row[e] < v; e++) {
            const int64_t u = row[e];
            if (hash[u] == hash[v] && leader[u] == u && alike(graph, u, v)) {
                leader[v] = (int32_t)u;
                break;
            }
        }
        count += leader[v] == v;
    }
    return count;
}

/* Columns with more neighbours come last: they would be in every separator. */
static int64_t most_neighbours(int64_t n) {
    return (int64_t)fmax(16, 10 * sqrt((double)n));
}

/* Numbers the vertices, with those that come last at the end, and lists their columns. `leader`
 * becomes the vertex of each column. */
static void number_vertices(dissection *d, int32_t *leader, int32_t leaders) {
    const wi_pattern *const graph = d->args->graph;
    const int64_t limit = most_neighbours(graph->n);
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

/* Builds the graph of the vertices, from the first column of each. */
static void fill_base(dissection *d) {
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

/* Prepares all data of a dissection. False if there is no memory. */
static bool prepare(dissection *d, wi_room *room) {
    static const double worthwhile = 0.9;
    const wi_pattern *const graph = d->args->graph;
    const size_t n = (size_t)graph->n, entries = (size_t)graph->start[n];
    int32_t *const memory = wi_room_take(room, (8 * n + 2 + entries) * sizeof *memory);
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
    int32_t leaders = find_leaders(graph, leader, (uint32_t *)d->member);
    if ((double)leaders > worthwhile * (double)n) {
        leaders = (int32_t)n;
        for (int32_t j = 0; j < leaders; j++)
            leader[j] = j;
    }
    d->base.n = leaders;
    d->base.total = (int32_t)n;
    number_vertices(d, leader, leaders);
    fill_base(d);
    return true;
}

/* ---- small parts ---- */

static void place_columns(const dissection *d, int32_t begin, int32_t n, int64_t at) {
    for (int32_t k = begin; k < begin + n; k++) {
        const int32_t v = d->member[k];
        for (int32_t c = d->first[v]; c < d->first[v + 1]; c++)
            d->args->perm[at++] = d->column[c];
    }
}

/* Lists the columns of the part in `perm`, numbers them, and counts their entries and how many of
 * these are outside the part. */
static int64_t count_entries(dissection *d, const part *p, int64_t columns, int64_t *outside) {
    const wi_pattern *const graph = d->args->graph;
    const int64_t *const column = d->args->perm + p->at;
    int64_t entries = 0;
    *outside = 0;
    for (int64_t k = 0; k < columns; k++) {
        const int64_t j = column[k];
        d->local[j] = (int32_t)k;
        entries += graph->start[j + 1] - graph->start[j];
        for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++)
            *outside += !inside(p, place_of(d, d->vertex[graph->row[e]]));
    }
    return entries;
}

/* The columns around a part (its halo), numbered as they are found. */
typedef struct halo {
    int64_t *key; /* column + 1; 0: free */
    int32_t *number;
    size_t mask;
    int32_t count;
} halo;

static bool halo_take(wi_room *room, int64_t most, halo *h) {
    size_t slots = 16;
    while (slots < 2 * (size_t)most)
        slots *= 2;
    h->mask = slots - 1;
    h->count = 0;
    h->key = wi_room_take(room, slots * (sizeof *h->key + sizeof *h->number));
    if (!h->key)
        return false;
    h->number = (int32_t *)(h->key + slots);
    memset(h->key, 0, slots * sizeof *h->key);
    return true;
}

static int32_t halo_number(halo *h, int64_t column) {
    size_t k = scramble(column) & h->mask;
    while (h->key[k] != 0 && h->key[k] != column + 1)
        k = (k + 1) & h->mask;
    if (h->key[k] == 0) {
        h->key[k] = column + 1;
        h->number[k] = h->count++;
    }
    return h->number[k];
}

/* Builds the graph of the part and its halo, whose columns have neighbours in the part only.
 * Returns the number of columns in the halo. */
static int32_t fill_graph(dissection *d, const part *p, int64_t columns, halo *h, int64_t *start,
                          int64_t *row) {
    const wi_pattern *const graph = d->args->graph;
    int64_t to = 0;
    for (int64_t k = 0; k < columns; k++) {
        const int64_t j = d->args->perm[p->at + k];
        start[k] = to;
        for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++) {
            const int64_t i = graph->row[e];
            row[to++] =
                inside(p, place_of(d, d->vertex[i])) ? d->local[i] : columns + halo_number(h, i);
        }
    }
    const int64_t inner_end = to;
    for (int64_t k = columns; k <= columns + h->count; k++)
        start[k] = 0;
    for (int64_t e = 0; e < inner_end; e++) {
        if (row[e] >= columns)
            start[row[e]]++;
    }
    for (int64_t k = columns; k <= columns + h->count; k++) {
        to += start[k];
        start[k] = to; /* the end; filled backwards */
    }
    int64_t k = columns - 1;
    for (int64_t e = inner_end - 1; e >= 0; e--) {
        while (start[k] > e)
            k--;
        if (row[e] >= columns)
            row[--start[row[e]]] = k;
    }
    return h->count;
}

/* Orders a part by minimum degree, where the halo counts as neighbours that come later. */
static bool order_small(dissection *d, wi_room *room, const part *p, int64_t columns) {
    int64_t outside;
    halo h;
    place_columns(d, p->begin, p->n, p->at);
    const int64_t entries = count_entries(d, p, columns, &outside);
    if (!halo_take(room, outside, &h))
        return false;
    const size_t words = (size_t)(2 * columns + outside + 1 + entries + outside);
    int64_t *const start = wi_room_take(room, words * sizeof *start);
    if (!start)
        return false;
    int64_t *const row = start + columns + outside + 1, *const perm = row + entries + outside;
    const int32_t around = fill_graph(d, p, columns, &h, start, row);
    const wi_pattern graph = {columns + around, start, row};
    const wi_order_args args = {
        .call = d->args->call, .graph = &graph, .perm = perm, .halo = around};
    if (wi_order_amd(NULL, &args) != WEFT_OK)
        return false;
    for (int64_t k = 0; k < columns; k++)
        perm[k] = d->args->perm[p->at + perm[k]];
    memcpy(d->args->perm + p->at, perm, (size_t)columns * sizeof *perm);
    return true;
}

/* ---- large parts ---- */

static bool extract(const dissection *d, wi_room *room, const part *p, int32_t columns,
                    wi_graph *graph) {
    const wi_graph *const base = &d->base;
    int64_t entries = 0;
    for (int32_t k = 0; k < p->n; k++) {
        const int32_t v = d->member[p->begin + k];
        entries += base->start[v + 1] - base->start[v];
    }
    const size_t n = (size_t)p->n;
    *graph = (wi_graph){.n = p->n, .total = columns};
    graph->start = wi_room_take(room, (2 * n + 1 + (size_t)entries) * sizeof(int32_t));
    if (!graph->start)
        return false;
    graph->weight = graph->start + n + 1;
    graph->row = graph->weight + n;
    int32_t to = 0;
    for (int32_t k = 0; k < p->n; k++) {
        const int32_t v = d->member[p->begin + k];
        graph->start[k] = to;
        graph->weight[k] = base->weight[v];
        for (int32_t e = base->start[v]; e < base->start[v + 1]; e++) {
            const int32_t place = place_of(d, base->row[e]);
            if (inside(p, place))
                graph->row[to++] = place - p->begin;
        }
    }
    graph->start[p->n] = to;
    return true;
}

/* Sorts the vertices: side 0, then side 1, then the separator; counts each. */
static void sort_sides(dissection *d, const part *p, const uint8_t *side, int32_t *moved,
                       int32_t count[3]) {
    count[0] = count[1] = count[2] = 0;
    for (int32_t k = 0; k < p->n; k++)
        count[side[k]]++;
    int32_t at[3] = {0, count[0], count[0] + count[1]};
    for (int32_t k = 0; k < p->n; k++)
        moved[at[side[k]]++] = d->member[p->begin + k];
    memcpy(d->member + p->begin, moved, (size_t)p->n * sizeof *moved);
    for (int32_t k = p->begin; k < p->begin + p->n; k++)
        atomic_store_explicit(&d->place[d->member[k]], k, memory_order_relaxed);
}

static int64_t columns_of(const dissection *d, int32_t begin, int32_t n) {
    int64_t columns = 0;
    for (int32_t k = begin; k < begin + n; k++)
        columns += d->base.weight[d->member[k]];
    return columns;
}

/* Divides p, unless one side would have less than an eighth of its vertices. Places the separator
 * in the ordering. */
static bool split(dissection *d, wi_room *room, const part *p, int64_t columns, part sides[2],
                  bool *worth) {
    wi_graph graph;
    int32_t count[3];
    *worth = false;
    uint8_t *const side = wi_room_take(room, (size_t)p->n);
    if (!side || !extract(d, room, p, (int32_t)columns, &graph))
        return false;
    if (graph.start[graph.n] == 0)
        return true;
    if (!d->separate(room, &graph, (uint64_t)p->at, side))
        return false;
    int64_t weight[3] = {0, 0, 0};
    for (int32_t k = 0; k < p->n; k++)
        weight[side[k]] += graph.weight[k];
    if (weight[0] < columns / 8 || weight[1] < columns / 8)
        return true;
    sort_sides(d, p, side, graph.weight, count);
    sides[0] = (part){p->begin, count[0], p->at};
    sides[1] = (part){p->begin + count[0], count[1], p->at + weight[0]};
    place_columns(d, p->begin + count[0] + count[1], count[2], p->at + weight[0] + weight[1]);
    *worth = true;
    return true;
}

static void share(dissection *d, const part *p) {
    pthread_mutex_lock(&d->lock);
    d->shared[d->waiting++] = *p;
    d->open++;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* Each side is at most 7/8 of its part, so the recursion is not deep. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void dissect(dissection *d, wi_room *room, part p) {
    const int64_t columns = columns_of(d, p.begin, p.n);
    part sides[2];
    bool worth = false;
    if (atomic_load_explicit(&d->failed, memory_order_relaxed))
        return;
    bool enough = columns <= SMALL || split(d, room, &p, columns, sides, &worth);
    wi_room_reset(room);
    if (enough && !worth) {
        enough = order_small(d, room, &p, columns);
        wi_room_reset(room);
    }
    if (!enough)
        atomic_store_explicit(&d->failed, true, memory_order_relaxed);
    if (!enough || !worth)
        return;
    if (columns > SHARED)
        share(d, &sides[0]);
    else
        dissect(d, room, sides[0]);
    dissect(d, room, sides[1]);
}

/* Takes parts until none is left and no thread can add another. */
static void take_parts(void *user, int rank, int size) {
    dissection *const d = user;
    (void)size;
    pthread_mutex_lock(&d->lock);
    while (d->open > 0) {
        if (d->waiting == 0) {
            pthread_cond_wait(&d->changed, &d->lock);
            continue;
        }
        const part p = d->shared[--d->waiting];
        pthread_mutex_unlock(&d->lock);
        dissect(d, &d->rooms[rank], p);
        pthread_mutex_lock(&d->lock);
        if (--d->open == 0)
            pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
}

weft_status wi_dissect(weft_context *ctx, const wi_order_args *args, const char *name,
                       wi_separator_rule *separate, int threads) {
    dissection d = {.args = args,
                    .separate = separate,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER};
    const int64_t n = args->graph->n;
    weft_status status = WEFT_ENOMEM;
    const int most = n / SHARED < threads ? (int)(n / SHARED) : threads, team = most > 1 ? most : 1;
    wi_room room = {.at = 0};
    d.rooms = wi_host_alloc((size_t)team * sizeof *d.rooms);
    d.shared = wi_host_alloc(((size_t)n / (SHARED / 8) + 1) * sizeof *d.shared);
    if (!d.rooms || !d.shared || !prepare(&d, &room))
        goto done;
    memset(d.rooms, 0, (size_t)team * sizeof *d.rooms);
    place_columns(&d, d.inner, d.base.n - d.inner, columns_of(&d, 0, d.inner));
    share(&d, &(part){0, d.inner, 0});
    wi_team_run(ctx, team, take_parts, &d);
    for (int k = 0; k < team; k++)
        wi_room_free(&d.rooms[k]);
    if (!d.failed)
        status = WEFT_OK;
done:
    pthread_cond_destroy(&d.changed);
    pthread_mutex_destroy(&d.lock);
    wi_host_free(d.shared);
    wi_host_free(d.rooms);
    wi_room_free(&room);
    return status == WEFT_OK ? status
                             : wi_fail(ctx, status,
                                       "%s: no memory for ordering %s; free some, or "
                                       "order amd",
                                       args->call, name);
}
