/* SPDX-License-Identifier: Apache-2.0 */
/* What weft_gemm promises of bits, and what it refuses. */
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#endif
#include "cpu/isa.h"
#include "gemm/gemm_cases.h"
#include "gemm/gemm_simd.h"

/* ---- the same bits ---- */

/* A product on host arrays of its own. */
typedef struct rig {
    product p;
    unsigned char *x[ARRAYS];
} rig;

static rig rig_open(type_pair types, unsigned how, size_t m, size_t n, size_t k) {
    rig r = {.p = {.types = types, .how = how, .m = m, .n = n, .k = k, .alpha = 3, .beta = -2}};
    test_random random = test_random_at(7);
    for (int array = 0; array < ARRAYS; array++) {
        size_t lines;
        stored_as(&r.p, array, &lines, &r.p.ld[array]);
        r.x[array] = malloc(bytes_of(&r.p, array));
        assert_non_null(r.x[array]);
        test_fill(&random, TEST_ANY, type_of(&r.p, array), extent_of(&r.p, array), r.x[array]);
    }
    return r;
}

static void rig_close(rig *r) {
    for (int array = 0; array < ARRAYS; array++)
        free(r->x[array]);
}

/* C after the product; the caller frees it. */
static unsigned char *multiplied(const rig *r, weft_context *ctx) {
    unsigned char *const c = malloc(bytes_of(&r->p, C));
    assert_non_null(c);
    memcpy(c, r->x[C], bytes_of(&r->p, C));
    if (call_gemm(ctx, &r->p, r->x[A], r->x[B], c) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return c;
}

/* Rows i ... and columns j ... of a product, computed alone, are what they are in all of it. */
static void compare_part(const rig *r, weft_context *ctx, const unsigned char *whole, size_t i,
                         size_t m, size_t j, size_t n) {
    const product *const p = &r->p;
    const size_t in = test_size_of(p->types.type), out = test_size_of(p->types.out);
    product part = *p;
    part.m = m;
    part.n = n;
    unsigned char *const c = malloc(bytes_of(p, C));
    assert_non_null(c);
    memcpy(c, r->x[C], bytes_of(p, C));
    const size_t corner = place_of(p, C, i, j) * out;
    if (call_gemm(ctx, &part, r->x[A] + place_of(p, A, i, 0) * in,
                  r->x[B] + place_of(p, B, 0, j) * in, c + corner) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    for (size_t y = j; y < j + n; y++)
        for (size_t x = i; x < i + m; x++) {
            const size_t at = place_of(p, C, x, y) * out;
            if (memcmp(c + at, whole + at, out) != 0)
                fail_msg("%s of %s on %s: element (%zu, %zu) has other bits in a product of %zu x "
                         "%zu x %zu than in one of %zu x %zu x %zu",
                         p->row ? p->row->name : "auto", test_type_name(p->types.type),
                         weft_place(ctx), x, y, m, n, p->k, p->m, p->n, p->k);
        }
    free(c);
}

/* Products that are large enough to be packed by all threads, and parts of them that are not. */
static void test_threads(void **state) {
    (void)state;
    weft_context *const one = test_open("cpu:1"), *const three = test_open("cpu:3");
    for (size_t t = 0; t < PAIRS; t++) {
        rig r = rig_open(pairs[t], t % 2 ? WEFT_TRANSPOSE_A : WEFT_TRANSPOSE_B, 431, 617, 530);
        unsigned char *const a = multiplied(&r, one), *const b = multiplied(&r, three);
        assert_memory_equal(a, b, bytes_of(&r.p, C));
        compare_part(&r, three, a, 5, 60, 7, 90);
        compare_part(&r, one, a, 371, 60, 516, 101);
        free(a);
        free(b);
        rig_close(&r);
    }
    weft_close(one);
    weft_close(three);
}

/* OpenBLAS promises nothing of the kind, and a GPU only for one rung where k is not cut; there
 * `thin` takes f32 apart or not, as the shape is. */
static bool promises_bits(const weft_context *ctx, const wi_row *row) {
    return row ? strcmp(row->name, "openblas") != 0 && strcmp(row->name, "thin") != 0
               : ctx->kind == WI_CPU;
}
static void parts_alone(weft_context *ctx) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_gemm_ladder, rows);
    const size_t size = ctx->kind == WI_CPU ? 70 : 37, k = ctx->kind == WI_CPU ? 300 : 20;
    for (size_t q = 0; q < count; q++)
        for (size_t t = 0; t < PAIRS; t++) {
            const unsigned how = (q + t) % 2 ? WEFT_TRANSPOSE_A | WEFT_ROW_MAJOR : 0;
            rig r = rig_open(pairs[t], how, size, size + 3, k);
            r.p.row = rows[q];
            test_use(ctx, "gemm", rows[q]);
            unsigned char *const c = malloc(bytes_of(&r.p, C));
            assert_non_null(c);
            memcpy(c, r.x[C], bytes_of(&r.p, C));
            const weft_status status = call_gemm(ctx, &r.p, r.x[A], r.x[B], c);
            if (status == WEFT_OK && promises_bits(ctx, rows[q])) {
                compare_part(&r, ctx, c, 5, size - 9, 3, size - 7);
                compare_part(&r, ctx, c, 0, size, 11, 1);
                compare_part(&r, ctx, c, 7, 1, 0, size);
                compare_part(&r, ctx, c, 8, 1, 9, 1);
            } else if (status != WEFT_OK) {
                assert_true(status == WEFT_EUNSUPPORTED && may_refuse(&r.p));
            }
            free(c);
            rig_close(&r);
        }
}

