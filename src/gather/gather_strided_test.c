/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a table as inputs of calls: each call gives the same bytes as on the column taken out,
 * whatever the size of records, in host and device memory; and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "weft/weft.h"

enum {
    MOST_N = 3000,
    MOST_RECORD = 48,
    BINS = 32,
    OUT_BYTES = 16 * MOST_N, /* for each output of a call */
    INPUTS = 2,
    OUTPUTS = 2
};

/* A call on inputs x[0] and x[1], which may be columns, of n elements; it writes out[0] and out[1].
 */
typedef struct arrays {
    size_t n;
    weft_type type;
    const void *x[INPUTS];
    void *out[OUTPUTS];
} arrays;

static weft_status call_add(weft_context *ctx, const arrays *a) {
    return weft_add(ctx, a->type, a->n, a->x[0], a->x[1], a->out[0]);
}

static weft_status call_axpy(weft_context *ctx, const arrays *a) {
    const uint64_t alpha = 0;
    const weft_status status = weft_fill(ctx, a->type, a->n, &alpha, a->out[0]);
    return status == WEFT_OK ? weft_axpy(ctx, a->type, a->n, &alpha, a->x[0], a->out[0]) : status;
}

static weft_status call_binary(weft_context *ctx, const arrays *a) {
    return weft_binary(ctx, WEFT_X_MIN, a->type, a->n, a->x[0], a->x[1], a->out[0]);
}

static weft_status call_convert(weft_context *ctx, const arrays *a) {
    return weft_convert(ctx, WEFT_X_SATURATE, a->type, WEFT_F64, a->n, a->x[0], a->out[0]);
}

static weft_status call_heads(weft_context *ctx, const arrays *a) {
    return weft_flag_heads(ctx, a->type, a->n, a->x[0], a->out[0]);
}

static weft_status call_reduce(weft_context *ctx, const arrays *a) {
    const weft_status status = weft_reduce(ctx, WEFT_MAX, a->type, a->n, a->x[0], a->out[0]);
    return status == WEFT_OK ? weft_reduce(ctx, WEFT_SUM, a->type, a->n, a->x[0], a->out[1])
                             : status;
}

static weft_status call_dot(weft_context *ctx, const arrays *a) {
    return weft_dot_fast(ctx, a->type, a->n, a->x[0], a->x[1], a->out[0]);
}

static weft_status call_summary(weft_context *ctx, const arrays *a) {
    return weft_summary(ctx, a->type, a->n, a->x[0], a->out[0]);
}

static weft_status call_expr_reduce(weft_context *ctx, const arrays *a) {
    static const weft_expr_step larger[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                            {.op = WEFT_X_INPUT, .argument = 1},
                                            {.op = WEFT_X_GT}};
    const weft_expr_input inputs[] = {{a->type, a->x[0]}, {a->type, a->x[1]}};
    return weft_expr_reduce(ctx, WEFT_SUM, larger, 3, a->n, inputs, 2, WEFT_U32, a->out[0]);
}

static weft_status call_scan(weft_context *ctx, const arrays *a) {
    return weft_scan(ctx, WEFT_INCLUSIVE, WEFT_MAX, a->type, a->n, a->x[0], a->out[0], NULL);
}

static weft_status call_select(weft_context *ctx, const arrays *a) {
    const weft_predicate p = {.test = WEFT_GT, .type = a->type};
    return weft_select(ctx, p, a->n, a->x[0], a->out[0], a->out[1]);
}

static weft_status call_where(weft_context *ctx, const arrays *a) {
    const weft_predicate p = {.test = WEFT_EQ, .type = a->type};
    return weft_select_where(ctx, p, a->n, a->x[0], weft_type_size(a->type), a->x[1], a->out[0],
                             a->out[1]);
}

static weft_status call_unique(weft_context *ctx, const arrays *a) {
    return weft_unique(ctx, a->type, a->n, a->x[0], a->out[0], a->out[1]);
}

