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

enum {
    MOST_OFFSET = 7,
    MOST_GAP = 5,
    RATIO = 30 /* LAPACK's testers pass what is below */
};

/* Of elements, or of how they are found. The first ones are those of LAPACK's testers. */
typedef enum kind {
    DIAGONAL,
    UPPER,
    LOWER,
    RANDOM,
    FIRST_COLUMN_ZERO,
    LAST_COLUMN_ZERO,
    LAST_COLUMNS_ZERO,
    BADLY_CONDITIONED, /* its singular values fall to a tenth of 1 / roundoff */
    NEARLY_SINGULAR,   /* ... to roundoff */
    NEAR_UNDERFLOW,
    NEAR_OVERFLOW,
    KINDS
} kind;

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

/* Elements by rows, without gaps; the caller frees them. */
static inline long double *table_of(size_t rows, size_t columns) {
    long double *const x = calloc(rows * columns + 1, sizeof *x);
    assert_non_null(x);
    return x;
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

/* ---- kinds of matrices ---- */

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Takes X to X - 2 v v' X / v' v, v being random: rounds off, but keeps singular values. */
static inline void reflect_rows(test_random *r, size_t rows, size_t columns, long double *x) {
    long double *const v = table_of(rows, 1), size = 0;
    for (size_t i = 0; i < rows; i++) {
        v[i] = test_unit(r);
        size += v[i] * v[i];
    }
    for (size_t j = 0; j < columns && size > 0; j++) {
        long double sum = 0;
        for (size_t i = 0; i < rows; i++)
            sum += v[i] * x[i * columns + j];
        for (size_t i = 0; i < rows; i++)
            x[i * columns + j] -= 2 * v[i] * sum / size;
    }
    free(v);
}

static inline void turn(size_t rows, size_t columns, const long double *x, long double *y) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            y[j * rows + i] = x[i * columns + j];
}

/* Singular values from 1 down to `last`. */
static inline void fill_graded(test_random *r, size_t m, size_t n, long double last,
                               long double *x) {
    const size_t steps = least(m, n);
    long double *const y = table_of(n, m);
    for (size_t k = 0; k < steps; k++)
        x[k * n + k] = powl(last, steps > 1 ? (long double)k / (long double)(steps - 1) : 0);
    for (int k = 0; k < 3; k++)
        reflect_rows(r, m, n, x);
    turn(m, n, x, y);
    for (int k = 0; k < 3; k++)
        reflect_rows(r, n, m, y);
    turn(n, m, y, x);
    free(y);
}

/* Is element (i, j) of a matrix of random numbers left 0? */
static inline bool is_zero(kind k, size_t m, size_t n, size_t i, size_t j) {
    switch (k) {
    case DIAGONAL:
        return i != j;
    case UPPER:
        return i > j;
    case LOWER:
        return i < j;
    case FIRST_COLUMN_ZERO:
        return j == 0;
    case LAST_COLUMN_ZERO:
        return j == least(m, n) - 1;
    case LAST_COLUMNS_ZERO:
        return j >= least(m, n) / 2;
    default:
        return false;
    }
}

static inline void fill_kind(test_random *r, kind k, weft_type type, size_t m, size_t n,
                             long double *x) {
    const long double roundoff = test_roundoff(type);
    const int reach = type == WEFT_F64 ? 1000 : 110; /* exponents, with room for sums */
    if (k == BADLY_CONDITIONED || k == NEARLY_SINGULAR) {
        fill_graded(r, m, n, k == NEARLY_SINGULAR ? roundoff : sqrtl(roundoff), x);
        return;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double random = test_unit(r);
            const double some = random == 0 ? 0.5 : random;
            const int power = k == NEAR_UNDERFLOW ? -reach : k == NEAR_OVERFLOW ? reach : 0;
            x[i * n + j] = is_zero(k, m, n, i, j) ? 0 : ldexp(some, power);
        }
}

/* The first column whose pivot is 0; `steps` if none is. */
static inline size_t zero_column(kind k, size_t m, size_t n) {
    const size_t steps = least(m, n);
    if (steps == 0)
        return steps;
    return k == FIRST_COLUMN_ZERO   ? 0
           : k == LAST_COLUMN_ZERO  ? steps - 1
           : k == LAST_COLUMNS_ZERO ? steps / 2
                                    : steps;
}

/* ---- checks ---- */

/* The largest sum of sizes in a column. */
static inline long double norm_of(size_t rows, size_t columns, const long double *x) {
    long double most = 0;
    for (size_t j = 0; j < columns; j++) {
        long double sum = 0;
        for (size_t i = 0; i < rows; i++)
            sum += fabsl(x[i * columns + j]);
        most = sum <= most ? most : sum;
    }
    return most;
}

/* Exchanges rows k and pivot[k], first to last. */
static inline void permute(size_t columns, size_t steps, const int64_t *pivot, long double *x) {
    for (size_t k = 0; k < steps; k++)
        for (size_t j = 0; j < columns; j++) {
            long double *const a = &x[k * columns + j], *const b =
                                                            &x[(size_t)pivot[k] * columns + j];
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
    const size_t steps = least(m, n);
    const long double u = test_roundoff(type), norm = norm_of(m, n, a);
    long double *const rest = table_of(m, n);
    check_pivots(m, steps, pivot, what);
    permute(n, steps, pivot, a);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const product p = product_at(n, f, i, j, steps);
            const long double terms = (long double)least(i, j) + 4;
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
