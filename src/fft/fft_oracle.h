/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms in long double for the tests: each length by its smallest prime factor, and a large
 * prime by a convolution; with roots of its own. Shares no code with the rungs. */
#ifndef WI_FFT_ORACLE_H
#define WI_FFT_ORACLE_H

#include <math.h>
#include <stdlib.h>

#include "testing.h"

enum {
    ORACLE_CHIRP = 200 /* smaller primes are done by the definition */
};

typedef struct oracle_number {
    long double re, im;
} oracle_number;

/* exp(-2 pi i k / n) for all k < n. Of powers of two and of other lengths those of the last call
 * are kept, as lines are mostly of one length. */
static inline const oracle_number *oracle_roots(size_t n) {
    static struct {
        oracle_number *roots;
        size_t n;
    } kept[2], *of;
    of = &kept[(n & (n - 1)) == 0];
    if (of->n != n) {
        free(of->roots);
        of->roots = malloc(n * sizeof *of->roots);
        of->n = n;
        assert_non_null(of->roots);
        for (size_t k = 0; k < n; k++) {
            const long double angle = 2 * acosl(-1.0L) * (long double)k / (long double)n;
            of->roots[k] = (oracle_number){cosl(angle), -sinl(angle)};
        }
    }
    return of->roots;
}

static inline oracle_number oracle_conjugate(oracle_number a) {
    return (oracle_number){a.re, -a.im};
}

static inline oracle_number oracle_times(oracle_number a, oracle_number b) {
    return (oracle_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline void oracle_line(const oracle_number *x, size_t step, oracle_number *to, size_t n,
                               const oracle_number *roots, size_t whole);

/* A line in place of an odd number of elements p; its roots are `step` apart. As j k is half of
 * j^2 + k^2 - (j - k)^2, and half is (p + 1) / 2 modulo p, it is a convolution, for which powers of
 * two do. */
static inline void oracle_chirp(oracle_number *z, size_t p, const oracle_number *roots,
                                size_t step) {
    size_t n = 1;
    while (n < 2 * p - 1)
        n *= 2;
    oracle_number *const a = calloc(4 * n, sizeof *a), *const b = a + n, *const c = b + n,
                         *const d = c + n;
    const oracle_number *const own = oracle_roots(n);
    assert_non_null(a);
    for (size_t j = 0; j < p; j++) {
        const oracle_number w = roots[j * j % p * ((p + 1) / 2) % p * step];
        a[j] = oracle_times(z[j], w);
        z[j] = w;
        b[j] = b[(n - j) % n] = oracle_conjugate(w);
    }
    oracle_line(a, 1, c, n, own, n);
    oracle_line(b, 1, d, n, own, n);
    for (size_t j = 0; j < n; j++)
        a[j] = oracle_conjugate(oracle_times(c[j], d[j]));
    oracle_line(a, 1, c, n, own, n);
    for (size_t j = 0; j < p; j++) {
        const oracle_number v = oracle_times(oracle_conjugate(c[j]), z[j]);
        z[j] = (oracle_number){v.re / (long double)n, v.im / (long double)n};
    }
    free(a);
}

/* From the transforms of every p-th number, which lie one after the other in `part`, that of all n;
 * their roots are `step` apart. By the definition. */
static inline void oracle_sums(const oracle_number *part, oracle_number *to, size_t n, size_t p,
                               const oracle_number *roots, size_t step) {
    const size_t m = n / p;
    for (size_t k = 0; k < n; k++) {
        const oracle_number *const row = part + k % m;
        oracle_number sum = {0, 0};
        for (size_t r = 0, turn = 0; r < p; r++) { /* turn: r * k modulo n, without a division */
            const oracle_number v = oracle_times(row[r * m], roots[turn * step]);
            sum.re += v.re;
            sum.im += v.im;
            turn += turn + k < n ? k : k - n;
        }
        to[k] = sum;
    }
}

/* The same, with each transform of p numbers by a convolution. */
static inline void oracle_chirps(const oracle_number *part, oracle_number *to, size_t n, size_t p,
                                 const oracle_number *roots, size_t step) {
    const size_t m = n / p;
    oracle_number *const z = malloc(p * sizeof *z);
    assert_non_null(z);
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++)
            z[r] = oracle_times(part[r * m + k], roots[r * k * step]);
        oracle_chirp(z, p, roots, m * step);
        for (size_t r = 0; r < p; r++)
            to[r * m + k] = z[r];
    }
    free(z);
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
    if (p < ORACLE_CHIRP)
        oracle_sums(part, to, n, p, roots, whole / n);
    else
        oracle_chirps(part, to, n, p, roots, whole / n);
    free(part);
}

/* A line in place. */
static inline void oracle_transform(oracle_number *x, size_t step, size_t n, bool is_inverse) {
    oracle_number *const from = malloc(2 * n * sizeof *from), *const to = from + n;
    assert_non_null(from);
    for (size_t k = 0; k < n; k++)
        from[k] = is_inverse ? oracle_conjugate(x[k * step]) : x[k * step];
    oracle_line(from, 1, to, n, oracle_roots(n), n);
    for (size_t k = 0; k < n; k++)
        x[k * step] = is_inverse ? oracle_conjugate(to[k]) : to[k];
    free(from);
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
