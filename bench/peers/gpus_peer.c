/* SPDX-License-Identifier: Apache-2.0 */
/* Races all GPUs of a place against one of them on the same data: one JSON object a line, with how
 * many times faster all are. Results of both places are compared before they are timed; a
 * difference ends the program with status 1. Arrays lie where weft_alloc of each place puts them.
 *
 *   gpus_peer [LOG2_N [PLACE [ONE [ORDER [OP]]]]]    2^LOG2_N elements of u32 (30), on PLACE
 * (gpus) and ONE (gpu:0); gemm of f64 matrices of ORDER (32768; 0: none), blend of two images of
 * 2^LOG2_N pixels of u8, n-body of 8 ORDER bodies of f32; OP alone, by its name below */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#include "clock.h"

enum {
    NOTHING_TO_RACE = 77,
    BLOCK = 1 << 24, /* random numbers, repeated */
    SAMPLES = 9,
    SLOW_SAMPLES = 3,
    BINS = 256,
    MOST_ARRAYS = 3
};

/* One of the two places. */
typedef struct side {
    weft_context *ctx;
    uint32_t *x, *y;
    void *more[MOST_ARRAYS]; /* of operations that are not on x and y */
    uint64_t count, counts[BINS];
    double seconds;
} side;

static size_t n, order;

static void check(const side *s, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "gpus_peer: %s\n", weft_message(s->ctx));
    exit(1);
}

/* ---- the operations: each leaves something in y, count or counts ---- */

static void run_add(side *s) {
    check(s, weft_add(s->ctx, WEFT_U32, n, s->x, s->x, s->y));
}

static void run_reduce(side *s) {
    check(s, weft_reduce(s->ctx, WEFT_SUM, WEFT_U32, n, s->x, &s->count));
}

static void run_scan(side *s) {
    check(s, weft_scan(s->ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_U32, n, s->x, s->y, NULL));
}

static void run_select(side *s) {
    const weft_predicate upper = {.test = WEFT_GT, .type = WEFT_U32, .a.u32 = 1u << 31};
    check(s, weft_select(s->ctx, upper, n, s->x, s->y, &s->count));
}

static void run_count(side *s) {
    const weft_predicate upper = {.test = WEFT_GT, .type = WEFT_U32, .a.u32 = 1u << 31};
    check(s, weft_select_count(s->ctx, upper, n, s->x, &s->count));
}

static void run_histogram(side *s) {
    check(s, weft_histogram(s->ctx, WEFT_U8, 4 * n, 1, s->x, NULL, WEFT_OVERWRITE, WEFT_U64,
                            s->counts, NULL));
}

static void run_sort(side *s) {
    check(s, weft_sort(s->ctx, WEFT_ASCENDING, WEFT_U32, n, s->x, s->y));
}

static void run_gemm(side *s) {
    check(s, weft_gemm(s->ctx, 0, WEFT_F64, WEFT_F64, order, order, order, 1, s->more[0], order,
                       s->more[1], order, 0, s->more[2], order));
}

static void run_blend(side *s) {
    const weft_blending b = {.type = WEFT_U8,
                             .width = n,
                             .height = 1,
                             .channels = 1,
                             .weight_a = 0.75,
                             .weight_b = 0.25};
    check(s, weft_blend(s->ctx, &b, s->more[0], s->more[1], NULL, s->more[2]));
}

static size_t bodies(void) {
    return 8 * order;
}

static void run_nbody(side *s) {
    const weft_nbody b = {.type = WEFT_F32, .n = bodies(), .softening = 0.01};
    check(s, weft_nbody_accelerations(s->ctx, &b, s->more[0], NULL, s->more[1], NULL, NULL));
}

/* ---- their own arrays: the first ones are filled ---- */

static void take(side *s, int k, size_t bytes, const void *block, size_t block_bytes) {
    check(s, weft_alloc(s->ctx, &s->more[k], bytes));
    for (size_t i = 0; block && i < bytes; i += block_bytes)
        check(s, weft_copy(s->ctx, (char *)s->more[k] + i, block,
                           bytes - i < block_bytes ? bytes - i : block_bytes));
}

