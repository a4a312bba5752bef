/* SPDX-License-Identifier: Apache-2.0 */
/* weft_top_k: each rung with every type; and on a cpu counts and k on either side of where its ways
 * change, threads, data in every arrangement. That k elements are the first k is checked without
 * sorting: they are in order, and exactly k elements come no later than the last of them. And a
 * small k takes a fraction of the time of a sort. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/sort.h"
#include "sort/sort_oracle.h"
#include "testing.h"

/* A call and its result. */
typedef struct answer {
    weft_type type;
    bool descending;
    size_t n, k;
    const void *x, *values;
    const uint64_t *positions;
} answer;

/* -1 or 1 if element a, at position i, comes before or after element b, at j; 0 if they are the
 * same element. */
static int compare(const answer *a, uint64_t x, size_t i, uint64_t y, size_t j) {
    const int sign = oracle_compare(a->type, x, y);
    if (sign)
        return a->descending ? -sign : sign;
    return (i > j) - (i < j);
}

static void check(const answer *a, const char *what) {
    uint64_t last = 0;
    size_t last_at = 0, no_later = 0;
    for (size_t r = 0; r < a->k; r++) {
        const size_t at = a->positions[r];
        if (at >= a->n || oracle_bits(a->type, a->x, at) != oracle_bits(a->type, a->values, r))
            fail_msg("%s: value %zu is not what stands at its position", what, r);
        const uint64_t own = oracle_bits(a->type, a->values, r);
        if (r > 0 && compare(a, last, last_at, own, at) >= 0)
            fail_msg("%s: %zu and %zu are in the wrong order", what, r - 1, r);
        last = own;
        last_at = at;
    }
    for (size_t i = 0; i < a->n && a->k > 0; i++)
        no_later += compare(a, oracle_bits(a->type, a->x, i), i, last, last_at) <= 0;
    if (no_later != a->k)
        fail_msg("%s: %zu elements come no later than the last", what, no_later);
}

/* Also with values or positions alone. Arrays are in the place's own memory. */
static void run(weft_context *ctx, test_random *r, weft_type type, oracle_pattern pattern, size_t n,
                size_t k) {
    const size_t size = test_size_of(type);
    const bool device = ctx->kind == WI_CUDA;
    answer a = {.type = type, .descending = test_below(r, 2), .n = n, .k = k};
    const weft_order order = a.descending ? WEFT_DESCENDING : WEFT_ASCENDING;
    test_buffer in = test_buffer_open(ctx, device, n * size),
                values = test_buffer_open(ctx, device, k * size),
                positions = test_buffer_open(ctx, device, k * sizeof *a.positions),
                alone = test_buffer_open(ctx, device, k * sizeof *a.positions);
    void *const x = malloc(n * size + 1);
    assert_non_null(x);
    oracle_fill(r, pattern, type, n, x);
    test_buffer_load(&in, x, n * size, size);
    test_buffer_poison(&values, k * size, 0);
    test_buffer_poison(&positions, k * sizeof *a.positions, sizeof *a.positions);
    char what[160];
    snprintf(what, sizeof what, "the first %zu of %zu %s, %s, pattern %d, on %s", k, n,
             test_type_name(type), a.descending ? "descending" : "ascending", (int)pattern,
             weft_place(ctx));
    if (weft_top_k(ctx, order, type, n, in.p, k, values.p, (uint64_t *)(void *)positions.p) !=
        WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    a.x = x;
    a.values = test_buffer_read(&values, what);
    a.positions = test_buffer_read(&positions, what);
    check(&a, what);
    test_buffer_poison(&alone, k * size, size);
    test_ok(ctx, weft_top_k(ctx, order, type, n, in.p, k, alone.p, NULL));
    assert_memory_equal(test_buffer_read(&alone, what), a.values, k * size);
    test_buffer_poison(&alone, k * sizeof *a.positions, 0);
    test_ok(ctx, weft_top_k(ctx, order, type, n, in.p, k, NULL, (uint64_t *)(void *)alone.p));
    assert_memory_equal(test_buffer_read(&alone, what), a.positions, k * sizeof *a.positions);
    free(x);
    test_buffer_close(&alone);
    test_buffer_close(&positions);
    test_buffer_close(&values);
    test_buffer_close(&in);
}

/* ---- each rung ---- */

enum {
    COUNTS = 4,                              /* of k, for each n */
    MOST_PLACES = 1 << 13,                   /* what rung "places" takes, */
    PLACES_BYTES = MOST_PLACES * sizeof(int) /* and its bytes */
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
} rig;

/* A block of rung "sorted" copies 256 elements. */
static bool rung_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const size_t k = (const size_t[COUNTS]){1, 256, 257, n}[at[1]];
    const bool is_places = row && strcmp(row->name, "places") == 0;
    if (k > n || (is_places && (n > MOST_PLACES || n * test_size_of(type) > PLACES_BYTES)))
        return false;
    test_use(r->ctx, "top_k", row);
    run(r->ctx, &r->random, type, (oracle_pattern)test_below(&r->random, ORACLE_PATTERNS), n, k);
    test_used(r->ctx, "top_k", row, "weft_top_k");
    test_use(r->ctx, "top_k", NULL);
    return true;
}

