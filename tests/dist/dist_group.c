/* SPDX-License-Identifier: Apache-2.0 */
/* group over ranks: segments and runs that cross ranks are joined. Integers, minima, maxima and
 * positions have the bits of one place; the sums of these floats are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 2000};

/* Operations whose results do not depend on the order of exact sums. */
static const weft_op reduce_ops[] = {WEFT_SUM, WEFT_MIN, WEFT_MAX, WEFT_ARGMIN, WEFT_ARGMAX};
static const weft_op scan_ops[] = {WEFT_SUM, WEFT_MIN, WEFT_MAX, WEFT_XOR};

static weft_op draw_scan_op(test_random *r, weft_type type) {
    return scan_ops[dist_draw(r, test_is_float(type) ? 3 : 4)];
}

static size_t result_size(weft_op op, weft_type type) {
    weft_type result;
    assert_int_equal(weft_reduce_type(op, type, &result), WEFT_OK);
    return test_size_of(result);
}

/* How long segments and runs are. */
static size_t draw_longest(test_random *r, size_t n) {
    const size_t longest[] = {1, 3, 20, n + 1, 3 * n + 1};
    return longest[dist_draw(r, 5)];
}

/* ---- segments ---- */

/* Offsets of segments that hold n elements; some are empty. Returns how many segments. */
static size_t draw_offsets(test_random *r, size_t n, uint64_t **offsets) {
    const size_t longest = draw_longest(r, n);
    size_t segments = n == 0 ? dist_draw(r, 4) : 0;
    *offsets = calloc(3 * n + 8, sizeof **offsets);
    assert_non_null(*offsets);
    while ((*offsets)[segments] < n && segments < 2 * n) {
        const size_t left = n - (size_t)(*offsets)[segments];
        const size_t next = dist_draw(r, 4) == 0 ? 0 : 1 + dist_draw(r, longest);
        segments++;
        (*offsets)[segments] = (*offsets)[segments - 1] + (next < left ? next : left);
    }
    if ((*offsets)[segments] < n)
        (*offsets)[++segments] = n;
    for (size_t k = dist_draw(r, 3); k > 0 && n > 0; k--) { /* empty ones at the end */
        segments++;
        (*offsets)[segments] = n;
    }
    return segments;
}

/* This rank's offsets, in a type that is drawn. */
static dist_array take_offsets(test_random *r, const uint64_t *offsets, dist_part of,
                               weft_type *type) {
    static const weft_type types[] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};
    *type = types[dist_draw(r, 4)];
    const size_t size = test_size_of(*type), n = of.n + (of.n > 0);
    char *const own = malloc((n + 1) * size);
    assert_non_null(own);
    for (size_t s = 0; s < n; s++)
        memcpy(own + s * size, &offsets[of.first + s], size);
    const dist_array a = dist_take(r, own, n * size);
    free(own);
    return a;
}

/* A whole x in segments, and what this rank has of both. */
typedef struct cut_case {
    weft_type type;
    size_t n, segments;
    dist_part part, own;
    const char *x;
    char *y;
    const uint64_t *offsets;
    const dist_array *dx;
    weft_type offset_type;
    const void *own_offsets;
} cut_case;

/* Two columns of x in one call. */
static void columns_case(test_random *r, const cut_case *c) {
    const weft_op op[2] = {WEFT_MAX, WEFT_ARGMIN};
    dist_array dy[2];
    weft_column column[2];
    for (int k = 0; k < 2; k++) {
        dy[k] = dist_take(r, NULL, c->own.n * result_size(op[k], c->type));
        column[k] = (weft_column){op[k], c->type, c->dx->p, dy[k].p};
    }
    dist_ok(dist_ctx, weft_reduce_segments_columns(dist_ctx, c->part.n, c->own.n, c->offset_type,
                                                   c->own_offsets, 2, column));
    for (int k = 0; k < 2; k++) {
        const size_t width = result_size(op[k], c->type);
        dist_ok(dist_one, weft_reduce_segments(dist_one, op[k], c->type, c->n, c->x, c->segments,
                                               WEFT_U64, c->offsets, c->y));
        dist_expect(&dy[k], c->y + c->own.first * width, c->own.n * width, "a column");
        dist_give(&dy[k]);
    }
}

