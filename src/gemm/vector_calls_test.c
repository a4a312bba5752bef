/* SPDX-License-Identifier: Apache-2.0 */
/* The bits that weft_gemv, weft_ger and weft_transpose promise, and the arguments that they refuse.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/isa.h"
#include "gemm/gemv.h"
#include "gemm/gemv_simd.h"
#include "gemm/ger.h"
#include "gemm/transpose.h"
#include "testing.h"

/* ---- the same bits ---- */

static const weft_type types[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};

enum {
    TYPES = sizeof types / sizeof *types
};

/* A, x and y of a type, filled at random. */
typedef struct arrays {
    weft_type type;
    size_t m, n;
    unsigned char *a, *x, *y;
} arrays;

static unsigned char *filled(test_random *random, weft_type type, size_t n) {
    unsigned char *const p = malloc((n + 1) * 8);
    assert_non_null(p);
    test_fill(random, TEST_ANY, type, n, p);
    return p;
}

static arrays arrays_open(weft_type type, size_t m, size_t n) {
    test_random random = test_random_at(5);
    return (arrays){type,
                    m,
                    n,
                    filled(&random, type, m * n),
                    filled(&random, type, m + n),
                    filled(&random, type, m + n)};
}

static void arrays_close(arrays *v) {
    free(v->a);
    free(v->x);
    free(v->y);
}

/* y after the product, or A after the update; the caller frees it. */
static unsigned char *result_of(weft_context *ctx, const arrays *v, bool update, unsigned how) {
    const size_t bytes = (update ? v->m * v->n : v->m + v->n) * test_size_of(v->type);
    unsigned char *const out = malloc(bytes);
    assert_non_null(out);
    memcpy(out, update ? v->a : v->y, bytes);
    const size_t lda = how & WEFT_TRANSPOSE_A ? v->n : v->m;
    const weft_status status =
        update ? weft_ger(ctx, 0, v->type, v->m, v->n, 0.3, v->x, 1, v->y, 1, out, v->m)
               : weft_gemv(ctx, how, v->type, v->type, v->m, v->n, 0.3, v->a, lda, v->x, 1, 0.7,
                           out, 1);
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return out;
}

static void compare(weft_context *one, weft_context *other, size_t m, size_t n) {
    for (size_t t = 0; t < TYPES; t++)
        for (unsigned k = 0; k < 3; k++) {
            arrays v = arrays_open(types[t], m, n);
            const bool update = k == 2;
            const unsigned how = k == 1 ? WEFT_TRANSPOSE_A : 0;
            unsigned char *const a = result_of(one, &v, update, how);
            unsigned char *const b = result_of(other, &v, update, how);
            assert_memory_equal(a, b, (update ? m * n : m + n) * test_size_of(types[t]));
            free(a);
            free(b);
            arrays_close(&v);
        }
}

/* The slices of a GPU end in any order, but are always added up in the order of their numbers. */
static void twice(weft_context *ctx) {
    compare(ctx, ctx, 37, 601);
    compare(ctx, ctx, 300, 41);
}

#ifndef WEFT_EMU

static void test_threads(void **state) {
    (void)state;
    weft_context *const one = test_open("cpu:1"), *const three = test_open("cpu:3");
    compare(one, three, 150, 4500);
    compare(one, three, 4500, 150);
    weft_close(one);
    weft_close(three);
}

/* On a cpu an element of y has the same bits when it is computed alone. */
static void test_elements_alone(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    for (size_t t = 0; t < TYPES; t++)
        for (unsigned k = 0; k < 2; k++) {
            const unsigned how = k ? WEFT_TRANSPOSE_A : 0;
            const size_t width = test_size_of(types[t]), m = 77, n = 4500;
            arrays v = arrays_open(types[t], m, n);
            unsigned char *const all = result_of(ctx, &v, false, how);
            for (size_t i = 0; i < m; i += 19) {
                unsigned char y[8];
                memcpy(y, v.y + i * width, width);
                assert_int_equal(weft_gemv(ctx, how, types[t], types[t], 1, n, 0.3,
                                           v.a + (k ? i * n : i) * width, k ? n : m, v.x, 1, 0.7, y,
                                           1),
                                 WEFT_OK);
                assert_memory_equal(y, all + i * width, width);
            }
            free(all);
            arrays_close(&v);
        }
    weft_close(ctx);
}

