/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of sort's ladder, on every place: sizes, types, orders, keys alone, pairs, positions,
 * parts of keys, alignments, in place, host and device memory, and difficult inputs. The oracle
 * compares elements as the header defines it, and merges them step by step. */
#include "sort/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sort/sort_oracle.h"
#include "testing.h"

enum {
    DEVICE_IN = 1,
    DEVICE_OUT = 2,
    MOST_VALUE_BYTES = 24,
    AGAIN = 6
};

/* Which call. */
typedef enum form {
    KEYS,    /* weft_sort */
    PAIRS,   /* weft_sort_pairs */
    INDICES, /* weft_sort_indices */
    BITS,    /* weft_sort_bits, keys alone */
    BITS_PAIRS,
    FORMS
} form;

typedef struct sort_case {
    const wi_row *row; /* NULL: the library chooses */
    form form;
    weft_type type;
    bool descending;
    unsigned first_bit, end_bit;
    size_t n, value_bytes;        /* of an index, for INDICES */
    size_t offset_in, offset_out; /* elements past a 64-byte boundary */
    bool keys_in_place, values_in_place;
    unsigned device;
    oracle_pattern pattern;
} sort_case;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[4], device[4]; /* keys, keys out, values, values out */
    unsigned char *keys, *values;   /* the inputs */
    size_t *order;                  /* which of them comes first, second, ... */
} rig;

static rig rig_open(weft_context *ctx, size_t n, size_t value_bytes) {
    rig r = {.ctx = ctx, .random = test_random_at(11)};
    for (int k = 0; k < 4; k++) {
        const size_t bytes = n * (k < 2 ? 8 : value_bytes);
        r.host[k] = test_buffer_open(ctx, false, bytes);
        if (ctx->kind == WI_CUDA)
            r.device[k] = test_buffer_open(ctx, true, bytes);
    }
    r.keys = malloc(n * 8 + 1);
    r.values = malloc(n * value_bytes + 1);
    r.order = malloc(n * sizeof *r.order + 1);
    assert_true(r.keys && r.values && r.order);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < 4; k++) {
        test_buffer_close(&r->host[k]);
        if (r->ctx->kind == WI_CUDA)
            test_buffer_close(&r->device[k]);
    }
    free(r->keys);
    free(r->values);
    free(r->order);
}

static const char *describe(const rig *r, const sort_case *c) {
    static const char *const forms[] = {"keys", "pairs", "indices", "bits", "bits of pairs"};
    static char text[320];
    snprintf(text, sizeof text,
             "sort %s, %s, %s on %s, variant %s, n %zu, value bytes %zu, bits %u..%u, offsets %zu "
             "%zu%s%s, device %#x, pattern %d",
             forms[c->form], c->descending ? "descending" : "ascending", test_type_name(c->type),
             weft_place(r->ctx), c->row ? c->row->name : "auto", c->n, c->value_bytes, c->first_bit,
             c->end_bit, c->offset_in, c->offset_out, c->keys_in_place ? ", keys in place" : "",
             c->values_in_place ? ", values in place" : "", c->device, (int)c->pattern);
    return text;
}

static bool is_named(const sort_case *c, const char *name) {
    return c->row && strcmp(c->row->name, name) == 0;
}

/* May this rung refuse the call? Rungs for users never do; quicksorts are not stable, and teaching
 * rungs take few types, sizes and forms. */
static bool may_refuse(const sort_case *c) {
    if (!c->row)
        return false;
    if (is_named(c, "serial_quick"))
        return c->form != KEYS;
    return c->row->kinds & WI_ON_CUDA && !is_named(c, "onesweep") && !is_named(c, "merge");
}

static bool has_values(const sort_case *c) {
    return c->form == PAIRS || c->form == BITS_PAIRS;
}

static weft_status call(const rig *r, const sort_case *c, test_buffer *const b[4]) {
    const weft_order order = c->descending ? WEFT_DESCENDING : WEFT_ASCENDING;
    static const weft_type index_types[2][2] = {{WEFT_U32, WEFT_I32}, {WEFT_U64, WEFT_I64}};
    switch (c->form) {
    case KEYS:
        return weft_sort(r->ctx, order, c->type, c->n, b[0]->p, b[1]->p);
    case PAIRS:
        return weft_sort_pairs(r->ctx, order, c->type, c->n, b[0]->p, b[1]->p, c->value_bytes,
                               b[2]->p, b[3]->p);
    case INDICES:
        return weft_sort_indices(r->ctx, order, c->type, c->n, b[0]->p,
                                 index_types[c->value_bytes == 8][c->descending], b[3]->p);
    case BITS:
        return weft_sort_bits(r->ctx, order, c->type, c->first_bit, c->end_bit, c->n, b[0]->p,
                              b[1]->p, 0, NULL, NULL);
    default:
        return weft_sort_bits(r->ctx, order, c->type, c->first_bit, c->end_bit, c->n, b[0]->p,
                              b[1]->p, c->value_bytes, b[2]->p, b[3]->p);
    }
}

