/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of products and of systems over ranks: each rank has its own. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/gemm.h"
#include "weft/solve_batch.h"

static const size_t sizes[] = {0, 1, 2, 9, 70};

/* Small whole numbers, whose sums are exact. */
static void product_case(test_random *r, dist_shape shape, size_t count) {
    const size_t m = 1 + dist_draw(r, 5), n = 1 + dist_draw(r, 5), k = 1 + dist_draw(r, 5);
    const size_t of_a = m * k + dist_draw(r, 2), of_b = k * n, of_c = m * n;
    const weft_type f64 = WEFT_F64;
    double *const a = dist_whole(r, TEST_SMALL, f64, count * of_a);
    double *const b = dist_whole(r, TEST_SMALL, f64, count * of_b);
    double *const c = dist_whole(r, TEST_SMALL, f64, count * of_c);
    const dist_part part = dist_deal(r, shape, count);
    dist_array da = dist_take(r, a + part.first * of_a, part.n * of_a * sizeof *a);
    dist_array db = dist_take(r, b + part.first * of_b, part.n * of_b * sizeof *b);
    dist_array dc = dist_take(r, c + part.first * of_c, part.n * of_c * sizeof *c);
    dist_ok(dist_one, weft_gemm_batch_strided(dist_one, 0, f64, f64, m, n, k, 1, a, m, of_a, b, k,
                                              of_b, 1, c, m, of_c, count));
    dist_ok(dist_ctx, weft_gemm_batch_strided(dist_ctx, 0, f64, f64, m, n, k, 1, da.p, m, of_a,
                                              db.p, k, of_b, 1, dc.p, m, of_c, part.n));
    dist_expect(&dc, c + part.first * of_c, part.n * of_c * sizeof *c, "weft_gemm_batch_strided");
    dist_give(&da), dist_give(&db), dist_give(&dc);
    free(a), free(b), free(c);
}

/* One element in each row and column, a power of two, so that the solutions are exact. */
static void system_case(test_random *r, dist_shape shape, size_t count) {
    const size_t n = 1 + dist_draw(r, 6), turn = dist_draw(r, n);
    double *const a = calloc(count * n * n + 1, sizeof *a);
    double *const b = dist_whole(r, TEST_SMALL, WEFT_F64, count * n);
    int32_t *const info = malloc(count * sizeof *info + 1);
    assert_true(a && info);
    for (size_t s = 0; s < count; s++)
        for (size_t j = 0; j < n; j++)
            a[s * n * n + j * n + (j + turn) % n] = (double)(1 << dist_draw(r, 4));
    const dist_part part = dist_deal(r, shape, count);
    dist_array da = dist_take(r, a + part.first * n * n, part.n * n * n * sizeof *a);
    dist_array db = dist_take(r, b + part.first * n, part.n * n * sizeof *b);
    dist_array di = dist_take(r, NULL, part.n * sizeof *info);
    dist_ok(dist_one, weft_solve_batch_strided(dist_one, 0, WEFT_F64, n, 1, a, n, n * n, b, n, n,
                                               info, count));
    dist_ok(dist_ctx, weft_solve_batch_strided(dist_ctx, 0, WEFT_F64, n, 1, da.p, n, n * n, db.p, n,
                                               n, di.p, part.n));
    dist_expect(&db, b + part.first * n, part.n * n * sizeof *b, "weft_solve_batch_strided");
    dist_expect(&di, info + part.first, part.n * sizeof *info, "info");
    dist_give(&da), dist_give(&db), dist_give(&di);
    free(a), free(b), free(info);
}

/* Addresses, on place mpi alone: a GPU needs them and the matrices in its own memory. */
static void pointed_case(test_random *r) {
    const size_t count = dist_draw(r, 4) + (size_t)dist_rank;
    double a[16] = {0}, b[16] = {0}, c[16] = {0};
    const void *of_a[8], *of_b[8];
    void *of_c[8];
    assert_true(count < 8 + (size_t)dist_ranks);
    const size_t own = count < 8 ? count : 8;
    for (size_t i = 0; i < own; i++) {
        a[i] = (double)i + 1, b[i] = 2;
        of_a[i] = &a[i], of_b[i] = &b[i], of_c[i] = &c[i];
    }
    dist_ok(dist_ctx, weft_gemm_batch(dist_ctx, 0, WEFT_F64, WEFT_F64, 1, 1, 1, 1, of_a, 1, of_b, 1,
                                      0, of_c, 1, own));
    for (size_t i = 0; i < own; i++)
        assert_true(c[i] == 2 * a[i]);
    test_refused(dist_ctx,
                 weft_gemm_batch(dist_ctx, 0, WEFT_F64, WEFT_F64, 1, 1, 1, 1, NULL, 1, of_b, 1, 0,
                                 of_c, 1, 1),
                 WEFT_EARG, "weft_gemm_batch", "a");
}

void dist_test_batches(void **state) {
    test_random r = test_random_at(45);
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            if (dist_wanted(k, shape, sizes[k])) {
                product_case(&r, (dist_shape)shape, sizes[k]);
                system_case(&r, (dist_shape)shape, sizes[k]);
            }
    assert_string_equal(weft_used(dist_ctx, "gemm_batch"), "ranks");
    assert_string_equal(weft_used(dist_ctx, "solve_batch"), "ranks");
    if (!dist_on_gpus() && dist_ctx->kind == WI_CPU)
        pointed_case(&r);
}
