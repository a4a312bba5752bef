/* SPDX-License-Identifier: Apache-2.0 */
/* Supernodes: columns of L with the same structure, and those alike enough to be treated so. */
#include "sparse/forest.h"

#include <stdlib.h>

const wi_relax wi_relax_default = {{8, 32, 64, INT64_MAX}, {0.6, 0.25, 0.1, 0.02}};

static int64_t stored(int64_t columns, int64_t height) {
    return columns * height - columns * (columns - 1) / 2;
}

static void take_memory(wi_forest *forest, int64_t *memory) {
    int64_t **const arrays[] = {&forest->parent,  &forest->columns,  &forest->height,
                                &forest->entries, &forest->child,    &forest->sibling,
                                &forest->run,     &forest->run_last, &forest->run_next,
                                &forest->peak,    &forest->list,     &forest->sorting};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        *arrays[k] = memory + (int64_t)k * forest->count;
}

/* Puts every supernode at the head of its parent's list of children. */
static void link_children(wi_forest *forest) {
    for (int64_t s = 0; s < forest->count; s++)
        forest->child[s] = forest->sibling[s] = -1;
    for (int64_t s = forest->count - 1; s >= 0; s--) {
        const int64_t parent = forest->parent[s];
        if (parent < 0)
            continue;
        forest->sibling[s] = forest->child[parent];
        forest->child[parent] = s;
    }
}

void wi_forest_grow(wi_forest *forest, int64_t n, const int64_t *parent, const int64_t *count,
                    int64_t *first, int64_t *super_of, int64_t *memory) {
    int64_t *const children = memory; /* of each column, until the supernodes are counted */
    int64_t supernodes = 0;
    for (int64_t k = 0; k < n; k++)
        children[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        if (parent[k] >= 0)
            children[parent[k]]++;
    }
    for (int64_t k = 0; k < n; k++) {
        const bool joins =
            k > 0 && parent[k - 1] == k && children[k] == 1 && count[k - 1] == count[k] + 1;
        if (!joins)
            first[supernodes++] = k;
        super_of[k] = supernodes - 1;
    }
    first[supernodes] = n;
    *forest = (wi_forest){.count = supernodes, .alive = supernodes, .first = first};
    take_memory(forest, memory);
    for (int64_t s = 0; s < supernodes; s++) {
        const int64_t up = parent[first[s + 1] - 1];
        forest->parent[s] = up < 0 ? -1 : super_of[up];
        forest->columns[s] = first[s + 1] - first[s];
        forest->height[s] = count[first[s]];
        forest->entries[s] = stored(forest->columns[s], forest->height[s]);
        forest->run[s] = forest->run_last[s] = s;
        forest->run_next[s] = -1;
        forest->rows += forest->height[s];
    }
    link_children(forest);
}

static bool worth_merging(const wi_forest *forest, const wi_relax *relax, int64_t s,
                          int64_t child) {
    const int64_t columns = forest->columns[s] + forest->columns[child];
    const int64_t all = stored(columns, forest->height[s] + forest->columns[child]);
    const int64_t padding = all - forest->entries[s] - forest->entries[child];
    int k = 0;
    while (k < WI_RELAX_STEPS && columns > relax->columns[k])
        k++;
    return padding == 0 || (k < WI_RELAX_STEPS && (double)padding <= relax->zeros[k] * (double)all);
}

/* The child's columns come before those of s; its children become children of s. */
static void merge(wi_forest *forest, int64_t s, int64_t child) {
    forest->rows += forest->columns[child] - forest->height[child];
    forest->columns[s] += forest->columns[child];
    forest->height[s] += forest->columns[child];
    forest->entries[s] += forest->entries[child];
    forest->columns[child] = 0;
    forest->run_next[forest->run_last[child]] = forest->run[s];
    forest->run[s] = forest->run[child];
    for (int64_t c = forest->child[child]; c >= 0;) {
        const int64_t next = forest->sibling[c];
        forest->parent[c] = s;
        forest->sibling[c] = forest->child[s];
        forest->child[s] = c;
        c = next;
    }
    forest->alive--;
}

/* A vertex and what it is sorted by. */
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

/* The children of s as an array, sorted by `key`; returns how many. */
static int64_t sorted_children(const wi_forest *forest, int64_t s,
                               int64_t (*key)(const wi_forest *, int64_t)) {
    enum {
        FEW = 16 /* are sorted faster by insertion, without a call */
    };
    keyed *const list = (keyed *)forest->sorting;
    int64_t count = 0;
    for (int64_t c = forest->child[s]; c >= 0; c = forest->sibling[c])
        list[count++] = (keyed){key(forest, c), c};
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

static int64_t rows_below(const wi_forest *forest, int64_t s) {
    return forest->height[s] - forest->columns[s];
}

static void list_alive(wi_forest *forest) {
    int64_t count = 0;
    for (int64_t s = 0; s < forest->count; s++) {
        forest->list[count] = s;
        count += forest->columns[s] > 0;
    }
}

/* The tallest children first: they need the least padding. */
void wi_forest_merge(wi_forest *forest, const wi_relax *relax) {
    const keyed *const list = (const keyed *)forest->sorting;
    for (int64_t s = 0; s < forest->count; s++) {
        if (forest->child[s] < 0)
            continue;
        const int64_t children = sorted_children(forest, s, rows_below);
        forest->child[s] = -1;
        for (int64_t k = 0; k < children; k++) {
            const int64_t c = list[k].vertex;
            if (worth_merging(forest, relax, s, c)) {
                merge(forest, s, c);
            } else {
                forest->sibling[c] = forest->child[s];
                forest->child[s] = c;
            }
        }
    }
    list_alive(forest);
}

static int64_t update_entries(const wi_forest *forest, int64_t s) {
    return wi_update_entries(forest->height[s], forest->columns[s]);
}

/* What is free again when a subtree is done, but for what it leaves. */
static int64_t relief(const wi_forest *forest, int64_t s) {
    return forest->peak[s] - update_entries(forest, s);
}

/* Children in the order of falling relief keep the stack lowest (Liu 1986): while a child is
 * factored, the stack holds what its elder siblings left. */
void wi_forest_sort(wi_forest *forest) {
    const keyed *const list = (const keyed *)forest->sorting;
    for (int64_t k = 0; k < forest->alive; k++) {
        const int64_t s = forest->list[k];
        const int64_t children = sorted_children(forest, s, relief);
        int64_t height = 0, peak = 0;
        for (int64_t e = 0; e < children; e++) {
            const int64_t c = list[e].vertex;
            if (height + forest->peak[c] > peak)
                peak = height + forest->peak[c];
            height += update_entries(forest, c);
        }
        height += update_entries(forest, s);
        forest->peak[s] = height > peak ? height : peak;
        forest->child[s] = -1;
        for (int64_t e = children - 1; e >= 0; e--) {
            forest->sibling[list[e].vertex] = forest->child[s];
            forest->child[s] = list[e].vertex;
        }
    }
}
