/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of weft_solve and weft_solve_spd share: systems, and what is true of them by
 * arithmetic of twice the precision of f64, or nearly. */
#ifndef WEFT_SOLVE_RIG_H
#define WEFT_SOLVE_RIG_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "weft/solve.h"

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

static inline quad quad_size(quad x) {
    return x < 0 ? -x : x;
}

/* op(A) X = B as numbers, row after row; and how the call is to see it. */
typedef struct linear_system {
    bool spd;
    weft_type type;
    unsigned how;
    size_t n, rhs;
    double *a, *b, *x; /* n x n, n x rhs, n x rhs */
    size_t gap;        /* elements after each line of the arrays in memory */
    bool in_place, device;
} linear_system;

static inline linear_system system_of(weft_type type, size_t n, size_t rhs) {
    linear_system s = {.type = type, .n = n, .rhs = rhs};
    s.a = calloc(n * n + 1, sizeof *s.a);
    s.b = calloc(n * rhs + 1, sizeof *s.b);
    s.x = calloc(n * rhs + 1, sizeof *s.x);
    assert_true(s.a && s.b && s.x);
    return s;
}

static inline void free_system(linear_system *s) {
    free(s->a);
    free(s->b);
    free(s->x);
}

static inline double unit_of(weft_type type) {
    return type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
}

/* Rounds all numbers to the type. */
static inline void round_system(linear_system *s) {
    for (size_t k = 0; k < s->n * s->n; k++)
        s->a[k] = s->type == WEFT_F64 ? s->a[k] : (float)s->a[k];
    for (size_t k = 0; k < s->n * s->rhs; k++)
        s->b[k] = s->type == WEFT_F64 ? s->b[k] : (float)s->b[k];
}

/* ---- arrays in memory ---- */

static inline size_t line_of(const linear_system *s, size_t rows, size_t columns) {
    return (s->how & WEFT_ROW_MAJOR ? columns : rows) + s->gap;
}
static inline size_t bytes_of(const linear_system *s, size_t rows, size_t columns) {
    const size_t lines = s->how & WEFT_ROW_MAJOR ? rows : columns;
    return lines > 0
               ? ((lines - 1) * line_of(s, rows, columns) + line_of(s, rows, columns) - s->gap) *
                     test_size_of(s->type)
               : 0;
}
static inline size_t place_of(const linear_system *s, size_t rows, size_t columns, size_t i,
                              size_t j) {
    return s->how & WEFT_ROW_MAJOR ? i * line_of(s, rows, columns) + j
                                   : i + j * line_of(s, rows, columns);
}

static inline void put(weft_type type, void *to, size_t at, double x) {
    if (type == WEFT_F64)
        ((double *)to)[at] = x;
    else
        ((float *)to)[at] = (float)x;
}
static inline double get(weft_type type, const void *from, size_t at) {
    return type == WEFT_F64 ? ((const double *)from)[at] : ((const float *)from)[at];
}

/* A as it is stored; of a symmetric matrix the other half is NaN, for it must not be read. */
static inline void *stored_a(const linear_system *s) {
    const size_t n = s->n;
    void *const a = malloc(bytes_of(s, n, n) + 8);
    assert_non_null(a);
    memset(a, 0xff, bytes_of(s, n, n) + 8);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const bool turned = s->how & WEFT_TRANSPOSE_A;
            const bool there = !s->spd || (s->how & WEFT_UPPER_TRIANGLE ? j >= i : j <= i);
            put(s->type, a, turned ? place_of(s, n, n, j, i) : place_of(s, n, n, i, j),
                there ? s->a[i * n + j] : NAN);
        }
    return a;
}

static inline void *stored(const linear_system *s, const double *values) {
    void *const b = malloc(bytes_of(s, s->n, s->rhs) + 8);
    assert_non_null(b);
    memset(b, 0xff, bytes_of(s, s->n, s->rhs) + 8);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->rhs; j++)
            put(s->type, b, place_of(s, s->n, s->rhs, i, j), values[i * s->rhs + j]);
    return b;
}

/* Calls, checks that nothing but X is written, and takes X into s->x if the call returns WEFT_OK.
 */