/* Whole numbers from 0 to 15: sums are exact in any order. */
static void open_gemm(side *s, const uint32_t *block) {
    double *const small = malloc(BLOCK * sizeof *small);
    if (!small)
        exit(1);
    for (size_t i = 0; i < BLOCK; i++)
        small[i] = block[i] >> 28;
    for (int k = 0; k < 3; k++)
        take(s, k, order * order * sizeof *small, k < 2 ? small : NULL, BLOCK * sizeof *small);
    free(small);
}

static void open_blend(side *s, const uint32_t *block) {
    for (int k = 0; k < 3; k++)
        take(s, k, n, k < 2 ? block + k : NULL, (BLOCK - 1) * sizeof *block);
}

static void open_nbody(side *s, const uint32_t *block) {
    float *const small = malloc(BLOCK * sizeof *small);
    if (!small)
        exit(1);
    for (size_t i = 0; i < BLOCK; i++)
        small[i] = (float)block[i] * 0x1p-32F;
    take(s, 0, 4 * bodies() * sizeof *small, small, BLOCK * sizeof *small);
    take(s, 1, 3 * bodies() * sizeof *small, NULL, 0);
    free(small);
}

static void close_own(side *s) {
    for (int k = 0; k < MOST_ARRAYS; k++) {
        check(s, weft_free(s->ctx, s->more[k]));
        s->more[k] = NULL;
    }
}

/* ---- what they leave, as a number ---- */

static uint64_t of_product(side *s) {
    double sum;
    check(s, weft_reduce(s->ctx, WEFT_SUM, WEFT_F64, order * order, s->more[2], &sum));
    return (uint64_t)sum;
}

static uint64_t of_image(side *s) {
    uint64_t sum;
    check(s, weft_reduce(s->ctx, WEFT_SUM, WEFT_U8, n, s->more[2], &sum));
    return sum;
}

/* 2^-20 of it is rounding. */
static uint64_t of_accelerations(side *s) {
    float norm;
    check(s, weft_reduce(s->ctx, WEFT_NRM2, WEFT_F32, 3 * bodies(), s->more[1], &norm));
    return (uint64_t)((double)norm * 1e6);
}

static uint64_t of_y(side *s) {
    uint64_t sum;
    check(s, weft_reduce(s->ctx, WEFT_SUM, WEFT_U32, n, s->y, &sum));
    return sum;
}

static uint64_t of_count(side *s) {
    return s->count;
}

static uint64_t of_kept(side *s) {
    uint64_t sum;
    check(s, weft_reduce(s->ctx, WEFT_SUM, WEFT_U32, s->count, s->y, &sum));
    return sum ^ s->count;
}

static uint64_t of_counts(side *s) {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < BINS; k++)
        sum = sum * 31 + s->counts[k];
    return sum;
}

static uint64_t of_sorted(side *s) {
    uint64_t at;
    check(s, weft_is_sorted(s->ctx, WEFT_ASCENDING, WEFT_U32, n, s->y, &at));
    return at == WEFT_NOWHERE ? of_y(s) : 0;
}

/* bytes_each: read and written once, for each element; 0: work_of() counts something else. */
static const struct {
    const char *name;
    void (*run)(side *);
    uint64_t (*left)(side *);
    double bytes_each;
    void (*open)(side *, const uint32_t *);
    double slack; /* by which what they leave may differ */
    int samples;
} operations[] = {
    {"add", run_add, of_y, 8, NULL, 0, SAMPLES},
    {"reduce", run_reduce, of_count, 4, NULL, 0, SAMPLES},
    {"scan", run_scan, of_y, 8, NULL, 0, SAMPLES},
    {"select_half", run_select, of_kept, 6, NULL, 0, SAMPLES},
    {"count", run_count, of_count, 4, NULL, 0, SAMPLES},
    {"histogram_u8", run_histogram, of_counts, 4, NULL, 0, SAMPLES},
    {"sort", run_sort, of_sorted, 8, NULL, 0, SAMPLES},
    {"blend_u8", run_blend, of_image, 3, open_blend, 0, SAMPLES},
    {"gemm_f64", run_gemm, of_product, 0, open_gemm, 0, SLOW_SAMPLES},
    {"nbody_f32", run_nbody, of_accelerations, 0, open_nbody, 0x1p-20, SAMPLES},
};

/* Operations without bytes count additions and multiplications, or pairs of bodies. */
static double work_of(size_t k) {
    const double size = (double)(operations[k].run == run_gemm ? order : bodies());
    if (operations[k].bytes_each > 0)
        return operations[k].bytes_each * (double)n;
    return operations[k].run == run_gemm ? 2 * size * size * size : size * size;
}

