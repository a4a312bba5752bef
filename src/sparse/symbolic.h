/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic analysis: from a graph and an ordering to all facts about L that do not need values. */
#ifndef WI_SPARSE_SYMBOLIC_H
#define WI_SPARSE_SYMBOLIC_H

#include "sparse/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph of a symmetric matrix; `start` and `row` are in one block, freed by wi_pattern_free. */
weft_status wi_pattern_build(weft_context *ctx, const char *call, const weft_sparse *matrix,
                             wi_pattern *graph);
/* The same graph with vertex perm[k] as vertex k; lists keep their order. `memory` is for `start`
 * and `row`, or NULL: then they are to be freed. */
weft_status wi_pattern_renumber(weft_context *ctx, const char *call, const wi_pattern *graph,
                                const int64_t *perm, const int64_t *inverse, int64_t *memory,
                                wi_pattern *out);
/* The bytes of `start` and `row` for n vertices and so many entries. */
size_t wi_pattern_bytes(int64_t n, int64_t entries);
void wi_pattern_free(wi_pattern *graph);

/* ---- trees: tree.c. These functions do not allocate; `scratch` must hold as many int64_t as each
 * says. ---- */

void wi_invert(int64_t n, const int64_t *perm, int64_t *inverse);

/* Lists those neighbours of column k of the permuted matrix that come before it (or after it);
 * returns how many. Writes one entry more than it lists: which neighbours come first is
 * unpredictable, so writing all without branches is faster than skipping some. */
static inline int64_t wi_neighbours_before(const wi_pattern *graph, const int64_t *perm,
                                           const int64_t *inverse, int64_t k, int64_t *list) {
    const int64_t *const row = graph->row, end = graph->start[perm[k] + 1];
    int64_t count = 0;
    for (int64_t e = graph->start[perm[k]]; e < end; e++) {
        list[count] = inverse[row[e]];
        count += list[count] < k;
    }
    return count;
}

static inline int64_t wi_neighbours_after(const wi_pattern *graph, const int64_t *perm,
                                          const int64_t *inverse, int64_t k, int64_t *list) {
    const int64_t *const row = graph->row, end = graph->start[perm[k] + 1];
    int64_t count = 0;
    for (int64_t e = graph->start[perm[k]]; e < end; e++) {
        list[count] = inverse[row[e]];
        count += list[count] > k;
    }
    return count;
}

/* The elimination tree of the permuted matrix: parent[k] is the first row below the diagonal of
 * column k of L, or -1. 2 n of scratch. */
void wi_tree(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse, int64_t *parent,
             int64_t *scratch);
/* The same by `team` threads, and what wi_postorder finds of it; 10 n + 2 (team + 1) of scratch. */
void wi_tree_shared(const weft_context *ctx, int team, const wi_pattern *graph, const int64_t *perm,
                    const int64_t *inverse, int64_t *parent, int64_t *position, int64_t *size,
                    int64_t *scratch);

/* Walks up from j, a neighbour of k, and makes k the parent of the root there; nothing if j is k or
 * comes after it. `ancestor` shortens paths: it leads from a column to one above, -1 from a root.
 */
static inline void wi_tree_edge(int64_t j, int64_t k, int64_t *parent, int64_t *ancestor) {
    while (j >= 0 && j < k) {
        const int64_t up = ancestor[j];
        ancestor[j] = k;
        if (up < 0)
            parent[j] = k;
        j = up;
    }
}

/* The tree and the number of entries in each column of L, the diagonal included. The time is
 * proportional to the entries of L: the fastest way if L has few more entries than A. 2 n of
 * scratch. */
void wi_tree_and_counts(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse,
                        int64_t *parent, int64_t *count, int64_t *scratch);

/* The position of each vertex when subtrees are numbered one after the other, the root last;
 * children keep their order. size[k] becomes the number of columns in the subtree of k. n of
 * scratch. */
void wi_postorder(int64_t n, const int64_t *parent, int64_t *position, int64_t *size,
                  int64_t *scratch);

/* Renumbers: column k becomes column position[k]. n of scratch. */
void wi_renumber(int64_t n, const int64_t *position, int64_t *perm, int64_t *parent,
                 int64_t *scratch);

/* ---- the same by `team` threads: renumber.c ---- */

/* to[k] becomes from[k], or k. */
void wi_copy_shared(const weft_context *ctx, int team, int64_t n, const int64_t *from, int64_t *to);
void wi_identity_shared(const weft_context *ctx, int team, int64_t n, int64_t *to);
void wi_invert_shared(const weft_context *ctx, int team, int64_t n, const int64_t *perm,
                      int64_t *inverse);
/* perm[k] becomes from[perm[k]], and `inverse` the inverse of that. */
void wi_compose_shared(const weft_context *ctx, int team, int64_t n, const int64_t *from,
                       int64_t *perm, int64_t *inverse);
/* wi_renumber of a plan's columns, of their counts if there are any, and the inverse. 3 n of
 * scratch. */
void wi_renumber_shared(const weft_context *ctx, int team, wi_symbolic *symbolic, bool counted,
                        const int64_t *position, int64_t *scratch);

/* The number of entries in each column of L, the diagonal included. The time is nearly proportional
 * to the entries of A; the tree must be postordered. 4 n of scratch. */
void wi_column_counts(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse,
                      const int64_t *parent, int64_t *count, int64_t *scratch);
