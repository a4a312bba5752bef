/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices with more than 2^31 rows, and products with more than 2^32 terms. On the cpu only if
 * WEFT_TEST_LARGE is set, because it takes 9 GiB and minutes; on a GPU if it has the memory. */
#include <math.h>
#include <stdlib.h>

#include "testing.h"

enum {
    MARKS = 4,
    ONE = 0x3c00 /* f16 */
};

static const size_t rows = ((size_t)1 << 31) + 77;

/* Elements that are not 1, at either side of 2^31; and what they are. */
static const size_t marked[MARKS] = {0, ((size_t)1 << 31) - 1, (size_t)1 << 31,
                                     ((size_t)1 << 31) + 76};
static const double marks[MARKS] = {2, 3, 4, 5};
static const uint16_t mark_bits[MARKS] = {0x4000, 0x4200, 0x4400, 0x4500};

static void require_ok(const weft_context *ctx, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", weft_status_name(status), weft_message(ctx));
}

/* x = 1, but for the marks. */
static void fill(weft_context *ctx, uint16_t *x) {
    const uint16_t one = ONE;
    require_ok(ctx, weft_fill(ctx, WEFT_F16, rows, &one, x));
    for (int k = 0; k < MARKS; k++)
        require_ok(ctx, weft_copy(ctx, x + marked[k], &mark_bits[k], sizeof *x));
}

/* x is `times` what `fill` makes: every mark, and the sum of all. */
static void check(weft_context *ctx, const uint16_t *x, double times, const char *what) {
    double sum = 0, right = (double)(rows - MARKS) * times;
    for (int k = 0; k < MARKS; k++) {
        float got = 0;
        require_ok(ctx,
                   weft_convert(ctx, WEFT_X_SATURATE, WEFT_F16, WEFT_F32, 1, x + marked[k], &got));
        if (!((double)got == times * marks[k]))
            fail_msg("%s on %s: element %zu is %g, should be %g", what, weft_place(ctx), marked[k],
                     (double)got, times * marks[k]);
        right += times * marks[k];
    }
    require_ok(ctx, weft_exact_reduce(ctx, WEFT_SUM, WEFT_F16, rows, x, WEFT_F64, &sum));
    if (!(sum == right))
        fail_msg("%s on %s: the sum is %.17g, should be %.17g", what, weft_place(ctx), sum, right);
}

/* ---- what has so many rows ---- */

static void products(weft_context *ctx, uint16_t *x, uint16_t *y) {
    const uint16_t one = ONE;
    fill(ctx, x);
    require_ok(ctx,
               weft_gemm(ctx, 0, WEFT_F16, WEFT_F16, rows, 1, 1, 2, x, rows, &one, 1, 0, y, rows));
    check(ctx, y, 2, "gemm by columns");
    require_ok(ctx, weft_gemm(ctx, WEFT_ROW_MAJOR, WEFT_F16, WEFT_F16, rows, 1, 1, 1, x, 1, &one, 1,
                              1, y, 1));
    check(ctx, y, 3, "gemm by rows");
    require_ok(ctx, weft_gemv(ctx, 0, WEFT_F16, WEFT_F16, rows, 1, 4, x, rows, &one, 1, 0, y, 1));
    check(ctx, y, 4, "gemv");
    require_ok(ctx, weft_ger(ctx, 0, WEFT_F16, rows, 1, 2, x, 1, &one, 1, y, rows));
    check(ctx, y, 6, "ger");
}

