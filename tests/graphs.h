/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs for the tests of the sparse slice, as dense tables of edges, and elimination on them
 * by its definition. */
#ifndef WEFT_TEST_GRAPHS_H
#define WEFT_TEST_GRAPHS_H

#include <stdlib.h>
#include <string.h>

#include "sparse/sparse.h"
#include "testing.h"

enum {
    TEST_MOST_VERTICES = 48,
    TEST_GRAPH_KINDS = 9
};

typedef struct test_graph {
    int64_t n;
    bool edge[TEST_MOST_VERTICES][TEST_MOST_VERTICES];
    int64_t start[TEST_MOST_VERTICES + 1], row[TEST_MOST_VERTICES * TEST_MOST_VERTICES];
    wi_pattern pattern;
} test_graph;

static inline void test_join(test_graph *g, uint64_t a, uint64_t b) {
    g->edge[a][b] = g->edge[b][a] = a != b;
}

/* Lists the edges. */
static inline void test_graph_finish(test_graph *g) {
    int64_t to = 0;
    for (int64_t i = 0; i < g->n; i++) {
        g->start[i] = to;
        for (int64_t j = 0; j < g->n; j++) {
            if (g->edge[i][j])
                g->row[to++] = j;
        }
    }
    g->start[g->n] = to;
    g->pattern = (wi_pattern){g->n, g->start, g->row};
}

/* A random graph of up to `most` vertices: no edges, path, star, complete, sparse, dense, two
 * parts, mesh or tree. */
static inline void test_graph_random(test_random *r, int64_t most, test_graph *g) {
    memset(g, 0, sizeof *g);
    const uint64_t n = test_below(r, (uint64_t)most + 1), kind = test_below(r, TEST_GRAPH_KINDS);
    const uint64_t side = 1 + test_below(r, 7), half = n / 2;
    const uint64_t edges = n < 2 ? 0 : kind == 4 ? n + n / 2 : kind == 5 ? n * n / 3 : n;
    g->n = (int64_t)n;
    for (uint64_t i = 1; i < n; i++) {
        if (kind == 1)
            test_join(g, i - 1, i);
        if (kind == 2)
            test_join(g, n / 3, i == n / 3 ? 0 : i);
        for (uint64_t j = 0; kind == 3 && j < i; j++)
            test_join(g, i, j);
        if (kind == 7 && i % side != 0)
            test_join(g, i, i - 1);
        if (kind == 7 && i >= side)
            test_join(g, i, i - side);
        if (kind == 8)
            test_join(g, i, test_below(r, i));
    }
    for (uint64_t k = 0; k < edges && (kind == 4 || kind == 5); k++)
        test_join(g, test_below(r, n), test_below(r, n));
    for (uint64_t k = 0; kind == 6 && half > 0 && k < edges; k++) {
        const uint64_t first = test_below(r, 2) ? half : 0;
        test_join(g, first + test_below(r, half), first + test_below(r, half));
    }
    test_graph_finish(g);
}

static inline void test_shuffle(test_random *r, int64_t n, int64_t *perm) {
    for (int64_t k = 0; k < n; k++)
        perm[k] = k;
    for (int64_t k = n - 1; k > 0; k--) {
        const uint64_t other = test_below(r, (uint64_t)k + 1);
        const int64_t kept = perm[k];
        perm[k] = perm[other];
        perm[other] = kept;
    }
}

/* The pattern of L by its definition: eliminating a column connects all the rows below it. */
typedef struct test_factor {
    bool l[TEST_MOST_VERTICES][TEST_MOST_VERTICES]; /* l[i][k], i >= k */
    int64_t parent[TEST_MOST_VERTICES], count[TEST_MOST_VERTICES];
    int64_t nnz;
    double flops;
} test_factor;

static inline void test_eliminate(const test_graph *g, const int64_t *perm, test_factor *f) {
    const int64_t n = g->n;
    memset(f, 0, sizeof *f);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k <= i; k++)
            f->l[i][k] = i == k || g->edge[perm[i]][perm[k]];
    }
    for (int64_t k = 0; k < n; k++) {
        f->parent[k] = -1;
        for (int64_t i = n - 1; i >= k; i--) {
            if (!f->l[i][k])
                continue;
            f->count[k]++;
            if (i > k)
                f->parent[k] = i;
            for (int64_t j = k + 1; j < i; j++)
                f->l[i][j] |= f->l[j][k];
        }
        f->nnz += f->count[k];
        f->flops += (double)f->count[k] * (double)f->count[k];
    }
}

#endif
