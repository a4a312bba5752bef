/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts of many segments whose lengths are chosen for what a GPU does with them: tiny ones of one
 * length, some that need several passes beside them, and offsets that only the device sees to be
 * wrong. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "sort/sort.h"
#include "testing.h"

enum {
    MOST_KEYS = 40000,
    MOST_SEGMENTS = 6000
};

static int compare_keys(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts x in device memory, in place or not, and compares with `expected`. */
static void check(weft_context *ctx, weft_type type, size_t n, const uint32_t *x, bool in_place,
                  size_t segments, const uint64_t *offsets, const uint32_t *expected) {
    test_buffer in = test_buffer_open(ctx, true, n * 4), out = test_buffer_open(ctx, true, n * 4);
    test_buffer at = test_buffer_open(ctx, true, (segments + 1) * 8);
    test_buffer *const to = in_place ? &in : &out;
    test_buffer_load(&in, x, n * 4, 0);
    test_buffer_poison(&out, n * 4, 0);
    test_buffer_load(&at, offsets, (segments + 1) * 8, 0);
    assert_int_equal(weft_sort_segments(ctx, WEFT_ASCENDING, type, n, in.p, to->p, 0, NULL, NULL,
                                        segments, (const uint64_t *)at.p),
                     WEFT_OK);
    const uint32_t *const y = test_buffer_read(to, "weft_sort_segments");
    for (size_t i = 0; i < n; i++)
        if (y[i] != expected[i])
            fail_msg("n %zu, %zu segments%s: element %zu is %u and not %u", n, segments,
                     in_place ? ", in place" : "", i, y[i], expected[i]);
    test_buffer_close(&in);
    test_buffer_close(&out);
    test_buffer_close(&at);
}

static uint32_t x[MOST_KEYS], expected[MOST_KEYS], position[MOST_KEYS];
static uint64_t offsets[MOST_SEGMENTS + 1];

/* Keys below 2^31 are in order as u32 and as i32, but only the first stay as they are. In some
 * cases many are equal. */
static void check_lengths(weft_context *ctx, test_random *random, size_t segments) {
    const size_t n = offsets[segments];
    const unsigned shift = test_below(random, 2) ? 1 : 28;
    for (size_t i = 0; i < n; i++)
        x[i] = expected[i] = (uint32_t)test_bits(random) >> shift;
    for (size_t s = 0; s < segments; s++)
        qsort(expected + offsets[s], offsets[s + 1] - offsets[s], 4, compare_keys);
    check(ctx, WEFT_U32, n, x, test_below(random, 2), segments, offsets, expected);
    check(ctx, WEFT_I32, n, x, test_below(random, 2), segments, offsets, expected);
}

/* Few keys, so that many are equal, in place and with values that are sorted in place. */
static void check_stable(weft_context *ctx, test_random *random, size_t segments) {
    const size_t n = offsets[segments], bytes = n * sizeof(uint64_t);
    test_buffer keys = test_buffer_open(ctx, true, bytes), at = test_buffer_open(ctx, true, bytes);
    test_buffer places = test_buffer_open(ctx, true, (segments + 1) * 8);
    static uint64_t word[MOST_KEYS];
    for (int wide = 0; wide < 2; wide++) {
        const weft_type type = wide ? WEFT_U64 : WEFT_U32;
        for (size_t i = 0; i < n; i++) {
            x[i] = (uint32_t)test_below(random, 7);
            word[i] = x[i];
            position[i] = (uint32_t)i;
        }
        test_buffer_load(&keys, wide ? (void *)word : (void *)x, n * (wide ? 8 : 4), 0);
        test_buffer_load(&at, position, n * 4, 0);
        test_buffer_load(&places, offsets, (segments + 1) * 8, 0);
        assert_int_equal(weft_sort_segments(ctx, WEFT_DESCENDING, type, n, keys.p, keys.p, 4, at.p,
                                            at.p, segments, (const uint64_t *)places.p),
                         WEFT_OK);
        const void *const sorted = test_buffer_read(&keys, "weft_sort_segments");
        const uint32_t *const from = test_buffer_read(&at, "weft_sort_segments");
        for (size_t s = 0; s < segments; s++)
            for (size_t i = offsets[s]; i < offsets[s + 1]; i++) {
                const uint64_t key =
                    wide ? ((const uint64_t *)sorted)[i] : (uint64_t)((const uint32_t *)sorted)[i];
                assert_in_range(from[i], offsets[s], offsets[s + 1] - 1);
                assert_int_equal(key, x[from[i]]);
                if (i > offsets[s])
                    assert_true(x[from[i - 1]] > key ||
                                (x[from[i - 1]] == key && from[i - 1] < from[i]));
            }
    }
    test_buffer_close(&keys);
    test_buffer_close(&at);
    test_buffer_close(&places);
}

static void tiny_ones(weft_context *ctx) {
    test_random random = test_random_at(31);
    for (size_t length = 1; length <= 26; length++) {
        const size_t segments = 2500 / length + test_below(&random, 50);
        for (size_t s = 0; s <= segments; s++)
            offsets[s] = s * length;
        check_lengths(ctx, &random, segments);
    }
}

/* Segments of which teams of a warp have one, from the shortest to the longest; then some of all
 * of these in one window, and of a block. */
static void for_teams(weft_context *ctx) {
    static const size_t lengths[] = {8, 9, 25, 32, 33, 64, 100, 128, 129, 256, 257, 512, 513, 1024};
    test_random random = test_random_at(34);
    if (ctx->kind == WI_CUDA)
        assert_int_equal(weft_use(ctx, "sort_segments", "by_length"), WEFT_OK);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const size_t segments = 3000 / lengths[k] + 2;
        for (size_t s = 0; s <= segments; s++)
            offsets[s] = s * lengths[k];
        check_lengths(ctx, &random, segments);
        check_stable(ctx, &random, segments);
    }
    for (size_t bound = 40; bound <= 640; bound *= 4) {
        size_t segments = 0;
        for (offsets[0] = 0; offsets[segments] < 4000; segments++)
            offsets[segments + 1] =
                offsets[segments] + (test_below(&random, 4) ? test_below(&random, bound) : 0);
        check_lengths(ctx, &random, segments);
        check_stable(ctx, &random, segments);
    }
    assert_int_equal(weft_use(ctx, "sort_segments", "auto"), WEFT_OK);
}

