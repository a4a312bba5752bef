/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of supernodes while it is being built: super_tree.c finds the supernodes in the
 * elimination tree and cuts it in pieces for threads, super_merge.c merges children with parents,
 * orders siblings and numbers the result. */
#ifndef WI_SPARSE_SUPER_TREE_H
#define WI_SPARSE_SUPER_TREE_H

#include "sparse/symbolic.h"

/* Supernodes begin ... end - 1: whole subtrees. */
typedef struct wi_super_piece {
    int64_t begin, end;
} wi_super_piece;

/* Cuts pieces of up to `most` columns from the last supernode to the first, which are in postorder:
 * subtrees, joined if they are next to each other. Small ones that are left are in none. Returns
 * how many there are, at most `room`; size[s] becomes the number of supernodes in the subtree of s.
 */
int64_t wi_super_cut(int64_t supernodes, const int64_t *parent, const int64_t *first, int64_t most,
                     int64_t room, int64_t *size, wi_super_piece *pieces);

enum {
    WI_SUPER_SHARE = 3,   /* pieces for each thread, at least */
    WI_SUPER_PIECES = 512 /* of a tree that is being built */
};

/* Arrays have one entry for each fundamental supernode; children come before parents. A supernode
 * that was merged with its parent is dead: the parent has its columns. */
typedef struct wi_super_tree {
    int64_t count, alive;
    int64_t rows;     /* of all alive supernodes together */
    int64_t root;     /* the first root; `sibling` has the next */
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
    const weft_context *ctx;      /* whose threads work on pieces, `team` of them */
    int team;
    int64_t piece_count; /* the last piece is the first */
    wi_super_piece pieces[WI_SUPER_PIECES];
} wi_super_tree;

/* Entries of a supernode, the upper triangle left out. */
static inline int64_t wi_super_stored(int64_t columns, int64_t height) {
    return columns * height - columns * (columns - 1) / 2;
}

/* A step of the work on supernodes begin ... end - 1: a piece, whose supernodes know nothing of
 * others, or supernodes above the pieces. */
typedef void wi_super_step(const void *user, int64_t begin, int64_t end, bool above);

/* From the leaves up: pieces, by all threads, then what is above them, by one. */
void wi_super_up(const wi_super_tree *tree, wi_super_step *work, const void *user);
/* From the roots down. */
void wi_super_down(const wi_super_tree *tree, wi_super_step *work, const void *user);

/* Finds the fundamental supernodes of a postordered tree: runs of columns, each the only child of
 * the next, with the same rows below. All arrays but `first` are in `memory`, at least 13 * n long;
 * the caller gives n + 1 entries of `first` and n of `super_of`. By `team` threads, and so are the
 * steps after it. */
void wi_super_tree_find(const weft_context *ctx, int team, wi_super_tree *tree, int64_t n,
                        const int64_t *parent, const int64_t *count, int64_t *first,
                        int64_t *super_of, int64_t *memory);

/* Merges children with parents where `relax` allows it (relaxed amalgamation). */
void wi_super_tree_merge(wi_super_tree *tree, const wi_relax *relax);

/* Orders siblings so that the stack of a multifrontal factorization needs the least memory; fills
 * peak. */
void wi_super_tree_sort(wi_super_tree *tree);

/* Numbers the supernodes that are alive in a postorder that keeps the order of siblings; size[s] is
 * how many are in the subtree of s. */
void wi_super_tree_number(wi_super_tree *tree, int64_t *number, int64_t *size);

/* What else is to be done with a plan, by one thread. */
typedef void wi_super_rows_beside(wi_symbolic *symbolic, int64_t *scratch);

/* Lists the rows of all supernodes, whose other arrays are complete, by `team` threads. The graph
 * is that of `symbolic`, super_of[k] the supernode of column k; 7 n of scratch. `beside` is called
 * meanwhile, with the scratch after that; it may be NULL, and leaves alone what is read here. */
void wi_super_rows(const weft_context *ctx, int team, const wi_pattern *graph,
                   wi_symbolic *symbolic, const int64_t *super_of, int64_t *scratch,
                   wi_super_rows_beside *beside);

#endif
