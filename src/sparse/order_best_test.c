/* SPDX-License-Identifier: Apache-2.0 */
/* `best` on graphs that are large enough for its sample and its threads: the same choice and the
 * same ordering for any number of threads, and what the choice rests on. */
#include <math.h>
#include <stdatomic.h>

#include "sparse/order.h"
#include "sparse/symbolic.h"
#include "systems.h"
#include "testing.h"

/* The graph of a problem that the library generates. */
static wi_pattern mesh(const char *kind, size_t n) {
    weft_context *const ctx = test_open("cpu:1");
    weft_sparse *const matrix = test_generated(ctx, kind, n);
    wi_pattern graph;
    assert_int_equal(wi_pattern_build(ctx, "test", matrix, &graph), WEFT_OK);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    return graph;
}

/* Pieces too small for the sample, without small separators: both orderings have to be counted. */
static wi_pattern pieces(void) {
    enum {
        COUNT = 17,
        SIZE = 4100,
        LINKS = 5,
        ALL = COUNT * SIZE
    };
    test_random r = test_random_at(31);
    weft_context *const ctx = test_open("cpu:1");
    int32_t *const row = malloc(2 * (size_t)ALL * LINKS * sizeof *row);
    int32_t *const col = row + ALL * LINKS;
    double *const value = calloc((size_t)ALL * LINKS, sizeof *value);
    weft_sparse *matrix;
    wi_pattern graph;
    for (int k = 0; k < ALL * LINKS; k++) {
        const int v = k / LINKS, u = v / SIZE * SIZE + (int)(test_below(&r, SIZE));
        row[k] = u > v ? u : v;
        col[k] = u > v ? v : u;
    }
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, ALL, ALL,
                                                 (size_t)ALL * LINKS, WEFT_I32, row, col, value),
                     WEFT_OK);
    assert_int_equal(wi_pattern_build(ctx, "test", matrix, &graph), WEFT_OK);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    free(row);
    free(value);
    return graph;
}

/* The flops; perm is put into the postorder of the tree, as it is wherever flops are counted. */
static double count(const wi_pattern *graph, int64_t *perm) {
    double entries, flops;
    assert_int_equal(wi_predict_cost(NULL, "test", graph, perm, &entries, &flops), WEFT_OK);
    return flops;
}

static double flops_of(const wi_pattern *graph, const int64_t *perm) {
    int64_t *const own = malloc((size_t)graph->n * sizeof *own);
    memcpy(own, perm, (size_t)graph->n * sizeof *own);
    const double flops = count(graph, own);
    free(own);
    return flops;
}

/* Checks that `best` takes `expected` for so many factorizations and orders alike with one
 * thread and with several, as that rung does by itself, and returns its flops. */
static double check(const wi_pattern *graph, double factorizations, const char *expected) {
    static const char *const places[] = {"cpu:1", "cpu:5"};
    const size_t bytes = (size_t)graph->n * sizeof(int64_t);
    int64_t *const perm = malloc(bytes), *const again = malloc(bytes);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *const ctx = test_open(places[k]);
        const char *chosen = NULL;
        const wi_order_args args = {.call = "test",
                                    .graph = graph,
                                    .perm = k == 0 ? perm : again,
                                    .seconds_budget = 60,
                                    .factorizations = factorizations,
                                    .chosen = &chosen};
        assert_int_equal(wi_order_best(ctx, &args), WEFT_OK);
        assert_string_equal(chosen, expected);
        if (k == 0) {
            weft_close(ctx);
            continue;
        }
        assert_memory_equal(perm, again, bytes);
        const wi_row *row = wi_sparse_order_ladder.rows;
        while (strcmp(row->name, expected) != 0)
            row++;
        assert_int_equal(
            row->run(ctx, &(wi_order_args){.call = "test", .graph = graph, .perm = again}),
            WEFT_OK);
        if (memcmp(perm, again, bytes) != 0)
            count(graph, again);
        assert_memory_equal(perm, again, bytes);
        weft_close(ctx);
    }
    const double flops = flops_of(graph, perm);
    free(perm);
    free(again);
    return flops;
}

static bool is_clear(const wi_pattern *graph, double least) {
    bool clear;
    double guess;
    const wi_order_args args = {.call = "test", .graph = graph};
    assert_int_equal(wi_order_sample(&args, least, &guess, &clear), WEFT_OK);
    return clear;
}

static void test_clear(void **state) {
    (void)state;
    wi_pattern cube = mesh("laplace3d", 41);
    assert_true(is_clear(&cube, 1e9));
    assert_false(is_clear(&cube, 1e12)); /* its flops by amd are 7e10 */
    check(&cube, 0, "dissect");
    wi_pattern_free(&cube);
}