/* Every 700th segment is long, or a window's worth; the others have 0 to 12 elements. */
static void mixed_ones(weft_context *ctx) {
    static const size_t longs[] = {25, 1023, 1024, 1025, 4097, 9001, 20000};
    test_random random = test_random_at(32);
    for (size_t k = 0; k < sizeof longs / sizeof longs[0]; k++) {
        const size_t segments = 1500;
        size_t n = 0;
        for (size_t s = 0; s < segments; s++) {
            offsets[s] = n;
            n += s % 700 == 350 && n < MOST_KEYS / 4 ? longs[k] : test_below(&random, 13);
        }
        offsets[segments] = n;
#ifdef WEFT_EMU
        wi_places_compared = k % 2 ? 1 : 1 << 24; /* by merging, or by counting */
#endif
        check_lengths(ctx, &random, segments);
    }
#ifdef WEFT_EMU
    wi_places_compared = 1 << 24;
#endif
}

/* Wrong offsets in device memory: the output is a copy, whatever rung finds them. On a cpu they are
 * refused, elsewhere. */
static void wrong_offsets(weft_context *ctx) {
    enum {
        SEGMENTS = 400,
        LENGTH = 10,
        N = SEGMENTS * LENGTH
    };
    if (ctx->kind != WI_CUDA)
        return;
    test_random random = test_random_at(33);
    for (size_t i = 0; i < N; i++)
        x[i] = (uint32_t)test_bits(&random);
    for (int wrong = 0; wrong < 5; wrong++) {
        for (size_t s = 0; s <= SEGMENTS; s++)
            offsets[s] = s * LENGTH;
        if (wrong == 0)
            offsets[0] = 1;
        else if (wrong == 1)
            offsets[SEGMENTS] = N - 1;
        else if (wrong == 2)
            offsets[SEGMENTS] = N + 1;
        else if (wrong == 3)
            offsets[SEGMENTS / 3] = UINT64_MAX;
        else
            offsets[SEGMENTS / 2] = 0;
        check(ctx, WEFT_U32, N, x, true, SEGMENTS, offsets, x);
        for (int k = 0; k < 2; k++) {
            test_ok(ctx, weft_use(ctx, "sort_segments", k ? "places" : "by_length"));
            check(ctx, WEFT_U32, N, x, false, SEGMENTS, offsets, x);
        }
        test_ok(ctx, weft_use(ctx, "sort_segments", NULL));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(tiny_ones),
        TEST_ON_EACH_PLACE(for_teams),
        TEST_ON_EACH_PLACE(mixed_ones),
        TEST_ON_EACH_PLACE(wrong_offsets),
    };
    return cmocka_run_group_tests_name("sort segments", tests, NULL, NULL);
}