/* A device whose blocks have less shared memory gets other tiles, and the same bits. */
static void less_shared_memory(weft_context *ctx) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CUDA)
        return;
    const size_t own = ctx->gpu->shared_optin;
    for (size_t t = 0; t < PAIRS; t++) {
        const bool is_f32 = pairs[t].type == WEFT_F32;
        rig r = rig_open(pairs[t], is_f32 ? WEFT_TF32 : 0, 35, 67, 40);
        unsigned char *const a = multiplied(&r, ctx);
        ctx->gpu->shared_optin = 99 << 10;
        unsigned char *const b = multiplied(&r, ctx);
        ctx->gpu->shared_optin = own;
        assert_memory_equal(a, b, bytes_of(&r.p, C));
        free(a);
        free(b);
        rig_close(&r);
    }
#else
    (void)ctx;
#endif
}

#ifdef WEFT_RING
/* C of a product in device memory by the ring. */
static void multiply_by_ring(weft_context *ctx, weft_type type, unsigned blocks_most,
                             const test_buffer x[ARRAYS]) {
    enum {
        N = 24,
        K = 400
    };
    const wi_gemm_args args = {.type = type,
                               .out = type,
                               .accuracy = WI_STRICT_F32,
                               .transposed_b = true,
                               .m = N,
                               .n = N,
                               .k = K,
                               .alpha = 1,
                               .a = x[A].p,
                               .lda = N,
                               .b = x[B].p,
                               .ldb = N,
                               .c = x[C].p,
                               .ldc = N,
                               .blocks_most = blocks_most};
    assert_int_equal(wi_gemm_ring(ctx, &args), WEFT_OK);
}
#endif

/* Where a product may have but some of the multiprocessors, its k is cut as on a device that has no
 * others: C has the bits that it has there. */
static void fewer_blocks(weft_context *ctx) {
#ifdef WEFT_RING
    enum {
        BYTES = 24 * 400 * 8,
        SOME = 3
    };
    if (ctx->kind != WI_CUDA || ctx->gpu->capability != 90)
        return;
    static unsigned char source[BYTES], first[BYTES];
    test_buffer x[ARRAYS];
    for (int k = 0; k < ARRAYS; k++)
        x[k] = test_buffer_open(ctx, true, BYTES);
    for (size_t t = 0; t < 2; t++) {
        test_random random = test_random_at(7);
        test_fill(&random, TEST_ANY, pairs[t].type, 24 * 400, source);
        for (int k = 0; k < ARRAYS; k++)
            test_buffer_load(&x[k], source, BYTES, 0);
        const int units = ctx->gpu->multiprocessors;
        ctx->gpu->multiprocessors = SOME;
        multiply_by_ring(ctx, pairs[t].type, 0, x);
        ctx->gpu->multiprocessors = units;
        memcpy(first, test_buffer_read(&x[C], "a small device"), BYTES);
        multiply_by_ring(ctx, pairs[t].type, SOME, x);
        assert_memory_equal(first, test_buffer_read(&x[C], "few blocks"), BYTES);
    }
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_close(&x[k]);
#else
    (void)ctx;
#endif
}

/* C = A B, packed and multiplied by one instruction set. */
static void multiply_by(wi_isa isa, const rig *r, void *packed_a, void *packed_b, void *c) {
    const product *const p = &r->p;
    const wi_gemm_kernel *const kernel = &WI_OF_ISA(isa, wi_gemm_simd)->kernel[p->types.type];
    const wi_gemm_side a = {r->x[A], p->ld[A], is_transposed(p, A)};
    const wi_gemm_side b = {r->x[B], p->ld[B], !is_transposed(p, B)};
    const wi_gemm_block block = {p->m, p->n, p->k, packed_a, packed_b, c, 1, p->ld[C], 0.3, 0};
    kernel->pack_a(&a, p->m, p->k, packed_a);
    kernel->pack_b(&b, p->n, p->k, packed_b);
    kernel->multiply(&block);
}

