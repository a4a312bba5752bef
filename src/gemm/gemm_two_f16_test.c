/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 as sums of two f16: whole numbers exactly, others within some units of 2^-22, in
 * all layouts and whatever the powers of two that bring them into f16's range. */
#include <math.h>
#include <stdlib.h>

#include "gemm/gemm_two_f16.h"
#include "testing.h"
#ifdef WEFT_CUDA
#    include "core/gpu.h"
#endif

#ifdef WEFT_RING
enum {
    A,
    B,
    C,
    ARRAYS
};

typedef struct two_parts {
    size_t m, n, k;
    bool transposed_a, transposed_b;
    bool whole;           /* numbers whose product is exact */
    int power_a, power_b; /* of what is multiplied; A and B are at most about 2^-power */
} two_parts;

/* Elements of 17 bits at most, or reals; `sparse`: mostly 0, and 1 or -1. */
static void fill_two_parts(test_random *r, const two_parts *t, bool sparse, int power, size_t count,
                           float *x) {
    for (size_t e = 0; e < count; e++) {
        const double real = test_unit(r);
        const bool some = test_below(r, 8) == 0;
        x[e] = (float)ldexp(!t->whole ? real
                            : sparse  ? (some ? copysign(1, real) : 0)
                                      : floor(0x1p16 * real) * 0x1p-16,
                            -power);
    }
}

static void check_two_parts(const two_parts *t, const float *a, const float *b, const float *before,
                            const float *c) {
    for (size_t i = 0; i < t->m; i++)
        for (size_t j = 0; j < t->n; j++) {
            double sum = before[i + j * t->m], size = 0;
            for (size_t p = 0; p < t->k; p++) {
                const double x = a[t->transposed_a ? p + i * t->k : i + p * t->m];
                const double y = b[t->transposed_b ? j + p * t->n : p + j * t->k];
                sum -= x * y;
                size += fabs(x * y);
            }
            const double bound = t->whole ? 0 : 0x1p-20 * (size + fabs(sum));
            if (!(fabs((double)c[i + j * t->m] - sum) <= bound))
                fail_msg("two f16, %zu x %zu x %zu: element %zu, %zu is %g, not %g", t->m, t->n,
                         t->k, i, j, (double)c[i + j * t->m], sum);
        }
}

/* C -= A B */
static void multiply_two_parts(weft_context *ctx, test_random *r, const two_parts *t) {
    const size_t counts[ARRAYS] = {t->m * t->k, t->k * t->n, t->m * t->n};
    float *host[ARRAYS], *own[ARRAYS], *const c = malloc(counts[C] * sizeof *c);
    const bool sparse_a = test_below(r, 2);
    int before = 0;
    assert_non_null(c);
    for (int x = 0; x < ARRAYS; x++) {
        host[x] = malloc(counts[x] * sizeof *host[x]);
        assert_non_null(host[x]);
        assert_int_equal(weft_alloc(ctx, (void **)&own[x], counts[x] * sizeof *own[x]), WEFT_OK);
    }
    fill_two_parts(r, t, sparse_a, t->power_a, counts[A], host[A]);
    fill_two_parts(r, t, !sparse_a, t->power_b, counts[B], host[B]);
    fill_two_parts(r, t, true, t->power_a + t->power_b, counts[C], host[C]);
    for (int x = 0; x < ARRAYS; x++)
        assert_int_equal(weft_copy(ctx, own[x], host[x], counts[x] * sizeof *own[x]), WEFT_OK);
    const wi_gemm_args g = {.type = WEFT_F32,
                            .out = WEFT_F32,
                            .transposed_a = t->transposed_a,
                            .transposed_b = t->transposed_b,
                            .m = t->m,
                            .n = t->n,
                            .k = t->k,
                            .alpha = -1,
                            .beta = 1,
                            .a = own[A],
                            .lda = t->transposed_a ? t->k : t->m,
                            .b = own[B],
                            .ldb = t->transposed_b ? t->n : t->k,
                            .c = own[C],
                            .ldc = t->m};
    assert_int_equal(wi_gpu_enter(ctx, &before), WEFT_OK);
    assert_int_equal(wi_gemm_two_f16(ctx, &g, t->power_a, t->power_b), WEFT_OK);
    wi_gpu_leave(ctx, before);
    assert_int_equal(weft_copy(ctx, c, own[C], counts[C] * sizeof *c), WEFT_OK);
    check_two_parts(t, host[A], host[B], host[C], c);
    for (int x = 0; x < ARRAYS; x++) {
        weft_free(ctx, own[x]);
        free(host[x]);
    }
    free(c);
}

static void two_f16(weft_context *ctx) {
    static const size_t shapes[][3] = {{1, 1, 16},    {130, 129, 17}, {33, 257, 100},
                                       {64, 128, 64}, {300, 1, 77},   {259, 140, 130}};
    test_random r = test_random_at(9);
    if (ctx->kind != WI_CUDA || ctx->gpu->capability != 90)
        return;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int whole = 0; whole < 2; whole++) {
            const two_parts t = {shapes[s][0],
                                 shapes[s][1],
                                 shapes[s][2],
                                 test_below(&r, 2),
                                 test_below(&r, 2),
                                 whole,
                                 (int)test_below(&r, 30) - 15,
                                 (int)test_below(&r, 30) - 15};
            multiply_two_parts(ctx, &r, &t);
        }
}
#else
static void two_f16(weft_context *ctx) {
    (void)ctx;
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(two_f16)};
    return cmocka_run_group_tests_name("gemm_two_f16", tests, NULL, NULL);
}
