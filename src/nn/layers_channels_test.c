/* SPDX-License-Identifier: Apache-2.0 */
/* Biases and batch normalisation on every place, of images with few channels or many, few pixels or
 * many, in memory that begins anywhere; against sums of the test's own. Where memory begins does
 * not change the bits. */
#include <math.h>
#include <string.h>

#include "testing.h"

enum {
    MOST = 36000, /* elements of an array */
    MOST_CHANNELS = 2100
};

/* Numbers of channels, in double. */
typedef struct numbers {
    double bias[MOST_CHANNELS], scale[MOST_CHANNELS], shift[MOST_CHANNELS], mean[MOST_CHANNELS],
        inverse[MOST_CHANNELS], dscale[MOST_CHANNELS], dshift[MOST_CHANNELS];
} numbers;

/* What the calls are given, or make. */
typedef struct results {
    double x[MOST], dy[MOST], y[MOST], biased[MOST], dx[MOST];
    numbers of;
} results;

static results right, found, before;

static size_t elements_of(const weft_images *x) {
    return x->n * x->c * x->h * x->w;
}

static size_t channel_of(const weft_images *x, size_t i) {
    return x->layout == WEFT_NCHW ? i / (x->h * x->w) % x->c : i % x->c;
}

/* ---- the oracle ---- */

static void make_right(const weft_images *x) {
    const size_t n = elements_of(x);
    const double m = (double)(x->n * x->h * x->w);
    static double squares[MOST_CHANNELS];
    numbers *const of = &right.of;
    memset(of->mean, 0, sizeof of->mean);
    memset(of->dshift, 0, sizeof of->dshift);
    memset(of->dscale, 0, sizeof of->dscale);
    memset(squares, 0, sizeof squares);
    for (size_t i = 0; i < n; i++) {
        const size_t c = channel_of(x, i);
        of->mean[c] += right.x[i] / m;
        of->dshift[c] += right.dy[i];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t c = channel_of(x, i);
        squares[c] += (right.x[i] - of->mean[c]) * (right.x[i] - of->mean[c]);
        of->dscale[c] += right.dy[i] * (right.x[i] - of->mean[c]);
    }
    for (size_t c = 0; c < x->c; c++) {
        of->inverse[c] = 1 / sqrt(squares[c] / m + 1);
        of->dscale[c] *= of->inverse[c];
        of->bias[c] = of->dshift[c];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t c = channel_of(x, i);
        const double z = (right.x[i] - of->mean[c]) * of->inverse[c];
        right.y[i] = z * of->scale[c] + of->shift[c];
        right.biased[i] = right.x[i] + of->shift[c];
        right.dx[i] =
            of->scale[c] * of->inverse[c] * (right.dy[i] - (of->dshift[c] + z * of->dscale[c]) / m);
    }
}

/* ---- the calls ---- */

/* An array of the place with the elements of `from`, or poison, some elements past a boundary. */
static test_buffer buffer_of(weft_context *ctx, weft_type type, size_t n, size_t offset,
                             const double *from) {
    static double narrow[MOST]; /* room for any type */
    const size_t size = test_size_of(type);
    test_buffer b = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * size + 64);
    for (size_t i = 0; from && i < n; i++)
        test_store(type, narrow, i, (test_value){.f = from[i]});
    if (from)
        test_buffer_load(&b, narrow, n * size, offset * size);
    else
        test_buffer_poison(&b, n * size, offset * size);
    return b;
}

static void take(test_buffer *b, weft_type type, const char *what, size_t n, double *to) {
    const void *const bytes = test_buffer_read(b, what);
    for (size_t i = 0; i < n; i++)
        to[i] = test_load(type, bytes, i).f;
    test_buffer_close(b);
}

static void make_found(weft_context *ctx, const weft_images *x, size_t offset) {
    const weft_type wide = x->type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    const size_t n = elements_of(x), c = x->c;
    test_buffer of_x = buffer_of(ctx, x->type, n, offset, right.x);
    test_buffer dy = buffer_of(ctx, x->type, n, offset, right.dy);
    test_buffer y = buffer_of(ctx, x->type, n, offset, NULL);
    test_buffer biased = buffer_of(ctx, x->type, n, offset, NULL);
    test_buffer dx = buffer_of(ctx, x->type, n, offset, NULL);
    test_buffer scale = buffer_of(ctx, wide, c, 0, right.of.scale);
    test_buffer shift = buffer_of(ctx, wide, c, 0, right.of.shift);
    test_buffer made[5];
    double *const to[] = {found.of.bias, found.of.mean, found.of.inverse, found.of.dscale,
                          found.of.dshift};
    for (int k = 0; k < 5; k++)
        made[k] = buffer_of(ctx, wide, c, 0, NULL);
    assert_int_equal(weft_bias_backward(ctx, x, dy.p, made[0].p), WEFT_OK);
    assert_int_equal(weft_bias_forward(ctx, x, of_x.p, shift.p, biased.p), WEFT_OK);
    assert_int_equal(weft_batch_norm_forward(ctx, x, 1, 0, of_x.p, scale.p, shift.p, y.p, made[1].p,
                                             made[2].p, NULL, NULL),
                     WEFT_OK);
    assert_int_equal(weft_batch_norm_backward(ctx, x, of_x.p, scale.p, made[1].p, made[2].p, dy.p,
                                              dx.p, made[3].p, made[4].p),
                     WEFT_OK);
    take(&y, x->type, "y", n, found.y);
    take(&biased, x->type, "x + bias", n, found.biased);
    take(&dx, x->type, "dx", n, found.dx);
    for (int k = 0; k < 5; k++)
        take(&made[k], wide, "numbers of channels", c, to[k]);
    test_buffer_close(&of_x);
    test_buffer_close(&dy);
    test_buffer_close(&scale);
    test_buffer_close(&shift);
}