static void segments_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    uint64_t *offsets;
    weft_type offset_type;
    const size_t segments = draw_offsets(r, n, &offsets);
    char *const x = dist_whole(r, TEST_SMALL, type, n), *const y = malloc((segments + 1) * 8);
    char *const z = malloc(n * size + 1);
    assert_true(y && z);
    const dist_part part = dist_deal(r, shape, n);
    const dist_part own = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), segments);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array d_offsets = take_offsets(r, offsets, own, &offset_type);
    for (int k = 0; k < 5; k++) {
        const weft_op op = reduce_ops[k];
        const size_t width = result_size(op, type);
        dist_array dy = dist_take(r, NULL, own.n * width);
        dist_ok(dist_one,
                weft_reduce_segments(dist_one, op, type, n, x, segments, WEFT_U64, offsets, y));
        dist_ok(dist_ctx, weft_reduce_segments(dist_ctx, op, type, part.n, dx.p, own.n, offset_type,
                                               d_offsets.p, dy.p));
        dist_expect(&dy, y + own.first * width, own.n * width, test_op_name(op));
        dist_give(&dy);
    }
    columns_case(
        r, &(cut_case){type, n, segments, part, own, x, y, offsets, &dx, offset_type, d_offsets.p});
    const weft_op op = draw_scan_op(r, type);
    const weft_scan_kind kind = (weft_scan_kind)dist_draw(r, 2);
    dist_ok(dist_one,
            weft_scan_segments(dist_one, kind, op, type, n, x, z, segments, WEFT_U64, offsets));
    dist_ok(dist_ctx, weft_scan_segments(dist_ctx, kind, op, type, part.n, dx.p, dx.p, own.n,
                                         offset_type, d_offsets.p));
    dist_expect(&dx, z + part.first * size, part.n * size, "weft_scan_segments");
    dist_give(&dx), dist_give(&d_offsets);
    free(x), free(y), free(z), free(offsets);
}

/* ---- segments sorted ---- */

static void sort_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const test_pattern patterns[] = {TEST_ANY, TEST_TIES, TEST_NANS};
    const size_t size = test_size_of(type), width = 3;
    const weft_order order = (weft_order)dist_draw(r, 2);
    uint64_t *offsets;
    const size_t segments = draw_offsets(r, n, &offsets);
    char *const x = dist_whole(r, patterns[dist_draw(r, 3)], type, n);
    char *const y = malloc(n * size + 1);
    char *const values = dist_whole(r, TEST_ANY, WEFT_U8, width * n);
    char *const moved = malloc(width * n + 1);
    assert_true(y && moved);
    const dist_part part = dist_deal(r, shape, n);
    const dist_part own = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), segments);
    const size_t at = part.first * size, bytes = part.n * size;
    dist_array dx = dist_take(r, x + at, bytes), dy = dist_take(r, NULL, bytes);
    dist_array dv = dist_take(r, values + width * part.first, width * part.n);
    dist_array cuts = dist_take(r, offsets + own.first, (own.n + (own.n > 0)) * sizeof *offsets);
    dist_ok(dist_one, weft_sort_segments(dist_one, order, type, n, x, y, width, values, moved,
                                         segments, offsets));
    dist_ok(dist_ctx, weft_sort_segments(dist_ctx, order, type, part.n, dx.p, dy.p, 0, NULL, NULL,
                                         own.n, cuts.p));
    dist_expect(&dy, y + at, bytes, "weft_sort_segments");
    dist_ok(dist_ctx, weft_sort_segments(dist_ctx, order, type, part.n, dx.p, dx.p, width, dv.p,
                                         dv.p, own.n, cuts.p));
    dist_expect(&dx, y + at, bytes, "keys of weft_sort_segments");
    dist_expect(&dv, moved + width * part.first, width * part.n, "values of weft_sort_segments");
    dist_give(&dx), dist_give(&dy), dist_give(&dv), dist_give(&cuts);
    free(x), free(y), free(values), free(moved), free(offsets);
}

