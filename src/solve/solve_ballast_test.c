/* SPDX-License-Identifier: Apache-2.0 */
/* Host matrices that do not fit what is free of a GPU: a ballast takes all but some of its memory,
 * so that systems of an order that fits host memory easily are streamed. They say so, their answers
 * are right, and the time that it takes is told beside that in memory. Without a GPU, and on emu,
 * where a limit is lowered instead (*_streamed_test), there is nothing to do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu_limits.h"
#include "testing.h"
#include "weft/cholesky.h"
#include "weft/lu.h"
#include "weft/solve.h"

enum {
    ORDER = 20000, /* 3.2e9 bytes */
    SLICE = 64,    /* rows whose residuals are summed up together, */
    APART = 1024   /* from one such slice to the next: they stand for all */
};

static const size_t left_free = (size_t)5 << 29; /* 2.5 GiB */

typedef struct problem {
    size_t n;
    bool spd;
    double *a, *b, *f, *x; /* by columns; f and x are written */
    int64_t *pivot;
} problem;

static double *numbers(size_t n) {
    double *const p = malloc(n * sizeof *p);
    assert_non_null(p);
    return p;
}

static problem make(size_t n, bool spd) {
    const problem p = {n,
                       spd,
                       numbers(n * n),
                       numbers(n),
                       numbers(n * n),
                       numbers(n),
                       malloc(n * sizeof(int64_t))};
    assert_non_null(p.pivot);
    for (size_t j = 0; j < n; j++) {
        test_random r = test_random_at(j);
        p.b[j] = test_unit(&r);
        for (size_t i = 0; i < n; i++)
            p.a[i + j * n] = test_unit(&r);
        p.a[j + j * n] += spd ? (double)n : 0;
    }
    return p;
}

static void drop(problem *p) {
    free(p->a);
    free(p->b);
    free(p->f);
    free(p->x);
    free(p->pivot);
}

/* Of a symmetric matrix the lower triangle counts. */
static double element(const problem *p, size_t i, size_t j) {
    return p->spd && i < j ? p->a[j + i * p->n] : p->a[i + j * p->n];
}

/* The largest |b - A x| / (|A| |x| + |b|) of these rows. */
static double error_of_rows(const problem *p, size_t first, size_t end) {
    long double rest[SLICE];
    double size[SLICE], worst = 0;
    for (size_t i = first; i < end; i++) {
        rest[i - first] = p->b[i];
        size[i - first] = fabs(p->b[i]);
    }
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = first; i < end; i++) {
            const double product = element(p, i, j) * p->x[j];
            rest[i - first] -= (long double)element(p, i, j) * p->x[j];
            size[i - first] += fabs(product);
        }
    for (size_t i = first; i < end; i++) {
        const double error = (double)fabsl(rest[i - first]) / size[i - first];
        worst = error <= worst ? worst : error;
    }
    return worst;
}

static void check(const problem *p, double seconds, const char *what) {
    const double most = 4 * 0x1p-53 * sqrt((double)p->n);
    double worst = 0;
    for (size_t first = p->n % APART / 2; first < p->n; first += APART) {
        const size_t end = first + SLICE < p->n ? first + SLICE : p->n;
        const double error = error_of_rows(p, first, end);
        worst = error <= worst ? worst : isnan(error) ? (double)INFINITY : error;
    }
    print_message("%s, n %zu: %.3g s, backward error %.3g\n", what, p->n, seconds, worst);
    if (!(worst <= most))
        fail_msg("%s: the backward error is %.3g", what, worst);
}

static void factor(weft_context *ctx, problem *p, bool streamed) {
    const size_t n = p->n;
    char what[64];
    memcpy(p->f, p->a, n * n * sizeof *p->f);
    memcpy(p->x, p->b, n * sizeof *p->x);
    const double begin = wi_now();
    weft_status status = p->spd ? weft_cholesky_factor(ctx, 0, WEFT_F64, n, p->f, n)
                                : weft_lu_factor(ctx, 0, WEFT_F64, n, n, p->f, n, p->pivot);
    const double seconds = wi_now() - begin;
    const char *const used = weft_used(ctx, p->spd ? "cholesky" : "lu");
    snprintf(what, sizeof what, "factors%s%s", p->spd ? ", spd" : "", streamed ? ", streamed" : "");
    if (status == WEFT_OK)
        status = p->spd ? weft_cholesky_solve(ctx, 0, WEFT_F64, n, 1, p->f, n, p->x, n)
                        : weft_lu_solve(ctx, 0, WEFT_F64, n, 1, p->f, n, p->pivot, p->x, n);
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    assert_int_equal(strcmp(used, "streamed") == 0, streamed);
    check(p, seconds, what);
}

static void solve(weft_context *ctx, problem *p, weft_precision precision, int streamed) {
    const size_t n = p->n;
    const weft_solve_options options = {.size = sizeof options, .precision = precision};
    weft_report report = {.size = sizeof report};
    char what[64];
    snprintf(what, sizeof what, "solve%s%s, streamed %d", p->spd ? ", spd" : "",
             precision == WEFT_PRECISION_MIXED ? ", mixed" : "", streamed);
    const double begin = wi_now();
    const weft_status status = (p->spd ? weft_solve_spd : weft_solve)(
        ctx, 0, WEFT_F64, n, 1, p->a, n, p->b, n, p->x, n, &options, &report);
    const double seconds = wi_now() - begin;
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    assert_int_equal(report.streamed, streamed);
    check(p, seconds, what);
}

/* Once in memory and once beside the ballast; then with factors of f32 beside one that they fit. */
static void beside_ballast(weft_context *ctx, problem *p) {
    void *ballast, *less;
    solve(ctx, p, WEFT_PRECISION_FULL, 0);
    factor(ctx, p, false);
    const size_t bytes = wi_gpu_free_bytes(ctx);
    assert_true(bytes > left_free);
    assert_int_equal(weft_alloc(ctx, &ballast, bytes - left_free), WEFT_OK);
    factor(ctx, p, true);
    solve(ctx, p, WEFT_PRECISION_FULL, 2);
    assert_int_equal(weft_free(ctx, ballast), WEFT_OK);
    assert_int_equal(weft_alloc(ctx, &less, bytes - 2 * left_free), WEFT_OK);
    solve(ctx, p, WEFT_PRECISION_FULL, 1);
    assert_int_equal(weft_free(ctx, less), WEFT_OK);
}

static void ballast(weft_context *ctx) {
    const char *const place = weft_place(ctx);
    const bool one_gpu = strncmp(place, "gpu", 3) == 0 && strncmp(place, "gpus", 4) != 0;
    for (int spd = 0; spd < 2 && one_gpu; spd++) {
        problem p = make(ORDER, spd);
        beside_ballast(ctx, &p);
        drop(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(ballast)};
    return cmocka_run_group_tests_name("solve_ballast", tests, NULL, NULL);
}
