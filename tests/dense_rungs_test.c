/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of lu, cholesky, solve and solve_batch once with each type, on one system of an order
 * at which it has several of its blocks: so few kernels that tools which slow them down a
 * hundredfold (compute-sanitizer's racecheck) end within a minute. A large one of cholesky besides.
 * Answers are held to the backward error; rungs that take long are named. WEFT_TEST_ONLY=lu,
 * cholesky, ...: that ladder alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cholesky/cholesky.h"
#include "lu/lu.h"
#include "solve/system.h"
#include "solve_batch/solve_batch.h"
#include "testing.h"
#include "weft/solve.h"
#include "weft/solve_batch.h"

typedef struct linear {
    weft_type type;
    size_t n, count; /* systems, one behind the other */
    void *a, *b, *kept, *right;
    int64_t *pivot;
    int32_t *pivots, *info;
} linear;

typedef weft_status solver(weft_context *ctx, linear *s);

static double value(weft_type type, const void *x, size_t k) {
    return type == WEFT_F64 ? ((const double *)x)[k] : (double)((const float *)x)[k];
}
static void set(weft_type type, void *x, size_t k, double v) {
    if (type == WEFT_F64)
        ((double *)x)[k] = v;
    else
        ((float *)x)[k] = (float)v;
}
static void *some(size_t bytes) {
    void *const p = malloc(bytes);
    assert_non_null(p);
    return p;
}

/* Symmetric; with a large diagonal positive definite as well. */
static linear linear_of(weft_type type, size_t n, size_t count, bool definite) {
    const size_t width = test_size_of(type), all = n * n * count;
    linear s = {type,
                n,
                count,
                some(all * width),
                some(n * count * width),
                some(all * width),
                some(n * count * width),
                some(n * sizeof(int64_t)),
                some(n * count * sizeof(int32_t)),
                some(count * sizeof(int32_t))};
    test_random random = test_random_at(n);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                const double x = test_unit(&random) + (definite && i == j ? 2 * (double)n : 0);
                set(type, s.a, (c * n + i) * n + j, x);
                set(type, s.a, (c * n + j) * n + i, x);
            }
            set(type, s.b, c * n + i, test_unit(&random));
        }
    memcpy(s.kept, s.a, all * width);
    memcpy(s.right, s.b, n * count * width);
    return s;
}
static void free_linear(linear *s) {
    void *const all[] = {s->a, s->b, s->kept, s->right, s->pivot, s->pivots, s->info};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

/* |b - A x| <= ratio n eps (|A| |x| + |b|), in the largest elements. */
static void check(const linear *s, const char *what) {
    const double eps = s->type == WEFT_F64 ? ldexp(1, -52) : ldexp(1, -23), ratio = 30;
    for (size_t c = 0; c < s->count; c++) {
        double rest = 0, size = 0;
        for (size_t i = 0; i < s->n; i++) {
            long double sum = value(s->type, s->right, c * s->n + i);
            double row = fabs((double)sum);
            for (size_t j = 0; j < s->n; j++) {
                const double a = value(s->type, s->kept, (c * s->n + i) * s->n + j);
                const double x = value(s->type, s->b, c * s->n + j);
                sum -= (long double)a * x;
                row += fabs(a * x);
            }
            rest = fmax(rest, fabs((double)sum));
            rest = sum - sum == 0 ? rest : INFINITY;
            size = fmax(size, row);
        }
        if (!(rest <= ratio * (double)s->n * eps * size))
            fail_msg("%s: a residual of %g, beside terms of %g", what, rest, size);
    }
}

/* ---- the calls ---- */

static weft_status by_lu(weft_context *ctx, linear *s) {
    const weft_status status = weft_lu_factor(ctx, 0, s->type, s->n, s->n, s->a, s->n, s->pivot);
    return status ? status
                  : weft_lu_solve(ctx, 0, s->type, s->n, 1, s->a, s->n, s->pivot, s->b, s->n);
}
static weft_status by_cholesky(weft_context *ctx, linear *s) {
    const weft_status status = weft_cholesky_factor(ctx, 0, s->type, s->n, s->a, s->n);
    return status ? status : weft_cholesky_solve(ctx, 0, s->type, s->n, 1, s->a, s->n, s->b, s->n);
}
static weft_status by_solve(weft_context *ctx, linear *s) {
    weft_report report = {.size = sizeof report};
    return weft_solve(ctx, 0, s->type, s->n, 1, s->a, s->n, s->b, s->n, s->b, s->n, NULL, &report);
}
static weft_status by_solve_spd(weft_context *ctx, linear *s) {
    weft_report report = {.size = sizeof report};
    return weft_solve_spd(ctx, 0, s->type, s->n, 1, s->a, s->n, s->b, s->n, s->b, s->n, NULL,
                          &report);
}
static weft_status by_batch(weft_context *ctx, linear *s) {
    const size_t n = s->n, square = n * n;
    const weft_status status = weft_lu_factor_batch_strided(ctx, 0, s->type, n, s->a, n, square,
                                                            s->pivots, s->info, s->count);
    return status ? status
                  : weft_lu_solve_batch_strided(ctx, 0, s->type, n, 1, s->a, n, square, s->pivots,
                                                s->b, n, n, s->count);
}
static weft_status by_batch_at_once(weft_context *ctx, linear *s) {
    return weft_solve_batch_strided(ctx, 0, s->type, s->n, 1, s->a, s->n, s->n * s->n, s->b, s->n,
                                    s->n, s->info, s->count);
}
static weft_status by_batch_spd(weft_context *ctx, linear *s) {
    return weft_solve_spd_batch_strided(ctx, 0, s->type, s->n, 1, s->a, s->n, s->n * s->n, s->b,
                                        s->n, s->n, s->info, s->count);
}

/* ---- every rung ---- */

/* Rungs that launch kernels for each column have small matrices. */
static size_t order_of(const wi_ladder *ladder, const char *rung, size_t usual) {
    static const char *const by_columns[] = {"three_kernels", "columns", "serial", "panels",
                                             "halves"};
    enum {
        FEW = 37,
        SOME = 70 /* three panels */
    };
    for (size_t k = 0; k < sizeof by_columns / sizeof *by_columns; k++)
        if (strcmp(rung, by_columns[k]) == 0) {
            const size_t most = k < 3 ? FEW : SOME;
            return usual < most ? usual : most;
        }
#ifdef WEFT_EMU
    /* solve's rungs factor as those of lu and cholesky do, some twice, and refine for long */
    const size_t most = strcmp(ladder->op, "solve") == 0 ? FEW : 130;
    return usual < most ? usual : most;
#else
    (void)ladder;
    return usual;
#endif
}

static void run(weft_context *ctx, const wi_ladder *ladder, const wi_row *row, solver *solve,
                linear s, const char *call) {
    char what[128];
    const double start = wi_now();
    snprintf(what, sizeof what, "%s by %s %s of %s, order %zu, on %s", call, ladder->op, row->name,
             test_type_name(s.type), s.n, weft_place(ctx));
    assert_int_equal(weft_use(ctx, ladder->op, row->name), WEFT_OK);
    const weft_status status = solve(ctx, &s);
    if (status == WEFT_OK)
        check(&s, what);
    else if (status != WEFT_EUNSUPPORTED)
        fail_msg("%s: %s", what, weft_message(ctx));
    if (wi_now() - start > 0.1)
        print_message("%s: %.2f s\n", what, wi_now() - start);
    assert_int_equal(weft_use(ctx, ladder->op, NULL), WEFT_OK);
    free_linear(&s);
}

static bool wanted(const char *op) {
    const char *const only = getenv("WEFT_TEST_ONLY");
    return !only || strcmp(only, op) == 0;
}

static void each_rung(weft_context *ctx, const wi_ladder *ladder, solver *solve, size_t usual,
                      size_t count, bool definite, const char *call) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t all = test_rows(ctx, ladder, rows);
    for (size_t k = 0; k + 1 < all && wanted(ladder->op); k++)
        for (int wide = 0; wide < 2; wide++) {
            const weft_type type = wide ? WEFT_F64 : WEFT_F32;
            size_t n = order_of(ladder, rows[k]->name, usual);
            while (!test_size_wanted(n))
                n /= 2;
            if (rows[k]->types & WI_TYPE(type))
                run(ctx, ladder, rows[k], solve, linear_of(type, n, count, definite), call);
        }
}

