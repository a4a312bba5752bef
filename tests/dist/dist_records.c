/* SPDX-License-Identifier: Apache-2.0 */
/* Records over ranks: sort, merge, runs and bounds give the bytes of one place. */
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 2000};

enum {
    RECORD = 7, /* a key of two bytes, another of one, and four bytes that are not compared */
    FIELDS = 2
};

static const weft_field fields[FIELDS] = {{4, WEFT_I16, WEFT_DESCENDING},
                                          {1, WEFT_U8, WEFT_ASCENDING}};

/* n records in order, of about `values` different ones. */
static char *draw_records(test_random *r, size_t n, size_t values) {
    char *const x = dist_whole(r, TEST_ANY, WEFT_U8, n * RECORD + RECORD);
    for (size_t i = 0; i < n; i++) {
        const uint16_t key = (uint16_t)dist_draw(r, values);
        memcpy(x + i * RECORD + 4, &key, 2);
        x[i * RECORD + 1] = (char)dist_draw(r, 2);
    }
    dist_ok(dist_one, weft_sort_records(dist_one, n, RECORD, x, x, fields, FIELDS));
    return x;
}

static void runs_case(test_random *r, dist_shape shape, size_t n, size_t values) {
    char *const x = draw_records(r, n, values), *const out = malloc(n * RECORD + 1);
    uint32_t *const lengths = malloc(n * 4 + 1);
    assert_true(out && lengths);
    uint64_t wanted = 0, count = 0, own;
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * RECORD, part.n * RECORD);
    dist_array d_out = dist_take(r, NULL, part.n * RECORD), dl = dist_take(r, NULL, part.n * 4);
    dist_ok(dist_one, weft_run_length_records(dist_one, n, RECORD, x, out, fields, FIELDS, WEFT_U32,
                                              lengths, &wanted));
    dist_ok(dist_ctx, weft_run_length_records(dist_ctx, part.n, RECORD, dx.p, d_out.p, fields,
                                              FIELDS, WEFT_U32, dl.p, &count));
    size_t at = dist_runs_before(&count, wanted, &own);
    dist_expect(&d_out, out + at * RECORD, own * RECORD, "weft_run_length_records");
    dist_expect(&dl, lengths + at, own * 4, "lengths");
    dist_give(&d_out);
    d_out = dist_take(r, NULL, part.n * RECORD);
    dist_ok(dist_ctx,
            weft_unique_records(dist_ctx, part.n, RECORD, dx.p, d_out.p, fields, FIELDS, &count));
    at = dist_runs_before(&count, wanted, &own);
    dist_expect(&d_out, out + at * RECORD, own * RECORD, "weft_unique_records");
    dist_give(&dx), dist_give(&d_out), dist_give(&dl);
    free(x), free(out), free(lengths);
}

static void search_case(test_random *r, dist_shape shape, size_t n, size_t values) {
    const size_t m = dist_draw(r, 2 * n + 3);
    char *const x = draw_records(r, n, values), *const wanted = draw_records(r, m, values + 2);
    uint64_t *const positions = malloc(m * 8 + 1);
    assert_non_null(positions);
    const dist_part part = dist_deal(r, shape, n), of_m = dist_deal(r, DIST_UNEVEN, m);
    dist_array dx = dist_take(r, x + part.first * RECORD, part.n * RECORD);
    dist_array dw = dist_take(r, wanted + of_m.first * RECORD, of_m.n * RECORD);
    for (int bound = WEFT_LOWER; bound <= WEFT_UPPER; bound++) {
        dist_array dp = dist_take(r, NULL, of_m.n * 8);
        dist_ok(dist_one, weft_search_records(dist_one, (weft_bound)bound, n, RECORD, x, m, wanted,
                                              fields, FIELDS, positions));
        dist_ok(dist_ctx, weft_search_records(dist_ctx, (weft_bound)bound, part.n, RECORD, dx.p,
                                              of_m.n, dw.p, fields, FIELDS, dp.p));
        dist_expect(&dp, positions + of_m.first, of_m.n * 8, "weft_search_records");
        dist_give(&dp);
    }
    dist_give(&dx), dist_give(&dw);
    free(x), free(wanted), free(positions);
}