static void sums(weft_context *ctx, uint16_t *x, uint16_t *y) {
    const size_t terms = 2 * rows;
    const int8_t three = 3, minus_five = -5;
    double right = (double)(rows - MARKS);
    float got = 0;
    int32_t whole = 0;
    fill(ctx, x);
    fill(ctx, y);
    for (int k = 0; k < MARKS; k++)
        right += marks[k] * marks[k];
    require_ok(ctx, weft_gemv(ctx, WEFT_TRANSPOSE_A, WEFT_F16, WEFT_F32, 1, rows, 1, x, rows, y, 1,
                              0, &got, 1));
    if (!(fabs((double)got - right) <= 1e-5 * right))
        fail_msg("gemv across on %s: %g, should be %g", weft_place(ctx), (double)got, right);
    require_ok(ctx, weft_fill(ctx, WEFT_I8, terms, &three, x));
    require_ok(ctx, weft_fill(ctx, WEFT_I8, terms, &minus_five, y));
    require_ok(ctx, weft_gemm(ctx, WEFT_TRANSPOSE_A, WEFT_I8, WEFT_I32, 1, 1, terms, 1, x, terms, y,
                              terms, 0, &whole, 1));
    const uint32_t wrapped = (uint32_t)((uint64_t)-15 * terms);
    if ((uint32_t)whole != wrapped)
        fail_msg("gemm of i8 on %s: %#x, should be %#x", weft_place(ctx), (unsigned)whole, wrapped);
}

static void transposes(weft_context *ctx, uint16_t *x, uint16_t *y) {
    const uint8_t first = 1, second = 2;
    const uint64_t pair = 0x0201;
    uint64_t sum = 0;
    fill(ctx, x);
    require_ok(ctx, weft_transpose(ctx, 0, sizeof *x, rows, 1, x, rows, y, 1));
    check(ctx, y, 1, "transpose of a column");
    uint8_t *const bytes = (uint8_t *)x;
    require_ok(ctx, weft_fill(ctx, WEFT_U8, rows, &first, bytes));
    require_ok(ctx, weft_fill(ctx, WEFT_U8, rows, &second, bytes + rows));
    require_ok(ctx, weft_transpose(ctx, 0, 1, rows, 2, bytes, rows, y, 2));
    require_ok(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_U16, rows, y, &sum));
    if (sum != pair * rows)
        fail_msg("transpose of two columns on %s: the sum is %#llx", weft_place(ctx),
                 (unsigned long long)sum);
    require_ok(ctx, weft_transpose(ctx, 0, 1, 2, rows, y, 2, y, rows)); /* and back in place */
    require_ok(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_U8, rows, y, &sum));
    assert_true(sum == rows);
    require_ok(ctx, weft_reduce(ctx, WEFT_SUM, WEFT_U8, rows, (uint8_t *)y + rows, &sum));
    assert_true(sum == 2 * rows);
}

/* ---- memory ---- */

static void run(weft_context *ctx, void (*test)(weft_context *ctx, uint16_t *x, uint16_t *y)) {
    void *x = NULL, *y = NULL;
    const size_t bytes = rows * sizeof(uint16_t);
    if (ctx->kind == WI_CPU && !getenv("WEFT_TEST_LARGE")) {
        print_message("skipped on %s: set WEFT_TEST_LARGE=1 to work on 9 GiB there\n",
                      weft_place(ctx));
        return;
    }
    if (!test_size_wanted(rows)) {
        print_message("skipped on %s: WEFT_TEST_MAX is below 2^31\n", weft_place(ctx));
        return;
    }
    if (weft_alloc(ctx, &x, bytes) == WEFT_OK && weft_alloc(ctx, &y, bytes) == WEFT_OK)
        test(ctx, x, y);
    else
        print_message("skipped on %s: %s\n", weft_place(ctx), weft_message(ctx));
    weft_free(ctx, x);
    weft_free(ctx, y);
}

static void large_products(weft_context *ctx) {
    run(ctx, products);
}
static void large_sums(weft_context *ctx) {
    run(ctx, sums);
}
static void large_transposes(weft_context *ctx) {
    run(ctx, transposes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(large_products),
        TEST_ON_EACH_PLACE(large_sums),
        TEST_ON_EACH_PLACE(large_transposes),
    };
    return cmocka_run_group_tests_name("large matrices", tests, NULL, NULL);
}