/* The same by `team` threads. On entry, count[k] is the number of columns in the subtree of k; 4 n
 * + team + 1 of scratch. */
void wi_column_counts_shared(const weft_context *ctx, int team, const wi_pattern *graph,
                             const int64_t *perm, const int64_t *inverse, const int64_t *parent,
                             int64_t *count, int64_t *scratch);
/* lowest[j] = the first column of the subtree of j; count[j] = 1 for a leaf of the tree, else 0. */
void wi_tree_leaves(int64_t n, const int64_t *parent, int64_t *lowest, int64_t *count);

/* The entries of L and the flops of a factorization with the ordering `perm`, which is changed to a
 * postorder. WEFT_ENOMEM or WEFT_OK. */
weft_status wi_predict_cost(weft_context *ctx, const char *call, const wi_pattern *graph,
                            int64_t *perm, double *entries, double *flops);

/* ---- supernodes ---- */

/* When to merge a supernode with its parent: if no padding arises, or if at most the fraction
 * zeros[k] of what is stored is padding, where k is the first with columns[k] >= the columns of
 * both together. */
enum {
    WI_RELAX_STEPS = 4
};
typedef struct wi_relax {
    int64_t columns[WI_RELAX_STEPS];
    double zeros[WI_RELAX_STEPS];
} wi_relax;
extern const wi_relax wi_relax_default;

/* Fills `symbolic` for any ordering `perm`; symbolic->perm is an ordering with as much fill.
 * `flops` is an upper bound on the flops of L, or INFINITY if none is known. Works in `spare` if
 * that is large enough; it may be NULL. */
weft_status wi_symbolic_build(weft_context *ctx, const char *call, const wi_pattern *graph,
                              const int64_t *perm, double flops, const wi_relax *relax,
                              struct wi_spare *spare, wi_symbolic *symbolic);
void wi_symbolic_free(wi_symbolic *symbolic);

/* The steps of wi_symbolic_build: two that allocate arrays, of columns and of supernodes, and one
 * that computes the totals from what they hold (max(n, supernodes) of scratch). wi_symbolic_free
 * frees all. */
weft_status wi_symbolic_take_columns(weft_context *ctx, const char *call, int64_t n,
                                     wi_symbolic *symbolic);
weft_status wi_symbolic_take_supernodes(weft_context *ctx, const char *call, int64_t supernodes,
                                        int64_t rows, wi_symbolic *symbolic);
void wi_symbolic_sum_up(wi_symbolic *symbolic, int64_t *scratch);

/* Triangles and wide panels are stored in blocks of WI_BLOCK_COLUMNS columns, each from its first
 * row on the diagonal down: little more than half of a square. Block b of a matrix of `rows` rows
 * begins here, and has rows - b * WI_BLOCK_COLUMNS rows: */
enum {
    WI_BLOCK_COLUMNS = 256
};
static inline int64_t wi_block_at(int64_t rows, int64_t b) {
    return b * WI_BLOCK_COLUMNS * rows - b * (b - 1) / 2 * WI_BLOCK_COLUMNS * WI_BLOCK_COLUMNS;
}

/* Where column j of a matrix stored in such blocks is: element i, on or below the diagonal, comes i
 * numbers later. */
static inline int64_t wi_block_column_at(int64_t rows, int64_t j) {
    const int64_t b = j / WI_BLOCK_COLUMNS, first = b * WI_BLOCK_COLUMNS;
    return wi_block_at(rows, b) + (j - first) * (rows - first) - first;
}

/* Numbers that the first `columns` columns take. */
static inline int64_t wi_block_entries(int64_t rows, int64_t columns) {
    const int64_t whole = columns / WI_BLOCK_COLUMNS, first = whole * WI_BLOCK_COLUMNS;
    return wi_block_at(rows, whole) + (columns - first) * (rows - first);
}

/* The same for the update that a supernode leaves for its parent, the square below its columns. */
static inline int64_t wi_update_entries(int64_t height, int64_t columns) {
    return wi_block_entries(height - columns, height - columns);
}

static inline int64_t wi_super_columns(const wi_symbolic *symbolic, int64_t s) {
    return symbolic->first[s + 1] - symbolic->first[s];
}

static inline int64_t wi_super_height(const wi_symbolic *symbolic, int64_t s) {
    return symbolic->rows_at[s + 1] - symbolic->rows_at[s];
}

/* The children of s are the roots of the subtrees whose numbers come before s: wi_last_child(s),
 * the one before it, and so on; -1 after the first. */
static inline int64_t wi_last_child(const wi_symbolic *symbolic, int64_t s) {
    return symbolic->size[s] > 1 ? s - 1 : -1;
}

static inline int64_t wi_child_before(const wi_symbolic *symbolic, int64_t s, int64_t child) {
    const int64_t before = child - symbolic->size[child];
    return before > s - symbolic->size[s] ? before : -1;
}

/* The work of supernode s without that of its children. */
static inline double wi_super_work(const wi_symbolic *symbolic, int64_t s) {
    double work = symbolic->work[s];
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        work -= symbolic->work[c];
    return work;
}

/* The work of all supernodes. */
static inline double wi_all_work(const wi_symbolic *symbolic) {
    double work = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++)
        work += symbolic->super_parent[s] < 0 ? symbolic->work[s] : 0;
    return work;
}

#ifdef __cplusplus
}
#endif
#endif
