/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection: a small set of vertices, the separator, divides the graph in two sides; the
 * two sides are ordered in the same way, at the same time, and the separator comes last. Small
 * sides are ordered by minimum degree. Columns with the same neighbours are one vertex of the
 * graph. */
#include "sparse/dissection_graph.h"

#include <string.h>

#include "cpu/team.h"
#include "sparse/pages.h"

enum {
    /* Sides of at most so many columns are ordered by minimum degree, which takes a fraction of the
     * time of a separator and gives about as little fill there. */
    SMALL = 1000,
    /* A side of more columns than this may be taken by any thread. */
    SHARED = 2000,
    EACH = 4000, /* columns for a thread, at least */
    ROOM_PIECES = 64
};

/* ---- small parts ---- */

void wi_dissection_place_columns(const wi_dissection *d, int32_t begin, int32_t n, int64_t at) {
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
static bool order_small(wi_dissection *d, wi_arena *arena, const wi_dissection_part *p) {
    const int64_t columns = p->columns;
    int64_t outside;
    halo h;
    wi_dissection_place_columns(d, p->begin, p->n, p->at);
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

/* ---- the recursion ---- */

static void share(wi_dissection *d, const wi_dissection_part *p) {
    wi_job_queue_lock(&d->queue);
    d->shared[d->waiting++] = *p;
    d->open++;
    wi_job_queue_tell(&d->queue, false);
    pthread_mutex_unlock(&d->queue.lock);
}

/* Each side is at most 7/8 of its part, so the recursion is not deep. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void dissect(wi_dissection *d, wi_arena *arena, wi_dissection_part p) {
    wi_dissection_part sides[2];
    bool worth = false;
    if (atomic_load_explicit(&d->failed, memory_order_relaxed))
        return;
    arena->lent = p.room;
    bool enough = p.columns <= SMALL || wi_dissection_split(d, arena, &p, sides, &worth);
    wi_arena_reset(arena);
    if (enough && !worth) {
        enough = order_small(d, arena, &p);
        wi_arena_reset(arena);
    }
    if (!enough)
        atomic_store_explicit(&d->failed, true, memory_order_relaxed);
    if (!enough || !worth)
        return;
    if (p.columns > SHARED)
        share(d, &sides[0]);
    else
        dissect(d, arena, sides[0]);
    dissect(d, arena, sides[1]);
}

/* A part is done, or what makes the first one. */
static void close_part(wi_dissection *d) {
    wi_dissection_beside *const beside = d->beside;
    wi_job_queue_lock(&d->queue);
    const bool all = d->open == 1;
    pthread_mutex_unlock(&d->queue.lock);
    if (all && beside && d->parted && !atomic_load(&d->failed))
        beside->finished(beside->user);
    wi_job_queue_lock(&d->queue);
    if (--d->open == 0)
        wi_job_queue_tell(&d->queue, true);
    pthread_mutex_unlock(&d->queue.lock);
}

/* ---- memory for the parts ---- */

/* The first part gets a room that is large enough for what its separator needs, and all others
 * parts of that. False if there is no memory. */
static bool take_room(wi_dissection *d) {
    enum {
        VERTEX_BYTES = 136,
        EDGE_BYTES = 16
    };
    const wi_graph *const base = &d->base;
    d->room.bytes = (size_t)base->n * VERTEX_BYTES + (size_t)base->start[base->n] * EDGE_BYTES;
    d->room.bytes = d->room.bytes / WI_PAGE_BYTES * WI_PAGE_BYTES;
    d->room.memory = d->room.bytes > 0 ? wi_host_map(d->room.bytes) : NULL;
    return d->room.memory || d->room.bytes == 0;
}

static void touch_piece(void *user, int32_t piece) {
    const wi_dissection *const d = user;
    wi_pages_touch_share(d->room.memory, d->room.bytes, piece, ROOM_PIECES);
}

/* ---- threads ---- */

/* Makes the first part, of all vertices. */
static void make_first(wi_dissection *d) {
    if (!wi_dissection_prepare(d, &d->base_arena) || !take_room(d)) {
        atomic_store(&d->failed, true);
        return;
    }
    d->parted = true;
    if (d->inner >= WI_SHARED_VERTICES && wi_job_queue_has_idle(wi_dissection_queue(d)))
        wi_job_run(&d->queue, ROOM_PIECES, touch_piece, d);
    int32_t columns = (int32_t)d->args->graph->n;
    for (int32_t v = d->inner; v < d->base.n; v++)
        columns -= d->base.weight[v];
    wi_dissection_place_columns(d, d->inner, d->base.n - d->inner, columns);
    share(d, &(wi_dissection_part){.n = d->inner, .columns = columns, .room = d->room});
}

/* The latest part, which may be in the cache; if there are few, the largest, for it takes longest.
 */
static wi_dissection_part take_part(wi_dissection *d) {
    int best = d->waiting - 1;
    for (int k = 0; k < d->waiting && d->waiting < d->threads; k++) {
        if (d->shared[k].columns > d->shared[best].columns)
            best = k;
    }
    const wi_dissection_part p = d->shared[best];
    d->shared[best] = d->shared[--d->waiting];
    return p;
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
    wi_job_queue_lock(&d->queue);
    while (d->open > 0) {
        if (d->waiting == 0 && d->queue.jobs) {
            wi_job_help(&d->queue);
            continue;
        }
        if (d->waiting == 0) {
            wi_job_queue_await(&d->queue);
            continue;
        }
        const wi_dissection_part p = take_part(d);
        pthread_mutex_unlock(&d->queue.lock);
        dissect(d, &d->arenas[rank], p);
        close_part(d);
        wi_job_queue_lock(&d->queue);
    }
    pthread_mutex_unlock(&d->queue.lock);
    wi_arena_free(&d->arenas[rank]);
}

/* Threads that can have a part each; two if something goes on beside. */
static int team_of(int64_t n, int threads, const wi_dissection_beside *beside) {
    const int64_t parts = n / EACH, least = beside ? 2 : 1, useful = parts > least ? parts : least;
    return useful < threads ? (int)useful : threads;
}

weft_status wi_dissect(weft_context *ctx, const wi_order_args *args, const char *name,
                       wi_separator_rule *separate, int threads, wi_dissection_beside *beside) {
    wi_dissection d = {.args = args, .separate = separate, .beside = beside, .open = 1};
    const int64_t n = args->graph->n;
    const int team = team_of(n, threads, beside);
    weft_status status = WEFT_ENOMEM;
    wi_job_queue_open(&d.queue);
    d.threads = team;
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
    wi_spare room = {d.room.memory, d.room.bytes, 0};
    if (args->spare && !args->spare->memory)
        *args->spare = room;
    else
        wi_spare_free(ctx, team, &room);
    for (int k = 0; k < WI_ROOM_BLOCKS; k++)
        wi_pages_drop(ctx, team, d.base_arena.block[k].memory, d.base_arena.block[k].bytes);
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