static void each_rung(weft_context *ctx) {
    static const size_t sizes[] = {1, 33, 256, 257, 1000, 2049, 5000, 20001};
    rig r = {ctx, test_random_at(23)};
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_top_k_ladder,
                          .extent = {WEFT_TYPE_COUNT, COUNTS},
                          .must = 1,
                          .share = 60,
                          .run = rung_at};
    test_sweep_run(ctx, &r.random, &s, &r);
}

/* ---- a cpu's ways ---- */

/* k small; k and n small; n so large that blocks of blocks are used; then more. */
static void every_way(weft_context *ctx) {
    static const size_t sizes[][2] = {
        {2048, 2048},  {2049, 2049}, {2049, 32},     {2049, 33},     {4096, 1},       {6399, 100},
        {65537, 1},    {65536, 7},   {50000, 700},   {50000, 1000},  {90001, 1406},   {300007, 5},
        {300007, 300}, {70000, 1},   {70000, 69999}, {300007, 9000}, {300007, 150000}};
    /* "blocks" also where it is slower than "counted" */
    static const char *const rungs[] = {"auto", "counted", "blocks"};
    test_random r = test_random_at(21);
    if (ctx->kind != WI_CPU)
        return;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int times = 0; times < 6; times++) {
            const weft_type type = (weft_type)test_below(&r, WEFT_TYPE_COUNT);
            const oracle_pattern pattern = (oracle_pattern)test_below(&r, ORACLE_PATTERNS);
            if (!test_size_wanted(sizes[s][0]) || !test_case_wanted(&r) ||
                (sizes[s][0] > 100000 && times >= 3))
                continue;
            const char *const rung = rungs[times % 3];
            assert_int_equal(weft_use(ctx, "top_k", rung), WEFT_OK);
            run(ctx, &r, type, pattern, sizes[s][0], sizes[s][1]);
            if (strcmp(rung, "auto") != 0)
                assert_string_equal(weft_used(ctx, "top_k"), rung);
        }
}

/* A call of each ladder other than sort's. */
static weft_status call(weft_context *ctx, const char *op) {
    enum {
        N = 100
    };
    static uint32_t x[N], y[2 * N];
    static uint64_t places[N];
    static struct { uint32_t a, b, c; } values[N], moved[N];
    const uint64_t offsets[] = {0, 30, N};
    const weft_field field = {.offset = 4, .type = WEFT_U32};
    if (strcmp(op, "merge") == 0)
        return weft_merge(ctx, WEFT_ASCENDING, WEFT_U32, N, x, N, x, y, 0, NULL, NULL, NULL);
    if (strcmp(op, "search") == 0)
        return weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_U32, N, x, N, y, places);
    if (strcmp(op, "is_sorted") == 0)
        return weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_U32, N, x, places);
    if (strcmp(op, "top_k") == 0)
        return weft_top_k(ctx, WEFT_ASCENDING, WEFT_U32, N, x, 1, y, NULL);
    if (strcmp(op, "sort_segments") == 0)
        return weft_sort_segments(ctx, WEFT_ASCENDING, WEFT_U32, N, x, y, 0, NULL, NULL, 2,
                                  offsets);
    if (strcmp(op, "sort_records") == 0)
        return weft_sort_records(ctx, N, sizeof *values, values, moved, &field, 1);
    return weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U32, N, x, y, sizeof *values, values, moved);
}

/* Every rung of these can be forced, is the one that runs, and does not affect the other ladders.
 */
static void every_rung(weft_context *ctx) {
    static const wi_ladder *const ladders[] = {
        &wi_merge_ladder,         &wi_search_ladder,       &wi_is_sorted_ladder,  &wi_top_k_ladder,
        &wi_sort_segments_ladder, &wi_sort_records_ladder, &wi_sort_gather_ladder};
    for (size_t k = 0; k < sizeof ladders / sizeof *ladders; k++) {
        const wi_ladder *const ladder = ladders[k];
        assert_null(weft_used(ctx, ladder->op));
        for (size_t i = 0; i < ladder->count; i++) {
            const wi_row *const row = &ladder->rows[i];
            if (!wi_row_serves(row, ctx))
                continue;
            assert_int_equal(weft_use(ctx, ladder->op, row->name), WEFT_OK);
            if (call(ctx, ladder->op) != WEFT_OK)
                fail_msg("%s, %s: %s", ladder->op, row->name, weft_message(ctx));
            assert_string_equal(weft_used(ctx, ladder->op), row->name);
        }
    }
}

/* All but one of the first k are in one block, with many elements that come just after; the k-th is
 * the last element of all. */
