/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs tensor and quads of convolve. What they take a sum to be, at least and at most, holds for
 * all images of bytes, and is the sum where it is said to be exact. Images of several tiles are the
 * same as by another rung, rounded: at each border, with sums that are ties, and where all outputs
 * are in doubt. convolve_test.c has it with all kinds of calls. */
#include <math.h>
#include <string.h>

#include "convolve/convolve_units.h"
#include "testing.h"
#include "weft/weft.h"

enum {
    MOST_SIDE = 25,
    WEIGHTS = MOST_SIDE * MOST_SIDE,
    FILTERS = 5
};

static double filter[WEIGHTS], column[MOST_SIDE], row[MOST_SIDE];

/* Filters of all kinds: any; a blur; whole numbers; halves of them; sums that are halves. */
static void draw(test_random *random, int kind, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const double any = test_unit(random), whole = (double)test_below(random, 7) - 3;
        const double kinds[FILTERS] = {any, (1 + any / 2) / (double)n, whole, whole / 2,
                                       0.5 / (double)n};
        filter[k] = kinds[kind];
    }
}

/* ---- the units ---- */

/* The weight of pixel k of a filter's window. */
static double weight_of(const wi_convolve_args *a, size_t k) {
    const size_t w = a->filter_width;
    return a->column ? (double)(float)a->column[k / w] * (float)a->row[k % w] : (float)a->filter[k];
}

/* The sum in the promised order, and by units. */
static float sum_in_order(const wi_convolve_args *a, const uint8_t *x) {
    float sum = 0;
    for (size_t j = 0; j < a->filter_height; j++) {
        float filtered = a->column ? 0 : sum;
        for (size_t i = 0; i < a->filter_width; i++) {
            const size_t k = j * a->filter_width + i;
            filtered = fmaf((float)(a->column ? a->row[i] : a->filter[k]), x[k], filtered);
        }
        sum = a->column ? fmaf((float)a->column[j], filtered, sum) : filtered;
    }
    return sum;
}
static double sum_of_units(const wi_convolve_args *a, const uint8_t *x, int shift) {
    double sum = 0;
    for (size_t k = 0; k < a->filter_width * a->filter_height; k++)
        sum += rint(ldexp(weight_of(a, k), shift)) * x[k];
    return sum;
}

/* Images that move sums far: bytes at random, or the largest where what units leave of a weight has
 * one sign, and 0 where it has the other. */
static void draw_window(test_random *random, const wi_convolve_args *a, int shift, int kind,
                        uint8_t *x) {
    for (size_t k = 0; k < a->filter_width * a->filter_height; k++) {
        const double weight = ldexp(weight_of(a, k), shift), rest = weight - rint(weight);
        x[k] = kind == 0 ? (uint8_t)test_below(random, 256) : (kind == 1) == (rest > 0) ? 255 : 0;
    }
}

static void check_units(test_random *random, const wi_convolve_args *a) {
    uint8_t x[WEIGHTS];
    wi_convolve_units u;
    assert_true(wi_convolve_find_units(a, &u));
    assert_true(u.shift >= 0 && u.shift <= WI_CONVOLVE_MOST_SHIFT);
    for (int t = 0; t < 12; t++) {
        draw_window(random, a, u.shift, t % 3, x);
        const double right = sum_in_order(a, x), sum = sum_of_units(a, x, u.shift);
        const double half = a->truncates ? 0 : ldexp(0.5, u.shift);
        assert_true(fabs(sum) + fabs((double)u.begin) + u.in_doubt < 0x1p31);
        if (u.is_exact)
            assert_true(ldexp(right, u.shift) == sum);
        else
            assert_true(sum + u.begin - u.in_doubt < ldexp(right, u.shift) + half &&
                        ldexp(right, u.shift) + half <= sum + u.begin);
    }
}

/* The same of finer units, whose sums are cut to 2^-16. */
static void check_fine_units(test_random *random, const wi_convolve_args *a) {
    uint8_t x[WEIGHTS];
    wi_convolve_units u;
    if (a->truncates || !wi_convolve_find_fine_units(a, &u))
        return;
    assert_true(u.shift == WI_CONVOLVE_FINE_SHIFT || u.shift == WI_CONVOLVE_COARSE_SHIFT);
    for (int t = 0; t < 12; t++) {
        draw_window(random, a, u.shift, t % 3, x);
        const double right = ldexp(sum_in_order(a, x), 16) + 0x8000;
        const double most = floor(ldexp(sum_of_units(a, x, u.shift), 16 - u.shift)) + u.begin;
        assert_true(fabs(most) + u.in_doubt < 0x1p31);
        assert_true(most - u.in_doubt < right && right <= most);
    }
}

