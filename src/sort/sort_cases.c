/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sort for the tests of all calls: with no context, and with each of their allocations
 * failed. Wrong arguments are many: sort_arguments_test.c has them. */
#include "cases.h"
#include "sort/sort.h"
#include "weft/records.h"

static void without_context(void) {
    float x = 1, y = 2;
    uint64_t position = 3;
    size_t bytes = 4;
    const weft_field field = {0, WEFT_F32, WEFT_ASCENDING};
    assert_int_equal(weft_sort(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y), WEFT_EARG);
    assert_int_equal(weft_sort_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y, &bytes), WEFT_EARG);
    assert_int_equal(weft_sort_pairs(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &x, 4, &y, &y),
                     WEFT_EARG);
    assert_int_equal(weft_sort_indices(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, WEFT_U64, &position),
                     WEFT_EARG);
    assert_int_equal(
        weft_sort_bits(NULL, WEFT_ASCENDING, WEFT_F32, 0, 32, 1, &x, &y, 0, NULL, NULL), WEFT_EARG);
    assert_int_equal(
        weft_sort_segments(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y, 0, NULL, NULL, 1, &position),
        WEFT_EARG);
    assert_int_equal(weft_sort_records(NULL, 1, 4, &x, &y, &field, 1), WEFT_EARG);
    assert_int_equal(
        weft_merge(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 0, NULL, &y, 0, NULL, NULL, NULL),
        WEFT_EARG);
    assert_int_equal(weft_is_sorted(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &position), WEFT_EARG);
    assert_int_equal(
        weft_search(NULL, WEFT_LOWER, WEFT_ASCENDING, WEFT_F32, 1, &x, 1, &x, &position),
        WEFT_EARG);
    assert_int_equal(weft_top_k(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 1, &y, &position),
                     WEFT_EARG);
    assert_int_equal(
        weft_sort_pairs_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &x, 4, &y, &y, &bytes),
        WEFT_EARG);
    assert_int_equal(
        weft_sort_indices_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, WEFT_U64, &position, &bytes),
        WEFT_EARG);
    assert_int_equal(weft_sort_bits_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 0, 32, 1, &x, &y, 0, NULL,
                                          NULL, &bytes),
                     WEFT_EARG);
    assert_int_equal(weft_sort_segments_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, &y, 0, NULL,
                                              NULL, 1, &position, &bytes),
                     WEFT_EARG);
    assert_int_equal(weft_sort_records_bytes(NULL, 1, 4, &x, &y, &field, 1, &bytes), WEFT_EARG);
    assert_int_equal(weft_merge_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 0, NULL, &y, 0, NULL,
                                      NULL, NULL, &bytes),
                     WEFT_EARG);
    assert_int_equal(
        weft_top_k_bytes(NULL, WEFT_ASCENDING, WEFT_F32, 1, &x, 1, &y, &position, &bytes),
        WEFT_EARG);
    assert_int_equal(weft_sort_records_indices(NULL, 1, 4, &x, &field, 1, WEFT_U64, &position),
                     WEFT_EARG);
    assert_int_equal(
        weft_sort_records_indices_bytes(NULL, 1, 4, &x, &field, 1, WEFT_U64, &position, &bytes),
        WEFT_EARG);
    assert_int_equal(weft_unique_records(NULL, 1, 4, &x, &y, &field, 1, &position), WEFT_EARG);
    assert_int_equal(
        weft_run_length_records(NULL, 1, 4, &x, &y, &field, 1, WEFT_U64, &position, &position),
        WEFT_EARG);
    assert_int_equal(weft_search_records(NULL, WEFT_LOWER, 1, 4, &x, 1, &x, &field, 1, &position),
                     WEFT_EARG);
    assert_int_equal(weft_merge_records(NULL, 4, 1, &x, 0, NULL, &y, &field, 1), WEFT_EARG);
    assert_true(y == 2 && position == 3 && bytes == 4);
}

/* ---- allocations ---- */

