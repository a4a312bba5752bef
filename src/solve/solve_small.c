/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of a small H where H's own factors are too inaccurate to say anything about it: by
 * elimination with complete pivoting, which has next to no growth, in pairs of doubles of 106 bits.
 * So norms are true up to a condition of some 1e30. */
#include <math.h>

#include "core/gpu.h"
#include "exact/exact_cascade.h"
#include "solve/solve_small.h"

typedef struct pair {
    double high, low;
} pair;

/* The sum of two numbers, the first of which is the larger one, or 0. */
static pair pair_of(double high, double low) {
    const double sum = high + low;
    return (pair){sum, low - (sum - high)};
}

static pair times(pair x, pair y) {
    const double product = x.high * y.high;
    const double rest = fma(x.high, y.high, -product) + (x.high * y.low + x.low * y.high);
    return pair_of(product, rest);
}

static pair minus(pair x, pair y) {
    double rest;
    const double sum = wi_two_sum(x.high, -y.high, &rest);
    return pair_of(sum, rest + (x.low - y.low));
}

/* 1 / x, by a step of Newton's method. */
static pair reciprocal(pair x) {
    const pair guess = {1 / x.high, 0};
    const pair error = minus((pair){1, 0}, times(x, guess));
    return pair_of(guess.high, error.high * guess.high);
}

typedef struct elimination {
    size_t n;
    pair *a;                                /* n x n, by rows */
    size_t row[WI_SMALL], column[WI_SMALL]; /* of the pivots */
    bool done_row[WI_SMALL], done_column[WI_SMALL];
} elimination;

/* The largest element in rows and columns that have no pivot yet; 0 if all of these are. */
static double find_pivot(const elimination *e, size_t *row, size_t *column) {
    double most = 0;
    for (size_t i = 0; i < e->n; i++)
        for (size_t j = 0; j < e->n && !e->done_row[i]; j++) {
            const double size = fabs(e->a[i * e->n + j].high);
            if (size > most && !e->done_column[j]) {
                most = size;
                *row = i;
                *column = j;
            }
        }
    return most;
}

/* With y = A x, the unknown of this column and the right-hand side of this row change places. */
static void exchange(const elimination *e, size_t row, size_t column) {
    pair *const own = e->a + row * e->n;
    const pair by = reciprocal(own[column]);
    for (size_t i = 0; i < e->n; i++) {
        pair *const other = e->a + i * e->n;
        if (i == row)
            continue;
        const pair factor = times(other[column], by);
        for (size_t j = 0; j < e->n && factor.high != 0; j++)
            if (j != column)
                other[j] = minus(other[j], times(factor, own[j]));
        other[column] = factor;
    }
    for (size_t j = 0; j < e->n; j++)
        own[j] = j == column ? by : times(minus((pair){0, 0}, own[j]), by);
}

/* Rows of the inverse have the numbers of columns that were pivots, and columns those of rows. */
static void find_norms(const elimination *e, const double *weight, wi_small_norms *norms) {
    const size_t n = e->n;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fabs(e->a[i * n + j].high);
        norms->one = fmax(norms->one, sum);
    }
    for (size_t i = 0; i < n && weight; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += fabs(e->a[i * n + e->column[k]].high) * weight[e->row[k]];
        norms->weighted = fmax(norms->weighted, sum);
    }
}

static wi_small_norms norms_of(elimination *e, const double *weight) {
    wi_small_norms norms = {0, 0};
    for (size_t k = 0; k < e->n; k++) {
        if (!(find_pivot(e, &e->row[k], &e->column[k]) > 0))
            return (wi_small_norms){(double)INFINITY, (double)INFINITY};
        e->done_row[e->row[k]] = e->done_column[e->column[k]] = true;
        exchange(e, e->row[k], e->column[k]);
    }
    find_norms(e, weight, &norms);
    return norms;
}

/* H to the host, both halves of a symmetric one. */
static weft_status fetch(wi_system *s, double *h) {
    const size_t n = s->n, bytes = n * n * sizeof *h;
    const wi_grid a = s->a.half == WI_HALF_UPPER ? wi_grid_turned(&s->a) : s->a;
    void *there = h;
    weft_status status = s->ctx->kind == WI_CPU ? WEFT_OK : wi_gpu_alloc(s->ctx, &there, bytes);
    if (status != WEFT_OK)
        return status;
    status = s->place->copy(s->ctx, &a, WEFT_F64, there, n);
    if (status == WEFT_OK && there != h)
        status = wi_system_get(s, h, there, bytes);
    const weft_status freed = there != h ? wi_gpu_free(s->ctx, there) : WEFT_OK;
    for (size_t j = 0; j < n && s->args->spd; j++)
        for (size_t i = 0; i < j; i++)
            h[j * n + i] = h[i * n + j];
    return status == WEFT_OK ? freed : status;
}

weft_status wi_small_inverse(wi_system *s, const double *weight, wi_small_norms *norms) {
    const size_t n = s->n;
    pair *const a = wi_host_alloc(n * n * sizeof *a);
    double *const h = wi_host_alloc(n * n * sizeof *h);
    weft_status status = a && h ? fetch(s, h)
                                : wi_fail(s->ctx, WEFT_ENOMEM,
                                          "%s: no memory for the inverse of %zu x %zu elements; "
                                          "free some",
                                          s->call, n, n);
    if (status == WEFT_OK) {
        elimination e = {.n = n, .a = a};
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                a[i * n + j] = (pair){h[j * n + i], 0};
        *norms = norms_of(&e, weight);
    }
    wi_host_free(h);
    wi_host_free(a);
    return status;
}
