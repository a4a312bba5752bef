/* SPDX-License-Identifier: Apache-2.0 */
/* The elimination tree and the column counts by several threads, with the results of tree.c. */
#include <stdatomic.h>
#include <stdlib.h>

#include "cpu/team.h"
#include "sparse/symbolic.h"

/* ---- the tree ---- */

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

/* ---- counts ---- */

enum {
    WIDE = 256,  /* neighbours: rows with more are done by one thread */
    PIECES = 16, /* of the rows, for each thread */
    FEW = 32     /* so few are sorted by insertion */
};

typedef struct counting {
    const wi_pattern *graph;
    const int64_t *perm, *inverse, *parent;
    int64_t *lowest; /* the first column of the subtree of j */
    int64_t *jump;   /* an ancestor of j far above it, or a root itself */
    int64_t *depth;
    _Atomic int64_t *count;
    atomic_size_t next;
} counting;

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort(int64_t *list, int64_t count) {
    if (count > FEW)
        qsort(list, (size_t)count, sizeof *list, compare);
    for (int64_t k = 1; k < count && count <= FEW; k++) {
        const int64_t moved = list[k];
        int64_t at = k;
        for (; at > 0 && list[at - 1] > moved; at--)
            list[at] = list[at - 1];
        list[at] = moved;
    }
}

/* The lowest column above both `leaf` and j, where leaf < j: the first ancestor of leaf that is not
 * before j. */
static int64_t meet(const counting *c, int64_t leaf, int64_t j) {
    while (leaf < j)
        leaf = c->jump[leaf] > leaf && c->jump[leaf] < j ? c->jump[leaf] : c->parent[leaf];
    return leaf;
}

static void add(const counting *c, int64_t column, int64_t number) {
    atomic_fetch_add_explicit(&c->count[column], number, memory_order_relaxed);
}

/* What row i adds, as in wi_column_counts: a column is a leaf if the neighbour before it is not in
 * its subtree. */
static void count_row(const counting *c, int64_t i, int64_t *list) {
    const int64_t length = wi_neighbours_before(c->graph, c->perm, c->inverse, i, list);
    int64_t leaf = -1;
    sort(list, length);
    for (int64_t k = 0; k < length; k++) {
        if (leaf >= c->lowest[list[k]])
            continue;
        add(c, list[k], 1);
        if (leaf >= 0)
            add(c, meet(c, leaf, list[k]), -1);
        leaf = list[k];
    }
    if (c->parent[i] >= 0)
        add(c, c->parent[i], -1);
}

static int64_t degree(const counting *c, int64_t i) {
    const int64_t *const start = c->graph->start + c->perm[i];
    return start[1] - start[0];
}

static void count_rows(void *user, int rank, int size) {
    counting *const c = user;
    const int pieces = PIECES * size;
    const size_t n = (size_t)c->graph->n;
    int64_t list[WIDE + 1];
    (void)rank;
    for (size_t piece; (piece = atomic_fetch_add(&c->next, 1)) < (size_t)pieces;) {
        const int64_t end = (int64_t)wi_team_share(n, (int)piece + 1, pieces);
        for (int64_t i = (int64_t)wi_team_share(n, (int)piece, pieces); i < end; i++) {
            if (degree(c, i) <= WIDE)
                count_row(c, i, list);
        }
    }
}

/* jump[j] skips as many generations as make any ancestor reachable in some 2 log2(n) steps (Myers
 * 1983). */
static void find_jumps(int64_t n, const int64_t *parent, int64_t *jump, int64_t *depth) {
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t up = parent[k];
        if (up < 0) {
            jump[k] = k;
            depth[k] = 0;
            continue;
        }
        const int64_t far = jump[up], farther = jump[far];
        depth[k] = depth[up] + 1;
        jump[k] = depth[up] - depth[far] == depth[far] - depth[farther] ? farther : up;
    }
}

/* Two walks through the tree at once. */
static void prepare_counts(void *user, int rank, int size) {
    const counting *const c = user;
    const int64_t n = c->graph->n;
    (void)size;
    if (rank == 0)
        find_jumps(n, c->parent, c->jump, c->depth);
    else
        wi_tree_leaves(n, c->parent, c->lowest, (int64_t *)c->count);
}

void wi_column_counts_shared(const weft_context *ctx, int team, const wi_pattern *graph,
                             const int64_t *perm, const int64_t *inverse, const int64_t *parent,
                             int64_t *count, int64_t *scratch) {
    const int64_t n = graph->n;
    int64_t *const lowest = scratch, *const jump = scratch + n, *const list = scratch + 2 * n;
    counting c = {graph, perm, inverse, parent, lowest, jump, list, (_Atomic int64_t *)count, 0};
    wi_team_run(ctx, 2, prepare_counts, &c);
    wi_team_run(ctx, team, count_rows, &c);
    for (int64_t i = 0; i < n; i++) {
        if (degree(&c, i) > WIDE)
            count_row(&c, i, list);
    }
    for (int64_t j = 0; j < n; j++) {
        if (parent[j] >= 0)
            count[parent[j]] += count[j];
    }
}