static void test_instruction_sets(void **state) {
    (void)state;
    enum {
        M = 301,
        N = 43
    };
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++)
        for (size_t t = 0; t < TYPES; t++) {
            const wi_gemv_kernel *const ours = &WI_OF_ISA(isa, wi_gemv_simd)->kernel[types[t]];
            const wi_gemv_kernel *const base =
                &WI_OF_ISA(WI_ISA_BASE, wi_gemv_simd)->kernel[types[t]];
            const weft_type sums = types[t] == WEFT_F64 ? WEFT_F64 : WEFT_F32;
            test_random random = test_random_at(6);
            unsigned char *const a = filled(&random, types[t], (size_t)M * N);
            unsigned char *const x = filled(&random, sums, M);
            double one[M], other[M];
            memset(one, 0, sizeof one);
            memset(other, 0, sizeof other);
            ours->along(M, N, a, M, x, one);
            base->along(M, N, a, M, x, other);
            assert_memory_equal(one, other, sizeof one);
            ours->across(M, N, a, M, x, one);
            base->across(M, N, a, M, x, other);
            assert_memory_equal(one, other, sizeof one);
            free(a);
            free(x);
        }
}

/* A transpose that is too large for caches is written by stores that bypass them. */
static void test_large_transpose(void **state) {
    (void)state;
    const size_t m = 2051, n = 2053, pad = 3;
    weft_context *const ctx = test_open("cpu:3");
    uint32_t *const a = malloc(m * n * sizeof *a), *const b = malloc((m * n + pad) * sizeof *b);
    assert_true(a && b);
    for (size_t k = 0; k < m * n; k++)
        a[k] = (uint32_t)k * 2654435761u;
    assert_int_equal(weft_transpose(ctx, 0, sizeof *a, m, n, a, m, b + pad, n), WEFT_OK);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++)
            if (b[pad + j + i * n] != a[i + j * m])
                fail_msg("element (%zu, %zu) is wrong", i, j);
    free(a);
    free(b);
    weft_close(ctx);
}

#endif

/* ---- what is refused ---- */

enum {
    COUNT = 16,
    BYTES = 3 * COUNT * (int)sizeof(float)
};

/* A 4 x 3 matrix and vectors of f32 that no refused call may write. */
typedef struct rig {
    weft_context *ctx;
    test_buffer block;
    float *a, *x, *y;
} rig;

#define GEMV(how, a, lda, x, incx, y, incy)                                                        \
    weft_gemv(ctx, how, WEFT_F32, WEFT_F32, 4, 3, 1, a, lda, x, incx, 0, y, incy)

