/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksorts on keys that are made against their pivots (antiquicksort): each partition separates
 * only a few keys, so that all reach the limit of depth and finish by other means. Which keys those
 * are is found by simulating the rung's partitions; keys get their values when they are chosen as
 * pivots, the smallest first. */
#include <stdlib.h>
#include <time.h>

#include "sort/sort.h"
#include "sort/sort_simd.h"
#include "testing.h"

typedef uint32_t *input_maker(size_t n);

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

/* The pivot is the median of the first, the middle and the last key but one. If the first is the
 * smallest and the middle one the next, only these two go left, and the second key moves to the
 * middle. at[i] is the input's key that is at i now. */
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

/* The pivot is the middle key. The smallest key alone goes left, exchanged with the first. */
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

static const uint32_t none = UINT32_MAX; /* of a key that was not a sample yet */

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The pivot of at[0 .. n) is the median of keys at places that depend on n only: these are made the
 * smallest. Keys above go right, in reverse; at becomes them. Returns how many. */
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

/* As many partitions as are allowed: two for each halving of a balanced tree. */
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
    input_maker *make;
    size_t n;
} cases[] = {
    {"serial_quick", against_median, 5000},
    {"quick_naive", against_middle, 200},
    {"quick", against_samples, 4500},
};

/* Sorts x[0 .. n), a permutation of 0 ... n - 1, and checks it; returns the seconds used by this
 * process's threads. For descending order the keys count down, so that they are as difficult. */
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
 * with it, they were measured to take 1.2 times as long as keys in random order. */
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

/* ---- the vector quicksort, with which the rung "buckets" sorts a bucket ---- */

enum {
    TIMES = 16
};

/* A quicksort with vectors, as the keys against it are made. */
typedef struct vectors {
    wi_isa isa;
    unsigned bytes;      /* of a key */
    size_t lanes, alone; /* fewer keys than `alone` are moved one by one */
    size_t most;         /* keys that are sorted without a partition */
    uint32_t (*pivot)(const uint32_t *x, const uint32_t *at, size_t n, size_t lanes);
    /* Places 0 ... small - 1: if the smallest keys are there, the pivot is one of them. */
    size_t small;
    size_t (*place)(size_t k, size_t n, size_t lanes);
} vectors;