static void test_instruction_sets(void **state) {
    (void)state;
    enum {
        M = 77,
        N = 43,
        K = 101,
        ROOM = 256 * 256 * 8
    };
    static _Alignas(64) unsigned char packed_a[ROOM], packed_b[ROOM], base[ROOM], other[ROOM];
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++)
        for (size_t t = 0; t < PAIRS; t++) {
            rig r = rig_open(pairs[t], t & 1 ? WEFT_TRANSPOSE_A : WEFT_TRANSPOSE_B, M, N, K);
            multiply_by(WI_ISA_BASE, &r, packed_a, packed_b, base);
            multiply_by(isa, &r, packed_a, packed_b, other);
            assert_memory_equal(base, other, sizeof base);
            rig_close(&r);
        }
}

/* ---- what is refused ---- */

/* Three matrices of 4 x 4 f32. */
typedef struct matrices {
    weft_context *ctx;
    test_buffer block;
    float *a, *b, *c;
} matrices;

enum {
    SIDE = 4,
    MATRIX = SIDE * SIDE,
    BLOCK_BYTES = 3 * MATRIX * (int)sizeof(float)
};

static weft_status try(const matrices *x, unsigned how, weft_type type, weft_type out, double alpha,
                       double beta) {
    return weft_gemm(x->ctx, how, type, out, SIDE, SIDE, SIDE, alpha, x->a, SIDE, x->b, SIDE, beta,
                     x->c, SIDE);
}

static void check_options(const matrices *x) {
    weft_context *const ctx = x->ctx;
    test_refused(ctx, try(x, 0, (weft_type)99, WEFT_F32, 1, 0), WEFT_EARG, "weft_gemm", "type");
    test_refused(ctx, try(x, 0, WEFT_F32, (weft_type)-1, 1, 0), WEFT_EARG, "weft_gemm", "type");
    test_refused(ctx, try(x, 0, WEFT_F32, WEFT_F16, 1, 0), WEFT_EUNSUPPORTED, "weft_gemm", "out");
    test_refused(ctx, try(x, 0, WEFT_F16, WEFT_BF16, 1, 0), WEFT_EUNSUPPORTED, "weft_gemm", "out");
    test_refused(ctx, try(x, 0, WEFT_I8, WEFT_I8, 1, 0), WEFT_EUNSUPPORTED, "weft_gemm", "out");
    test_refused(ctx, try(x, 0, WEFT_I32, WEFT_I32, 1, 0), WEFT_EUNSUPPORTED, "weft_gemm", "type");
    test_refused(ctx, try(x, 32, WEFT_F32, WEFT_F32, 1, 0), WEFT_EARG, "weft_gemm", "how");
    test_refused(ctx, try(x, WEFT_TF32 | WEFT_F32_STRICT, WEFT_F32, WEFT_F32, 1, 0), WEFT_EARG,
                 "weft_gemm", "WEFT_F32_STRICT");
    test_refused(ctx, try(x, WEFT_TF32, WEFT_BF16, WEFT_F32, 1, 0), WEFT_EARG, "weft_gemm",
                 "WEFT_TF32");
    test_refused(ctx, try(x, WEFT_F32_STRICT, WEFT_F64, WEFT_F64, 1, 0), WEFT_EARG, "weft_gemm",
                 "WEFT_F32_STRICT");
    test_refused(ctx, try(x, 0, WEFT_I8, WEFT_I32, 0.5, 0), WEFT_EARG, "weft_gemm", "alpha");
    test_refused(ctx, try(x, 0, WEFT_I8, WEFT_I32, 1, 0x1p31), WEFT_EARG, "weft_gemm", "beta");
    test_refused(ctx, try(x, 0, WEFT_I8, WEFT_I32, NAN, 0), WEFT_EARG, "weft_gemm", "alpha");
}

/* A call with m, n and k of 4, 3 and 2, one of the last arguments of which is wrong. */
#define SHAPED(how, a, lda, b, ldb, c, ldc)                                                        \
    weft_gemm(ctx, how, WEFT_F32, WEFT_F32, 4, 3, 2, 1, a, lda, b, ldb, 0, c, ldc)

