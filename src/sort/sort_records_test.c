/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of weft/records.h, and the positions of sorted records: records of any size at any
 * address, fields of all types and orders anywhere in them, host and device memory. */
#include "weft/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/sort_oracle.h"
#include "testing.h"

enum {
    MOST_N = 20000,
    MOST_BYTES = 24,
    FIELDS = 4,
    ARRAYS = 4
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    test_buffer *b[ARRAYS]; /* those of this case */
    unsigned char *records, *others;
    size_t *order;
    size_t n, bytes, n_fields;
    weft_field fields[FIELDS];
    const char *call;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(31)};
    const size_t most = (size_t)2 * MOST_N * MOST_BYTES + TEST_MAX_OFFSET;
    for (int k = 0; k < ARRAYS; k++) {
        r.pair[k] = test_pair_open(ctx, most);
    }
    r.records = malloc(most);
    r.others = malloc(most);
    r.order = malloc((size_t)MOST_N * sizeof *r.order);
    assert_true(r.records && r.others && r.order);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->records);
    free(r->others);
    free(r->order);
}

static const char *describe(const rig *r) {
    static char text[256];
    int used = snprintf(text, sizeof text, "%s on %s, n %zu, %zu bytes, fields", r->call,
                        weft_place(r->ctx), r->n, r->bytes);
    for (size_t k = 0; k < r->n_fields; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s at %zu%s",
                         test_type_name(r->fields[k].type), r->fields[k].offset,
                         r->fields[k].order == WEFT_DESCENDING ? " descending" : "");
    return text;
}

static void succeeded(const rig *r, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r), weft_status_name(status), weft_message(r->ctx));
}

/* ---- the oracle ---- */

static int compare(const rig *r, const unsigned char *a, const unsigned char *b) {
    for (size_t k = 0; k < r->n_fields; k++) {
        const weft_field *const f = &r->fields[k];
        uint64_t x = 0, y = 0;
        memcpy(&x, a + f->offset, test_size_of(f->type));
        memcpy(&y, b + f->offset, test_size_of(f->type));
        const int sign = oracle_compare(f->type, x, y);
        if (sign)
            return f->order == WEFT_DESCENDING ? -sign : sign;
    }
    return 0;
}

/* The first of the n sorted records that is not before the wanted one; with `upper`, the first
 * behind it. */
