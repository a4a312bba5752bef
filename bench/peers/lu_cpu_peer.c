/* SPDX-License-Identifier: Apache-2.0 */
/* Races weft_lu_factor and weft_cholesky_factor on a cpu against OpenBLAS's getrf and potrf, which
 * are the rungs "openblas": the same array, in turns, each turn on a fresh copy that is not timed.
 * One JSON object a line; the least of all turns counts, of the clock and of the time that all
 * threads spent together, for other programs may take part of the machine. Each result is tried by
 * solving a system with it. `lu_cpu_peer [PLACE [N...]]`, cpu:2 if none is named. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/weft.h"

enum {
    NOTHING_TO_RACE = 77,
    LEAST_TURNS = 5,
    MOST_TURNS = 99,
    MOST_SIZES = 16
};

typedef struct race {
    weft_context *ctx;
    weft_type type;
    bool symmetric;
    size_t n;
    void *fresh, *a;
    double *x, *b; /* A x = b */
    void *solution;
    int64_t *pivot;
} race;

static void require(weft_context *ctx, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "lu_cpu_peer: %s\n", weft_message(ctx));
    exit(1);
}

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double value_at(weft_type type, const void *x, size_t k) {
    return type == WEFT_F64 ? ((const double *)x)[k] : (double)((const float *)x)[k];
}

static void set(weft_type type, void *x, size_t k, double value) {
    if (type == WEFT_F64)
        ((double *)x)[k] = value;
    else
        ((float *)x)[k] = (float)value;
}

static void *take(size_t bytes) {
    void *const p = calloc(1, bytes);
    if (!p) {
        fprintf(stderr, "lu_cpu_peer: no memory\n");
        exit(1);
    }
    return p;
}

/* Elements up to 1/2; a symmetric matrix has a diagonal that makes it positive definite. */
static void make(race *r) {
    const size_t n = r->n, width = weft_type_size(r->type);
    uint64_t seed = 1;
    r->fresh = take(n * n * width);
    r->a = take(n * n * width);
    r->solution = take(n * width);
    r->x = take(n * sizeof *r->x);
    r->b = take(n * sizeof *r->b);
    r->pivot = take(n * sizeof *r->pivot);
    for (size_t j = 0; j < n; j++)
        for (size_t i = r->symmetric ? j : 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const double random = (double)(seed >> 33) * 0x1p-31 - 0.5;
            const double entry = r->symmetric && i == j ? (double)n : random;
            set(r->type, r->fresh, i + j * n, entry);
            if (r->symmetric)
                set(r->type, r->fresh, j + i * n, entry);
        }
    for (size_t j = 0; j < n; j++)
        r->x[j] = 1 + (double)(j % 7);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            r->b[i] += value_at(r->type, r->fresh, i + j * n) * r->x[j];
}

static void drop(race *r) {
    free(r->fresh);
    free(r->a);
    free(r->solution);
    free(r->x);
    free(r->b);
    free(r->pivot);
}

static void factor(race *r) {
    const size_t n = r->n;
    require(r->ctx, r->symmetric ? weft_cholesky_factor(r->ctx, 0, r->type, n, r->a, n)
                                 : weft_lu_factor(r->ctx, 0, r->type, n, n, r->a, n, r->pivot));
}

/* The solution of A x = b, within what the type allows. */
static void check(race *r, const char *who) {
    const size_t n = r->n;
    for (size_t i = 0; i < n; i++)
        set(r->type, r->solution, i, r->b[i]);
    require(r->ctx,
            r->symmetric
                ? weft_cholesky_solve(r->ctx, 0, r->type, n, 1, r->a, n, r->solution, n)
                : weft_lu_solve(r->ctx, 0, r->type, n, 1, r->a, n, r->pivot, r->solution, n));
    const double allowed = (r->type == WEFT_F64 ? 1e-13 : 1e-4) * (double)n * 100;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(value_at(r->type, r->solution, i) - r->x[i]) <= allowed)) {
            fprintf(stderr, "lu_cpu_peer: %s, n %zu: element %zu is %g, not %g\n", who, n, i,
                    value_at(r->type, r->solution, i), r->x[i]);
            exit(1);
        }
}

typedef struct least {
    double seconds, busy; /* by the clock, and of all threads together */
} least;

static double turn(race *r, const char *variant, least *best) {
    require(r->ctx, weft_use(r->ctx, r->symmetric ? "cholesky" : "lu", variant));
    memcpy(r->a, r->fresh, r->n * r->n * weft_type_size(r->type));
    const double begin = seconds_of(CLOCK_MONOTONIC), busy = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    factor(r);
    const double took = seconds_of(CLOCK_MONOTONIC) - begin;
    const double worked = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - busy;
    best->seconds = took < best->seconds ? took : best->seconds;
    best->busy = worked < best->busy ? worked : best->busy;
    check(r, variant ? variant : "weft");
    return took;
}

static void run(weft_context *ctx, weft_type type, bool symmetric, size_t n) {
    const char *const op = symmetric ? "cholesky" : "lu";
    const double flops = (double)n * (double)n * (double)n * (symmetric ? 1 : 2) / 3;
    race r = {.ctx = ctx, .type = type, .symmetric = symmetric, .n = n};
    least ours = {INFINITY, INFINITY}, theirs = ours;
    double total = 0;
    make(&r);
    for (int turns = 0; turns < LEAST_TURNS || (total < 2 && turns < MOST_TURNS); turns++) {
        total += turn(&r, "openblas", &theirs);
        total += turn(&r, NULL, &ours);
    }
    printf("{\"op\": \"%s\", \"variant\": \"%s\", \"peer\": \"OpenBLAS\", \"place\": \"%s\", "
           "\"type\": \"%s\", \"n\": %zu, \"seconds\": %.4g, \"peer_seconds\": %.4g, "
           "\"busy_seconds\": %.4g, \"peer_busy_seconds\": %.4g, \"gflops\": %.3g, "
           "\"peer_gflops\": %.3g, \"speedup\": %.3f, \"busy_speedup\": %.3f}\n",
           op, weft_used(ctx, op), weft_place(ctx), weft_type_name(type), n, ours.seconds,
           theirs.seconds, ours.busy, theirs.busy, 1e-9 * flops / ours.seconds,
           1e-9 * flops / theirs.seconds, theirs.seconds / ours.seconds, theirs.busy / ours.busy);
    fflush(stdout);
    drop(&r);
}

int main(int argc, char **argv) {
    size_t sizes[MOST_SIZES] = {64, 256, 1000, 2000, 4000}, count = 5;
    weft_context *ctx;
    require(NULL, weft_open(&ctx, argc > 1 ? argv[1] : "cpu:2"));
    for (int k = 2; k < argc && k - 2 < MOST_SIZES; k++)
        sizes[(count = (size_t)k - 1) - 1] = strtoull(argv[k], NULL, 10);
    double one = 1;
    if (weft_use(ctx, "cholesky", "openblas") != WEFT_OK ||
        weft_cholesky_factor(ctx, 0, WEFT_F64, 1, &one, 1) != WEFT_OK) {
        fprintf(stderr, "lu_cpu_peer: %s\n", weft_message(ctx));
        weft_close(ctx);
        return NOTHING_TO_RACE;
    }
    for (size_t k = 0; k < count; k++)
        for (int which = 0; which < 4; which++)
            run(ctx, which & 1 ? WEFT_F32 : WEFT_F64, which & 2, sizes[k]);
    weft_close(ctx);
    return 0;
}
