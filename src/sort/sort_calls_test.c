/* SPDX-License-Identifier: Apache-2.0 */
/* The calls beside sort's ladder: segments, records, merge, is_sorted, search, top_k; on every
 * place, all types and orders, host and device memory, guards around every array. */
#include "sort/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/sort_oracle.h"
#include "testing.h"

enum {
    ARRAYS = 6,
    MOST_VALUE_BYTES = 12,
    /* how many sizes each call is tried at */
    SEGMENT_SIZES = 10,
    RECORD_SIZES = 7,
    MERGE_SIZES = 11,
    ORDER_SIZES = 11,
    SEARCH_SIZES = 8,
    TOP_SIZES = 11
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[ARRAYS], device[ARRAYS];
    test_buffer *b[ARRAYS]; /* those of this case */
    weft_type type;
    bool descending;
    oracle_pattern pattern;
    const char *call;
    size_t n, m; /* for messages */
} rig;

static rig rig_open(weft_context *ctx, const char *call, size_t bytes) {
    rig r = {.ctx = ctx, .random = test_random_at(12), .call = call};
    for (int k = 0; k < ARRAYS; k++) {
        r.host[k] = test_buffer_open(ctx, false, bytes);
        if (ctx->kind == WI_CUDA)
            r.device[k] = test_buffer_open(ctx, true, bytes);
    }
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&r->host[k]);
        if (r->ctx->kind == WI_CUDA)
            test_buffer_close(&r->device[k]);
    }
}

static const char *describe(const rig *r) {
    static char text[256];
    snprintf(text, sizeof text, "%s of %s, %s, on %s, n %zu, m %zu, pattern %d", r->call,
             test_type_name(r->type), r->descending ? "descending" : "ascending",
             weft_place(r->ctx), r->n, r->m, (int)r->pattern);
    return text;
}

static weft_order order_of(const rig *r) {
    return r->descending ? WEFT_DESCENDING : WEFT_ASCENDING;
}

/* Draws order, pattern and where the arrays lie. */
static void draw(rig *r) {
    r->descending = test_below(&r->random, 2);
    r->pattern = (oracle_pattern)test_below(&r->random, ORACLE_PATTERNS);
    const bool mixed = test_below(&r->random, 3) == 0;
    for (int k = 0; k < ARRAYS; k++) {
        const bool host = r->ctx->kind == WI_CPU || (mixed && test_below(&r->random, 2));
        r->b[k] = host ? &r->host[k] : &r->device[k];
    }
}

/* False if this place does not offer the call; anything else but success fails the test. */
static bool offered(const rig *r, weft_status status) {
    if (status == WEFT_EUNSUPPORTED && r->ctx->kind == WI_CUDA) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, r->call, "offered");
        return false;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r), weft_status_name(status), weft_message(r->ctx));
    return true;
}

static void *allocate(size_t bytes) {
    void *const p = malloc(bytes + 1);
    assert_non_null(p);
    return p;
}

static void compare(const rig *r, const void *got, const void *right, size_t n, size_t bytes) {
    for (size_t i = 0; i < n; i++) {
        if (memcmp((const char *)got + i * bytes, (const char *)right + i * bytes, bytes) != 0)
            fail_msg("%s: element %zu of %zu is wrong", describe(r), i, n);
    }
}

/* Random bytes for n values. */
static unsigned char *make_values(rig *r, size_t n, size_t bytes) {
    unsigned char *const values = allocate(n * bytes);
    for (size_t i = 0; i < n * bytes; i++)
        values[i] = (unsigned char)test_bits(&r->random);
    return values;
}

/* n elements of the case's type and pattern. */
static void *make_keys(rig *r, size_t n) {
    void *const keys = allocate(n * test_size_of(r->type));
    oracle_fill(&r->random, r->pattern, r->type, n, keys);
    return keys;
}

/* items[order[i]] for i = 0 ... n - 1 */
static void *arranged(const void *items, const size_t *order, size_t n, size_t bytes) {
    unsigned char *const out = allocate(n * bytes);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * bytes, (const char *)items + order[i] * bytes, bytes);
    return out;
}

