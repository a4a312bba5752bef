/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of staging that copies nothing: which calls it takes, that kernels get the caller's own
 * pinned memory, and that outputs are there when the call returns. */
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stage.h"
#include "testing.h"

#ifdef WEFT_CUDA
enum {
    BYTES = 100000
};

typedef struct seen {
    void *at[2];
    size_t elements;
    weft_status status; /* what the kernel's launch is to return */
} seen;

/* In place of a kernel: copies the first operand to the second. */
static weft_status look(weft_context *ctx, const void *user, size_t first, size_t rows, size_t cols,
                        void *const p[], const size_t ld[]) {
    seen *const s = *(seen *const *)user;
    (void)ld;
    memcpy(s->at, p, sizeof s->at);
    s->elements = first + rows * cols;
    if (s->status != WEFT_OK)
        return wi_fail(ctx, s->status, "as told");
    return wi_cuda(ctx,
                   cudaMemcpyAsync(p[1], p[0], rows * cols, cudaMemcpyDefault, ctx->gpu->stream),
                   "copying");
}

static weft_status run(weft_context *ctx, seen *s, char *x, char *y, bool *over_link) {
    seen *const user = s;
    const wi_stage_args args = {
        .call = "weft_mock",
        .rows = 1,
        .cols = BYTES,
        .operand = {{x, 1, BYTES, true, false}, {y, 1, BYTES, false, true}},
        .operands = 2,
        .run = look,
        .user = &user,
        .over_link = over_link,
    };
    return wi_stage_run(ctx, &args);
}

static void check_link(weft_context *ctx, char *x, char *y) {
    bool over_link = false;
    seen s = {.status = WEFT_OK};
    for (size_t k = 0; k < BYTES; k++)
        x[k] = (char)(k * 7 / 5);
    memset(y, TEST_POISON, BYTES);
    assert_int_equal(run(ctx, &s, x, y, &over_link), WEFT_OK);
    assert_string_equal(weft_used(ctx, "stage"), "zero_copy");
    assert_true(over_link);
    assert_ptr_equal(s.at[0], x);
    assert_ptr_equal(s.at[1], y);
    assert_int_equal(s.elements, BYTES);
    assert_memory_equal(y, x, BYTES);
    s.status = WEFT_ENOTSPD;
    assert_int_equal(run(ctx, &s, x, y, &over_link), WEFT_ENOTSPD);
    assert_string_equal(weft_message(ctx), "as told");
}

/* A call whose kernels do not say that they can, or with pageable memory, is copied, or refused if
 * the rung is forced. */
static void check_copied(weft_context *ctx, char *x, char *y, bool is_able) {
    bool over_link = false;
    seen s = {.status = WEFT_OK};
    memset(y, TEST_POISON, BYTES);
    assert_int_equal(run(ctx, &s, x, y, is_able ? &over_link : NULL), WEFT_OK);
    assert_string_not_equal(weft_used(ctx, "stage"), "zero_copy");
    assert_false(over_link);
    assert_ptr_not_equal(s.at[0], x);
    assert_memory_equal(y, x, BYTES);
    assert_int_equal(weft_use(ctx, "stage", "zero_copy"), WEFT_OK);
    assert_int_equal(run(ctx, &s, x, y, is_able ? &over_link : NULL), WEFT_EUNSUPPORTED);
    assert_int_equal(weft_use(ctx, "stage", NULL), WEFT_OK);
}

static void test_link(weft_context *ctx) {
    if (!ctx->gpu)
        return;
    char *x, *y, *const pageable = malloc(BYTES);
    assert_non_null(pageable);
    assert_int_equal(cudaHostAlloc((void **)&x, BYTES, cudaHostAllocDefault), 0);
    assert_int_equal(cudaHostAlloc((void **)&y, BYTES, cudaHostAllocDefault), 0);
    check_link(ctx, x, y);
    check_copied(ctx, x, y, false);
    check_copied(ctx, x, pageable, true);
    check_copied(ctx, pageable, y, true);
    cudaFreeHost(x);
    cudaFreeHost(y);
    free(pageable);
}
#endif

int main(void) {
#ifdef WEFT_CUDA
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(test_link)};
    return cmocka_run_group_tests_name("stage_link", tests, NULL, NULL);
#else
    return 0;
#endif
}
