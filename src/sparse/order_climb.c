/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_order's climb: orderings of the 5-point mesh of about n vertices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "climb/climb.h"
#include "sparse/generate.h"
#include "sparse/order.h"
#include "sparse/symbolic.h"

/* The mesh's graph, and arrays for the ordering and its check. */
typedef struct mesh {
    weft_context *ctx;
    size_t n; /* the number of vertices asked for; the mesh has about as many */
    wi_pattern graph;
    int64_t *perm, *seen;
    int64_t *reversed; /* an ordering for `given` */
} mesh;

static const char call_name[] = "climb sparse_order";

static weft_status fill_mesh(mesh *m) {
    const wi_recipe recipe = {.n = (size_t)fmax(1, floor(sqrt((double)m->n)))};
    weft_sparse *matrix;
    weft_status status = wi_find_generator("laplace2d")->make(m->ctx, call_name, &recipe, &matrix);
    if (status != WEFT_OK)
        return status;
    status = wi_pattern_build(m->ctx, call_name, matrix, &m->graph);
    weft_sparse_destroy(matrix);
    if (status != WEFT_OK)
        return status;
    const int64_t n = m->graph.n;
    m->perm = wi_host_alloc(3 * (size_t)n * sizeof(int64_t));
    if (!m->perm)
        return wi_fail(m->ctx, WEFT_ENOMEM, "%s: no memory for a mesh of %lld vertices", call_name,
                       (long long)n);
    m->seen = m->perm + n;
    m->reversed = m->seen + n;
    for (int64_t k = 0; k < n; k++)
        m->reversed[k] = n - 1 - k;
    return WEFT_OK;
}

static void drop(void *problem) {
    mesh *const m = problem;
    wi_pattern_free(&m->graph);
    wi_host_free(m->perm);
    wi_host_free(m);
}

static weft_status make(const wi_setup *setup, void **problem) {
    mesh *const m = wi_host_alloc(sizeof *m);
    if (!m)
        return wi_fail(setup->ctx, WEFT_ENOMEM, "%s: no memory for a mesh", call_name);
    *m = (mesh){.ctx = setup->ctx, .n = setup->n};
    const weft_status status = fill_mesh(m);
    if (status != WEFT_OK)
        drop(m);
    else
        *problem = m;
    return status;
}

static weft_status call(void *problem) {
    const mesh *const m = problem;
    const wi_order_args args = {.call = call_name,
                                .graph = &m->graph,
                                .perm = m->perm,
                                .given = m->reversed,
                                .seconds_budget = 60};
    return wi_run(m->ctx, &wi_sparse_order_ladder, call_name, WI_NO_TYPE, &args);
}

static bool check(void *problem, char *why, size_t bytes) {
    mesh *const m = problem;
    memset(m->perm, 0xA5, (size_t)m->graph.n * sizeof *m->perm);
    if (call(problem) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(m->ctx));
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
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const mesh *const m = problem;
    const int64_t words = m->graph.start[m->graph.n] + 2 * m->graph.n;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(m->n),
                        .bytes = (double)sizeof(int64_t) * (double)words,
                        .roof = WI_ROOF_READ};
}

static weft_status find_merits(void *problem, double merit[WI_MERITS]) {
    mesh *const m = problem;
    return wi_predict_cost(m->ctx, call_name, &m->graph, m->perm, &merit[0], &merit[1]);
}

/* Every ordering is correct; what counts is how much work and memory it saves in the factorization.
 */
static const wi_merits merits = {
    .of = {{"fill", "nnz_l"}, {"flops", "flops"}},
    .meaning = "fill: the entries of L; flops: what factoring in this order takes",
    .find = find_merits,
};

const wi_climb wi_sparse_order_climb = {
    .ladder = &wi_sparse_order_ladder,
    .example = "ordering of a 5-point mesh of about n points",
    .type = WEFT_I64,
    .types = WI_TYPE(WEFT_I64),
    .merits = &merits,
    .usual_n = 1 << 14,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = drop,
};
