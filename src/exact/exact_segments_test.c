/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums by segment and by key: every rung, term, type and shape of segments, on every place,
 * against the oracle of exact_oracle.h; with data that a cascade cannot decide. */
#include "exact/exact_segments.h"

#include <stdio.h>
#include <stdlib.h>

#include "exact/exact_data.h"
#include "exact/exact_oracle.h"
#include "group/group_oracle.h"

enum {
    MOST_N = 20011,
    MORE = 400, /* segments than elements, at most */
    FLOATS = 4,
    TERMS = 3
};

static const weft_type floats[FLOATS] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};
static const weft_op ops[TERMS] = {WEFT_SUM, WEFT_NRM1, WEFT_NRM2};
static const weft_type index_types[] = {WEFT_U32, WEFT_U64, WEFT_I32, WEFT_I64};

enum {
    X,
    OFFSETS,
    Y,
    KEYS,
    KEYS_OUT,
    COUNT,
    ARRAYS
};

typedef struct segments_rig {
    rig base; /* draws the data */
    test_pair pair[ARRAYS];
    uint64_t *offsets;
    void *typed; /* offsets in their type */
} segments_rig;

static segments_rig rig_of(weft_context *ctx, uint64_t stream, size_t n) {
    segments_rig r = {.base = rig_open(ctx, stream, n)};
    for (int k = 0; k < ARRAYS; k++)
        r.pair[k] = test_pair_open(ctx, (n + MORE) * 8 + TEST_MAX_OFFSET);
    r.offsets = malloc((n + MORE) * 8);
    r.typed = malloc((n + MORE) * 8);
    assert_true(r.offsets && r.typed);
    return r;
}

static void rig_end(segments_rig *r) {
    rig_close(&r->base);
    for (int k = 0; k < ARRAYS; k++)
        test_pair_close(&r->pair[k]);
    free(r->offsets);
    free(r->typed);
}

/* One call. The terms of the data's case say what is drawn and added up. */
typedef struct segments_case {
    exact_case data;
    group_shape shape;
    unsigned device; /* bit k: array k is in device memory, on a GPU place */
    size_t segments;
} segments_case;

static const char *describe(const segments_case *c) {
    static char text[200];
    snprintf(text, sizeof text,
             "exact %s of %s as %s, variant %s, n %zu, %zu segments of shape %d, device %#x, "
             "pattern %d",
             test_op_name(ops[c->data.terms]), test_type_name(c->data.type),
             test_type_name(c->data.result_type), c->data.row ? c->data.row->name : "auto",
             c->data.n, c->segments, (int)c->shape, c->device, (int)c->data.pattern);
    return text;
}

static test_buffer *home(segments_rig *r, const segments_case *c, int k) {
    return test_pair_at(&r->pair[k], c->device >> k & 1);
}

/* ---- results ---- */

static void check_one(const segments_case *c, const double *x, size_t first, size_t end, size_t s,
                      test_value got) {
    const weft_type type = c->data.result_type;
    oracle o;
    oracle_clear(&o);
    for (size_t i = first; i < end; i++) {
        if (c->data.terms == WI_EXACT_SQUARES)
            oracle_add_product(&o, x[i], x[i]);
        else
            oracle_add(&o, c->data.terms == WI_EXACT_NRM1 ? fabs(x[i]) : x[i]);
    }
    if (c->data.terms == WI_EXACT_SQUARES) {
        if (!oracle_is_root(&o, type, got.f))
            fail_msg("%s: y[%zu], of elements %zu to %zu, %s, is not the root of %s", describe(c),
                     s, first, end, test_text(type, got),
                     test_text(WEFT_F64, (test_value){.f = oracle_round(&o, WEFT_F64)}));
        return;
    }
    const test_value right = {.f = oracle_round(&o, type)};
    if (!test_same(type, right, got))
        fail_msg("%s: y[%zu], of elements %zu to %zu, is %s, should be %s", describe(c), s, first,
                 end, test_text(type, got), test_text(type, right));
}

static void check(const segments_rig *r, const segments_case *c, const void *y) {
    for (size_t s = 0; s < c->segments; s++)
        check_one(c, r->base.x, r->offsets[s], r->offsets[s + 1], s,
                  test_load(c->data.result_type, y, s));
}

/* ---- by segment ---- */

