/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_order's climb: orderings of the 5-point mesh of about n vertices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/climb.h"
#include "sparse/order.h"
#include "sparse/symbolic.h"

/* The mesh's graph, and room for the answer and its check. */
typedef struct mesh {
    wi_pattern graph;
    int64_t *perm, *seen;
    int64_t reverse[]; /* a permutation for `given` */
} mesh;

static void fill_mesh(int64_t side, int64_t *start, int64_t *row) {
    int64_t to = 0;
    for (int64_t v = 0; v < side * side; v++) {
        const int64_t x = v % side, y = v / side;
        start[v] = to;
        if (y > 0)
            row[to++] = v - side;
        if (x > 0)
            row[to++] = v - 1;
        if (x < side - 1)
            row[to++] = v + 1;
        if (y < side - 1)
            row[to++] = v + side;
    }
    start[side * side] = to;
}

static weft_status make(wi_case *c) {
    const int64_t side = (int64_t)fmax(1, floor(sqrt((double)c->n))), n = side * side;
    const size_t words = (size_t)(8 * n + 1);
    mesh *const m = wi_host_alloc(sizeof *m + words * sizeof(int64_t));
    if (!m)
        return wi_fail(c->ctx, WEFT_ENOMEM, "no memory for a mesh of %lld vertices", (long long)n);
    m->perm = m->reverse + n;
    m->seen = m->perm + n;
    int64_t *const start = m->seen + n, *const row = start + n + 1;
    fill_mesh(side, start, row);
    for (int64_t k = 0; k < n; k++)
        m->reverse[k] = n - 1 - k;
    m->graph = (wi_pattern){n, start, row};
    c->expected = m;
    return WEFT_OK;
}

static wi_order_args args_of(const wi_case *c) {
    mesh *const m = c->expected;
    return (wi_order_args){.call = "climb",
                           .graph = &m->graph,
                           .perm = m->perm,
                           .given = m->reverse,
                           .seconds_budget = 60};
}

static weft_status call(wi_case *c) {
    const wi_order_args args = args_of(c);
    return wi_run(c->ctx, &wi_sparse_order_ladder, "climb", (size_t)args.graph->n, &args);
}

static bool check(wi_case *c, char *why, size_t bytes) {
    mesh *const m = c->expected;
    memset(m->perm, 0xA5, (size_t)m->graph.n * sizeof *m->perm);
    if (call(c) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    for (int64_t k = 0; k < m->graph.n; k++)
        m->seen[k] = 0;
    for (int64_t k = 0; k < m->graph.n; k++) {
        const int64_t v = m->perm[k];
        if (v < 0 || v >= m->graph.n || m->seen[v]++) {
            snprintf(why, bytes, "no permutation: vertex %lld at %lld", (long long)v, (long long)k);
            return false;
        }
    }
    return true;
}

/* The graph is read once, the ordering written once. */
static double bytes_moved(const wi_case *c) {
    const mesh *const m = c->expected;
    return (double)sizeof(int64_t) * (double)(m->graph.start[m->graph.n] + 2 * m->graph.n);
}

static void drop(wi_case *c) {
    wi_host_free(c->expected);
    c->expected = NULL;
}

const wi_climb wi_sparse_order_climb = {
    .ladder = &wi_sparse_order_ladder,
    .example = "ordering of a 5-point mesh",
    .type = WEFT_I64,
    .roof = WI_ROOF_COPY,
    .make = make,
    .call = call,
    .check = check,
    .bytes = bytes_moved,
    .drop = drop,
};
