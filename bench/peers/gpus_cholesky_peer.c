/* SPDX-License-Identifier: Apache-2.0 */
/* Races cholesky over all GPUs of a place against one of them, on the same symmetric matrices: one
 * JSON object a line. Factors of both are compared; a difference, or a change of the other
 * triangle, ends the program with status 1. Matrices lie where weft_alloc of each place puts them.
 *
 *   gpus_cholesky_peer [TYPE [N ...]]    f64 or f32 (f64), of order N (16384 32768) */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weft/weft.h"

enum {
    NOTHING_TO_RACE = 77,
    SAMPLES = 5,
    PERIOD = 1 << 20, /* of random numbers */
    STRIP = 32,       /* columns that are made at once */
    COMPARED = 97     /* columns, about */
};

/* A place, with a matrix that is factored there and one that is kept. */
typedef struct side {
    weft_context *ctx;
    char *a, *kept, *column; /* the last in host memory, with room for a strip */
} side;

static size_t n, width;
static weft_type type = WEFT_F64;
static float numbers[PERIOD];

static void check(const side *s, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "gpus_cholesky_peer: %s\n", weft_message(s->ctx));
    exit(1);
}

/* Element (i, j): only the lower triangle counts, and its diagonal outweighs the rest. */
static double element(size_t i, size_t j) {
    return i == j ? (double)n : (double)numbers[(i + j * 7919) % PERIOD];
}

static double value(const char *column, size_t i) {
    return type == WEFT_F64 ? ((const double *)(const void *)column)[i]
                            : (double)((const float *)(const void *)column)[i];
}

static void fill(char *columns, size_t first, size_t count) {
    for (size_t j = first; j < first + count; j++, columns += n * width)
        for (size_t i = 0; i < n; i++) {
            if (type == WEFT_F64)
                ((double *)(void *)columns)[i] = element(i, j);
            else
                ((float *)(void *)columns)[i] = (float)element(i, j);
        }
}

static void take(side *s) {
    s->column = malloc(STRIP * n * width);
    if (!s->column)
        exit(1);
    check(s, weft_alloc(s->ctx, (void **)&s->a, n * n * width));
    check(s, weft_alloc(s->ctx, (void **)&s->kept, n * n * width));
    for (size_t j = 0; j < n; j += STRIP) {
        const size_t count = n - j < STRIP ? n - j : STRIP;
        fill(s->column, j, count);
        check(s, weft_copy(s->ctx, s->kept + j * n * width, s->column, count * n * width));
    }
}

static void give(side *s) {
    check(s, weft_free(s->ctx, s->a));
    check(s, weft_free(s->ctx, s->kept));
    free(s->column);
}

static int by_value(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double measure(const side *s) {
    double seconds[SAMPLES];
    for (int k = -1; k < SAMPLES; k++) {
        check(s, weft_copy(s->ctx, s->a, s->kept, n * n * width));
        check(s, weft_sync(s->ctx));
        const double begin = now();
        check(s, weft_cholesky_factor(s->ctx, 0, type, n, s->a, n));
        if (k >= 0)
            seconds[k] = now() - begin;
    }
    qsort(seconds, SAMPLES, sizeof *seconds, by_value);
    return seconds[SAMPLES / 2];
}

/* The largest difference of some columns, in units of the largest elements; NaN if the other
 * triangle has changed. */
static double difference(const side *one, const side *all) {
    const double unit = ldexp(sqrt((double)n), type == WEFT_F64 ? -53 : -24);
    double worst = 0;
    for (size_t j = 0; j < n; j += n / COMPARED + 1) {
        check(one, weft_copy(one->ctx, one->column, one->a + j * n * width, n * width));
        check(all, weft_copy(all->ctx, all->column, all->a + j * n * width, n * width));
        for (size_t i = 0; i < n; i++) {
            const double x = value(one->column, i), y = value(all->column, i);
            if (i < j && y != element(i, j))
                return (double)NAN;
            if (!(fabs(x - y) <= worst * unit))
                worst = fabs(x - y) / unit;
        }
    }
    return worst;
}

static void print(const side *s, double seconds, double one_seconds) {
    const double order = (double)n;
    printf("{\"op\": \"cholesky\", \"variant\": \"%s\", \"n\": %zu, \"type\": \"%s\", \"place\": "
           "\"%s\", \"comm\": \"%s\", \"seconds\": %.6e, \"TF_per_s\": %.2f, \"times\": %.3f}\n",
           weft_used(s->ctx, "cholesky"), n, weft_type_name(type), weft_place(s->ctx),
           weft_comm(s->ctx), seconds, 1e-12 * order * order * order / 3 / seconds,
           one_seconds / seconds);
    fflush(stdout);
}

static bool race(side *one, side *all) {
    const double most = 64; /* units */
    take(one), take(all);
    const double one_seconds = measure(one), all_seconds = measure(all);
    print(one, one_seconds, one_seconds);
    print(all, all_seconds, one_seconds);
    const double units = difference(one, all);
    if (!(units <= most))
        fprintf(stderr, "gpus_cholesky_peer: factors differ by %g units\n", units);
    give(one), give(all);
    return units <= most;
}

int main(int argc, char **argv) {
    static const size_t orders[] = {16384, 32768};
    side one = {0}, all = {0};
    uint64_t state = 1;
    bool right = true;
    type = argc > 1 && strcmp(argv[1], "f32") == 0 ? WEFT_F32 : WEFT_F64;
    width = weft_type_size(type);
    for (size_t e = 0; e < PERIOD; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        numbers[e] = (float)(int32_t)(state >> 32) * 0x1p-31F;
    }
    if (weft_open(&one.ctx, "gpu:0") != WEFT_OK || weft_open(&all.ctx, "gpus") != WEFT_OK) {
        fprintf(stderr, "gpus_cholesky_peer: %s\n", weft_message(NULL));
        return NOTHING_TO_RACE;
    }
    for (int k = 2; k < (argc > 2 ? argc : 4); k++) {
        n = argc > 2 ? strtoull(argv[k], NULL, 10) : orders[k - 2];
        right = race(&one, &all) && right;
    }
    weft_close(one.ctx);
    weft_close(all.ctx);
    return right ? 0 : 1;
}
