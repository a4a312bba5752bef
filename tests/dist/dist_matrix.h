/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices whose columns the ranks pass. */
#ifndef WEFT_TEST_DIST_MATRIX_H
#define WEFT_TEST_DIST_MATRIX_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/gpus.h"
#include "dist.h"

/* The columns of a matrix that this rank passes, as they lie. */
typedef struct piece {
    weft_type type;
    bool by_rows;
    size_t m, ld;
    dist_part part; /* columns */
} piece;

static inline size_t piece_bytes(const piece *p) {
    const size_t lines = p->by_rows ? p->m : p->part.n, length = p->by_rows ? p->part.n : p->m;
    return lines && length ? ((lines - 1) * p->ld + length) * test_size_of(p->type) : 0;
}

static inline piece choose_piece(test_random *r, weft_type type, bool by_rows, size_t m,
                                 dist_part part) {
    const size_t gap = dist_draw(r, 4);
    return (piece){type, by_rows, m, (by_rows ? part.n : m) + gap, part};
}

/* Copies between a whole matrix stored by columns without gaps, of f64, and the piece. */
static inline void copy_piece(const piece *p, double *whole, unsigned char *bytes, bool back) {
    for (size_t j = 0; j < p->part.n; j++)
        for (size_t i = 0; i < p->m; i++) {
            double *const x = &whole[i + (p->part.first + j) * p->m];
            const size_t at = p->by_rows ? i * p->ld + j : i + j * p->ld;
            if (p->type == WEFT_F64)
                memcpy(back ? (void *)x : bytes + 8 * at, back ? bytes + 8 * at : (void *)x, 8);
            else if (back)
                *x = (double)((float *)(void *)bytes)[at];
            else
                ((float *)(void *)bytes)[at] = (float)*x;
        }
}

static inline unsigned char *packed(const piece *p, const double *whole) {
    const size_t bytes = piece_bytes(p);
    unsigned char *const x = malloc(bytes + 1);
    assert_non_null(x);
    memset(x, TEST_POISON, bytes + 1);
    copy_piece(p, (double *)(uintptr_t)whole, x, false);
    return x;
}

static inline dist_array take_piece(test_random *r, const piece *p, const double *whole) {
    unsigned char *const x = packed(p, whole);
    const dist_array a = dist_take(r, x, piece_bytes(p));
    free(x);
    return a;
}

static inline void expect_piece(const dist_array *a, const piece *p, const double *whole,
                                const char *what) {
    unsigned char *const x = packed(p, whole);
    dist_expect(a, x, piece_bytes(p), what);
    free(x);
}

/* The whole matrix, of the pieces of all ranks. */
static inline double *gather(const dist_array *a, const piece *p, size_t columns) {
    double *const whole = calloc(p->m * columns + 1, sizeof *whole);
    unsigned char *const bytes = dist_fetch(a);
    assert_non_null(whole);
    copy_piece(p, whole, bytes, true);
    free(bytes);
    if (dist_ctx->comm) {
        double *const own = calloc(p->m * columns + 1, sizeof *own);
        assert_non_null(own);
        memcpy(own, whole, p->m * columns * sizeof *own);
        dist_ok(dist_ctx, dist_ctx->comm->calls->all_reduce(dist_ctx, own, whole, p->m * columns,
                                                            WEFT_F64, WEFT_SUM));
        free(own);
    }
    return whole;
}

static inline double *random_matrix(test_random *r, size_t m, size_t n) {
    double *const a = calloc(m * n + 1, sizeof *a);
    assert_non_null(a);
    for (size_t e = 0; e < m * n; e++)
        a[e] = (double)(float)((double)dist_draw(r, 1 << 20) / (1 << 19) - 1);
    return a;
}

typedef struct factor_case {
    size_t m, n;
    weft_type type;
    dist_shape shape;
} factor_case;

/* Any grid of the ranks. */
static inline void choose_grid(test_random *r) {
    char shape[32];
    const size_t ranks = (size_t)dist_ranks;
    size_t rows = dist_draw(r, 2) ? ranks : 1 + dist_draw(r, ranks);
    while (ranks % rows != 0)
        rows--;
    snprintf(shape, sizeof shape, "%zux%zu", rows, ranks / rows);
    setenv("WEFT_GRID", shape, 1);
}

/* The status and the message are those of one place. */
static inline void expect_outcome(weft_status one, weft_status all) {
    if (all != one || (all != WEFT_OK && strcmp(weft_message(dist_ctx), weft_message(dist_one))))
        fail_msg("rank %d of %d: %s: %s; on one place %s", dist_rank, dist_ranks,
                 weft_status_name(all), weft_message(dist_ctx), weft_status_name(one));
}

/* On a place that is slow, is this matrix so large that not all is done with it? */
static inline bool is_curbed(const factor_case *f) {
    return dist_ctx->gpu && (f->m > DIST_SMALL || f->n > DIST_SMALL);
}

/* A square one. */
static inline factor_case square_case(test_random *r, dist_shape shape, size_t n) {
    return (factor_case){n, n, dist_draw(r, 2) ? WEFT_F64 : WEFT_F32, shape};
}

/* |b - op(A) x| <= 100 n u (|A| |x| + |b|), with the largest row sum of |op(A)|. */
static inline void check_solution(const factor_case *f, bool transposed, const double *a,
                                  const double *x, const double *b, size_t rhs) {
    const double u = f->type == WEFT_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const size_t n = f->n;
    for (size_t k = 0; k < rhs; k++) {
        double largest = 0, most = 0, size_x = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = -b[i + k * n], row = 0;
            for (size_t j = 0; j < n; j++) {
                const double e = transposed ? a[j + i * n] : a[i + j * n];
                sum += e * x[j + k * n];
                row += fabs(e);
            }
            largest = fmax(largest, row);
            size_x = fmax(size_x, fabs(x[i + k * n]));
            if (!(fabs(sum) <= most))
                most = fabs(sum);
        }
        if (!(most <= 100 * (double)n * u * (largest * size_x + 1)))
            fail_msg("rank %d of %d: n %zu, right-hand side %zu of %zu%s: b - A x is %g", dist_rank,
                     dist_ranks, n, k, rhs, transposed ? ", transposed" : "", most);
    }
}

#endif
