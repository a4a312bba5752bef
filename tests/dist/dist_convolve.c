/* SPDX-License-Identifier: Apache-2.0 */
/* convolve over ranks: bands of rows, filters that reach over several ranks and beyond the border;
 * and images of each rank's own. Bits are those of one place. */
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "weft/convolve.h"

enum {
    MOST_WEIGHTS = 1200,
    BORDERS = 5,
    PAD = 3
};

static const weft_type types[] = {WEFT_F32, WEFT_U8, WEFT_U16, WEFT_F16, WEFT_F64};
static double weights[MOST_WEIGHTS];

static weft_convolution draw(test_random *r, size_t height) {
    static const size_t sides[] = {1, 3, 2, 5, 7, 12};
    const size_t columns = sides[dist_draw(r, 5)], square = dist_draw(r, 3) == 0;
    weft_convolution c = {.type = types[dist_draw(r, 5)],
                          .out = types[dist_draw(r, 5)],
                          .width = 1 + dist_draw(r, 20),
                          .height = height,
                          .channels = 1 + (unsigned)dist_draw(r, 3),
                          .images = 1 + dist_draw(r, 3),
                          .border = (weft_border)dist_draw(r, BORDERS),
                          .how = (unsigned)dist_draw(r, 2) * WEFT_CORRELATE,
                          .filter_width = columns,
                          .filter_height = square ? columns : sides[dist_draw(r, 6)],
                          .filter = weights};
    if (dist_draw(r, 3) == 0)
        c.filters = c.channels * (1 + dist_draw(r, 2));
    const bool separable = dist_draw(r, 2);
    for (size_t k = 0; k < MOST_WEIGHTS; k++)
        weights[k] = separable ? 0.25 : (double)dist_draw(r, 9) / 8 - 0.5;
    return c;
}

static size_t out_rows(const weft_convolution *c, size_t rows) {
    const bool valid = c->border == WEFT_BORDER_VALID;
    return !valid ? rows : rows < c->filter_height ? 0 : rows - c->filter_height + 1;
}

/* Rows of one image after the other, of a whole, and those of this rank without gaps. */
static dist_array take_rows(test_random *r, const unsigned char *whole, size_t row, size_t images,
                            size_t apart, dist_part part) {
    unsigned char *const own = malloc(images * part.n * row + 1);
    assert_non_null(own);
    for (size_t k = 0; k < images && part.n > 0; k++)
        memcpy(own + k * part.n * row, whole + (k * apart + part.first) * row, part.n * row);
    const dist_array a = dist_take(r, own, images * part.n * row);
    free(own);
    return a;
}

static void expect_rows(const dist_array *a, const unsigned char *whole, size_t row, size_t images,
                        size_t apart, dist_part part) {
    unsigned char *const own = malloc(images * part.n * row + 1);
    assert_non_null(own);
    for (size_t k = 0; k < images && part.n > 0; k++)
        memcpy(own + k * part.n * row, whole + (k * apart + part.first) * row, part.n * row);
    dist_expect(a, own, images * part.n * row, "weft_convolve");
    free(own);
}

/* The rows of y of a rank that has these of x. */
static dist_part outputs(const weft_convolution *c, dist_part rows, size_t height) {
    const size_t down = c->filter_height / 2;
    const size_t above = c->how & WEFT_CORRELATE ? down : c->filter_height - 1 - down;
    const size_t end = above + out_rows(c, height);
    if (c->border != WEFT_BORDER_VALID)
        return rows;
    const size_t first = rows.first > above ? rows.first : above;
    const size_t last = rows.first + rows.n < end ? rows.first + rows.n : end;
    return last > first ? (dist_part){first - above, last - first} : (dist_part){0, 0};
}

