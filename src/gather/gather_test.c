/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and scatter: every rung, width, type of index, alignment and placement against plain
 * loops; indices out of range and repeated ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gather/gather.h"
#include "testing.h"

enum {
    MOST_N = 17000,
    MOST_WIDTH = 24,
    WIDTHS = 9,
    WAYS = 3
};

static const size_t widths[WIDTHS] = {1, 2, 4, 8, 16, 3, 12, 24, 10};
static const weft_type index_types[4] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};

enum {
    INDEX,
    XS,
    YS,
    BAD,
    ARRAYS
};

/* How indices are drawn: a permutation, anywhere with repeats, and with some out of range. */
enum {
    ONCE,
    REPEATED,
    OUT_OF_RANGE
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    unsigned char *x, *expected, *index;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(24)};
    const size_t bytes = (size_t)MOST_N * MOST_WIDTH;
    for (int k = 0; k < ARRAYS; k++) {
        r.pair[k] = test_pair_open(ctx, bytes + TEST_MAX_OFFSET);
    }
    r.x = malloc(bytes);
    r.expected = malloc(bytes);
    r.index = malloc((size_t)MOST_N * 8);
    assert_true(r.x && r.expected && r.index);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->x);
    free(r->expected);
    free(r->index);
}

static test_buffer *home(rig *r, unsigned device, int k) {
    return test_pair_at(&r->pair[k], device >> k & 1);
}

/* Fills n indices for m elements; returns the position of the first that is out of range. */
static uint64_t draw_indices(rig *r, weft_type type, int way, size_t n, size_t m) {
    uint64_t first = WEFT_NOWHERE;
    /* Of many blocks nearly all find one, or mostly the last alone. */
    const uint64_t one_in = test_below(&r->random, 2) ? 50 : 4 * (uint64_t)n;
    for (size_t i = 0; i < n; i++)
        test_store(type, r->index, i,
                   (test_value){.u = way == ONCE ? i : test_below(&r->random, m)});
    for (size_t i = n; way == ONCE && i > 1; i--) {
        const size_t k = (size_t)test_below(&r->random, i);
        const test_value a = test_load(type, r->index, i - 1), b = test_load(type, r->index, k);
        test_store(type, r->index, i - 1, b);
        test_store(type, r->index, k, a);
    }
    for (size_t i = 0; way == OUT_OF_RANGE && i < n; i++) {
        if (test_below(&r->random, one_in) != 0 && i + 1 < n)
            continue;
        const bool below = test_is_signed(type) && test_below(&r->random, 2);
        test_store(type, r->index, i, (test_value){.i = below ? -1 : (int64_t)m});
        first = first == WEFT_NOWHERE ? i : first;
    }
    return first;
}

/* What y should be: of several elements for one place, the last. */
static void expect(rig *r, weft_type type, bool scatters, size_t n, size_t m, size_t width) {
    memset(r->expected, TEST_POISON, (scatters ? m : n) * width);
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = test_load(type, r->index, i).u;
        if (at >= m)
            continue;
        memcpy(r->expected + (scatters ? at : i) * width, r->x + (scatters ? i : at) * width,
               width);
    }
}

static void compare(rig *r, const char *what, test_buffer *y, size_t bytes) {
    const unsigned char *const got = test_buffer_read(y, what);
    for (size_t b = 0; b < bytes; b++)
        if (got[b] != r->expected[b])
            fail_msg("%s: byte %zu is %u, should be %u", what, b, got[b], r->expected[b]);
}

static void run_case(rig *r, size_t n, const wi_row *row, const size_t at[], bool scatters) {
    const size_t width = widths[at[0]];
    const weft_type type = index_types[at[1]];
    const int way = (int)at[2];
    const bool told = test_below(&r->random, 2) || way == OUT_OF_RANGE;
    const size_t m =
        way == ONCE ? n : 1 + (size_t)test_below(&r->random, 2 * n < MOST_N ? 2 * n : n);
    const unsigned device = test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 16);
    const size_t step = width & -width;
    const char *const op = scatters ? "scatter" : "gather";
    char what[160];
    snprintf(what, sizeof what, "%s: %s, n %zu, m %zu, width %zu, index %s, way %d, device %u", op,
             row ? row->name : "chosen", n, m, width, test_type_name(type), way, device);
    const uint64_t first = draw_indices(r, type, way, n, m);
    test_fill(&r->random, TEST_ANY, WEFT_U8, (scatters ? n : m) * width, r->x);
    test_buffer *const x = home(r, device, XS), *const y = home(r, device, YS),
                       *const index = home(r, device, INDEX), *const bad = home(r, device, BAD);
    const size_t bytes = (scatters ? m : n) * width;
    test_buffer_load(index, r->index, n * test_size_of(type), test_size_of(type));
    test_buffer_load(x, r->x, (scatters ? n : m) * width, test_below(&r->random, 3) * step);
    test_buffer_poison(y, bytes, test_below(&r->random, 3) * step);
    test_buffer_poison(bad, 8, 8);
    uint64_t *const told_at = told ? (uint64_t *)(void *)bad->p : NULL;
    test_use(r->ctx, op, row);
    const weft_status status =
        scatters ? weft_scatter(r->ctx, n, width, x->p, type, index->p, WEFT_REPEATS_LAST, m, y->p,
                                told_at)
                 : weft_gather(r->ctx, n, width, type, index->p, m, x->p, y->p, told_at);
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    test_used(r->ctx, op, row, what);
    expect(r, type, scatters, n, m, width);
    compare(r, what, y, bytes);
    uint64_t found = first;
    if (told)
        memcpy(&found, test_buffer_read(bad, what), sizeof found);
    if (found != first)
        fail_msg("%s: the first bad index is %llu, should be %llu", what, (unsigned long long)found,
                 (unsigned long long)first);
}

