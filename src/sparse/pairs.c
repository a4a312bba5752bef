/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of columns: found in the values, and carried through the ordering. */
#include "sparse/pairs.h"

#include <math.h>

#include "sparse/chol.h"

/* A diagonal entry is small if it is less than this times the largest entry of its column. */
static const double small = 0x1p-6;

/* ---- finding them ---- */

typedef struct search {
    const weft_sparse *matrix;
    int64_t *partner;
    bool *weak; /* columns whose diagonal entry is small */
    int32_t *power;
} search;

static int64_t count_of(const search *s, int64_t j) {
    const weft_sparse *const m = s->matrix;
    return m->row_start[j + 1] - m->row_start[j] + m->start[j + 1] - m->start[j];
}

/* Entry e of column j, both halves counted: its row; and its size when scaled, 0 on the diagonal.
 */
static int64_t entry_of(const search *s, int64_t j, int64_t e, double *size) {
    const weft_sparse *const m = s->matrix;
    const int64_t above = m->row_start[j + 1] - m->row_start[j];
    const int64_t k = e < above ? m->at[m->row_start[j] + e] : m->start[j] + e - above;
    const int64_t i = e < above ? m->col[m->row_start[j] + e] : m->row[k];
    *size = i == j ? 0 : ldexp(fabs(m->value[k]), s->power[i] + s->power[j]);
    return i;
}

/* The free column, weak or not, with the largest entry in column j; -1: none. */
static int64_t best_free(const search *s, int64_t j, bool weak) {
    int64_t best = -1;
    double most = 0, size;
    for (int64_t e = 0; e < count_of(s, j); e++) {
        const int64_t i = entry_of(s, j, e, &size);
        if (size > most && s->partner[i] < 0 && s->weak[i] == weak) {
            most = size;
            best = i;
        }
    }
    return best;
}

static void join(search *s, int64_t i, int64_t j) {
    s->partner[i] = j;
    s->partner[j] = i;
}

/* All strong neighbours of j are taken: one of those that have them may be able to take another. */
static bool join_by_exchange(search *s, int64_t j) {
    enum {
        MOST_TRIED = 16 /* of dense rows, too, not more */
    };
    int64_t tried = 0;
    double size;
    for (int64_t e = 0; e < count_of(s, j) && tried < MOST_TRIED; e++) {
        const int64_t i = entry_of(s, j, e, &size);
        if (!(size > 0) || s->weak[i] || s->partner[i] < 0)
            continue;
        const int64_t owner = s->partner[i], other = best_free(s, owner, false);
        tried++;
        if (other >= 0) {
            join(s, owner, other);
            join(s, i, j);
            return true;
        }
    }
    return false;
}

static void find_weak(search *s) {
    for (int64_t j = 0; j < (int64_t)s->matrix->cols; j++) {
        const double own = ldexp(fabs(wi_sparse_diagonal(s->matrix, j)), 2 * s->power[j]);
        double most = own, size;
        for (int64_t e = 0; e < count_of(s, j); e++) {
            entry_of(s, j, e, &size);
            most = fmax(most, size);
        }
        s->weak[j] = own < small * most;
        s->partner[j] = -1;
    }
}

/* Strong columns first: for a saddle point they are the unknowns that belong to each condition. */
static int64_t find_partners(search *s) {
    const int64_t n = (int64_t)s->matrix->cols;
    int64_t pairs = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j++) {
            if (!s->weak[j] || s->partner[j] >= 0)
                continue;
            const int64_t i = best_free(s, j, pass == 1);
            if (i >= 0)
                join(s, i, j);
            pairs += i >= 0 || (pass == 0 && join_by_exchange(s, j));
        }
    }
    return pairs;
}

weft_status wi_pairs_find(weft_context *ctx, const char *call, const weft_sparse *matrix,
                          int64_t **partner) {
    const size_t n = matrix->cols, bytes = n * (sizeof(int64_t) + 2 * sizeof(int32_t) + 1);
    *partner = NULL;
    if (n == 0)
        return WEFT_OK;
    int64_t *const memory = wi_host_alloc(bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, pairs of columns; free some",
                       call, bytes);
    search s = {.matrix = matrix, .partner = memory, .power = (int32_t *)(memory + n)};
    s.weak = (bool *)(s.power + 2 * n);
    wi_equilibrate(matrix, s.power, s.power + n);
    find_weak(&s);
    if (find_partners(&s) > 0)
        *partner = memory;
    else
        wi_host_free(memory);
    return WEFT_OK;
}

/* ---- graphs ---- */

/* Allocates a graph; its lists get as many elements as `start` then says. */
static int64_t *take(weft_context *ctx, const char *call, int64_t count) {
    const size_t bytes = (size_t)count * sizeof(int64_t);
    int64_t *const memory = wi_host_alloc(bytes);
    if (!memory)
        wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the graph of pairs; free some",
                call, bytes);
    return memory;
}

