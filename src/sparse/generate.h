/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric positive definite test problems of any size. */
#ifndef WI_GENERATE_H
#define WI_GENERATE_H

#include "sparse/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters of a problem. */
typedef struct wi_recipe {
    size_t n;       /* points along an edge; for `random`, rows */
    uint64_t seed;  /* for `random` */
    size_t per_row; /* for `random`: entries in a row on average, both halves counted */
} wi_recipe;

typedef struct wi_generator {
    const char *name, *what;
    bool random; /* uses seed and per_row */
    weft_status (*make)(weft_context *ctx, const char *call, const wi_recipe *recipe,
                        weft_sparse **matrix);
} wi_generator;

extern const wi_generator wi_generators[];
extern const size_t wi_generator_count;

/* The generator of this name; NULL if there is none. */
const wi_generator *wi_find_generator(const char *name);

/* A matrix given by a function. `column` writes the entries of column j on and below the diagonal,
 * the diagonal first, rows ascending, and returns how many; at most `most`. */
typedef struct wi_made_columns {
    size_t n, most;
    size_t (*column)(const void *user, size_t j, int64_t *row, double *value);
    const void *user;
} wi_made_columns;

weft_status wi_generate_columns(weft_context *ctx, const char *call, const wi_made_columns *columns,
                                weft_sparse **matrix);

/* WEFT_EARG if the number of unknowns n = a b c is 0 or more than memory can index. */
weft_status wi_generate_size(weft_context *ctx, const char *call, size_t a, size_t b, size_t c,
                             size_t *n);

/* Linear elasticity in a cube of n^3 trilinear elements, three displacements for each node, with
 * the face x = 0 fixed: 3 n (n + 1)^2 unknowns. Young's modulus 1, Poisson's ratio 0.3. */
weft_status wi_generate_elasticity3d(weft_context *ctx, const char *call, const wi_recipe *recipe,
                                     weft_sparse **matrix);

#ifdef __cplusplus
}
#endif
#endif
