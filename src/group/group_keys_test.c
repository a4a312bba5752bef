/* SPDX-License-Identifier: Apache-2.0 */
/* weft_reduce_by_key, weft_scan_by_key and weft_scan_segments: keys of any width at any address,
 * several columns, shapes of segments, in place and not, in host and device memory. */
#include "group/group_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "group/group.h"
#include "limits.h"

enum {
    MOST_N = 17000,
    ARRAYS = 7
};

/* The arrays of a call. */
enum {
    KEYS,
    KEYS_OUT,
    COUNT,
    X0,
    Y0,
    X1,
    Y1
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    unsigned char *keys, *x[2];
    uint64_t *offsets;
} rig;

enum {
    MOST_WIDTH = 16
};

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(23)};
    for (int k = 0; k < ARRAYS; k++) {
        const size_t bytes = k <= KEYS_OUT ? (size_t)MOST_N * MOST_WIDTH : (size_t)MOST_N * 8;
        r.pair[k] = test_pair_open(ctx, bytes + TEST_MAX_OFFSET);
    }
    r.keys = malloc((size_t)MOST_N * MOST_WIDTH);
    r.x[0] = malloc((size_t)MOST_N * 8);
    r.x[1] = malloc((size_t)MOST_N * 8);
    r.offsets = malloc(((size_t)MOST_N + 400) * sizeof *r.offsets);
    assert_true(r.keys && r.x[0] && r.x[1] && r.offsets);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->keys);
    free(r->x[0]);
    free(r->x[1]);
    free(r->offsets);
}

static test_buffer *home(rig *r, unsigned device, int k) {
    return test_pair_at(&r->pair[k], device >> k & 1);
}

/* Runs of the shape's lengths, those of 0 left out; neighbouring keys differ in one byte, any of
 * theirs, or one of them is 0, as what kernels fill up with is. r->offsets gets where they begin;
 * returns how many there are. */
static size_t draw_keys(rig *r, group_shape shape, size_t n, size_t width) {
    const size_t segments = group_divide(&r->random, shape, n, (size_t)MOST_N + 400, r->offsets);
    static const unsigned char zero[MOST_WIDTH];
    unsigned char key[MOST_WIDTH] = {0};
    size_t runs = 0;
    for (size_t s = 0; s < segments; s++) {
        const uint64_t first = r->offsets[s], end = r->offsets[s + 1];
        if (first == end)
            continue;
        if ((runs == 0 || memcmp(key, zero, width) != 0) && test_below(&r->random, 3) == 0)
            memset(key, 0, width);
        else
            key[test_below(&r->random, width)] ^= (unsigned char)(1 + test_below(&r->random, 255));
        for (uint64_t i = first; i < end; i++)
            memcpy(r->keys + i * width, key, width);
        r->offsets[runs++] = first;
    }
    r->offsets[runs] = n;
    return runs;
}

static const size_t widths[] = {1, 2, 4, 8, 3, 12, 16};
enum {
    WIDTHS = 7
};

/* ---- reduce by key ---- */

static const struct {
    weft_op op;
    weft_type type, result;
} columns[2] = {{WEFT_SUM, WEFT_F32, WEFT_F32}, {WEFT_ARGMAX, WEFT_I16, WEFT_U64}};

static void check_columns(rig *r, const char *what, size_t runs, size_t count, unsigned device) {
    for (size_t c = 0; c < count; c++) {
        const void *const got = test_buffer_read(home(r, device, c == 0 ? Y0 : Y1), what);
        for (size_t k = 0; k < runs; k++) {
            const group_result right = group_reduced(columns[c].op, columns[c].type, r->x[c],
                                                     r->offsets[k], r->offsets[k + 1]);
            const test_value y = test_load(columns[c].result, got, k);
            if (!group_is_right(columns[c].result, &right, y))
                fail_msg("%s: column %zu of run %zu is %s, should be %s", what, c, k,
                         test_text(columns[c].result, y),
                         test_text(columns[c].result, right.value));
        }
    }
}