static void refuse_gemv(const rig *r) {
    weft_context *const ctx = r->ctx;
    float *const a = r->a, *const x = r->x, *const y = r->y;
    const char *const call = "weft_gemv";
    const weft_type f = WEFT_F32, wrong = (weft_type)99;
    test_refused(ctx, weft_gemv(ctx, 0, wrong, f, 4, 3, 1, a, 4, x, 1, 0, y, 1), WEFT_EARG, call,
                 "type");
    test_refused(ctx, weft_gemv(ctx, 0, f, WEFT_F16, 4, 3, 1, a, 4, x, 1, 0, y, 1),
                 WEFT_EUNSUPPORTED, call, "out");
    test_refused(ctx, weft_gemv(ctx, 0, WEFT_I8, WEFT_I32, 4, 3, 1, a, 4, x, 1, 0, y, 1),
                 WEFT_EUNSUPPORTED, call, "type");
    test_refused(ctx, GEMV(WEFT_TRANSPOSE_B, a, 4, x, 1, y, 1), WEFT_EARG, call, "how");
    test_refused(ctx, GEMV(0, a, 4, x, 0, y, 1), WEFT_EARG, call, "incx");
    test_refused(ctx, GEMV(0, a, 4, x, 1, y, 0), WEFT_EARG, call, "incy");
    test_refused(ctx, GEMV(0, NULL, 4, x, 1, y, 1), WEFT_EARG, call, "a");
    test_refused(ctx, GEMV(0, a, 4, NULL, 1, y, 1), WEFT_EARG, call, "x");
    test_refused(ctx, GEMV(0, a, 4, x, 1, NULL, 1), WEFT_EARG, call, "y");
    test_refused(ctx, GEMV(0, a, 3, x, 1, y, 1), WEFT_EARG, call, "lda");
    test_refused(ctx, GEMV(WEFT_TRANSPOSE_A, a, 2, x, 1, y, 1), WEFT_EARG, call, "lda");
    test_refused(ctx, GEMV(WEFT_ROW_MAJOR, a, 2, x, 1, y, 1), WEFT_EARG, call, "lda");
    test_refused(ctx, GEMV(0, a, SIZE_MAX, x, 1, y, 1), WEFT_EARG, call, "lda");
    test_refused(ctx, GEMV(0, a, 4, x, PTRDIFF_MIN, y, 1), WEFT_EARG, call, "incx");
    test_refused(ctx, GEMV(0, (char *)a + 1, 4, x, 1, y, 1), WEFT_EARG, call, "a");
    test_refused(ctx, GEMV(0, a, 4, x, 1, x + 2, 1), WEFT_EARG, call, "overlap");
    test_refused(ctx, GEMV(0, a, 4, x, 1, a + 11, -1), WEFT_EARG, call, "overlap");
}

#define GER(how, x, incx, y, incy, a, lda)                                                         \
    weft_ger(ctx, how, WEFT_F32, 4, 3, 1, x, incx, y, incy, a, lda)

static void refuse_ger(const rig *r) {
    weft_context *const ctx = r->ctx;
    float *const a = r->a, *const x = r->x, *const y = r->y;
    const char *const call = "weft_ger";
    test_refused(ctx, weft_ger(ctx, 0, (weft_type)-1, 4, 3, 1, x, 1, y, 1, a, 4), WEFT_EARG, call,
                 "type");
    test_refused(ctx, weft_ger(ctx, 0, WEFT_I32, 4, 3, 1, x, 1, y, 1, a, 4), WEFT_EUNSUPPORTED,
                 call, "type");
    test_refused(ctx, GER(WEFT_TRANSPOSE_A, x, 1, y, 1, a, 4), WEFT_EARG, call, "how");
    test_refused(ctx, GER(0, x, 0, y, 1, a, 4), WEFT_EARG, call, "incx");
    test_refused(ctx, GER(0, x, 1, y, 0, a, 4), WEFT_EARG, call, "incy");
    test_refused(ctx, GER(0, NULL, 1, y, 1, a, 4), WEFT_EARG, call, "x");
    test_refused(ctx, GER(0, x, 1, NULL, 1, a, 4), WEFT_EARG, call, "y");
    test_refused(ctx, GER(0, x, 1, y, 1, NULL, 4), WEFT_EARG, call, "a");
    test_refused(ctx, GER(0, x, 1, y, 1, a, 3), WEFT_EARG, call, "lda");
    test_refused(ctx, GER(WEFT_ROW_MAJOR, x, 1, y, 1, a, 2), WEFT_EARG, call, "lda");
    test_refused(ctx, GER(0, a + 8, 1, y, 1, a, 4), WEFT_EARG, call, "overlap");
}

#define TRANSPOSE(how, width, a, lda, b, ldb) weft_transpose(ctx, how, width, 4, 3, a, lda, b, ldb)