static void units(void **state) {
    test_random random = test_random_at(1);
    (void)state;
    for (int t = 0; t < 400; t++) {
        const size_t w = 1 + test_below(&random, MOST_SIDE), h = 1 + test_below(&random, MOST_SIDE);
        wi_convolve_args a = {.filter_width = w, .filter_height = h, .filter = filter};
        a.truncates = t % 2;
        draw(&random, t % FILTERS, w * h);
        check_units(&random, &a);
        check_fine_units(&random, &a);
        for (size_t j = 0; j < h; j++)
            column[j] = filter[j];
        for (size_t i = 0; i < w; i++)
            row[i] = test_unit(&random);
        a.column = column;
        a.row = row;
        check_units(&random, &a);
    }
}

static void large_weights(void **state) {
    const double weights[] = {0x1p40, 1};
    wi_convolve_args a = {.filter_width = 2, .filter_height = 1, .filter = weights};
    wi_convolve_units u;
    (void)state;
    assert_false(wi_convolve_find_units(&a, &u));
    a.filter = weights + 1;
    a.filter_width = 1;
    assert_true(wi_convolve_find_units(&a, &u) && u.is_exact && u.is_short && u.shift == 0);
    for (int k = -2; k < 4; k++) { /* 1/4 to 8 */
        const double weight = ldexp(1, k);
        a.filter = &weight;
        assert_int_equal(wi_convolve_find_fine_units(&a, &u), k < 2);
        assert_true(k >= 2 ||
                    u.shift == (k < -1 ? WI_CONVOLVE_FINE_SHIFT : WI_CONVOLVE_COARSE_SHIFT));
    }
}

/* ---- images ---- */

enum {
    WIDTH = 208, /* bytes: more than a tile has, and a multiple of 16 */
    HEIGHT = 77,
    WIDE = 3120, /* the same for strips, and no multiple of their four rows */
    LOW = 11,
    PIXELS = WIDE * LOW
};
_Static_assert(WIDTH *HEIGHT <= PIXELS, "one size of arrays for both");

static bool has_tensor(weft_context *ctx) {
    const bool has = weft_use(ctx, "convolve", "tensor") == WEFT_OK;
    test_use(ctx, "convolve", NULL);
    return has;
}

/* By tensor or quads, and by any other rung as floats. False if this device has no such rung. */
static bool run_both(weft_context *ctx, weft_convolution c, const char *rung, const uint8_t *x,
                     uint8_t *y, float *exact) {
    c.ldx = c.ldy = c.width * c.channels;
    assert_int_equal(weft_use(ctx, "convolve", rung), WEFT_OK);
    const weft_status status = weft_convolve(ctx, &c, x, y);
    test_use(ctx, "convolve", NULL);
    if (status == WEFT_EUNSUPPORTED && strstr(weft_message(ctx), "capability"))
        return false;
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    c.out = WEFT_F32;
    assert_int_equal(weft_convolve(ctx, &c, x, exact), WEFT_OK);
    return true;
}

static void compare(weft_context *ctx, const weft_convolution *c, const uint8_t *dy,
                    const float *d_exact) {
    static uint8_t y[PIXELS];
    static float exact[PIXELS];
    assert_int_equal(weft_copy(ctx, y, dy, sizeof y), WEFT_OK);
    assert_int_equal(weft_copy(ctx, exact, d_exact, sizeof exact), WEFT_OK);
    for (size_t k = 0; k < c->width * c->height * c->channels * c->images; k++) {
        const double low = exact[k] > 0 ? (double)exact[k] : 0, cut = low < 255 ? low : 255;
        const double right = c->how & WEFT_TRUNCATE ? floor(cut) : nearbyint(cut);
        if (y[k] != (uint8_t)right)
            fail_msg("%zu x %zu, %u channels, border %d, how %#x: element %zu is %u, not %g (%.9g)",
                     c->filter_width, c->filter_height, c->channels, (int)c->border, c->how, k,
                     y[k], right, (double)exact[k]);
    }
}