/* ---- exact ---- */

static const weft_op exact_ops[] = {WEFT_SUM, WEFT_NRM1, WEFT_NRM2};
static const weft_type floats[] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

/* Numbers far apart, some of which are taken away again far behind, so that a sum that is rounded
 * on its way differs; the type becomes a float. */
static char *draw_floats(test_random *r, weft_type *type, size_t n) {
    *type = test_is_float(*type) ? *type : floats[dist_draw(r, 4)];
    const int most = *type == WEFT_F16 ? 7 : 60;
    char *const x = malloc(n * 8 + 1);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        const double before = i > 0 ? test_load(*type, x, dist_draw(r, i)).f : 0;
        const double next = ldexp(test_unit(r), (int)dist_draw(r, 2 * (size_t)most + 1) - most);
        test_store(*type, x, i, (test_value){.f = dist_draw(r, 3) ? next : -before});
    }
    return x;
}

static void exact_segments_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    uint64_t *offsets;
    weft_type offset_type;
    const size_t segments = draw_offsets(r, n, &offsets);
    char *const x = draw_floats(r, &type, n), *const y = malloc((segments + 1) * 8);
    assert_non_null(y);
    const size_t size = test_size_of(type);
    const dist_part part = dist_deal(r, shape, n);
    const dist_part own = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), segments);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array d_offsets = take_offsets(r, offsets, own, &offset_type);
    for (int k = 0; k < 3; k++) {
        const weft_type result = floats[dist_draw(r, 4)];
        const size_t width = test_size_of(result);
        dist_array dy = dist_take(r, NULL, own.n * width);
        dist_ok(dist_one, weft_exact_reduce_segments(dist_one, exact_ops[k], type, n, x, segments,
                                                     WEFT_U64, offsets, result, y));
        dist_ok(dist_ctx,
                weft_exact_reduce_segments(dist_ctx, exact_ops[k], type, part.n, dx.p, own.n,
                                           offset_type, d_offsets.p, result, dy.p));
        dist_expect(&dy, y + own.first * width, own.n * width, "weft_exact_reduce_segments");
        dist_give(&dy);
    }
    dist_give(&dx), dist_give(&d_offsets);
    free(x), free(y), free(offsets);
}

/* Offsets that do not go on from rank to rank, and that fall on one. */
static void test_refusals(void) {
    const int32_t x[2] = {1, 2};
    int64_t y[2] = {7, 7};
    const uint32_t far[3] = {99, 100, 101};
    test_refused(dist_ctx,
                 weft_reduce_segments(dist_ctx, WEFT_SUM, WEFT_I32, 2, x, 2, WEFT_U32, far, y),
                 WEFT_EARG, "weft_reduce_segments", dist_on_gpus() ? "offsets" : "99");
    test_refused(dist_ctx,
                 weft_reduce_segments(dist_ctx, WEFT_SUM, WEFT_I32, 2, x, 0, WEFT_U32, NULL, y),
                 WEFT_EARG, "weft_reduce_segments", "segments");
    const uint32_t begin = 2 * (uint32_t)dist_rank;
    const bool wrong = dist_rank == dist_ranks / 2;
    const uint32_t own[3] = {begin, wrong ? 1000000 : begin + 1, begin + 2};
    test_refused(dist_ctx,
                 weft_reduce_segments(dist_ctx, WEFT_SUM, WEFT_I32, 2, x, 2, WEFT_U32, own, y),
                 wrong ? WEFT_EARG : WEFT_ECOMM, "weft_reduce_segments", "fall");
    assert_true(y[0] == 7 && y[1] == 7);
}

