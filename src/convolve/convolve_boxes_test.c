/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of rows and fused that are made for large images of f32 (convolve_cuda_boxes.cu,
 * convolve_cuda_tall.cu): the bits of other rungs at the same place, for sizes about those of a
 * tile, every border, several images and rows that begin anywhere, with nothing written beside the
 * images. */
#include <stdlib.h>
#include <string.h>

#include "convolve/convolve.h"
#include "testing.h"
#include "weft/weft.h"

enum {
    MOST_SIDE = 33,
    DENSE_SIDE = 7,        /* filters with more rows are separable, ... */
    TALL_PIXELS = 2000000, /* ... their images smaller */
    MARK = 0x5a
};

typedef struct shape {
    size_t width, height, images;
} shape;

static const shape shapes[] = {
    {256, 16, 1}, {260, 33, 1}, {516, 70, 1},    {1028, 7, 2},    {4, 40, 3},
    {255, 31, 1}, {301, 50, 2}, {1, 1, 1},       {3004, 3001, 1}, {16, 40, 1},
    {272, 50, 2}, {528, 17, 1}, {1040, 1001, 1},
};
static const size_t sides[] = {3, 5, 7, 17, 21, 25, 33};

static double weights[MOST_SIDE * MOST_SIDE];

static void draw(test_random *random, size_t side, bool is_separable) {
    double row[MOST_SIDE];
    for (size_t i = 0; i < side; i++)
        row[i] = test_unit(random);
    for (size_t j = 0; j < side; j++) {
        const double column = test_unit(random);
        for (size_t i = 0; i < side; i++)
            weights[j * side + i] = is_separable ? column * row[i] : test_unit(random);
    }
}

/* Runs the call by a rung on copies that begin `offset` elements behind the memory's begin. False
 * if the rung cannot do it. */
static bool run_by(weft_context *ctx, const char *rung, const weft_convolution *c, const float *x,
                   float *memory[2], size_t offset, size_t n, float *y) {
    memset(y, MARK, n * sizeof *y);
    assert_int_equal(weft_copy(ctx, memory[0] + offset, x, n * sizeof *x), WEFT_OK);
    assert_int_equal(weft_copy(ctx, memory[1], y, n * sizeof *y), WEFT_OK);
    assert_int_equal(weft_use(ctx, "convolve", rung), WEFT_OK);
    const weft_status status = weft_convolve(ctx, c, memory[0] + offset, memory[1]);
    assert_int_equal(weft_use(ctx, "convolve", NULL), WEFT_OK);
    if (status == WEFT_EUNSUPPORTED)
        return false;
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(weft_copy(ctx, y, memory[1], n * sizeof *y), WEFT_OK);
    return true;
}

static void run_shape(weft_context *ctx, test_random *random, const shape *s, size_t side, int t) {
    const bool is_separable = t % 2, is_tidy = t % 3 > 0;
    const weft_border border = (weft_border)(is_tidy ? 0 : test_below(random, 5));
    const size_t ld = is_tidy ? (s->width + 3) / 4 * 4 : s->width + test_below(random, 5);
    const size_t offset = is_tidy ? 0 : test_below(random, 4), n = ld * s->height * s->images;
    if (border == WEFT_BORDER_VALID && (s->width < side || s->height < side))
        return;
    if (side > DENSE_SIDE && (!is_separable || s->width * s->height > TALL_PIXELS))
        return;
    const weft_convolution c = {.type = WEFT_F32,
                                .out = WEFT_F32,
                                .width = s->width,
                                .height = s->height,
                                .channels = 1,
                                .images = s->images,
                                .ldx = ld,
                                .ldy = ld,
                                .apart_x = s->height,
                                .apart_y = s->height,
                                .border = border,
                                .how = is_separable ? 0 : WEFT_DENSE,
                                .filter_width = side,
                                .filter_height = side,
                                .filter = weights};
    float *memory[2], *const x = malloc(n * sizeof *x);
    float *const right = malloc(n * sizeof *x), *const y = malloc(n * sizeof *x);
    assert_true(x && right && y);
    test_fill(random, TEST_ANY, WEFT_F32, n, x);
    draw(random, side, is_separable);
    for (int k = 0; k < 2; k++)
        assert_int_equal(weft_alloc(ctx, (void **)&memory[k], (n + 4) * sizeof *x), WEFT_OK);
    if (run_by(ctx, is_separable ? "fused" : "rows", &c, x, memory, offset, n, y)) {
        assert_true(
            run_by(ctx, is_separable ? "two_pass" : "blocks", &c, x, memory, offset, n, right));
        for (size_t k = 0; k < n; k++)
            if (memcmp(&y[k], &right[k], sizeof *y) != 0 && !(y[k] != y[k] && right[k] != right[k]))
                fail_msg(
                    "%zu x %zu, %zu images, ld %zu, offset %zu, border %d, side %zu%s: element "
                    "%zu is %.9g, not %.9g",
                    s->width, s->height, s->images, ld, offset, (int)border, side,
                    is_separable ? ", separable" : "", k, (double)y[k], (double)right[k]);
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(weft_free(ctx, memory[k]), WEFT_OK);
    free(x);
    free(right);
    free(y);
}

static void all_shapes(weft_context *ctx) {
    test_random random = test_random_at(1);
    if (ctx->kind == WI_CPU)
        return;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        if (!test_size_wanted(shapes[k].width * shapes[k].height * shapes[k].images))
            continue;
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
            for (int t = 0; t < 6; t++)
                run_shape(ctx, &random, &shapes[k], sides[s], t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_shapes),
    };
    return cmocka_run_group_tests_name("convolve_boxes", tests, NULL, NULL);
}
