/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of gemm_batch refuse; what elements that have no parts do to others. */
#include <float.h>
#include <math.h>
#include <stdint.h>

#include "gemm/gemm_batch.h"
#include "testing.h"

enum {
    SIDE = 4,
    MATRIX = SIDE * SIDE,
    COUNT = 3,
    BLOCK_BYTES = 3 * COUNT * MATRIX * (int)sizeof(float)
};

#define STRIDED_CALL(a, lda, stride_a, b, ldb, stride_b, c, ldc, stride_c, count)                  \
    weft_gemm_batch_strided(ctx, 0, WEFT_F32, WEFT_F32, SIDE, SIDE, SIDE, 1, a, lda, stride_a, b,  \
                            ldb, stride_b, 0, c, ldc, stride_c, count)

static void refuse_strided(weft_context *ctx, float *a, float *b, float *c) {
    static const char name[] = "weft_gemm_batch_strided";
    test_refused(ctx, STRIDED_CALL(NULL, 4, 16, b, 4, 16, c, 4, 16, 3), WEFT_EARG, name, "a");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, NULL, 4, 16, c, 4, 16, 3), WEFT_EARG, name, "b");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, NULL, 4, 16, 3), WEFT_EARG, name, "c");
    test_refused(ctx, STRIDED_CALL(a, 3, 16, b, 4, 16, c, 4, 16, 3), WEFT_EARG, name, "lda");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 3, 16, c, 4, 16, 3), WEFT_EARG, name, "ldb");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, c, 3, 16, 3), WEFT_EARG, name, "ldc");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, c, 4, 15, 3), WEFT_EARG, name, "stride_c");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, c, 4, 0, 3), WEFT_EARG, name, "stride_c");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, c, 8, 4, 3), WEFT_EARG, name, "stride_c");
    test_refused(ctx, STRIDED_CALL(a, 4, SIZE_MAX / 2, b, 4, 16, c, 4, 16, 3), WEFT_EARG, name,
                 "stride_a");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 0, c, 4, SIZE_MAX / 2, 9), WEFT_EARG, name,
                 "stride_c");
    test_refused(ctx, STRIDED_CALL(a, 4, 16, b, 4, 16, a + 32, 4, 16, 3), WEFT_EARG, name,
                 "overlap");
    test_refused(ctx,
                 weft_gemm_batch_strided(ctx, 64, WEFT_F32, WEFT_F32, 4, 4, 4, 1, a, 4, 16, b, 4,
                                         16, 0, c, 4, 16, 3),
                 WEFT_EARG, name, "how");
    test_refused(ctx,
                 weft_gemm_batch_strided(ctx, 0, WEFT_I8, WEFT_I8, 4, 4, 4, 1, a, 4, 16, b, 4, 16,
                                         0, c, 4, 16, 3),
                 WEFT_EUNSUPPORTED, name, "out");
    assert_int_equal(STRIDED_CALL(NULL, 4, 16, NULL, 4, 16, NULL, 4, 16, 0), WEFT_OK);
}

#define POINTERS_CALL(a, lda, b, ldb, c, ldc, count)                                               \
    weft_gemm_batch(ctx, 0, WEFT_F32, WEFT_F32, SIDE, SIDE, SIDE, 1, a, lda, b, ldb, 0, c, ldc,    \
                    count)

static void refuse_pointers(weft_context *ctx, float *a, float *b, float *c) {
    static const char name[] = "weft_gemm_batch";
    const void *at_a[COUNT], *at_b[COUNT];
    void *at_c[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        at_a[i] = a + i * MATRIX;
        at_b[i] = b + i * MATRIX;
        at_c[i] = c + i * MATRIX;
    }
    test_refused(ctx, POINTERS_CALL(NULL, 4, at_b, 4, at_c, 4, 3), WEFT_EARG, name, "a");
    test_refused(ctx, POINTERS_CALL(at_a, 4, NULL, 4, at_c, 4, 3), WEFT_EARG, name, "b");
    test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 4, NULL, 4, 3), WEFT_EARG, name, "c");
    test_refused(ctx, POINTERS_CALL(at_a, 3, at_b, 4, at_c, 4, 3), WEFT_EARG, name, "lda");
    test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 3, at_c, 4, 3), WEFT_EARG, name, "ldb");
    test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 4, at_c, 3, 3), WEFT_EARG, name, "ldc");
    at_a[1] = NULL;
    test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 4, at_c, 4, 3), WEFT_EARG, name, "a[1]");
    at_a[1] = (const char *)a + 1;
    test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 4, at_c, 4, 3), WEFT_EARG, name, "a[1]");
    at_a[1] = a;
    if (ctx->kind == WI_CUDA) {
        float on_host[MATRIX];
        at_c[2] = on_host;
        test_refused(ctx, POINTERS_CALL(at_a, 4, at_b, 4, at_c, 4, 3), WEFT_EARG, name, "c[2]");
    }
    assert_int_equal(POINTERS_CALL(NULL, 4, NULL, 4, NULL, 4, 0), WEFT_OK);
}

static void arguments(weft_context *ctx) {
    test_buffer block = test_buffer_open(ctx, ctx->kind == WI_CUDA, BLOCK_BYTES);
    test_buffer_poison(&block, BLOCK_BYTES, 0);
    float *const a = (float *)(void *)block.p, *const b = a + COUNT * MATRIX,
                 *const c = b + COUNT * MATRIX;
    refuse_strided(ctx, a, b, c);
    refuse_pointers(ctx, a, b, c);
    const unsigned char *const bytes = test_buffer_read(&block, "refused calls");
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        if (bytes[i] != TEST_POISON)
            fail_msg("a refused call wrote byte %zu", i);
    test_buffer_close(&block);
}

/* Where f32 is multiplied by parts of its elements, as orders from 49 on with WEFT_TF32, one that
 * has none does no harm to others, nor to the sums it is in: here infinity, and a number that would
 * be rounded to it. */
static void elements_without_parts(weft_context *ctx) {
    enum {
        M = 100,
        N = 20,
        K = 50,
        AT = 7
    };
    static float a[M * K], b[K * N], c[M * N];
    if (ctx->kind != WI_CUDA)
        return;
    for (size_t i = 0; i < M * K; i++)
        a[i] = 1 + (float)(i % 97) / 8192;
    for (size_t i = 0; i < K * N; i++)
        b[i] = 0.25F - (float)(i % 89) / 65536;
    a[AT + AT * M] = INFINITY;
    a[AT + 1 + AT * M] = FLT_MAX;
    test_use(ctx, "gemm_batch", test_row_named(&wi_gemm_batch_ladder, "tiles"));
    assert_int_equal(weft_gemm_batch_strided(ctx, WEFT_TF32, WEFT_F32, WEFT_F32, M, N, K, 1, a, M,
                                             M * K, b, K, K * N, 0, c, M, M * N, 1),
                     WEFT_OK);
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < M; i++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += (double)a[i + k * M] * (double)b[k + j * K];
            const double got = (double)c[i + j * M], within = 1e-5 * sum;
            if (isinf(sum) ? got != sum : !(fabs(got - sum) <= within))
                fail_msg("element (%zu, %zu) is %g, should be %g", i, j, got, sum);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(arguments),
                                       TEST_ON_EACH_PLACE(elements_without_parts)};
    return cmocka_run_group_tests_name("gemm_batch_calls", tests, NULL, NULL);
}
