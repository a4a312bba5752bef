/* SPDX-License-Identifier: Apache-2.0 */
/* Images in pinned memory, which the kernel of blend reads and writes over the link: the bits of
 * the same images in device memory, for lines that end within a vector, shorter and longer than
 * what all blocks have at a time, in place or not; and which images go so. */
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "testing.h"
#include "weft/weft.h"

#ifdef WEFT_CUDA
enum {
    IMAGES = 3, /* a, b, out */
    MOST = 700000,
    BESIDE = 64 /* bytes behind an image that must stay as they are */
};

static const size_t lengths[] = {1, 15, 16, 17, 8191, 8192, 40000, 100001, MOST};

typedef struct rig {
    weft_context *ctx;
    char *pinned[IMAGES], *device[IMAGES], *source[IMAGES], *right;
} rig;

static weft_blending line_of(weft_type type, size_t n) {
    return (weft_blending){
        .type = type, .width = n, .height = 1, .channels = 1, .weight_a = 0.3, .weight_b = 0.75};
}

/* Blends a and b to out, or to the place of a, from pinned memory and from the device's. */
static void check_line(rig *e, weft_type type, size_t n, bool in_place) {
    const weft_blending b = line_of(type, n);
    const size_t bytes = n * weft_type_size(type), all = bytes + BESIDE;
    const int out = in_place ? 0 : 2;
    for (int k = 0; k < IMAGES; k++) {
        memcpy(e->pinned[k], e->source[k], all);
        assert_int_equal(weft_copy(e->ctx, e->device[k], e->source[k], all), WEFT_OK);
    }
    assert_int_equal(weft_blend(e->ctx, &b, e->device[0], e->device[1], NULL, e->device[out]),
                     WEFT_OK);
    assert_int_equal(weft_copy(e->ctx, e->right, e->device[out], all), WEFT_OK);
    assert_int_equal(weft_blend(e->ctx, &b, e->pinned[0], e->pinned[1], NULL, e->pinned[out]),
                     WEFT_OK);
    assert_string_equal(weft_used(e->ctx, "stage"), "zero_copy");
    assert_memory_equal(e->pinned[out], e->right, all);
    assert_memory_equal(e->pinned[1], e->source[1], all);
}

/* An image in pageable memory, one that does not begin at a vector, and a mask are copied. */
static void check_copied(rig *e) {
    const weft_blending b = line_of(WEFT_U8, 1000);
    const char *const mask = e->pinned[2];
    char *const out = malloc(1000), *const at = e->pinned[0];
    assert_non_null(out);
    for (int k = 0; k < 3; k++) {
        const weft_status status =
            k == 0   ? weft_blend(e->ctx, &b, at, e->pinned[1], NULL, out)
            : k == 1 ? weft_blend(e->ctx, &b, at + 1, e->pinned[1], NULL, e->pinned[2])
                     : weft_blend(e->ctx, &b, at, e->pinned[1], mask, at);
        assert_int_equal(status, WEFT_OK);
        assert_string_not_equal(weft_used(e->ctx, "stage"), "zero_copy");
    }
    free(out);
}

static void all_lines(weft_context *ctx) {
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F32};
    const size_t room = (size_t)MOST + BESIDE;
    rig e = {.ctx = ctx, .right = malloc(room)};
    test_random random = test_random_at(1);
    if (!ctx->gpu) {
        free(e.right);
        return;
    }
    for (int k = 0; k < IMAGES; k++) {
        e.source[k] = malloc(room);
        assert_non_null(e.source[k]);
        test_fill(&random, TEST_ANY, WEFT_U8, room, e.source[k]);
        assert_int_equal(cudaHostAlloc((void **)&e.pinned[k], room, cudaHostAllocDefault), 0);
        assert_int_equal(weft_alloc(ctx, (void **)&e.device[k], room), WEFT_OK);
    }
    for (size_t s = 0; s < sizeof lengths / sizeof *lengths; s++) {
        const weft_type type = types[s % 3];
        const size_t n = lengths[s] / weft_type_size(type);
        if (n > 0 && test_size_wanted(n))
            for (int in_place = 0; in_place < 2; in_place++)
                check_line(&e, type, n, in_place);
    }
    check_copied(&e);
    for (int k = 0; k < IMAGES; k++) {
        free(e.source[k]);
        cudaFreeHost(e.pinned[k]);
        assert_int_equal(weft_free(ctx, e.device[k]), WEFT_OK);
    }
    free(e.right);
}
#endif

int main(void) {
#ifdef WEFT_CUDA
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(all_lines)};
    return cmocka_run_group_tests_name("blend_link", tests, NULL, NULL);
#else
    return 0;
#endif
}
