/* SPDX-License-Identifier: Apache-2.0 */
/* Races all GPUs of a place against one of them on the same data: one JSON object a line, with how
 * many times faster all are. Results of both places are compared before they are timed; a
 * difference ends the program with status 1. Arrays lie where weft_alloc of each place puts them.
 *
 *   gpus_peer [LOG2_N [PLACE [ONE]]]    2^LOG2_N elements of u32 (30), on PLACE (gpus) and ONE
 * (gpu:0) */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/weft.h>

enum {
    NOTHING_TO_RACE = 77,
    BLOCK = 1 << 24, /* random numbers, repeated */
    SAMPLES = 9,
    BINS = 256
};

/* One of the two places. */
typedef struct side {
    weft_context *ctx;
    uint32_t *x, *y;
    uint64_t count, counts[BINS];
    double seconds;
} side;

static size_t n;

static void check(const side *s, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "gpus_peer: %s\n", weft_message(s->ctx));
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

/* ---- what they leave, as a number ---- */

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

static const struct {
    const char *name;
    void (*run)(side *);
    uint64_t (*left)(side *);
    double bytes_each; /* read and written once, for each element */
} operations[] = {
    {"add", run_add, of_y, 8},         {"reduce", run_reduce, of_count, 4},
    {"scan", run_scan, of_y, 8},       {"select_half", run_select, of_kept, 6},
    {"count", run_count, of_count, 4}, {"histogram_u8", run_histogram, of_counts, 4},
    {"sort", run_sort, of_sorted, 8},
};

/* ---- racing ---- */

static int by_value(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void measure(side *s, void (*run)(side *)) {
    double seconds[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) {
        check(s, weft_sync(s->ctx));
        const double begin = now();
        run(s);
        check(s, weft_sync(s->ctx));
        seconds[k] = now() - begin;
    }
    qsort(seconds, SAMPLES, sizeof *seconds, by_value);
    s->seconds = seconds[SAMPLES / 2];
}

static bool race(side *one, side *all, size_t k) {
    uint64_t left[2];
    side *const sides[2] = {one, all};
    for (int i = 0; i < 2; i++) {
        operations[k].run(sides[i]);
        left[i] = operations[k].left(sides[i]);
    }
    if (left[0] != left[1]) {
        printf("{\"op\": \"%s\", \"wrong\": \"%016" PRIx64 " and %016" PRIx64 "\"}\n",
               operations[k].name, left[0], left[1]);
        return false;
    }
    measure(one, operations[k].run);
    measure(all, operations[k].run);
    const double bytes = operations[k].bytes_each * (double)n;
    printf("{\"op\": \"%s\", \"n\": %zu, \"type\": \"u32\", \"place\": \"%s\", \"comm\": \"%s\", "
           "\"one_seconds\": %.6e, \"all_seconds\": %.6e, \"one_GB_per_s\": %.1f, "
           "\"all_GB_per_s\": %.1f, \"times\": %.3f}\n",
           operations[k].name, n, weft_place(all->ctx), weft_comm(all->ctx), one->seconds,
           all->seconds, 1e-9 * bytes / one->seconds, 1e-9 * bytes / all->seconds,
           one->seconds / all->seconds);
    fflush(stdout);
    return true;
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
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
        right = race(&one, &all, k) && right;
    close_side(&one);
    close_side(&all);
    free(block);
    return right ? 0 : 1;
}
