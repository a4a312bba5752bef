/* SPDX-License-Identifier: Apache-2.0 */
/* Test problems: Laplacians of grids, and random matrices that are diagonally dominant. */
#include "sparse/generate.h"

#include <math.h>
#include <string.h>

#include "sparse/matrix.h"

const wi_generator *wi_find_generator(const char *name) {
    for (size_t k = 0; k < wi_generator_count; k++) {
        if (strcmp(wi_generators[k].name, name) == 0)
            return &wi_generators[k];
    }
    return NULL;
}

weft_status wi_generate_size(weft_context *ctx, const char *call, size_t a, size_t b, size_t c,
                             size_t *n) {
    if (a > 0 && !__builtin_mul_overflow(a, b, n) && !__builtin_mul_overflow(*n, c, n) &&
        *n <= wi_most_rows)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: a problem of %zu x %zu x %zu unknowns is empty or beyond any memory; "
                   "choose another size",
                   call, a, b, c);
}

/* Counts the entries of each column, allocates them, and fills them. */
static weft_status fill(weft_context *ctx, const char *call, const wi_made_columns *columns,
                        weft_sparse *m, int64_t *row, double *value) {
    for (size_t j = 0; j < columns->n; j++)
        m->start[j + 1] = m->start[j] + (int64_t)columns->column(columns->user, j, row, value);
    const weft_status status = wi_sparse_make_room(ctx, call, m);
    if (status != WEFT_OK)
        return status;
    for (size_t j = 0; j < columns->n; j++) {
        const size_t count = columns->column(columns->user, j, row, value);
        memcpy(m->row + m->start[j], row, count * sizeof *row);
        memcpy(m->value + m->start[j], value, count * sizeof *value);
    }
    wi_sparse_index_rows(m);
    return WEFT_OK;
}

weft_status wi_generate_columns(weft_context *ctx, const char *call, const wi_made_columns *columns,
                                weft_sparse **matrix) {
    weft_sparse *m;
    int64_t *const row = wi_sparse_take(ctx, call, columns->most);
    double *const value = wi_sparse_take(ctx, call, columns->most);
    *matrix = NULL;
    weft_status status =
        wi_sparse_begin(ctx, call, WEFT_SYMMETRIC_LOWER, columns->n, columns->n, &m);
    if (!row || !value)
        status = WEFT_ENOMEM;
    if (status == WEFT_OK)
        status = fill(ctx, call, columns, m, row, value);
    wi_host_free(row);
    wi_host_free(value);
    if (status == WEFT_OK)
        *matrix = m;
    else
        weft_sparse_destroy(m);
    return status;
}

/* ---- Laplacians ---- */

/* A grid of n^dims points; the first coordinate varies fastest. */
typedef struct grid {
    size_t n, dims;
} grid;

/* -1 for each neighbour; on the diagonal the number of neighbours of an inner point, plus 1e-3. */
static size_t laplace_column(const void *user, size_t j, int64_t *row, double *value) {
    const grid *const g = user;
    size_t count = 1, step = 1, rest = j;
    row[0] = (int64_t)j;
    value[0] = 2 * (double)g->dims + 1e-3;
    for (size_t d = 0; d < g->dims; d++) {
        if (rest % g->n + 1 < g->n) {
            row[count] = (int64_t)(j + step);
            value[count++] = -1;
        }
        rest /= g->n;
        step *= g->n;
    }
    return count;
}

static weft_status make_laplace(weft_context *ctx, const char *call, size_t n, size_t dims,
                                weft_sparse **matrix) {
    const grid g = {n, dims};
    wi_made_columns columns = {.most = dims + 1, .column = laplace_column, .user = &g};
    const weft_status status = wi_generate_size(ctx, call, n, n, dims == 3 ? n : 1, &columns.n);
    return status == WEFT_OK ? wi_generate_columns(ctx, call, &columns, matrix) : status;
}

static weft_status make_laplace2d(weft_context *ctx, const char *call, const wi_recipe *recipe,
                                  weft_sparse **matrix) {
    return make_laplace(ctx, call, recipe->n, 2, matrix);
}

static weft_status make_laplace3d(weft_context *ctx, const char *call, const wi_recipe *recipe,
                                  weft_sparse **matrix) {
    return make_laplace(ctx, call, recipe->n, 3, matrix);
}

/* ---- random matrices ---- */

/* The SplitMix64 generator (Steele, Lea and Flood). */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* Inserts `index` in the ascending list of `count` elements unless it is there; returns the new
 * count. */
static size_t insert(int64_t *list, size_t count, int64_t index) {
    size_t k = count;
    while (k > 0 && list[k - 1] > index)
        k--;
    if (k > 0 && list[k - 1] == index)
        return count;
    memmove(list + k + 1, list + k, (count - k) * sizeof *list);
    list[k] = index;
    return count + 1;
}

/* Rows drawn below the diagonal, with values in [-1, 1). */
static size_t random_column(const void *user, size_t j, int64_t *row, double *value) {
    const wi_recipe *const recipe = user;
    const size_t below = recipe->n - 1 - j, wanted = recipe->per_row / 2;
    uint64_t state = recipe->seed;
    state = draw(&state) + j;
    size_t count = 1;
    row[0] = (int64_t)j;
    value[0] = 0;
    for (size_t k = 0; k < wanted && below > 0; k++) {
        const int64_t index = (int64_t)(j + 1 + draw(&state) % below);
        count += insert(row + 1, count - 1, index) - (count - 1);
    }
    for (size_t k = 1; k < count; k++)
        value[k] = (double)(int64_t)draw(&state) * 0x1p-63;
    return count;
}

/* a[i][i] = 1 + the sum of |a[i][j]| over all j != i: by Gershgorin's theorem all eigenvalues are
 * at least 1. */
static void dominate(weft_sparse *m) {
    for (size_t j = 0; j < m->cols; j++)
        m->value[m->start[j]] = 1;
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = m->start[j] + 1; k < m->start[j + 1]; k++) {
            m->value[m->start[j]] += fabs(m->value[k]);
            m->value[m->start[m->row[k]]] += fabs(m->value[k]);
        }
    }
}

static weft_status make_random(weft_context *ctx, const char *call, const wi_recipe *recipe,
                               weft_sparse **matrix) {
    wi_made_columns columns = {
        .most = recipe->per_row / 2 + 2, .column = random_column, .user = recipe};
    weft_status status = wi_generate_size(ctx, call, recipe->n, 1, 1, &columns.n);
    if (status == WEFT_OK && recipe->per_row > recipe->n)
        status = wi_fail(ctx, WEFT_EARG,
                         "%s: a row of %zu cannot hold %zu entries; ask for fewer in a row", call,
                         recipe->n, recipe->per_row);
    if (status == WEFT_OK)
        status = wi_generate_columns(ctx, call, &columns, matrix);
    if (status == WEFT_OK)
        dominate(*matrix);
    return status;
}

const wi_generator wi_generators[] = {
    {"laplace2d", "5-point Laplacian of an N x N grid, plus 1e-3 I", false, make_laplace2d},
    {"laplace3d", "7-point Laplacian of an N x N x N grid, plus 1e-3 I", false, make_laplace3d},
    {"elasticity3d", "a cube of N x N x N elastic elements, one face held fast", false,
     wi_generate_elasticity3d},
    {"random", "N rows with entries at random, diagonally dominant", true, make_random},
};

const size_t wi_generator_count = sizeof wi_generators / sizeof *wi_generators;
