/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose sums may have any order. Which filters are sums of a few products, and that no other
 * is treated so: filters of rank 1, 2, 3 and more, of any rank, nearly of a low rank, very large
 * and very small; which variant a call takes, and what is refused. convolve_test.c checks the
 * outputs; here are those of images of bytes besides, with very large and very small weights, and
 * as bytes. */
#include <math.h>
#include <string.h>

#include "convolve/convolve_cost.h"
#include "convolve/convolve_terms.h"
#include "gemm/matrix_rig.h"

enum {
    MOST_WEIGHTS = 65 * 65
};

static double weights[MOST_WEIGHTS];

/* A filter with `rank` products of equal size; any filter if that is 0. */
static void draw(test_random *random, size_t width, size_t height, size_t rank) {
    for (size_t k = 0; k < width * height; k++)
        weights[k] = rank ? 0 : test_unit(random);
    for (size_t t = 0; t < rank; t++) {
        double row[MOST_WEIGHTS];
        for (size_t i = 0; i < width; i++)
            row[i] = test_unit(random);
        for (size_t j = 0; j < height; j++) {
            const double column = test_unit(random);
            for (size_t i = 0; i < width; i++)
                weights[j * width + i] += column * row[i];
        }
    }
}

static wi_convolve_args args_of(size_t width, size_t height, bool doubles) {
    return (wi_convolve_args){.doubles = doubles,
                              .filter_width = width,
                              .filter_height = height,
                              .filters = 1,
                              .filter = weights};
}

/* The terms that are found; those must be near the filter, and no more than are worth it. */
static size_t terms_of(size_t width, size_t height, bool doubles) {
    wi_convolve_args a = args_of(width, height, doubles);
    double *const room = malloc(wi_convolve_terms_room(&a) * sizeof *room);
    long double square = 0, off = 0;
    assert_non_null(room);
    wi_convolve_find_terms(&a, room);
    assert_true(a.terms * (width + height) < width * height || a.terms == 0);
    for (size_t k = 0; k < width * height && a.terms; k++) {
        long double error = -(long double)weights[k];
        for (size_t t = 0; t < a.terms; t++)
            error += (long double)a.term_columns[t * height + k / width] *
                     a.term_rows[t * width + k % width];
        square += (long double)weights[k] * weights[k];
        off += error * error;
    }
    assert_true(sqrtl(off) <= (doubles ? 0x1p-49L : 0x1p-22L) * 1.001L * sqrtl(square));
    free(room);
    return a.terms;
}

static void ranks(void **state) {
    static const size_t sides[][2] = {{9, 9}, {33, 17}, {17, 33}, {65, 65}, {37, 8}};
    test_random random = test_random_at(1);
    (void)state;
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (size_t rank = 1; rank < 12; rank++)
            for (int doubles = 0; doubles < 2; doubles++) {
                const size_t w = sides[s][0], h = sides[s][1];
                const bool pays = rank <= WI_CONVOLVE_MOST_TERMS && rank * (w + h) < w * h;
                draw(&random, w, h, rank);
                assert_int_equal(terms_of(w, h, doubles), pays ? rank : 0);
                draw(&random, w, h, 0);
                assert_int_equal(terms_of(w, h, doubles), 0);
            }
}

/* What is missing to the rank is more than 2^-19 (2^-46) of the filter, or less than 2^-25 (2^-52).
 */
static void nearly(void **state) {
    test_random random = test_random_at(1);
    (void)state;
    for (int doubles = 0; doubles < 2; doubles++) {
        draw(&random, 17, 17, 3);
        weights[100] += doubles ? 0x1p-43 : 0x1p-16;
        assert_int_not_equal(terms_of(17, 17, doubles), 3);
        draw(&random, 17, 17, 3);
        weights[100] += doubles ? 0x1p-53 : 0x1p-25;
        assert_int_equal(terms_of(17, 17, doubles), 3);
    }
}

/* Powers of 2 change nothing; what the type of the sums cannot hold is not treated so. */
static void scaled(void **state) {
    static const int exponents[] = {-1060, -1000, -400, -140, -60, 100, 400, 1000};
    test_random random = test_random_at(1);
    (void)state;
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
        for (int doubles = 0; doubles < 2; doubles++) {
            draw(&random, 17, 17, 2);
            for (size_t k = 0; k < 17 * 17; k++)
                weights[k] = ldexp(weights[k], exponents[e]);
            const bool held = abs(exponents[e]) <= (doubles ? 1000 : 100);
            assert_int_equal(terms_of(17, 17, doubles), held ? 2 : 0);
        }
}

/* ---- which variant a call takes ---- */

static const char *chosen(weft_context *ctx, size_t side, unsigned how, size_t size) {
    static double room[MOST_WEIGHTS * 4];
    wi_convolve_args a = args_of(side, side, false);
    a.type = a.out = WEFT_F32;
    a.any_order = how & WEFT_ANY_ORDER;
    a.channels = 1;
    a.images = 1;
    a.width = a.height = a.out_width = a.out_height = size;
    if (a.any_order && !(how & WEFT_DENSE))
        wi_convolve_find_terms(&a, room);
    return wi_pick(ctx, &wi_convolve_ladder, WEFT_F32, &a)->name;
}