static void band_case(test_random *r, dist_shape shape, size_t height) {
    weft_convolution c = draw(r, height);
    const dist_part rows = dist_deal(r, shape, height), own = outputs(&c, rows, height);
    const size_t across = c.border == WEFT_BORDER_VALID ? c.filter_width - 1 : 0;
    const size_t out_width = c.width > across ? c.width - across : 0, down = out_rows(&c, height);
    c.ldx = c.width * c.channels + dist_draw(r, PAD);
    c.ldy = out_width * c.channels + dist_draw(r, PAD);
    const size_t row_x = c.ldx * test_size_of(c.type), row_y = c.ldy * test_size_of(c.out);
    unsigned char *const x = dist_whole(r, TEST_ANY, c.type, c.images * height * c.ldx);
    unsigned char *const y = dist_whole(r, TEST_SMALL, c.out, c.images * down * c.ldy);
    dist_array dx = take_rows(r, x, row_x, c.images, height, rows);
    dist_array dy = take_rows(r, y, row_y, c.images, down, own);
    dist_ok(dist_one, weft_convolve(dist_one, &c, x, y));
    c.height = rows.n;
    dist_ok(dist_ctx, weft_convolve(dist_ctx, &c, dx.p, dy.p));
    expect_rows(&dy, y, row_y, c.images, down, own);
    dist_give(&dx), dist_give(&dy);
    free(x), free(y);
}

/* Images of each rank's own, all with one filter or one for each channel. */
static void own_case(test_random *r, dist_shape shape, size_t images) {
    weft_convolution c = draw(r, 6);
    const dist_part part = dist_deal(r, shape, images);
    c.images = images;
    c.how |= WEFT_OWN_IMAGES;
    c.filters = c.filters ? c.channels : 0;
    c.border = WEFT_BORDER_WRAP;
    const size_t of_x = c.width * c.height * c.channels * test_size_of(c.type);
    const size_t of_y = c.width * c.height * c.channels * test_size_of(c.out);
    unsigned char *const x = dist_whole(r, TEST_ANY, c.type, images * of_x / test_size_of(c.type));
    unsigned char *const y = dist_whole(r, TEST_SMALL, c.out, images * of_y / test_size_of(c.out));
    dist_array dx = dist_take(r, x + part.first * of_x, part.n * of_x);
    dist_array dy = dist_take(r, y + part.first * of_y, part.n * of_y);
    dist_ok(dist_one, weft_convolve(dist_one, &c, x, y));
    c.images = part.n;
    dist_ok(dist_ctx, weft_convolve(dist_ctx, &c, dx.p, dy.p));
    dist_expect(&dy, y + part.first * of_y, part.n * of_y, "weft_convolve of own images");
    dist_give(&dx), dist_give(&dy);
    free(x), free(y);
}

static void refusals(void) {
    weft_convolution c = {.type = WEFT_U8,
                          .out = WEFT_U8,
                          .width = 1,
                          .height = 1,
                          .channels = 1,
                          .images = 1,
                          .filter_width = 1,
                          .filter_height = 1,
                          .filter = weights};
    uint8_t x = 3, y = 7;
    const bool wrong = dist_rank == dist_ranks - 1;
    test_refused(dist_ctx, weft_convolve(dist_ctx, wrong ? NULL : &c, &x, &y),
                 wrong ? WEFT_EARG : WEFT_ECOMM, "weft_convolve", wrong ? "c" : "rank");
    test_refused(dist_ctx, weft_convolve(dist_ctx, &c, wrong ? NULL : &x, &y),
                 wrong ? WEFT_EARG : WEFT_ECOMM, "weft_convolve", wrong ? "x" : "rank");
    c.images = 1 + (size_t)wrong;
    if (dist_ranks > 1)
        test_refused(dist_ctx, weft_convolve(dist_ctx, &c, &x, &y), WEFT_EARG, "weft_convolve",
                     "WEFT_OWN_IMAGES");
    assert_int_equal(y, 7);
    c.images = 1;
    weights[0] = 2;
    dist_ok(dist_ctx, weft_convolve(dist_ctx, &c, &x, &y));
    assert_int_equal(y, 6);
}

void dist_test_convolve(void **state) {
    (void)state;
    static const size_t heights[] = {0, 1, 3, 9, 30, 64};
    const size_t rounds = dist_ctx->gpu ? 1 : 6;
    test_random r = test_random_at(84);
    for (size_t round = 0; round < rounds; round++)
        for (size_t k = 0; k < sizeof heights / sizeof *heights; k++)
            for (int shape = 0; shape < DIST_SHAPES; shape++) {
                if (!dist_wanted(round + k, shape, heights[k]))
                    continue;
                band_case(&r, (dist_shape)shape, heights[k]);
                if (heights[k] < 10)
                    own_case(&r, (dist_shape)shape, heights[k]);
            }
    assert_string_equal(weft_used(dist_ctx, "convolve"), "ranks");
    if (!dist_on_gpus())
        refusals();
}
