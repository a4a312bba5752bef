/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts of arrays too large for one launch, one scan or 32 bits. On emu limits are lowered
 * (tests/limits.h), so that small arrays exceed them; elsewhere the same arrays are easy ones. */
#include "limits.h"

#include <stdlib.h>
#include <string.h>

#include "sort/sort.h"
#include "testing.h"

static int compare_keys(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum {
    MOST_KEYS = 30000
};

/* Keys sorted by the rung in use, and their positions. */
static void check_sort(weft_context *ctx, size_t n, uint32_t bits) {
    test_random random = test_random_at(14);
    static uint32_t x[MOST_KEYS], sorted[MOST_KEYS];
    const size_t bytes = n * sizeof *x;
    test_buffer in = test_buffer_open(ctx, true, bytes);
    test_buffer out = test_buffer_open(ctx, true, bytes);
    test_buffer places = test_buffer_open(ctx, true, bytes);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint32_t)test_bits(&random) & bits;
    memcpy(sorted, x, bytes);
    qsort(sorted, n, sizeof *sorted, compare_keys);
    test_buffer_load(&in, x, bytes, 0);
    test_buffer_poison(&out, bytes, 0);
    test_buffer_poison(&places, bytes, 0);
    assert_int_equal(weft_sort(ctx, WEFT_ASCENDING, WEFT_U32, n, in.p, out.p), WEFT_OK);
    assert_int_equal(weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_U32, n, in.p, WEFT_U32, places.p),
                     WEFT_OK);
    assert_memory_equal(test_buffer_read(&out, "weft_sort"), sorted, bytes);
    const uint32_t *const at = test_buffer_read(&places, "weft_sort_indices");
    for (size_t i = 0; i < n; i++)
        if (at[i] >= n || x[at[i]] != sorted[i] ||
            (i > 0 && sorted[i] == sorted[i - 1] && at[i] <= at[i - 1]))
            fail_msg("sort, n %zu: position %zu is wrong", n, i);
    test_buffer_close(&in);
    test_buffer_close(&out);
    test_buffer_close(&places);
}

/* Passes in several launches, as for 2^30 keys and more: in the last launch all tiles are full, or
 * one is incomplete, or some are missing. Then with large tiles, as for 2^20 keys and more. */
static void portions(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
    test_use(ctx, "sort", test_row_named(&wi_sort_ladder, "onesweep"));
#ifdef WEFT_EMU
    wi_portion_keys = 4096; /* two tiles */
#endif
    check_sort(ctx, 4096, ~0u);
    check_sort(ctx, 4097, 0x3ff);
    check_sort(ctx, 9001, ~0u);
    check_sort(ctx, 12288, 0x3ff);
#ifdef WEFT_EMU
    wi_portion_keys = 13056; /* one tile */
    wi_large_from = 1;
#endif
    check_sort(ctx, MOST_KEYS, 0x3ff);
#ifdef WEFT_EMU
    wi_portion_keys = (size_t)1 << 30;
    wi_large_from = (size_t)1 << 20;
#endif
    test_use(ctx, "sort", NULL);
}

/* Merges of so many tiles that a kernel finds their ends before, and of fewer. */
static void merged_tiles(weft_context *ctx) {
    static const size_t sizes[] = {4097, 12288, MOST_KEYS};
    if (ctx->kind != WI_CUDA)
        return;
    test_use(ctx, "sort", test_row_named(&wi_sort_ladder, "merge"));
    for (size_t k = 0; k < 6; k++) {
#ifdef WEFT_EMU
        wi_merge_few_tiles = k % 2 ? 0 : 1024;
#endif
        check_sort(ctx, sizes[k / 2], k % 2 ? ~0u : 0x3ff);
    }
#ifdef WEFT_EMU
    wi_merge_few_tiles = 1024;
#endif
    test_use(ctx, "sort", NULL);
}

/* The first k, with more tiles than threads scan at a time. */
static void many_tiles(weft_context *ctx) {
    enum {
        N = 33 * 4096 + 5,
        K = 700
    };
    test_random random = test_random_at(15);
    unsigned char *const x = malloc(N), values[K];
    uint64_t positions[K];
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = (unsigned char)test_bits(&random);
    test_buffer in = test_buffer_open(ctx, ctx->kind == WI_CUDA, N);
    test_buffer_load(&in, x, N, 0);
#ifdef WEFT_EMU
    wi_top_k_scanners = 32;
#endif
    assert_int_equal(weft_top_k(ctx, WEFT_ASCENDING, WEFT_U8, N, in.p, K, values, positions),
                     WEFT_OK);
#ifdef WEFT_EMU
    wi_top_k_scanners = 1024;
#endif
    size_t place = 0;
    for (unsigned value = 0; value < 256; value++)
        for (size_t i = 0; i < N && place < K; i++)
            if (x[i] == value) {
                if (values[place] != value || positions[place] != i)
                    fail_msg("top_k of many tiles: %zu should be %u at %zu", place, value, i);
                place++;
            }
    test_buffer_close(&in);
    free(x);
}

/* Words whose numbers need more than 32 bits: numbers start just below 2^32, and pointers are moved
 * back by as much. */