static size_t bound_of(const rig *r, const unsigned char *records, size_t n,
                       const unsigned char *wanted, bool upper) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare(r, records + middle * r->bytes, wanted) < (upper ? 1 : 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* r->order = the positions in order, by merging; equals keep theirs. */
static void sort_positions(const rig *r, size_t first, size_t end) {
    if (end - first < 2) {
        for (size_t i = first; i < end; i++)
            r->order[i] = i;
        return;
    }
    const size_t middle = first + (end - first) / 2;
    sort_positions(r, first, middle);
    sort_positions(r, middle, end);
    size_t *const left = malloc((middle - first) * sizeof *left);
    assert_non_null(left);
    memcpy(left, r->order + first, (middle - first) * sizeof *left);
    size_t a = 0, b = middle;
    for (size_t i = first; a < middle - first; i++) {
        const bool takes_left = b == end || compare(r, r->records + left[a] * r->bytes,
                                                    r->records + r->order[b] * r->bytes) <= 0;
        r->order[i] = takes_left ? left[a++] : r->order[b++];
    }
    free(left);
}

/* ---- cases ---- */

static void draw_fields(rig *r, weft_type type) {
    r->bytes = 8 + test_below(&r->random, MOST_BYTES - 8 + 1);
    r->n_fields = 1 + test_below(&r->random, FIELDS);
    for (size_t k = 0; k < r->n_fields; k++) {
        weft_field *const f = &r->fields[k];
        f->type = k == 0 ? type : (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
        f->offset = test_below(&r->random, r->bytes - test_size_of(f->type) + 1);
        f->order = test_below(&r->random, 2) ? WEFT_ASCENDING : WEFT_DESCENDING;
    }
}

/* Few values for each byte, so that many fields are equal, NaN and -0.0 among them. */
static void draw_records(rig *r, size_t n, unsigned char *records) {
    static const unsigned char values[] = {0, 0x80, 0xFF, 0x7F, 1};
    const size_t distinct = 1 + test_below(&r->random, sizeof values);
    for (size_t i = 0; i < n * r->bytes; i++)
        records[i] = values[test_below(&r->random, distinct)];
    for (size_t i = 1; i < n; i++)
        if (test_below(&r->random, 3) == 0)
            memcpy(records + i * r->bytes, records + (i - 1) * r->bytes, r->bytes);
}

/* Sorts n records in place. */
static void put_in_order(rig *r, size_t n, unsigned char *records) {
    unsigned char *const copy = malloc(n * r->bytes + 1), *const before = r->records;
    assert_non_null(copy);
    r->records = records;
    sort_positions(r, 0, n);
    for (size_t i = 0; i < n; i++)
        memcpy(copy + i * r->bytes, records + r->order[i] * r->bytes, r->bytes);
    memcpy(records, copy, n * r->bytes);
    r->records = before;
    free(copy);
}

static void draw_homes(rig *r) {
    const uint64_t mixed = test_below(&r->random, 2);
    for (int k = 0; k < ARRAYS; k++) {
        const bool host = r->ctx->kind == WI_CPU || (mixed && test_below(&r->random, 2));
        r->b[k] = test_pair_at(&r->pair[k], !host);
    }
}

static void compare_items(const rig *r, const void *got, const unsigned char *right, size_t i,
                          size_t bytes) {
    if (memcmp((const char *)got + i * bytes, right, bytes) != 0)
        fail_msg("%s: item %zu is wrong", describe(r), i);
}

/* Element i of an array of an index type. */
static uint64_t index_at(weft_type type, const void *p, size_t i) {
    const test_value v = test_load(type, p, i);
    return test_is_signed(type) ? (uint64_t)v.i : v.u;
}

static weft_type draw_index_type(rig *r) {
    static const weft_type types[] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};
    return types[test_below(&r->random, 4)];
}

static void check_argsort(rig *r) {
    const weft_type type = draw_index_type(r);
    r->call = "weft_sort_records_indices";
    test_buffer_poison(r->b[1], r->n * test_size_of(type), test_size_of(type));
    succeeded(r, weft_sort_records_indices(r->ctx, r->n, r->bytes, r->b[0]->p, r->fields,
                                           r->n_fields, type, r->b[1]->p));
    sort_positions(r, 0, r->n);
    const void *const got = test_buffer_read(r->b[1], describe(r));
    for (size_t i = 0; i < r->n; i++)
        if (index_at(type, got, i) != r->order[i])
            fail_msg("%s: position %zu is %llu, should be %zu", describe(r), i,
                     (unsigned long long)index_at(type, got, i), r->order[i]);
}

/* unique and, with lengths, run lengths; what lies behind the runs keeps its values. */
static void check_runs(rig *r, bool lengths) {
    const weft_type type = draw_index_type(r);
    const size_t size = test_size_of(type);
    r->call = lengths ? "weft_run_length_records" : "weft_unique_records";
    test_buffer_poison(r->b[1], r->n * r->bytes, 1);
    test_buffer_poison(r->b[2], r->n * size, size);
    test_buffer_poison(r->b[3], sizeof(uint64_t), 8);
    uint64_t *const count = (uint64_t *)(void *)r->b[3]->p;
    succeeded(r, lengths ? weft_run_length_records(r->ctx, r->n, r->bytes, r->b[0]->p, r->b[1]->p,
                                                   r->fields, r->n_fields, type, r->b[2]->p, count)
                         : weft_unique_records(r->ctx, r->n, r->bytes, r->b[0]->p, r->b[1]->p,
                                               r->fields, r->n_fields, count));
    const unsigned char *const out = test_buffer_read(r->b[1], describe(r));
    const void *const got = test_buffer_read(r->b[2], describe(r));
    size_t runs = 0;
    for (size_t i = 0; i < r->n;) {
        const unsigned char *const first = r->records + i * r->bytes;
        size_t length = 1;
        while (i + length < r->n && compare(r, first, r->records + (i + length) * r->bytes) == 0)
            length++;
        compare_items(r, out, first, runs, r->bytes);
        if (lengths && index_at(type, got, runs) != length)
            fail_msg("%s: length %zu is %llu, should be %zu", describe(r), runs,
                     (unsigned long long)index_at(type, got, runs), length);
        i += length;
        runs++;
    }
    for (size_t i = runs * r->bytes; i < r->n * r->bytes; i++)
        if (out[i] != TEST_POISON)
            fail_msg("%s: byte %zu behind the runs is written", describe(r), i);
    for (size_t i = lengths ? runs * size : 0; i < r->n * size; i++)
        if (((const unsigned char *)got)[i] != TEST_POISON)
            fail_msg("%s: byte %zu behind the lengths is written", describe(r), i);
    assert_int_equal(*(const uint64_t *)test_buffer_read(r->b[3], describe(r)), runs);
}

static void check_search(rig *r) {
    const size_t m = test_below(&r->random, 200);
    const bool upper = test_below(&r->random, 2);
    r->call = "weft_search_records";
    put_in_order(r, r->n, r->records);
    draw_records(r, m, r->others);
    test_buffer_load(r->b[0], r->records, r->n * r->bytes, 3);
    test_buffer_load(r->b[1], r->others, m * r->bytes, 1);
    test_buffer_poison(r->b[2], m * sizeof(uint64_t), 8);
    succeeded(r, weft_search_records(r->ctx, upper ? WEFT_UPPER : WEFT_LOWER, r->n, r->bytes,
                                     r->b[0]->p, m, r->b[1]->p, r->fields, r->n_fields,
                                     (uint64_t *)(void *)r->b[2]->p));
    const uint64_t *const got = test_buffer_read(r->b[2], describe(r));
    for (size_t j = 0; j < m; j++)
        assert_int_equal(got[j], bound_of(r, r->records, r->n, r->others + j * r->bytes, upper));
}

static void check_merge(rig *r) {
    const size_t nb = test_below(&r->random, r->n + 2) * (test_below(&r->random, 4) > 0);
    r->call = "weft_merge_records";
    put_in_order(r, r->n, r->records);
    draw_records(r, nb < MOST_N ? nb : MOST_N, r->others);
    put_in_order(r, nb < MOST_N ? nb : MOST_N, r->others);
    const size_t others = nb < MOST_N ? nb : MOST_N;
    test_buffer_load(r->b[0], r->records, r->n * r->bytes, 5);
    test_buffer_load(r->b[1], r->others, others * r->bytes, 2);
    test_buffer_poison(r->b[2], (r->n + others) * r->bytes, 1);
    succeeded(r, weft_merge_records(r->ctx, r->bytes, r->n, r->b[0]->p, others, r->b[1]->p,
                                    r->b[2]->p, r->fields, r->n_fields));
    const void *const got = test_buffer_read(r->b[2], describe(r));
    size_t a = 0, b = 0;
    while (a + b < r->n + others) {
        const unsigned char *const of_a = r->records + a * r->bytes;
        const unsigned char *const of_b = r->others + b * r->bytes;
        const bool takes_a = b == others || (a < r->n && compare(r, of_a, of_b) <= 0);
        compare_items(r, got, takes_a ? of_a : of_b, a + b, r->bytes);
        *(takes_a ? &a : &b) += 1;
    }
}

enum {
    ARGSORT,
    UNIQUE,
    RUN_LENGTH,
    SEARCH,
    MERGE,
    CALLS
};

static bool call_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    (void)row;
    r->n = n;
    draw_fields(r, (weft_type)at[1]);
    draw_homes(r);
    draw_records(r, n, r->records);
    if (at[0] == UNIQUE || at[0] == RUN_LENGTH)
        put_in_order(r, test_below(&r->random, 2) ? n : n / 2, r->records);
    test_buffer_load(r->b[0], r->records, n * r->bytes, test_below(&r->random, 9));
    if (at[0] == ARGSORT)
        check_argsort(r);
    else if (at[0] == SEARCH)
        check_search(r);
    else if (at[0] == MERGE)
        check_merge(r);
    else
        check_runs(r, at[0] == RUN_LENGTH);
    return true;
}