static void check_keys(rig *r, const char *what, size_t runs, size_t width, const void *got) {
    for (size_t k = 0; k < runs; k++)
        if (memcmp((const char *)got + k * width, r->keys + r->offsets[k] * width, width) != 0)
            fail_msg("%s: the key of run %zu is wrong", what, k);
}

static void load(rig *r, unsigned device, int k, const void *from, size_t bytes, size_t offset) {
    test_buffer_load(home(r, device, k), from, bytes, offset);
}

static bool reduce_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const size_t width = widths[at[0]], count = at[2] == 0 ? 0 : 2;
    const bool in_place = at[2] == 1, no_keys = at[2] == 2;
    const unsigned device =
        test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 1u << ARRAYS);
    const size_t runs = draw_keys(r, (group_shape)at[1], n, width);
    char what[160];
    snprintf(what, sizeof what, "by key: %s, n %zu, width %zu, shape %zu, way %zu, device %u",
             row ? row->name : "chosen", n, width, at[1], at[2], device);
    test_fill(&r->random, TEST_ANY, columns[0].type, n, r->x[0]);
    test_fill(&r->random, TEST_TIES, columns[1].type, n, r->x[1]);
    load(r, device, KEYS, r->keys, n * width, test_below(&r->random, 3) * (width & -width));
    load(r, device, X0, r->x[0], n * 4, 4);
    load(r, device, X1, r->x[1], n * 2, 2);
    test_buffer_poison(home(r, device, KEYS_OUT), n * width, test_below(&r->random, 3));
    test_buffer_poison(home(r, device, COUNT), 8, 8);
    test_buffer_poison(home(r, device, Y0), n * 4, 4);
    test_buffer_poison(home(r, device, Y1), n * 8, 0);
    const weft_column column[2] = {
        {columns[0].op, columns[0].type, home(r, device, X0)->p, home(r, device, Y0)->p},
        {columns[1].op, columns[1].type, home(r, device, X1)->p, home(r, device, Y1)->p}};
    test_buffer *const out = home(r, device, in_place ? KEYS : KEYS_OUT);
    test_use(r->ctx, "group", row);
    const weft_status status =
        weft_reduce_by_key(r->ctx, n, width, home(r, device, KEYS)->p, no_keys ? NULL : out->p,
                           count, column, (uint64_t *)(void *)home(r, device, COUNT)->p);
    if (row && row->types != WI_ALL_TYPES && status == WEFT_EUNSUPPORTED)
        return true;
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    uint64_t found;
    memcpy(&found, test_buffer_read(home(r, device, COUNT), what), sizeof found);
    if (found != runs)
        fail_msg("%s: found %llu runs of %zu", what, (unsigned long long)found, runs);
    check_columns(r, what, runs, count, device);
    if (!no_keys)
        check_keys(r, what, runs, width, test_buffer_read(out, what));
    return true;
}

/* ---- the rungs that reduce by key ---- */

static const weft_op one_ops[] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,   WEFT_ARGMIN,
                                  WEFT_ARGMAX, WEFT_NRM1,    WEFT_NRM2, WEFT_NRMINF};
enum {
    ONE_OPS = 9,
    WORD_WIDTHS = 4 /* the first of widths */
};

/* Those that the rungs `bulk` are compiled for. */
static bool has_bulk_copies(const weft_context *ctx) {
#ifdef WEFT_CUDA
    return ctx->gpu && ctx->gpu->capability >= 90;
#else
    (void)ctx;
    return false;
#endif
}
static bool is_bulk_op(weft_op op) {
    return op == WEFT_SUM || op == WEFT_MIN || op == WEFT_MAX;
}
static bool is_one_tile(const wi_row *row) {
    return row && strcmp(row->name, "one_tile") == 0;
}

static bool is_too_long(const wi_row *row, size_t n) {
    return is_one_tile(row) && n > WI_GROUP_ONE_TILE;
}