static void far_words(weft_context *ctx) {
    enum {
        N = 300
    };
    test_random random = test_random_at(16);
    const bool device = ctx->kind == WI_CUDA;
    uint32_t indices[N], values[N];
    size_t before = 0;
    test_buffer b[3];
    for (size_t i = 0; i < N; i++) {
        indices[i] = (uint32_t)test_below(&random, N);
        values[i] = (uint32_t)test_bits(&random);
    }
    for (int k = 0; k < 3; k++) {
        b[k] = test_buffer_open(ctx, device, sizeof values);
        test_buffer_load(&b[k], k == 1 ? indices : values, sizeof values, 0);
    }
    test_buffer_poison(&b[2], sizeof values, 0);
#ifdef WEFT_EMU
    wi_sort_gather_first = ((size_t)1 << 32) - N / 2;
    before = wi_sort_gather_first * sizeof *values;
#endif
    const wi_sort_gather_args args = {
        .n = N,
        .value_bytes = sizeof *values,
        .index_bytes = sizeof *indices,
        .values = b[0].p,
        .indices = (const void *)((uintptr_t)b[1].p - before),
        .values_out = (void *)((uintptr_t)b[2].p - before),
    };
#ifdef WEFT_CUDA
    assert_int_equal(device ? wi_sort_gather_each(ctx, &args) : wi_sort_gather_threads(ctx, &args),
                     WEFT_OK);
#else
    assert_int_equal(wi_sort_gather_threads(ctx, &args), WEFT_OK);
#endif
#ifdef WEFT_EMU
    assert_int_equal(weft_sync(ctx), WEFT_OK); /* kernels run when somebody waits for them */
    wi_sort_gather_first = 0;
#endif
    const uint32_t *const got = test_buffer_read(&b[2], "gather");
    for (size_t i = 0; i < N; i++)
        assert_int_equal(got[i], values[indices[i]]);
    for (int k = 0; k < 3; k++)
        test_buffer_close(&b[k]);
}

/* How many of the keys in order are below a wanted one; with `upper`, or equal it. */
static uint64_t bound_of(const uint64_t *keys, size_t n, uint64_t wanted, bool upper) {
    uint64_t bound = 0;
    while (bound < n && (keys[bound] < wanted || (upper && keys[bound] == wanted)))
        bound++;
    return bound;
}

/* x and wanted elements become those of u32, and the wanted ones' bounds are checked. */
static void check_index(weft_context *ctx, size_t n, uint64_t *x, size_t m, uint64_t *wanted,
                        bool narrow, bool upper) {
    const size_t size = narrow ? 4 : 8;
    uint64_t right[200];
    test_buffer b[3];
    for (size_t j = 0; j < m; j++)
        right[j] = bound_of(x, n, wanted[j], upper);
    for (size_t i = 0; narrow && i < n; i++)
        ((uint32_t *)x)[i] = (uint32_t)x[i];
    for (size_t j = 0; narrow && j < m; j++)
        ((uint32_t *)wanted)[j] = (uint32_t)wanted[j];
    for (int k = 0; k < 3; k++)
        b[k] = test_buffer_open(ctx, ctx->kind == WI_CUDA, (k == 0 ? n * size : m * 8) + 8);
    test_buffer_load(&b[0], x, n * size, size);
    test_buffer_load(&b[1], wanted, m * size, 0);
    test_buffer_poison(&b[2], m * 8, 0);
    assert_int_equal(weft_search(ctx, upper ? WEFT_UPPER : WEFT_LOWER, WEFT_ASCENDING,
                                 narrow ? WEFT_U32 : WEFT_U64, n, b[0].p, m, b[1].p,
                                 (uint64_t *)b[2].p),
                     WEFT_OK);
    assert_memory_equal(test_buffer_read(&b[2], "weft_search"), right, m * 8);
    for (int k = 0; k < 3; k++)
        test_buffer_close(&b[k]);
}

/* Searches by an index of several levels, as of 2^20 keys and more; many keys are equal, some are
 * the last that there are. */
static void index_levels(weft_context *ctx) {
    static const size_t sizes[] = {1, 31, 32, 33, 255, 256, 257, 2047, 2048, 8191, 8192, 20011};
    static const unsigned tops[] = {1, 5, 4096}, nears[] = {0, 3, 40, 1023};
    static uint64_t x[20011], wanted[200];
    test_random random = test_random_at(17);
    if (ctx->kind == WI_CUDA)
        test_use(ctx, "search", test_row_named(&wi_search_ladder, "index"));
    for (size_t k = 0; k < 12 * 6; k++) {
        const size_t n = sizes[k / 6];
        const bool narrow = k % 2;
        const uint64_t last = narrow ? UINT32_MAX : UINT64_MAX, step = 1 + test_below(&random, 2);
#ifdef WEFT_EMU
        wi_search_top = tops[k % 3];
        wi_search_near = nears[k / 2 % 4];
#else
        (void)tops;
        (void)nears;
#endif
        for (size_t i = 0; i < n; i++)
            x[i] = i < n - n / 9 ? i / 3 * step : last;
        const uint64_t near = test_below(&random, n);
        for (size_t j = 0; j < 200; j++)
            wanted[j] = j < 128 ? test_below(&random, n) : near + test_below(&random, 100);
        wanted[0] = last;
        wanted[1] = last - 1;
        check_index(ctx, n, x, 100 + test_below(&random, 101), wanted, narrow,
                    test_below(&random, 2));
    }
#ifdef WEFT_EMU
    wi_search_top = 4096;
    wi_search_near = 1023;
#endif
    test_use(ctx, "search", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(portions),     TEST_ON_EACH_PLACE(merged_tiles),
        TEST_ON_EACH_PLACE(many_tiles),   TEST_ON_EACH_PLACE(far_words),
        TEST_ON_EACH_PLACE(index_levels),
    };
    return cmocka_run_group_tests_name("sort limits", tests, NULL, NULL);
}
