/* SPDX-License-Identifier: Apache-2.0 */
/* Supernodes: runs of columns of L with the same structure, or with one similar enough to treat as
 * the same. */
#include "sparse/super_tree.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cpu/team.h"

const wi_relax wi_relax_default = {{8, 32, 64, INT64_MAX}, {0.6, 0.25, 0.1, 0.02}};

static int64_t stored(int64_t columns, int64_t height) {
    return columns * height - columns * (columns - 1) / 2;
}

static void take_memory(wi_super_tree *tree, int64_t *memory) {
    int64_t **const arrays[] = {&tree->parent,   &tree->columns, &tree->height, &tree->entries,
                                &tree->child,    &tree->sibling, &tree->run,    &tree->run_last,
                                &tree->run_next, &tree->peak,    &tree->list,   &tree->sorting};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        *arrays[k] = memory + (int64_t)k * tree->count;
}

/* Puts every supernode at the head of its parent's list of children. */
static void link_children(wi_super_tree *tree) {
    for (int64_t s = tree->count - 1; s >= 0; s--) {
        const int64_t parent = tree->parent[s];
        tree->rows += tree->height[s];
        if (parent < 0)
            continue;
        tree->sibling[s] = tree->child[parent];
        tree->child[parent] = s;
    }
}

/* While supernodes are found: each thread has a stretch of columns, then one of supernodes. */
typedef struct finding {
    wi_super_tree *tree;
    int64_t n;
    const int64_t *parent, *count;
    int64_t *first, *super_of;
    _Atomic int64_t *children; /* how many each column has */
    int64_t *begun;            /* supernodes that begin in the stretch, up to each column */
} finding;

static int64_t column_at(const finding *f, int rank, int size) {
    return (int64_t)wi_team_share((size_t)f->n, rank, size);
}

static void clear_children(void *user, int rank, int size) {
    const finding *const f = user;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++)
        atomic_store_explicit(&f->children[k], 0, memory_order_relaxed);
}

static void count_children(void *user, int rank, int size) {
    const finding *const f = user;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++) {
        if (f->parent[k] >= 0)
            atomic_fetch_add_explicit(&f->children[f->parent[k]], 1, memory_order_relaxed);
    }
}

static void count_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    int64_t begun = 0;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++) {
        const bool joins = k > 0 && f->parent[k - 1] == k && f->children[k] == 1 &&
                           f->count[k - 1] == f->count[k] + 1;
        begun += !joins;
        f->begun[k] = begun;
    }
}

/* The number of supernodes that begin before the stretch of a thread. */
static int64_t supernodes_before(const finding *f, int rank, int size) {
    int64_t sum = 0;
    for (int r = 0; r < rank; r++) {
        const int64_t end = column_at(f, r + 1, size);
        sum += end > column_at(f, r, size) ? f->begun[end - 1] : 0;
    }
    return sum;
}

static void number_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    const int64_t before = supernodes_before(f, rank, size), begin = column_at(f, rank, size);
    for (int64_t k = begin; k < column_at(f, rank + 1, size); k++) {
        f->super_of[k] = before + f->begun[k] - 1;
        if (f->begun[k] > (k == begin ? 0 : f->begun[k - 1]))
            f->first[f->super_of[k]] = k;
    }
}

static void describe_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    wi_super_tree *const tree = f->tree;
    const int64_t *const first = f->first;
    const int64_t end = (int64_t)wi_team_share((size_t)tree->count, rank + 1, size);
    for (int64_t s = (int64_t)wi_team_share((size_t)tree->count, rank, size); s < end; s++) {
        const int64_t up = f->parent[first[s + 1] - 1];
        tree->parent[s] = up < 0 ? -1 : f->super_of[up];
        tree->columns[s] = first[s + 1] - first[s];
        tree->height[s] = f->count[first[s]];
        tree->entries[s] = stored(tree->columns[s], tree->height[s]);
        tree->run[s] = tree->run_last[s] = s;
        tree->run_next[s] = tree->child[s] = tree->sibling[s] = -1;
    }
}

void wi_super_tree_find(const weft_context *ctx, int team, wi_super_tree *tree, int64_t n,
                        const int64_t *parent, const int64_t *count, int64_t *first,
                        int64_t *super_of, int64_t *memory) {
    finding f = {tree, n, parent, count, first, super_of, (_Atomic int64_t *)memory, memory + n};
    wi_team_run(ctx, team, clear_children, &f);
    wi_team_run(ctx, team, count_children, &f);
    wi_team_run(ctx, team, count_supernodes, &f);
    wi_team_run(ctx, team, number_supernodes, &f);
    const int64_t supernodes = supernodes_before(&f, team, team);
    first[supernodes] = n;
    *tree = (wi_super_tree){.count = supernodes, .alive = supernodes, .first = first};
    take_memory(tree, memory);
    wi_team_run(ctx, team, describe_supernodes, &f);
    link_children(tree);
}

