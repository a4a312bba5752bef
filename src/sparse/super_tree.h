/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of supernodes while it is being built: super_tree.c finds the supernodes in the
 * elimination tree, merges children with parents, and orders siblings; symbolic.c numbers the
 * result. */
#ifndef WI_SPARSE_SUPER_TREE_H
#define WI_SPARSE_SUPER_TREE_H

#include "sparse/symbolic.h"

/* Arrays have one entry for each fundamental supernode; children come before parents. A supernode
 * that was merged with its parent is dead: the parent has its columns. */
typedef struct wi_super_tree {
    int64_t count, alive;
    int64_t rows;     /* of all alive supernodes together */
    int64_t *first;   /* count + 1: the fundamental columns */
    int64_t *parent;  /* -1: root */
    int64_t *columns; /* including merged ones; 0: dead */
    int64_t *height;  /* its columns and the rows below them */
    int64_t *entries; /* of L, without padding */
    int64_t *child;   /* the first child that is alive, or -1; children are in the order of
                         factorization */
    int64_t *sibling; /* the next child of the same parent, or -1 */
    int64_t *run;     /* the fundamental supernode whose columns come first in this one */
    int64_t *run_last, *run_next; /* the last of these, and for each the next */
    int64_t *peak;                /* the most doubles on the stack while the subtree is factored */
    int64_t *list;                /* those alive, ascending, after merging */
    int64_t *sorting;             /* 2 * count of scratch */
} wi_super_tree;

/* Finds the fundamental supernodes of a postordered tree: runs of columns, each the only child of
 * the next, with the same rows below. All arrays but `first` are in `memory`, at least 13 * n long;
 * the caller gives n + 1 entries of `first` and n of `super_of`. By `team` threads. */
void wi_super_tree_find(const weft_context *ctx, int team, wi_super_tree *tree, int64_t n,
                        const int64_t *parent, const int64_t *count, int64_t *first,
                        int64_t *super_of, int64_t *memory);

/* Merges children with parents where `relax` allows it (relaxed amalgamation). */
void wi_super_tree_merge(wi_super_tree *tree, const wi_relax *relax);

/* Orders siblings so that the stack of a multifrontal factorization needs the least memory; fills
 * peak. */
void wi_super_tree_sort(wi_super_tree *tree);

/* What else is to be done with a plan, by one thread. */
typedef void wi_super_rows_beside(wi_symbolic *symbolic, int64_t *scratch);

/* Lists the rows of all supernodes, whose other arrays are complete, by `team` threads. The graph
 * is that of `symbolic`, super_of[k] the supernode of column k; 6 n of scratch. `beside` is called
 * meanwhile, with the scratch after that; it may be NULL, and leaves alone what is read here. */
void wi_super_rows(const weft_context *ctx, int team, const wi_pattern *graph,
                   wi_symbolic *symbolic, const int64_t *super_of, int64_t *scratch,
                   wi_super_rows_beside *beside);

#endif