static inline weft_status solve_system(weft_context *ctx, linear_system *s,
                                       const weft_solve_options *options, weft_report *report) {
    const size_t n = s->n, a_bytes = bytes_of(s, n, n), b_bytes = bytes_of(s, n, s->rhs);
    const bool device = s->device && ctx->kind == WI_CUDA;
    void *const a = stored_a(s), *const b = stored(s, s->b);
    test_buffer at_a = test_buffer_open(ctx, device, a_bytes), at_b, at_x;
    at_b = test_buffer_open(ctx, device, b_bytes);
    at_x = test_buffer_open(ctx, device, b_bytes);
    test_buffer_load(&at_a, a, a_bytes, 0);
    test_buffer_load(&at_b, b, b_bytes, 0);
    test_buffer_load(&at_x, b, b_bytes, 0);
    void *const x = s->in_place ? at_b.p : at_x.p;
    const size_t lda = line_of(s, n, n), ldb = line_of(s, n, s->rhs);
    const weft_status status = (s->spd ? weft_solve_spd : weft_solve)(
        ctx, s->how, s->type, n, s->rhs, at_a.p, lda, at_b.p, ldb, x, ldb, options, report);
    const unsigned char *const after =
        test_buffer_read(s->in_place ? &at_b : &at_x, "the solution");
    if (status != WEFT_OK && memcmp(after, b, b_bytes) != 0)
        fail_msg("a refused call wrote X");
    for (size_t i = 0; i < n && status == WEFT_OK; i++)
        for (size_t j = 0; j < s->rhs; j++) {
            const size_t at = place_of(s, n, s->rhs, i, j);
            s->x[i * s->rhs + j] = get(s->type, after, at);
            put(s->type, b, at, s->x[i * s->rhs + j]);
        }
    assert_memory_equal(after, b, b_bytes); /* the gaps */
    assert_memory_equal(test_buffer_read(&at_a, "a"), a, a_bytes);
    test_buffer_close(&at_a);
    test_buffer_close(&at_b);
    test_buffer_close(&at_x);
    free(a);
    free(b);
    return status;
}

/* ---- what is true ---- */

/* The componentwise backward error, as weft_report defines it for a matrix that is not scaled;
 * `plain`: without regard to divisors that are rounding noise. */
static inline double true_backward_error(const linear_system *s, bool plain) {
    const size_t n = s->n;
    quad worst = 0;
    for (size_t j = 0; j < s->rhs; j++) {
        quad most_x = 0;
        for (size_t i = 0; i < n; i++)
            most_x =
                quad_size(s->x[i * s->rhs + j]) > most_x ? quad_size(s->x[i * s->rhs + j]) : most_x;
        for (size_t i = 0; i < n; i++) {
            const quad b = s->b[i * s->rhs + j];
            quad r = b, size = 0, most_a = 0;
            for (size_t k = 0; k < n; k++) {
                const quad a = s->a[i * n + k], product = a * s->x[k * s->rhs + j];
                r -= product;
                size += quad_size(product);
                most_a = quad_size(a) > most_a ? quad_size(a) : most_a;
            }
            const quad whole = most_a * most_x;
            const bool tiny =
                !plain && size + quad_size(b) <= 1000 * (quad)n * 0x1p-53 * (whole + quad_size(b));
            const quad scale = size + (tiny ? whole : quad_size(b));
            const quad error = r == 0 ? 0 : quad_size(r) / scale;
            worst = error > worst ? error : worst;
        }
    }
    return (double)worst;
}

/* A \ (A, B) by elimination with full precision: `inverse` (n x n) and `solution` (n x rhs) may be
 * NULL. False if a pivot is 0. */
