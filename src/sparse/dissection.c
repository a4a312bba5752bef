/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection: a small set of vertices, the separator, divides the graph in two sides; the
 * two sides are ordered in the same way, at the same time, and the separator comes last. Small
 * sides are ordered by minimum degree. Columns with the same neighbours are one vertex of the
 * graph. */
#include "sparse/dissection_graph.h"

#include <string.h>

#include "cpu/team.h"

enum {
    /* Sides of at most so many columns are ordered by minimum degree, which takes a fraction of the
     * time of a separator and gives about as little fill there. */
    SMALL = 1000,
    /* A side of more columns than this may be taken by any thread. */
    SHARED = 4000,
    EXTRACT_PIECES = 16
};

/* ---- small parts ---- */

static void place_columns(const wi_dissection *d, int32_t begin, int32_t n, int64_t at) {
    for (int32_t k = begin; k < begin + n; k++) {
        const int32_t v = d->member[k];
        for (int32_t c = d->first[v]; c < d->first[v + 1]; c++)
            d->args->perm[at++] = d->column[c];
    }
}

/* Lists the columns of the part in `perm`, numbers them, and counts their entries and how many of
 * these are outside the part. */
static int64_t count_entries(wi_dissection *d, const wi_dissection_part *p, int64_t columns,
                             int64_t *outside) {
    const wi_pattern *const graph = d->args->graph;
    const int64_t *const column = d->args->perm + p->at;
    int64_t entries = 0;
    *outside = 0;
    for (int64_t k = 0; k < columns; k++) {
        const int64_t j = column[k];
        d->local[j] = (int32_t)k;
        entries += graph->start[j + 1] - graph->start[j];
        for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++)
            *outside += !wi_is_inside(p, wi_dissection_place(d, d->vertex[graph->row[e]]));
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

static bool halo_take(wi_arena *arena, int64_t most, halo *h) {
    size_t slots = 16;
    while (slots < 2 * (size_t)most)
        slots *= 2;
    h->mask = slots - 1;
    h->count = 0;
    h->key = wi_arena_take(arena, slots * (sizeof *h->key + sizeof *h->number));
    if (!h->key)
        return false;
    h->number = (int32_t *)(h->key + slots);
    memset(h->key, 0, slots * sizeof *h->key);
    return true;
}

static int32_t halo_number(halo *h, int64_t column) {
    size_t k = wi_hash_vertex(column) & h->mask;
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
static int32_t fill_graph(wi_dissection *d, const wi_dissection_part *p, int64_t columns, halo *h,
                          int64_t *start, int64_t *row) {
    const wi_pattern *const graph = d->args->graph;
    int64_t to = 0;
    for (int64_t k = 0; k < columns; k++) {
        const int64_t j = d->args->perm[p->at + k];
        start[k] = to;
        for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++) {
            const int64_t i = graph->row[e];
            row[to++] = wi_is_inside(p, wi_dissection_place(d, d->vertex[i]))
                            ? d->local[i]
                            : columns + halo_number(h, i);
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
static bool order_small(wi_dissection *d, wi_arena *arena, const wi_dissection_part *p,
                        int64_t columns) {
    int64_t outside;
    halo h;
    place_columns(d, p->begin, p->n, p->at);
    const int64_t entries = count_entries(d, p, columns, &outside);
    if (!halo_take(arena, outside, &h))
        return false;
    const size_t words = (size_t)(2 * columns + outside + 1 + entries + outside);
    int64_t *const start = wi_arena_take(arena, words * sizeof *start);
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

/* While the graph of a part is made; a large one in pieces, which threads without work take. */
typedef struct extraction {
    const wi_dissection *d;
    const wi_dissection_part *p;
    wi_graph *graph;
    int32_t at[EXTRACT_PIECES + 1]; /* the first edge of each piece */
} extraction;

/* The first vertex of a piece. */
static int32_t piece_at(const extraction *x, int32_t piece) {
    return (int32_t)((int64_t)x->p->n * piece / EXTRACT_PIECES);
}

static void count_edges(void *user, int32_t piece) {
    extraction *const x = user;
    const wi_graph *const base = &x->d->base;
    int32_t count = 0;
    for (int32_t k = piece_at(x, piece); k < piece_at(x, piece + 1); k++) {
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
    list_vertices(x, piece_at(x, piece), piece_at(x, piece + 1), x->at[piece]);
}

static bool extract(const wi_dissection *d, wi_arena *arena, const wi_dissection_part *p,
                    int32_t columns, wi_graph *graph) {
    const wi_graph *const base = &d->base;
    int64_t entries = 0;
    for (int32_t k = 0; k < p->n; k++) {
        const int32_t v = d->member[p->begin + k];
        entries += base->start[v + 1] - base->start[v];
    }
    const size_t n = (size_t)p->n;
    *graph = (wi_graph){.n = p->n, .total = columns};
    graph->start = wi_arena_take(arena, (2 * n + 1 + (size_t)entries) * sizeof(int32_t));
    if (!graph->start)
        return false;
    graph->weight = graph->start + n + 1;
    graph->row = graph->weight + n;
    graph->start[0] = 0;
    extraction x = {.d = d, .p = p, .graph = graph};
    if (p->n < WI_SHARED_VERTICES || !wi_job_queue_has_idle(arena->queue)) {
        list_vertices(&x, 0, p->n, 0);
        return true;
    }
    wi_job_run(arena->queue, EXTRACT_PIECES, count_edges, &x);
    for (int32_t k = 0; k < EXTRACT_PIECES; k++)
        x.at[k + 1] += x.at[k];
    wi_job_run(arena->queue, EXTRACT_PIECES, list_piece, &x);
    return true;
}

/* Sorts the vertices: side 0, then side 1, then the separator; counts each. */
static void sort_sides(wi_dissection *d, const wi_dissection_part *p, const uint8_t *side,
                       int32_t *moved, int32_t count[3]) {
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

static int64_t columns_of(const wi_dissection *d, int32_t begin, int32_t n) {
    int64_t columns = 0;
    for (int32_t k = begin; k < begin + n; k++)
        columns += d->base.weight[d->member[k]];
    return columns;
}

/* Divides p, unless one side would have less than an eighth of its vertices. Places the separator
 * in the ordering. */
static bool split(wi_dissection *d, wi_arena *arena, const wi_dissection_part *p, int64_t columns,
                  wi_dissection_part sides[2], bool *worth) {
    wi_graph graph;
    int32_t count[3];
    *worth = false;
    uint8_t *const side = wi_arena_take(arena, (size_t)p->n);
    if (!side || !extract(d, arena, p, (int32_t)columns, &graph))
        return false;
    if (graph.start[graph.n] == 0)
        return true;
    if (!d->separate(arena, &graph, (uint64_t)p->at, side))
        return false;
    int64_t weight[3] = {0, 0, 0};
    for (int32_t k = 0; k < p->n; k++)
        weight[side[k]] += graph.weight[k];
    if (weight[0] < columns / 8 || weight[1] < columns / 8)
        return true;
    sort_sides(d, p, side, graph.weight, count);
    sides[0] = (wi_dissection_part){p->begin, count[0], p->at};
    sides[1] = (wi_dissection_part){p->begin + count[0], count[1], p->at + weight[0]};
    place_columns(d, p->begin + count[0] + count[1], count[2], p->at + weight[0] + weight[1]);
    *worth = true;
    return true;
}

static void share(wi_dissection *d, const wi_dissection_part *p) {
    pthread_mutex_lock(&d->queue.lock);
    d->shared[d->waiting++] = *p;
    d->open++;
    pthread_cond_signal(&d->queue.news);
    pthread_mutex_unlock(&d->queue.lock);
}

/* Each side is at most 7/8 of its part, so the recursion is not deep. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void dissect(wi_dissection *d, wi_arena *arena, wi_dissection_part p) {
    const int64_t columns = columns_of(d, p.begin, p.n);
    wi_dissection_part sides[2];
    bool worth = false;
    if (atomic_load_explicit(&d->failed, memory_order_relaxed))
        return;
    bool enough = columns <= SMALL || split(d, arena, &p, columns, sides, &worth);
    wi_arena_reset(arena);
    if (enough && !worth) {
        enough = order_small(d, arena, &p, columns);
        wi_arena_reset(arena);
    }
    if (!enough)
        atomic_store_explicit(&d->failed, true, memory_order_relaxed);
    if (!enough || !worth)
        return;
    if (columns > SHARED)
        share(d, &sides[0]);
    else
        dissect(d, arena, sides[0]);
    dissect(d, arena, sides[1]);
}

/* A part is done, or what makes the first one. */
static void close_part(wi_dissection *d) {
    wi_dissection_beside *const beside = d->beside;
    pthread_mutex_lock(&d->queue.lock);
    const bool all = d->open == 1;
    pthread_mutex_unlock(&d->queue.lock);
    if (all && beside && d->parted && !atomic_load(&d->failed))
        beside->finished(beside->user);
    pthread_mutex_lock(&d->queue.lock);
    if (--d->open == 0)
        pthread_cond_broadcast(&d->queue.news);
    pthread_mutex_unlock(&d->queue.lock);
}

/* Makes the first part, of all vertices. */
static void make_first(wi_dissection *d) {
    if (!wi_dissection_prepare(d, &d->base_arena)) {
        atomic_store(&d->failed, true);
        return;
    }
    d->parted = true;
    place_columns(d, d->inner, d->base.n - d->inner, columns_of(d, 0, d->inner));
    share(d, &(wi_dissection_part){0, d->inner, 0});
}

/* Takes parts until none is left and no thread can add another. */
static void take_parts(void *user, int rank, int size) {
    wi_dissection *const d = user;
    if (rank == 0) {
        make_first(d);
        close_part(d);
    }
    if (rank == size - 1 && d->beside)
        d->beside->work(d->beside->user);
    pthread_mutex_lock(&d->queue.lock);
    while (d->open > 0) {
        if (d->waiting == 0 && d->queue.jobs) {
            wi_job_help(&d->queue);
            continue;
        }
        if (d->waiting == 0) {
            atomic_fetch_add(&d->queue.idle, 1);
            pthread_cond_wait(&d->queue.news, &d->queue.lock);
            atomic_fetch_sub(&d->queue.idle, 1);
            continue;
        }
        const wi_dissection_part p = d->shared[--d->waiting];
        pthread_mutex_unlock(&d->queue.lock);
        dissect(d, &d->arenas[rank], p);
        close_part(d);
        pthread_mutex_lock(&d->queue.lock);
    }
    pthread_mutex_unlock(&d->queue.lock);
}

/* Threads that can have a part each; two if something goes on beside. */
static int team_of(int64_t n, int threads, const wi_dissection_beside *beside) {
    const int64_t parts = n / SHARED, least = beside ? 2 : 1,
                  useful = parts > least ? parts : least;
    return useful < threads ? (int)useful : threads;
}

weft_status wi_dissect(weft_context *ctx, const wi_order_args *args, const char *name,
                       wi_separator_rule *separate, int threads, wi_dissection_beside *beside) {
    wi_dissection d = {.args = args, .separate = separate, .beside = beside, .open = 1};
    const int64_t n = args->graph->n;
    const int team = team_of(n, threads, beside);
    weft_status status = WEFT_ENOMEM;
    wi_job_queue_open(&d.queue);
    d.alone = team == 1;
    d.arenas = wi_host_alloc((size_t)team * sizeof *d.arenas);
    d.shared = wi_host_alloc(((size_t)n / (SHARED / 8) + 1) * sizeof *d.shared);
    if (!d.arenas || !d.shared)
        goto done;
    for (int k = 0; k < team; k++)
        d.arenas[k] = (wi_arena){.queue = wi_dissection_queue(&d),
                                 .unwanted = beside ? &beside->unwanted : NULL};
    if (team > 1)
        wi_team_run(ctx, team, take_parts, &d);
    else
        take_parts(&d, 0, 1);
    for (int k = 0; k < team; k++)
        wi_arena_free(&d.arenas[k]);
    if (!d.failed || (beside && atomic_load(&beside->unwanted)))
        status = WEFT_OK;
done:
    wi_job_queue_close(&d.queue);
    wi_host_free(d.shared);
    wi_host_free(d.arenas);
    wi_arena_free(&d.base_arena);
    return status == WEFT_OK || beside ? status
                                       : wi_fail(ctx, status,
                                                 "%s: no memory for ordering %s; free some, or "
                                                 "order amd",
                                                 args->call, name);
}
