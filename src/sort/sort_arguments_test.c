/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong arguments of weft_sort and its kin: each has its own status and a message that names the
 * call and the argument, and a refused call has changed nothing. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"

#define UP WEFT_ASCENDING
#define I32 WEFT_I32

static void sort_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_order odd = (weft_order)2;
    void *const off = (char *)r.x + 2;
    size_t bytes = 0;
    REFUSED("weft_sort", "x", weft_sort(ctx, UP, I32, 4, NULL, r.y));
    REFUSED("weft_sort", "y", weft_sort(ctx, UP, I32, 4, r.x, NULL));
    REFUSED("weft_sort", "order", weft_sort(ctx, odd, I32, 4, r.x, r.y));
    REFUSED("weft_sort", "type", weft_sort(ctx, UP, bad_types[1], 4, r.x, r.y));
    REFUSED("weft_sort", "y", weft_sort(ctx, UP, I32, 4, r.x, r.x + 1));
    REFUSED("weft_sort", "x", weft_sort(ctx, UP, I32, 4, off, r.y));
    REFUSED("weft_sort", NULL, weft_sort(ctx, UP, I32, SIZE_MAX / 4, r.x, r.y));
    REFUSED("weft_sort_bytes", "bytes", weft_sort_bytes(ctx, UP, I32, 4, r.x, r.y, NULL));
    REFUSED("weft_sort_bytes", "y", weft_sort_bytes(ctx, UP, I32, 4, r.x, NULL, &bytes));
    REFUSED("weft_sort_pairs", "values", weft_sort_pairs(ctx, UP, I32, 4, r.x, r.y, 4, NULL, r.z));
    REFUSED("weft_sort_pairs", "values_out",
            weft_sort_pairs(ctx, UP, I32, 4, r.x, r.x, 4, r.z, NULL));
    REFUSED("weft_sort_pairs", "value_bytes",
            weft_sort_pairs(ctx, UP, I32, 4, r.x, r.y, 0, r.z, r.z));
    REFUSED("weft_sort_pairs", "values_out",
            weft_sort_pairs(ctx, UP, I32, 4, r.x, r.y, 4, r.z, r.y + 3));
    REFUSED("weft_sort_pairs", "keys", weft_sort_pairs(ctx, UP, I32, 4, r.x, r.y, 4, r.z, r.x + 1));
    REFUSED("weft_sort_pairs", NULL,
            weft_sort_pairs(ctx, UP, I32, 4, r.x, r.y, SIZE_MAX / 2, r.z, r.z));
    REFUSED("weft_sort_indices", "index_type",
            weft_sort_indices(ctx, UP, I32, 4, r.x, WEFT_U8, r.y));
    REFUSED("weft_sort_indices", "indices",
            weft_sort_indices(ctx, UP, I32, 4, r.x, WEFT_U32, NULL));
    REFUSED("weft_sort_indices", "indices", weft_sort_indices(ctx, UP, I32, 4, r.x, WEFT_U32, r.x));
    REFUSED("weft_sort_indices", "index_type",
            weft_sort_indices(ctx, UP, WEFT_I8, (size_t)UINT32_MAX + 2, r.x, WEFT_U32, r.y));
    REFUSED("weft_sort_indices", "index_type",
            weft_sort_indices(ctx, UP, WEFT_I8, (size_t)INT32_MAX + 2, r.x, WEFT_I32, r.y));
    REFUSED("weft_sort_bits", "keys",
            weft_sort_bits(ctx, UP, I32, 0, 8, 4, NULL, r.y, 0, NULL, NULL));
    REFUSED("weft_sort_bits", "keys_out",
            weft_sort_bits(ctx, UP, I32, 0, 8, 4, r.x, r.x + 1, 0, NULL, NULL));
    REFUSED("weft_sort_bits", "end_bit",
            weft_sort_bits(ctx, UP, I32, 0, 33, 4, r.x, r.y, 0, NULL, NULL));
    REFUSED("weft_sort_bits", "first_bit",
            weft_sort_bits(ctx, UP, I32, 9, 8, 4, r.x, r.y, 0, NULL, NULL));
    rig_close(&r);
}

