/* SPDX-License-Identifier: Apache-2.0 */
/* Counts beyond 2^31 and 2^32. On the cpu only if WEFT_TEST_LARGE is set, because it takes 4 GiB
 * and minutes; on a GPU if it has the memory. All results have a formula and repeat the same few
 * bytes, so that they can be checked quickly. */
#include <stdlib.h>
#include <string.h>

#include "histogram/histogram.h"
#include "map/map.h"
#include "reduce/reduce.h"
#include "scan/scan.h"
#include "select/select.h"
#include "sort/sort.h"
#include "testing.h"

enum {
    CHUNK_BYTES = 1 << 26, /* of device memory checked at a time */
    PIECE_BYTES = 1 << 16, /* compared by one thread */
    PERIOD = 256,          /* of the elements */
    TURN = 512             /* of all results: a multiple of their periods */
};

static const size_t n = ((size_t)1 << 32) + 1000003;

/* x[i] = 1 + 3 i modulo 256 takes all 256 values, because 3 is odd, and then repeats. */
static uint8_t element(uint64_t i) {
    return (uint8_t)(1 + 3 * i);
}

/* x[0] + ... + x[i] modulo 256: i + 1 + 3 i (i + 1) / 2. A period adds 255 * 128, which is 128
 * modulo 256: so this repeats after two periods. */
static uint8_t prefix(uint64_t i) {
    const uint64_t k = i % TURN;
    return (uint8_t)(k + 1 + 3 * k * (k + 1) / 2);
}

static uint8_t twice(uint64_t i) {
    return (uint8_t)(2 * element(i));
}

/* The first of `count` bytes that differs from `table`, read cyclically from `phase` on; or
 * `count`. */
static size_t first_wrong(const uint8_t *x, size_t count, const uint8_t *table, size_t phase) {
    size_t first = count;
#pragma omp parallel for reduction(min : first)
    for (size_t at = 0; at < count; at += PIECE_BYTES) {
        const size_t bytes = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
        const uint8_t *const right = table + (phase + at) % TURN;
        if (memcmp(x + at, right, bytes) == 0)
            continue;
        size_t k = 0;
        while (x[at + k] == right[k])
            k++;
        first = at + k < first ? at + k : first;
    }
    return first;
}

/* Checks x[i] = right(i), where right(i + TURN) = right(i), for i = from ... to - 1. */
static void compare(weft_context *ctx, const void *x, size_t from, size_t to,
                    uint8_t (*right)(uint64_t), const char *what) {
    static uint8_t table[TURN + PIECE_BYTES];
    for (size_t k = 0; k < sizeof table; k++)
        table[k] = right(from - from % TURN + k % TURN);
    uint8_t *const chunk = ctx->kind == WI_CUDA ? malloc(CHUNK_BYTES) : NULL;
    assert_true(chunk || ctx->kind == WI_CPU);
    for (size_t first = from; first < to; first += CHUNK_BYTES) {
        const size_t count = to - first < CHUNK_BYTES ? to - first : CHUNK_BYTES;
        const uint8_t *bytes = (const uint8_t *)x + first;
        if (chunk) {
            assert_int_equal(weft_copy(ctx, chunk, bytes, count), WEFT_OK);
            bytes = chunk;
        }
        const size_t wrong = first_wrong(bytes, count, table, first % TURN);
        if (wrong < count)
            fail_msg("%s on %s: element %zu is %u, should be %u", what, weft_place(ctx),
                     first + wrong, bytes[wrong], table[(first + wrong) % TURN]);
    }
    free(chunk);
}

static void require_ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK) {
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
    }
}

/* True if the rung ran; teaching rungs and some others do not take bytes. */
static bool ran(weft_context *ctx, const wi_row *row, weft_status status) {
    const bool takes_bytes = !row || (row->seconds && row->types & WI_TYPE(WEFT_U8));
    if (status == WEFT_EUNSUPPORTED && !takes_bytes) {
        return false;
    }
    require_ok(ctx, status);
    return true;
}

/* The rungs of a ladder at this place, except those that would take hours: a loop with one index,
 * and quicksorts that launch kernels from kernels. */
static size_t rows_of(weft_context *ctx, const wi_ladder *ladder, const wi_row *rows[]) {
    const size_t all = test_rows(ctx, ladder, rows);
    size_t count = 0;
    for (size_t k = 0; k < all; k++)
        if (!rows[k] ||
            (strncmp(rows[k]->name, "serial", 6) != 0 && strncmp(rows[k]->name, "quick", 5) != 0))
            rows[count++] = rows[k];
    return count;
}

static void make_elements(weft_context *ctx, const wi_row *row, void *x) {
    const uint8_t start = 1, step = 3;
    test_use(ctx, "map", row);
    if (ran(ctx, row, weft_iota(ctx, WEFT_U8, n, &start, &step, x))) {
        if (row)
            compare(ctx, x, 0, n, element, "iota");
    }
}

static void large_maps(weft_context *ctx, void *x) {
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_map_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        make_elements(ctx, rows[k], x);
        if (ran(ctx, rows[k], weft_add(ctx, WEFT_U8, n, x, x, x))) {
            compare(ctx, x, 0, n, twice, "add");
        }
    }
}