static void sort_positions(const rig *r, size_t n, const void *keys, size_t *order) {
    oracle_sort(r->type, r->descending, 0, 8 * (unsigned)test_size_of(r->type), n, keys, order);
}

static size_t draw_value_bytes(rig *r) {
    static const size_t widths[] = {0, 4, 8, 1, 12};
    return widths[test_below(&r->random, 5)];
}

/* Runs each of `sizes` cases with every type, `times` over; type and size are at[0] and at[1]. */
static void run_types(rig *r, size_t sizes, size_t times, unsigned share,
                      bool (*run)(void *, size_t, const wi_row *, const size_t[])) {
    const test_sweep s = {
        .extent = {WEFT_TYPE_COUNT, sizes, times}, .must = 1, .share = share, .run = run};
    test_sweep_run(r->ctx, &r->random, &s, r);
}

/* ---- segments ---- */

/* Random lengths: mostly short, many 0 and 1, and one that takes what is left. */
static uint64_t *make_offsets(rig *r, size_t n, size_t segments) {
    uint64_t *const offsets = allocate((segments + 1) * sizeof *offsets);
    const size_t longest = n / (segments + 1), huge = test_below(&r->random, segments);
    size_t at = 0, rest = n;
    for (size_t s = 0; s < segments; s++) {
        const size_t length =
            test_below(&r->random, 4) ? test_below(&r->random, longest + 1) : s % 2;
        const size_t own = s == huge ? 0 : length < rest ? length : rest;
        offsets[s] = own;
        rest -= own;
    }
    offsets[huge] = rest;
    for (size_t s = 0; s < segments; s++) {
        const size_t own = offsets[s];
        offsets[s] = at;
        at += own;
    }
    offsets[segments] = n;
    return offsets;
}

static void sort_each(const rig *r, const uint64_t *offsets, size_t segments, const void *keys,
                      size_t *order) {
    for (size_t s = 0; s < segments; s++) {
        const size_t first = offsets[s], n = offsets[s + 1] - first;
        sort_positions(r, n, (const char *)keys + first * test_size_of(r->type), order + first);
        for (size_t i = 0; i < n; i++)
            order[first + i] += first;
    }
}

static void run_segments(rig *r, size_t n, size_t segments) {
    draw(r);
    r->n = n;
    r->m = segments;
    const size_t size = test_size_of(r->type), value_bytes = draw_value_bytes(r);
    test_buffer *const in = r->b[0], *const values_in = r->b[2];
    test_buffer *const out = test_below(&r->random, 3) ? r->b[1] : in;
    test_buffer *const values_out = test_below(&r->random, 3) ? r->b[3] : values_in;
    void *const keys = make_keys(r, n);
    void *const values = make_values(r, n, value_bytes);
    uint64_t *const offsets = make_offsets(r, n, segments);
    test_buffer_load(in, keys, n * size, size);
    test_buffer_load(values_in, values, n * value_bytes, value_bytes);
    if (out != in)
        test_buffer_poison(out, n * size, 0);
    if (values_out != values_in)
        test_buffer_poison(values_out, n * value_bytes, 0);
    test_buffer_load(r->b[4], offsets, (segments + 1) * sizeof *offsets, 8);
    const weft_status status =
        weft_sort_segments(r->ctx, order_of(r), r->type, n, in->p, out->p, value_bytes,
                           values_in->p, values_out->p, segments, (const uint64_t *)r->b[4]->p);
    if (offered(r, status)) {
        size_t *const order = allocate(n * sizeof *order);
        sort_each(r, offsets, segments, keys, order);
        void *const right = arranged(keys, order, n, size);
        void *const right_values = arranged(values, order, n, value_bytes);
        compare(r, test_buffer_read(out, describe(r)), right, n, size);
        compare(r, test_buffer_read(values_out, describe(r)), right_values, n, value_bytes);
        free(right);
        free(right_values);
        free(order);
    }
    free(keys);
    free(values);
    free(offsets);
}

static bool segments_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[SEGMENT_SIZES][2] = {
        {0, 1},      {1, 1},      {1, 5},        {64, 10},    {500, 40},
        {3000, 120}, {5000, 300}, {20000, 7000}, {100000, 3}, {300000, 1}};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]][0]))
        return false;
    r->type = (weft_type)at[0];
    run_segments(r, sizes[at[1]][0], sizes[at[1]][1]);
    return true;
}

