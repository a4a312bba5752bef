/* SPDX-License-Identifier: Apache-2.0 */
/* Counts beyond 2^32. On the cpu only if WEFT_TEST_LARGE is set, since it takes 4 GiB and minutes;
 * on a GPU wherever the memory is there. All answers have a closed form. */
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
    CHUNK_BYTES = 1 << 26,
    PERIOD = 256
};

static const size_t n = ((size_t)1 << 32) + 1000003;

/* x[i] = 1 + 3 i modulo 256 goes through all 256 values, since 3 is odd, then starts again. */
static uint8_t element(uint64_t i) {
    return (uint8_t)(1 + 3 * i);
}

/* x[0] + ... + x[i] modulo 256: i + 1 + 3 i (i + 1) / 2. One of i and i + 1 is even, so halve it
 * first: the division must come before the wrapping. */
static uint8_t prefix(uint64_t i) {
    uint64_t half = i % 2 ? (i + 1) / 2 * i : i / 2 * (i + 1);
    return (uint8_t)(i + 1 + 3 * half);
}

static uint8_t twice(uint64_t i) {
    return (uint8_t)(2 * element(i));
}

/* Compares all n elements, a chunk at a time; reports the first wrong one. */
static void compare(weft_context *ctx, const void *x, uint8_t (*right)(uint64_t),
                    const char *what) {
    uint8_t *chunk = malloc(CHUNK_BYTES);
    assert_non_null(chunk);
    for (size_t first = 0; first < n; first += CHUNK_BYTES) {
        size_t count = n - first < CHUNK_BYTES ? n - first : CHUNK_BYTES;
        assert_int_equal(weft_copy(ctx, chunk, (const char *)x + first, count), WEFT_OK);
        size_t wrong = 0;
        for (size_t i = 0; i < count; i++) {
            wrong += chunk[i] != right(first + i);
        }
        for (size_t i = 0; wrong && i < count; i++) {
            if (chunk[i] != right(first + i)) {
                fail_msg("%s on %s: element %zu is %u, should be %u; %zu wrong in its chunk", what,
                         weft_place(ctx), first + i, chunk[i], right(first + i), wrong);
            }
        }
    }
    free(chunk);
}

static void require_ok(weft_context *ctx, weft_status status) {
    if (status != WEFT_OK) {
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
    }
}

/* True if the row ran; rungs that teach do not offer bytes. */
static bool ran(weft_context *ctx, const wi_row *row, weft_status status) {
    if (status == WEFT_EUNSUPPORTED && row && row->kind == WI_CUDA) {
        return false;
    }
    require_ok(ctx, status);
    return true;
}

static void make_elements(weft_context *ctx, const wi_row *row, void *x) {
    const uint8_t start = 1, step = 3;
    test_use(ctx, "map", row);
    if (ran(ctx, row, weft_iota(ctx, WEFT_U8, n, &start, &step, x))) {
        compare(ctx, x, element, "iota");
    }
}

static void large_maps(weft_context *ctx, void *x) {
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_map_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        make_elements(ctx, rows[k], x);
        if (ran(ctx, rows[k], weft_add(ctx, WEFT_U8, n, x, x, x))) {
            compare(ctx, x, twice, "add");
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
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
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

/* One element stands out, beyond position 2^32. */
static void large_positions(weft_context *ctx, void *x) {
    const int8_t zero = 0, one = 1;
    const size_t at = n - 5;
    uint64_t got = 0;
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_reduce_ladder, rows);
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
    size_t count = test_rows(ctx, &wi_scan_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        test_use(ctx, "scan", rows[k]);
        weft_status status = weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_U8, n, x, x, NULL);
        if (ran(ctx, rows[k], status)) {
            compare(ctx, x, prefix, "scan");
        }
    }
}

/* Where each value begins when all n elements are in order. */
static uint64_t starts[PERIOD + 1];

static uint8_t in_order(uint64_t i) {
    static unsigned value; /* asked for one after the other, mostly */
    while (i < starts[value])
        value--;
    while (i >= starts[value + 1])
        value++;
    return (uint8_t)value;
}