/* Chooses and fills the buffers of a call: keys, keys out, values, values out. */
static void prepare(rig *r, const sort_case *c, test_buffer *b[4]) {
    const size_t size = test_size_of(c->type), bytes = c->n * size;
    const size_t value_bytes = c->n * c->value_bytes;
    const bool gpu = r->ctx->kind == WI_CUDA;
    for (int k = 0; k < 4; k++)
        b[k] = gpu && c->device & (k % 2 ? DEVICE_OUT : DEVICE_IN) ? &r->device[k] : &r->host[k];
    if (c->keys_in_place)
        b[1] = b[0];
    if (c->values_in_place)
        b[3] = b[2];
    oracle_fill(&r->random, c->pattern, c->type, c->n, r->keys);
    for (size_t i = 0; i < value_bytes; i++)
        r->values[i] = (unsigned char)test_bits(&r->random);
    test_buffer_load(b[0], r->keys, bytes, c->offset_in * size);
    if (b[1] != b[0])
        test_buffer_poison(b[1], bytes, c->offset_out * size);
    /* values of 4 and 8 bytes are sometimes at unaligned addresses */
    const size_t off = c->form != INDICES && c->offset_in == 3 ? 1 : c->value_bytes;
    test_buffer_load(b[2], r->values, value_bytes, c->value_bytes);
    if (b[3] != b[2])
        test_buffer_poison(b[3], value_bytes, off);
}

static void compare_keys(const rig *r, const sort_case *c, const unsigned char *got) {
    const size_t size = test_size_of(c->type);
    for (size_t i = 0; i < c->n; i++) {
        if (memcmp(got + i * size, r->keys + r->order[i] * size, size) != 0)
            fail_msg("%s: key %zu is not input key %zu", describe(r, c), i, r->order[i]);
    }
}

static void compare_values(const rig *r, const sort_case *c, const unsigned char *got) {
    const size_t bytes = c->value_bytes;
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t index = r->order[i]; /* little endian, as the indices are */
        const void *right = c->form == INDICES ? (const void *)&index
                                               : (const void *)(r->values + r->order[i] * bytes);
        if (memcmp(got + i * bytes, right, bytes) != 0)
            fail_msg("%s: value %zu is not that of input %zu", describe(r, c), i, r->order[i]);
    }
}

static void check_refusal(const rig *r, const sort_case *c, weft_status status) {
    test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "sort", c->row->name);
}

static void run_case(rig *r, const sort_case *c) {
    test_buffer *b[4];
    prepare(r, c, b);
    test_use(r->ctx, "sort", c->row);
    const weft_status status = call(r, c, b);
    const char *const what = describe(r, c);
    if (status == WEFT_EUNSUPPORTED && may_refuse(c)) {
        check_refusal(r, c, status);
        if (memcmp(test_buffer_read(b[0], what), r->keys, c->n * test_size_of(c->type)) != 0)
            fail_msg("%s: refused, yet keys were changed", what);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(r->ctx));
    const unsigned bits = 8 * (unsigned)test_size_of(c->type);
    const bool part = c->form == BITS || c->form == BITS_PAIRS;
    oracle_sort(c->type, c->descending, part ? c->first_bit : 0, part ? c->end_bit : bits, c->n,
                r->keys, r->order);
    if (c->n && (!part || c->first_bit < c->end_bit))
        test_used(r->ctx, "sort", c->row, what);
    if (c->form != INDICES)
        compare_keys(r, c, test_buffer_read(b[1], what));
    if (has_values(c) || c->form == INDICES)
        compare_values(r, c, test_buffer_read(b[3], what));
    if (!c->keys_in_place &&
        memcmp(test_buffer_read(b[0], what), r->keys, c->n * test_size_of(c->type)) != 0)
        fail_msg("%s: the input was changed", what);
    if (!c->values_in_place &&
        memcmp(test_buffer_read(b[2], what), r->values, c->n * c->value_bytes) != 0)
        fail_msg("%s: the input values were changed", what);
}

/* ---- what to run ---- */

static void draw_form(rig *r, sort_case *c) {
    static const size_t widths[] = {4, 8, 4, 8, 1, 2, 3, 12, 16, 24};
    const unsigned bits = 8 * (unsigned)test_size_of(c->type);
    c->value_bytes = widths[test_below(&r->random, sizeof widths / sizeof *widths)];
    if (c->form == INDICES)
        c->value_bytes = test_below(&r->random, 2) ? 4 : 8;
    c->end_bit = (unsigned)test_below(&r->random, bits + 1);
    c->first_bit = (unsigned)test_below(&r->random, c->end_bit + 1);
    c->descending = test_below(&r->random, 2);
    c->pattern = (oracle_pattern)test_below(&r->random, ORACLE_PATTERNS);
}