static weft_status run_sort(weft_context *ctx, test_arrays *a) {
    return weft_sort(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->z);
}

static weft_status ask_sort(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->z, bytes);
}

/* Keys in place, and values of a width that no rung moves. All keys are equal, so nothing moves. */
static weft_status run_sort_pairs(weft_context *ctx, test_arrays *a) {
    return weft_sort_pairs(ctx, WEFT_DESCENDING, WEFT_F32, a->n / 3, a->x, a->x, 12, a->y, a->z);
}

static weft_status ask_sort_pairs(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_pairs_bytes(ctx, WEFT_DESCENDING, WEFT_F32, a->n / 3, a->x, a->x, 12, a->y,
                                 a->z, bytes);
}

static weft_status run_sort_indices(weft_context *ctx, test_arrays *a) {
    return weft_sort_indices(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, WEFT_U32, a->z);
}

static weft_status ask_sort_indices(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_indices_bytes(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, WEFT_U32, a->z,
                                   bytes);
}

enum {
    SEGMENTS = 4
};

static uint64_t offsets[SEGMENTS + 1];

static void set_offsets(size_t n) {
    offsets[1] = 7;
    offsets[2] = offsets[3] = n / 2;
    offsets[SEGMENTS] = n;
}

static weft_status run_segments(weft_context *ctx, test_arrays *a) {
    set_offsets(a->n);
    return weft_sort_segments(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->z, 0, NULL, NULL,
                              SEGMENTS, offsets);
}

static weft_status ask_segments(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    set_offsets(a->n);
    return weft_sort_segments_bytes(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->z, 0, NULL, NULL,
                                    SEGMENTS, offsets, bytes);
}

static const weft_field fields[] = {{8, WEFT_F32, WEFT_DESCENDING}, {1, WEFT_U16, WEFT_ASCENDING}};

static weft_status run_records(weft_context *ctx, test_arrays *a) {
    return weft_sort_records(ctx, a->n / 3, 12, a->x, a->z, fields, 2);
}

static weft_status ask_records(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_records_bytes(ctx, a->n / 3, 12, a->x, a->z, fields, 2, bytes);
}

static weft_status run_records_indices(weft_context *ctx, test_arrays *a) {
    return weft_sort_records_indices(ctx, a->n / 3, 12, a->x, fields, 2, WEFT_U32, a->z);
}

static weft_status ask_records_indices(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_records_indices_bytes(ctx, a->n / 3, 12, a->x, fields, 2, WEFT_U32, a->z,
                                           bytes);
}

static weft_status run_record_lengths(weft_context *ctx, test_arrays *a) {
    return weft_run_length_records(ctx, a->n / 6, 12, a->x, a->z, fields, 2, WEFT_U32,
                                   a->z + a->n / 2, a->result);
}

static weft_status run_search_records(weft_context *ctx, test_arrays *a) {
    return weft_search_records(ctx, WEFT_UPPER, a->n / 3, 12, a->x, 1000, a->y, fields, 2,
                               (uint64_t *)a->z);
}

static weft_status run_merge_records(weft_context *ctx, test_arrays *a) {
    return weft_merge_records(ctx, 12, a->n / 6, a->x, 1000, a->y, a->z, fields, 2);
}

static weft_status run_merge(weft_context *ctx, test_arrays *a) {
    return weft_merge(ctx, WEFT_ASCENDING, WEFT_F32, a->n / 2, a->x, a->n - a->n / 2, a->y, a->z, 0,
                      NULL, NULL, NULL);
}

static weft_status ask_merge(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_merge_bytes(ctx, WEFT_ASCENDING, WEFT_F32, a->n / 2, a->x, a->n - a->n / 2, a->y,
                            a->z, 0, NULL, NULL, NULL, bytes);
}

/* Two outputs in host memory, so small that the driver copies them from a GPU. The rungs of staging
 * that copy whole arrays, which this test forces, allocate for each copy, so also for the second
 * output after the first is written; the rung that the library chooses keeps its buffers. */
static size_t odd(const test_arrays *a) {
    return a->n / 16;
}