/* The first 2^31 and a few in order, then all of them. */
static void large_sorts(weft_context *ctx, void *x) {
    const size_t some = ((size_t)1 << 31) + 7;
    uint64_t fall = 0;
    for (uint64_t i = 0; i < PERIOD; i++)
        starts[element(i) + 1] = n / PERIOD + (i < n % PERIOD);
    for (size_t k = 0; k < PERIOD; k++)
        starts[k + 1] += starts[k];
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_sort_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        if (rows[k] && strcmp(rows[k]->name, "serial_quick") == 0)
            continue; /* hours */
        make_elements(ctx, NULL, x);
        test_use(ctx, "sort", rows[k]);
        if (!ran(ctx, rows[k], weft_sort(ctx, WEFT_ASCENDING, WEFT_U8, some, x, x)))
            continue;
        require_ok(ctx, weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_U8, n, x, &fall));
        assert_true(fall == some); /* behind 255 comes a 22 */
        require_ok(ctx, weft_sort(ctx, WEFT_ASCENDING, WEFT_U8, n, x, x));
        compare(ctx, x, in_order, "sort");
    }
}

/* More than 2^31 words, all different, on a GPU: in order afterwards, and with the same sum and the
 * same sum of squares as before, modulo 2^64. */
static void large_word_sort(weft_context *ctx) {
    const size_t words = ((size_t)1 << 31) + 7;
    const uint32_t start = 1, step = 2654435761u; /* odd: a permutation of all words */
    uint64_t sum[2] = {0}, squares[2] = {0}, fall = 0;
    void *x = NULL;
    if (ctx->kind != WI_CUDA)
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

/* Every value but those of the last, incomplete period comes up equally often. */
static void large_histograms(weft_context *ctx, void *x) {
    uint64_t right[PERIOD] = {0}, got[PERIOD];
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_histogram_ladder, rows);
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
    /* one bin takes in more than 2^32 */
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

/* The i-th element of x after those below BELOW were packed to its front: of every period the same,
 * in the same order; what lies behind them is untouched. The last, broken period has the values
 * that every period begins with. */
static uint8_t packed(uint64_t i) {
    static uint8_t kept[BELOW];
    static uint64_t count;
    if (count == 0) {
        for (uint64_t k = 0, seen = 0; k < PERIOD; k++) {
            if (element(k) < BELOW) {
                kept[seen++] = element(k);
                count += n / PERIOD + (k < n % PERIOD);
            }
        }
    }
    return i < count ? kept[i % BELOW] : element(i);
}

/* In place; then a single element beyond 2^32 makes three runs. */
static void large_selects(weft_context *ctx, void *x) {
    const weft_predicate below = {.test = WEFT_LT, .type = WEFT_U8, .a.u8 = BELOW};
    const int8_t zero = 0, one = 1, runs[] = {0, 1, 0};
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    const size_t half = ((size_t)1 << 31) + 77;
    uint64_t kept = 0, of_half = 0;
    for (size_t k = 0; k < count; k++) {
        make_elements(ctx, NULL, x);
        test_use(ctx, "select", rows[k]);
        if (!ran(ctx, rows[k], weft_select_count(ctx, below, half, x, &of_half)))
            continue;
        assert_true(of_half >= half / PERIOD * BELOW && of_half <= (half / PERIOD + 1) * BELOW);
        require_ok(ctx, weft_select(ctx, below, n, x, x, &kept));
        assert_true(kept >= n / PERIOD * BELOW && kept <= (n / PERIOD + 1) * BELOW);
        compare(ctx, x, packed, "select");
        test_use(ctx, "map", NULL);
        require_ok(ctx, weft_fill(ctx, WEFT_I8, n, &zero, x));
        require_ok(ctx, weft_copy(ctx, (char *)x + n - 5, &one, 1));
        require_ok(ctx, weft_unique(ctx, WEFT_I8, n, x, x, &kept));
        int8_t got[3];
        require_ok(ctx, weft_copy(ctx, got, x, sizeof got));
        assert_true(kept == 3 && memcmp(got, runs, sizeof runs) == 0);
    }
}

static void large(weft_context *ctx) {
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
    large_maps(ctx, x);
    large_reductions(ctx, x);
    large_positions(ctx, x);
    large_scans(ctx, x);
    large_sorts(ctx, x);
    large_histograms(ctx, x);
    large_selects(ctx, x);
    require_ok(ctx, weft_free(ctx, x));
    large_word_sort(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(large),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