/* A case in which everything not given is drawn at random. */
static void run_drawing(rig *r, sort_case c) {
    static const size_t offsets[][2] = {{0, 0}, {1, 1}, {1, 2}, {0, 3}, {3, 0}};
    const size_t *offset = offsets[test_below(&r->random, sizeof offsets / sizeof *offsets)];
    draw_form(r, &c);
    c.offset_in = offset[0];
    c.offset_out = offset[1];
    c.keys_in_place = c.form != INDICES && test_below(&r->random, 3) == 0;
    c.values_in_place = c.form != INDICES && test_below(&r->random, 3) == 0;
    c.device = r->ctx->kind == WI_CUDA && test_below(&r->random, 3) == 0
                   ? (unsigned)test_below(&r->random, 4)
                   : DEVICE_IN | DEVICE_OUT;
    run_case(r, &c);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_drawing(rig_of_test,
                (sort_case){.row = row, .form = (form)at[0], .type = (weft_type)at[1], .n = n});
    return true;
}

static test_sweep sweep_of(const size_t *sizes, size_t count) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_sort_ladder,
                        .extent = {FORMS, WEFT_TYPE_COUNT},
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 257, MOST_VALUE_BYTES);
    test_sweep s = sweep_of(test_small_sizes, test_small_size_count);
    s.must = 1;
    s.share = 30;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 16385, MOST_VALUE_BYTES);
    test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count);
    s.must = 2;
    s.share = 45;
    s.one_in = 2;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    static const size_t sizes[] = {65537, 100003, (1 << 20) + 7};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (!test_size_wanted(sizes[k]))
            continue;
        rig r = rig_open(ctx, sizes[k], MOST_VALUE_BYTES);
        test_sweep s = sweep_of(&sizes[k], 1);
        s.share = 8;
        s.one_in = k < 2 ? 8 : 24;
        test_sweep_run(ctx, &r.random, &s, &r);
        rig_close(&r);
    }
}

static bool run_in_order(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    (void)none;
    static const oracle_pattern patterns[] = {ORACLE_RISING, ORACLE_FALLING, ORACLE_STAIRS};
    sort_case c = {.row = test_row_named(&wi_sort_ladder, "onesweep"),
                   .form = (form)at[0],
                   .type = at[3] ? WEFT_U32 : WEFT_F64,
                   .first_bit = 3,
                   .n = n,
                   .value_bytes = 4 + at[3] % 2 * 4,
                   .pattern = patterns[at[1]],
                   .device = DEVICE_IN | DEVICE_OUT};
    c.keys_in_place = c.form != INDICES && at[2] % 2;
    c.values_in_place = c.form != INDICES && at[2] / 2;
    c.end_bit = 8 * (unsigned)test_size_of(c.type);
    run_case(rig_of_test, &c);
    return true;
}

/* Keys that are in order already, which onesweep detects: with short or long runs of equal keys,
 * with and without values. */
static void in_order(weft_context *ctx) {
    static const size_t sizes[] = {2, 96, 333, 1000, 1001};
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .extent = {FORMS, 3, 4, 3},
                          .must = 3,
                          .share = 10,
                          .run = run_in_order};
    if (ctx->kind == WI_CPU)
        return;
    rig r = rig_open(ctx, 1001, MOST_VALUE_BYTES);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Small tiles in several passes, repeated: with some schedule a tile then finds words of the pass
 * before, and must wait. */
static bool run_again(void *rig_of_test, size_t n, const wi_row *none, const size_t at[]) {
    static const weft_type types[] = {WEFT_U16, WEFT_U32};
    (void)none;
    run_case(rig_of_test, &(sort_case){.row = test_row_named(&wi_sort_ladder, "onesweep"),
                                       .form = KEYS,
                                       .type = types[at[0]],
                                       .n = n,
                                       .device = DEVICE_IN | DEVICE_OUT});
    return true;
}

static void words_of_passes_before(weft_context *ctx) {
    static const size_t n = 16385;
    const test_sweep s = {.sizes = &n,
                          .size_count = 1,
                          .extent = {2, AGAIN},
                          .must = 3,
                          .share = 10,
                          .run = run_again};
    if (ctx->kind == WI_CPU)
        return;
    rig r = rig_open(ctx, n, MOST_VALUE_BYTES);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes),
        TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(large_sizes),
        TEST_ON_EACH_PLACE(in_order),
        TEST_ON_EACH_PLACE(words_of_passes_before),
    };
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
