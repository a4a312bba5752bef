/* SPDX-License-Identifier: Apache-2.0 */
/* select where there is nothing to move: arrays without elements may be NULL, and every rung then
 * still does what is left to do. */
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

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(test_expand),
                                       TEST_ON_EACH_PLACE(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