/* Calls with the offsets and data that the rig has. */
static void call_segments(segments_rig *r, const segments_case *c) {
    const exact_case *const d = &c->data;
    weft_context *const ctx = r->base.ctx;
    const weft_type offset_type = index_types[test_below(&r->base.random, 4)];
    const size_t size = test_size_of(d->type), y_size = test_size_of(d->result_type);
    const size_t index_size = test_size_of(offset_type);
    for (size_t s = 0; s <= c->segments; s++)
        test_store(offset_type, r->typed, s, (test_value){.u = r->offsets[s]});
    test_buffer *const x = home(r, c, X), *const y = home(r, c, Y);
    test_buffer *const offsets = home(r, c, OFFSETS);
    test_buffer_load(x, r->base.source_x, d->n * size, d->offset_x * size);
    test_buffer_load(offsets, r->typed, (c->segments + 1) * index_size, index_size);
    test_buffer_poison(y, c->segments * y_size, d->offset_y * y_size);
    test_use(ctx, "exact_segments", d->row);
    const weft_status status =
        weft_exact_reduce_segments(ctx, ops[d->terms], d->type, d->n, x->p, c->segments,
                                   offset_type, offsets->p, d->result_type, y->p);
    const void *const got = test_buffer_read(y, describe(c));
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(c), weft_status_name(status), weft_message(ctx));
    test_used(ctx, "exact_segments", d->row, describe(c));
    check(r, c, got);
}

static void run_case(segments_rig *r, segments_case c) {
    c.segments = group_divide(&r->base.random, c.shape, c.data.n, c.data.n + MORE - 1, r->offsets);
    draw(&r->base.random, &c.data, r->base.x, r->base.source_x);
    call_segments(r, &c);
}

static unsigned any_home(segments_rig *r) {
    return test_below(&r->base.random, 2) ? ~0u : (unsigned)test_below(&r->base.random, 64);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    segments_rig *const r = rig_of_test;
    test_random *const random = &r->base.random;
    run_case(r, (segments_case){.data = {.row = row,
                                         .terms = (wi_exact_terms)at[0],
                                         .type = floats[at[1]],
                                         .result_type = floats[test_below(random, FLOATS)],
                                         .n = n,
                                         .offset_x = test_below(random, 3),
                                         .offset_y = test_below(random, 3),
                                         .pattern = (exact_pattern)test_below(random, PATTERNS)},
                                .shape = (group_shape)at[2],
                                .device = any_home(r)});
    return true;
}

static void sizes(weft_context *ctx, const size_t *list, size_t count, size_t most, unsigned must,
                  unsigned share) {
    segments_rig r = rig_of(ctx, 41, most);
    const test_sweep s = {.sizes = list,
                          .size_count = count,
                          .ladder = &wi_exact_segments_ladder,
                          .extent = {TERMS, FLOATS, GROUP_SHAPES},
                          .must = must,
                          .share = share,
                          .one_in = 3,
                          .run = run_at};
    test_sweep_run(ctx, &r.base.random, &s, &r);
    rig_end(&r);
}

static void small_sizes(weft_context *ctx) {
    sizes(ctx, test_small_sizes, test_small_size_count, 257, 3, 20);
}

static void medium_sizes(weft_context *ctx) {
    sizes(ctx, test_medium_sizes, test_medium_size_count, 16385, 3, 25);
}

/* Each kind of data on each rung, in segments for threads, warps and blocks. */
static bool run_pattern(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    segments_rig *const r = rig_of_test;
    static const group_shape shapes[] = {GROUP_SHORT, GROUP_LONG, GROUP_MIXED};
    if (!test_case_wanted(&r->base.random))
        return true;
    run_case(r, (segments_case){.data = {.row = row,
                                         .terms = (wi_exact_terms)at[1],
                                         .type = at[2] ? WEFT_F64 : WEFT_F32,
                                         .result_type = floats[2 + test_below(&r->base.random, 2)],
                                         .n = n,
                                         .pattern = (exact_pattern)at[0]},
                                .shape = shapes[test_below(&r->base.random, 3)],
                                .device = ~0u});
    return true;
}

static void patterns(weft_context *ctx) {
    static const size_t length[] = {4001};
    segments_rig r = rig_of(ctx, 42, length[0]);
    const test_sweep s = {.sizes = length,
                          .size_count = 1,
                          .ladder = &wi_exact_segments_ladder,
                          .extent = {PATTERNS, TERMS, 2},
                          .must = 1,
                          .share = 25,
                          .run = run_pattern};
    test_sweep_run(ctx, &r.base.random, &s, &r);
    rig_end(&r);
}

/* ---- what a cascade cannot decide ---- */