/* All types in turn; on a slow place one. */
static void for_each(uint64_t stream, dist_case *body) {
    dist_for_each(stream, sizes, sizeof sizes / sizeof *sizes, body);
}

void dist_test_group(void **state) {
    (void)state;
    for_each(35, segments_case);
    for_each(39, sort_case);
    for_each(38, exact_segments_case);
    assert_string_equal(weft_used(dist_ctx, "sort_segments"), "ranks");
    test_refusals();
}

/* ---- by key ---- */

/* Runs of equal keys, which may cross several ranks. */
static char *draw_keys(test_random *r, size_t n, size_t width) {
    const size_t longest = draw_longest(r, n);
    char *const keys = malloc(n * width + 1);
    assert_non_null(keys);
    size_t left = 0;
    int key = 0;
    for (size_t i = 0; i < n; i++, left--) {
        if (left == 0) {
            left = 1 + dist_draw(r, longest);
            key = (int)dist_draw(r, 3);
        }
        memset(keys + i * width, key, width);
    }
    return keys;
}

/* The columns of one call: two operations on the same elements. */
typedef struct table {
    size_t width[2];
    weft_column one[2], own[2];
    char *y[2];
    dist_array dy[2];
} table;

static table begin_table(test_random *r, weft_type type, size_t n, const void *x, size_t own_n,
                         const void *dx) {
    table t;
    for (int c = 0; c < 2; c++) {
        const weft_op op = reduce_ops[c == 0 ? dist_draw(r, 3) : 3 + dist_draw(r, 2)];
        t.width[c] = result_size(op, type);
        t.y[c] = malloc(n * 8 + 1);
        assert_non_null(t.y[c]);
        t.dy[c] = dist_take(r, NULL, own_n * t.width[c]);
        t.one[c] = (weft_column){op, type, x, t.y[c]};
        t.own[c] = (weft_column){op, type, dx, t.dy[c].p};
    }
    return t;
}

static void end_table(table *t) {
    for (int c = 0; c < 2; c++) {
        dist_give(&t->dy[c]);
        free(t->y[c]);
    }
}

static void by_key_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    static const size_t widths[] = {1, 2, 3, 4, 8, 12};
    const size_t width = widths[dist_draw(r, 6)], size = test_size_of(type);
    char *const keys = draw_keys(r, n, width), *const keys_out = malloc(n * width + 1);
    char *const x = dist_whole(r, TEST_SMALL, type, n), *const z = malloc(n * size + 1);
    assert_true(keys_out && z);
    uint64_t wanted = 0, count = 0, own;
    const dist_part part = dist_deal(r, shape, n);
    dist_array dk = dist_take(r, keys + part.first * width, part.n * width);
    dist_array dk_out = dist_take(r, NULL, part.n * width);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    table t = begin_table(r, type, n, x, part.n, dx.p);
    dist_ok(dist_one, weft_reduce_by_key(dist_one, n, width, keys, keys_out, 2, t.one, &wanted));
    dist_ok(dist_ctx,
            weft_reduce_by_key(dist_ctx, part.n, width, dk.p, dk_out.p, 2, t.own, &count));
    size_t at = dist_runs_before(&count, wanted, &own);
    dist_expect(&dk_out, keys_out + at * width, own * width, "keys_out");
    for (int c = 0; c < 2; c++)
        dist_expect(&t.dy[c], t.y[c] + at * t.width[c], own * t.width[c],
                    test_op_name(t.one[c].op));
    /* a scan, then the keys in place and no columns, the count where the data is */
    const weft_op op = draw_scan_op(r, type);
    const weft_scan_kind kind = (weft_scan_kind)dist_draw(r, 2);
    dist_ok(dist_one, weft_scan_by_key(dist_one, kind, op, type, n, width, keys, x, z));
    dist_ok(dist_ctx, weft_scan_by_key(dist_ctx, kind, op, type, part.n, width, dk.p, dx.p, dx.p));
    dist_expect(&dx, z + part.first * size, part.n * size, "weft_scan_by_key");
    dist_array dc = dist_take(r, NULL, 8);
    dist_ok(dist_ctx, weft_reduce_by_key(dist_ctx, part.n, width, dk.p, dk.p, 0, NULL, dc.p));
    dist_ok(dist_ctx, weft_copy(dist_ctx, &count, dc.p, 8));
    at = dist_runs_before(&count, wanted, &own);
    dist_expect(&dk, keys_out + at * width, own * width, "keys in place");
    end_table(&t);
    dist_give(&dk), dist_give(&dk_out), dist_give(&dx), dist_give(&dc);
    free(keys), free(keys_out), free(x), free(z);
}

