/* SPDX-License-Identifier: Apache-2.0 */
/* gather, scatter and columns of tables over ranks: the bytes of one place. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 2000};
static const size_t widths[] = {1, 2, 3, 4, 8, 16, 20};
static const weft_type index_types[] = {WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};

enum {
    WIDTHS = sizeof widths / sizeof *widths,
    PARTS = 3 /* arrays of one call */
};

static size_t draw_width(test_random *r) {
    return widths[dist_draw(r, WIDTHS)];
}

static void put_index(weft_type type, void *index, size_t i, uint64_t value) {
    const uint32_t narrow = (uint32_t)value;
    if (test_size_of(type) == 4)
        memcpy((char *)index + 4 * i, &narrow, 4);
    else
        memcpy((char *)index + 8 * i, &value, 8);
}

/* n indices of m elements; with `wild` some are out of range. */
static void *draw_indices(test_random *r, weft_type type, size_t n, size_t m, bool wild) {
    void *const index = malloc(n * 8 + 1);
    assert_non_null(index);
    for (size_t i = 0; i < n; i++) {
        const bool out = m == 0 || (wild && dist_draw(r, 9) == 0);
        put_index(type, index, i, out ? (dist_draw(r, 2) ? m : UINT64_MAX) : dist_draw(r, m));
    }
    return index;
}

/* All the arrays of one call, whole and this rank's. */
typedef struct moving {
    weft_type type;
    size_t n, m, width[PARTS];
    dist_part of_n, of_m;
    void *index, *x[PARTS], *y[PARTS];
    dist_array d_index, dx[PARTS], dy[PARTS];
} moving;

static moving begin_moving(test_random *r, dist_shape shape, size_t n, size_t m, bool wild,
                           bool scatters) {
    moving v = {.type = index_types[dist_draw(r, 4)], .n = n, .m = m};
    const size_t size = test_size_of(v.type);
    v.of_n = dist_deal(r, shape, n);
    v.of_m = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), m);
    v.index = draw_indices(r, v.type, n, m, wild);
    v.d_index = dist_take(r, (char *)v.index + v.of_n.first * size, v.of_n.n * size);
    const dist_part of_x = scatters ? v.of_n : v.of_m, of_y = scatters ? v.of_m : v.of_n;
    for (int f = 0; f < PARTS; f++) {
        const size_t w = v.width[f] = draw_width(r);
        v.x[f] = dist_whole(r, TEST_ANY, WEFT_U8, (scatters ? n : m) * w);
        v.y[f] = dist_whole(r, TEST_ANY, WEFT_U8, (scatters ? m : n) * w);
        v.dx[f] = dist_take(r, (char *)v.x[f] + of_x.first * w, of_x.n * w);
        v.dy[f] = dist_take(r, (char *)v.y[f] + of_y.first * w, of_y.n * w);
    }
    return v;
}

static void expect_moved(const moving *v, int f, size_t first, const char *what) {
    dist_expect(&v->dy[f], (char *)v->y[f] + first * v->width[f], v->dy[f].bytes, what);
}

static void end_moving(moving *v) {
    for (int f = 0; f < PARTS; f++) {
        dist_give(&v->dx[f]), dist_give(&v->dy[f]);
        free(v->x[f]), free(v->y[f]);
    }
    dist_give(&v->d_index);
    free(v->index);
}

static void gather_case(test_random *r, dist_shape shape, size_t n, size_t m) {
    const bool wild = m == 0 || dist_draw(r, 2);
    moving v = begin_moving(r, shape, n, m, wild, false);
    uint64_t wanted = 0, got = 0;
    weft_gathered one[PARTS], own[PARTS];
    for (int f = 0; f < PARTS; f++) {
        one[f] = (weft_gathered){v.width[f], v.x[f], v.y[f]};
        own[f] = (weft_gathered){v.width[f], v.dx[f].p, v.dy[f].p};
    }
    dist_ok(dist_one, weft_gather(dist_one, n, v.width[0], v.type, v.index, m, v.x[0], v.y[0],
                                  wild ? &wanted : NULL));
    dist_ok(dist_ctx, weft_gather(dist_ctx, v.of_n.n, v.width[0], v.type, v.d_index.p, v.of_m.n,
                                  v.dx[0].p, v.dy[0].p, wild ? &got : NULL));
    assert_true(got == wanted);
    expect_moved(&v, 0, v.of_n.first, "weft_gather");
    dist_ok(dist_one,
            weft_gather_arrays(dist_one, n, v.type, v.index, m, PARTS, one, wild ? &wanted : NULL));
    dist_ok(dist_ctx, weft_gather_arrays(dist_ctx, v.of_n.n, v.type, v.d_index.p, v.of_m.n, PARTS,
                                         own, wild ? &got : NULL));
    assert_true(got == wanted);
    for (int f = 0; f < PARTS; f++)
        expect_moved(&v, f, v.of_n.first, "weft_gather_arrays");
    end_moving(&v);
}

