/* SPDX-License-Identifier: Apache-2.0 */
/* Rung `rising`: what its blocks of threads take, and in which order; L and failures are those of
 * rung `overlapped`, bit by bit. */
#include "device_case.h"

/* Where among the items each front is, or -1; every item is of one level, and comes after those of
 * the levels before. */
static int32_t *place_fronts(const wi_schedule *s) {
    int32_t *const place = malloc((size_t)s->fronts * sizeof *place + 1);
    int32_t level = 0;
    assert_non_null(place);
    for (int64_t k = 0; k < s->fronts; k++)
        place[k] = -1;
    for (int32_t k = 0; k < s->rises; k++) {
        const wi_rise_item *const item = &s->rise[k];
        const wi_chol_level *const own = &s->level[item->level];
        assert_true(item->level >= level && item->level < s->rising);
        level = item->level;
        assert_int_equal(item->before, level > 0 ? wi_small_fronts(own - 1) : 0);
        assert_true(item->fronts >= 0 && item->fronts <= WI_RISE_WARPS);
        for (int32_t f = item->front; f < item->front + (item->fronts > 0 ? item->fronts : 1);
             f++) {
            assert_true(f >= own->first && f < own->first + wi_small_fronts(own));
            assert_true(s->front[f].height <= (item->fronts > 0 ? WI_FRONT_TINY : WI_FRONT_SMALL));
            assert_int_equal(place[f], -1);
            place[f] = k;
        }
    }
    return place;
}

/* Every front of the first levels is in one item, which comes after those of its children. */
static void check_items(const wi_schedule *s) {
    int32_t *const place = place_fronts(s);
    const int64_t end = s->rising < s->levels ? s->level[s->rising].first : s->fronts;
    for (int64_t k = 0; k < s->fronts; k++) {
        const wi_front_record *const r = &s->front[k];
        assert_int_equal(place[k] >= 0, k < end);
        for (int32_t c = 0; c < r->children && k < end; c++) {
            const int32_t child = s->child[r->child + c];
            assert_true(place[child] >= 0 && place[child] < place[k]);
        }
    }
    free(place);
}

/* Returns how many levels rise. */
static int64_t compare(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan) {
    test_same_factors(ctx, matrix, plan, "overlapped", "rising");
    check_items(&plan->device->schedule);
    return plan->device->schedule.rising;
}

/* Random systems, some of them not positive definite. */
static void systems(weft_context *ctx) {
    static const int smalls[] = {WI_FRONT_SMALL, WI_FRONT_TINY, 8};
    test_random r = test_random_at(11);
    const size_t times = test_times(TEST_CASE_SYSTEMS);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < times; k++) {
        weft_sparse *const matrix =
            test_system_draw(ctx, &r, TEST_CASE_LARGEST, test_below(&r, 3) > 0);
        weft_chol *const plan = test_plan(ctx, matrix, "amd", NULL);
        plan->small = smalls[k % 3];
        compare(ctx, matrix, plan);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* Levels of many fronts, tiny ones and others; of doubles and of floats. */
static void meshes(weft_context *ctx) {
    static const struct {
        const char *generator, *ordering;
        size_t n;
    } cases[] = {{"laplace2d", "amd", 20}, {"laplace2d", "dissect", 17}, {"laplace3d", "amd", 5}};
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int narrow = 0; narrow < 2; narrow++) {
            weft_sparse *const matrix = test_generated(ctx, cases[k].generator, cases[k].n);
            const weft_chol_options options = {.size = sizeof options,
                                               .ordering = cases[k].ordering,
                                               .precision = narrow ? WEFT_PRECISION_MIXED
                                                                   : WEFT_PRECISION_FULL};
            weft_chol *plan;
            test_ok(ctx, weft_chol_analyze(ctx, matrix, &options, &plan));
            assert_true(compare(ctx, matrix, plan) > 1);
            assert_int_equal(plan->narrow, narrow);
            weft_chol_destroy(plan);
            weft_sparse_destroy(matrix);
        }
}

static size_t diagonal_column(const void *user, size_t j, int64_t *row, double *value) {
    (void)user;
    *row = (int64_t)j;
    *value = 1;
    return 1;
}

/* A level of more fronts than that has a launch, and so have those after it. */
static void wide(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    for (int more = 0; more < 2; more++) {
        const wi_made_columns diagonal = {(size_t)WI_RISE_MOST + (size_t)more, 1, diagonal_column,
                                          NULL};
        weft_sparse *matrix;
        test_ok(ctx, wi_generate_columns(ctx, "test", &diagonal, &matrix));
        weft_chol *const plan = test_plan(ctx, matrix, "natural", NULL);
        test_ok(ctx, weft_chol_reserve(ctx, plan, 1));
        assert_int_equal(plan->device->schedule.rising, !more);
        check_items(&plan->device->schedule);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(systems),
        TEST_ON_EACH_PLACE(meshes),
        TEST_ON_EACH_PLACE(wide),
    };
    return cmocka_run_group_tests_name("chol_rising", tests, NULL, NULL);
}