static weft_status call_histogram(weft_context *ctx, const arrays *a) {
    const weft_bins bins = {.count = BINS, .lo = 0, .hi = 64};
    return weft_histogram(ctx, a->type, a->n, 1, a->x[0], &bins, WEFT_OVERWRITE, WEFT_U64,
                          a->out[0], NULL);
}

static weft_status call_sort(weft_context *ctx, const arrays *a) {
    return weft_sort(ctx, WEFT_DESCENDING, a->type, a->n, a->x[0], a->out[0]);
}

static weft_status call_pairs(weft_context *ctx, const arrays *a) {
    return weft_sort_pairs(ctx, WEFT_ASCENDING, a->type, a->n, a->x[0], a->out[0],
                           weft_type_size(a->type), a->x[1], a->out[1]);
}

static weft_status call_bits(weft_context *ctx, const arrays *a) { /* of no bits: copies */
    return weft_sort_bits(ctx, WEFT_ASCENDING, a->type, 3, 3, a->n, a->x[0], a->out[0],
                          weft_type_size(a->type), a->x[1], a->out[1]);
}

static weft_status call_indices(weft_context *ctx, const arrays *a) {
    return weft_sort_indices(ctx, WEFT_ASCENDING, a->type, a->n, a->x[0], WEFT_U32, a->out[0]);
}

static weft_status call_top_k(weft_context *ctx, const arrays *a) {
    return weft_top_k(ctx, WEFT_ASCENDING, a->type, a->n, a->x[0], a->n / 2, a->out[0], a->out[1]);
}

static weft_status call_sorted(weft_context *ctx, const arrays *a) {
    return weft_is_sorted(ctx, WEFT_ASCENDING, a->type, a->n, a->x[0], a->out[0]);
}

static weft_status call_search(weft_context *ctx, const arrays *a) {
    return weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, a->type, a->n, a->x[0], a->n, a->x[1],
                       a->out[0]);
}

static weft_status call_nth(weft_context *ctx, const arrays *a) {
    const uint64_t rank = a->n / 3;
    return weft_nth(ctx, a->type, a->n, a->x[0], a->n > 0, &rank, a->out[0]);
}

static const struct {
    const char *name;
    weft_status (*run)(weft_context *ctx, const arrays *a);
} calls[] = {
    {"weft_add", call_add},
    {"weft_axpy", call_axpy},
    {"weft_binary", call_binary},
    {"weft_convert", call_convert},
    {"weft_flag_heads", call_heads},
    {"weft_reduce", call_reduce},
    {"weft_dot_fast", call_dot},
    {"weft_summary", call_summary},
    {"weft_expr_reduce", call_expr_reduce},
    {"weft_scan", call_scan},
    {"weft_select", call_select},
    {"weft_select_where", call_where},
    {"weft_unique", call_unique},
    {"weft_histogram", call_histogram},
    {"weft_sort", call_sort},
    {"weft_sort_pairs", call_pairs},
    {"weft_sort_bits", call_bits},
    {"weft_sort_indices", call_indices},
    {"weft_top_k", call_top_k},
    {"weft_is_sorted", call_sorted},
    {"weft_search", call_search},
    {"weft_nth", call_nth},
};

enum {
    CALLS = sizeof calls / sizeof *calls
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair table, column[INPUTS], got[OUTPUTS], want[OUTPUTS];
    unsigned char *records, *apart;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(77)};
    const size_t bytes = (size_t)MOST_N * MOST_RECORD;
    r.table = test_pair_open(ctx, bytes + TEST_MAX_OFFSET);
    for (int k = 0; k < INPUTS; k++)
        r.column[k] = test_pair_open(ctx, 8 * MOST_N);
    for (int k = 0; k < OUTPUTS; k++) {
        r.got[k] = test_pair_open(ctx, OUT_BYTES);
        r.want[k] = test_pair_open(ctx, OUT_BYTES);
    }
    r.records = malloc(bytes);
    r.apart = malloc(8 * MOST_N);
    assert_true(r.records && r.apart);
    return r;
}