static void test_amd(void **state) {
    (void)state;
    wi_pattern square = mesh("laplace2d", 260);
    assert_false(is_clear(&square, 1e10));
    check(&square, 0, "amd");
    check(&square, 1, "amd");
    wi_pattern_free(&square);
}

/* One matrix, few factorizations and many. */
static void test_factorizations(void **state) {
    (void)state;
    wi_pattern square = mesh("laplace2d", 260);
    const double few = check(&square, 10, "amd"), many = check(&square, 1000, "dissect");
    assert_true(many < few);
    wi_pattern_free(&square);
}

static void test_both(void **state) {
    (void)state;
    wi_pattern graph = pieces();
    int64_t *const perm = malloc((size_t)graph.n * sizeof *perm);
    double amd;
    weft_context *const ctx = test_open("cpu:2");
    wi_order_limit limit;
    wi_order_args args = {.call = "test", .graph = &graph, .perm = perm, .flops = &amd};
    assert_false(is_clear(&graph, 1));
    assert_int_equal(wi_order_dissect(ctx, &args), WEFT_OK);
    const double dissect = flops_of(&graph, perm);
    assert_int_equal(wi_order_amd(ctx, &args), WEFT_OK);
    const double flops = check(&graph, 1, dissect < amd ? "dissect" : "amd"), all = amd;
    assert_true(fabs(flops / fmin(all, dissect) - 1) < 1e-4); /* amd's is a bound */
    atomic_init(&limit.flops, all / 2);
    args.limit = &limit;
    assert_int_equal(wi_order_amd(ctx, &args), WEFT_OK);
    assert_true(amd > all / 2 && amd < all); /* it stopped */
    atomic_store(&limit.flops, all);
    assert_int_equal(wi_order_amd(ctx, &args), WEFT_OK);
    assert_true(amd == all);
    weft_close(ctx);
    free(perm);
    wi_pattern_free(&graph);
}

/* ---- no memory ---- */

static atomic_int left;   /* blocks that are given out before one is refused */
static atomic_int blocks; /* held */

static void *allocate(void *user, size_t alignment, size_t bytes) {
    (void)user;
    void *const p = atomic_fetch_sub(&left, 1) == 1 ? NULL : aligned_alloc(alignment, bytes);
    atomic_fetch_add(&blocks, p != NULL);
    return p;
}

static void release(void *user, void *p) {
    (void)user;
    atomic_fetch_sub(&blocks, p != NULL);
    free(p);
}

/* One block in turn is refused, of those that the threads of `best` take: it says so, or does
 * without it and finds the same. */
static void refuse(const wi_pattern *graph) {
    const size_t bytes = (size_t)graph->n * sizeof(int64_t);
    int64_t *const expected = malloc(bytes), *const perm = malloc(bytes);
    weft_context *const ctx = test_open("cpu:3");
    wi_order_args args = {.call = "test", .graph = graph, .perm = expected, .seconds_budget = 60};
    int refused = 0;
    atomic_store(&left, 0);
    assert_int_equal(wi_order_best(ctx, &args), WEFT_OK);
    args.perm = perm;
    const int held = atomic_load(&blocks);
    for (int k = 1, more = true; more; k += 1 + k / 2) {
        atomic_store(&left, k);
        const weft_status status = wi_order_best(ctx, &args);
        more = atomic_load(&left) <= 0;
        assert_int_equal(atomic_load(&blocks), held);
        refused += status != WEFT_OK;
        if (status == WEFT_OK)
            assert_memory_equal(perm, expected, bytes);
        else
            assert_int_equal(status, WEFT_ENOMEM);
    }
    assert_true(refused > 0);
    weft_close(ctx);
    free(expected);
    free(perm);
}

static void test_no_memory(void **state) {
    (void)state;
    const weft_allocator own = {.size = sizeof own, .allocate = allocate, .release = release};
    assert_int_equal(weft_set_allocator(&own), WEFT_OK);
    wi_pattern cube = mesh("laplace3d", 41), loose = pieces();
    refuse(&cube);
    refuse(&loose);
    wi_pattern_free(&cube);
    wi_pattern_free(&loose);
    assert_int_equal(atomic_load(&blocks), 0);
    assert_int_equal(weft_set_allocator(NULL), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clear),          cmocka_unit_test(test_amd),
        cmocka_unit_test(test_factorizations), cmocka_unit_test(test_both),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("order_best", tests, NULL, NULL);
}