static void every_call(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 3, 33, 255, 256, 257, 1000, 4097, MOST_N};
    rig r = rig_open(ctx);
    const test_sweep sweep = {.sizes = sizes,
                              .size_count = sizeof sizes / sizeof *sizes,
                              .extent = {CALLS, WEFT_TYPE_COUNT},
                              .must = 3,
                              .share = 100,
                              .run = call_at};
    test_sweep_run(ctx, &r.random, &sweep, &r);
    rig_close(&r);
}

static void arguments(weft_context *ctx) {
    uint32_t x[8] = {1, 1, 2, 3, 3, 3, 4, 5}, y[8] = {0};
    uint64_t count = 7, positions[8] = {0};
    weft_field good = {0, WEFT_U32, WEFT_ASCENDING}, many[WEFT_MOST_FIELDS + 1], wide = good;
    for (size_t k = 0; k <= WEFT_MOST_FIELDS; k++)
        many[k] = good;
    wide.offset = 1;
#define REFUSED(call, word, status) test_refused(ctx, status, WEFT_EARG, call, word)
    REFUSED("weft_unique_records", "n_fields",
            weft_unique_records(ctx, 8, 4, x, y, many, WEFT_MOST_FIELDS + 1, &count));
    REFUSED("weft_unique_records", "fields",
            weft_unique_records(ctx, 8, 4, x, y, &wide, 1, &count));
    REFUSED("weft_unique_records", "out", weft_unique_records(ctx, 8, 4, x, x, &good, 1, &count));
    REFUSED("weft_unique_records", "count", weft_unique_records(ctx, 8, 4, x, y, &good, 1, NULL));
    REFUSED("weft_run_length_records", "length_type",
            weft_run_length_records(ctx, 8, 4, x, y, &good, 1, WEFT_U8, positions, &count));
    REFUSED("weft_run_length_records", "lengths",
            weft_run_length_records(ctx, 8, 4, x, y, &good, 1, WEFT_I64, NULL, &count));
    REFUSED("weft_search_records", "bound",
            weft_search_records(ctx, (weft_bound)2, 8, 4, x, 1, x, &good, 1, positions));
    REFUSED("weft_search_records", "wanted",
            weft_search_records(ctx, WEFT_LOWER, 8, 4, x, 1, NULL, &good, 1, positions));
    REFUSED("weft_search_records", "record_bytes",
            weft_search_records(ctx, WEFT_LOWER, 8, 0, x, 1, x, &good, 1, positions));
    REFUSED("weft_merge_records", "out", weft_merge_records(ctx, 4, 4, x, 4, x + 4, x, &good, 1));
    REFUSED("weft_merge_records", "nb", weft_merge_records(ctx, 4, SIZE_MAX, x, 4, x, y, &good, 1));
    REFUSED("weft_sort_records_indices", "index_type",
            weft_sort_records_indices(ctx, 8, 4, x, &good, 1, WEFT_F32, y));
    REFUSED("weft_sort_records_indices", "indices",
            weft_sort_records_indices(ctx, 8, 4, x, &good, 1, WEFT_I32, NULL));
#undef REFUSED
    assert_int_equal(count, 7);
    assert_int_equal(y[0], 0);
    size_t bytes = 0;
    assert_int_equal(
        weft_sort_records_indices_bytes(ctx, 8, 4, x, &good, 1, WEFT_I64, positions, &bytes),
        WEFT_OK);
    assert_true(bytes >= 8 * sizeof(uint32_t) && positions[0] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(every_call),
                                       TEST_ON_EACH_PLACE(arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
