/* SPDX-License-Identifier: Apache-2.0 */
/* Rung `clusters`: which fronts of a level are middle ones; L and failures are those of rung
 * `overlapped`, bit by bit. */
#include "core/gpu.h"
#include "device_case.h"
#include "limits.h"

/* Is there a rung that has clusters on this place? */
static bool has_clusters(weft_context *ctx) {
#if defined(WEFT_CUDA) && WEFT_LADDER
    return ctx->kind == WI_CUDA && ctx->gpu->capability >= 90 &&
           ctx->gpu->shared_optin >= WI_CLUSTER_SHARED;
#else
    (void)ctx;
    return false;
#endif
}

/* The middle fronts of a level are its last, each once, those for large clusters first. Returns how
 * many there are. */
static int32_t check_level(const wi_schedule *s, const wi_chol_level *level) {
    const int32_t middle = wi_middle_fronts(level);
    const int32_t end = level->first + wi_small_fronts(level) + level->large;
    const int32_t *number = s->list + level->middle_at;
    for (int cluster = WI_MIDDLE_CLASSES - 1; cluster >= 0; cluster--)
        for (int32_t k = 0; k < level->middle[cluster]; k++, number++) {
            assert_true(*number >= end - middle && *number < end);
            assert_true(k == 0 || number[-1] < *number);
            const wi_front_record *const r = &s->front[*number];
            assert_true(r->height <= WI_MIDDLE_ROWS << (cluster + 1));
            assert_true(cluster == 0 || r->height > WI_MIDDLE_ROWS << cluster);
            assert_int_equal(wi_flow_columns(r->columns, s->flow_from), 0);
        }
    if (middle < level->large) { /* the one before them is none */
        const wi_front_record *const r = &s->front[end - middle - 1];
        assert_true(!wi_fits_cluster(r->height, r->columns, s->flow_from));
    }
    return middle;
}

/* Returns how many fronts are middle ones. */
static int32_t compare(weft_context *ctx, const weft_sparse *matrix, weft_chol *plan) {
    int32_t middle = 0;
    test_same_factors(ctx, matrix, plan, "overlapped", "clusters");
    const wi_schedule *const s = &plan->device->schedule;
    for (int64_t k = 0; k < s->levels; k++)
        middle += check_level(s, &s->level[k]);
    return middle;
}

/* Random systems, some of them not positive definite. */
static void systems(weft_context *ctx) {
    static const int smalls[] = {0, 8, WI_FRONT_TINY};
    test_random r = test_random_at(12);
    const size_t times = test_times(TEST_CASE_SYSTEMS);
    if (!has_clusters(ctx))
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

/* Levels of small, middle and large fronts. */
static void meshes(weft_context *ctx) {
    static const struct {
        const char *generator;
        size_t n;
        int small;
    } cases[] = {{"laplace2d", 24, WI_FRONT_TINY}, {"laplace3d", 7, WI_FRONT_SMALL}};
    if (!has_clusters(ctx))
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        weft_sparse *const matrix = test_generated(ctx, cases[k].generator, cases[k].n);
        weft_chol *const plan = test_plan(ctx, matrix, "amd", NULL);
        plan->small = cases[k].small;
        assert_true(compare(ctx, matrix, plan) > 0);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* Two dense leaves below a dense front of so many columns; the pivot of one of them may be none. */
typedef struct leaves {
    size_t leaf, above, bad;
} leaves;

static size_t leaves_column(const void *user, size_t j, int64_t *row, double *value) {
    const leaves *const l = user;
    const size_t n = 2 * l->leaf + l->above, end = j < l->leaf ? l->leaf : 2 * l->leaf;
    size_t count = 0;
    for (size_t i = j; i < n; i = i + 1 == end && j < end ? 2 * l->leaf : i + 1) {
        row[count] = (int64_t)i;
        value[count++] =
            i == j ? (i == l->bad ? -1 : (double)n) : 1 / (double)(1 + (3 * i + j) % 11);
    }
    return count;
}

/* How many columns a front has that the kernel of dense Cholesky factors: such a front is none. */
static void draw_flow(test_random *r) {
#ifdef WEFT_EMU
    wi_chol_flow_least = test_below(r, 2) ? 512 : 64 * (1 + (int)test_below(r, 4));
#else
    (void)r;
#endif
}

/* Fronts for clusters of each size, of one panel and of several; and of a row more than fit. */
static void sizes(weft_context *ctx) {
    static const leaves cases[] = {
        {10, 55, 500}, {20, 108, 30},  {70, 59, 500},  {64, 70, 10},  {6, 140, 100}, {64, 194, 500},
#ifndef WEFT_EMU /* it would take minutes */
        {5, 251, 200}, {65, 300, 500}, {40, 472, 600}, {40, 473, 700}
#endif
    };
    test_random r = test_random_at(13);
    if (!has_clusters(ctx))
        return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const leaves *const c = &cases[k];
        const size_t n = 2 * c->leaf + c->above;
        const wi_made_columns columns = {n, n, leaves_column, c};
        weft_sparse *matrix;
        if (n > 300 && !test_largest_wanted())
            continue;
        draw_flow(&r);
        test_ok(ctx, wi_generate_columns(ctx, "test", &columns, &matrix));
        weft_chol *const plan = test_plan(ctx, matrix, "natural", NULL);
        compare(ctx, matrix, plan);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* The small ones of the real matrices. */
static void files(weft_context *ctx) {
    static const char *const names[] = {"494_bus", "bcsstk20", "bcsstk02"};
    const char *const folder = getenv("WEFT_MATRICES");
    if (!has_clusters(ctx) || !folder)
        return;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[4096];
        weft_sparse *matrix;
        snprintf(path, sizeof path, "%s/%s.mtx", folder, names[k]);
        if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
            continue;
        weft_chol *const plan = test_plan(ctx, matrix, NULL, NULL);
        plan->small = 8;
        compare(ctx, matrix, plan);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

/* L D Lt and L of floats have no such rung. */
static void refused(weft_context *ctx) {
    const weft_chol_options options[] = {
        {.size = sizeof options[0], .kind = WEFT_CHOL_QUASIDEFINITE},
        {.size = sizeof options[0], .precision = WEFT_PRECISION_MIXED}};
    if (!has_clusters(ctx))
        return;
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        weft_sparse *const matrix = test_generated(ctx, "laplace2d", 5);
        weft_chol *plan;
        test_ok(ctx, weft_chol_analyze(ctx, matrix, &options[k], &plan));
        test_ok(ctx, weft_use(ctx, "sparse", "clusters"));
        test_refused(ctx, weft_chol_factor(ctx, plan, matrix), WEFT_EUNSUPPORTED,
                     "weft_chol_factor", "clusters");
        test_ok(ctx, weft_use(ctx, "sparse", NULL));
        test_ok(ctx, weft_chol_factor(ctx, plan, matrix));
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(systems), TEST_ON_EACH_PLACE(meshes),  TEST_ON_EACH_PLACE(sizes),
        TEST_ON_EACH_PLACE(files),   TEST_ON_EACH_PLACE(refused),
    };
    return cmocka_run_group_tests_name("chol_clusters", tests, NULL, NULL);
}