/* ---- comparisons ---- */

static void compare(const weft_images *x, const char *what, size_t n, const double *now,
                    const double *correct, double room) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(now[i] - correct[i]) <= room * (1 + fabs(correct[i]))))
            fail_msg("%s[%zu] is %.17g, should be %.17g: layout %d, type %d, %zu x %zu x %zu x %zu",
                     what, i, now[i], correct[i], (int)x->layout, (int)x->type, x->n, x->c, x->h,
                     x->w);
}

static void compare_all(const weft_images *x, const results *to, bool exact) {
    const size_t n = elements_of(x);
    const double narrow = exact ? 0 : x->type == WEFT_F64 ? 1e-11 : 2e-5;
    const bool is_half = x->type == WEFT_F16 || x->type == WEFT_BF16;
    const double room = narrow + (is_half && !exact ? test_roundoff(x->type) : 0);
    compare(x, "gradient of the bias", x->c, found.of.bias, to->of.bias, 0);
    compare(x, "mean", x->c, found.of.mean, to->of.mean, narrow);
    compare(x, "inverse", x->c, found.of.inverse, to->of.inverse, narrow);
    compare(x, "dscale", x->c, found.of.dscale, to->of.dscale, narrow);
    compare(x, "dshift", x->c, found.of.dshift, to->of.dshift, 0);
    compare(x, "x + bias", n, found.biased, to->biased, room);
    compare(x, "y", n, found.y, to->y, room);
    compare(x, "dx", n, found.dx, to->dx, room);
}

/* Whole numbers, whose sums are exact. */
static void try_case(weft_context *ctx, test_random *r, const weft_images *x) {
    const size_t n = elements_of(x), offset = 1 + test_below(r, 3);
    assert_true(n <= MOST && x->c <= MOST_CHANNELS);
    for (size_t i = 0; i < n; i++) {
        right.x[i] = (double)test_below(r, 9) - 4;
        right.dy[i] = (double)test_below(r, 33) - 16;
    }
    for (size_t c = 0; c < x->c; c++) {
        right.of.scale[c] = (double)test_below(r, 9) - 4;
        right.of.shift[c] = (double)test_below(r, 9) / 4;
    }
    make_right(x);
    make_found(ctx, x, 0);
    compare_all(x, &right, false);
    before = found;
    make_found(ctx, x, offset);
    compare_all(x, &before, true);
}

/* Channels and planes around what vectors, rows and blocks of a GPU take. */
static void drawn(weft_context *ctx) {
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    static const size_t channels[] = {1, 3, 4, 8, 12, 16, 33, 64, 520, 521};
    test_random r = test_random_at(1);
    const size_t count = ctx->kind == WI_CPU ? 60 : 16, each = ctx->kind == WI_CPU ? MOST : 4400;
    for (size_t k = 0; k < count; k++) {
        weft_images x = {.type = types[k % 4], .layout = k / 4 % 2 ? WEFT_NHWC : WEFT_NCHW};
        x.c = channels[test_below(&r, sizeof channels / sizeof *channels)];
        x.w = x.c > 100 ? 1 : test_below(&r, 2) ? 1 + test_below(&r, 9) : 8;
        x.h = 1 + test_below(&r, x.c > 100 ? 2 : 5);
        const size_t most = each / (x.c * x.w * x.h);
        x.n = 1 + test_below(&r, most < 1 ? 1 : most < 60 ? most : 60);
        try_case(ctx, &r, &x);
    }
}

/* So many pixels that blocks share a channel, or so many channels that they share these, or that
 * each block has its own: 264 and 520 on a GPU of 132 multiprocessors. On emu some of them. */
static void shared(weft_context *ctx) {
    static const weft_images images[] = {
        {WEFT_F64, WEFT_NCHW, 5, 1, 64, 52},  {WEFT_F32, WEFT_NCHW, 9, 2, 43, 23},
        {WEFT_F32, WEFT_NHWC, 1, 64, 9, 59},  {WEFT_F16, WEFT_NHWC, 2, 8, 32, 67},
        {WEFT_F64, WEFT_NHWC, 1, 3, 101, 27}, {WEFT_F32, WEFT_NHWC, 1, 2052, 1, 3},
        {WEFT_F32, WEFT_NCHW, 4, 264, 4, 8},  {WEFT_F16, WEFT_NCHW, 2, 520, 8, 4},
    };
    const size_t all = sizeof images / sizeof *images;
    test_random r = test_random_at(2);
#ifdef WEFT_EMU
    const size_t first = test_below(&r, all), count = ctx->kind == WI_CPU ? all : 2;
#else
    const size_t first = 0, count = all;
#endif
    for (size_t k = 0; k < count; k++)
        try_case(ctx, &r, &images[(first + k) % all]);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(drawn), TEST_ON_EACH_PLACE(shared)};
    return cmocka_run_group_tests_name("layers_channels", tests, NULL, NULL);
}