static void one_far_off(void **state) {
    (void)state;
    enum {
        MANY = 30000,
        MOST = 40
    };
    weft_context *const ctx = test_open("cpu:1");
    uint32_t *const x = malloc(MANY * sizeof *x);
    assert_non_null(x);
    for (uint32_t k = 2; k <= MOST; k++) {
        uint64_t positions[MOST];
        for (uint32_t i = 0; i < MANY; i++)
            x[i] = 4 * i;
        x[MANY - 1] = 4 * (k - 2) + 1;
        assert_int_equal(weft_top_k(ctx, WEFT_ASCENDING, WEFT_U32, MANY, x, k, NULL, positions),
                         WEFT_OK);
        for (uint32_t i = 0; i + 1 < k; i++)
            assert_int_equal(positions[i], i);
        assert_int_equal(positions[k - 1], MANY - 1);
    }
    free(x);
    weft_close(ctx);
}

enum {
    MILLION = 1000000,
    TIMES = 5,  /* a sort is timed */
    OFTEN = 30, /* what is short: it has to meet a moment in which nothing else runs */
    FASTER = 8  /* times as fast as a sort, at least; it is more than a hundred */
};

/* The time for the last five of x; without positions, of sorting x into values. The shortest of
 * several: other programs only add to it. */
static double least_time(weft_context *ctx, weft_type type, const void *x, void *values,
                         uint64_t *positions) {
    double least = INFINITY;
    for (int k = 0; k < (positions ? OFTEN : TIMES); k++) {
        const double start = wi_now();
        const weft_status status =
            positions ? weft_top_k(ctx, WEFT_DESCENDING, type, MILLION, x, 5, values, positions)
                      : weft_sort(ctx, WEFT_ASCENDING, type, MILLION, x, values);
        const double own = wi_now() - start;
        assert_int_equal(status, WEFT_OK);
        least = own < least ? own : least;
    }
    return least;
}

/* Of every type, of random elements and of ascending ones, of which each is one of the last five so
 * far. */
static void five_of_a_million(void **state) {
    (void)state;
    if (!test_size_wanted(MILLION))
        return;
    weft_context *const ctx = test_open("cpu:1");
    test_random r = test_random_at(22);
    void *const x = malloc(MILLION * sizeof(double)), *const y = malloc(MILLION * sizeof(double));
    uint64_t positions[5];
    assert_true(x && y);
    for (weft_type type = 0; type < WEFT_TYPE_COUNT; type++) {
        test_fill(&r, TEST_ANY, type, MILLION, x);
        const double of_random = least_time(ctx, type, x, y, positions);
        const double of_sort = least_time(ctx, type, x, y, NULL);
        const double of_rising = least_time(ctx, type, y, x, positions);
        const float *const sorted = y; /* of equal ones the first come first */
        for (size_t k = 0; type == WEFT_F32 && k < 5; k++)
            assert_memory_equal(&sorted[positions[k]], &sorted[MILLION - 1 - k], sizeof *sorted);
        if (!(FASTER * of_random < of_sort) || !(FASTER * of_rising < of_sort))
            fail_msg("%s: five of random take %g s, of rising %g s, and a sort %g s",
                     test_type_name(type), of_random, of_rising, of_sort);
    }
    free(x);
    free(y);
    weft_close(ctx);
}

/* Rung `sorted` takes what a sort takes and room for what that writes, and says so. */
static void bytes_of_sorted(weft_context *ctx) {
    enum {
        FEW = 12007,
        ROUNDING = 512
    };
    if (ctx->kind != WI_CUDA)
        return;
    test_buffer x = test_buffer_open(ctx, true, FEW * sizeof(float));
    test_buffer y = test_buffer_open(ctx, true, FEW * sizeof(float));
    size_t of_sort = 0, of_top = 0;
    test_buffer_poison(&x, FEW * sizeof(float), 0);
    test_buffer_poison(&y, FEW * sizeof(float), 0);
    test_ok(ctx, weft_use(ctx, "sort", "onesweep"));
    test_ok(ctx, weft_use(ctx, "top_k", "sorted"));
    test_ok(ctx, weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_F32, FEW, x.p, y.p, &of_sort));
    test_ok(ctx, weft_top_k_bytes(ctx, WEFT_ASCENDING, WEFT_F32, FEW, x.p, 9, y.p, NULL, &of_top));
    assert_in_range(of_top, of_sort + FEW * sizeof(float),
                    of_sort + FEW * sizeof(float) + ROUNDING);
    test_ok(ctx, weft_use(ctx, "sort", NULL));
    test_ok(ctx, weft_use(ctx, "top_k", NULL));
    test_buffer_close(&y);
    test_buffer_close(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(each_rung),  TEST_ON_EACH_PLACE(every_way),
        TEST_ON_EACH_PLACE(every_rung), TEST_ON_EACH_PLACE(bytes_of_sorted),
        cmocka_unit_test(one_far_off),  cmocka_unit_test(five_of_a_million),
    };
    return cmocka_run_group_tests_name("top_k", tests, NULL, NULL);
}
