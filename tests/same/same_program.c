/* SPDX-License-Identifier: Apache-2.0 */
/* One program for all places: same_program PLACE prints the same lines on each of them. What each
 * process has of an output goes into the lines as a sum of its elements times their positions in
 * the whole, which depends on every element and on where it is. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum {
    WHOLE = 1000,
    BINS = 4,
    K = 3
};

static weft_context *ctx;

static void check(weft_status status, const char *what) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, weft_status_name(status), weft_message(ctx));
    exit(1);
}

/* Prints one line: the n elements of this process as part of all. */
static void show(const char *what, size_t n, const int64_t *x) {
    static int64_t positions[WHOLE];
    const int64_t one = 1;
    int64_t sum;
    check(weft_iota(ctx, WEFT_I64, n, &one, &one, positions), "iota");
    check(weft_dot(ctx, WEFT_I64, n, x, positions, &sum), "dot");
    if (weft_rank(ctx) == 0)
        printf("%s %lld\n", what, (long long)sum);
}

/* Moves elements from where they are in the whole, and there. */
static void move(size_t n, size_t first, const int64_t *x, int64_t *y) {
    static int64_t from[WHOLE];
    for (size_t i = 0; i < n; i++)
        from[i] = (int64_t)((first + i) * 7 % WHOLE);
    check(weft_gather(ctx, n, sizeof *x, WEFT_I64, from, n, x, y, NULL), "gather");
    show("gather", n, y);
    check(weft_scatter(ctx, n, sizeof *x, x, WEFT_I64, from, WEFT_REPEATS_LAST, n, y, NULL),
          "scatter");
    show("scatter", n, y);
}

/* Groups: runs of neighbours in a sorted array, and segments of 0 to 39 elements. */
static void group(size_t n, size_t first, const int64_t *x, int64_t *y) {
    static int64_t keys[WHOLE], sums[WHOLE];
    static uint64_t offsets[WHOLE + 1];
    const weft_column column = {WEFT_SUM, WEFT_I64, x, sums};
    uint64_t count, own;
    for (size_t i = 0; i < n; i++)
        keys[i] = (int64_t)((first + i) / 37);
    check(weft_reduce_by_key(ctx, n, sizeof *keys, keys, y, 1, &column, &count), "reduce by key");
    check(weft_own_count(ctx, &count, &own), "own count");
    show("keys", own, y);
    show("sums", own, sums);
    check(weft_scan_by_key(ctx, WEFT_INCLUSIVE, WEFT_MAX, WEFT_I64, n, sizeof *keys, keys, x, y),
          "scan by key");
    show("scan by key", n, y);
    const size_t rank = (size_t)weft_rank(ctx), ranks = (size_t)weft_ranks(ctx);
    const size_t before = 40 * rank / ranks, segments = 40 * (rank + 1) / ranks - before;
    for (size_t s = 0; s <= segments; s++) /* 40 in all; not where their elements are */
        offsets[s] = before + s < 40 ? (before + s) * (before + s) / 2 : WHOLE;
    check(weft_reduce_segments(ctx, WEFT_MAX, WEFT_I64, n, x, segments, WEFT_U64, offsets, y),
          "reduce segments");
    show("segments", segments, y);
    check(weft_scan_segments(ctx, WEFT_EXCLUSIVE, WEFT_SUM, WEFT_I64, n, x, y, segments, WEFT_U64,
                             offsets),
          "scan segments");
    show("scan segments", n, y);
}

/* Results that all processes have. */
static void show_order(size_t n, const int64_t *x) {
    const uint64_t ranks[2] = {10, WHOLE / 3};
    int64_t values[2];
    double median;
    check(weft_nth(ctx, WEFT_I64, n, x, 2, ranks, values), "nth");
    check(weft_median(ctx, WEFT_I64, n, x, &median), "median");
    if (weft_rank(ctx) == 0)
        printf("order %lld %lld %g\n", (long long)values[0], (long long)values[1], median);
}

int main(int argc, char **argv) {
    static int64_t x[WHOLE], y[WHOLE];
    uint64_t count, own, counts[BINS], outside[3], positions[K];
    int64_t values[K];
    if (weft_open(&ctx, argc > 1 ? argv[1] : NULL) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_message(NULL));
        return 1;
    }
    const size_t rank = (size_t)weft_rank(ctx), ranks = (size_t)weft_ranks(ctx);
    const size_t first = WHOLE * rank / ranks, n = WHOLE * (rank + 1) / ranks - first;
    for (size_t i = 0; i < n; i++)
        x[i] = (int64_t)((first + i) * 7919 % 1009 / 3);

    check(weft_add(ctx, WEFT_I64, n, x, x, y), "add");
    show("add", n, y);
    check(weft_inclusive(ctx, WEFT_SUM, n, x, y), "scan");
    show("scan", n, y);
    check(weft_select(ctx, (weft_predicate){.test = WEFT_GT, .type = WEFT_I64, .a.i64 = 100}, n, x,
                      y, &count),
          "select");
    check(weft_own_count(ctx, &count, &own), "own count");
    show("select", own, y);
    check(weft_sort_descending(ctx, n, x, y), "sort");
    show("sort", n, y);
    check(weft_unique(ctx, WEFT_I64, n, y, y, &count), "unique");
    check(weft_own_count(ctx, &count, &own), "own count");
    show("unique", own, y);
    check(weft_histogram(ctx, WEFT_I64, n, 1, x, &(weft_bins){.count = BINS, .lo = 10, .hi = 300},
                         WEFT_OVERWRITE, WEFT_U64, counts, outside),
          "histogram");
    check(weft_top_k(ctx, WEFT_DESCENDING, WEFT_I64, n, x, K, values, positions), "top_k");
    for (int k = 0; k < K && rank == 0; k++)
        printf("top %lld at %llu, bin %llu\n", (long long)values[k],
               (unsigned long long)positions[k], (unsigned long long)counts[k]);
    show_order(n, x);
    move(n, first, x, y);
    group(n, first, x, y);
    weft_close(ctx);
    return 0;
}