static void segment_and_record_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    const uint64_t falling[] = {0, 3, 2, 4}, late[] = {1, 4}, early[] = {0, 3};
    const weft_field good = {0, I32, UP}, wide = {6, I32, UP}, odd = {0, I32, (weft_order)7};
    REFUSED("weft_sort_segments", "keys_out",
            weft_sort_segments(ctx, UP, I32, 4, r.x, NULL, 0, NULL, NULL, 1, early));
    REFUSED("weft_sort_segments", "offsets",
            weft_sort_segments(ctx, UP, I32, 4, r.x, r.y, 0, NULL, NULL, 3, falling));
    REFUSED("weft_sort_segments", "offsets",
            weft_sort_segments(ctx, UP, I32, 4, r.x, r.y, 0, NULL, NULL, 1, late));
    REFUSED("weft_sort_segments", "offsets",
            weft_sort_segments(ctx, UP, I32, 4, r.x, r.y, 0, NULL, NULL, 1, early));
    REFUSED("weft_sort_segments", "offsets",
            weft_sort_segments(ctx, UP, I32, 4, r.x, r.y, 0, NULL, NULL, 1, NULL));
    REFUSED("weft_sort_segments", NULL,
            weft_sort_segments(ctx, UP, I32, 4, r.x, r.y, 0, NULL, NULL, SIZE_MAX, early));
    REFUSED("weft_sort_segments", "keys_out",
            weft_sort_segments(ctx, UP, I32, 4, r.x, NULL, 4, r.z, r.z, 1, early));
    REFUSED("weft_sort_records", "records", weft_sort_records(ctx, 4, 8, NULL, r.y, &good, 1));
    REFUSED("weft_sort_records", "out", weft_sort_records(ctx, 4, 8, r.x, r.x + 1, &good, 1));
    REFUSED("weft_sort_records", "fields", weft_sort_records(ctx, 4, 8, r.x, r.y, NULL, 1));
    REFUSED("weft_sort_records", "n_fields", weft_sort_records(ctx, 4, 8, r.x, r.y, &good, 0));
    REFUSED("weft_sort_records", "fields", weft_sort_records(ctx, 4, 8, r.x, r.y, &wide, 1));
    REFUSED("weft_sort_records", "order", weft_sort_records(ctx, 4, 8, r.x, r.y, &odd, 1));
    REFUSED("weft_sort_records", "record_bytes", weft_sort_records(ctx, 4, 0, r.x, r.y, &good, 1));
    rig_close(&r);
}

static void merge_and_search_arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    uint64_t *const p = (uint64_t *)r.z;
    REFUSED("weft_merge", "a", weft_merge(ctx, UP, I32, 2, NULL, 2, r.y, r.z, 0, NULL, NULL, NULL));
    REFUSED("weft_merge", "keys_out",
            weft_merge(ctx, UP, I32, 2, r.x, 2, r.y, NULL, 0, NULL, NULL, NULL));
    REFUSED("weft_merge", "keys_out",
            weft_merge(ctx, UP, I32, 2, r.x, 2, r.y, r.x, 0, NULL, NULL, NULL));
    REFUSED("weft_merge", "b_values",
            weft_merge(ctx, UP, I32, 2, r.x, 2, r.y, r.z, 4, r.x, NULL, r.z + 8));
    REFUSED("weft_merge", "order",
            weft_merge(ctx, (weft_order)-1, I32, 2, r.x, 2, r.y, r.z, 0, NULL, NULL, NULL));
    REFUSED("weft_merge_bytes", "bytes",
            weft_merge_bytes(ctx, UP, I32, 2, r.x, 2, r.y, r.z, 0, NULL, NULL, NULL, NULL));
    REFUSED("weft_is_sorted", "x", weft_is_sorted(ctx, UP, I32, 2, NULL, p));
    REFUSED("weft_is_sorted", "position", weft_is_sorted(ctx, UP, I32, 2, r.x, NULL));
    REFUSED("weft_search", "wanted", weft_search(ctx, WEFT_LOWER, UP, I32, 2, r.x, 2, NULL, p));
    REFUSED("weft_search", "positions",
            weft_search(ctx, WEFT_LOWER, UP, I32, 2, r.x, 2, r.y, NULL));
    REFUSED("weft_search", "bound", weft_search(ctx, (weft_bound)2, UP, I32, 2, r.x, 2, r.y, p));
    REFUSED("weft_top_k", "k", weft_top_k(ctx, UP, I32, 2, r.x, 3, r.y, p));
    REFUSED("weft_top_k", "values", weft_top_k(ctx, UP, I32, 2, r.x, 1, NULL, NULL));
    REFUSED("weft_top_k", "positions", weft_top_k(ctx, UP, I32, 8, r.x, 2, NULL, (void *)r.x));
    rig_close(&r);
}

/* No elements, nothing to do; and no memory is needed for it. */
static void sort_nothing(weft_context *ctx) {
    const weft_field field = {0, I32, UP};
    const uint64_t none[] = {0, 0};
    size_t bytes = 5;
    assert_int_equal(weft_sort(ctx, UP, I32, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_sort_bytes(ctx, UP, I32, 0, NULL, NULL, &bytes), WEFT_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(weft_sort_pairs(ctx, UP, I32, 0, NULL, NULL, 12, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_sort_indices(ctx, UP, I32, 0, NULL, WEFT_U32, NULL), WEFT_OK);
    assert_int_equal(weft_sort_segments(ctx, UP, I32, 0, NULL, NULL, 0, NULL, NULL, 1, none),
                     WEFT_OK);
    assert_int_equal(weft_sort_records(ctx, 0, 4, NULL, NULL, &field, 1), WEFT_OK);
    assert_int_equal(weft_merge(ctx, UP, I32, 0, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL),
                     WEFT_OK);
    assert_int_equal(weft_search(ctx, WEFT_LOWER, UP, I32, 0, NULL, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_top_k(ctx, UP, I32, 0, NULL, 0, NULL, NULL), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(sort_arguments),
        TEST_ON_EACH_PLACE(segment_and_record_arguments),
        TEST_ON_EACH_PLACE(merge_and_search_arguments),
        TEST_ON_EACH_PLACE(sort_nothing),
    };
    return cmocka_run_group_tests_name("sort_arguments", tests, NULL, NULL);
}