static uint32_t middle(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Medians of three of medians of three: of the first, the middle and the last vector, then of lanes
 * 5 apart, then of neighbours. */
static uint32_t pivot_of_vectors(const uint32_t *x, const uint32_t *at, size_t n, size_t lanes) {
    uint32_t groups[3];
    for (size_t g = 0; g < 3; g++) {
        uint32_t of[3];
        for (size_t k = 0; k < 3; k++) {
            const uint32_t *const lane = at + (g + 5 * k) % lanes;
            of[k] = middle(x[lane[0]], x[lane[n / 2 - lanes / 2]], x[lane[n - lanes]]);
        }
        groups[g] = middle(of[0], of[1], of[2]);
    }
    return middle(groups[0], groups[1], groups[2]);
}

static size_t place_of_vectors(size_t k, size_t n, size_t lanes) {
    static const size_t small[] = {0, 5, 1, 6};
    return small[k / 2] + (k % 2 ? n / 2 - lanes / 2 : 0);
}

/* The median of three medians of three: of keys k, k + 3 and a little after k + 6 of nine. */
static uint32_t pivot_of_nine(const uint32_t *x, const uint32_t *at, size_t n, size_t lanes) {
    const size_t step = n / 9;
    uint32_t of[3];
    (void)lanes;
    for (size_t k = 0; k < 3; k++)
        of[k] = middle(x[at[step * k]], x[at[step * (k + 3)]], x[at[step * (k + 6) + step / 2]]);
    return middle(of[0], of[1], of[2]);
}

static size_t place_of_nine(size_t k, size_t n, size_t lanes) {
    (void)lanes;
    return n / 9 * (k / 2 + 3 * (k % 2));
}

/* Keys below the pivot go to the left end, the others of a vector to the right, before those
 * already there. */
static size_t divide(const vectors *v, const uint32_t *x, const uint32_t *at, uint32_t *to,
                     size_t n, uint32_t pivot) {
    size_t left = 0, right = n, end;
    for (size_t first = 0; first < n; first = end) {
        const size_t width = n - first < v->alone ? 1 : v->lanes;
        end = n - first < width ? n : first + width;
        for (size_t i = first; i < end; i++)
            right -= x[at[i]] >= pivot;
        for (size_t i = first, above = right; i < end; i++) {
            if (x[at[i]] < pivot)
                to[left++] = at[i];
            else
                to[above++] = at[i];
        }
    }
    return left;
}

/* The pivot is one of few keys at places that depend on n only: these are made the smallest, until
 * the end; *partitions is how many that takes. */
static uint32_t *against_vectors(const vectors *v, size_t n, unsigned *partitions) {
    uint32_t *const x = numbers(n), *const a = numbers(n), *const b = numbers(n);
    uint32_t *at = a, *to = b, value = 0;
    size_t left = n;
    for (size_t i = 0; i < n; i++)
        x[i] = none;
    for (*partitions = 0; left > v->most; ++*partitions) {
        for (size_t k = 0; k < v->small; k++) {
            uint32_t *const key = &x[at[v->place(k, left, v->lanes)]];
            if (*key == none)
                *key = value++;
        }
        const uint32_t pivot = v->pivot(x, at, left, v->lanes);
        size_t below = divide(v, x, at, to, left, pivot);
        if (below == 0)
            below = divide(v, x, at, to, left, pivot + 1);
        uint32_t *const other = at + below;
        at = to + below;
        to = other;
        left -= below;
    }
    for (size_t i = 0; i < left; i++)
        if (x[at[i]] == none)
            x[at[i]] = value++;
    free(a);
    free(b);
    return x;
}

static const vectors kinds[] = {
    {WI_ISA_AVX512, 4, 16, 0, 8 * 16, pivot_of_vectors, 8, place_of_vectors},
    {WI_ISA_AVX512, 8, 8, 0, 8 * 8, pivot_of_vectors, 8, place_of_vectors},
    {WI_ISA_AVX2, 4, 8, 16, 8 * 8, pivot_of_nine, 4, place_of_nine},
    {WI_ISA_AVX2, 8, 4, 8, 8 * 4, pivot_of_nine, 4, place_of_nine},
};

/* Sorts x, a permutation of 0 ... n - 1, as keys of `bytes` bytes, and checks it; returns the
 * seconds. */
static double sort_by_vectors(size_t n, const uint32_t *x, unsigned bytes) {
    const wi_sort_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    char *const keys = malloc(n * bytes), *const spare = malloc(n * bytes);
    double seconds = 0;
    assert_true(keys && spare);
    for (int times = 0; times < TIMES; times++) {
        const wi_sort_range range = {
            .key_bytes = bytes, .end_bit = 8 * bytes, .n = n, .keys = keys, .spare_keys = spare};
        for (size_t i = 0; i < n; i++)
            test_store(bytes == 4 ? WEFT_U32 : WEFT_U64, keys, i, (test_value){.u = x[i]});
        const clock_t before = clock();
        simd->sort(&range);
        seconds += (double)(clock() - before) / CLOCKS_PER_SEC;
        for (size_t i = 0; i < n; i++)
            assert_int_equal(test_load(bytes == 4 ? WEFT_U32 : WEFT_U64, keys, i).u, i);
    }
    free(keys);
    free(spare);
    return seconds;
}

/* Without a limit such keys were measured to take 131 times as long as keys in random order at this
 * n, with AVX2 206 times; with it, 5 and 4 times. */
static void vectors_end_at_their_limit(void **state) {
    const size_t n = 1 << 15;
    (void)state;
    if (wi_cpu_isa() < WI_ISA_AVX2)
        skip();
    uint32_t *const shuffled = numbers(n);
    test_random random = test_random_at(6);
    for (size_t i = n - 1; i > 0; i--)
        swap(shuffled + i, shuffled + test_below(&random, i + 1));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const vectors *const v = &kinds[k];
        unsigned partitions;
        if (v->isa != wi_cpu_isa())
            continue;
        uint32_t *const hard = against_vectors(v, n, &partitions);
        assert_true(partitions > n / 10);
        const double usual = sort_by_vectors(n, shuffled, v->bytes);
        const double seconds = sort_by_vectors(n, hard, v->bytes);
        if (!(seconds < 20 * usual))
            fail_msg("keys of %u bytes against the pivots took %g s, others %g s", v->bytes,
                     seconds, usual);
        free(hard);
    }
    free(shuffled);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(sorted_all_the_same),
        cmocka_unit_test(time_is_bounded),
        cmocka_unit_test(vectors_end_at_their_limit),
    };
    return cmocka_run_group_tests_name("sort depth", tests, NULL, NULL);
}