/* One column of any type and operation; a rung that does not take it says so. */
static bool reduce_one_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const weft_op op = one_ops[at[1]];
    const size_t width = widths[test_below(&r->random, WORD_WIDTHS)], size = test_size_of(type);
    const bool no_keys = test_below(&r->random, 4) == 0, in_place = test_below(&r->random, 4) == 0;
    const bool is_bulk = row && strcmp(row->name, "bulk") == 0,
               is_ends = row && strcmp(row->name, "ends") == 0;
    const bool takes_all =
        !row || strcmp(row->name, "select") == 0 || strcmp(row->name, "blocks") == 0;
    const bool refuses =
        !takes_all && (size < 4 || (is_bulk && width > size) || (is_ends && width < 4) ||
                       ((is_bulk || is_ends || is_one_tile(row)) && !is_bulk_op(op)) ||
                       is_too_long(row, n) || (in_place && !no_keys));
    const bool aligned = test_below(&r->random, 2) && has_bulk_copies(r->ctx);
    const unsigned device =
        test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 1u << ARRAYS);
    const size_t runs = draw_keys(r, (group_shape)at[2], n, width);
    weft_type result;
    char what[160];
    assert_int_equal(weft_reduce_type(op, type, &result), WEFT_OK);
    snprintf(what, sizeof what, "by key: %s, %s of %s, n %zu, width %zu, shape %zu, device %u",
             row ? row->name : "chosen", test_op_name(op), test_type_name(type), n, width, at[2],
             device);
    test_fill(&r->random, op == WEFT_PRODUCT ? TEST_SIGNS : TEST_ANY, type, n, r->x[0]);
    load(r, device, KEYS, r->keys, n * width, aligned ? 0 : test_below(&r->random, 3) * width);
    load(r, device, X0, r->x[0], n * size, aligned ? 0 : (1 + test_below(&r->random, 2)) * size);
    test_buffer_poison(home(r, device, KEYS_OUT), n * width, test_below(&r->random, 3) * width);
    test_buffer_poison(home(r, device, COUNT), 8, 8);
    test_buffer_poison(home(r, device, Y0), n * test_size_of(result), 8);
    const weft_column column = {op, type, home(r, device, X0)->p, home(r, device, Y0)->p};
    test_buffer *const out = home(r, device, in_place ? KEYS : KEYS_OUT);
    test_use(r->ctx, "group_keys", row);
    const weft_status status =
        weft_reduce_by_key(r->ctx, n, width, home(r, device, KEYS)->p, no_keys ? NULL : out->p, 1,
                           &column, (uint64_t *)(void *)home(r, device, COUNT)->p);
    test_use(r->ctx, "group_keys", NULL);
    const bool may_refuse = (is_bulk || is_ends) && !aligned; /* host arrays are copied */
    if (refuses || (may_refuse && status != WEFT_OK)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_reduce_by_key", row->name);
        return true;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    test_used(r->ctx, "group_keys", row, what);
    uint64_t found;
    memcpy(&found, test_buffer_read(home(r, device, COUNT), what), sizeof found);
    if (found != runs)
        fail_msg("%s: found %llu runs of %zu", what, (unsigned long long)found, runs);
    const void *const got = test_buffer_read(home(r, device, Y0), what);
    for (size_t k = 0; k < runs; k++) {
        const group_result right =
            group_reduced(op, type, r->x[0], r->offsets[k], r->offsets[k + 1]);
        const test_value y = test_load(result, got, k);
        if (!group_is_right(result, &right, y))
            fail_msg("%s: run %zu is %s, should be %s", what, k, test_text(result, y),
                     test_text(result, right.value));
    }
    if (!no_keys)
        check_keys(r, what, runs, width, test_buffer_read(out, what));
    return true;
}

/* ---- scans ---- */

static const weft_op scan_ops[] = {WEFT_SUM, WEFT_PRODUCT, WEFT_MIN, WEFT_MAX,
                                   WEFT_AND, WEFT_OR,      WEFT_XOR};
enum {
    SCAN_OPS = 7,
    FLOAT_OPS = 4
};

