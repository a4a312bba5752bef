/* SPDX-License-Identifier: Apache-2.0 */
/* `nd`: nested dissection. METIS finds a small set of vertices that parts the graph; the two sides
 * are ordered in the same way, one after the other, and the set comes last. Sides that are small go
 * to our own minimum degree. */
#include "sparse/order.h"

#ifdef WEFT_METIS
#    include <metis.h>
#    include <pthread.h>
#    include <string.h>

enum {
    /* Sides of so many vertices go to minimum degree, which costs a fiftieth of METIS and fills
     * about as little there. */
    SMALL = 1000,
    OUTSIDE = -1
};

/* Room for one dissection; all but `side` are free again before a side is entered. */
typedef struct dissection {
    weft_context *ctx;
    const wi_order_args *order;
    int64_t done;    /* columns that have their place in perm */
    idx_t *vertices; /* all, each side together */
    idx_t *local;    /* the number of a vertex in the part looked at, or OUTSIDE */
    idx_t *start, *row, *side, *moved;
} dissection;

/* METIS draws from the C library's one generator, which every call sets to its seed: two calls at
 * once would disturb each other. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void enter_part(dissection *d, const idx_t *vertices, idx_t n) {
    for (idx_t k = 0; k < n; k++)
        d->local[vertices[k]] = k;
}

static void leave_part(dissection *d, const idx_t *vertices, idx_t n) {
    for (idx_t k = 0; k < n; k++)
        d->local[vertices[k]] = OUTSIDE;
}

/* The part's own graph, in the room there is. Returns its entries. */
static idx_t extract(dissection *d, const idx_t *vertices, idx_t n) {
    const wi_pattern *const graph = d->order->graph;
    idx_t to = 0;
    enter_part(d, vertices, n);
    for (idx_t k = 0; k < n; k++) {
        d->start[k] = to;
        for (int64_t e = graph->start[vertices[k]]; e < graph->start[vertices[k] + 1]; e++) {
            const idx_t neighbour = d->local[graph->row[e]];
            if (neighbour != OUTSIDE)
                d->row[to++] = neighbour;
        }
    }
    d->start[n] = to;
    leave_part(d, vertices, n);
    return to;
}

/* The part's graph with a halo, the vertices around it: they come later, but until then they are
 * neighbours. Numbers them in `moved` and `local`; returns how many. */
static idx_t add_halo(dissection *d, const idx_t *vertices, idx_t n, int64_t *entries) {
    const wi_pattern *const graph = d->order->graph;
    idx_t halo = 0;
    *entries = 0;
    enter_part(d, vertices, n);
    for (idx_t k = 0; k < n; k++) {
        for (int64_t e = graph->start[vertices[k]]; e < graph->start[vertices[k] + 1]; e++) {
            const int64_t neighbour = graph->row[e];
            if (d->local[neighbour] == OUTSIDE) {
                d->local[neighbour] = n + halo;
                d->moved[halo++] = (idx_t)neighbour;
            }
            *entries += d->local[neighbour] < n ? 1 : 2;
        }
    }
    return halo;
}

/* Fills the graph of the part and its halo, whose vertices have neighbours in the part alone; the
 * vertices have their numbers in `local`. `start` is one longer than the graph needs. */
static void fill_graph(const dissection *d, const idx_t *vertices, idx_t n, idx_t all,
                       int64_t *start, int64_t *row) {
    const wi_pattern *const graph = d->order->graph;
    for (idx_t k = 0; k <= all + 1; k++)
        start[k] = 0;
    for (idx_t k = 0; k < n; k++) {
        for (int64_t e = graph->start[vertices[k]]; e < graph->start[vertices[k] + 1]; e++) {
            const idx_t neighbour = d->local[graph->row[e]];
            start[k + 2]++;
            if (neighbour >= n)
                start[neighbour + 2]++;
        }
    }
    for (idx_t k = 2; k <= all + 1; k++)
        start[k] += start[k - 1];
    for (idx_t k = 0; k < n; k++) {
        for (int64_t e = graph->start[vertices[k]]; e < graph->start[vertices[k] + 1]; e++) {
            const idx_t neighbour = d->local[graph->row[e]];
            row[start[k + 1]++] = neighbour;
            if (neighbour >= n)
                row[start[neighbour + 1]++] = k;
        }
    }
}