static void segments(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_sort_segments", 300000 * MOST_VALUE_BYTES);
    run_types(&r, SEGMENT_SIZES, 1, 25, segments_at);
    rig_close(&r);
}

/* ---- records ---- */

enum {
    RECORD_BYTES = 21, /* odd, so that fields lie anywhere */
    FIELDS = 3
};

static int compare_records(const weft_field *fields, size_t n_fields, const unsigned char *a,
                           const unsigned char *b) {
    for (size_t k = 0; k < n_fields; k++) {
        const weft_field *const f = &fields[k];
        uint64_t x = 0, y = 0;
        memcpy(&x, a + f->offset, test_size_of(f->type));
        memcpy(&y, b + f->offset, test_size_of(f->type));
        const int sign = oracle_compare(f->type, x, y);
        if (sign)
            return f->order == WEFT_DESCENDING ? -sign : sign;
    }
    return 0;
}

/* In order, and equals by the number they carry at their end, which says where they were. */
static void check_records(const rig *r, const weft_field *fields, size_t n_fields,
                          const unsigned char *in, const unsigned char *out) {
    for (size_t i = 0; i < r->n; i++) {
        uint32_t was, before = 0;
        memcpy(&was, out + i * RECORD_BYTES + RECORD_BYTES - 4, 4);
        if (was >= r->n ||
            memcmp(out + i * RECORD_BYTES, in + (size_t)was * RECORD_BYTES, RECORD_BYTES) != 0)
            fail_msg("%s: record %zu is none that came in", describe(r), i);
        if (i == 0)
            continue;
        const unsigned char *const here = out + i * RECORD_BYTES;
        memcpy(&before, here - 4, 4);
        const int sign = compare_records(fields, n_fields, here - RECORD_BYTES, here);
        if (sign > 0 || (sign == 0 && before >= was))
            fail_msg("%s: records %zu and %zu are in the wrong order", describe(r), i - 1, i);
    }
}

static void run_records(rig *r, size_t n) {
    draw(r);
    r->n = n;
    const size_t n_fields = 1 + test_below(&r->random, FIELDS);
    r->m = n_fields;
    const bool in_place = test_below(&r->random, 3) == 0;
    unsigned char *const records = allocate(n * RECORD_BYTES);
    weft_field fields[FIELDS];
    for (size_t k = 0; k < FIELDS; k++) {
        fields[k].type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
        fields[k].offset =
            test_below(&r->random, RECORD_BYTES - 4 - test_size_of(fields[k].type) + 1);
        fields[k].order = test_below(&r->random, 2) ? WEFT_ASCENDING : WEFT_DESCENDING;
    }
    const unsigned ties = test_below(&r->random, 2) ? 0x81 : 0xFF; /* four values a byte, or all */
    for (size_t i = 0; i < n; i++) {
        const uint32_t number = (uint32_t)i;
        for (size_t k = 0; k < RECORD_BYTES - 4; k++)
            records[i * RECORD_BYTES + k] = (unsigned char)(test_bits(&r->random) & ties);
        memcpy(records + i * RECORD_BYTES + RECORD_BYTES - 4, &number, 4);
    }
    test_buffer *const in = r->b[0], *const out = in_place ? in : r->b[1];
    test_buffer_load(in, records, n * RECORD_BYTES, 1);
    if (!in_place)
        test_buffer_poison(out, n * RECORD_BYTES, 3);
    if (offered(r, weft_sort_records(r->ctx, n, RECORD_BYTES, in->p, out->p, fields, n_fields)))
        check_records(r, fields, n_fields, records, test_buffer_read(out, describe(r)));
    free(records);
}

static bool records_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[RECORD_SIZES] = {0, 1, 2, 33, 300, 5000, 70001};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]]))
        return false;
    r->type = (weft_type)at[0];
    run_records(r, sizes[at[1]]);
    return true;
}

static void records(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_sort_records", 70001 * RECORD_BYTES);
    run_types(&r, RECORD_SIZES, 1, 15, records_at);
    rig_close(&r);
}

/* ---- merge ---- */