/* How far apart elements of a tie are, so that one thread of a block has them all, or one lane of a
 * vector or warp. */
static size_t gap_of(size_t n) {
    return n >= 2600 ? 512 : n >= 160 ? 32 : n >= 40 ? 8 : 1;
}

/* Fills a segment of n elements with a sum that is half way between two numbers, or beside it by
 * less than `low` can hold: in any order or, if it is long, in one lane. */
static void draw_tie(segments_rig *r, double *x, size_t n) {
    test_random *const random = &r->base.random;
    const double parts[] = {
        1 + (double)test_below(random, 2) * 0x1p-52, 0x1p-53 * (test_below(random, 2) ? 1 : -0.5),
        ldexp(test_below(random, 2) ? 1 : -1, -60 - (int)test_below(random, 900)), 0x1p-130,
        -0x1p-130};
    const size_t count = 2 + test_below(random, 4), gap = gap_of(n);
    const int scale = (int)test_below(random, 60) - 30;
    for (size_t i = 0; i < n; i++)
        x[i] = i % gap == 0 && i / gap < count ? ldexp(parts[i / gap], scale) : 0;
    for (size_t i = n; i > 1 && gap == 1; i--) {
        const size_t with = test_below(random, i);
        const double kept = x[i - 1];
        x[i - 1] = x[with];
        x[with] = kept;
    }
}

/* Fills a segment with numbers whose norm is half way between two, or above by what cannot be seen
 * in the leading bits of its square: of f64 it is 5 t. That of f32 is an f64, and what is above it
 * may be an element whose square is below all numbers. */
static void draw_root_tie(segments_rig *r, bool to_f32, double *x, size_t n) {
    test_random *const random = &r->base.random;
    const uint64_t least = ((uint64_t)1 << 53) / 5 + 1, most = ((uint64_t)1 << 53) / 3;
    const double t = (double)((least + test_below(random, most - least)) | 1);
    const double of_f32 = 1 + (double)(1 + 2 * test_below(random, 99)) * 0x1p-24;
    const double above = (double)test_below(random, 2);
    const double parts[] = {to_f32 ? of_f32 : 3 * t, to_f32 ? above * 0x1p-540 : 4 * t,
                            to_f32 ? 0 : above};
    const size_t gap = gap_of(n);
    for (size_t i = 0; i < n; i++)
        x[i] = i % gap == 0 && i / gap < 3 ? parts[i / gap] : 0;
}

/* Segments of lengths from 2 to 5 and beyond, each near a tie; enough that what is decided too
 * early shows. */
static void ties(weft_context *ctx) {
    static const size_t lengths[] = {2, 3, 5, 5, 5, 40, 700, 2600};
    const size_t n = 16000;
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_exact_segments_ladder, rows);
    segments_rig r = rig_of(ctx, 43, n);
    for (size_t k = 0; k < 3 * count; k++) {
        const bool roots = k % 3 > 0, to_f32 = k % 3 == 2;
        segments_case c = {.data = {.row = rows[k / 3],
                                    .terms = roots ? WI_EXACT_SQUARES : WI_EXACT_SUM,
                                    .type = WEFT_F64,
                                    .result_type = to_f32 ? WEFT_F32 : WEFT_F64,
                                    .n = n},
                           .device = ~0u};
        size_t at = 0;
        for (r.offsets[0] = 0; at < n; r.offsets[++c.segments] = at) {
            const size_t length = lengths[test_below(&r.base.random, 8)];
            const size_t fits = length < n - at ? length : n - at;
            if (roots)
                draw_root_tie(&r, to_f32, r.base.x + at, fits);
            else
                draw_tie(&r, r.base.x + at, fits);
            at += fits;
        }
        memcpy(r.base.source_x, r.base.x, n * sizeof *r.base.x);
        call_segments(&r, &c);
    }
    rig_end(&r);
}

/* ---- shares ---- */