/* Many indices are the same: the last element stays, as in a loop. */
static void scatter_case(test_random *r, dist_shape shape, size_t n, size_t m) {
    const bool wild = m == 0 || dist_draw(r, 2);
    moving v = begin_moving(r, shape, n, m, wild, true);
    uint64_t wanted = 0, got = 0;
    dist_ok(dist_one, weft_scatter(dist_one, n, v.width[0], v.x[0], v.type, v.index,
                                   WEFT_REPEATS_LAST, m, v.y[0], wild ? &wanted : NULL));
    dist_ok(dist_ctx, weft_scatter(dist_ctx, v.of_n.n, v.width[0], v.dx[0].p, v.type, v.d_index.p,
                                   WEFT_REPEATS_LAST, v.of_m.n, v.dy[0].p, wild ? &got : NULL));
    assert_true(got == wanted);
    expect_moved(&v, 0, v.of_m.first, "weft_scatter");
    end_moving(&v);
}

/* An index that is out of range on one rank, and nothing is written on any. */
static void test_refusals(void) {
    const bool wrong = dist_rank == dist_ranks / 2;
    const uint32_t index[2] = {0, wrong ? 2 * (uint32_t)dist_ranks : 1};
    const uint16_t x[2] = {5, 6};
    uint16_t y[2] = {8, 8}, z[2] = {9, 9};
    const weft_status own = wrong ? WEFT_EARG : WEFT_ECOMM;
    test_refused(dist_ctx, weft_gather(dist_ctx, 2, 2, WEFT_U32, index, 2, x, y, NULL), own,
                 "weft_gather", "index[1]");
    test_refused(dist_ctx,
                 weft_scatter(dist_ctx, 2, 2, x, WEFT_U32, index, WEFT_REPEATS_ANY, 2, z, NULL),
                 own, "weft_scatter", "index[1]");
    test_refused(dist_ctx, weft_gather(dist_ctx, 2, wrong ? 0 : 2, WEFT_U32, index, 2, x, y, NULL),
                 own, "weft_gather", "width");
    assert_true(y[0] == 8 && y[1] == 8 && z[0] == 9 && z[1] == 9);
}

void dist_test_gather(void **state) {
    (void)state;
    test_random r = test_random_at(33);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k])) {
                gather_case(&r, (dist_shape)shape, sizes[k], dist_draw(&r, 2 * sizes[k] + 2));
                scatter_case(&r, (dist_shape)shape, sizes[k], dist_draw(&r, 2 * sizes[k] + 2));
            }
    test_refusals();
}

/* ---- columns ---- */

static void columns_case(test_random *r, dist_shape shape, size_t n) {
    enum {
        RECORD = 11
    };
    char *const records = dist_whole(r, TEST_ANY, WEFT_U8, n * RECORD);
    char *const a = malloc(n * 4 + 1), *const b = malloc(n * 3 + 1);
    const dist_part part = dist_deal(r, shape, n);
    dist_array d = dist_take(r, records + part.first * RECORD, part.n * RECORD);
    dist_array da = dist_take(r, NULL, part.n * 4), db = dist_take(r, NULL, part.n * 3);
    weft_table_column one[2] = {{7, 4, a}, {1, 3, b}}, own[2] = {{7, 4, da.p}, {1, 3, db.p}};
    dist_ok(dist_one, weft_take_columns(dist_one, n, RECORD, records, 2, one));
    dist_ok(dist_ctx, weft_take_columns(dist_ctx, part.n, RECORD, d.p, 2, own));
    dist_expect(&da, a + part.first * 4, part.n * 4, "weft_take_columns");
    dist_expect(&db, b + part.first * 3, part.n * 3, "weft_take_columns");
    one[0].offset = own[0].offset = 0;
    one[1].offset = own[1].offset = 6;
    dist_ok(dist_one, weft_put_columns(dist_one, n, RECORD, records, 2, one));
    dist_ok(dist_ctx, weft_put_columns(dist_ctx, part.n, RECORD, d.p, 2, own));
    dist_expect(&d, records + part.first * RECORD, part.n * RECORD, "weft_put_columns");
    dist_give(&d), dist_give(&da), dist_give(&db);
    free(records), free(a), free(b);
}

void dist_test_columns(void **state) {
    (void)state;
    test_random r = test_random_at(34);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k]))
                columns_case(&r, (dist_shape)shape, sizes[k]);
}