/* Sorts the keys of an input in place, by the oracle. */
static void put_in_order(const rig *r, void *keys, size_t n) {
    const size_t size = test_size_of(r->type);
    size_t *const order = allocate(n * sizeof *order);
    sort_positions(r, n, keys, order);
    void *const sorted = arranged(keys, order, n, size);
    memcpy(keys, sorted, n * size);
    free(sorted);
    free(order);
}

/* A stable sort of a, then b, is their merge. */
static void check_merge(rig *r, const void *keys, const void *values, size_t value_bytes) {
    const size_t n = r->n + r->m, size = test_size_of(r->type);
    size_t *const order = allocate(n * sizeof *order);
    sort_positions(r, n, keys, order);
    void *const right = arranged(keys, order, n, size);
    void *const right_values = arranged(values, order, n, value_bytes);
    compare(r, test_buffer_read(r->b[2], describe(r)), right, n, size);
    compare(r, test_buffer_read(r->b[5], describe(r)), right_values, n, value_bytes);
    free(right);
    free(right_values);
    free(order);
}

static void run_merge(rig *r, size_t na, size_t nb) {
    draw(r);
    r->n = na;
    r->m = nb;
    const size_t size = test_size_of(r->type), value_bytes = draw_value_bytes(r);
    char *const keys = make_keys(r, na + nb);
    unsigned char *const values = make_values(r, na + nb, value_bytes);
    put_in_order(r, keys, na);
    put_in_order(r, keys + na * size, nb);
    test_buffer_load(r->b[0], keys, na * size, size);
    test_buffer_load(r->b[1], keys + na * size, nb * size, 0);
    test_buffer_poison(r->b[2], (na + nb) * size, 2 * size);
    test_buffer_load(r->b[3], values, na * value_bytes, value_bytes);
    test_buffer_load(r->b[4], values + na * value_bytes, nb * value_bytes, 0);
    test_buffer_poison(r->b[5], (na + nb) * value_bytes, 0);
    if (offered(r, weft_merge(r->ctx, order_of(r), r->type, na, r->b[0]->p, nb, r->b[1]->p,
                              r->b[2]->p, value_bytes, r->b[3]->p, r->b[4]->p, r->b[5]->p)))
        check_merge(r, keys, values, value_bytes);
    free(keys);
    free(values);
}

static bool merge_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[MERGE_SIZES][2] = {
        {0, 0},       {1, 0},       {0, 1},     {1, 1},       {33, 31},      {1000, 3},
        {2048, 2048}, {5000, 7001}, {0, 10000}, {100003, 77}, {65536, 65537}};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]][0] + sizes[at[1]][1]))
        return false;
    r->type = (weft_type)at[0];
    run_merge(r, sizes[at[1]][0], sizes[at[1]][1]);
    return true;
}

static void merge(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_merge", 131073 * MOST_VALUE_BYTES);
    run_types(&r, MERGE_SIZES, 1, 15, merge_at);
    rig_close(&r);
}

/* ---- questions ---- */

static void run_is_sorted(rig *r, size_t n) {
    draw(r);
    r->n = n;
    const size_t size = test_size_of(r->type);
    char *const keys = make_keys(r, n);
    uint64_t right = WEFT_NOWHERE;
    if (test_below(&r->random, 4))
        put_in_order(r, keys, n);
    if (n > 1 && test_below(&r->random, 2)) { /* one that may belong elsewhere */
        const size_t at = test_below(&r->random, n), from = test_below(&r->random, n);
        memmove(keys + at * size, keys + from * size, size);
    }
    for (size_t i = n; i-- > 1;) {
        const int sign = oracle_compare(r->type, oracle_bits(r->type, keys, i - 1),
                                        oracle_bits(r->type, keys, i));
        if ((r->descending ? -sign : sign) > 0)
            right = i;
    }
    test_buffer_load(r->b[0], keys, n * size, size);
    test_buffer_poison(r->b[1], 8, 8);
    if (offered(
            r, weft_is_sorted(r->ctx, order_of(r), r->type, n, r->b[0]->p, (uint64_t *)r->b[1]->p)))
        compare(r, test_buffer_read(r->b[1], describe(r)), &right, 1, sizeof right);
    free(keys);
}