/* Very many empty segments; and one that holds all, among them. */
static void empty_and_full(weft_context *ctx) {
    const size_t n = 9001, segments = ctx->kind == WI_CPU ? 1000001 : 30001;
    if (!test_size_wanted(segments))
        return;
    uint64_t *const offsets = calloc(segments + 1, sizeof *offsets);
    double *const x = malloc(n * sizeof *x), *const y = malloc(segments * sizeof *y);
    assert_true(offsets && x && y);
    for (size_t full = 0; full < segments; full += segments / 2) {
        for (size_t i = 0; i < n; i++)
            x[i] = i % 2 ? 1e-300 : 1e16 + (double)i;
        for (size_t s = 0; s <= segments; s++)
            offsets[s] = s > full ? n : 0;
        memset(y, 1, segments * sizeof *y);
        assert_int_equal(weft_exact_reduce_segments(ctx, WEFT_SUM, WEFT_F64, n, x, segments,
                                                    WEFT_U64, offsets, WEFT_F64, y),
                         WEFT_OK);
        const segments_case c = {.data = {.type = WEFT_F64, .result_type = WEFT_F64, .n = n},
                                 .segments = segments};
        check_one(&c, x, 0, n, full, test_load(WEFT_F64, y, full));
        for (size_t s = 0; s < segments; s++)
            if (s != full && (y[s] != 0 || signbit(y[s])))
                fail_msg("%zu of %zu segments is empty, and its sum %g", s, segments, y[s]);
    }
    free(offsets);
    free(x);
    free(y);
}

/* Threads that share segments in several ways. */
static void threads(void **state) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7", "cpu:16"};
    const size_t n = 300001;
    (void)state;
    if (!test_size_wanted(n))
        return;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *const ctx = test_open(places[k]);
        segments_rig r = rig_of(ctx, 44, n);
        run_case(&r, (segments_case){
                         .data = {.row = test_row_named(&wi_exact_segments_ladder, "threads"),
                                  .type = WEFT_F64,
                                  .result_type = WEFT_F64,
                                  .n = n,
                                  .pattern = SPREAD},
                         .shape = k % 2 ? GROUP_MIXED : GROUP_LONG});
        rig_end(&r);
        weft_close(ctx);
    }
}

/* ---- by key ---- */

/* Runs of the shape's lengths, those of 0 left out: their keys have two bytes. */
static size_t draw_keys(segments_rig *r, uint16_t *keys, size_t segments) {
    size_t runs = 0;
    for (size_t s = 0; s < segments; s++) {
        if (r->offsets[s] == r->offsets[s + 1])
            continue;
        for (uint64_t i = r->offsets[s]; i < r->offsets[s + 1]; i++)
            keys[i] = (uint16_t)runs;
        r->offsets[runs++] = r->offsets[s];
    }
    return runs;
}

static void run_keys(segments_rig *r, segments_case c) {
    exact_case *const d = &c.data;
    weft_context *const ctx = r->base.ctx;
    const size_t size = test_size_of(d->type), y_size = test_size_of(d->result_type);
    uint16_t *const keys = r->typed;
    c.segments = group_divide(&r->base.random, c.shape, d->n, d->n + MORE - 1, r->offsets);
    c.segments = draw_keys(r, keys, c.segments);
    r->offsets[c.segments] = d->n;
    draw(&r->base.random, d, r->base.x, r->base.source_x);
    test_buffer_load(home(r, &c, X), r->base.source_x, d->n * size, d->offset_x * size);
    test_buffer_load(home(r, &c, KEYS), keys, d->n * 2, 2);
    test_buffer_poison(home(r, &c, KEYS_OUT), d->n * 2, 4);
    test_buffer_poison(home(r, &c, COUNT), 8, 8);
    test_buffer_poison(home(r, &c, Y), d->n * y_size, 0);
    const weft_exact_column column = {ops[d->terms], d->type, home(r, &c, X)->p, d->result_type,
                                      home(r, &c, Y)->p};
    test_use(ctx, "exact_segments", d->row);
    const weft_status status =
        weft_exact_reduce_by_key(ctx, d->n, 2, home(r, &c, KEYS)->p, home(r, &c, KEYS_OUT)->p, 1,
                                 &column, (uint64_t *)(void *)home(r, &c, COUNT)->p);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(&c), weft_status_name(status), weft_message(ctx));
    uint64_t found;
    memcpy(&found, test_buffer_read(home(r, &c, COUNT), "the count"), sizeof found);
    assert_int_equal(found, c.segments);
    const uint16_t *const out = test_buffer_read(home(r, &c, KEYS_OUT), "the keys");
    for (size_t k = 0; k < c.segments; k++)
        assert_int_equal(out[k], k);
    check(r, &c, test_buffer_read(home(r, &c, Y), describe(&c)));
}