static void refuse_transpose(const rig *r) {
    weft_context *const ctx = r->ctx;
    float *const a = r->a, *const b = r->x;
    const char *const call = "weft_transpose";
    test_refused(ctx, TRANSPOSE(0, 0, a, 4, b, 3), WEFT_EARG, call, "width");
    test_refused(ctx, TRANSPOSE(0, 17, a, 4, b, 3), WEFT_EARG, call, "width");
    test_refused(ctx, TRANSPOSE(WEFT_TRANSPOSE_A, 4, a, 4, b, 3), WEFT_EARG, call, "how");
    test_refused(ctx, TRANSPOSE(0, 4, NULL, 4, b, 3), WEFT_EARG, call, "a");
    test_refused(ctx, TRANSPOSE(0, 4, a, 4, NULL, 3), WEFT_EARG, call, "b");
    test_refused(ctx, TRANSPOSE(0, 4, a, 3, b, 3), WEFT_EARG, call, "lda");
    test_refused(ctx, TRANSPOSE(0, 4, a, 4, b, 2), WEFT_EARG, call, "ldb");
    test_refused(ctx, TRANSPOSE(WEFT_ROW_MAJOR, 4, a, 2, b, 4), WEFT_EARG, call, "lda");
    test_refused(ctx, TRANSPOSE(0, 4, a, 4, a + 1, 3), WEFT_EARG, call, "overlap");
    test_refused(ctx, TRANSPOSE(0, 4, a, 5, a, 3), WEFT_EARG, call, "lda");
    test_refused(ctx, TRANSPOSE(0, 4, a, 4, a, 4), WEFT_EARG, call, "ldb");
    test_refused(ctx, weft_transpose(ctx, 0, 4, 3, 3, a, 4, a, 5), WEFT_EARG, call, "ldb");
}

/* Calls with nothing to do write nothing, and ask for no arrays that they do not read. */
static void do_nothing(const rig *r) {
    weft_context *const ctx = r->ctx;
    const weft_type f = WEFT_F32;
    float *const a = r->a, *const x = r->x, *const y = r->y;
    assert_int_equal(weft_gemv(ctx, 0, f, f, 0, 3, 1, NULL, 0, x, 1, 0, NULL, 1), WEFT_OK);
    assert_int_equal(weft_ger(ctx, 0, f, 4, 3, 0, x, 1, y, 1, a, 4), WEFT_OK);
    assert_int_equal(weft_ger(ctx, 0, f, 0, 3, 1, NULL, 1, y, 1, NULL, 0), WEFT_OK);
    assert_int_equal(weft_transpose(ctx, 0, 4, 0, 3, NULL, 0, NULL, 3), WEFT_OK);
    assert_int_equal(weft_transpose(ctx, 0, 4, 3, 0, a, 3, x, 0), WEFT_OK);
}

static void arguments(weft_context *ctx) {
    rig r = {.ctx = ctx, .block = test_buffer_open(ctx, ctx->kind == WI_CUDA, BYTES)};
    test_buffer_poison(&r.block, BYTES, 0);
    r.a = (float *)(void *)r.block.p;
    r.x = r.a + COUNT;
    r.y = r.x + COUNT;
    refuse_gemv(&r);
    refuse_ger(&r);
    refuse_transpose(&r);
    do_nothing(&r);
    const unsigned char *bytes = test_buffer_read(&r.block, "refused calls");
    for (size_t i = 0; i < BYTES; i++)
        if (bytes[i] != TEST_POISON)
            fail_msg("a refused call wrote byte %zu", i);
    assert_int_equal(weft_gemv(ctx, 0, WEFT_F32, WEFT_F32, 4, 9, 0, NULL, 4, NULL, 1, 0, r.y, 1),
                     WEFT_OK);
    bytes = test_buffer_read(&r.block, "y = 0");
    for (size_t i = 0; i < 4 * sizeof(float); i++)
        assert_int_equal(bytes[2 * COUNT * sizeof(float) + i], 0);
    test_buffer_close(&r.block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifndef WEFT_EMU /* these test the cpu alone: the program that is not built for emu runs them */
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_elements_alone),
        cmocka_unit_test(test_large_transpose),
        cmocka_unit_test(test_instruction_sets),
#endif
        TEST_ON_EACH_PLACE(twice),
        TEST_ON_EACH_PLACE(arguments),
    };
    return cmocka_run_group_tests_name("vector_calls", tests, NULL, NULL);
}
