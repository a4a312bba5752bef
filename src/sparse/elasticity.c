/* SPDX-License-Identifier: Apache-2.0 */
/* Linear elasticity with trilinear cubic elements, generated column by column. The coupling of two
 * nodes depends only on which corners of an element they are, so no assembly is needed. */
#include "core/smaller.h"
#include "sparse/generate.h"

enum {
    CORNERS = 8,
    DOFS = 3 /* displacements of each node */
};

/* stiffness[a][i][b][j]: force i at corner a caused by displacement j of corner b. Corner c is at
 * (c & 1, c >> 1 & 1, c >> 2). */
typedef struct element {
    double stiffness[CORNERS][DOFS][CORNERS][DOFS];
} element;

typedef struct cube {
    size_t n; /* elements along an edge */
    element e;
} cube;

/* The integral over [0, 1] of the product of two of the functions 1 - t (end 0) and t (end 1), or
 * of their derivatives if `derived`. */
static double product_on_line(int end_a, bool derived_a, int end_b, bool derived_b) {
    const double slope_a = end_a ? 1 : -1, slope_b = end_b ? 1 : -1;
    if (derived_a && derived_b)
        return slope_a * slope_b;
    if (derived_a || derived_b)
        return (derived_a ? slope_a : slope_b) / 2;
    return end_a == end_b ? 1.0 / 3 : 1.0 / 6;
}

/* The integral over the unit cube of (d/dx_i of a's shape function) (d/dx_j of b's): the shape
 * functions are products of functions on lines. */
static double product_of_slopes(int a, int i, int b, int j) {
    double product = 1;
    for (int d = 0; d < DOFS; d++)
        product *= product_on_line(a >> d & 1, d == i, b >> d & 1, d == j);
    return product;
}

/* The integral of lambda div u div v + 2 mu eps(u) : eps(v). */
static void integrate(element *e) {
    const double young = 1, poisson = 0.3;
    const double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
    const double mu = young / (2 * (1 + poisson));
    for (int a = 0; a < CORNERS; a++) {
        for (int b = 0; b < CORNERS; b++) {
            const double gradients = product_of_slopes(a, 0, b, 0) + product_of_slopes(a, 1, b, 1) +
                                     product_of_slopes(a, 2, b, 2);
            for (int i = 0; i < DOFS; i++) {
                for (int j = 0; j < DOFS; j++)
                    e->stiffness[a][i][b][j] = lambda * product_of_slopes(a, i, b, j) +
                                               mu * product_of_slopes(a, j, b, i) +
                                               (i == j ? mu * gradients : 0);
            }
        }
    }
}

/* A node. Free nodes have x from 1 to n; y and z run from 0. */
typedef struct node {
    size_t x, y, z;
} node;

static node node_of(const cube *c, size_t number) {
    const size_t line = number / c->n;
    return (node){number % c->n + 1, line % (c->n + 1), line / (c->n + 1)};
}

static size_t number_of(const cube *c, node p) {
    return p.x - 1 + c->n * (p.y + (c->n + 1) * p.z);
}

/* The elements along one axis that contain both of two neighbouring coordinates: first ... end - 1.
 */
static void common(const cube *c, size_t a, size_t b, size_t *first, size_t *end) {
    *first = wi_greater(wi_greater(a, b), 1) - 1;
    *end = wi_smaller(wi_smaller(a, b) + 1, c->n);
}

/* Adds up the contributions of all elements that contain both nodes: force i at p caused by
 * displacement j of q. */
static void couple(const cube *c, node p, node q, size_t j, double sum[DOFS]) {
    node first, end, e;
    common(c, p.x, q.x, &first.x, &end.x);
    common(c, p.y, q.y, &first.y, &end.y);
    common(c, p.z, q.z, &first.z, &end.z);
    sum[0] = sum[1] = sum[2] = 0;
    for (e.z = first.z; e.z < end.z; e.z++) {
        for (e.y = first.y; e.y < end.y; e.y++) {
            for (e.x = first.x; e.x < end.x; e.x++) {
                const size_t a = p.x - e.x + 2 * (p.y - e.y) + 4 * (p.z - e.z);
                const size_t b = q.x - e.x + 2 * (q.y - e.y) + 4 * (q.z - e.z);
                for (int i = 0; i < DOFS; i++)
                    sum[i] += c->e.stiffness[a][i][b][j];
            }
        }
    }
}

static size_t elastic_column(const void *user, size_t column, int64_t *row, double *value) {
    const cube *const c = user;
    const node q = node_of(c, column / DOFS);
    size_t count = 0;
    node p;
    for (p.z = q.z; p.z <= wi_smaller(q.z + 1, c->n); p.z++) {
        for (p.y = q.y ? q.y - 1 : 0; p.y <= wi_smaller(q.y + 1, c->n); p.y++) {
            for (p.x = wi_greater(q.x, 2) - 1; p.x <= wi_smaller(q.x + 1, c->n); p.x++) {
                const size_t at = DOFS * number_of(c, p);
                double sum[DOFS];
                if (at + DOFS <= column)
                    continue;
                couple(c, p, q, column % DOFS, sum);
                for (size_t i = at < column ? column - at : 0; i < DOFS; i++) {
                    row[count] = (int64_t)(at + i);
                    value[count++] = sum[i];
                }
            }
        }
    }
    return count;
}

weft_status wi_generate_elasticity3d(weft_context *ctx, const char *call, const wi_recipe *recipe,
                                     weft_sparse **matrix) {
    cube c = {.n = recipe->n};
    wi_made_columns columns = {.most = 14 * DOFS, .column = elastic_column, .user = &c};
    size_t n = recipe->n < SIZE_MAX / DOFS ? recipe->n : 0;
    const weft_status status = wi_generate_size(ctx, call, DOFS * n, n + 1, n + 1, &columns.n);
    if (status != WEFT_OK)
        return status;
    integrate(&c.e);
    return wi_generate_columns(ctx, call, &columns, matrix);
}