static void large_reductions(weft_context *ctx, void *x) {
    uint64_t sum = 0, squares = 0, got = 0;
    for (uint64_t i = 0; i < PERIOD; i++) {
        uint64_t times = n / PERIOD + (i < n % PERIOD);
        sum += times * element(i);
        squares += times * element(i) * element(i);
    }
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_reduce_ladder, rows);
    make_elements(ctx, NULL, x);
    for (size_t k = 0; k < count; k++) {
        test_use(ctx, "reduce", rows[k]);
        if (ran(ctx, rows[k], weft_reduce(ctx, WEFT_SUM, WEFT_U8, n, x, &got))) {
            assert_true(got == sum);
            require_ok(ctx, weft_dot(ctx, WEFT_U8, n, x, x, &got));
            assert_true(got == squares);
        }
    }
}

/* One element differs, beyond position 2^32. */
static void large_positions(weft_context *ctx, void *x) {
    const int8_t zero = 0, one = 1;
    const size_t at = n - 5;
    uint64_t got = 0;
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_reduce_ladder, rows);
    test_use(ctx, "map", NULL);
    require_ok(ctx, weft_fill(ctx, WEFT_I8, n, &zero, x));
    require_ok(ctx, weft_copy(ctx, (char *)x + at, &one, 1));
    for (size_t k = 0; k < count; k++) {
        test_use(ctx, "reduce", rows[k]);
        if (ran(ctx, rows[k], weft_reduce(ctx, WEFT_ARGMAX, WEFT_I8, n, x, &got))) {
            assert_true(got == at);
        }
    }
}

static void large_scans(weft_context *ctx, void *x) {
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_scan_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        test_use(ctx, "scan", rows[k]);
        weft_status status = weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_U8, n, x, x, NULL);
        if (ran(ctx, rows[k], status)) {
            compare(ctx, x, 0, n, prefix, "scan");
        }
    }
}

static uint8_t value_sought;

static uint8_t sought(uint64_t i) {
    (void)i;
    return value_sought;
}

/* Checks that all n elements are in order: every value as often as it occurs. */
static void compare_sorted(weft_context *ctx, const void *x) {
    size_t times[PERIOD], start = 0;
    for (uint64_t i = 0; i < PERIOD; i++)
        times[element(i)] = n / PERIOD + (i < n % PERIOD);
    for (size_t k = 0; k < PERIOD; k++) {
        value_sought = (uint8_t)k;
        compare(ctx, x, start, start + times[k], sought, "sort");
        start += times[k];
    }
}

/* Sorts the first 2^31 and a few, then all. */
static void large_sorts(weft_context *ctx, void *x) {
    const size_t some = ((size_t)1 << 31) + 7;
    uint64_t fall = 0;
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_sort_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        test_use(ctx, "sort", rows[k]);
        if (!ran(ctx, rows[k], weft_sort(ctx, WEFT_ASCENDING, WEFT_U8, some, x, x)))
            continue;
        require_ok(ctx, weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_U8, n, x, &fall));
        assert_true(fall == some); /* after 255 comes a 22 */
        require_ok(ctx, weft_sort(ctx, WEFT_ASCENDING, WEFT_U8, n, x, x));
        compare_sorted(ctx, x);
    }
}

/* More than 2^31 words, all different, on a GPU: in order afterwards, and with the same sum and the
 * same sum of squares as before, modulo 2^64. */
static void large_word_sort(weft_context *ctx) {
    const size_t words = ((size_t)1 << 31) + 7;
    const uint32_t start = 1, step = 2654435761u; /* odd: a permutation of all words */
    uint64_t sum[2] = {0}, squares[2] = {0}, fall = 0;
    void *x = NULL;
    if (ctx->kind != WI_CUDA || !test_size_wanted(words))
        return;
    if (weft_alloc(ctx, &x, words * sizeof start) != WEFT_OK) {
        print_message("words skipped on %s: %s\n", weft_place(ctx), weft_message(ctx));
        return;
    }
    test_use(ctx, "map", NULL);
    test_use(ctx, "reduce", NULL);
    test_use(ctx, "sort", NULL);
    require_ok(ctx, weft_iota(ctx, WEFT_U32, words, &start, &step, x));
    for (int turn = 0; turn < 2; turn++) {
        require_ok(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_U32, words, x, &sum[turn]));
        require_ok(ctx, weft_dot(ctx, WEFT_U32, words, x, x, &squares[turn]));
        if (turn == 0)
            require_ok(ctx, weft_sort(ctx, WEFT_ASCENDING, WEFT_U32, words, x, x));
    }
    require_ok(ctx, weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_U32, words, x, &fall));
    assert_true(fall == WEFT_NOWHERE);
    assert_true(sum[0] == sum[1] && squares[0] == squares[1]);
    require_ok(ctx, weft_free(ctx, x));
}

