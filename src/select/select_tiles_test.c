/* SPDX-License-Identifier: Apache-2.0 */
/* What tiles of select tell each other: runs that go on through many tiles, also in place; and
 * partitions with the rest behind whose tiles do not find the counts of all others, which on emu
 * have few looks. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "select/select.h"
#include "testing.h"

enum {
    MOST = 41000
};

/* Runs of 1 to 3 elements, and now and then of thousands. */
static size_t draw_runs(test_random *random, size_t n, uint32_t *x) {
    size_t runs = 0;
    for (size_t i = 0; i < n; runs++) {
        const bool is_long = test_below(random, 2000) == 0;
        size_t length = 1 + test_below(random, is_long ? 15000 : 3);
        length = length < n - i ? length : n - i;
        for (size_t k = 0; k < length; k++)
            x[i++] = (uint32_t)runs * 7;
    }
    return runs;
}

static void check_runs(weft_context *ctx, const uint32_t *x, size_t n, bool in_place,
                       weft_type lengths) {
    const size_t width = test_size_of(lengths);
    test_buffer in = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * 4);
    test_buffer out = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * 4);
    test_buffer size = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * width);
    uint64_t count = 0;
    size_t run = 0;
    test_buffer_load(&in, x, n * 4, 0);
    test_buffer_poison(&out, n * 4, 0);
    test_buffer_poison(&size, n * width, 0);
    assert_int_equal(
        weft_run_length(ctx, WEFT_U32, n, in.p, in_place ? in.p : out.p, lengths, size.p, &count),
        WEFT_OK);
    const uint32_t *const values = test_buffer_read(in_place ? &in : &out, "weft_run_length");
    const unsigned char *const got = test_buffer_read(&size, "weft_run_length");
    for (size_t i = 0, end; i < n; i = end, run++) {
        for (end = i + 1; end < n && x[end] == x[i];)
            end++;
        uint64_t length = 0;
        memcpy(&length, got + run * width, width);
        if (run >= count || values[run] != x[i] || length != end - i)
            fail_msg("n %zu: run %zu of %zu, from %zu to %zu, has length %zu", n, run,
                     (size_t)count, i, end, (size_t)length);
    }
    assert_int_equal(run, count);
    test_buffer_close(&size);
    test_buffer_close(&out);
    test_buffer_close(&in);
}

static void run_lengths(weft_context *ctx) {
    static const size_t sizes[] = {1, 511, 512, 513, 4095, 4096, 4097, 8192, MOST};
    static uint32_t x[MOST];
    test_random random = test_random_at(41);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    for (size_t k = 0; k < count * (sizeof sizes / sizeof *sizes); k++) {
        const size_t n = sizes[k / count];
        const wi_row *const row = rows[k % count];
        if (row && strcmp(row->name, "three_kernels") == 0)
            continue;
        test_use(ctx, "select", row);
#ifdef WEFT_EMU
        wi_group = k % 3 == 0 ? 2 : k % 3 == 1 ? 5 : 32;
#endif
        draw_runs(&random, n, x);
        check_runs(ctx, x, n, k % 2, test_below(&random, 2) ? WEFT_U64 : WEFT_U32);
        memset(x, 0, n * sizeof *x); /* one run */
        check_runs(ctx, x, n, false, WEFT_U64);
    }
#ifdef WEFT_EMU
    wi_group = 32;
#endif
    test_use(ctx, "select", NULL);
}

static void check_partition(weft_context *ctx, const uint32_t *x, size_t n, uint32_t bound) {
    static uint32_t right[MOST];
    uint64_t count = 0;
    size_t kept = 0, rest = 0;
    test_buffer in = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * 4);
    test_buffer out = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * 4);
    test_buffer_load(&in, x, n * 4, 4);
    test_buffer_poison(&out, n * 4, 0);
    for (size_t i = 0; i < n; i++)
        kept += x[i] < bound;
    for (size_t i = 0, k = 0; i < n; i++)
        right[x[i] < bound ? k++ : kept + rest++] = x[i];
    weft_predicate p = {.test = WEFT_LT, .type = WEFT_U32};
    memcpy(&p.a, &bound, sizeof bound);
    assert_int_equal(weft_partition(ctx, p, n, in.p, out.p, NULL, &count), WEFT_OK);
    assert_memory_equal(test_buffer_read(&out, "weft_partition"), right, n * 4);
    assert_int_equal(count, kept);
    test_buffer_close(&out);
    test_buffer_close(&in);
}

static void few_looks(weft_context *ctx) {
    static const size_t sizes[] = {1, 4096, 4097, 20000, MOST};
    static const uint32_t bounds[] = {0, 300, 1000};
    static uint32_t x[MOST];
    test_random random = test_random_at(42);
    if (ctx->kind == WI_CUDA)
        test_use(ctx, "select", test_row_named(&wi_select_ladder, "lookback"));
    for (size_t k = 0; k < 15; k++) {
        const size_t n = sizes[k % 5];
#ifdef WEFT_EMU
        wi_partition_looks = k % 2 ? 1 : 3;
#endif
        for (size_t i = 0; i < n; i++)
            x[i] = (uint32_t)test_below(&random, 1000);
        check_partition(ctx, x, n, bounds[k / 5]);
    }
#ifdef WEFT_EMU
    wi_partition_looks = 100;
#endif
    test_use(ctx, "select", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(run_lengths),
        TEST_ON_EACH_PLACE(few_looks),
    };
    return cmocka_run_group_tests_name("select tiles", tests, NULL, NULL);
}