/* Orders a part by minimum degree. */
static weft_status order_small(dissection *d, const idx_t *vertices, idx_t n) {
    int64_t entries;
    const idx_t halo = add_halo(d, vertices, n, &entries), all = n + halo;
    const size_t bytes = (size_t)((int64_t)all + 2 + n + entries) * sizeof(int64_t);
    int64_t *const start = wi_host_alloc(bytes);
    if (!start)
        return wi_fail(d->ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of ordering nd; free some",
                       d->order->call, bytes);
    int64_t *const row = start + all + 2, *const perm = row + entries;
    fill_graph(d, vertices, n, all, start, row);
    leave_part(d, vertices, n);
    leave_part(d, d->moved, halo);
    const wi_pattern graph = {all, start, row};
    const wi_order_args args = {
        .call = d->order->call, .graph = &graph, .perm = perm, .halo = halo};
    const weft_status status = wi_order_amd(d->ctx, &args);
    for (idx_t k = 0; status == WEFT_OK && k < n; k++)
        d->order->perm[d->done++] = vertices[perm[k]];
    wi_host_free(start);
    return status;
}

/* Puts the vertices of side 0 first, then side 1, then the separator; counts them. */
static void sort_sides(dissection *d, idx_t *vertices, idx_t n, idx_t count[3]) {
    count[0] = count[1] = count[2] = 0;
    for (idx_t k = 0; k < n; k++)
        count[d->side[k]]++;
    idx_t at[3] = {0, count[0], count[0] + count[1]};
    for (idx_t k = 0; k < n; k++)
        d->moved[at[d->side[k]]++] = vertices[k];
    memcpy(vertices, d->moved, (size_t)n * sizeof *vertices);
}

/* Parts the graph extracted. False if METIS finds no two sides worth the name, each at least an
 * eighth of all; then nothing has moved. */
static bool part(dissection *d, idx_t n, bool *failed) {
    idx_t options[METIS_NOPTIONS], separator, count[2] = {0, 0};
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    pthread_mutex_lock(&turn);
    const int result =
        METIS_ComputeVertexSeparator(&n, d->start, d->row, NULL, options, &separator, d->side);
    pthread_mutex_unlock(&turn);
    *failed = result != METIS_OK;
    for (idx_t k = 0; !*failed && k < n; k++) {
        if (d->side[k] < 2)
            count[d->side[k]]++;
    }
    return count[0] >= n / 8 && count[1] >= n / 8 && !*failed;
}

/* The sides shrink by an eighth at each level at least, so the recursion is never deep. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static weft_status dissect(dissection *d, idx_t *vertices, idx_t n) {
    idx_t count[3];
    bool failed = false;
    if (n <= SMALL || extract(d, vertices, n) == 0 || !part(d, n, &failed))
        return failed ? wi_fail(d->ctx, WEFT_ENOMEM,
                                "%s: METIS gave up, as it does for lack of memory; order amd",
                                d->order->call)
                      : order_small(d, vertices, n);
    sort_sides(d, vertices, n, count);
    weft_status status = dissect(d, vertices, count[0]);
    if (status == WEFT_OK)
        status = dissect(d, vertices + count[0], count[1]);
    for (idx_t k = n - count[2]; status == WEFT_OK && k < n; k++)
        d->order->perm[d->done++] = vertices[k];
    return status;
}

weft_status wi_order_nd(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    const int64_t n = order->graph->n, entries = order->graph->start[n];
    const size_t bytes = (size_t)(5 * n + 1 + entries) * sizeof(idx_t);
    dissection d = {.ctx = ctx, .order = order, .vertices = wi_host_alloc(bytes)};
    if (!d.vertices)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of ordering nd; free some",
                       order->call, bytes);
    d.local = d.vertices + n;
    d.side = d.local + n;
    d.moved = d.side + n;
    d.start = d.moved + n;
    d.row = d.start + n + 1;
    for (idx_t k = 0; k < n; k++) {
        d.vertices[k] = k;
        d.local[k] = OUTSIDE;
    }
    const weft_status status = dissect(&d, d.vertices, (idx_t)n);
    wi_host_free(d.vertices);
    return status;
}
#else
weft_status wi_order_nd(weft_context *ctx, const void *args) {
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: ordering nd needs METIS",
                   ((const wi_order_args *)args)->call);
}
#endif
