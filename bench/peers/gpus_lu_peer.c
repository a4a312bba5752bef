/* SPDX-License-Identifier: Apache-2.0 */
/* Races the rungs of lu over all GPUs of a place against one of them, on the same random matrices:
 * one JSON object a line. Each answer is checked by the residual of a system that is solved with
 * the factors; a wrong one ends the program with status 1. Matrices lie where weft_alloc of each
 * place puts them.
 *
 *   gpus_lu_peer [PLACE [ONE [N ...]]]    on PLACE (gpus) and ONE (gpu:0), of order N (8192 16384
 * 32768) */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/weft.h>

enum {
    NOTHING_TO_RACE = 77,
    SAMPLES = 5,
    COLUMNS_MOST = 8192, /* the largest order of rung ranks_columns */
    RATIO = 16           /* what HPL's residual may be */
};

/* One of the two places. */
typedef struct side {
    weft_context *ctx;
    double *a, *b;
    int64_t *pivot;
} side;

static size_t n;

static void check(const side *s, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "gpus_lu_peer: %s\n", weft_message(s->ctx));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* The median time of SAMPLES factorizations. */
static double measure(const side *s, const double *matrix) {
    double seconds[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) {
        check(s, weft_copy(s->ctx, s->a, matrix, n * n * sizeof *s->a));
        check(s, weft_sync(s->ctx));
        const double begin = now();
        check(s, weft_lu_factor(s->ctx, 0, WEFT_F64, n, n, s->a, n, s->pivot));
        seconds[k] = now() - begin;
    }
    qsort(seconds, SAMPLES, sizeof *seconds, by_value);
    return seconds[SAMPLES / 2];
}

/* Solves A x = b with the factors of the last run, and returns |b - A x| / ((|A| |x| + |b|) n u) in
 * the largest norm; `original` holds A. */
static double residual(const side *s, const side *original, const double *b) {
    double *const x = malloc(n * sizeof *x), *const r = malloc(n * sizeof *r);
    double size_x = 0, size_r = 0;
    if (!x || !r)
        exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = r[i] = b[i];
    check(s, weft_lu_solve(s->ctx, 0, WEFT_F64, n, 1, s->a, n, s->pivot, x, n));
    check(original, weft_gemm(original->ctx, 0, WEFT_F64, WEFT_F64, n, 1, n, -1, original->b, n, x,
                              n, 1, r, n));
    for (size_t i = 0; i < n; i++) {
        size_x = fmax(size_x, fabs(x[i]));
        size_r = fmax(size_r, fabs(r[i]));
    }
    free(x);
    free(r);
    const double size_a = 0.5 * (double)n; /* of numbers from -1 to 1 */
    return size_r / ((size_a * size_x + 1) * (double)n * DBL_EPSILON);
}

static bool report(const char *rung, const side *s, double seconds, double one_seconds,
                   double ratio) {
    const double order = (double)n, flops = 2 * order * order * order / 3;
    printf("{\"op\": \"lu\", \"variant\": \"%s\", \"n\": %zu, \"type\": \"f64\", \"place\": "
           "\"%s\", \"comm\": \"%s\", \"seconds\": %.6e, \"one_seconds\": %.6e, \"TF_per_s\": "
           "%.2f, \"times\": %.3f, \"residual\": %.3g%s}\n",
           rung, n, weft_place(s->ctx), weft_comm(s->ctx), seconds, one_seconds,
           1e-12 * flops / seconds, one_seconds / seconds, ratio,
           ratio <= RATIO ? "" : ", \"wrong\": 1");
    fflush(stdout);
    return ratio <= RATIO;
}

static void take(side *s) {
    check(s, weft_alloc(s->ctx, (void **)&s->a, n * n * sizeof *s->a));
    s->pivot = malloc(n * sizeof *s->pivot);
    if (!s->pivot)
        exit(1);
}

static void give(side *s) {
    check(s, weft_free(s->ctx, s->a));
    free(s->pivot);
}

static bool race(side *one, side *all) {
    static const char *const rungs[] = {"ranks", "ranks_blocks", "ranks_columns"};
    double *const matrix = malloc(n * n * sizeof *matrix), *const b = malloc(n * sizeof *b);
    uint64_t state = n;
    bool right = true;
    if (!matrix || !b)
        return false;
    for (size_t e = 0; e < n * n + n; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = (double)(int64_t)state * 0x1p-63;
        *(e < n * n ? &matrix[e] : &b[e - n * n]) = x;
    }
    take(one), take(all);
    check(one, weft_alloc(one->ctx, (void **)&one->b, n * n * sizeof *matrix));
    check(one, weft_copy(one->ctx, one->b, matrix, n * n * sizeof *matrix));
    const double seconds = measure(one, matrix);
    right = report(weft_used(one->ctx, "lu"), one, seconds, seconds, residual(one, one, b));
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs; k++) {
        if (k == 2 && n > COLUMNS_MOST)
            continue;
        check(all, weft_use(all->ctx, "lu", rungs[k]));
        const double all_seconds = measure(all, matrix);
        right = report(rungs[k], all, all_seconds, seconds, residual(all, one, b)) && right;
    }
    check(one, weft_free(one->ctx, one->b));
    give(one), give(all);
    free(matrix), free(b);
    return right;
}

static void open_side(side *s, const char *place) {
    if (weft_open(&s->ctx, place) == WEFT_OK)
        return;
    fprintf(stderr, "gpus_lu_peer: %s\n", weft_message(NULL));
    exit(NOTHING_TO_RACE);
}

int main(int argc, char **argv) {
    static const size_t orders[] = {8192, 16384, 32768};
    side one = {0}, all = {0};
    bool right = true;
    open_side(&one, argc > 2 ? argv[2] : "gpu:0");
    open_side(&all, argc > 1 ? argv[1] : "gpus");
    for (int k = 3; k < (argc > 3 ? argc : 6); k++) {
        n = argc > 3 ? strtoull(argv[k], NULL, 10) : orders[k - 3];
        right = race(&one, &all) && right;
    }
    weft_close(one.ctx);
    weft_close(all.ctx);
    return right ? 0 : 1;
}
