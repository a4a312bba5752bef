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

/* The rows that were late when the stretches were shorter, by pairs of stretches, then by pairs of
 * these; the last ones by one thread. */
static void finish_rows(const weft_context *ctx, int team, growing *g) {
    for (g->joined = 2; g->joined < team; g->joined *= 2)
        wi_team_run(ctx, (team + g->joined - 1) / g->joined, grow_late, g);
    for (int64_t k = 0; k < g->graph->n; k++) {
        const int64_t *const start = g->graph->start + g->perm[k];
        for (int64_t e = start[0]; e < start[1] && g->state[k] & LATE; e++)
            wi_tree_edge(g->inverse[g->graph->row[e]], k, g->parent, g->ancestor);
    }
}

/* ---- if few rows are late: one thread does them, with trees as single vertices ---- */

typedef struct joining {
    growing *g;
    int64_t *trees, *entries; /* before each stretch: trees, and entries of the list */
    int64_t *tree;            /* of each column */
    int64_t *root, *parent,
        *ancestor; /* of each tree: its column, and trees that it is joined to */
    int64_t *list; /* for each late row ~ its own tree, then those of its neighbours before it */
} joining;

static void count_late(void *user, int rank, int size) {
    const joining *const j = user;
    const growing *const g = j->g;
    int64_t trees = 0, entries = 0;
    (void)size;
    for (int64_t k = first_row(g, rank); k < first_row(g, rank + 1); k++) {
        const int64_t *const start = g->graph->start + g->perm[k];
        trees += g->ancestor[k] < 0;
        entries += g->state[k] & LATE ? start[1] - start[0] + 1 : 0;
    }
    j->trees[rank + 1] = trees;
    j->entries[rank + 1] = entries;
}

/* Ancestors come after a column, in the same stretch. */
static void number_trees(void *user, int rank, int size) {
    const joining *const j = user;
    const growing *const g = j->g;
    int64_t next = j->trees[rank + 1];
    (void)size;
    for (int64_t k = first_row(g, rank + 1) - 1; k >= first_row(g, rank); k--) {
        const int64_t up = g->ancestor[k];
        j->tree[k] = up < 0 ? --next : j->tree[up];
        if (up >= 0)
            continue;
        j->root[next] = k;
        j->parent[next] = j->ancestor[next] = -1;
    }
}

static void list_late(void *user, int rank, int size) {
    const joining *const j = user;
    const growing *const g = j->g;
    int64_t to = j->entries[rank];
    (void)size;
    for (int64_t k = first_row(g, rank); k < first_row(g, rank + 1); k++) {
        if (!(g->state[k] & LATE))
            continue;
        const int64_t *const start = g->graph->start + g->perm[k];
        j->list[to++] = ~j->tree[k];
        for (int64_t e = start[0]; e < start[1]; e++) {
            const int64_t before = g->inverse[g->graph->row[e]];
            j->list[to] = j->tree[before];
            to += before < k;
        }
    }
    while (to < j->entries[rank + 1])
        j->list[to++] = j->trees[g->stretches]; /* no tree, after all of them */
}

static void name_parents(void *user, int rank, int size) {
    const joining *const j = user;
    const size_t trees = (size_t)j->trees[j->g->stretches];
    for (size_t t = wi_team_share(trees, rank, size); t < wi_team_share(trees, rank + 1, size); t++)
        j->g->parent[j->root[t]] = j->parent[t] < 0 ? -1 : j->root[j->parent[t]];
}

/* `scratch` has 8 n, and 2 (team + 1). */
static joining joining_at(growing *g, int64_t n, int team, int64_t *scratch) {
    return (joining){.g = g,
                     .tree = scratch,
                     .root = scratch + n,
                     .parent = scratch + 2 * n,
                     .ancestor = scratch + 3 * n,
                     .list = scratch + 4 * n,
                     .trees = scratch + 8 * n,
                     .entries = scratch + 8 * n + team + 1};
}