/* Every value except those of the last, incomplete period occurs equally often. */
static void large_histograms(weft_context *ctx, void *x) {
    uint64_t right[PERIOD] = {0}, got[PERIOD];
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = rows_of(ctx, &wi_histogram_ladder, rows);
    make_elements(ctx, NULL, x);
    for (uint64_t i = 0; i < PERIOD; i++) {
        right[element(i)] = n / PERIOD + (i < n % PERIOD);
    }
    for (size_t k = 0; k < count; k++) {
        test_use(ctx, "histogram", rows[k]);
        weft_status status =
            weft_histogram(ctx, WEFT_U8, n, 1, x, NULL, WEFT_OVERWRITE, WEFT_U64, got, NULL);
        if (ran(ctx, rows[k], status)) {
            assert_memory_equal(got, right, sizeof right);
        }
    }
    /* one bin gets more than 2^32 */
    const uint8_t zero = 0;
    test_use(ctx, "map", NULL);
    require_ok(ctx, weft_fill(ctx, WEFT_U8, n, &zero, x));
    for (size_t k = 0; k < count; k++) {
        test_use(ctx, "histogram", rows[k]);
        weft_status status =
            weft_histogram(ctx, WEFT_U8, n, 1, x, NULL, WEFT_OVERWRITE, WEFT_U64, got, NULL);
        if (ran(ctx, rows[k], status)) {
            assert_true(got[0] == n && got[1] == 0 && got[PERIOD - 1] == 0);
        }
    }
}

enum {
    BELOW = 64 /* a quarter of the elements of a period is below it */
};

/* The i-th of those below BELOW, which every period has in the same order. */
static uint8_t below(uint64_t i) {
    uint64_t k = 0;
    for (uint64_t seen = 0; seen < i % BELOW || element(k) >= BELOW; k++)
        seen += element(k) < BELOW;
    return element(k);
}

/* In place; then a single element beyond 2^32 makes three runs. */
static void large_selects(weft_context *ctx, void *x) {
    const weft_predicate wanted = {.test = WEFT_LT, .type = WEFT_U8, .a.u8 = BELOW};
    const int8_t zero = 0, one = 1, runs[] = {0, 1, 0};
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = rows_of(ctx, &wi_select_ladder, rows);
    const size_t half = ((size_t)1 << 31) + 77;
    uint64_t kept = 0, of_half = 0;
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        test_use(ctx, "select", rows[k]);
        if (!ran(ctx, rows[k], weft_select_count(ctx, wanted, half, x, &of_half)))
            continue;
        assert_true(of_half >= half / PERIOD * BELOW && of_half <= (half / PERIOD + 1) * BELOW);
        require_ok(ctx, weft_select(ctx, wanted, n, x, x, &kept));
        assert_true(kept >= n / PERIOD * BELOW && kept <= (n / PERIOD + 1) * BELOW);
        compare(ctx, x, 0, kept, below, "select");
        compare(ctx, x, kept, n, element, "behind those selected");
        test_use(ctx, "map", NULL);
        require_ok(ctx, weft_fill(ctx, WEFT_I8, n, &zero, x));
        require_ok(ctx, weft_copy(ctx, (char *)x + n - 5, &one, 1));
        require_ok(ctx, weft_unique(ctx, WEFT_I8, n, x, x, &kept));
        int8_t got[3];
        require_ok(ctx, weft_copy(ctx, got, x, sizeof got));
        assert_true(kept == 3 && memcmp(got, runs, sizeof runs) == 0);
    }
}

/* Runs a test on n bytes of memory of the place, unless they are too many for it. */
static void run_large(weft_context *ctx, void (*test)(weft_context *ctx, void *x)) {
    void *x = NULL;
    if (ctx->kind == WI_CPU && !getenv("WEFT_TEST_LARGE")) {
        print_message("skipped on %s: set WEFT_TEST_LARGE=1 to work on 4 GiB there\n",
                      weft_place(ctx));
        return;
    }
    if (!test_size_wanted(n)) {
        print_message("skipped on %s: WEFT_TEST_MAX is below 2^32\n", weft_place(ctx));
        return;
    }
    if (weft_alloc(ctx, &x, n) != WEFT_OK) {
        print_message("skipped on %s: %s\n", weft_place(ctx), weft_message(ctx));
        return;
    }
    test(ctx, x);
    require_ok(ctx, weft_free(ctx, x));
}

static void maps(weft_context *ctx) {
    run_large(ctx, large_maps);
}
static void reductions(weft_context *ctx) {
    run_large(ctx, large_reductions);
}
static void positions(weft_context *ctx) {
    run_large(ctx, large_positions);
}
static void scans(weft_context *ctx) {
    run_large(ctx, large_scans);
}
static void sorts(weft_context *ctx) {
    run_large(ctx, large_sorts);
}
static void histograms(weft_context *ctx) {
    run_large(ctx, large_histograms);
}
static void selects(weft_context *ctx) {
    run_large(ctx, large_selects);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(maps),       TEST_ON_EACH_PLACE(reductions),
        TEST_ON_EACH_PLACE(positions),  TEST_ON_EACH_PLACE(scans),
        TEST_ON_EACH_PLACE(sorts),      TEST_ON_EACH_PLACE(large_word_sort),
        TEST_ON_EACH_PLACE(histograms), TEST_ON_EACH_PLACE(selects),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