static bool worth_merging(const wi_super_tree *tree, const wi_relax *relax, int64_t s,
                          int64_t child) {
    const int64_t columns = tree->columns[s] + tree->columns[child];
    const int64_t all = stored(columns, tree->height[s] + tree->columns[child]);
    const int64_t padding = all - tree->entries[s] - tree->entries[child];
    int k = 0;
    while (k < WI_RELAX_STEPS && columns > relax->columns[k])
        k++;
    return padding == 0 || (k < WI_RELAX_STEPS && (double)padding <= relax->zeros[k] * (double)all);
}

/* The child's columns come before those of s; its children become children of s. */
static void merge(wi_super_tree *tree, int64_t s, int64_t child) {
    tree->rows += tree->columns[child] - tree->height[child];
    tree->columns[s] += tree->columns[child];
    tree->height[s] += tree->columns[child];
    tree->entries[s] += tree->entries[child];
    tree->columns[child] = 0;
    tree->run_next[tree->run_last[child]] = tree->run[s];
    tree->run[s] = tree->run[child];
    for (int64_t c = tree->child[child]; c >= 0;) {
        const int64_t next = tree->sibling[c];
        tree->parent[c] = s;
        tree->sibling[c] = tree->child[s];
        tree->child[s] = c;
        c = next;
    }
    tree->alive--;
}

/* A vertex and its sort key. */
typedef struct keyed {
    int64_t key, vertex;
} keyed;

/* Larger keys first; among equals, the order of the vertices. */
static int compare(const void *a, const void *b) {
    const keyed *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/* Copies the children of s to an array, sorted by `key`; returns how many. */
static int64_t sorted_children(const wi_super_tree *tree, int64_t s,
                               int64_t (*key)(const wi_super_tree *, int64_t)) {
    enum {
        FEW = 16 /* so few are sorted faster by insertion, without a call */
    };
    keyed *const list = (keyed *)tree->sorting;
    int64_t count = 0;
    for (int64_t c = tree->child[s]; c >= 0; c = tree->sibling[c])
        list[count++] = (keyed){key(tree, c), c};
    for (int64_t k = 1; k < count && count <= FEW; k++) {
        const keyed moved = list[k];
        int64_t at = k;
        for (; at > 0 && compare(&list[at - 1], &moved) > 0; at--)
            list[at] = list[at - 1];
        list[at] = moved;
    }
    if (count > FEW)
        qsort(list, (size_t)count, sizeof *list, compare);
    return count;
}

static int64_t rows_below(const wi_super_tree *tree, int64_t s) {
    return tree->height[s] - tree->columns[s];
}

static void list_alive(wi_super_tree *tree) {
    int64_t count = 0;
    for (int64_t s = 0; s < tree->count; s++) {
        tree->list[count] = s;
        count += tree->columns[s] > 0;
    }
}

/* Tries the tallest children first: they need the least padding. */
void wi_super_tree_merge(wi_super_tree *tree, const wi_relax *relax) {
    const keyed *const list = (const keyed *)tree->sorting;
    for (int64_t s = 0; s < tree->count; s++) {
        if (tree->child[s] < 0)
            continue;
        const int64_t children = sorted_children(tree, s, rows_below);
        tree->child[s] = -1;
        for (int64_t k = 0; k < children; k++) {
            const int64_t c = list[k].vertex;
            if (worth_merging(tree, relax, s, c)) {
                merge(tree, s, c);
            } else {
                tree->sibling[c] = tree->child[s];
                tree->child[s] = c;
            }
        }
    }
    list_alive(tree);
}

static int64_t update_entries(const wi_super_tree *tree, int64_t s) {
    return wi_update_entries(tree->height[s], tree->columns[s]);
}

/* How much memory a finished subtree frees: its peak minus what it leaves. */
static int64_t relief(const wi_super_tree *tree, int64_t s) {
    return tree->peak[s] - update_entries(tree, s);
}

/* Sorting children by falling relief keeps the stack lowest (Liu 1986): while a child is factored,
 * the stack holds what the siblings before it left. */
void wi_super_tree_sort(wi_super_tree *tree) {
    const keyed *const list = (const keyed *)tree->sorting;
    for (int64_t k = 0; k < tree->alive; k++) {
        const int64_t s = tree->list[k];
        const int64_t children = sorted_children(tree, s, relief);
        int64_t height = 0, peak = 0;
        for (int64_t e = 0; e < children; e++) {
            const int64_t c = list[e].vertex;
            if (height + tree->peak[c] > peak)
                peak = height + tree->peak[c];
            height += update_entries(tree, c);
        }
        height += update_entries(tree, s);
        tree->peak[s] = height > peak ? height : peak;
        tree->child[s] = -1;
        for (int64_t e = children - 1; e >= 0; e--) {
            tree->sibling[list[e].vertex] = tree->child[s];
            tree->child[s] = list[e].vertex;
        }
    }
}
