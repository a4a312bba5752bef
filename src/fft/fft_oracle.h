/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms in long double for the tests: each length by its smallest prime factor, with roots of
 * its own. Shares no code with the rungs. */
#ifndef WI_FFT_ORACLE_H
#define WI_FFT_ORACLE_H

#include <math.h>
#include <stdlib.h>

#include "testing.h"

typedef struct oracle_number {
    long double re, im;
} oracle_number;

/* exp(-+ 2 pi i k / n) */
static inline oracle_number oracle_root(size_t k, size_t n, bool is_inverse) {
    const long double angle = 2 * acosl(-1.0L) * (long double)(k % n) / (long double)n;
    return (oracle_number){cosl(angle), is_inverse ? sinl(angle) : -sinl(angle)};
}

static inline oracle_number oracle_times(oracle_number a, oracle_number b) {
    return (oracle_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* x, n numbers `step` apart, to `to`; roots are those of `whole` = n times some number. */
static inline void oracle_line(const oracle_number *x, size_t step, oracle_number *to, size_t n,
                               const oracle_number *roots, size_t whole) {
    size_t p = 2;
    while (p * p <= n && n % p != 0)
        p++;
    p = n % p == 0 ? p : n;
    if (n == 1) {
        *to = *x;
        return;
    }
    const size_t m = n / p;
    oracle_number *const part = malloc(n * sizeof *part);
    assert_non_null(part);
    for (size_t r = 0; r < p; r++)
        oracle_line(x + r * step, step * p, part + r * m, m, roots, whole);
    for (size_t k = 0; k < n; k++) {
        const oracle_number *const row = part + k % m;
        oracle_number sum = {0, 0};
        for (size_t r = 0, turn = 0; r < p; r++) { /* turn: r * k modulo n, without a division */
            const oracle_number v = oracle_times(row[r * m], roots[turn * (whole / n)]);
            sum.re += v.re;
            sum.im += v.im;
            turn += turn + k < n ? k : k - n;
        }
        to[k] = sum;
    }
    free(part);
}

/* A line in place. */
static inline void oracle_transform(oracle_number *x, size_t step, size_t n, bool is_inverse) {
    oracle_number *const roots = malloc(n * sizeof *roots), *const to = malloc(n * sizeof *to);
    assert_non_null(roots);
    assert_non_null(to);
    for (size_t k = 0; k < n; k++)
        roots[k] = oracle_root(k, n, is_inverse);
    oracle_line(x, step, to, n, roots, n);
    for (size_t k = 0; k < n; k++)
        x[k * step] = to[k];
    free(roots);
    free(to);
}

/* All dimensions of a dense array of complex numbers. */
static inline void oracle_all(oracle_number *x, const size_t *n, unsigned rank, bool is_inverse) {
    size_t all = 1;
    for (unsigned k = 0; k < rank; k++)
        all *= n[k];
    for (size_t step = 1, k = rank; k > 0; step *= n[--k])
        for (size_t first = 0; first < all; first += step * n[k - 1])
            for (size_t i = 0; i < step; i++)
                oracle_transform(x + first + i, step, n[k - 1], is_inverse);
}

#endif
