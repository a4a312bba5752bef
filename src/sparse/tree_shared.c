/* SPDX-License-Identifier: Apache-2.0 */
/* The elimination tree by several threads, with the result of tree.c. */
#include "cpu/team.h"
#include "sparse/symbolic.h"

enum {
    TAINTED = 1, /* the root of a tree that a late row joins to others */
    LATE = 2
};

typedef struct growing {
    const wi_pattern *graph;
    const int64_t *perm, *inverse;
    int64_t *parent, *ancestor;
    uint8_t *state;
    int stretches, joined; /* stretches of columns; how many of them a thread joins */
} growing;

/* The highest column that is known to be above j; shortens the path to it. */
static int64_t root_of(int64_t *ancestor, int64_t j) {
    int64_t top = j;
    while (ancestor[top] >= 0)
        top = ancestor[top];
    while (j != top) {
        const int64_t up = ancestor[j];
        ancestor[j] = top;
        j = up;
    }
    return top;
}

/* Does row k have to wait for rows of other threads? So it does if a neighbour is theirs, or in a
 * tree with a row that waits. */
static bool is_late(const growing *g, int64_t begin, int64_t k) {
    const int64_t *const start = g->graph->start + g->perm[k];
    for (int64_t e = start[0]; e < start[1]; e++) {
        const int64_t j = g->inverse[g->graph->row[e]];
        if (j < k && (j < begin || g->state[root_of(g->ancestor, j)] != 0))
            return true;
    }
    return false;
}

/* Row k as wi_tree does it, unless it is late. The trees that a late row will join are left as they
 * are, and so are rows that come to one of them. */
static void grow_row(const growing *g, int64_t begin, int64_t k) {
    const int64_t *const start = g->graph->start + g->perm[k];
    const bool late = is_late(g, begin, k);
    for (int64_t e = start[0]; e < start[1]; e++) {
        const int64_t j = g->inverse[g->graph->row[e]];
        if (j >= k || j < begin)
            continue;
        const int64_t root = root_of(g->ancestor, j);
        if (late)
            g->state[root] |= TAINTED;
        else if (root != k)
            g->parent[root] = g->ancestor[root] = k;
    }
    g->state[k] = late ? LATE : 0;
}

/* The first row of a thread. */
static int64_t first_row(const growing *g, int rank) {
    const int stretch = rank * g->joined < g->stretches ? rank * g->joined : g->stretches;
    return (int64_t)wi_team_share((size_t)g->graph->n, stretch, g->stretches);
}

static void grow(void *user, int rank, int size) {
    const growing *const g = user;
    const int64_t begin = first_row(g, rank), end = first_row(g, rank + 1);
    (void)size;
    for (int64_t k = begin; k < end; k++) {
        g->parent[k] = g->ancestor[k] = -1;
        g->state[k] = 0;
        grow_row(g, begin, k);
    }
}

/* The rows that were late when the stretches were shorter. */
static void grow_late(void *user, int rank, int size) {
    const growing *const g = user;
    const int64_t begin = first_row(g, rank), end = first_row(g, rank + 1);
    (void)size;
    for (int64_t k = begin; k < end; k++)
        g->state[k] &= LATE;
    for (int64_t k = begin; k < end; k++) {
        if (g->state[k])
            grow_row(g, begin, k);
    }
}

void wi_tree_shared(const weft_context *ctx, int team, const wi_pattern *graph, const int64_t *perm,
                    const int64_t *inverse, int64_t *parent, int64_t *scratch) {
    growing g = {graph, perm, inverse, parent, scratch, (uint8_t *)(scratch + graph->n), team, 1};
    wi_team_run(ctx, team, grow, &g);
    for (g.joined = 2; g.joined < team; g.joined *= 2)
        wi_team_run(ctx, (team + g.joined - 1) / g.joined, grow_late, &g);
    for (int64_t k = 0; k < graph->n; k++) {
        if (!(g.state[k] & LATE))
            continue;
        for (int64_t e = graph->start[perm[k]]; e < graph->start[perm[k] + 1]; e++)
            wi_tree_edge(inverse[graph->row[e]], k, parent, g.ancestor);
    }
}