static const char *unit_of(size_t k) {
    return operations[k].bytes_each > 0 ? "GB" : operations[k].run == run_gemm ? "GF" : "Gpairs";
}

/* ---- racing ---- */

static int by_value(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void measure(side *s, void (*run)(side *), int samples) {
    double seconds[SAMPLES];
    for (int k = 0; k < samples; k++) {
        check(s, weft_sync(s->ctx));
        const double begin = now();
        run(s);
        check(s, weft_sync(s->ctx));
        seconds[k] = now() - begin;
    }
    qsort(seconds, (size_t)samples, sizeof *seconds, by_value);
    s->seconds = seconds[samples / 2];
}

static bool race(side *one, side *all, size_t k, const uint32_t *block) {
    uint64_t left[2];
    side *const sides[2] = {one, all};
    for (int i = 0; i < 2; i++) {
        if (operations[k].open)
            operations[k].open(sides[i], block);
        operations[k].run(sides[i]);
        left[i] = operations[k].left(sides[i]);
    }
    const double apart = (double)(left[0] > left[1] ? left[0] - left[1] : left[1] - left[0]);
    const bool right = apart <= operations[k].slack * (double)left[0];
    if (right) {
        measure(one, operations[k].run, operations[k].samples);
        measure(all, operations[k].run, operations[k].samples);
    } else {
        printf("{\"op\": \"%s\", \"wrong\": \"%016" PRIx64 " and %016" PRIx64 "\"}\n",
               operations[k].name, left[0], left[1]);
    }
    for (int i = 0; i < 2 && operations[k].open; i++)
        close_own(sides[i]);
    return right;
}

static void print(const side *one, const side *all, size_t k) {
    const double work = 1e-9 * work_of(k);
    const char *const unit = unit_of(k);
    printf("{\"op\": \"%s\", \"n\": %zu, \"place\": \"%s\", \"comm\": \"%s\", "
           "\"one_seconds\": %.6e, \"all_seconds\": %.6e, \"one_%s_per_s\": %.1f, "
           "\"all_%s_per_s\": %.1f, \"times\": %.3f}\n",
           operations[k].name,
           operations[k].run == run_gemm    ? order
           : operations[k].run == run_nbody ? bodies()
                                            : n,
           weft_place(all->ctx), weft_comm(all->ctx), one->seconds, all->seconds, unit,
           work / one->seconds, unit, work / all->seconds, one->seconds / all->seconds);
    fflush(stdout);
}

static void open_side(side *s, const char *place, const uint32_t *block) {
    if (weft_open(&s->ctx, place) != WEFT_OK) {
        fprintf(stderr, "gpus_peer: %s\n", weft_message(NULL));
        exit(NOTHING_TO_RACE);
    }
    check(s, weft_alloc(s->ctx, (void **)&s->x, 4 * n));
    check(s, weft_alloc(s->ctx, (void **)&s->y, 4 * n));
    for (size_t i = 0; i < n; i += BLOCK)
        check(s, weft_copy(s->ctx, s->x + i, block, 4 * (n - i < BLOCK ? n - i : BLOCK)));
}

static void close_side(side *s) {
    check(s, weft_free(s->ctx, s->x));
    check(s, weft_free(s->ctx, s->y));
    weft_close(s->ctx);
}

int main(int argc, char **argv) {
    n = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 30);
    order = argc > 4 ? (size_t)atoi(argv[4]) : 32768;
    uint32_t *const block = malloc(BLOCK * sizeof *block);
    uint64_t state = 1;
    side one = {0}, all = {0};
    bool right = true;
    if (!block)
        return 1;
    for (size_t i = 0; i < BLOCK; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        block[i] = (uint32_t)(state >> 32);
    }
    open_side(&one, argc > 3 ? argv[3] : "gpu:0", block);
    open_side(&all, argc > 2 ? argv[2] : "gpus", block);
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
        const bool named = argc <= 5 || strcmp(argv[5], operations[k].name) == 0;
        if (!named || (order == 0 && operations[k].bytes_each == 0))
            continue;
        if (race(&one, &all, k, block))
            print(&one, &all, k);
        else
            right = false;
    }
    close_side(&one);
    close_side(&all);
    free(block);
    return right ? 0 : 1;
}
