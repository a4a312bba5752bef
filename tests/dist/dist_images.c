/* SPDX-License-Identifier: Apache-2.0 */
/* blend over ranks, each with rows of its own: the same bytes on every place. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/blend.h"

enum {
    A,
    B,
    MASK,
    OUT,
    IMAGES,
    PAD = 3
};

/* The rows of one image, as all ranks have them together. */
typedef struct image {
    unsigned char *p;
    size_t row; /* bytes from one to the next */
    dist_array own;
} image;

static image image_of(test_random *r, weft_type type, size_t height, size_t width, size_t *ld,
                      dist_part part) {
    *ld = width + dist_draw(r, PAD);
    image i = {.row = *ld * test_size_of(type)};
    i.p = dist_whole(r, TEST_SMALL, type, height * *ld);
    i.own = dist_take(r, i.p + part.first * i.row, part.n * i.row);
    return i;
}

static void blend_case(test_random *r, dist_shape shape, size_t height, size_t width) {
    static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F32};
    weft_blending b = {.type = types[dist_draw(r, 3)],
                       .width = width,
                       .height = height,
                       .channels = 1 + (unsigned)dist_draw(r, 4),
                       .weight_a = 0.75,
                       .weight_b = -1.5};
    const bool masked = dist_draw(r, 2);
    const dist_part part = dist_deal(r, shape, height);
    size_t *const ld[IMAGES] = {&b.lda, &b.ldb, &b.ldmask, &b.ldout};
    image x[IMAGES];
    for (int k = 0; k < IMAGES; k++)
        x[k] = image_of(r, b.type, height, width * (k == MASK ? 1 : b.channels), ld[k], part);
    dist_ok(dist_one,
            weft_blend(dist_one, &b, x[A].p, x[B].p, masked ? x[MASK].p : NULL, x[OUT].p));
    b.height = part.n;
    dist_ok(dist_ctx, weft_blend(dist_ctx, &b, x[A].own.p, x[B].own.p,
                                 masked ? x[MASK].own.p : NULL, x[OUT].own.p));
    dist_expect(&x[OUT].own, x[OUT].p + part.first * x[OUT].row, part.n * x[OUT].row, "weft_blend");
    for (int k = 0; k < IMAGES; k++) {
        dist_give(&x[k].own);
        free(x[k].p);
    }
}

void dist_test_blend(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{0, 5}, {5, 0}, {1, 1}, {1, 400}, {7, 33}, {60, 9}};
    test_random r = test_random_at(82);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            blend_case(&r, (dist_shape)shape, sizes[k][0], sizes[k][1]);
    assert_string_equal(weft_used(dist_ctx, "blend"), "ranks");
    const weft_blending wrong = {.type = WEFT_U8, .width = 1, .height = 1, .channels = 9};
    unsigned char pixel = 0;
    test_refused(dist_ctx, weft_blend(dist_ctx, &wrong, &pixel, &pixel, NULL, &pixel), WEFT_EARG,
                 "weft_blend", "channels");
    test_refused(dist_ctx, weft_blend(dist_ctx, NULL, &pixel, &pixel, NULL, &pixel), WEFT_EARG,
                 "weft_blend", "blending");
}
