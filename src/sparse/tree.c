/* SPDX-License-Identifier: Apache-2.0 */
/* The elimination tree, its postorder, and the column counts that follow from it. */
#include "sparse/symbolic.h"

void wi_invert(int64_t n, const int64_t *perm, int64_t *inverse) {
    for (int64_t k = 0; k < n; k++)
        inverse[perm[k]] = k;
}

/* Row k of L has an entry in column j if a path in the tree leads from some neighbour of k up
 * through j to k. */
void wi_tree_and_counts(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse,
                        int64_t *parent, int64_t *count, int64_t *scratch) {
    int64_t *const seen = scratch, *const before = scratch + graph->n;
    for (int64_t k = 0; k < graph->n; k++) {
        const int64_t length = wi_neighbours_before(graph, perm, inverse, k, before);
        parent[k] = -1;
        count[k] = 1;
        seen[k] = k;
        for (int64_t e = 0; e < length; e++) {
            for (int64_t j = before[e]; seen[j] != k; j = parent[j]) {
                if (parent[j] < 0)
                    parent[j] = k;
                seen[j] = k;
                count[j]++;
            }
        }
    }
}

/* From a column whose path has been walked before, `ancestor` leads to the highest column of that
 * path at once. (Liu 1986.) */
void wi_tree(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse, int64_t *parent,
             int64_t *scratch) {
    int64_t *const ancestor = scratch, *const before = scratch + graph->n;
    for (int64_t k = 0; k < graph->n; k++) {
        const int64_t count = wi_neighbours_before(graph, perm, inverse, k, before);
        parent[k] = ancestor[k] = -1;
        for (int64_t e = 0; e < count; e++)
            wi_tree_edge(before[e], k, parent, ancestor);
    }
}

/* A subtree gets consecutive positions, its root the last; last[k] is the last one still free for
 * children of k. Parents come after children, so one sweep up finds the sizes, and one sweep down
 * gives out positions from the end. */
void wi_postorder(int64_t n, const int64_t *parent, int64_t *position, int64_t *size,
                  int64_t *scratch) {
    int64_t *const last = scratch;
    for (int64_t k = 0; k < n; k++)
        size[k] = 1;
    for (int64_t k = 0; k < n; k++) {
        if (parent[k] >= 0)
            size[parent[k]] += size[k];
    }
    int64_t free_root = n - 1;
    for (int64_t k = n - 1; k >= 0; k--) {
        int64_t *const slot = parent[k] >= 0 ? &last[parent[k]] : &free_root;
        position[k] = *slot;
        *slot -= size[k];
        last[k] = position[k] - 1;
    }
}

static void copy(int64_t n, const int64_t *from, int64_t *to) {
    for (int64_t k = 0; k < n; k++)
        to[k] = from[k];
}

static void permute(int64_t n, const int64_t *position, int64_t *values, int64_t *scratch) {
    for (int64_t k = 0; k < n; k++)
        scratch[position[k]] = values[k];
    copy(n, scratch, values);
}

void wi_renumber(int64_t n, const int64_t *position, int64_t *perm, int64_t *parent,
                 int64_t *scratch) {
    permute(n, position, perm, scratch);
    for (int64_t k = 0; k < n; k++)
        scratch[position[k]] = parent[k] < 0 ? -1 : position[parent[k]];
    copy(n, scratch, parent);
}

/* The root of the set that j is in (union-find); shortens the path to it. */
static int64_t find(int64_t *root, int64_t j) {
    int64_t top = j;
    while (root[top] != top)
        top = root[top];
    while (root[j] != top) {
        const int64_t up = root[j];
        root[j] = top;
        j = up;
    }
    return top;
}

void wi_tree_leaves(int64_t n, const int64_t *parent, int64_t *lowest, int64_t *count) {
    for (int64_t j = 0; j < n; j++)
        lowest[j] = j;
    for (int64_t j = 0; j < n; j++) {
        if (parent[j] >= 0 && lowest[j] < lowest[parent[j]])
            lowest[parent[j]] = lowest[j];
        count[j] = lowest[j] == j;
    }
}

/* The columns in which row i of L has entries form a subtree, whose leaves are among the entries of
 * A. A column j with a[i][j] != 0 is a leaf if no other such column is below it: in postorder, if
 * its whole subtree comes after the leaf before; if row i has no such column, i itself is the leaf.
 * Counting +1 at each leaf, -1 where the paths of neighbouring leaves meet and -1 at the parent of
 * i counts every column of the subtree once: the count of column j is the sum of `count` over its
 * subtree of the whole tree. (Gilbert, Ng and Peyton 1994.) */
void wi_column_counts(const wi_pattern *graph, const int64_t *perm, const int64_t *inverse,
                      const int64_t *parent, int64_t *count, int64_t *scratch) {
    const int64_t n = graph->n;
    int64_t *const lowest = scratch;       /* the first column of the subtree of j */
    int64_t *const leaf = scratch + n;     /* the latest leaf of row i, or -1 */
    int64_t *const root = scratch + 2 * n; /* of find: j, and its parent once j is done */
    int64_t *const after = scratch + 3 * n;
    for (int64_t j = 0; j < n; j++) {
        root[j] = j;
        leaf[j] = -1;
    }
    wi_tree_leaves(n, parent, lowest, count);
    for (int64_t j = 0; j < n; j++) {
        const int64_t length = wi_neighbours_after(graph, perm, inverse, j, after);
        for (int64_t e = 0; e < length; e++) {
            const int64_t i = after[e];
            if (leaf[i] >= lowest[j])
                continue;
            count[j]++;
            if (leaf[i] >= 0)
                count[find(root, leaf[i])]--;
            leaf[i] = j;
        }
        if (parent[j] >= 0) {
            count[parent[j]]--;
            root[j] = parent[j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        if (parent[j] >= 0)
            count[parent[j]] += count[j];
    }
}

weft_status wi_predict_cost(weft_context *ctx, const char *call, const wi_pattern *graph,
                            int64_t *perm, double *entries, double *flops) {
    const int64_t n = graph->n;
    const size_t bytes = 7 * (size_t)n * sizeof(int64_t);
    int64_t *const inverse = wi_host_alloc(bytes);
    if (!inverse)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, to count; free some", call,
                       bytes);
    int64_t *const parent = inverse + n, *const count = parent + n, *const scratch = count + n;
    int64_t *const position = count; /* until the columns are counted */
    wi_invert(n, perm, inverse);
    wi_tree(graph, perm, inverse, parent, scratch);
    wi_postorder(n, parent, position, scratch, scratch + n);
    wi_renumber(n, position, perm, parent, scratch);
    wi_invert(n, perm, inverse);
    wi_column_counts(graph, perm, inverse, parent, count, scratch);
    *entries = *flops = 0;
    for (int64_t k = 0; k < n; k++) {
        *entries += (double)count[k];
        *flops += (double)count[k] * (double)count[k];
    }
    wi_host_free(inverse);
    return WEFT_OK;
}
