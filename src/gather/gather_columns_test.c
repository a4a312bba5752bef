/* SPDX-License-Identifier: Apache-2.0 */
/* Columns taken out of records and put back: any widths, offsets and alignments, host and device
 * memory, against plain loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gather/gather_columns.h"
#include "testing.h"

enum {
    MOST_N = 20000,
    MOST_BYTES = 40,
    ARRAYS = 1 + WEFT_TABLE_COLUMNS
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    unsigned char *records, *expected, *array;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(33)};
    const size_t bytes = (size_t)MOST_N * MOST_BYTES;
    for (int k = 0; k < ARRAYS; k++) {
        r.pair[k] = test_pair_open(ctx, bytes + TEST_MAX_OFFSET);
    }
    r.records = malloc(bytes);
    r.expected = malloc(bytes);
    r.array = malloc(bytes);
    assert_true(r.records && r.expected && r.array);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->records);
    free(r->expected);
    free(r->array);
}

static void draw_bytes(rig *r, size_t bytes, unsigned char *to) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)test_bits(&r->random);
}

/* Columns that may share bytes; if `apart` they follow one another. */
static void draw_columns(rig *r, bool apart, size_t record_bytes, size_t columns,
                         weft_table_column *column) {
    const size_t most = record_bytes / columns;
    for (size_t c = 0; c < columns; c++) {
        column[c].width = 1 + test_below(&r->random, apart ? most : record_bytes);
        column[c].offset =
            apart ? c * most : test_below(&r->random, record_bytes - column[c].width + 1);
    }
}

static bool move_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const bool puts = at[0];
    const size_t columns = at[1], words = 1 + test_below(&r->random, MOST_BYTES / 8);
    const size_t bytes = test_below(&r->random, 2) ? 8 * words : 8 + test_below(&r->random, 33);
    const unsigned device =
        test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 1u << ARRAYS);
    weft_table_column column[WEFT_TABLE_COLUMNS];
    test_buffer *b[ARRAYS];
    char what[160];
    snprintf(what, sizeof what, "%s of %zu columns: %s, n %zu, %zu bytes, device %#x",
             puts ? "put" : "take", columns, row ? row->name : "chosen", n, bytes, device);
    for (int k = 0; k < ARRAYS; k++)
        b[k] = test_pair_at(&r->pair[k], device >> k & 1);
    draw_bytes(r, n * bytes, r->records);
    memcpy(r->expected, r->records, n * bytes);
    test_buffer_load(b[0], r->records, n * bytes, test_below(&r->random, 9));
    if (columns > 0)
        draw_columns(r, puts, bytes, columns, column);
    for (size_t c = 0; c < columns; c++) {
        const size_t width = column[c].width, offset = test_below(&r->random, 9);
        draw_bytes(r, n * width, r->array);
        for (size_t i = 0; i < n && puts; i++)
            memcpy(r->expected + i * bytes + column[c].offset, r->array + i * width, width);
        if (puts)
            test_buffer_load(b[1 + c], r->array, n * width, offset);
        else
            test_buffer_poison(b[1 + c], n * width, offset);
        column[c].array = b[1 + c]->p;
    }
    test_use(r->ctx, "columns", row);
    assert_int_equal(puts ? weft_put_columns(r->ctx, n, bytes, b[0]->p, columns, column)
                          : weft_take_columns(r->ctx, n, bytes, b[0]->p, columns, column),
                     WEFT_OK);
    test_use(r->ctx, "columns", NULL);
    if (memcmp(test_buffer_read(b[0], what), r->expected, n * bytes) != 0)
        fail_msg("%s: the records are wrong", what);
    for (size_t c = 0; c < columns && !puts; c++) {
        const unsigned char *const got = test_buffer_read(b[1 + c], what);
        const size_t width = column[c].width;
        for (size_t i = 0; i < n; i++)
            if (memcmp(got + i * width, r->records + i * bytes + column[c].offset, width) != 0)
                fail_msg("%s: element %zu of column %zu is wrong", what, i, c);
    }
    return true;
}

static void every_shape(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 255, 256, 257, 1000, 4099, MOST_N};
    rig r = rig_open(ctx);
    const test_sweep sweep = {.sizes = sizes,
                              .size_count = sizeof sizes / sizeof *sizes,
                              .ladder = &wi_columns_ladder,
                              .extent = {2, WEFT_TABLE_COLUMNS + 1},
                              .must = 3,
                              .share = 100,
                              .run = move_at};
    test_sweep_run(ctx, &r.random, &sweep, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(every_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
