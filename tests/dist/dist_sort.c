/* SPDX-License-Identifier: Apache-2.0 */
/* sort, merge, search and top_k over ranks. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 6, 65, 400, 2500};
static const test_pattern patterns[] = {TEST_ANY, TEST_TIES, TEST_EQUAL, TEST_NANS};

static void for_each(uint64_t stream, dist_case *body) {
    dist_for_each(stream, sizes, sizeof sizes / sizeof *sizes, body);
}

/* Values of three bytes, each another number. */
static unsigned char *number_values(size_t n) {
    unsigned char *const values = malloc(3 * n + 1);
    for (size_t i = 0; i < n; i++) {
        values[3 * i] = (unsigned char)i;
        values[3 * i + 1] = (unsigned char)(i >> 8);
        values[3 * i + 2] = (unsigned char)(i >> 16);
    }
    return values;
}

static void sort_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type);
    const weft_order order = (weft_order)dist_draw(r, 2);
    const unsigned end = (unsigned)dist_draw(r, 8 * size + 1),
                   first = (unsigned)dist_draw(r, end + 1);
    char *const x = dist_whole(r, patterns[dist_draw(r, 4)], type, n);
    char *const y = malloc(n * size + 1);
    unsigned char *const values = number_values(n), *const moved = malloc(3 * n + 1);
    uint32_t *const indices = malloc(4 * n + 1);
    const dist_part part = dist_deal(r, shape, n);
    const size_t at = part.first * size, bytes = part.n * size;
    dist_array dx = dist_take(r, x + at, bytes), dy = dist_take(r, NULL, bytes);
    dist_array dv = dist_take(r, values + 3 * part.first, 3 * part.n);
    dist_array dm = dist_take(r, NULL, 3 * part.n), di = dist_take(r, NULL, 4 * part.n);
    dist_ok(dist_one, weft_sort_pairs(dist_one, order, type, n, x, y, 3, values, moved));
    dist_ok(dist_ctx, weft_sort(dist_ctx, order, type, part.n, dx.p, dy.p));
    dist_expect(&dy, y + at, bytes, "weft_sort");
    dist_ok(dist_ctx, weft_sort_pairs(dist_ctx, order, type, part.n, dx.p, dy.p, 3, dv.p, dm.p));
    dist_expect(&dy, y + at, bytes, "keys of weft_sort_pairs");
    dist_expect(&dm, moved + 3 * part.first, 3 * part.n, "values of weft_sort_pairs");
    dist_ok(dist_one, weft_sort_indices(dist_one, order, type, n, x, WEFT_U32, indices));
    dist_ok(dist_ctx, weft_sort_indices(dist_ctx, order, type, part.n, dx.p, WEFT_U32, di.p));
    dist_expect(&di, indices + part.first, 4 * part.n, "weft_sort_indices");
    dist_expect(&dx, x + at, bytes, "the input of weft_sort_indices");
    dist_ok(dist_one, weft_sort_bits(dist_one, order, type, first, end, n, x, y, 3, values, moved));
    dist_ok(dist_ctx,
            weft_sort_bits(dist_ctx, order, type, first, end, part.n, dx.p, dx.p, 3, dv.p, dv.p));
    dist_expect(&dx, y + at, bytes, "keys of weft_sort_bits");
    dist_expect(&dv, moved + 3 * part.first, 3 * part.n, "values of weft_sort_bits");
    dist_give(&dx), dist_give(&dy), dist_give(&dv), dist_give(&dm), dist_give(&di);
    free(x), free(y), free(values), free(moved), free(indices);
}

void dist_test_sort(void **state) {
    (void)state;
    for_each(8, sort_case);
    assert_string_equal(weft_used(dist_ctx, "sort"), "ranks");
}

/* ---- merge ---- */

static void merge_case(test_random *r, dist_shape shape, size_t na, weft_type type) {
    const size_t size = test_size_of(type), nb = dist_draw(r, na + 3), n = na + nb;
    const weft_order order = (weft_order)dist_draw(r, 2);
    const test_pattern pattern = patterns[dist_draw(r, 4)];
    char *const a = dist_whole(r, pattern, type, na), *const b = dist_whole(r, pattern, type, nb);
    char *const y = malloc(n * size + 1);
    unsigned char *const values = number_values(n), *const moved = malloc(3 * n + 1);
    dist_ok(dist_one, weft_sort(dist_one, order, type, na, a, a));
    dist_ok(dist_one, weft_sort(dist_one, order, type, nb, b, b));
    const dist_part pa = dist_deal(r, shape, na),
                    pb = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), nb);
    const size_t own = pa.n + pb.n, first = pa.first + pb.first;
    dist_array da = dist_take(r, a + pa.first * size, pa.n * size);
    dist_array db = dist_take(r, b + pb.first * size, pb.n * size);
    dist_array dva = dist_take(r, values + 3 * pa.first, 3 * pa.n);
    dist_array dvb = dist_take(r, values + 3 * (na + pb.first), 3 * pb.n);
    dist_array dy = dist_take(r, NULL, own * size), dm = dist_take(r, NULL, 3 * own);
    dist_ok(dist_one,
            weft_merge(dist_one, order, type, na, a, nb, b, y, 3, values, values + 3 * na, moved));
    dist_ok(dist_ctx,
            weft_merge(dist_ctx, order, type, pa.n, da.p, pb.n, db.p, dy.p, 3, dva.p, dvb.p, dm.p));
    dist_expect(&dy, y + first * size, own * size, "keys of weft_merge");
    dist_expect(&dm, moved + 3 * first, 3 * own, "values of weft_merge");
    dist_give(&da), dist_give(&db), dist_give(&dva), dist_give(&dvb), dist_give(&dy);
    dist_give(&dm);
    free(a), free(b), free(y), free(values), free(moved);
}

