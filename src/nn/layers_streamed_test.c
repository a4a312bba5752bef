/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of large arrays, which a cpu writes past its caches unless they are made in place:
 * the same bits, and nothing beside the array. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    BEHIND = 64 /* elements that no call may write */
};

static float *take(size_t n) {
    float *const p = malloc((n + 1) * sizeof *p);
    assert_non_null(p);
    memset(p, 0xA5, (n + 1) * sizeof *p);
    return p + 1; /* no line begins here */
}

static void give(float *p) {
    free(p - 1);
}

static void compare(const float *streamed, const float *in_place, size_t n) {
    assert_memory_equal(streamed, in_place, n * sizeof *streamed);
    assert_memory_equal(streamed - 1, in_place - 1, sizeof *streamed);
    assert_memory_equal(streamed + n, in_place + n, BEHIND * sizeof *streamed);
}

static void large(void **state) {
    const size_t n = ((size_t)1 << 22) + 1001;
    weft_context *ctx = NULL;
    (void)state;
    if (!test_size_wanted(n))
        return;
    assert_int_equal(weft_open(&ctx, "cpu:2"), WEFT_OK);
    float *const x = take(n + BEHIND), *const y = take(n + BEHIND), *const z = take(n + BEHIND);
    test_random r = test_random_at(1);
    test_fill(&r, TEST_ANY, WEFT_F32, n, x);
    memcpy(z, x, n * sizeof *x);
    assert_int_equal(weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, n, x, y), WEFT_OK);
    assert_int_equal(weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, n, z, z), WEFT_OK);
    compare(y, z, n);
    memcpy(z, x, n * sizeof *x);
    memset(y, 0xA5, n * sizeof *y);
    assert_int_equal(weft_activation_backward(ctx, WEFT_RELU, WEFT_F32, n, x, x, y), WEFT_OK);
    assert_int_equal(weft_activation_backward(ctx, WEFT_RELU, WEFT_F32, n, x, z, z), WEFT_OK);
    compare(y, z, n);
    give(x);
    give(y);
    give(z);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large)};
    return cmocka_run_group_tests_name("layers_streamed", tests, NULL, NULL);
}