static void exact_by_key_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t width = 1 + dist_draw(r, 4);
    char *const keys = draw_keys(r, n, width), *const keys_out = malloc(n * width + 1);
    char *const x = draw_floats(r, &type, n);
    assert_non_null(keys_out);
    const size_t size = test_size_of(type);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dk = dist_take(r, keys + part.first * width, part.n * width);
    dist_array dk_out = dist_take(r, NULL, part.n * width);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    uint64_t wanted = 0, count = 0, own;
    weft_exact_column one[2], mine[2];
    dist_array dy[2];
    char *y[2];
    for (int c = 0; c < 2; c++) {
        const weft_op op = exact_ops[dist_draw(r, 3)];
        const weft_type result = floats[dist_draw(r, 4)];
        y[c] = malloc(n * 8 + 1);
        assert_non_null(y[c]);
        dy[c] = dist_take(r, NULL, part.n * test_size_of(result));
        one[c] = (weft_exact_column){op, type, x, result, y[c]};
        mine[c] = (weft_exact_column){op, type, dx.p, result, dy[c].p};
    }
    dist_ok(dist_one,
            weft_exact_reduce_by_key(dist_one, n, width, keys, keys_out, 2, one, &wanted));
    dist_ok(dist_ctx,
            weft_exact_reduce_by_key(dist_ctx, part.n, width, dk.p, dk_out.p, 2, mine, &count));
    const size_t at = dist_runs_before(&count, wanted, &own);
    dist_expect(&dk_out, keys_out + at * width, own * width, "keys_out of exact sums");
    for (int c = 0; c < 2; c++) {
        const size_t of_one = test_size_of(one[c].result_type);
        dist_expect(&dy[c], y[c] + at * of_one, own * of_one, "weft_exact_reduce_by_key");
        dist_give(&dy[c]);
        free(y[c]);
    }
    dist_give(&dk), dist_give(&dk_out), dist_give(&dx);
    free(keys), free(keys_out), free(x);
}

/* Sums of parts are not rounded before they are joined: 2^24 and halves of other ranks. */
static void test_rounding(void) {
    const uint8_t key = 1;
    const float x = dist_rank == 0 ? 0x1p24F : 0.5F;
    float y = 0;
    uint64_t count = 0, own = 0;
    const weft_column column = {WEFT_SUM, WEFT_F32, &x, &y};
    dist_ok(dist_ctx, weft_reduce_by_key(dist_ctx, 1, 1, &key, NULL, 1, &column, &count));
    dist_ok(dist_ctx, weft_own_count(dist_ctx, &count, &own));
    assert_true(count == 1 && own == (dist_rank == 0));
    if (own == 1)
        assert_true(y == (float)(0x1p24 + 0.5 * (dist_ranks - 1)));
}

void dist_test_by_key(void **state) {
    (void)state;
    for_each(36, by_key_case);
    for_each(39, exact_by_key_case);
    test_rounding();
}