/* Arrays that are not in order: any answer, but no crash, no hang, and the same kind of status. */
static void test_disorder(void) {
    test_random r = test_random_at(99);
    uint32_t a[50], b[30], y[80];
    for (int turn = 0; turn < 10; turn++) {
        test_fill(&r, TEST_ANY, WEFT_U32, 50, a);
        test_fill(&r, TEST_ANY, WEFT_U32, 30, b);
        const weft_status status =
            weft_merge(dist_ctx, WEFT_ASCENDING, WEFT_U32, 50, a, 30, b, y, 0, NULL, NULL, NULL);
        assert_true(status == WEFT_OK || status == WEFT_EARG || status == WEFT_ECOMM);
    }
}

void dist_test_merge(void **state) {
    (void)state;
    for_each(9, merge_case);
    test_disorder();
}

/* ---- search, is_sorted ---- */

static void search_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type), m = dist_draw(r, 2 * n + 3);
    const weft_order order = (weft_order)dist_draw(r, 2);
    const weft_bound bound = (weft_bound)dist_draw(r, 2);
    const test_pattern pattern = patterns[dist_draw(r, 4)];
    char *const x = dist_whole(r, pattern, type, n), *const w = dist_whole(r, pattern, type, m);
    uint64_t *const positions = malloc(8 * m + 1), fall = 0, wanted_fall = 0;
    const dist_part px = dist_deal(r, shape, n),
                    pw = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), m);
    dist_array dx = dist_take(r, x + px.first * size, px.n * size);
    dist_array dw = dist_take(r, w + pw.first * size, pw.n * size);
    dist_array dp = dist_take(r, NULL, 8 * pw.n);
    dist_ok(dist_one, weft_is_sorted(dist_one, order, type, n, x, &wanted_fall));
    dist_ok(dist_ctx, weft_is_sorted(dist_ctx, order, type, px.n, dx.p, &fall));
    assert_int_equal(fall, wanted_fall);
    dist_ok(dist_ctx, weft_sort(dist_ctx, order, type, px.n, dx.p, dx.p));
    dist_ok(dist_ctx, weft_is_sorted(dist_ctx, order, type, px.n, dx.p, &fall));
    assert_true(fall == WEFT_NOWHERE);
    dist_ok(dist_one, weft_sort(dist_one, order, type, n, x, x));
    dist_ok(dist_one, weft_search(dist_one, bound, order, type, n, x, m, w, positions));
    dist_ok(dist_ctx, weft_search(dist_ctx, bound, order, type, px.n, dx.p, pw.n, dw.p, dp.p));
    dist_expect(&dp, positions + pw.first, 8 * pw.n, "weft_search");
    dist_give(&dx), dist_give(&dw), dist_give(&dp);
    free(x), free(w), free(positions);
}

void dist_test_search(void **state) {
    (void)state;
    for_each(10, search_case);
}

/* ---- top_k ---- */

static void top_k_case(test_random *r, dist_shape shape, size_t n, weft_type type) {
    const size_t size = test_size_of(type), k = dist_draw(r, n + 1);
    const weft_order order = (weft_order)dist_draw(r, 2);
    char *const x = dist_whole(r, patterns[dist_draw(r, 4)], type, n);
    char *const values = malloc(k * size + 1), *const more = malloc((n + 1) * size);
    uint64_t *const positions = malloc(8 * k + 1);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * size, part.n * size);
    dist_array dv = dist_take(r, NULL, k * size), dp = dist_take(r, NULL, 8 * k);
    const bool both = dist_draw(r, 2);
    dist_ok(dist_one, weft_top_k(dist_one, order, type, n, x, k, values, positions));
    dist_ok(dist_ctx, weft_top_k(dist_ctx, order, type, part.n, dx.p, k, both ? dv.p : NULL, dp.p));
    dist_expect(&dp, positions, 8 * k, "positions of weft_top_k");
    if (both)
        dist_expect(&dv, values, k * size, "values of weft_top_k");
    /* more than there are */
    test_refused(dist_ctx, weft_top_k(dist_ctx, order, type, part.n, dx.p, n + 1, more, NULL),
                 WEFT_EARG, "weft_top_k", "k");
    dist_give(&dx), dist_give(&dv), dist_give(&dp);
    free(x), free(values), free(positions), free(more);
}

void dist_test_top_k(void **state) {
    (void)state;
    for_each(11, top_k_case);
}
