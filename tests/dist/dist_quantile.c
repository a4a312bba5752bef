/* SPDX-License-Identifier: Apache-2.0 */
/* quantile over ranks: the bits of one place, on all ranks. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"

static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 5000};

enum {
    MOST = 19 /* wanted at once: more than one group of searches */
};

static void nth_case(test_random *r, const void *x, const dist_array *dx, size_t n, size_t own,
                     weft_type type) {
    uint64_t ranks[MOST];
    const size_t size = test_size_of(type), m = n > 0 ? dist_draw(r, MOST + 1) : 0;
    unsigned char wanted[MOST * 8];
    for (size_t j = 0; j < m; j++)
        ranks[j] = j == 0 ? n - 1 : dist_draw(r, n);
    dist_array values = dist_take(r, NULL, m * size);
    dist_ok(dist_one, weft_nth(dist_one, type, n, x, m, ranks, wanted));
    dist_ok(dist_ctx, weft_nth(dist_ctx, type, own, dx->p, m, ranks, values.p));
    dist_expect(&values, wanted, m * size, "weft_nth");
    dist_give(&values);
}

static void quantile_case(test_random *r, const void *x, const dist_array *dx, size_t n, size_t own,
                          weft_type type) {
    double q[MOST], wanted[MOST], median;
    const size_t m = 1 + dist_draw(r, MOST);
    const weft_quantile_rule rule = (weft_quantile_rule)dist_draw(r, WEFT_MIDPOINT + 1);
    for (size_t j = 0; j < m; j++)
        q[j] = j < 2 ? (double)j : (double)dist_draw(r, 1001) / 1000;
    dist_array got = dist_take(r, NULL, m * sizeof(double));
    dist_ok(dist_one, weft_quantiles(dist_one, rule, type, n, x, m, q, wanted));
    dist_ok(dist_ctx, weft_quantiles(dist_ctx, rule, type, own, dx->p, m, q, got.p));
    dist_expect(&got, wanted, m * sizeof(double), "weft_quantiles");
    dist_ok(dist_one, weft_median(dist_one, type, n, x, wanted));
    dist_ok(dist_ctx, weft_median(dist_ctx, type, own, dx->p, &median));
    assert_memory_equal(wanted, &median, sizeof median);
    dist_give(&got);
}

static void both_cases(test_random *r, dist_shape shape, size_t n) {
    static const test_pattern patterns[] = {TEST_ANY, TEST_SMALL, TEST_NANS};
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        const size_t size = test_size_of((weft_type)type);
        if (dist_ctx->gpu && dist_draw(r, 3) > 0) /* slow: some types in each run */
            continue;
        char *const x = dist_whole(r, patterns[dist_draw(r, 3)], (weft_type)type, n);
        const dist_part part = dist_deal(r, shape, n);
        dist_array dx = dist_take(r, x + part.first * size, part.n * size);
        nth_case(r, x, &dx, n, part.n, (weft_type)type);
        quantile_case(r, x, &dx, n, part.n, (weft_type)type);
        dist_give(&dx);
        free(x);
    }
}

/* What is wanted must be the same on all ranks, and be there. */
static void test_refusals(void) {
    const float x[2] = {1, 2};
    const double q = 2;
    float y = 0;
    double z = 0;
    const uint64_t far = (uint64_t)2 * (uint64_t)dist_ranks;
    test_refused(dist_ctx, weft_nth(dist_ctx, WEFT_F32, 2, x, 1, &far, &y), WEFT_EARG, "weft_nth",
                 "ranks[0]");
    test_refused(dist_ctx, weft_quantiles(dist_ctx, WEFT_LINEAR, WEFT_F32, 2, x, 1, &q, &z),
                 WEFT_EARG, "weft_quantiles", "q[0]");
    assert_true(y == 0 && z == 0);
    const uint64_t last = far - 1;
    dist_ok(dist_ctx, weft_nth(dist_ctx, WEFT_F32, 2, x, 1, &last, &y));
    assert_true(y == 2);
}

void dist_test_quantile(void **state) {
    (void)state;
    test_random r = test_random_at(31);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k]))
                both_cases(&r, (dist_shape)shape, sizes[k]);
    test_refusals();
}