static void rig_close(rig *r) {
    test_pair_close(&r->table);
    for (int k = 0; k < INPUTS; k++)
        test_pair_close(&r->column[k]);
    for (int k = 0; k < OUTPUTS; k++) {
        test_pair_close(&r->got[k]);
        test_pair_close(&r->want[k]);
    }
    free(r->records);
    free(r->apart);
}

/* A table of small numbers of the type, two columns of them, at any place of the records. The
 * second input of weft_search need not be sorted, but the first must be. */
static void draw_table(rig *r, const arrays *a, size_t record, const size_t offset[], bool rising) {
    const size_t width = weft_type_size(a->type);
    for (size_t i = 0; i < a->n * record; i++)
        r->records[i] = (unsigned char)test_bits(&r->random);
    for (size_t i = 0; i < a->n; i++) {
        for (int k = 0; k < INPUTS; k++) {
            const int drawn = rising && k == 0 ? (int)(i / 64) : (int)test_below(&r->random, 60);
            union {
                uint64_t u;
                float f;
                double d;
            } x = {.u = (uint64_t)drawn};
            if (a->type == WEFT_F32)
                x.f = (float)drawn;
            if (a->type == WEFT_F64)
                x.d = drawn;
            memcpy(r->records + i * record + offset[k], &x, width);
        }
    }
}

/* Puts the outputs of one of both runs into memory that shows what is written. */
static void place_outputs(test_pair pairs[], unsigned device, arrays *a) {
    for (int k = 0; k < OUTPUTS; k++) {
        test_buffer *const b = test_pair_at(&pairs[k], device >> k & 1);
        test_buffer_poison(b, OUT_BYTES, 0);
        a->out[k] = b->p;
    }
}

static void compare(rig *r, unsigned device, const char *what) {
    for (int k = 0; k < OUTPUTS; k++) {
        const void *const want = test_buffer_read(test_pair_at(&r->want[k], device >> k & 1), what);
        const void *const got = test_buffer_read(test_pair_at(&r->got[k], device >> k & 1), what);
        if (memcmp(got, want, OUT_BYTES) != 0)
            fail_msg("%s: output %d differs from that of the column taken out", what, k);
    }
}

static void try_call(rig *r, size_t c, size_t n) {
    static const weft_type types[] = {WEFT_U8, WEFT_I16, WEFT_U32, WEFT_F32, WEFT_F64, WEFT_I64};
    arrays a = {.n = n, .type = types[test_below(&r->random, sizeof types / sizeof *types)]};
    const size_t width = weft_type_size(a.type);
    const size_t record = 2 * width + test_below(&r->random, MOST_RECORD - 2 * width + 1);
    const size_t offset[INPUTS] = {test_below(&r->random, record / 2 - width + 1),
                                   record / 2 + test_below(&r->random, record / 2 - width + 1)};
    const unsigned device =
        test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 1u << 3);
    char what[120];
    snprintf(what, sizeof what, "%s of %s: n %zu, records of %zu bytes, device %#x", calls[c].name,
             weft_type_name(a.type), n, record, device & 7);
    draw_table(r, &a, record, offset, calls[c].run == call_search);
    for (int k = 0; k < INPUTS; k++) {
        test_buffer *const b = test_pair_at(&r->column[k], device >> 2 & 1);
        for (size_t i = 0; i < n; i++)
            memcpy(r->apart + i * width, r->records + i * record + offset[k], width);
        test_buffer_load(b, r->apart, n * width, 0);
        a.x[k] = b->p;
    }
    place_outputs(r->want, device, &a);
    if (calls[c].run(r->ctx, &a) != WEFT_OK)
        fail_msg("%s, as an array: %s", what, weft_message(r->ctx));
    test_buffer *const table = test_pair_at(&r->table, device >> 2 & 1);
    test_buffer_load(table, r->records, n * record, test_below(&r->random, 9));
    for (int k = 0; k < INPUTS; k++)
        a.x[k] = weft_strided(r->ctx, table->p + offset[k], record);
    place_outputs(r->got, device, &a);
    if (calls[c].run(r->ctx, &a) != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    compare(r, device, what);
    if (memcmp(test_buffer_read(table, what), r->records, n * record) != 0)
        fail_msg("%s: the table has changed", what);
}