/* Bytes that are in no field tell whether the sort is stable. */
static void sort_case(test_random *r, dist_shape shape, size_t n, size_t values) {
    char *const x = dist_whole(r, TEST_ANY, WEFT_U8, n * RECORD + RECORD);
    char *const sorted = malloc(n * RECORD + 1);
    uint64_t *const indices = malloc(n * 8 + 1);
    assert_true(sorted && indices);
    for (size_t i = 0; i < n; i++) {
        const uint16_t key = (uint16_t)dist_draw(r, values);
        memcpy(x + i * RECORD + 4, &key, 2);
        x[i * RECORD + 1] = (char)dist_draw(r, 2);
    }
    const dist_part part = dist_deal(r, shape, n);
    dist_array dx = dist_take(r, x + part.first * RECORD, part.n * RECORD);
    dist_array di = dist_take(r, NULL, part.n * 8);
    dist_ok(dist_one,
            weft_sort_records_indices(dist_one, n, RECORD, x, fields, FIELDS, WEFT_U64, indices));
    dist_ok(dist_ctx, weft_sort_records_indices(dist_ctx, part.n, RECORD, dx.p, fields, FIELDS,
                                                WEFT_U64, di.p));
    dist_expect(&di, indices + part.first, part.n * 8, "weft_sort_records_indices");
    dist_ok(dist_one, weft_sort_records(dist_one, n, RECORD, x, sorted, fields, FIELDS));
    dist_ok(dist_ctx, weft_sort_records(dist_ctx, part.n, RECORD, dx.p, dx.p, fields, FIELDS));
    dist_expect(&dx, sorted + part.first * RECORD, part.n * RECORD, "weft_sort_records");
    dist_give(&dx), dist_give(&di);
    free(x), free(sorted), free(indices);
}

static void merge_case(test_random *r, dist_shape shape, size_t n, size_t values) {
    const size_t nb = dist_draw(r, n + 3);
    char *const a = draw_records(r, n, values), *const b = draw_records(r, nb, values);
    char *const out = malloc((n + nb) * RECORD + 1);
    assert_non_null(out);
    const dist_part of_a = dist_deal(r, shape, n),
                    of_b = dist_deal(r, (dist_shape)dist_draw(r, DIST_SHAPES), nb);
    dist_array da = dist_take(r, a + of_a.first * RECORD, of_a.n * RECORD);
    dist_array db = dist_take(r, b + of_b.first * RECORD, of_b.n * RECORD);
    dist_array d_out = dist_take(r, NULL, (of_a.n + of_b.n) * RECORD);
    dist_ok(dist_one, weft_merge_records(dist_one, RECORD, n, a, nb, b, out, fields, FIELDS));
    dist_ok(dist_ctx, weft_merge_records(dist_ctx, RECORD, of_a.n, da.p, of_b.n, db.p, d_out.p,
                                         fields, FIELDS));
    dist_expect(&d_out, out + (of_a.first + of_b.first) * RECORD, (of_a.n + of_b.n) * RECORD,
                "weft_merge_records");
    dist_give(&da), dist_give(&db), dist_give(&d_out);
    free(a), free(b), free(out);
}

/* Arrays that are not in order: the call ends, and writes nothing behind `out`. */
static void test_disorder(test_random *r) {
    enum {
        N = 90
    };
    char *const a = dist_whole(r, TEST_ANY, WEFT_U8, (size_t)N * RECORD), *const b = dist_whole(
                                                                              r, TEST_ANY, WEFT_U8,
                                                                              (size_t)N * RECORD);
    dist_array out = dist_take(r, NULL, (size_t)2 * N * RECORD);
    const weft_status status =
        weft_merge_records(dist_ctx, RECORD, N, a, N, b, out.p, fields, FIELDS);
    assert_true(status == WEFT_OK || status == WEFT_EARG || status == WEFT_ECOMM);
    if (status != WEFT_OK)
        assert_non_null(strstr(weft_message(dist_ctx), "not in order"));
    dist_expect(&out, NULL, 0, "weft_merge_records");
    dist_give(&out);
    free(a), free(b);
}

void dist_test_records(void **state) {
    (void)state;
    static const size_t values[] = {1, 3, 60};
    test_random r = test_random_at(37);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k])) {
                runs_case(&r, (dist_shape)shape, sizes[k], values[dist_draw(&r, 3)]);
                search_case(&r, (dist_shape)shape, sizes[k], values[dist_draw(&r, 3)]);
                sort_case(&r, (dist_shape)shape, sizes[k], values[dist_draw(&r, 3)]);
                merge_case(&r, (dist_shape)shape, sizes[k], values[dist_draw(&r, 3)]);
            }
    test_disorder(&r);
}
