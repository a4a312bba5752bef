/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a symmetric matrix, with each edge at both ends, for orderings and analysis. */
#include "cpu/team.h"
#include "sparse/pages.h"
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

/* While a graph is built or renumbered. */
typedef struct building {
    const weft_sparse *matrix;
    const wi_pattern *graph;
    const int64_t *perm, *inverse;
    int64_t n, *start, *row;
} building;

size_t wi_pattern_bytes(int64_t n, int64_t entries) {
    return (size_t)(n + 1 + entries) * sizeof(int64_t);
}

/* Memory for a graph of n vertices and at most so many entries, unless b->start is it. */
static weft_status take(weft_context *ctx, const char *call, int64_t n, int64_t entries,
                        building *b) {
    const size_t bytes = wi_pattern_bytes(n, entries);
    if (!b->start)
        b->start = wi_host_alloc(bytes);
    if (!b->start)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, the graph; free some", call,
                       bytes);
    b->row = b->start + n + 1;
    b->n = n;
    return WEFT_OK;
}

static int64_t first_of(const building *b, int rank, int size) {
    return (int64_t)wi_team_share((size_t)b->n, rank, size);
}

static void sum_share(void *user, int rank, int size) {
    const building *const b = user;
    for (int64_t k = first_of(b, rank, size) + 1; k < first_of(b, rank + 1, size); k++)
        b->start[k + 1] += b->start[k];
}

/* The end of each share is right already. */
static void add_before(void *user, int rank, int size) {
    const building *const b = user;
    const int64_t begin = first_of(b, rank, size);
    for (int64_t k = begin + 1; k < first_of(b, rank + 1, size); k++)
        b->start[k] += b->start[begin];
}

/* From the numbers of neighbours to where their lists begin. */
static void sum_up(const weft_context *ctx, int team, building *b) {
    b->start[0] = 0;
    wi_team_run(ctx, team, sum_share, b);
    for (int rank = 1; rank < team; rank++)
        b->start[first_of(b, rank + 1, team)] += b->start[first_of(b, rank, team)];
    wi_team_run(ctx, team, add_before, b);
}

/* Threads count neighbours, start[k + 1] those of vertex k, then list them. */
static void fill(weft_context *ctx, int64_t n, int64_t entries, wi_team_work *count,
                 wi_team_work *list, building *b) {
    const int team = wi_team_size(ctx, (size_t)n, (size_t)(n + entries) * sizeof(int64_t));
    wi_pages_touch(ctx, team, b->start, wi_pattern_bytes(n, entries));
    wi_team_run(ctx, team, count, b);
    sum_up(ctx, team, b);
    wi_team_run(ctx, team, list, b);
}

static void count_entries(void *user, int rank, int size) {
    const building *const b = user;
    const weft_sparse *const matrix = b->matrix;
    const int64_t end = (int64_t)wi_team_share(matrix->cols, rank + 1, size);
    for (int64_t j = (int64_t)wi_team_share(matrix->cols, rank, size); j < end; j++)
        b->start[j + 1] = matrix->row_start[j + 1] - matrix->row_start[j] + matrix->start[j + 1] -
                          below(matrix, j);
}

static void copy_entries(void *user, int rank, int size) {
    const building *const b = user;
    const weft_sparse *const matrix = b->matrix;
    const int64_t end = (int64_t)wi_team_share(matrix->cols, rank + 1, size);
    for (int64_t j = (int64_t)wi_team_share(matrix->cols, rank, size); j < end; j++) {
        const int64_t above = matrix->row_start[j + 1] - matrix->row_start[j];
        const int64_t first = below(matrix, j), after = matrix->start[j + 1] - first;
        int64_t *const to = b->row + b->start[j];
        copy(to, matrix->col + matrix->row_start[j], above);
        copy(to + above, matrix->row + first, after);
    }
}

weft_status wi_pattern_build(weft_context *ctx, const char *call, const weft_sparse *matrix,
                             wi_pattern *graph) {
    const int64_t n = (int64_t)matrix->cols, entries = 2 * matrix->row_start[n];
    building b = {.matrix = matrix};
    const weft_status status = take(ctx, call, n, entries, &b);
    if (status != WEFT_OK)
        return status;
    fill(ctx, n, entries, count_entries, copy_entries, &b);
    *graph = (wi_pattern){n, b.start, b.row};
    return WEFT_OK;
}

static void count_neighbours(void *user, int rank, int size) {
    const building *const b = user;
    const size_t n = (size_t)b->graph->n, end = wi_team_share(n, rank + 1, size);
    for (size_t k = wi_team_share(n, rank, size); k < end; k++) {
        const int64_t *const own = b->graph->start + b->perm[k];
        b->start[k + 1] = own[1] - own[0];
    }
}

static void copy_neighbours(void *user, int rank, int size) {
    const building *const b = user;
    const size_t n = (size_t)b->graph->n, end = wi_team_share(n, rank + 1, size);
    for (size_t k = wi_team_share(n, rank, size); k < end; k++) {
        const int64_t *const own = b->graph->row + b->graph->start[b->perm[k]];
        const int64_t to = b->start[k], count = b->start[k + 1] - to;
        for (int64_t e = 0; e < count; e++)
            b->row[to + e] = b->inverse[own[e]];
    }
}

weft_status wi_pattern_renumber(weft_context *ctx, const char *call, const wi_pattern *graph,
                                const int64_t *perm, const int64_t *inverse, int64_t *memory,
                                wi_pattern *out) {
    const int64_t n = graph->n, entries = graph->start[n];
    building b = {.graph = graph, .perm = perm, .inverse = inverse, .start = memory};
    const weft_status status = take(ctx, call, n, entries, &b);
    if (status != WEFT_OK)
        return status;
    fill(ctx, n, entries, count_neighbours, copy_neighbours, &b);
    *out = (wi_pattern){n, b.start, b.row};
    return WEFT_OK;
}

void wi_pattern_free(wi_pattern *graph) {
    wi_host_free((void *)(uintptr_t)graph->start);
    *graph = (wi_pattern){0, NULL, NULL};
}
