/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a symmetric matrix, with each edge at both ends, for orderings and analysis. */
#include "cpu/team.h"
#include "sparse/symbolic.h"

/* The entries of column j below the diagonal begin one later if there is a diagonal entry. */
static int64_t below(const weft_sparse *matrix, int64_t j) {
    const int64_t first = matrix->start[j];
    return first + (first < matrix->start[j + 1] && matrix->row[first] == j);
}

/* Copies in a loop: a call of memcpy would take longer than most rows do. */
static void copy(int64_t *to, const int64_t *from, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        to[k] = from[k];
}

weft_status wi_pattern_build(weft_context *ctx, const char *call, const weft_sparse *matrix,
                             wi_pattern *graph) {
    const int64_t n = (int64_t)matrix->cols;
    int64_t entries = 0;
    for (int64_t j = 0; j < n; j++)
        entries += 2 * (matrix->start[j + 1] - below(matrix, j));
    const size_t bytes = (size_t)(n + 1 + entries) * sizeof(int64_t);
    int64_t *const start = wi_host_alloc(bytes);
    if (!start)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the graph; free some", call,
                       bytes);
    int64_t *const row = start + n + 1;
    int64_t to = 0;
    for (int64_t j = 0; j < n; j++) {
        const int64_t above = matrix->row_start[j + 1] - matrix->row_start[j];
        const int64_t first = below(matrix, j), after = matrix->start[j + 1] - first;
        start[j] = to;
        copy(row + to, matrix->col + matrix->row_start[j], above);
        copy(row + to + above, matrix->row + first, after);
        to += above + after;
    }
    start[n] = to;
    *graph = (wi_pattern){n, start, row};
    return WEFT_OK;
}

/* While a graph is renumbered. */
typedef struct renumbering {
    const wi_pattern *graph;
    const int64_t *perm, *inverse;
    int64_t *start, *row;
} renumbering;

/* start[k + 1] = the number of neighbours of vertex k. */
static void count_neighbours(void *user, int rank, int size) {
    const renumbering *const r = user;
    const size_t n = (size_t)r->graph->n, end = wi_team_share(n, rank + 1, size);
    for (size_t k = wi_team_share(n, rank, size); k < end; k++) {
        const int64_t *const own = r->graph->start + r->perm[k];
        r->start[k + 1] = own[1] - own[0];
    }
}

static void copy_neighbours(void *user, int rank, int size) {
    const renumbering *const r = user;
    const size_t n = (size_t)r->graph->n, end = wi_team_share(n, rank + 1, size);
    for (size_t k = wi_team_share(n, rank, size); k < end; k++) {
        const int64_t *const own = r->graph->row + r->graph->start[r->perm[k]];
        const int64_t to = r->start[k], count = r->start[k + 1] - to;
        for (int64_t e = 0; e < count; e++)
            r->row[to + e] = r->inverse[own[e]];
    }
}

weft_status wi_pattern_renumber(weft_context *ctx, const char *call, const wi_pattern *graph,
                                const int64_t *perm, const int64_t *inverse, wi_pattern *out) {
    const int64_t n = graph->n, entries = graph->start[n];
    const size_t bytes = (size_t)(n + 1 + entries) * sizeof(int64_t);
    const int team = wi_team_size(ctx, (size_t)n, bytes);
    int64_t *const start = wi_host_alloc(bytes);
    if (!start)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the graph; free some", call,
                       bytes);
    renumbering r = {graph, perm, inverse, start, start + n + 1};
    wi_team_run(ctx, team, count_neighbours, &r);
    start[0] = 0;
    for (int64_t k = 0; k < n; k++)
        start[k + 1] += start[k];
    wi_team_run(ctx, team, copy_neighbours, &r);
    *out = (wi_pattern){n, start, r.row};
    return WEFT_OK;
}

void wi_pattern_free(wi_pattern *graph) {
    wi_host_free((void *)(uintptr_t)graph->start);
    *graph = (wi_pattern){0, NULL, NULL};
}
