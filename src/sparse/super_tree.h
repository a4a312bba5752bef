/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of supernodes while it is formed: super_tree.c grows it from the elimination tree,
 * merges children with parents, and orders siblings; symbolic.c numbers what comes out. */
#ifndef WI_SPARSE_SUPER_TREE_H
#define WI_SPARSE_SUPER_TREE_H

#include "sparse/symbolic.h"

/* Arrays have one entry for each fundamental supernode; children come before parents. A supernode
 * that merged with its parent is dead: its columns went there. */
typedef struct wi_super_tree {
    int64_t count, alive;
    int64_t rows;     /* of those alive, together */
    int64_t *first;   /* count + 1: the fundamental columns */
    int64_t *parent;  /* -1: root */
    int64_t *columns; /* with what was merged in; 0: dead */
    int64_t *height;  /* rows: columns, and the rows below them */
    int64_t *entries; /* of L, without padding */
    int64_t *child;   /* the first child alive, or -1; in the order they are to be factored */
    int64_t *sibling; /* the next child of the same parent, or -1 */
    int64_t *run;     /* the fundamental supernode whose columns come first in this one */
    int64_t *run_last, *run_next; /* and those that follow */
    int64_t *peak;                /* doubles on the stack at most, while the subtree is factored */
    int64_t *list;                /* those alive, ascending, once all merging is done */
    int64_t *sorting;             /* 2 * count of scratch */
} wi_super_tree;

/* The fundamental supernodes of a postordered tree: runs of columns, each the only child of the
 * next, with the same rows below. All arrays but `first` are taken from `memory`, 13 * n long at
 * least; n + 1 entries of `first` and n of `super_of` are the caller's. */
void wi_super_tree_find(wi_super_tree *tree, int64_t n, const int64_t *parent, const int64_t *count,
                        int64_t *first, int64_t *super_of, int64_t *memory);

/* Merges children with parents as `relax` allows. */
void wi_super_tree_merge(wi_super_tree *tree, const wi_relax *relax);

/* Orders siblings so that the stack of a multifrontal factorization stays lowest; fills peak. */
void wi_super_tree_sort(wi_super_tree *tree);

#endif