static void by_key(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_exact_segments_ladder, rows);
    segments_rig r = rig_of(ctx, 45, 3000);
    for (size_t k = 0; k < 3 * count; k++)
        run_keys(&r, (segments_case){.data = {.row = rows[k / 3],
                                              .terms = (wi_exact_terms)(k % TERMS),
                                              .type = floats[test_below(&r.base.random, FLOATS)],
                                              .result_type = WEFT_F64,
                                              .n = 3000,
                                              .pattern = SPREAD},
                                     .shape = (group_shape)test_below(&r.base.random, GROUP_SHAPES),
                                     .device = any_home(&r)});
    rig_end(&r);
}

/* No elements, no segments, no columns. */
static void nothing(weft_context *ctx) {
    const uint64_t offsets[3] = {0, 0, 0};
    double y[2] = {1, 1};
    uint64_t count = 7;
    assert_int_equal(weft_exact_reduce_segments(ctx, WEFT_NRM2, WEFT_F64, 0, NULL, 2, WEFT_U64,
                                                offsets, WEFT_F64, y),
                     WEFT_OK);
    assert_true(y[0] == 0 && y[1] == 0);
    assert_int_equal(weft_exact_reduce_segments(ctx, WEFT_SUM, WEFT_F64, 0, NULL, 0, WEFT_U64, NULL,
                                                WEFT_F64, NULL),
                     WEFT_OK);
    assert_int_equal(weft_exact_reduce_by_key(ctx, 0, 4, NULL, NULL, 0, NULL, &count), WEFT_OK);
    assert_int_equal(count, 0);
}

/* What was seen on a cpu of 3 GHz with AVX-512 (README.md), in cycles for an element of one thread:
 * the costs are within a factor of 1.5 of it. */
static void costs(void **state) {
    static const struct {
        int rung; /* of the ladder */
        weft_op op;
        weft_type type;
        size_t length;
        double cycles;
    } seen[] = {
        {0, WEFT_SUM, WEFT_F64, 8, 105},      {0, WEFT_SUM, WEFT_F64, 2048, 7.7},
        {0, WEFT_SUM, WEFT_F16, 2048, 16.6},  {0, WEFT_NRM2, WEFT_F64, 64, 31.2},
        {0, WEFT_NRM2, WEFT_F32, 2048, 17.4}, {1, WEFT_SUM, WEFT_F64, 1, 14.3},
        {1, WEFT_SUM, WEFT_F64, 8, 9.5},      {1, WEFT_SUM, WEFT_F32, 24, 5.6},
        {1, WEFT_SUM, WEFT_F64, 64, 2.5},     {1, WEFT_SUM, WEFT_F64, 2048, 0.92},
        {1, WEFT_SUM, WEFT_BF16, 2048, 1.02}, {1, WEFT_NRM2, WEFT_F64, 1, 28},
        {1, WEFT_NRM2, WEFT_F64, 24, 9.5},    {1, WEFT_NRM2, WEFT_F64, 64, 3.9},
        {1, WEFT_NRM2, WEFT_F64, 2048, 1.71},
    };
    weft_context *ctx;
    (void)state;
    assert_int_equal(weft_open(&ctx, "cpu:1"), WEFT_OK);
    ctx->machine.unit_hz = 3e9;
    ctx->machine.f64_flops = 32 * 3e9;
    ctx->machine.bytes_per_s = 1e12;
    for (size_t k = 0; k < sizeof seen / sizeof *seen; k++) {
        const size_t n = 1 << 15;
        const wi_group_args args = {.op = seen[k].op == WEFT_SUM ? WI_RED_SUM : WI_RED_NRM2,
                                    .type = seen[k].type,
                                    .result_type = WEFT_F64,
                                    .n = n,
                                    .segments = n / seen[k].length};
        const double cycles =
            wi_exact_segments_ladder.rows[seen[k].rung].seconds(ctx, &args) * 3e9 / (double)n;
        if (!(cycles < 1.5 * seen[k].cycles && cycles > seen[k].cycles / 1.5))
            fail_msg("rung %d, op %d, %s, segments of %zu: predicted %.3g cycles, seen %.3g",
                     seen[k].rung, (int)seen[k].op, weft_type_name(seen[k].type), seen[k].length,
                     cycles, seen[k].cycles);
    }
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(nothing), TEST_ON_EACH_PLACE(small_sizes),
        TEST_ON_EACH_PLACE(ties),    TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(by_key),  TEST_ON_EACH_PLACE(patterns),
        cmocka_unit_test(threads),   TEST_ON_EACH_PLACE(empty_and_full),
        cmocka_unit_test(costs),
    };
    return cmocka_run_group_tests_name("exact_segments", tests, NULL, NULL);
}