/* False if too many rows are late. */
static bool join_trees(const weft_context *ctx, int team, growing *g, int64_t *scratch) {
    enum {
        FEW = 8 /* late rows have at most such a part of the entries */
    };
    const int64_t n = g->graph->n;
    joining j = joining_at(g, n, team, scratch);
    int64_t own = 0;
    wi_team_run(ctx, team, count_late, &j);
    j.trees[0] = j.entries[0] = 0;
    for (int rank = 0; rank < team; rank++) {
        j.trees[rank + 1] += j.trees[rank];
        j.entries[rank + 1] += j.entries[rank];
    }
    const int64_t entries = j.entries[team];
    if (entries > 4 * n || entries > (g->graph->start[n] + n) / FEW)
        return false;
    wi_team_run(ctx, team, number_trees, &j);
    wi_team_run(ctx, team, list_late, &j);
    for (int64_t e = 0; e < entries; e++) {
        if (j.list[e] < 0)
            own = ~j.list[e];
        else
            wi_tree_edge(j.list[e], own, j.parent, j.ancestor);
    }
    wi_team_run(ctx, team, name_parents, &j);
    return true;
}

/* ---- the postorder, from the trees that were joined ---- */

typedef struct ordering {
    joining j;
    int64_t n;
    int64_t *parent, *position, *size, *last; /* as in wi_postorder */
    int64_t *place;                           /* of each tree's root */
} ordering;

static int64_t column_at(const ordering *o, int rank, int size) {
    return (int64_t)wi_team_share((size_t)o->n, rank, size);
}

static bool is_root(const ordering *o, int64_t k) {
    return o->j.root[o->j.tree[k]] == k;
}

/* Within each tree. */
static void size_trees(void *user, int rank, int size) {
    const ordering *const o = user;
    const int64_t begin = column_at(o, rank, size), end = column_at(o, rank + 1, size);
    for (int64_t k = begin; k < end; k++)
        o->size[k] = 1;
    for (int64_t k = begin; k < end; k++) {
        if (!is_root(o, k))
            o->size[o->parent[k]] += o->size[k];
    }
}

/* Sizes and places of roots: a tree is a single vertex, whose size is known. */
static void place_roots(const ordering *o) {
    const int64_t trees = o->j.trees[o->j.g->stretches], *const up = o->j.parent;
    int64_t *const whole = o->j.ancestor, *const last = o->j.list, free_root = o->n - 1;
    for (int64_t t = 0; t < trees; t++)
        whole[t] = o->size[o->j.root[t]];
    for (int64_t t = 0; t < trees; t++) {
        if (up[t] >= 0)
            whole[up[t]] += whole[t];
    }
    for (int64_t t = trees - 1; t >= 0; t--) {
        int64_t *const slot = up[t] >= 0 ? &last[up[t]] : &free_root;
        o->place[t] = *slot;
        *slot -= whole[t];
        last[t] = o->place[t] - 1;
    }
}

static void place_columns(void *user, int rank, int size) {
    const ordering *const o = user;
    for (int64_t k = column_at(o, rank + 1, size) - 1; k >= column_at(o, rank, size); k--) {
        if (is_root(o, k)) {
            o->position[k] = o->place[o->j.tree[k]];
            o->size[k] = o->j.ancestor[o->j.tree[k]];
        } else {
            o->position[k] = o->last[o->parent[k]];
            o->last[o->parent[k]] -= o->size[k];
        }
        o->last[k] = o->position[k] - 1;
    }
}

void wi_tree_shared(const weft_context *ctx, int team, const wi_pattern *graph, const int64_t *perm,
                    const int64_t *inverse, int64_t *parent, int64_t *position, int64_t *size,
                    int64_t *scratch) {
    const int64_t n = graph->n;
    growing g = {graph, perm, inverse, parent, scratch, (uint8_t *)(scratch + n), team, 1};
    wi_team_run(ctx, team, grow, &g);
    if (!join_trees(ctx, team, &g, scratch + 2 * n)) {
        finish_rows(ctx, team, &g);
        wi_postorder(n, parent, position, size, scratch);
        return;
    }
    ordering o = {
        joining_at(&g, n, team, scratch + 2 * n), n, parent, position, size, scratch, NULL};
    o.place = o.j.list + n;
    wi_team_run(ctx, team, size_trees, &o);
    place_roots(&o);
    wi_team_run(ctx, team, place_columns, &o);
}