static test_value combined(weft_op op, weft_type type, test_value a, test_value b) {
    if (op == WEFT_MIN || op == WEFT_MAX)
        return group_is_better(type, op == WEFT_MAX, b, a) ? b : a;
    if (test_is_float(type))
        return (test_value){.f = op == WEFT_SUM ? a.f + b.f : a.f * b.f};
    const uint64_t bits[] = {a.u + b.u, a.u * b.u, 0, 0, a.u & b.u, a.u | b.u, a.u ^ b.u};
    return (test_value){.u = test_wrap(type, bits[op])};
}

static test_value start_of(weft_op op, weft_type type) {
    if (op == WEFT_MIN || op == WEFT_MAX)
        return group_none(type, op == WEFT_MAX);
    if (test_is_float(type))
        return (test_value){.f = op == WEFT_PRODUCT};
    return (test_value){.u = op == WEFT_PRODUCT ? 1
                             : op == WEFT_AND   ? test_wrap(type, UINT64_MAX)
                                                : 0};
}

static bool is_near(weft_type type, weft_op op, test_value got, test_value right, double size,
                    size_t terms) {
    const bool inexact = test_is_float(type) && (op == WEFT_SUM || op == WEFT_PRODUCT);
    if (!inexact || !isfinite(right.f))
        return test_same(type, got, right);
    const double error =
        (double)terms * 0x1p-50 * size + 2.02 * (double)test_roundoff(type) * fabs(right.f);
    return fabs(got.f - right.f) <= error + (double)test_half_tiny(type);
}

static void check_scan(rig *r, const char *what, weft_type type, weft_op op, weft_scan_kind kind,
                       size_t segments, const void *got) {
    for (size_t s = 0; s < segments; s++) {
        test_value total = start_of(op, type);
        double size = 0;
        for (size_t i = r->offsets[s]; i < r->offsets[s + 1]; i++) {
            const test_value before = total, x = test_load(type, r->x[0], i);
            total = combined(op, type, total, x);
            if (test_is_float(type))
                size = op == WEFT_SUM ? size + fabs(x.f) : fabs(total.f);
            test_value right = kind == WEFT_INCLUSIVE ? total : before;
            const test_value y = test_load(type, got, i);
            if (test_is_float(type) && isfinite(right.f))
                right.f = test_round(type, right.f);
            if (!is_near(type, op, y, right, size, i - r->offsets[s] + 1))
                fail_msg("%s: y[%zu], of segment %zu, is %s, should be %s", what, i, s,
                         test_text(type, y), test_text(type, right));
        }
    }
}

static weft_status call_scan(rig *r, weft_type type, weft_op op, weft_scan_kind kind, size_t n,
                             size_t segments, size_t width, test_buffer *divides, const void *x,
                             void *y) {
    if (width > 0) {
        load(r, divides->device ? ~0u : 0, KEYS, r->keys, n * width, 0);
        return weft_scan_by_key(r->ctx, kind, op, type, n, width, divides->p, x, y);
    }
    load(r, divides->device ? ~0u : 0, KEYS, r->offsets, (segments + 1) * sizeof *r->offsets, 0);
    return weft_scan_segments(r->ctx, kind, op, type, n, x, y, segments, WEFT_U64, divides->p);
}