/* Turns counts, start[v + 1] for vertex v, into starts, one vertex later: start[v + 1] is then
 * where the next neighbour of v goes. */
static void sum_up(int64_t n, int64_t *start) {
    int64_t sum = 0;
    start[0] = 0;
    for (int64_t v = 1; v <= n; v++) {
        const int64_t count = start[v];
        start[v] = sum;
        sum += count;
    }
}

/* For each neighbour h of vertex g, in the joined graph: counts g, or appends it to the list of h.
 * As g ascends, so do all lists. */
static void add_vertex(const wi_pattern *graph, const int64_t *vertex, int64_t j, int64_t g,
                       int64_t *seen, int64_t *start, int64_t *row) {
    for (int64_t e = graph->start[j]; e < graph->start[j + 1]; e++) {
        const int64_t h = vertex[graph->row[e]];
        if (h == g || seen[h] == g)
            continue;
        seen[h] = g;
        if (row)
            row[start[h + 1]++] = g;
        else
            start[h + 1]++;
    }
}

static void add_vertices(const wi_pattern *graph, const int64_t *partner, const int64_t *vertex,
                         int64_t vertices, int64_t *start, int64_t *row, int64_t *seen) {
    for (int64_t g = 0; g < vertices; g++)
        seen[g] = -1;
    for (int64_t j = 0; j < graph->n; j++) {
        if (partner[j] >= 0 && partner[j] < j)
            continue;
        add_vertex(graph, vertex, j, vertex[j], seen, start, row);
        if (partner[j] >= 0)
            add_vertex(graph, vertex, partner[j], vertex[j], seen, start, row);
    }
}

weft_status wi_pairs_join(weft_context *ctx, const char *call, const wi_pattern *graph,
                          const int64_t *partner, int64_t *vertex, wi_pattern *joined) {
    int64_t vertices = 0;
    for (int64_t j = 0; j < graph->n; j++)
        vertex[j] = partner[j] >= 0 && partner[j] < j ? vertex[partner[j]] : vertices++;
    int64_t *const seen = take(ctx, call, vertices);
    int64_t *const start = take(ctx, call, vertices + 1 + graph->start[graph->n]);
    if (!seen || !start) {
        wi_host_free(seen);
        wi_host_free(start);
        return WEFT_ENOMEM;
    }
    for (int64_t g = 0; g <= vertices; g++)
        start[g] = 0;
    add_vertices(graph, partner, vertex, vertices, start, NULL, seen);
    sum_up(vertices, start);
    add_vertices(graph, partner, vertex, vertices, start, start + vertices + 1, seen);
    wi_host_free(seen);
    *joined = (wi_pattern){vertices, start, start + vertices + 1};
    return WEFT_OK;
}

/* Counts v in the list of column u, or appends it; no column if u < 0. */
static void add_to(int64_t u, int64_t v, int64_t *start, int64_t *row) {
    if (u < 0)
        return;
    if (row)
        row[start[u + 1]] = v;
    start[u + 1]++;
}

/* Does that for the partner of column v, and for both columns of each vertex beside v's. column[h]
 * is the first column of vertex h. */
static void add_column(const wi_pattern *joined, const int64_t *partner, const int64_t *vertex,
                       const int64_t *column, int64_t v, int64_t *start, int64_t *row) {
    const int64_t g = vertex[v];
    add_to(partner[v], v, start, row);
    for (int64_t e = joined->start[g]; e < joined->start[g + 1]; e++) {
        const int64_t first = column[joined->row[e]];
        add_to(first, v, start, row);
        add_to(partner[first], v, start, row);
    }
}

weft_status wi_pairs_part(weft_context *ctx, const char *call, const wi_pattern *joined,
                          const int64_t *partner, const int64_t *vertex, int64_t *perm,
                          wi_pattern *graph) {
    const int64_t n = graph->n, vertices = joined->n;
    int64_t *const column = take(ctx, call, vertices);
    int64_t *const start = take(ctx, call, n + 1 + 4 * joined->start[vertices] + n);
    if (!column || !start) {
        wi_host_free(column);
        wi_host_free(start);
        return WEFT_ENOMEM;
    }
    for (int64_t j = n - 1; j >= 0; j--)
        column[vertex[j]] = j;
    for (int64_t k = vertices - 1, end = n; k >= 0; k--) {
        const int64_t first = column[perm[k]];
        if (partner[first] >= 0)
            perm[--end] = partner[first];
        perm[--end] = first;
    }
    for (int64_t v = 0; v <= n; v++)
        start[v] = 0;
    for (int64_t v = 0; v < n; v++)
        add_column(joined, partner, vertex, column, v, start, NULL);
    sum_up(n, start);
    for (int64_t v = 0; v < n; v++)
        add_column(joined, partner, vertex, column, v, start, start + n + 1);
    wi_host_free(column);
    wi_pattern_free(graph);
    *graph = (wi_pattern){n, start, start + n + 1};
    return WEFT_OK;
}