static void columns_as_arrays(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 63, 255, 256, 257, 1000, MOST_N};
    rig r = rig_open(ctx);
    const size_t times = test_times(4);
    for (size_t c = 0; c < CALLS; c++)
        for (size_t k = 0; k < times; k++)
            try_call(&r, c, sizes[test_below(&r.random, sizeof sizes / sizeof *sizes)]);
    rig_close(&r);
}

/* ---- what is refused ---- */

static void refusals(weft_context *ctx) {
    enum {
        N = 10
    };
    test_buffer block = test_buffer_open(ctx, ctx->kind == WI_CUDA, 8 * N * sizeof(float));
    test_buffer_poison(&block, 8 * N * sizeof(float), 0);
    float *const x = (float *)(void *)block.p, *const y = x + 4 * N;
    const size_t stride = 2 * sizeof *x;
    static const char reduce[] = "weft_reduce", scan[] = "weft_scan";
    assert_null(weft_strided(NULL, x, stride));
    assert_null(weft_strided(ctx, NULL, stride));
    test_refused(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, NULL, 8), y),
                 WEFT_EARG, reduce, "x is NULL");
    test_refused(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, x, 3), y),
                 WEFT_EARG, reduce, "3 bytes apart");
    test_refused(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, x, 0), y),
                 WEFT_EARG, reduce, "0 bytes apart");
    test_refused(ctx,
                 weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, x, SIZE_MAX / 4), y),
                 WEFT_EARG, reduce, "address space");
    test_refused(ctx,
                 weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, x, stride),
                           x, NULL),
                 WEFT_EARG, scan, "overlap");
    test_refused(ctx,
                 weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, N, weft_strided(ctx, x, stride),
                           x + 1, NULL),
                 WEFT_EARG, scan, "overlap");
    test_refused(ctx,
                 weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, N, x,
                           (void *)(uintptr_t)weft_strided(ctx, y, stride), NULL),
                 WEFT_EARG, scan, "weft_take_columns");
    const void *const old = weft_strided(ctx, x, stride);
    for (int k = 0; k < WEFT_STRIDED_MOST; k++)
        assert_ptr_not_equal(weft_strided(ctx, x, stride), old);
    test_refused(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_F32, N, old, y), WEFT_EARG, reduce,
                 "call it again");
    const unsigned char *const bytes = test_buffer_read(&block, "refused calls");
    for (size_t i = 0; i < 8 * N * sizeof *x; i++)
        assert_int_equal(bytes[i], TEST_POISON);
    test_buffer_close(&block);
}

/* What a call would need is told with the copy of the column. */
static void bytes_of_calls(weft_context *ctx) {
    enum {
        N = 1000
    };
    float x[2 * N] = {0}, y[N];
    size_t plain = 0, strided = 0;
    assert_int_equal(weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_F32, N, x, y, &plain), WEFT_OK);
    assert_int_equal(weft_sort_bytes(ctx, WEFT_ASCENDING, WEFT_F32, N,
                                     weft_strided(ctx, x, 2 * sizeof *x), y, &strided),
                     WEFT_OK);
    assert_int_equal(strided, plain + N * sizeof *x);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(columns_as_arrays),
                                       TEST_ON_EACH_PLACE(refusals),
                                       TEST_ON_EACH_PLACE(bytes_of_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