static bool scan_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const weft_type type = (weft_type)at[0];
    const weft_op op = scan_ops[at[1]];
    const group_shape shape = (group_shape)at[2];
    const weft_scan_kind kind = test_below(&r->random, 2) ? WEFT_INCLUSIVE : WEFT_EXCLUSIVE;
    const size_t width = test_below(&r->random, 2) ? widths[test_below(&r->random, WIDTHS)] : 0;
    const bool in_place = test_below(&r->random, 3) == 0;
    const unsigned device = test_below(&r->random, 2) ? ~0u : (unsigned)test_below(&r->random, 128);
    if (test_is_float(type) && at[1] >= FLOAT_OPS)
        return false;
    const size_t size = test_size_of(type);
    const size_t segments = width > 0 ? draw_keys(r, shape, n, width)
                                      : group_divide(&r->random, shape, n, n + 400, r->offsets);
    char what[160];
    snprintf(what, sizeof what,
             "scan: %s, %s of %s, n %zu, width %zu, shape %d, kind %d, device %u",
             row ? row->name : "chosen", test_op_name(op), test_type_name(type), n, width,
             (int)shape, (int)kind, device);
    test_fill(&r->random,
              op == WEFT_PRODUCT ? TEST_SIGNS
              : op == WEFT_SUM   ? TEST_ANY
                                 : TEST_SPECIAL,
              type, n, r->x[0]);
    test_buffer *const x = home(r, device, X0), *const y = in_place ? x : home(r, device, Y0);
    const bool aligned = test_below(&r->random, 2) && has_bulk_copies(r->ctx);
    const bool is_bulk = row && strcmp(row->name, "bulk") == 0;
    test_buffer_load(x, r->x[0], n * size, aligned ? 0 : size);
    if (!in_place)
        test_buffer_poison(y, n * size, aligned ? 0 : 2 * size);
    test_use(r->ctx, "group_scan", row);
    const weft_status status =
        call_scan(r, type, op, kind, n, segments, width, home(r, device, KEYS), x->p, y->p);
    const bool refuses =
        ((is_bulk || is_one_tile(row)) && (size < 4 || !is_bulk_op(op))) || is_too_long(row, n);
    if (refuses || (is_bulk && !aligned && status != WEFT_OK)) { /* host arrays are copied */
        test_use(r->ctx, "group_scan", NULL);
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED,
                     width > 0 ? "weft_scan_by_key" : "weft_scan_segments", row->name);
        return true;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(r->ctx));
    test_used(r->ctx, "group_scan", row, what);
    check_scan(r, what, type, op, kind, segments, test_buffer_read(y, what));
    return true;
}

/* ---- what to run ---- */

/* With the edges of tiles of 2304, 3840 and 4096 elements. */
static const size_t some_sizes[] = {1,    2,    31,   33,   255,  256,  257,  1000, 2304,
                                    2305, 3839, 3840, 3841, 4096, 4097, 7681, 16999};
enum {
    SIZES = 17
};

typedef bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]);

