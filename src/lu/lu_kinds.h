/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of matrices of LAPACK's testers of linear equations, made by our own means. */
#ifndef WEFT_LU_KINDS_H
#define WEFT_LU_KINDS_H

#include <math.h>
#include <stdlib.h>

#include "core/smaller.h"
#include "testing.h"

enum {
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

/* Elements by rows, without gaps; the caller frees them. */
static inline long double *table_of(size_t rows, size_t columns) {
    long double *const x = calloc(rows * columns + 1, sizeof *x);
    assert_non_null(x);
    return x;
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
    const size_t steps = wi_smaller(m, n);
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
        return j == wi_smaller(m, n) - 1;
    case LAST_COLUMNS_ZERO:
        return j >= wi_smaller(m, n) / 2;
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
    const size_t steps = wi_smaller(m, n);
    if (steps == 0)
        return steps;
    return k == FIRST_COLUMN_ZERO   ? 0
           : k == LAST_COLUMN_ZERO  ? steps - 1
           : k == LAST_COLUMNS_ZERO ? steps / 2
                                    : steps;
}

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

#endif
