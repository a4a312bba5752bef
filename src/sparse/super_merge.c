/* SPDX-License-Identifier: Apache-2.0 */
/* Supernodes merged with their parents, siblings put in order, and the result numbered: threads
 * take pieces of the tree, one thread what is above them. */
#include <stdlib.h>

#include "sparse/super_tree.h"

const wi_relax wi_relax_default = {{8, 32, 64, INT64_MAX}, {0.6, 0.25, 0.1, 0.02}};

/* What a step needs. */
typedef struct merging {
    wi_super_tree *tree;
    const wi_relax *relax;
    int64_t *number, *size;
} merging;

static bool worth_merging(const wi_super_tree *tree, const wi_relax *relax, int64_t s,
                          int64_t child) {
    const int64_t columns = tree->columns[s] + tree->columns[child];
    const int64_t all = wi_super_stored(columns, tree->height[s] + tree->columns[child]);
    const int64_t padding = all - tree->entries[s] - tree->entries[child];
    int k = 0;
    while (k < WI_RELAX_STEPS && columns > relax->columns[k])
        k++;
    return padding == 0 || (k < WI_RELAX_STEPS && (double)padding <= relax->zeros[k] * (double)all);
}

/* The child's columns come before those of s; its children become children of s. */
static void merge(wi_super_tree *tree, int64_t s, int64_t child) {
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

/* Room for the children of any one of supernodes begin ...: a piece has its own. */
static keyed *room_at(const wi_super_tree *tree, int64_t begin, bool above) {
    return (keyed *)tree->sorting + (above ? 0 : begin);
}

/* Copies the children of s to `list`, sorted by `key`; returns how many. */
static int64_t sort_children(const wi_super_tree *tree, int64_t s,
                             int64_t (*key)(const wi_super_tree *, int64_t), keyed *list) {
    enum {
        FEW = 16 /* so few are sorted faster by insertion, without a call */
    };
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

/* Tries the tallest children first: they need the least padding. */
static void merge_step(const void *user, int64_t begin, int64_t end, bool above) {
    const merging *const m = user;
    wi_super_tree *const tree = m->tree;
    keyed *const list = room_at(tree, begin, above);
    for (int64_t s = begin; s < end; s++) {
        if (tree->child[s] < 0)
            continue;
        const int64_t children = sort_children(tree, s, rows_below, list);
        tree->child[s] = -1;
        for (int64_t k = 0; k < children; k++) {
            const int64_t c = list[k].vertex;
            if (worth_merging(tree, m->relax, s, c)) {
                merge(tree, s, c);
            } else {
                tree->sibling[c] = tree->child[s];
                tree->child[s] = c;
            }
        }
    }
}

void wi_super_tree_merge(wi_super_tree *tree, const wi_relax *relax) {
    const merging m = {tree, relax, NULL, NULL};
    wi_super_up(tree, merge_step, &m);
    tree->alive = tree->rows = 0;
    for (int64_t s = 0; s < tree->count; s++) {
        const bool alive = tree->columns[s] > 0;
        tree->list[tree->alive] = s;
        tree->alive += alive;
        tree->rows += alive ? tree->height[s] : 0;
    }
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
static void sort_step(const void *user, int64_t begin, int64_t end, bool above) {
    wi_super_tree *const tree = ((const merging *)user)->tree;
    keyed *const list = room_at(tree, begin, above);
    for (int64_t s = begin; s < end; s++) {
        if (tree->columns[s] == 0)
            continue;
        const int64_t children = sort_children(tree, s, relief, list);
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

void wi_super_tree_sort(wi_super_tree *tree) {
    const merging m = {tree, NULL, NULL, NULL};
    wi_super_up(tree, sort_step, &m);
}

static void size_step(const void *user, int64_t begin, int64_t end, bool above) {
    const merging *const m = user;
    (void)above;
    for (int64_t s = begin; s < end; s++) {
        m->size[s] = 1;
        for (int64_t c = m->tree->child[s]; c >= 0 && m->tree->columns[s] > 0;
             c = m->tree->sibling[c])
            m->size[s] += m->size[c];
    }
}

/* From the roots down, every supernode gets the last number of its subtree. */
static void number_step(const void *user, int64_t begin, int64_t end, bool above) {
    const merging *const m = user;
    (void)above;
    for (int64_t s = end - 1; s >= begin; s--) {
        if (m->tree->columns[s] == 0)
            continue;
        int64_t before = m->number[s] - m->size[s];
        for (int64_t c = m->tree->child[s]; c >= 0; c = m->tree->sibling[c]) {
            before += m->size[c];
            m->number[c] = before;
        }
    }
}

void wi_super_tree_number(wi_super_tree *tree, int64_t *number, int64_t *size) {
    const merging m = {tree, NULL, number, size};
    int64_t before = -1;
    wi_super_up(tree, size_step, &m);
    for (int64_t s = tree->root; s >= 0; s = tree->sibling[s]) {
        before += size[s];
        number[s] = before;
    }
    wi_super_down(tree, number_step, &m);
}