static void factors(weft_context *ctx) {
    each_rung(ctx, &wi_lu_ladder, by_lu, 300, 1, false, "lu");
    each_rung(ctx, &wi_cholesky_ladder, by_cholesky, 460, 1, true, "cholesky");
}
#ifndef WEFT_EMU
/* On a GPU, which alone has a kernel for matrices of so many tiles; of these 65 the last row has no
 * second one beside it. Not under tools that slow kernels down. */
static void large(weft_context *ctx) {
    const size_t n = 4112;
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t all = test_rows(ctx, &wi_cholesky_ladder, rows);
    for (size_t k = 0; k + 1 < all && test_size_wanted(n * n) && wanted("cholesky"); k++)
        if (strcmp(rows[k]->name, "flow") == 0)
            run(ctx, &wi_cholesky_ladder, rows[k], by_cholesky, linear_of(WEFT_F64, n, 1, true),
                "cholesky");
}
#endif
static void solutions(weft_context *ctx) {
    each_rung(ctx, &wi_solve_ladder, by_solve, 200, 1, false, "solve");
    each_rung(ctx, &wi_solve_ladder, by_solve_spd, 200, 1, true, "solve_spd");
}
static void batches(weft_context *ctx) {
    static const size_t orders[] = {7, 16, 31, 47};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        each_rung(ctx, &wi_solve_batch_ladder, by_batch, orders[k], 9, false, "factors");
        each_rung(ctx, &wi_solve_batch_ladder, by_batch_at_once, orders[k], 9, false, "systems");
        each_rung(ctx, &wi_solve_batch_ladder, by_batch_spd, orders[k], 9, true, "definite");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(factors),
#ifndef WEFT_EMU
        TEST_ON_EACH_PLACE(large),
#endif
        TEST_ON_EACH_PLACE(solutions),
        TEST_ON_EACH_PLACE(batches),
    };
    return cmocka_run_group_tests_name("dense_rungs", tests, NULL, NULL);
}