static bool is_low_rank(const char *name) {
    return strncmp(name, "low_rank", strlen("low_rank")) == 0;
}

/* Where few terms pay, and nowhere else. */
static void choice(weft_context *ctx) {
    test_random random = test_random_at(1);
    test_use(ctx, "convolve", NULL);
    draw(&random, 33, 33, 2);
    assert_true(is_low_rank(chosen(ctx, 33, WEFT_ANY_ORDER, 4096)));
    assert_false(is_low_rank(chosen(ctx, 33, WEFT_ANY_ORDER | WEFT_DENSE, 4096)));
    assert_false(is_low_rank(chosen(ctx, 33, 0, 4096)));
    draw(&random, 33, 33, 0);
    assert_false(is_low_rank(chosen(ctx, 33, WEFT_ANY_ORDER, 4096)));
    draw(&random, 3, 3, 2);
    assert_false(is_low_rank(chosen(ctx, 3, WEFT_ANY_ORDER, 4096)));
}

/* Calls by name: refused where the filter or the flags do not allow it. */
static void forced(weft_context *ctx) {
    static float x[400], y[400];
    test_random random = test_random_at(1);
    weft_convolution c = {.type = WEFT_F32,
                          .out = WEFT_F32,
                          .width = 20,
                          .height = 20,
                          .channels = 1,
                          .images = 1,
                          .how = WEFT_ANY_ORDER,
                          .filter_width = 17,
                          .filter_height = 17,
                          .filter = weights};
    assert_int_equal(weft_use(ctx, "convolve", "low_rank"), WEFT_OK);
    y[0] = 2;
    draw(&random, 17, 17, 0);
    test_refused(ctx, weft_convolve(ctx, &c, x, y), WEFT_EUNSUPPORTED, "weft_convolve", "few");
    draw(&random, 17, 17, 2);
    c.how = 0;
    test_refused(ctx, weft_convolve(ctx, &c, x, y), WEFT_EUNSUPPORTED, "weft_convolve",
                 "WEFT_ANY_ORDER");
    c.how = WEFT_ANY_ORDER | WEFT_DENSE;
    test_refused(ctx, weft_convolve(ctx, &c, x, y), WEFT_EUNSUPPORTED, "weft_convolve",
                 "WEFT_DENSE");
    assert_true(y[0] == 2);
    c.how = WEFT_ANY_ORDER;
    assert_int_equal(weft_convolve(ctx, &c, x, y), WEFT_OK);
    assert_string_equal(weft_used(ctx, "convolve"), "low_rank");
    test_use(ctx, "convolve", NULL);
}

/* ---- transforms ---- */

static wi_convolve_args large_call(bool any_order, const double *filter) {
    return (wi_convolve_args){.type = WEFT_F32,
                              .out = WEFT_F32,
                              .any_order = any_order,
                              .channels = 1,
                              .width = 8192,
                              .height = 8192,
                              .out_width = 8192,
                              .out_height = 8192,
                              .images = 1,
                              .filter_width = 129,
                              .filter_height = 129,
                              .filters = 1,
                              .filter = filter};
}

/* A large filter goes by transforms where the call allows it; a small one does not. */
static void transforms(weft_context *ctx) {
    const float x[9] = {1};
    float y[9] = {2};
    const wi_convolve_args may = large_call(true, weights), must = large_call(false, weights);
    wi_convolve_args small = may;
    small.filter_width = small.filter_height = 3;
    test_use(ctx, "convolve", NULL);
    assert_string_equal(wi_pick(ctx, &wi_convolve_ladder, WEFT_F32, &may)->name, "transforms");
    assert_string_not_equal(wi_pick(ctx, &wi_convolve_ladder, WEFT_F32, &must)->name, "transforms");
    assert_string_not_equal(wi_pick(ctx, &wi_convolve_ladder, WEFT_F32, &small)->name,
                            "transforms");
    const weft_convolution c = {.type = WEFT_F32,
                                .out = WEFT_F32,
                                .width = 3,
                                .height = 3,
                                .channels = 1,
                                .images = 1,
                                .filter_width = 3,
                                .filter_height = 3,
                                .filter = weights};
    assert_int_equal(weft_use(ctx, "convolve", "transforms"), WEFT_OK);
    test_refused(ctx, weft_convolve(ctx, &c, x, y), WEFT_EUNSUPPORTED, "weft_convolve",
                 "WEFT_ANY_ORDER");
    assert_true(y[0] == 2);
    test_use(ctx, "convolve", NULL);
}

/* Threads are worth it by the bytes of the tiles, not by how many numbers they have: 640 x 640
 * pixels fill 1.6 MiB and more, so two threads take about half as long as one. */
