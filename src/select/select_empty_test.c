/* SPDX-License-Identifier: Apache-2.0 */
/* select where there is nothing to move: arrays without elements may be NULL, and every rung then
 * still does what is left to do. */
#include <stdlib.h>
#include <string.h>

#include "select/select.h"
#include "testing.h"

enum {
    N = 100,
    WIDEST = 40
};

static const size_t widths[] = {1, 3, 4, 8, 16, 24, 40};

/* No elements are given to expand: all of y becomes the fill, wherever that lies. */
static void expand(weft_context *ctx, const wi_row *row, size_t width, bool device, size_t offset) {
    static const char call[] = "weft_expand";
    unsigned char data[WIDEST], tested[N];
    test_buffer fill = test_buffer_open(ctx, device, width);
    test_buffer s = test_buffer_open(ctx, ctx->kind == WI_CUDA, N);
    test_buffer y = test_buffer_open(ctx, ctx->kind == WI_CUDA, N * width);
    for (size_t k = 0; k < sizeof data; k++)
        data[k] = (unsigned char)(k + 1);
    for (size_t k = 0; k < N; k++)
        tested[k] = k % 3 == 0;
    test_buffer_load(&fill, data, width, offset);
    test_buffer_load(&s, tested, N, 0);
    test_buffer_poison(&y, N * width, 0);
    test_use(ctx, "select", row);
    const weft_status status = weft_expand(ctx, WEFT_FLAGGED, N, s.p, width, 0, NULL, fill.p, y.p);
    const unsigned char *const got = test_buffer_read(&y, call);
    if (status == WEFT_EUNSUPPORTED && row) {
        test_refused(ctx, status, WEFT_EUNSUPPORTED, call, row->name);
    } else {
        assert_int_equal(status, WEFT_OK);
        for (size_t i = 0; i < N; i++)
            if (memcmp(got + i * width, data, width) != 0)
                fail_msg("width %zu, fill in %s memory + %zu: y[%zu] is not the fill", width,
                         device ? "device" : "host", offset, i);
    }
    test_buffer_close(&y);
    test_buffer_close(&s);
    test_buffer_close(&fill);
}

static void test_expand(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    for (size_t k = 0; k < count; k++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int device = 0; device <= (ctx->kind == WI_CUDA); device++)
                expand(ctx, rows[k], widths[w], device, device && widths[w] % 4 ? 63 : 0);
}

/* Of no elements nothing is wanted. */
static void select_none(weft_context *ctx, const wi_row *row, weft_type type) {
    const weft_predicate p = {.test = WEFT_NE, .type = type};
    uint64_t counts[] = {9, 9, 9, 9, 9, 9, 9};
    test_use(ctx, "select", row);
    const weft_status status[] = {
        weft_select(ctx, p, 0, NULL, NULL, &counts[0]),
        weft_select_where(ctx, p, 0, NULL, 24, NULL, NULL, &counts[1]),
        weft_partition(ctx, p, 0, NULL, NULL, NULL, &counts[2]),
        weft_partition_where(ctx, p, 0, NULL, 8, NULL, NULL, NULL, &counts[3]),
        weft_unique(ctx, type, 0, NULL, NULL, &counts[4]),
        weft_run_length(ctx, type, 0, NULL, NULL, WEFT_U64, NULL, &counts[5]),
        weft_select_indices(ctx, p, 0, NULL, WEFT_U32, NULL, &counts[6])};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        if (status[k] == WEFT_EUNSUPPORTED && row)
            assert_int_equal(counts[k], 9);
        else if (status[k] != WEFT_OK || counts[k] != 0)
            fail_msg("call %zu of %s: %s, %zu", k, test_type_name(type),
                     weft_status_name(status[k]), (size_t)counts[k]);
    }
}

static void test_none(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    for (size_t k = 0; k < count; k++)
        for (weft_type type = WEFT_I8; type <= WEFT_I64; type++)
            select_none(ctx, rows[k], type);
}

/* Where nothing falls out in place, everything has its place already. The last of a tile is what
 * the first of the next is compared with, maybe later than the tile is written: so it must be left
 * alone. */
static void keep_all(weft_context *ctx, const wi_row *row, weft_type type, size_t n) {
    const size_t size = test_size_of(type);
    unsigned char *const data = calloc(n, size);
    test_buffer x = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * size);
    test_buffer count = test_buffer_open(ctx, ctx->kind == WI_CUDA, sizeof(uint64_t));
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        test_store(type, data, i, (test_value){.u = i % 251});
    test_buffer_load(&x, data, n * size, 0);
    test_buffer_poison(&count, sizeof(uint64_t), 0);
    test_use(ctx, "select", row);
    const weft_status status = weft_unique(ctx, type, n, x.p, x.p, (uint64_t *)(void *)count.p);
    if (status == WEFT_OK) {
        const uint64_t *const got = test_buffer_read(&count, "count");
        assert_int_equal(*got, n);
    } else {
        test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_unique", row ? row->name : NULL);
    }
    assert_memory_equal(test_buffer_read(&x, "x"), data, n * size);
    test_buffer_close(&count);
    test_buffer_close(&x);
    free(data);
}

static void test_keep_all(weft_context *ctx) {
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_U32, WEFT_U64};
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    for (size_t k = 0; k < count; k++)
        for (size_t t = 0; t < 4; t++)
            keep_all(ctx, rows[k], types[t], 40000 >> t);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(test_expand),
                                       TEST_ON_EACH_PLACE(test_none),
                                       TEST_ON_EACH_PLACE(test_keep_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