static bool is_sorted_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[ORDER_SIZES] = {0, 1, 2, 3, 64, 65, 1023, 1024, 1025, 5000, 300001};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]]))
        return false;
    r->type = (weft_type)at[0];
    run_is_sorted(r, sizes[at[1]]);
    return true;
}

static void is_sorted(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_is_sorted", 300001 * 8);
    run_types(&r, ORDER_SIZES, 2, 15, is_sorted_at);
    rig_close(&r);
}

/* Counts in long hand, over an array that is in order. */
static uint64_t count_before(const rig *r, const void *keys, uint64_t wanted, bool upper) {
    uint64_t count = 0;
    while (count < r->n) {
        int sign = oracle_compare(r->type, oracle_bits(r->type, keys, count), wanted);
        sign = r->descending ? -sign : sign;
        if (sign > 0 || (sign == 0 && !upper))
            break;
        count++;
    }
    return count;
}

static void run_search(rig *r, size_t n, size_t m) {
    draw(r);
    r->n = n;
    r->m = m;
    const size_t size = test_size_of(r->type);
    const bool upper = test_below(&r->random, 2);
    void *const keys = make_keys(r, n);
    unsigned char *const wanted = make_keys(r, m);
    uint64_t *const right = allocate(m * sizeof *right);
    put_in_order(r, keys, n);
    for (size_t j = 0; j < m; j++) { /* half of them are there */
        if (n > 0 && test_below(&r->random, 2))
            memcpy(wanted + j * size, (char *)keys + test_below(&r->random, n) * size, size);
        right[j] = count_before(r, keys, oracle_bits(r->type, wanted, j), upper);
    }
    test_buffer_load(r->b[0], keys, n * size, 0);
    test_buffer_load(r->b[1], wanted, m * size, size);
    test_buffer_poison(r->b[2], m * 8, 8);
    if (offered(r, weft_search(r->ctx, upper ? WEFT_UPPER : WEFT_LOWER, order_of(r), r->type, n,
                               r->b[0]->p, m, r->b[1]->p, (uint64_t *)r->b[2]->p)))
        compare(r, test_buffer_read(r->b[2], describe(r)), right, m, 8);
    free(keys);
    free(wanted);
    free(right);
}

static bool search_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[SEARCH_SIZES][2] = {{0, 5},    {1, 1},     {2, 33},     {31, 0},
                                                  {64, 257}, {1000, 50}, {4097, 300}, {300, 20000}};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]][0] + sizes[at[1]][1]))
        return false;
    r->type = (weft_type)at[0];
    run_search(r, sizes[at[1]][0], sizes[at[1]][1]);
    return true;
}

static void search(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_search", 20000 * 8);
    run_types(&r, SEARCH_SIZES, 1, 15, search_at);
    rig_close(&r);
}

/* ---- the first k ---- */

static void run_top_k(rig *r, size_t n, size_t k) {
    draw(r);
    r->n = n;
    r->m = k;
    const size_t size = test_size_of(r->type);
    const size_t wants = test_below(&r->random, 3); /* both, values only, positions only */
    void *const keys = make_keys(r, n);
    size_t *const order = allocate(n * sizeof *order);
    sort_positions(r, n, keys, order);
    void *const right = arranged(keys, order, k, size);
    test_buffer_load(r->b[0], keys, n * size, size);
    test_buffer_poison(r->b[1], k * size, 0);
    test_buffer_poison(r->b[2], k * 8, 8);
    if (offered(r, weft_top_k(r->ctx, order_of(r), r->type, n, r->b[0]->p, k,
                              wants == 2 ? NULL : r->b[1]->p,
                              wants == 1 ? NULL : (uint64_t *)r->b[2]->p))) {
        const uint64_t *const positions = test_buffer_read(r->b[2], describe(r));
        if (wants != 2)
            compare(r, test_buffer_read(r->b[1], describe(r)), right, k, size);
        for (size_t i = 0; wants != 1 && i < k; i++)
            if (positions[i] != order[i])
                fail_msg("%s: position %zu is wrong", describe(r), i);
    }
    free(keys);
    free(order);
    free(right);
}

