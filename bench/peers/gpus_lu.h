/* SPDX-License-Identifier: Apache-2.0 */
/* What the races of lu over all GPUs of a place share: places and a matrix on each, medians, and
 * the residual by which factors are judged. It is both C and C++. */
#ifndef WEFT_PEERS_GPUS_LU_H
#define WEFT_PEERS_GPUS_LU_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "weft/weft.h"

enum {
    NOTHING_TO_RACE = 77,
    RATIO = 16 /* what HPL's residual may be */
};

/* A place, with a matrix that is factored there and, on one of the places, one that is kept. */
typedef struct side {
    weft_context *ctx;
    double *a, *b;
    int64_t *pivot;
} side;

static inline void check(const side *s, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "peer: %s\n", weft_message(s->ctx));
    exit(1);
}

static inline void open_side(side *s, const char *place) {
    if (weft_open(&s->ctx, place) == WEFT_OK)
        return;
    fprintf(stderr, "peer: %s\n", weft_message(NULL));
    exit(NOTHING_TO_RACE);
}

static inline void *take_host(size_t bytes) {
    void *const memory = malloc(bytes);
    if (memory)
        return memory;
    fprintf(stderr, "peer: no host memory for %zu bytes\n", bytes);
    exit(1);
}

/* Takes a matrix of order n and its pivots; give returns them. */
static inline void take(side *s, size_t n) {
    check(s, weft_alloc(s->ctx, (void **)&s->a, n * n * sizeof *s->a));
    s->pivot = (int64_t *)take_host(n * sizeof *s->pivot);
}

static inline void give(side *s) {
    check(s, weft_free(s->ctx, s->a));
    free(s->pivot);
}

static inline int by_value(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* Sorts them. */
static inline double median(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, by_value);
    return seconds[count / 2];
}

/* 2/3 n^3 operations in so many seconds, in 1e12 a second. */
static inline double lu_rate(size_t n, double seconds) {
    const double order = (double)n;
    return 1e-12 * (2 * order * order * order / 3) / seconds;
}

/* NaN if either is. */
static inline double larger(double a, double b) {
    return a >= b || a != a ? a : b;
}

/* |b - A x| / ((|A| |x| + |b|) n u) in the largest norm, of A and b with numbers from -1 to 1;
 * `original->b` holds A. */
static inline double residual(const side *original, size_t n, const double *x, const double *b) {
    double size_x = 0, size_r = 0, *const r = (double *)take_host(n * sizeof *r);
    for (size_t i = 0; i < n; i++)
        r[i] = b[i];
    check(original, weft_gemm(original->ctx, 0, WEFT_F64, WEFT_F64, n, 1, n, -1, original->b, n, x,
                              n, 1, r, n));
    for (size_t i = 0; i < n; i++) {
        size_x = larger(size_x, fabs(x[i]));
        size_r = larger(size_r, fabs(r[i]));
    }
    free(r);
    const double size_a = 0.5 * (double)n; /* of numbers from -1 to 1 */
    return size_r / ((size_a * size_x + 1) * (double)n * DBL_EPSILON);
}

/* That of the x which the factors in s->a give. */
static inline double residual_of_factors(const side *s, const side *original, size_t n,
                                         const double *b) {
    double *const x = (double *)take_host(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = b[i];
    check(s, weft_lu_solve(s->ctx, 0, WEFT_F64, n, 1, s->a, n, s->pivot, x, n));
    const double ratio = residual(original, n, x, b);
    free(x);
    return ratio;
}

#endif