static void sweep(weft_context *ctx, const wi_ladder *ladder, size_t first, size_t second,
                  size_t third, unsigned must, unsigned share, run_at *run) {
    rig r = rig_open(ctx);
    const test_sweep s = {.sizes = some_sizes,
                          .size_count = SIZES,
                          .ladder = ladder,
                          .extent = {first, second, third},
                          .must = must,
                          .share = share,
                          .one_in = must + 1,
                          .run = run};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void reduce_by_key(weft_context *ctx) {
    sweep(ctx, &wi_group_ladder, WIDTHS, GROUP_SHAPES, 4, 1, 25, reduce_at);
}

/* Groups of look-back are small, so that tiles look back over several. */
static void reduce_one_column(weft_context *ctx) {
#ifdef WEFT_EMU
    wi_group = 2;
#endif
    sweep(ctx, &wi_group_keys_ladder, WEFT_TYPE_COUNT, ONE_OPS, GROUP_SHAPES, 2, 35, reduce_one_at);
#ifdef WEFT_EMU
    wi_group = 32;
#endif
}

static void scan_segments(weft_context *ctx) {
#ifdef WEFT_EMU
    wi_group = wi_group_scan_group = 2;
#endif
    sweep(ctx, &wi_group_scan_ladder, WEFT_TYPE_COUNT, SCAN_OPS, GROUP_SHAPES, 3, 40, scan_at);
#ifdef WEFT_EMU
    wi_group = 32;
    wi_group_scan_group = 256;
#endif
}

/* The rungs that pass on counts or what is open from tile to tile, over several tiles. */
static void many_tiles(weft_context *ctx) {
    static const weft_type types[] = {WEFT_F32, WEFT_U64, WEFT_I32, WEFT_F64};
    if (ctx->kind != WI_CUDA)
        return;
#ifdef WEFT_EMU
    wi_group = 2;
#endif
    const wi_row *const reduces = test_row_named(&wi_group_keys_ladder, "bulk");
    const wi_row *const counts = test_row_named(&wi_group_keys_ladder, "one_pass");
    const wi_row *const ends = test_row_named(&wi_group_keys_ladder, "ends");
    const wi_row *const scans = test_row_named(&wi_group_scan_ladder, "bulk");
    const wi_row *const tiles = test_row_named(&wi_group_keys_ladder, "one_tile");
    const wi_row *const scan_tiles = test_row_named(&wi_group_scan_ladder, "one_tile");
    rig r = rig_open(ctx);
    for (size_t shape = 0; shape < GROUP_SHAPES; shape++) {
        const size_t type = types[shape % 4], n = MOST_N - 1 - shape * 300;
#ifdef WEFT_EMU
        wi_end_blocks = 1 + shape / 2 % 2; /* of one, warps go round their rings of keys */
#endif
        reduce_one_at(&r, n, reduces, (size_t[]){type, shape / 4 % 2 ? 3 : 0, shape});
        reduce_one_at(&r, n, counts, (size_t[]){type, shape % 9, shape});
        reduce_one_at(&r, n, ends, (size_t[]){type, shape % 2 ? 3 : 0, shape});
        scan_at(&r, n, scans, (size_t[]){type, shape / 4 % 2 ? 3 : 0, shape});
        const size_t few = WI_GROUP_ONE_TILE - shape % 2;
        reduce_one_at(&r, few, tiles, (size_t[]){type, shape / 4 % 2 ? 3 : 0, shape});
        scan_at(&r, few, scan_tiles, (size_t[]){type, shape / 4 % 2 ? 3 : 0, shape});
    }
    rig_close(&r);
#ifdef WEFT_EMU
    wi_group = 32;
    wi_end_blocks = SIZE_MAX;
#endif
}

/* No elements: no runs, and outputs stay. */
static void nothing(weft_context *ctx) {
    uint64_t count = 7;
    const uint64_t offsets[1] = {0};
    assert_int_equal(weft_reduce_by_key(ctx, 0, 4, NULL, NULL, 0, NULL, &count), WEFT_OK);
    assert_int_equal(count, 0);
    assert_int_equal(
        weft_reduce_segments(ctx, WEFT_SUM, WEFT_F32, 0, NULL, 0, WEFT_U64, offsets, NULL),
        WEFT_OK);
    assert_int_equal(
        weft_scan_by_key(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F32, 0, 4, NULL, NULL, NULL), WEFT_OK);
}

/* A rung that is forced and does not take a column's type: nothing is written, keys neither. */
static void misfit(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_group_ladder, rows);
    const int8_t keys[] = {1, 1, 2};
    const weft_f16 x[3] = {{0}};
    void *keys_out;
    assert_int_equal(weft_alloc(ctx, &keys_out, sizeof keys), WEFT_OK);
    for (size_t k = 0; k < count; k++) {
        if (!rows[k] || rows[k]->types & WI_TYPE(WEFT_F16))
            continue;
        int8_t kept[] = {7, 7, 7};
        float y[] = {7, 7, 7};
        uint64_t found = 7;
        const weft_column column = {.op = WEFT_SUM, .type = WEFT_F16, .x = x, .y = y};
        assert_int_equal(weft_copy(ctx, keys_out, kept, sizeof kept), WEFT_OK);
        test_use(ctx, "group", rows[k]);
        test_refused(ctx, weft_reduce_by_key(ctx, 3, 1, keys, keys_out, 1, &column, &found),
                     WEFT_EUNSUPPORTED, "weft_reduce_by_key", rows[k]->name);
        assert_int_equal(weft_copy(ctx, kept, keys_out, sizeof kept), WEFT_OK);
        assert_true(kept[0] == 7 && kept[1] == 7 && found == 7 && y[0] == 7 && y[1] == 7);
    }
    weft_free(ctx, keys_out);
    test_use(ctx, "group", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(reduce_by_key), TEST_ON_EACH_PLACE(reduce_one_column),
        TEST_ON_EACH_PLACE(scan_segments), TEST_ON_EACH_PLACE(many_tiles),
        TEST_ON_EACH_PLACE(nothing),       TEST_ON_EACH_PLACE(misfit),
    };
    return cmocka_run_group_tests_name("group_keys", tests, NULL, NULL);
}
