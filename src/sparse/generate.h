/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric positive definite test problems of any size. */
#ifndef WI_GENERATE_H
#define WI_GENERATE_H

#include "sparse/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a problem is made from. */
typedef struct wi_recipe {
    size_t n;       /* points along an edge; of `random`, rows */
    uint64_t seed;  /* of `random` */
    size_t per_row; /* of `random`, entries in a row on average, both halves counted */
} wi_recipe;

typedef struct wi_generator {
    const char *name, *what;
    bool random; /* takes a seed and a count of entries in a row */
    weft_status (*make)(weft_context *ctx, const char *call, const wi_recipe *recipe,
                        weft_sparse **matrix);
} wi_generator;

extern const wi_generator wi_generators[];
extern const size_t wi_generator_count;

/* The generator of this name; NULL if there is none. */
const wi_generator *wi_find_generator(const char *name);

/* A matrix given by its columns. `column` writes the entries of column j on and below the diagonal,
 * that of the diagonal first, rows ascending, and returns how many; at most `most`. */
typedef struct wi_columns {
    size_t n, most;
    size_t (*column)(const void *user, size_t j, int64_t *row, double *value);
    const void *user;
} wi_columns;

weft_status wi_generate_columns(weft_context *ctx, const char *call, const wi_columns *columns,
                                weft_sparse **matrix);

/* WEFT_EARG unless n = a b c unknowns are from 1 to what memory can index. */
weft_status wi_generate_size(weft_context *ctx, const char *call, size_t a, size_t b, size_t c,
                             size_t *n);

/* Linear elasticity in a cube of n^3 cubic elements of first order, three displacements at each
 * node, the face x = 0 held fast: 3 n (n + 1)^2 unknowns. Young's modulus 1, Poisson's ratio 0.3.
 */
weft_status wi_generate_elasticity3d(weft_context *ctx, const char *call, const wi_recipe *recipe,
                                     weft_sparse **matrix);

#ifdef __cplusplus
}
#endif
#endif
