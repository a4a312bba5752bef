/* SPDX-License-Identifier: Apache-2.0 */
/* Column counts by several threads, with the results of tree.c. */
#include <stdatomic.h>
#include <stdlib.h>

#include "cpu/team.h"
#include "sparse/symbolic.h"

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
    int64_t *sum;    /* of the counts up to each column */
    int64_t *before; /* of those before each stretch */
    _Atomic int64_t *count;
    atomic_size_t next;
    atomic_bool wide; /* are there rows that one thread does? */
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
            else
                atomic_store_explicit(&c->wide, true, memory_order_relaxed);
        }
    }
}

/* The threads' stretches of columns: as many, each of about the same number. */
static int64_t column_at(const counting *c, int rank, int size) {
    return (int64_t)wi_team_share((size_t)c->graph->n, rank, size);
}

/* `count` has the sizes of subtrees. A jump that is not known yet is -1. */
static void find_lowest(void *user, int rank, int size) {
    const counting *const c = user;
    for (int64_t k = column_at(c, rank, size); k < column_at(c, rank + 1, size); k++) {
        c->lowest[k] = k - c->count[k] + 1;
        c->count[k] = c->lowest[k] == k;
        c->jump[k] = -1;
    }
}

/* jump[j] skips as many generations as make any ancestor reachable in some 2 log2(n) steps (Myers
 * 1983). */
static void find_jump(const counting *c, int64_t k) {
    const int64_t up = c->parent[k];
    if (up < 0) {
        c->jump[k] = k;
        c->depth[k] = 0;
        return;
    }
    const int64_t far = c->jump[up], farther = c->jump[far];
    c->depth[k] = c->depth[up] + 1;
    c->jump[k] = c->depth[up] - c->depth[far] == c->depth[far] - c->depth[farther] ? farther : up;
}

/* The jumps of columns whose subtrees reach over the end of a stretch: those above the last one of
 * each. `path` is n of scratch. */
static void find_top_jumps(const counting *c, int team, int64_t *path) {
    for (int rank = team - 1; rank > 0; rank--) {
        int64_t length = 0;
        const int64_t end = column_at(c, rank, team);
        for (int64_t k = end > 0 ? c->parent[end - 1] : -1; k >= 0 && c->jump[k] < 0;
             k = c->parent[k])
            path[length++] = k;
        while (length > 0)
            find_jump(c, path[--length]);
    }
}

static void find_jumps(void *user, int rank, int size) {
    const counting *const c = user;
    for (int64_t k = column_at(c, rank + 1, size) - 1; k >= column_at(c, rank, size); k--) {
        if (c->jump[k] < 0)
            find_jump(c, k);
    }
}

/* The sums of counts up to each column of a stretch. */
static void sum_counts(void *user, int rank, int size) {
    const counting *const c = user;
    int64_t sum = 0;
    for (int64_t k = column_at(c, rank, size); k < column_at(c, rank + 1, size); k++) {
        sum += c->count[k];
        c->sum[k] = sum;
    }
}

/* The sum before each stretch. */
static void add_stretches(const counting *c, int team) {
    int64_t *const before = c->before;
    before[0] = 0;
    for (int rank = 0; rank < team; rank++) {
        const int64_t end = column_at(c, rank + 1, team);
        before[rank + 1] = before[rank] + (end > column_at(c, rank, team) ? c->sum[end - 1] : 0);
    }
}

/* The sum of the counts before column k, seen from stretch `rank` or a later one. */
static int64_t sum_before(const counting *c, int64_t k, int rank, int size) {
    while (k <= column_at(c, rank, size) && rank > 0)
        rank--;
    return k > 0 ? c->before[rank] + c->sum[k - 1] : 0;
}

/* A subtree is what lies from its first column to its root. */
static void sum_subtrees(void *user, int rank, int size) {
    const counting *const c = user;
    for (int64_t k = column_at(c, rank, size); k < column_at(c, rank + 1, size); k++)
        c->count[k] = c->before[rank] + c->sum[k] - sum_before(c, c->lowest[k], rank, size);
}

void wi_column_counts_shared(const weft_context *ctx, int team, const wi_pattern *graph,
                             const int64_t *perm, const int64_t *inverse, const int64_t *parent,
                             int64_t *count, int64_t *scratch) {
    const int64_t n = graph->n;
    int64_t *const list = scratch + 2 * n, *const path = scratch + 3 * n;
    counting c = {.graph = graph,
                  .perm = perm,
                  .inverse = inverse,
                  .parent = parent,
                  .lowest = scratch,
                  .jump = scratch + n,
                  .depth = list,
                  .sum = list,
                  .before = path,
                  .count = (_Atomic int64_t *)count};
    wi_team_run(ctx, team, find_lowest, &c);
    find_top_jumps(&c, team, path);
    wi_team_run(ctx, team, find_jumps, &c);
    wi_team_run(ctx, team, count_rows, &c);
    for (int64_t i = 0; i < n && c.wide; i++) {
        if (degree(&c, i) > WIDE)
            count_row(&c, i, list);
    }
    wi_team_run(ctx, team, sum_counts, &c);
    add_stretches(&c, team);
    wi_team_run(ctx, team, sum_subtrees, &c);
}