enum {
    NARROW = 20, /* images */
    IMAGES = 64,
    TALL = 3
};

static void run_image(weft_context *ctx, test_random *random, int t, void *memory[3]) {
    static const size_t sides[][2] = {{3, 11}, {1, 4}, {3, 3}, {2, 5}, {5, 5},
                                      {4, 2},  {6, 3}, {9, 9}, {8, 7}};
    static uint8_t x[PIXELS], poison[PIXELS];
    const int kind = t % FILTERS;
    const bool is_wide = t >= NARROW;
    const size_t side = is_wide ? 1 + (size_t)t / 2 % 8 : (size_t)t / 2 % 4;
    const size_t w = sides[side][0], h = sides[side][1];
    const unsigned channels = is_wide ? (t / 4 % 2 ? 3 : 1) : t % 3 == 0 ? 4 : 1;
    draw(random, kind, w * h);
    memset(poison, 0x5a, sizeof poison);
    for (size_t k = 0; k < PIXELS; k++) /* an odd number everywhere: all sums are halves */
        x[k] = kind == 4 ? 101 : (uint8_t)test_below(random, 256);
    assert_int_equal(weft_copy(ctx, memory[0], x, sizeof x), WEFT_OK);
    assert_int_equal(weft_copy(ctx, memory[1], poison, sizeof poison), WEFT_OK);
    const weft_convolution c = {.type = WEFT_U8,
                                .out = WEFT_U8,
                                .width = (is_wide ? WIDE : WIDTH) / channels,
                                .height = is_wide ? LOW : HEIGHT,
                                .channels = channels,
                                .images = 1,
                                .border = (weft_border)(t % 4),
                                .how = (!is_wide && t % 2 ? WEFT_TRUNCATE : 0) |
                                       (is_wide || t % 7 ? WEFT_DENSE : 0),
                                .filter_width = w,
                                .filter_height = h,
                                .filter = filter};
    if (run_both(ctx, c, is_wide ? "quads" : "tensor", memory[0], memory[1], memory[2]))
        compare(ctx, &c, memory[1], memory[2]);
}

/* As many images as emu has blocks at once, so that one block has all 40 rows of an image, and
 * those that settle take turns. Where sums are ties, stretches with all in doubt alternate with
 * others. */
static void run_tall(weft_context *ctx, test_random *random, int t, void *memory[3]) {
    static const int kinds[TALL] = {1, 4, 0};
    static uint8_t x[PIXELS];
    const unsigned channels = t < 2 ? 3 : 1;
    const size_t side = t < 2 ? 5 : 7;
    draw(random, kinds[t], side * side);
    for (size_t k = 0; k < PIXELS; k++)
        x[k] = kinds[t] == 4 && k % 4096 < 2048 ? 101 : (uint8_t)test_below(random, 256);
    assert_int_equal(weft_copy(ctx, memory[0], x, sizeof x), WEFT_OK);
    const weft_convolution c = {.type = WEFT_U8,
                                .out = WEFT_U8,
                                .width = 48 / channels,
                                .height = 40,
                                .channels = channels,
                                .images = 16,
                                .border = WEFT_BORDER_REFLECT,
                                .how = WEFT_DENSE,
                                .filter_width = side,
                                .filter_height = side,
                                .filter = filter};
    if (run_both(ctx, c, "quads", memory[0], memory[1], memory[2]))
        compare(ctx, &c, memory[1], memory[2]);
}

static void images(weft_context *ctx) {
    test_random random = test_random_at(2);
    void *memory[3] = {NULL, NULL, NULL};
    if (!has_tensor(ctx))
        return;
    for (int k = 0; k < 3; k++)
        assert_int_equal(weft_alloc(ctx, &memory[k], PIXELS * (k == 2 ? sizeof(float) : 1)),
                         WEFT_OK);
    for (int t = 0; t < IMAGES; t++)
        run_image(ctx, &random, t, memory);
    for (int t = 0; t < TALL; t++)
        run_tall(ctx, &random, t, memory);
    for (int k = 0; k < 3; k++)
        assert_int_equal(weft_free(ctx, memory[k]), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(large_weights),
        TEST_ON_EACH_PLACE(images),
    };
    return cmocka_run_group_tests_name("convolve_tensor", tests, NULL, NULL);
}