static void transforms_share(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    assert_int_equal(weft_open(&ctx, "cpu:2"), WEFT_OK);
    weft_context one = *ctx;
    one.threads = 1;
    wi_convolve_args a = large_call(true, weights);
    a.width = a.height = a.out_width = a.out_height = 640;
    a.filter_width = a.filter_height = 33;
    for (int doubles = 0; doubles < 2; doubles++) {
        a.doubles = doubles;
        const double by_two = wi_convolve_transforms_seconds(ctx, &a);
        const double by_one = wi_convolve_transforms_seconds(&one, &a);
        if (!(by_two < 0.7 * by_one))
            fail_msg("%s: %g s are predicted for two threads, %g for one", doubles ? "f64" : "f32",
                     by_two, by_one);
    }
    weft_close(ctx);
}

/* ---- weights of bytes ---- */

/* Some variants multiply them by 2^24, and have to leave calls that this is too much for. */
static void byte_weights(weft_context *ctx) {
    enum {
        WIDTH = 70,
        HEIGHT = 9,
        COUNT = WIDTH * HEIGHT
    };
    static const int exponents[] = {-140, -1, 100, 101, 119};
    static uint8_t x[COUNT];
    static float y[COUNT];
    double filter[25] = {0};
    test_use(ctx, "convolve", NULL);
    for (size_t k = 0; k < COUNT; k++)
        x[k] = (uint8_t)(k * 37);
    for (size_t e = 0; e < 2 * sizeof exponents / sizeof *exponents; e++) {
        const int exponent = exponents[e / 2];
        const weft_convolution c = {.type = WEFT_U8,
                                    .out = WEFT_F32,
                                    .width = WIDTH,
                                    .height = HEIGHT,
                                    .channels = 1,
                                    .images = 1,
                                    .how = e % 2 ? WEFT_DENSE : 0,
                                    .filter_width = 5,
                                    .filter_height = 5,
                                    .filter = filter};
        filter[12] = ldexp(1, exponent);
        assert_int_equal(weft_convolve(ctx, &c, x, y), WEFT_OK);
        for (size_t k = 0; k < COUNT; k++)
            if (!(y[k] == ldexpf(x[k], exponent)))
                fail_msg("%s: 2^%d times %u is %g", weft_used(ctx, "convolve"), exponent, x[k],
                         (double)y[k]);
    }
}

/* Bytes are those floats, rounded and cut to their range, which other kernels may write; whatever
 * part of a lane's elements a row ends with, nothing lies beyond it. */
static void byte_outputs(weft_context *ctx) {
    enum {
        MOST = 2112,
        HEIGHT = 13,
        MARK = 0x5a
    };
    static const size_t widths[] = {1, 31, 64, 340, 701};
    static uint8_t x[MOST * HEIGHT], y[MOST * HEIGHT];
    static float exact[MOST * HEIGHT];
    test_random random = test_random_at(1);
    for (size_t k = 0; k < MOST * HEIGHT; k++)
        x[k] = (uint8_t)test_below(&random, 256);
    for (size_t t = 0; t < 8 * sizeof widths / sizeof *widths; t++) {
        const size_t side = t & 1 ? 5 : 3, channels = t & 2 ? 3 : 1, rank = t & 4 ? 1 : 0;
        const size_t row = widths[t / 8] * channels, ld = (row + 15) / 16 * 16;
        weft_convolution c = {.type = WEFT_U8,
                              .out = WEFT_F32,
                              .width = widths[t / 8],
                              .height = HEIGHT,
                              .channels = (unsigned)channels,
                              .images = 1,
                              .ldx = ld,
                              .ldy = ld,
                              .border = WEFT_BORDER_REFLECT,
                              .filter_width = side,
                              .filter_height = side,
                              .filter = weights};
        draw(&random, side, side, rank);
        memset(y, MARK, sizeof y);
        assert_int_equal(weft_convolve(ctx, &c, x, exact), WEFT_OK);
        c.out = WEFT_U8;
        assert_int_equal(weft_convolve(ctx, &c, x, y), WEFT_OK);
        for (size_t k = 0; k < ld * HEIGHT; k++) {
            const double low = exact[k] > 0 ? (double)exact[k] : 0, cut = low < 255 ? low : 255;
            const long right = k % ld < row ? lrint(cut) : MARK;
            if (y[k] != right)
                fail_msg("%s: %zu x %zu, width %zu, channels %zu: element %zu is %u, not %ld",
                         weft_used(ctx, "convolve"), side, side, widths[t / 8], channels, k, y[k],
                         right);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(nearly),
        cmocka_unit_test(scaled),
        TEST_ON_EACH_PLACE(choice),
        TEST_ON_EACH_PLACE(forced),
        TEST_ON_EACH_PLACE(transforms),
        cmocka_unit_test(transforms_share),
        TEST_ON_EACH_PLACE(byte_weights),
        TEST_ON_EACH_PLACE(byte_outputs),
    };
    return cmocka_run_group_tests_name("convolve_terms", tests, NULL, NULL);
}
