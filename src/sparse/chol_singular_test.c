/* SPDX-License-Identifier: Apache-2.0 */
/* Singular matrices, made of products of integers: a factorization that fails on one reports it,
 * with a vector that A maps to 0, and does not report it for other matrices. */
#include <math.h>
#include <string.h>

#include "sparse/chol.h"
#include "testing.h"

enum {
    MOST = 24,
    ROUNDS = 300
};

/* A symmetric matrix of integers, and as the library holds it. */
typedef struct system {
    size_t n;
    double a[MOST][MOST];
    weft_sparse *matrix;
} system;

/* A = B Bt, where B has n rows and fewer columns. */
static void draw(test_random *r, system *s) {
    s->n = 2 + test_below(r, MOST - 1);
    const size_t rank = test_below(r, s->n);
    memset(s->a, 0, sizeof s->a);
    for (size_t k = 0; k < rank; k++) {
        double b[MOST];
        for (size_t i = 0; i < s->n; i++)
            b[i] = test_below(r, 3) ? 0 : (double)test_below(r, 19) - 9;
        for (size_t i = 0; i < s->n; i++) {
            for (size_t j = 0; j < s->n; j++)
                s->a[i][j] += b[i] * b[j];
        }
    }
}

static void give(weft_context *ctx, system *s) {
    int64_t row[MOST * MOST], col[MOST * MOST];
    double value[MOST * MOST];
    size_t entries = 0;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            if (s->a[i][j] == 0)
                continue;
            row[entries] = (int64_t)i;
            col[entries] = (int64_t)j;
            value[entries++] = s->a[i][j];
        }
    }
    if (weft_sparse_create_triplets(ctx, &s->matrix, WEFT_SYMMETRIC_LOWER, s->n, s->n, entries,
                                    WEFT_I64, row, col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

/* Checks that A d is 0 within rounding, and d is not 0. */
static void check_null_vector(const system *s, const double *d) {
    double entry = 0, length = 0;
    for (size_t i = 0; i < s->n; i++) {
        entry = fmax(entry, s->a[i][i]);
        length += fabs(d[i]);
    }
    assert_true(length >= 1);
    for (size_t i = 0; i < s->n; i++) {
        long double sum = 0;
        for (size_t j = 0; j < s->n; j++)
            sum += (long double)s->a[i][j] * d[j];
        if (!(fabsl(sum) <= 1e-13L * entry * length))
            fail_msg("row %zu: A d is %Lg, of %g", i, sum, entry * length);
    }
}

/* Kernels are slow on emu. */
static size_t rounds_on(const weft_context *ctx) {
    return ctx->kind == WI_CPU ? ROUNDS : ROUNDS / 5;
}

static void singular(weft_context *ctx) {
    static system s;
    test_random r = test_random_at(1);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_sparse_ladder, rows);
    const size_t rounds = rounds_on(ctx);
    size_t told = 0, untold = 0;
    for (size_t round = 0; round < rounds; round++) {
        draw(&r, &s);
        give(ctx, &s);
        weft_chol *plan;
        double d[MOST], condition;
        assert_int_equal(weft_chol_analyze(ctx, s.matrix, NULL, &plan), WEFT_OK);
        test_use(ctx, "sparse", rows[round % count]);
        const weft_status status = weft_chol_factor(ctx, plan, s.matrix);
        if (status == WEFT_OK) { /* each zero pivot was rounded up */
            assert_int_equal(weft_chol_condition(ctx, plan, s.matrix, &condition), WEFT_OK);
            if (!(condition >= 1e13))
                fail_msg("round %zu: condition %g", round, condition);
        } else if (status == WEFT_ENOTSPD) { /* what came after was rounding error only */
            untold++;
        } else {
            test_refused(ctx, status, WEFT_ESINGULAR, "weft_chol_factor", "singular");
            assert_int_equal(weft_chol_direction(ctx, plan, d), WEFT_OK);
            check_null_vector(&s, d);
            told++;
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(s.matrix);
    }
    assert_true(told >= rounds / 4);
    assert_true(untold <= rounds / 100 + 1);
}

/* B Bt + 1 is definite; with a diagonal entry below 0 it is neither that nor singular. */
static void not_singular(weft_context *ctx) {
    static system s;
    test_random r = test_random_at(2);
    const size_t rounds = rounds_on(ctx);
    for (size_t round = 0; round < rounds; round++) {
        const bool definite = round % 2;
        draw(&r, &s);
        for (size_t i = 0; i < s.n; i++)
            s.a[i][i] += 1;
        const size_t chosen = test_below(&r, s.n);
        if (!definite)
            s.a[chosen][chosen] = -0x1p-8;
        give(ctx, &s);
        weft_chol *plan;
        assert_int_equal(weft_chol_analyze(ctx, s.matrix, NULL, &plan), WEFT_OK);
        assert_int_equal(weft_chol_factor(ctx, plan, s.matrix), definite ? WEFT_OK : WEFT_ENOTSPD);
        weft_chol_destroy(plan);
        weft_sparse_destroy(s.matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(singular),
        TEST_ON_EACH_PLACE(not_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