static inline bool eliminate(const linear_system *s, quad *inverse, quad *solution) {
    const size_t n = s->n, wide = 2 * n + s->rhs;
    quad *const m = malloc(n * wide * sizeof *m + 1);
    bool regular = true;
    assert_non_null(m);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < wide; j++)
            m[i * wide + j] = j < n       ? (quad)s->a[i * n + j]
                              : j < 2 * n ? (quad)(inverse && j - n == i)
                                          : (quad)s->b[i * s->rhs + j - 2 * n];
    for (size_t k = 0; k < n && regular; k++) {
        size_t p = k;
        for (size_t i = k; i < n; i++)
            p = quad_size(m[i * wide + k]) > quad_size(m[p * wide + k]) ? i : p;
        regular = m[p * wide + k] != 0;
        for (size_t j = 0; j < wide && regular; j++) {
            const quad old = m[k * wide + j];
            m[k * wide + j] = m[p * wide + j];
            m[p * wide + j] = old;
        }
        for (size_t i = 0; i < n && regular; i++) {
            const quad f = m[i * wide + k] / m[k * wide + k];
            for (size_t j = k; j < wide && i != k; j++)
                if (m[k * wide + j] != 0) /* much of the inverse is, and all if it is not wanted */
                    m[i * wide + j] -= f * m[k * wide + j];
        }
    }
    for (size_t i = 0; i < n && regular; i++) {
        for (size_t j = 0; j < n && inverse; j++)
            inverse[i * n + j] = m[i * wide + n + j] / m[i * wide + i];
        for (size_t j = 0; j < s->rhs && solution; j++)
            solution[i * s->rhs + j] = m[i * wide + 2 * n + j] / m[i * wide + i];
    }
    free(m);
    return regular;
}

/* |A| |A^-1| in the 1-norm. */
static inline double true_condition(const linear_system *s) {
    const size_t n = s->n;
    quad *const inverse = malloc(n * n * sizeof *inverse + 1), most = 0, most_inverse = 0;
    assert_non_null(inverse);
    const bool regular = eliminate(s, inverse, NULL);
    for (size_t j = 0; j < n && regular; j++) {
        quad sum = 0, sum_inverse = 0;
        for (size_t i = 0; i < n; i++) {
            sum += quad_size(s->a[i * n + j]);
            sum_inverse += quad_size(inverse[i * n + j]);
        }
        most = sum > most ? sum : most;
        most_inverse = sum_inverse > most_inverse ? sum_inverse : most_inverse;
    }
    free(inverse);
    return regular ? (double)(most * most_inverse) : (double)INFINITY;
}

/* The largest of max |x - true| / max |true| over the columns. */
static inline double forward_error(const linear_system *s, const quad *truth) {
    double worst = 0;
    for (size_t j = 0; j < s->rhs; j++) {
        quad most = 0, size = 0;
        for (size_t i = 0; i < s->n; i++) {
            const quad t = truth[i * s->rhs + j], off = quad_size(s->x[i * s->rhs + j] - t);
            most = off > most ? off : most;
            size = quad_size(t) > size ? quad_size(t) : size;
        }
        const double error = size > 0 ? (double)(most / size) : 0;
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* The report's backward error is the true one, within a factor of 2; where both are far below the
 * rounding of the type nothing has to agree. */
static inline void check_backward_error(const linear_system *s, const weft_report *report,
                                        const char *what) {
    const double truth = true_backward_error(s, report->equilibrated);
    const double told = report->backward_error;
    if (!(told <= 2 * truth + 0x1p-90 && truth <= 2 * told + 0x1p-90))
        fail_msg("%s: the backward error is %.3g, and %.3g is reported", what, truth, told);
}

/* ---- systems that are good ---- */

static inline void fill_general(test_random *r, linear_system *s) {
    for (size_t k = 0; k < s->n * s->n; k++)
        s->a[k] = test_unit(r);
    for (size_t k = 0; k < s->n * s->rhs; k++)
        s->b[k] = test_unit(r);
    round_system(s);
}

static inline void fill_spd(test_random *r, linear_system *s) {
    const size_t n = s->n;
    fill_general(r, s);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            s->a[i * n + j] = s->a[j * n + i];
        s->a[i * n + i] = (double)n / 2 + 1 + fabs(s->a[i * n + i]);
    }
    round_system(s);
}

static inline void check_good(weft_context *ctx, const linear_system *s, weft_status status,
                              const weft_report *report, const char *what) {
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(ctx));
    check_backward_error(s, report, what);
    const double unit = unit_of(s->type);
    if (!(report->backward_error <= 4 * unit * sqrt((double)s->n)))
        fail_msg("%s: the backward error is %.3g", what, report->backward_error);
    assert_int_equal(report->n, s->n);
    assert_int_equal(report->right_hand_sides, s->rhs);
    assert_true(report->column == SIZE_MAX);
    assert_true(report->normwise_error <= 2 * report->backward_error);
}

#endif