/* Values of one word each, at unaligned addresses: in device memory they are moved by position, but
 * copies of host arrays are aligned. */
static weft_status run_sort_odd(weft_context *ctx, test_arrays *a) {
    return weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_F32, odd(a), a->x, a->z, 4, (char *)a->y + 1,
                           (char *)(a->z + a->n / 2) + 1);
}

static weft_status ask_sort_odd(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_sort_pairs_bytes(ctx, WEFT_ASCENDING, WEFT_F32, odd(a), a->x, a->z, 4,
                                 (char *)a->y + 1, (char *)(a->z + a->n / 2) + 1, bytes);
}

static weft_status run_merge_odd(weft_context *ctx, test_arrays *a) {
    return weft_merge(ctx, WEFT_DESCENDING, WEFT_F32, odd(a), a->x, 1000, a->y, a->z, 4,
                      (char *)a->x + 1, (char *)a->y + 1, (char *)(a->z + a->n / 2) + 1);
}

static weft_status ask_merge_odd(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_merge_bytes(ctx, WEFT_DESCENDING, WEFT_F32, odd(a), a->x, 1000, a->y, a->z, 4,
                            (char *)a->x + 1, (char *)a->y + 1, (char *)(a->z + a->n / 2) + 1,
                            bytes);
}

static weft_status run_is_sorted(weft_context *ctx, test_arrays *a) {
    return weft_is_sorted(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->result);
}

static weft_status run_search(weft_context *ctx, test_arrays *a) {
    return weft_search(ctx, WEFT_UPPER, WEFT_ASCENDING, WEFT_F32, a->n, a->x, 1000, a->y,
                       (uint64_t *)a->z);
}

static weft_status run_top_k(weft_context *ctx, test_arrays *a) {
    return weft_top_k(ctx, WEFT_DESCENDING, WEFT_F32, a->n, a->x, 1000, a->z, NULL);
}

static weft_status ask_top_k(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_top_k_bytes(ctx, WEFT_DESCENDING, WEFT_F32, a->n, a->x, 1000, a->z, NULL, bytes);
}

static weft_status run_top_many(weft_context *ctx, test_arrays *a) {
    return weft_top_k(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->n / 3, NULL, (uint64_t *)a->z);
}

static weft_status ask_top_many(weft_context *ctx, const test_arrays *a, size_t *bytes) {
    return weft_top_k_bytes(ctx, WEFT_ASCENDING, WEFT_F32, a->n, a->x, a->n / 3, NULL,
                            (uint64_t *)a->z, bytes);
}

static const test_call calls[] = {
    {"weft_sort", run_sort, &wi_sort_ladder, ask_sort},
    {"weft_sort_pairs", run_sort_pairs, &wi_sort_ladder, ask_sort_pairs},
    {"weft_sort_pairs, unaligned", run_sort_odd, &wi_sort_ladder, ask_sort_odd},
    {"weft_sort_indices", run_sort_indices, &wi_sort_ladder, ask_sort_indices},
    {"weft_sort_segments", run_segments, NULL, ask_segments},
    {"weft_sort_records", run_records, NULL, ask_records},
    {"weft_sort_records_indices", run_records_indices, NULL, ask_records_indices},
    {"weft_run_length_records", run_record_lengths, NULL, NULL},
    {"weft_search_records", run_search_records, NULL, NULL},
    {"weft_merge_records", run_merge_records, NULL, NULL},
    {"weft_merge", run_merge, NULL, ask_merge},
    {"weft_merge, unaligned", run_merge_odd, NULL, ask_merge_odd},
    {"weft_is_sorted", run_is_sorted, NULL, NULL},
    {"weft_search", run_search, NULL, NULL},
    {"weft_top_k", run_top_k, NULL, ask_top_k},
    {"weft_top_k of many", run_top_many, &wi_top_k_ladder, ask_top_many},
};

const test_cases wi_sort_cases = {
    .without_context = without_context, .calls = calls, .call_count = sizeof calls / sizeof *calls};
