/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksorts on keys made against their pivots: each partition takes a few keys off one end, so
 * that all end at the limit of depth and finish by other means. Which keys those are is found by
 * following where the rung's partitions move them; the values are given as pivots are looked at,
 * the least first. */
#include <stdlib.h>
#include <time.h>

#include "sort/sort.h"
#include "testing.h"

typedef uint32_t *killer(size_t n);

static uint32_t *numbers(size_t n) {
    uint32_t *const x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint32_t)i;
    return x;
}

static void swap(uint32_t *a, uint32_t *b) {
    const uint32_t other = *a;
    *a = *b;
    *b = other;
}

/* The pivot is the median of the first, the middle and the last key but one. Where the first is the
 * least and the middle the next, these two alone go left, and the second key takes the place of the
 * middle. at[i] is the input's key that lies at i by now. */
static uint32_t *against_median(size_t n) {
    uint32_t *const x = numbers(n), *const at = numbers(n);
    uint32_t value = 0;
    size_t first = 0;
    for (; n - first >= 6; first += 2) {
        uint32_t *const middle = at + first + (n - first) / 2 - 1;
        x[at[first]] = value++;
        x[*middle] = value++;
        swap(at + first + 1, middle);
    }
    for (; first < n; first++)
        x[at[first]] = value++;
    free(at);
    return x;
}

/* The pivot is the middle key. The least goes left alone, by changing places with the first. */
static uint32_t *against_middle(size_t n) {
    uint32_t *const x = numbers(n), *const at = numbers(n);
    for (size_t first = 0; first < n; first++) {
        uint32_t *const middle = at + first + (n - first) / 2;
        x[*middle] = (uint32_t)first;
        swap(at + first, middle);
    }
    free(at);
    return x;
}

enum {
    SAMPLES = 128,
    LEAF = 4096 /* so few are sorted without a partition */
};

static const uint32_t none = UINT32_MAX; /* of a key that was no sample yet */

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The pivot of at[0 .. n) is the median of keys at places that follow from n alone: they are made
 * the least. Those above go right, turned around; at becomes them. Returns how many they are. */
static size_t partition_by_samples(uint32_t *x, uint32_t *at, size_t n, uint32_t *value) {
    uint32_t samples[SAMPLES];
    for (unsigned k = 0; k < SAMPLES; k++) {
        uint64_t mixed = (n + k) * 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
        uint32_t *const key = &x[at[(mixed ^ mixed >> 32) % n]];
        if (*key == none)
            *key = (*value)++;
        samples[k] = *key;
    }
    qsort(samples, SAMPLES, sizeof *samples, compare);
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        if (x[at[i]] > samples[SAMPLES / 2])
            at[above++] = at[i];
    for (size_t i = 0; i < above / 2; i++)
        swap(&at[i], &at[above - 1 - i]);
    return above;
}

/* As many partitions as are allowed: two for each halving that a perfect tree would need. */
static uint32_t *against_samples(size_t n) {
    uint32_t *const x = numbers(n), *const at = numbers(n);
    size_t left = n;
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = none;
    for (size_t size = n; size > LEAF; size /= 2) {
        left = partition_by_samples(x, at, left, &value);
        left = partition_by_samples(x, at, left, &value);
    }
    assert_true(left > LEAF);
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] == none ? value++ : x[i];
    free(at);
    return x;
}

static const struct {
    const char *row;
    killer *make;
    size_t n;
} cases[] = {
    {"serial_quick", against_median, 5000},
    {"quick_naive", against_middle, 200},
    {"quick", against_samples, 4500},
};

/* Sorts x[0 .. n), which is 0 ... n - 1 in some order, and checks it; returns the seconds of this
 * process's threads that it took. Descending, the keys count down, so that they are as hard. */
static double sort(weft_context *ctx, weft_order order, size_t n, const uint32_t *x) {
    const bool down = order == WEFT_DESCENDING;
    const uint32_t last = (uint32_t)n - 1;
    test_buffer in = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * sizeof *x);
    test_buffer out = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * sizeof *x);
    uint32_t *const keys = numbers(n);
    for (size_t i = 0; i < n; i++)
        keys[i] = down ? last - x[i] : x[i];
    test_buffer_load(&in, keys, n * sizeof *keys, 0);
    test_buffer_poison(&out, n * sizeof *keys, 0);
    const clock_t before = clock();
    const weft_status status = weft_sort(ctx, order, WEFT_U32, n, in.p, out.p);
    const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const uint32_t *const y = test_buffer_read(&out, "sorted keys");
    for (size_t i = 0; i < n; i++)
        assert_int_equal(y[i], down ? last - i : i);
    free(keys);
    test_buffer_close(&in);
    test_buffer_close(&out);
    return seconds;
}

static void sorted_all_the_same(weft_context *ctx) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (weft_use(ctx, "sort", cases[k].row) != WEFT_OK)
            continue; /* a rung of another place */
        uint32_t *const x = cases[k].make(cases[k].n);
        sort(ctx, WEFT_ASCENDING, cases[k].n, x);
        sort(ctx, WEFT_DESCENDING, cases[k].n, x);
        free(x);
    }
}

/* Without a limit such keys take n^2 / 4 steps instead of n log2 n: at this n, 1900 times as many;
 * with it, they were seen to take 1.2 times as long as keys in random order. */
static void time_is_bounded(void **state) {
    const size_t n = 1 << 17;
    weft_context *ctx = NULL;
    (void)state;
    assert_int_equal(weft_open(&ctx, "cpu:1"), WEFT_OK);
    assert_int_equal(weft_use(ctx, "sort", "serial_quick"), WEFT_OK);
    test_random random = test_random_at(5);
    uint32_t *const shuffled = numbers(n), *const hard = against_median(n);
    for (size_t i = n - 1; i > 0; i--)
        swap(shuffled + i, shuffled + test_below(&random, i + 1));
    const double usual = sort(ctx, WEFT_ASCENDING, n, shuffled);
    const double seconds = sort(ctx, WEFT_ASCENDING, n, hard);
    if (!(seconds < 50 * usual + 0.1))
        fail_msg("keys against the pivots took %g s, others %g s", seconds, usual);
    free(shuffled);
    free(hard);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(sorted_all_the_same),
        cmocka_unit_test(time_is_bounded),
    };
    return cmocka_run_group_tests_name("sort depth", tests, NULL, NULL);
}
