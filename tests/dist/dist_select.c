/* SPDX-License-Identifier: Apache-2.0 */
/* select and its kin over ranks. */
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 2000};

/* Checks the count of all, and this rank's `own` elements, which follow those of the ranks before
 * in the whole output. Returns where they begin there. */
static size_t own_part(const uint64_t *count, uint64_t total, uint64_t *own) {
    uint64_t before, all;
    assert_int_equal(*count, total);
    dist_ok(dist_ctx, weft_own_count(dist_ctx, count, own));
    if (dist_on_gpus()) {
        assert_int_equal(*own, total);
        return 0;
    }
    dist_ok(dist_ctx, wi_all_counts(dist_ctx, *own, &before, &all));
    assert_int_equal(all, total);
    return (size_t)before;
}

static void select_case(test_random *r, dist_shape shape, size_t n) {
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_I32, .a.i32 = 0};
    int32_t *const x = dist_whole(r, TEST_SMALL, WEFT_I32, n), *const y = malloc(n * 4 + 1);
    uint64_t *const indices = malloc(n * 8 + 1), total = 0, count = 0, own;
    int32_t *const z = malloc(n * 4 + 1);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first, part.n * 4), dy = dist_take(r, NULL, part.n * 4);
    dist_array dz = dist_take(r, NULL, part.n * 4), di = dist_take(r, NULL, part.n * 8);
    dist_ok(dist_one, weft_partition(dist_one, p, n, x, y, z, &total));
    dist_ok(dist_ctx, weft_select(dist_ctx, p, part.n, dx.p, dy.p, &count));
    size_t at = own_part(&count, total, &own);
    dist_expect(&dy, y + at, own * 4, "weft_select");
    dist_ok(dist_ctx, weft_select_count(dist_ctx, p, part.n, dx.p, &count));
    own_part(&count, total, &own);
    dist_ok(dist_one, weft_select_indices(dist_one, p, n, x, WEFT_U64, indices, &total));
    dist_ok(dist_ctx, weft_select_indices(dist_ctx, p, part.n, dx.p, WEFT_U64, di.p, &count));
    at = own_part(&count, total, &own);
    dist_expect(&di, indices + at, own * 8, "weft_select_indices");
    dist_ok(dist_ctx, weft_partition_where(dist_ctx, p, part.n, dx.p, 4, dx.p, dy.p, dz.p, &count));
    at = own_part(&count, total, &own);
    dist_expect(&dy, y + at, own * 4, "weft_partition_where");
    dist_expect(&dz, z + (part.first - at), (part.n - own) * 4, "the rest of weft_partition_where");
    /* in place, and the count where the data is */
    dist_array dc = dist_take(r, NULL, 8);
    dist_ok(dist_ctx, weft_select_where(dist_ctx, p, part.n, dx.p, 4, dx.p, dx.p, dc.p));
    dist_ok(dist_ctx, weft_copy(dist_ctx, &count, dc.p, 8));
    at = own_part(&count, total, &own);
    dist_expect(&dx, y + at, own * 4, "weft_select_where");
    dist_give(&dx), dist_give(&dy), dist_give(&dz), dist_give(&di), dist_give(&dc);
    free(x), free(y), free(z), free(indices);
}

/* x is dealt out in a way of its own, and has fewer or more elements than there are places. */
static void expand_case(test_random *r, dist_shape shape, size_t n) {
    const weft_predicate p = {.test = WEFT_GT, .type = WEFT_I32, .a.i32 = 0};
    const size_t width = 1 + dist_draw(r, 9), m = dist_draw(r, n + 3);
    int32_t *const s = dist_whole(r, TEST_SMALL, WEFT_I32, n);
    char *const x = dist_whole(r, TEST_ANY, WEFT_U8, m * width);
    char *const y = dist_whole(r, TEST_ANY, WEFT_U8, n * width), fill[9] = "a filler";
    const bool fills = dist_draw(r, 2);
    const dist_part part = dist_deal(r, shape, n);
    const dist_part of_x = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), m);
    dist_array ds = dist_take(r, s + part.first, part.n * 4);
    dist_array dx = dist_take(r, x + of_x.first * width, of_x.n * width);
    dist_array dy = dist_take(r, y + part.first * width, part.n * width);
    dist_ok(dist_one, weft_expand(dist_one, p, n, s, width, m, x, fills ? fill : NULL, y));
    dist_ok(dist_ctx,
            weft_expand(dist_ctx, p, part.n, ds.p, width, of_x.n, dx.p, fills ? fill : NULL, dy.p));
    dist_expect(&dy, y + part.first * width, part.n * width, "weft_expand");
    dist_give(&ds), dist_give(&dx), dist_give(&dy);
    free(s), free(x), free(y);
}

void dist_test_select(void **state) {
    (void)state;
    test_random r = test_random_at(6);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k])) {
                select_case(&r, (dist_shape)shape, sizes[k]);
                expand_case(&r, (dist_shape)shape, sizes[k]);
            }
}

/* Runs of up to `longest` elements, so that some cross several ranks. */
static void fill_runs(test_random *r, size_t n, size_t longest, uint16_t *x) {
    size_t left = 0;
    for (size_t i = 0; i < n; i++, left--) {
        if (left == 0)
            left = 1 + dist_draw(r, longest);
        x[i] = i > 0 && left > 1 ? x[i - 1] : (uint16_t)dist_draw(r, 3);
    }
}

static void unique_case(test_random *r, dist_shape shape, size_t n, size_t longest) {
    uint16_t *const x = malloc(n * 2 + 1), *const y = malloc(n * 2 + 1);
    uint32_t *const lengths = malloc(n * 4 + 1);
    uint64_t total = 0, count = 0, own;
    fill_runs(r, n, longest, x);
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first, part.n * 2), dy = dist_take(r, NULL, part.n * 2);
    dist_array dl = dist_take(r, NULL, part.n * 4);
    dist_ok(dist_one, weft_run_length(dist_one, WEFT_U16, n, x, y, WEFT_U32, lengths, &total));
    dist_ok(dist_ctx,
            weft_run_length(dist_ctx, WEFT_U16, part.n, dx.p, dy.p, WEFT_U32, dl.p, &count));
    size_t at = own_part(&count, total, &own);
    dist_expect(&dy, y + at, own * 2, "values of weft_run_length");
    dist_expect(&dl, lengths + at, own * 4, "lengths of weft_run_length");
    dist_ok(dist_ctx, weft_unique(dist_ctx, WEFT_U16, part.n, dx.p, dx.p, &count));
    at = own_part(&count, total, &own);
    dist_expect(&dx, y + at, own * 2, "weft_unique");
    dist_give(&dx), dist_give(&dy), dist_give(&dl);
    free(x), free(y), free(lengths);
}

void dist_test_unique(void **state) {
    (void)state;
    test_random r = test_random_at(7);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k]))
                unique_case(&r, (dist_shape)shape, sizes[k], 1 + sizes[k] / (1 + dist_draw(&r, 4)));
}
