/* SPDX-License-Identifier: Apache-2.0 */
/* `rcm`: reverse Cuthill and McKee, which keeps the entries near the diagonal. */
#include "sparse/order.h"

/* The graph with the neighbours of each vertex sorted by degree, and a breadth-first search of it.
 */
typedef struct search {
    int64_t n;
    const int64_t *start;
    int64_t *row;       /* neighbours by degree */
    int64_t *by_degree; /* all vertices by degree; those of one degree by number */
    int64_t *stamp;     /* the latest search that reached the vertex */
    int64_t *queue;
    int64_t searches;
} search;

static int64_t degree_of(const search *s, int64_t vertex) {
    return s->start[vertex + 1] - s->start[vertex];
}

/* Sorts the vertices by degree (counting sort); then each vertex, in that order, is appended to its
 * neighbours' lists. `place` has n entries. */
static void sort_by_degree(search *s, const wi_pattern *graph, int64_t *place) {
    for (int64_t d = 0; d < s->n; d++)
        place[d] = 0;
    for (int64_t v = 0; v < s->n; v++)
        place[degree_of(s, v)]++;
    for (int64_t d = 0, at = 0; d < s->n; d++) {
        const int64_t count = place[d];
        place[d] = at;
        at += count;
    }
    for (int64_t v = 0; v < s->n; v++)
        s->by_degree[place[degree_of(s, v)]++] = v;
    for (int64_t v = 0; v < s->n; v++)
        place[v] = s->start[v];
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t v = s->by_degree[k];
        for (int64_t e = s->start[v]; e < s->start[v + 1]; e++)
            s->row[place[graph->row[e]]++] = v;
    }
}

/* Lists the vertices of the component of `root` in `queue`, by distance. Returns how many; *last is
 * the index of the first of the farthest ones, *levels the number of distances. */
static int64_t search_from(search *s, int64_t root, int64_t *queue, int64_t *last,
                           int64_t *levels) {
    int64_t from = 0, to = 0;
    const int64_t stamp = ++s->searches;
    queue[to++] = root;
    s->stamp[root] = stamp;
    *levels = 0;
    while (from < to) {
        const int64_t level_end = to;
        *last = from;
        ++*levels;
        for (; from < level_end; from++) {
            const int64_t v = queue[from];
            for (int64_t e = s->start[v]; e < s->start[v + 1]; e++) {
                const int64_t u = s->row[e];
                if (s->stamp[u] == stamp)
                    continue;
                s->stamp[u] = stamp;
                queue[to++] = u;
            }
        }
    }
    return to;
}

/* A vertex at the end of the component of `root` (pseudo-peripheral): while a search from the
 * farthest vertex of least degree finds more distances, go there (George and Liu 1979). */
static int64_t far_vertex(search *s, int64_t root) {
    int64_t last, levels, more;
    int64_t count = search_from(s, root, s->queue, &last, &levels);
    for (;;) {
        int64_t best = s->queue[last];
        for (int64_t k = last; k < count; k++) {
            if (degree_of(s, s->queue[k]) < degree_of(s, best))
                best = s->queue[k];
        }
        count = search_from(s, best, s->queue, &last, &more);
        if (more <= levels)
            return best;
        levels = more;
    }
}

weft_status wi_order_rcm(weft_context *ctx, const void *args) {
    const wi_order_args *const order = args;
    const wi_pattern *const graph = order->graph;
    const int64_t n = graph->n;
    const size_t bytes = (size_t)(graph->start[n] + 3 * n) * sizeof(int64_t);
    int64_t *const memory = wi_host_alloc(bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of ordering rcm; free some",
                       order->call, bytes);
    search s = {.n = n, .start = graph->start, .row = memory};
    s.by_degree = memory + graph->start[n];
    s.stamp = s.by_degree + n;
    s.queue = s.stamp + n;
    sort_by_degree(&s, graph, s.queue);
    for (int64_t v = 0; v < n; v++)
        s.stamp[v] = 0;
    int64_t done = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t last, levels;
        const int64_t v = s.by_degree[k];
        if (s.stamp[v] == 0)
            done += search_from(&s, far_vertex(&s, v), order->perm + done, &last, &levels);
    }
    for (int64_t k = 0; k < n / 2; k++) {
        const int64_t other = order->perm[n - 1 - k];
        order->perm[n - 1 - k] = order->perm[k];
        order->perm[k] = other;
    }
    wi_host_free(memory);
    return WEFT_OK;
}
