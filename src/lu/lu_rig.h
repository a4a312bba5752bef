/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of lu share: a matrix as a call has it, the kinds of matrices, and checks in long
 * double that share no code with the library. */
#ifndef WEFT_LU_RIG_H
#define WEFT_LU_RIG_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/matrix_rig.h"
#include "lu/lu.h"
#include "lu/lu_kinds.h"

enum {
    MOST_OFFSET = 7,
    MOST_GAP = 5
};

/* A matrix where it lies. */
typedef struct matrix {
    weft_type type;
    bool by_rows;
    size_t rows, columns, ld, offset;
} matrix;

static inline size_t place_in(const matrix *x, size_t i, size_t j) {
    return x->by_rows ? i * x->ld + j : i + j * x->ld;
}

static inline size_t lines_of(const matrix *x) {
    return x->by_rows ? x->rows : x->columns;
}

static inline size_t length_of(const matrix *x) {
    return x->by_rows ? x->columns : x->rows;
}

static inline size_t bytes_of(const matrix *x) {
    const size_t lines = lines_of(x), length = length_of(x);
    return lines && length ? ((lines - 1) * x->ld + length) * test_size_of(x->type) : 0;
}

static inline void choose_layout(test_random *r, matrix *x) {
    x->ld = length_of(x) + (test_below(r, 2) ? test_below(r, MOST_GAP) : 0);
    x->offset = test_below(r, 2) ? test_below(r, MOST_OFFSET) : 0;
}

static inline long double *widened(const matrix *x, const unsigned char *bytes) {
    long double *const table = table_of(x->rows, x->columns);
    for (size_t i = 0; i < x->rows; i++)
        for (size_t j = 0; j < x->columns; j++)
            table[i * x->columns + j] = test_load(x->type, bytes, place_in(x, i, j)).f;
    return table;
}

/* Rounded; what lies between lines is a pattern. */
static inline void stored(const matrix *x, const long double *table, unsigned char *bytes) {
    memset(bytes, 0xff, bytes_of(x));
    for (size_t i = 0; i < x->rows; i++)
        for (size_t j = 0; j < x->columns; j++)
            test_store(x->type, bytes, place_in(x, i, j),
                       (test_value){.f = (double)table[i * x->columns + j]});
}

static inline void check_gaps(const matrix *x, const unsigned char *bytes, const char *what) {
    const size_t width = test_size_of(x->type);
    for (size_t line = 0; length_of(x) > 0 && line + 1 < lines_of(x); line++)
        for (size_t e = length_of(x) * width; e < x->ld * width; e++)
            if (bytes[line * x->ld * width + e] != 0xff)
                fail_msg("%s: a gap was written after line %zu", what, line);
}

/* ---- checks ---- */

/* Exchanges rows k and pivot[k], first to last. */
static inline void permute(size_t columns, size_t steps, const int64_t *pivot, long double *x) {
    for (size_t k = 0; k < steps; k++)
        for (size_t j = 0; j < columns; j++) {
            long double *const a = &x[k * columns + j];
            long double *const b = &x[(size_t)pivot[k] * columns + j];
            const long double old = *a;
            *a = *b;
            *b = old;
        }
}

/* Fails unless every pivot names a row from its own on. */
static inline void check_pivots(size_t m, size_t steps, const int64_t *pivot, const char *what) {
    for (size_t k = 0; k < steps; k++)
        if (pivot[k] < (int64_t)k || (size_t)pivot[k] >= m)
            fail_msg("%s: pivot %zu is %lld", what, k, (long long)pivot[k]);
}

/* Element (i, j) of L U, and the sum of the sizes of its products. */
typedef struct product {
    long double sum, size;
} product;

static inline product product_at(size_t n, const long double *f, size_t i, size_t j, size_t steps) {
    product p = {0, 0};
    for (size_t k = 0; k <= i && k <= j && k < steps; k++) {
        const long double y = (k == i ? 1 : f[i * n + k]) * f[k * n + j];
        p.sum += y;
        p.size += fabsl(y);
    }
    return p;
}

/* P A = L U, element by element within rounding and by LAPACK's ratio; a is changed. */
static inline void check_factors(weft_type type, size_t m, size_t n, long double *a,
                                 const long double *f, const int64_t *pivot, const char *what) {
    const size_t steps = wi_smaller(m, n);
    const long double u = test_roundoff(type), norm = norm_of(m, n, a);
    long double *const rest = table_of(m, n);
    check_pivots(m, steps, pivot, what);
    permute(n, steps, pivot, a);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const product p = product_at(n, f, i, j, steps);
            const long double terms = (long double)wi_smaller(i, j) + 4;
            const long double within = 2 * terms * (u * p.size + test_half_tiny(type));
            rest[i * n + j] = p.sum - a[i * n + j];
            if (!(fabsl(rest[i * n + j]) <= within))
                fail_msg("%s: element (%zu, %zu) of L U is %Lg, not %Lg", what, i, j, p.sum,
                         a[i * n + j]);
            if (i > j && !(fabsl(f[i * n + j]) <= 1 + 4 * u))
                fail_msg("%s: element (%zu, %zu) of L is %Lg", what, i, j, f[i * n + j]);
        }
    if (norm > 0 && !(norm_of(m, n, rest) <= RATIO * norm * (long double)n * 2 * u))
        fail_msg("%s: the ratio is %Lg", what,
                 norm_of(m, n, rest) / (norm * (long double)n * 2 * u));
    free(rest);
}

/* OpenBLAS has its own mind about NaN, infinity and what is subnormal. */
static inline bool is_openblas(const wi_row *row) {
    return row && strcmp(row->name, "openblas") == 0;
}

#endif
