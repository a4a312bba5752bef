/* SPDX-License-Identifier: Apache-2.0 */
/* Products of host matrices that a GPU does piece by piece: all layouts, each of the matrices on
 * the host or the device, a device with too little memory for them. On emu small matrices are cut
 * into pieces, elsewhere only large ones are. */
#include <stdlib.h>
#include <string.h>

#include "gemm/gemm_cases.h"
#include "gpu_name.h"
#include "limits.h"

#ifdef WEFT_EMU
#    include <emu_faults.h>

enum {
    PIECE = 16 /* rows and columns at least */
};

typedef struct rig {
    weft_context *ctx;
    product p;
    unsigned char *x[ARRAYS], *right; /* on the host; C as it should be */
} rig;

static void fill(rig *r, test_random *random) {
    product *const p = &r->p;
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        p->ld[k] = length + test_below(random, 4);
        r->x[k] = malloc(bytes_of(p, k));
        assert_non_null(r->x[k]);
        memset(r->x[k], 0xff, bytes_of(p, k));
        for (size_t line = 0; line < lines; line++)
            test_fill(random, TEST_SMALL, type_of(p, k), length,
                      r->x[k] + line * p->ld[k] * test_size_of(type_of(p, k)));
    }
    r->right = malloc(bytes_of(p, C));
    assert_non_null(r->right);
    memcpy(r->right, r->x[C], bytes_of(p, C));
}

/* The same sums on a cpu; whole numbers, so that any order of additions gives the same. */
static void compute_right(rig *r) {
    weft_context *const cpu = test_open("cpu:1");
    assert_int_equal(call_gemm(cpu, &r->p, r->x[A], r->x[B], r->right), WEFT_OK);
    weft_close(cpu);
}

static void run_case(rig *r) {
    const product *const p = &r->p;
    void *at[ARRAYS];
    compute_right(r);
    for (int k = 0; k < ARRAYS; k++) {
        at[k] = r->x[k];
        if (!(p->device >> k & 1))
            continue;
        assert_int_equal(weft_alloc(r->ctx, &at[k], bytes_of(p, k)), WEFT_OK);
        assert_int_equal(weft_copy(r->ctx, at[k], r->x[k], bytes_of(p, k)), WEFT_OK);
    }
    if (call_gemm(r->ctx, p, at[A], at[B], at[C]) != WEFT_OK)
        fail_msg("%s of %zu x %zu x %zu, how %#x, %s: %s", test_type_name(p->types.type), p->m,
                 p->n, p->k, p->how, weft_used(r->ctx, "gemm"), weft_message(r->ctx));
    if (p->device >> C & 1)
        assert_int_equal(weft_copy(r->ctx, r->x[C], at[C], bytes_of(p, C)), WEFT_OK);
    if (memcmp(r->x[C], r->right, bytes_of(p, C)) != 0)
        fail_msg("%s, how %#x, %zu x %zu x %zu, beta %g, device %#x: C is wrong",
                 test_type_name(p->types.type), p->how, p->m, p->n, p->k, p->beta, p->device);
    for (int k = 0; k < ARRAYS; k++) {
        if (at[k] != r->x[k])
            assert_int_equal(weft_free(r->ctx, at[k]), WEFT_OK);
        free(r->x[k]);
    }
    free(r->right);
}

static void in_pieces(weft_context *ctx, size_t memory, const size_t (*shapes)[3], size_t count) {
    const size_t from = wi_gemm_panels_from, least = wi_gemm_panels_least;
    test_random random = test_random_at(11);
    wi_gemm_panels_from = 64;
    wi_gemm_panels_least = PIECE;
    for (size_t s = 0; s < count; s++)
        for (size_t t = 0; t < PAIRS; t++) {
            if ((s + t) % 3 != 0 || (memory && t > 1))
                continue;
            rig r = {.ctx = ctx,
                     .p = {.types = pairs[t],
                           .how = (unsigned)test_below(&random, 8),
                           .m = shapes[s][0],
                           .n = shapes[s][1],
                           .k = shapes[s][2],
                           .alpha = 1,
                           .beta = (double)test_below(&random, 2),
                           .device = memory ? 0 : (unsigned)test_below(&random, 7)}};
            fill(&r, &random);
            emu_set_memory(memory);
            run_case(&r);
            emu_set_memory(0);
        }
    wi_gemm_panels_from = from;
    wi_gemm_panels_least = least;
}

static void test_pieces(void **state) {
    (void)state;
    weft_context *const ctx = test_open(TEST_GPU);
    static const size_t shapes[][3] = {{70, 50, 40}, {33, 60, 20}, {60, 5, 9}};
    in_pieces(ctx, 0, shapes, sizeof shapes / sizeof *shapes);
    weft_close(ctx);
}

/* The device cannot hold all of A nor, for some shapes, all of k. */
static void test_little_memory(void **state) {
    (void)state;
    weft_context *const ctx = test_open(TEST_GPU);
    static const size_t shapes[][3] = {{17, 16, 400}, {20, 30, 24}, {20, 50, 24}, {200, 33, 50}};
    in_pieces(ctx, (size_t)128 << 10, shapes, sizeof shapes / sizeof *shapes);
    weft_close(ctx);
}

int main(void) {
    const char *places[TEST_MAX_PLACES];
    bool gpu = false;
    for (size_t k = 0, count = test_places(places); k < count; k++)
        gpu = gpu || test_place_is_gpu(places[k]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_little_memory),
    };
    return gpu ? cmocka_run_group_tests_name("gemm_panels", tests, NULL, NULL) : 0;
}
#else
/* Larger than the least that is done in pieces, with a remainder in each direction. */
static void on_host(weft_context *ctx) {
    const size_t m = 2100, n = 2500, k = 1700;
    if (ctx->kind != WI_CUDA)
        return;
    float *const a = malloc(m * k * 4), *const b = malloc(k * n * 4), *const c = malloc(m * n * 4),
                 *const right = malloc(m * n * 4);
    assert_true(a && b && c && right);
    test_random random = test_random_at(1);
    test_fill(&random, TEST_SMALL, WEFT_F32, m * k, a);
    test_fill(&random, TEST_SMALL, WEFT_F32, k * n, b);
    weft_context *const cpu = test_open("cpu");
    assert_int_equal(weft_gemm(cpu, 0, WEFT_F32, WEFT_F32, m, n, k, 1, a, m, b, k, 0, right, m),
                     WEFT_OK);
    weft_close(cpu);
    assert_int_equal(weft_gemm(ctx, 0, WEFT_F32, WEFT_F32, m, n, k, 1, a, m, b, k, 0, c, m),
                     WEFT_OK);
    assert_memory_equal(c, right, m * n * 4);
    free(a);
    free(b);
    free(c);
    free(right);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(on_host)};
    return cmocka_run_group_tests_name("gemm_panels", tests, NULL, NULL);
}
#endif