static bool gather_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_case(rig_of_test, n, row, at, false);
    return true;
}

static bool scatter_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_case(rig_of_test, n, row, at, true);
    return true;
}

static const size_t some_sizes[] = {1,    2,    31,   33,   255,  256,  257,
                                    1000, 2047, 2048, 2049, 8193, 16999};
enum {
    SIZES = 13
};

static void sweep(weft_context *ctx, const wi_ladder *ladder, unsigned share,
                  bool (*run)(void *, size_t, const wi_row *, const size_t[])) {
    rig r = rig_open(ctx);
    const test_sweep s = {.sizes = some_sizes,
                          .size_count = SIZES,
                          .ladder = ladder,
                          .extent = {WIDTHS, 4, WAYS},
                          .must = 3,
                          .share = share,
                          .one_in = 2,
                          .run = run};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void gathers(weft_context *ctx) {
    sweep(ctx, &wi_gather_ladder, 50, gather_at);
}

static void scatters(weft_context *ctx) {
    sweep(ctx, &wi_scatter_ladder, 45, scatter_at);
}

/* One permutation for arrays of several widths; and without `bad`, a bad index stops them all. */
static void arrays(weft_context *ctx) {
    enum {
        N = 500
    };
    test_random random = test_random_at(25);
    uint32_t index[N], x4[N], y4[N];
    unsigned char x3[3 * N], y3[3 * N];
    for (uint32_t i = 0; i < N; i++)
        index[i] = (i * 7 + 3) % N;
    test_fill(&random, TEST_ANY, WEFT_U32, N, x4);
    test_fill(&random, TEST_ANY, WEFT_U8, sizeof x3, x3);
    memset(y4, TEST_POISON, sizeof y4);
    const weft_gathered array[2] = {{4, x4, y4}, {3, x3, y3}};
    index[77] = N;
    test_refused(ctx, weft_gather_arrays(ctx, N, WEFT_U32, index, N, 2, array, NULL), WEFT_EARG,
                 "weft_gather_arrays", "index[77]");
    for (int i = 0; i < N; i++)
        assert_int_equal(y4[i], TEST_POISON * 0x01010101u);
    index[77] = (77 * 7 + 3) % N;
    assert_int_equal(weft_gather_arrays(ctx, N, WEFT_U32, index, N, 2, array, NULL), WEFT_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(y4[i], x4[index[i]]);
        assert_memory_equal(y3 + 3 * i, x3 + (size_t)3 * index[i], 3);
    }
    uint64_t bad = 5;
    assert_int_equal(weft_gather(ctx, 0, 4, WEFT_U32, NULL, 0, NULL, NULL, &bad), WEFT_OK);
    assert_true(bad == WEFT_NOWHERE);
}

/* So many elements that the threads of a cpu divide the targets, of which some are none and others
 * are named several times. */
static void divided_scatters(weft_context *ctx) {
    enum {
        N = (1 << 19) + 77,
        M = 99991
    };
    if (ctx->kind != WI_CPU || !test_size_wanted(N))
        return;
    test_random random = test_random_at(26);
    uint32_t *const index = malloc(N * sizeof *index);
    unsigned char *const x = malloc(3 * N), *const y = malloc(3 * M), *const right = malloc(3 * M);
    assert_true(index && x && y && right);
    test_fill(&random, TEST_ANY, WEFT_U8, 3 * N, x);
    for (size_t i = 0; i < N; i++)
        index[i] = (uint32_t)test_below(&random, M + 3);
    assert_int_equal(weft_use(ctx, "scatter", "threads"), WEFT_OK);
    for (size_t width = 1; width <= 3; width++) {
        uint64_t bad = 0, first = N;
        memset(y, TEST_POISON, 3 * M);
        memset(right, TEST_POISON, 3 * M);
        for (size_t i = 0; i < N; i++) {
            first = index[i] >= M && first == N ? i : first;
            if (index[i] < M)
                memcpy(right + index[i] * width, x + i * width, width);
        }
        assert_int_equal(
            weft_scatter(ctx, N, width, x, WEFT_U32, index, WEFT_REPEATS_LAST, M, y, &bad),
            WEFT_OK);
        assert_memory_equal(y, right, 3 * M);
        assert_true(bad == first);
    }
    assert_int_equal(weft_use(ctx, "scatter", NULL), WEFT_OK);
    free(index);
    free(x);
    free(y);
    free(right);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(gathers),
        TEST_ON_EACH_PLACE(scatters),
        TEST_ON_EACH_PLACE(arrays),
        TEST_ON_EACH_PLACE(divided_scatters),
    };
    return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