static bool top_k_at(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const size_t sizes[TOP_SIZES][2] = {
        {0, 0},       {1, 1},        {5, 0},       {33, 7},        {257, 257},     {5000, 1},
        {20000, 100}, {20000, 9999}, {100003, 10}, {100003, 3000}, {100003, 60000}};
    rig *const r = rig_of_test;
    (void)n;
    (void)none;
    if (!test_size_wanted(sizes[at[1]][0]))
        return false;
    r->type = (weft_type)at[0];
    run_top_k(r, sizes[at[1]][0], sizes[at[1]][1]);
    return true;
}

static void top_k(weft_context *ctx) {
    rig r = rig_open(ctx, "weft_top_k", 100003 * 8);
    run_types(&r, TOP_SIZES, 2, 15, top_k_at);
    rig_close(&r);
}

/* ---- refusals ---- */

/* Counts whose arrays would fit the address space, but not with the temporary ones. */
static void sort_counts(weft_context *ctx) {
    unsigned char x[16] = {0};
    const size_t many = (size_t)1 << 61;
    void *const far = (void *)((uintptr_t)x ^ many << 1);
    const weft_field byte = {0, WEFT_U8, WEFT_ASCENDING};
    size_t bytes = 5;
    test_refused(ctx, weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_U8, many, x, x, &bytes), WEFT_EARG,
                 "weft_sort_bytes", NULL);
    test_refused(
        ctx, weft_sort_pairs_bytes(ctx, WEFT_ASCENDING, WEFT_U8, many, x, x, 1, far, far, &bytes),
        WEFT_EARG, "weft_sort_pairs_bytes", NULL);
    test_refused(ctx, weft_sort_records_bytes(ctx, many, 1, x, far, &byte, 1, &bytes), WEFT_EARG,
                 "weft_sort_records_bytes", NULL);
    test_refused(ctx, weft_sort_records(ctx, many, 1, x, far, &byte, 1), WEFT_EARG,
                 "weft_sort_records", NULL);
    test_refused(ctx, weft_top_k_bytes(ctx, WEFT_ASCENDING, WEFT_U8, many, x, 1, far, NULL, &bytes),
                 WEFT_EARG, "weft_top_k_bytes", NULL);
    test_refused(
        ctx, weft_merge(ctx, WEFT_ASCENDING, WEFT_U8, many, x, 0, NULL, far, 0, NULL, NULL, NULL),
        WEFT_EARG, "weft_merge", NULL);
    test_refused(ctx,
                 weft_merge_bytes(ctx, WEFT_ASCENDING, WEFT_U8, many, x, 0, NULL, far, 0, NULL,
                                  NULL, NULL, &bytes),
                 WEFT_EARG, "weft_merge_bytes", NULL);
    assert_int_equal(bytes, 5);
    assert_int_equal(weft_merge_bytes(ctx, WEFT_ASCENDING, WEFT_U8, 0, NULL, 0, NULL, NULL, 0, NULL,
                                      NULL, NULL, &bytes),
                     WEFT_OK);
    assert_int_equal(bytes, 0);
}

/* Asking for the bytes of a call that the forced rung refuses gives no answer. */
static void sort_questions(weft_context *ctx) {
    int32_t x[4] = {0}, y[4] = {0};
    size_t bytes = 5;
    if (weft_use(ctx, "sort", ctx->kind == WI_CPU ? "serial_quick" : "quick") == WEFT_OK) {
        test_refused(ctx,
                     weft_sort_pairs_bytes(ctx, WEFT_ASCENDING, WEFT_I32, 4, x, x, 4, y, y, &bytes),
                     WEFT_EUNSUPPORTED, "weft_sort_pairs_bytes", "keys alone");
        assert_int_equal(bytes, 5);
        assert_null(weft_used(ctx, "sort"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(segments),    TEST_ON_EACH_PLACE(records),
        TEST_ON_EACH_PLACE(merge),       TEST_ON_EACH_PLACE(is_sorted),
        TEST_ON_EACH_PLACE(search),      TEST_ON_EACH_PLACE(top_k),
        TEST_ON_EACH_PLACE(sort_counts), TEST_ON_EACH_PLACE(sort_questions),
    };
    return cmocka_run_group_tests_name("sort calls", tests, NULL, NULL);
}