static void check_arrays(const matrices *x) {
    weft_context *const ctx = x->ctx;
    float *const a = x->a, *const b = x->b, *const c = x->c;
    const void *const off = (const char *)a + 1;
    test_refused(ctx, SHAPED(0, NULL, 4, b, 2, c, 4), WEFT_EARG, "weft_gemm", "a");
    test_refused(ctx, SHAPED(0, a, 4, NULL, 2, c, 4), WEFT_EARG, "weft_gemm", "b");
    test_refused(ctx, SHAPED(0, a, 4, b, 2, NULL, 4), WEFT_EARG, "weft_gemm", "c");
    test_refused(ctx, SHAPED(0, a, 3, b, 2, c, 4), WEFT_EARG, "weft_gemm", "lda");
    test_refused(ctx, SHAPED(0, a, 4, b, 1, c, 4), WEFT_EARG, "weft_gemm", "ldb");
    test_refused(ctx, SHAPED(0, a, 4, b, 2, c, 3), WEFT_EARG, "weft_gemm", "ldc");
    test_refused(ctx, SHAPED(WEFT_TRANSPOSE_A, a, 1, b, 2, c, 4), WEFT_EARG, "weft_gemm", "lda");
    test_refused(ctx, SHAPED(WEFT_TRANSPOSE_B, a, 4, b, 2, c, 4), WEFT_EARG, "weft_gemm", "ldb");
    test_refused(ctx, SHAPED(WEFT_ROW_MAJOR, a, 1, b, 3, c, 3), WEFT_EARG, "weft_gemm", "lda");
    test_refused(ctx, SHAPED(WEFT_ROW_MAJOR, a, 2, b, 2, c, 3), WEFT_EARG, "weft_gemm", "ldb");
    test_refused(ctx, SHAPED(WEFT_ROW_MAJOR, a, 2, b, 3, c, 2), WEFT_EARG, "weft_gemm", "ldc");
    test_refused(ctx, SHAPED(0, a, SIZE_MAX, b, 2, c, 4), WEFT_EARG, "weft_gemm", "lda");
    test_refused(ctx, SHAPED(0, off, 4, b, 2, c, 4), WEFT_EARG, "weft_gemm", "a");
    test_refused(ctx, SHAPED(0, a, 4, b, 2, a, 4), WEFT_EARG, "weft_gemm", "overlap");
    test_refused(ctx, SHAPED(0, a, 4, b, 2, b + 5, 4), WEFT_EARG, "weft_gemm", "overlap");
}

/* Empty products read and write nothing; k = 0 and alpha = 0 ask for no A and B. */
static void check_empty(const matrices *x) {
    weft_context *const ctx = x->ctx;
    const weft_type t = WEFT_F32;
    assert_int_equal(weft_gemm(ctx, 0, t, t, 0, 3, 2, 1, NULL, 0, x->b, 2, 0, NULL, 0), WEFT_OK);
    assert_int_equal(weft_gemm(ctx, 0, t, t, 4, 0, 2, 1, x->a, 4, NULL, 2, 0, NULL, 4), WEFT_OK);
    float *const c = x->c;
    assert_int_equal(weft_gemm(ctx, 0, t, t, 0, 0, 0, 1, NULL, 0, NULL, 0, 0, c, 0), WEFT_OK);
}

static void check_unread(const matrices *x) {
    weft_context *const ctx = x->ctx;
    const weft_type t = WEFT_F32;
    float *const c = x->c;
    assert_int_equal(weft_gemm(ctx, 0, t, t, 4, 4, 0, 1, NULL, 4, NULL, 0, 0, c, 4), WEFT_OK);
    assert_int_equal(weft_gemm(ctx, 0, t, t, 4, 4, 9, 0, NULL, 4, NULL, 9, 1, c, 4), WEFT_OK);
}

static void arguments(weft_context *ctx) {
    matrices x = {.ctx = ctx, .block = test_buffer_open(ctx, ctx->kind == WI_CUDA, BLOCK_BYTES)};
    test_buffer_poison(&x.block, BLOCK_BYTES, 0);
    x.a = (float *)(void *)x.block.p;
    x.b = x.a + MATRIX;
    x.c = x.b + MATRIX;
    check_options(&x);
    check_arrays(&x);
    check_empty(&x);
    const unsigned char *bytes = test_buffer_read(&x.block, "refused calls");
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        if (bytes[i] != TEST_POISON)
            fail_msg("a refused call wrote byte %zu", i);
    check_unread(&x);
    bytes = test_buffer_read(&x.block, "products of nothing");
    for (size_t i = 0; i < MATRIX * sizeof(float); i++)
        assert_int_equal(bytes[2 * MATRIX * sizeof(float) + i], 0);
    test_buffer_close(&x.block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),         TEST_ON_EACH_PLACE(parts_alone),
        TEST_ON_EACH_PLACE(less_shared_memory), cmocka_unit_test(test_instruction_sets),
        TEST_ON_EACH_PLACE(fewer_blocks),       TEST_ON_EACH_PLACE(arguments),
    };
    return cmocka_run_group_tests_name("gemm_calls", tests, NULL, NULL);
}
