/* SPDX-License-Identifier: Apache-2.0 */
/* Small symmetric systems for the tests of the Cholesky factorization, as dense tables in long
 * double, and checks of a factor: P A Pt = L Lt within rounding. */
#ifndef WEFT_TEST_SYSTEMS_H
#define WEFT_TEST_SYSTEMS_H

#include <math.h>

#include "graphs.h"
#include "sparse/chol.h"
#include "sparse/generate.h"

typedef long double test_dense[TEST_MOST_VERTICES][TEST_MOST_VERTICES];

typedef struct test_system {
    test_graph graph;
    test_dense a;
} test_system;

/* Values for the graph's edges and diagonal. Definite: a sum of squares (x e[i] + y e[j])^2 over
 * the edges, plus a diagonal that may be tiny; all exact in double. Otherwise anything. */
static inline void test_system_fill(test_random *r, bool definite, test_system *s) {
    const int64_t n = s->graph.n;
    const double tiny = ldexp(1, -(int)test_below(r, 24));
    memset(s->a, 0, sizeof s->a);
    for (int64_t i = 0; i < n; i++) {
        s->a[i][i] = definite ? tiny * (double)(1 + test_below(r, 7)) : test_unit(r) + 2;
        for (int64_t j = 0; j < i; j++) {
            const double x = 1 + (double)test_below(r, 15);
            const double y = (double)test_below(r, 31) - 15.5;
            if (!s->graph.edge[i][j])
                continue;
            s->a[i][j] = s->a[j][i] = definite ? x * y : 2 * test_unit(r);
            s->a[i][i] += definite ? x * x : 0;
            s->a[j][j] += definite ? y * y : 0;
        }
    }
}

/* Makes it [H Bt; B -C], diagonally dominant in either half: quasi-definite. */
static inline void test_system_make_quasi(test_system *s) {
    const int64_t n = s->graph.n, border = n - n / 3;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            if ((i < border) == (j < border))
                s->a[i][j] = s->a[j][i] = s->a[i][j] / 64;
        s->a[i][i] = i < border ? 2 + fabsl(s->a[i][i]) : -2 - fabsl(s->a[i][i]);
    }
}

/* As a sparse matrix; diagonal entries that are 0 are left out if `holes`. */
static inline weft_sparse *test_system_matrix(weft_context *ctx, const test_system *s, bool holes) {
    enum {
        MOST = TEST_MOST_VERTICES * (TEST_MOST_VERTICES + 1) / 2
    };
    int64_t row[MOST], col[MOST];
    double value[MOST];
    size_t count = 0;
    for (int64_t j = 0; j < s->graph.n; j++) {
        for (int64_t i = j; i < s->graph.n; i++) {
            if (i == j ? holes && s->a[i][i] == 0 : !s->graph.edge[i][j])
                continue;
            row[count] = i;
            col[count] = j;
            value[count++] = (double)s->a[i][j];
        }
    }
    weft_sparse *matrix;
    const size_t n = (size_t)s->graph.n;
    if (weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, n, n, count, WEFT_I64, row,
                                    col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* A random one of at most `most` columns, as a sparse matrix. */
static inline weft_sparse *test_system_draw(weft_context *ctx, test_random *r, int64_t most,
                                            bool definite) {
    static test_system s;
    test_graph_random(r, most, &s.graph);
    test_system_fill(r, definite, &s);
    return test_system_matrix(ctx, &s, false);
}

/* A matrix of `weft generate`. */
static inline weft_sparse *test_generated(weft_context *ctx, const char *name, size_t n) {
    const wi_recipe recipe = {.n = n, .seed = 1, .per_row = 6};
    weft_sparse *matrix;
    test_ok(ctx, wi_find_generator(name)->make(ctx, "test", &recipe, &matrix));
    return matrix;
}

/* Cholesky by its definition. Returns n, or the first column whose pivot is not above `least` times
 * its original diagonal entry; *pivot is that pivot. */
static inline int64_t test_system_factor(const test_system *s, const int64_t *perm, double least,
                                         test_dense l, long double *pivot) {
    const int64_t n = s->graph.n;
    *pivot = 0;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = k; i < n; i++) {
            long double sum = s->a[perm[i]][perm[k]];
            for (int64_t j = 0; j < k; j++)
                sum -= l[i][j] * l[k][j];
            l[i][k] = i == k ? sum : sum / l[k][k];
            if (i > k)
                continue;
            *pivot = sum;
            if (!(sum > least * fabsl(s->a[perm[k]][perm[k]])))
                return k;
            l[k][k] = sqrtl(sum);
        }
    }
    return n;
}

static inline weft_chol_report test_report_of(weft_context *ctx, const weft_chol *plan) {
    weft_chol_report report = {.size = sizeof report};
    test_ok(ctx, weft_chol_get_report(ctx, plan, &report));
    return report;
}

/* A plan that wakes all threads of the context for any matrix. */
static inline weft_chol *test_plan(weft_context *ctx, const weft_sparse *matrix,
                                   const char *ordering, const int64_t *permutation) {
    const weft_chol_options options = {
        .size = sizeof options, .ordering = ordering, .permutation = permutation};
    weft_chol *plan;
    if (weft_chol_analyze(ctx, matrix, &options, &plan) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    plan->least_work = 0;
    return plan;
}

/* The plan has its memory, and every number of L is NaN, so that a missing one is noticed. */
static inline void test_poison_factor(weft_context *ctx, weft_chol *plan) {
    if (weft_chol_reserve(ctx, plan, 1) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    memset(plan->numbers.l, 0xFF, plan->report.factor_bytes);
}

/* Entry (i, j) of L, i >= j, if it is stored; else 0. */
static inline void test_plan_factor(const weft_chol *plan, test_dense l) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    memset(l, 0, sizeof(test_dense));
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t height = wi_super_height(symbolic, s);
        for (int64_t j = 0; j < wi_super_columns(symbolic, s); j++) {
            for (int64_t i = j; i < height; i++)
                l[symbolic->rows[symbolic->rows_at[s] + i]][symbolic->first[s] + j] =
                    wi_chol_column(plan, s, j)[i];
        }
    }
}

/* |P A Pt - L Lt| <= (n + 4) 2^-53 |L| |Lt|, entry by entry: a bound on the rounding error. */
static inline void test_check_factor(const weft_chol *plan, const test_system *s,
                                     const char *what) {
    static test_dense l;
    const int64_t n = s->graph.n, *const perm = plan->symbolic.perm;
    test_plan_factor(plan, l);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; k <= j; k++) {
                sum += l[i][k] * l[j][k];
                size += fabsl(l[i][k] * l[j][k]);
            }
            const long double error = fabsl(sum - s->a[perm[i]][perm[j]]);
            if (!(error <= ldexpl((long double)n + 4, -53) * size))
                fail_msg("%s: n = %lld, row %lld, column %lld: off by %Lg of %Lg", what,
                         (long long)n, (long long)i, (long long)j, error, size);
        }
    }
}

/* Column j of a definite matrix without zeros, for wi_generate_columns; `user` points at n. */
static inline size_t test_dense_column(const void *user, size_t j, int64_t *row, double *value) {
    const size_t n = *(const size_t *)user;
    for (size_t i = j; i < n; i++) {
        row[i - j] = (int64_t)i;
        value[i - j] = i == j ? (double)n : 1 / (double)(1 + (3 * i + j) % 11);
    }
    return n - j;
}

#endif
