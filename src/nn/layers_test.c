/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of networks, on every place. Forward calls against plain formulas of the test's own;
 * every gradient, those of convolutions too, against central differences of forward calls in f64;
 * and f32 against f64. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/image_at.h"
#include "testing.h"

enum {
    MOST = 6000
};

/* A layer as a function of one array: the loss is the sum of its outputs, each times a weight. */
typedef struct subject {
    weft_context *ctx;
    int kind;
    weft_images x, y;
    double a[MOST], b[MOST], c[MOST], extra[MOST]; /* what the call reads */
    double out[MOST], weight[MOST], gradient[MOST], spare[MOST], mean[MOST], inverse[MOST];
    int32_t label[MOST];
    weft_conv conv;
    weft_pool pool;
    int how;
} subject;

static size_t elements_of(const weft_images *x) {
    return x->n * x->c * x->h * x->w;
}

static void draw(test_random *r, size_t n, double *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = test_unit(r);
}

static void ok(const subject *s, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("kind %d: %s", s->kind, weft_message(s->ctx));
}

static double loss_of(const subject *s, size_t n) {
    double loss = 0;
    for (size_t i = 0; i < n; i++)
        loss += s->out[i] * s->weight[i];
    return loss;
}

/* ---- the layers as functions: forward fills out, and gives how many there are ---- */

typedef size_t forward_call(subject *s);
/* Fills gradient for the array that is varied, from weight in place of dy. */
typedef void backward_call(subject *s);

static size_t conv_forward(subject *s) {
    ok(s, weft_conv_output(s->ctx, &s->x, &s->conv, &s->y));
    ok(s, weft_conv_forward(s->ctx, &s->x, &s->conv, s->a, s->b, s->out));
    return elements_of(&s->y);
}
static void conv_data(subject *s) {
    ok(s, weft_conv_backward_data(s->ctx, &s->x, &s->conv, s->weight, s->b, s->gradient));
}
static void conv_weights(subject *s) {
    ok(s, weft_conv_backward_weights(s->ctx, &s->x, &s->conv, s->a, s->weight, s->gradient));
}

static size_t pool_forward(subject *s) {
    ok(s, weft_pool_output(s->ctx, &s->x, &s->pool, &s->y));
    ok(s, weft_pool_forward(s->ctx, &s->x, &s->pool, s->a, s->out));
    return elements_of(&s->y);
}
static void pool_backward(subject *s) {
    const bool reads = s->pool.kind == WEFT_POOL_MAX;
    ok(s, weft_pool_backward(s->ctx, &s->x, &s->pool, reads ? s->a : NULL, s->weight, s->gradient));
}

static size_t upsample_forward(subject *s) {
    ok(s, weft_upsample_forward(s->ctx, &s->x, (weft_interpolation)s->how, s->y.h, s->y.w, s->a,
                                s->out));
    return elements_of(&s->y);
}
static void upsample_backward(subject *s) {
    ok(s, weft_upsample_backward(s->ctx, &s->x, (weft_interpolation)s->how, s->y.h, s->y.w,
                                 s->weight, s->gradient));
}

static size_t bias_forward(subject *s) {
    ok(s, weft_bias_forward(s->ctx, &s->x, s->a, s->b, s->out));
    return elements_of(&s->x);
}
static void bias_backward(subject *s) {
    ok(s, weft_bias_backward(s->ctx, &s->x, s->weight, s->gradient));
}

static size_t activation_forward(subject *s) {
    const size_t n = elements_of(&s->x);
    ok(s, weft_activation_forward(s->ctx, (weft_activation)s->how, WEFT_F64, n, s->a, s->out));
    return n;
}
static void activation_backward(subject *s) {
    const size_t n = activation_forward(s);
    ok(s, weft_activation_backward(s->ctx, (weft_activation)s->how, WEFT_F64, n, s->out, s->weight,
                                   s->gradient));
}

/* The losses are added up with one weight. */
static size_t loss_forward(subject *s) {
    ok(s, weft_cross_entropy_forward(s->ctx, WEFT_F64, s->x.n, s->x.c, s->a, s->label, s->out));
    for (size_t i = 0; i < s->x.n; i++)
        s->weight[i] = 0.75;
    return s->x.n;
}
static void loss_backward(subject *s) {
    ok(s, weft_cross_entropy_backward(s->ctx, WEFT_F64, s->x.n, s->x.c, 0.75, s->a, s->label,
                                      s->gradient));
}

static size_t norm_forward(subject *s) {
    ok(s, weft_batch_norm_forward(s->ctx, &s->x, 1e-3, 0.1, s->a, s->b, s->c, s->out, s->mean,
                                  s->inverse, NULL, NULL));
    return elements_of(&s->x);
}
static void norm_all(subject *s, double *dx, double *dscale, double *dshift) {
    norm_forward(s);
    ok(s, weft_batch_norm_backward(s->ctx, &s->x, s->a, s->b, s->mean, s->inverse, s->weight, dx,
                                   dscale, dshift));
}
static void norm_data(subject *s) {
    norm_all(s, s->gradient, s->spare, s->extra);
}
static void norm_scale(subject *s) {
    norm_all(s, s->spare, s->gradient, s->extra);
}
static void norm_shift(subject *s) {
    norm_all(s, s->spare, s->extra, s->gradient);
}

/* ---- central differences ---- */

/* d loss / d value[i] for a few i against the gradient. Largest pixels must not change places: a
 * step is far below the distance of any two drawn numbers. */
static void compare(subject *s, test_random *r, forward_call *forward, backward_call *backward,
                    double *value, size_t count) {
    const double step = 1e-6;
    const size_t tries = test_place_is_gpu(weft_place(s->ctx)) ? 4 : 12;
    forward(s);
    backward(s);
    for (size_t k = 0; k < tries && count > 0; k++) {
        const size_t i = test_below(r, count);
        const double before = value[i];
        value[i] = before + step;
        const double above = loss_of(s, forward(s));
        value[i] = before - step;
        const double below = loss_of(s, forward(s));
        value[i] = before;
        const double right = (above - below) / (2 * step);
        if (!(fabs(s->gradient[i] - right) <= 1e-7 * (1 + fabs(right))))
            fail_msg("kind %d, layout %d, %zu x %zu x %zu x %zu: gradient %zu is %.12g, "
                     "differences say %.12g",
                     s->kind, (int)s->x.layout, s->x.n, s->x.c, s->x.h, s->x.w, i, s->gradient[i],
                     right);
    }
}

static void try_conv(subject *s, test_random *r) {
    static const weft_conv convs[] = {
        {.filters = 4, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1},
        {.filters = 6, .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 3, .groups = 2},
        {.filters = 4, .kernel_h = 2, .kernel_w = 2, .stride_h = 3, .stride_w = 3, .groups = 4},
        {.filters = 3, .kernel_h = 2, .kernel_w = 3, .pad_h = 2, .pad_w = 1, .dilation_h = 2},
    };
    s->x.c = 4;
    s->conv = convs[test_below(r, 4)];
    draw(r, MOST, s->a);
    draw(r, MOST, s->b);
    const size_t weights = s->conv.filters * (s->x.c / (s->conv.groups ? s->conv.groups : 1)) *
                           s->conv.kernel_h * s->conv.kernel_w;
    compare(s, r, conv_forward, conv_data, s->a, elements_of(&s->x));
    compare(s, r, conv_forward, conv_weights, s->b, weights);
}

static void try_pool(subject *s, test_random *r) {
    static const weft_pool pools[] = {
        {.kernel_h = 2, .kernel_w = 2},
        {.kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1},
        {.kernel_h = 1, .kernel_w = 2, .stride_h = 3, .stride_w = 1, .pad_w = 1},
        {.kernel_h = 4, .kernel_w = 3, .stride_h = 1, .stride_w = 2, .pad_h = 3, .pad_w = 2},
    };
    s->pool = pools[test_below(r, 4)];
    s->pool.kind = (weft_pooling)test_below(r, 3);
    draw(r, MOST, s->a);
    compare(s, r, pool_forward, pool_backward, s->a, elements_of(&s->x));
}

static void try_upsample(subject *s, test_random *r) {
    s->how = (int)test_below(r, 2);
    s->y = s->x;
    s->y.h = 1 + test_below(r, 13);
    s->y.w = test_below(r, 3) ? 2 * s->x.w : 1 + test_below(r, 9);
    draw(r, MOST, s->a);
    compare(s, r, upsample_forward, upsample_backward, s->a, elements_of(&s->x));
}

static void try_elements(subject *s, test_random *r) {
    s->how = (int)test_below(r, 3);
    draw(r, MOST, s->a);
    compare(s, r, bias_forward, bias_backward, s->b, s->x.c);
    compare(s, r, activation_forward, activation_backward, s->a, elements_of(&s->x));
}

static void try_loss(subject *s, test_random *r) {
    s->x.c = 1 + test_below(r, 40);
    draw(r, MOST, s->a);
    for (size_t i = 0; i < s->x.n; i++)
        s->label[i] = (int32_t)test_below(r, s->x.c);
    compare(s, r, loss_forward, loss_backward, s->a, s->x.n * s->x.c);
}

static void try_norm(subject *s, test_random *r) {
    draw(r, MOST, s->a);
    draw(r, MOST, s->b);
    draw(r, MOST, s->c);
    compare(s, r, norm_forward, norm_data, s->a, elements_of(&s->x));
    compare(s, r, norm_forward, norm_scale, s->b, s->x.c);
    compare(s, r, norm_forward, norm_shift, s->c, s->x.c);
}

static void gradients(weft_context *ctx) {
    static void (*const tries[])(subject * s, test_random * r) = {
        try_conv, try_pool, try_upsample, try_elements, try_loss, try_norm};
    static subject s;
    test_random r = test_random_at(4);
    const size_t rounds = ctx->kind == WI_CPU ? 8 : 2;
    for (size_t k = 0; k < rounds; k++)
        for (size_t kind = 0; kind < sizeof tries / sizeof *tries; kind++)
            for (int layout = WEFT_NCHW; layout <= WEFT_NHWC; layout++) {
                memset(&s, 0, sizeof s);
                s.ctx = ctx;
                s.kind = (int)kind;
                s.x = (weft_images){WEFT_F64,
                                    (weft_layout)layout,
                                    1 + test_below(&r, 4),
                                    1 + test_below(&r, 5),
                                    3 + test_below(&r, 6),
                                    3 + test_below(&r, 6)};
                draw(&r, MOST, s.weight);
                tries[kind](&s, &r);
            }
}

/* ---- forward calls, against plain formulas ---- */

static void near(const char *what, double found, double right, double room) {
    if (!(fabs(found - right) <= room))
        fail_msg("%s: %.17g, should be %.17g", what, found, right);
}

static void pooled(weft_context *ctx) {
    enum {
        N = 2,
        C = 3,
        H = 5,
        W = 4,
        ALL = N * C * H * W,
        KINDS_OF_POOLS = 3
    };
    double x[ALL], y[ALL * 2];
    test_random r = test_random_at(5);
    for (int layout = 0; layout < 2; layout++)
        for (int kind = 0; kind < KINDS_OF_POOLS; kind++) {
            const weft_images in = {WEFT_F64, (weft_layout)layout, N, C, H, W};
            const weft_pool pool = {.kind = (weft_pooling)kind,
                                    .kernel_h = 3,
                                    .kernel_w = 2,
                                    .stride_h = 2,
                                    .stride_w = 1,
                                    .pad_h = 1,
                                    .pad_w = 1};
            weft_images out;
            draw(&r, ALL, x);
            assert_int_equal(weft_pool_output(ctx, &in, &pool, &out), WEFT_OK);
            assert_true(out.h == 3 && out.w == 5 && out.c == C);
            assert_int_equal(weft_pool_forward(ctx, &in, &pool, x, y), WEFT_OK);
            for (size_t i = 0; i < elements_of(&out); i++) {
                const size_t w = i % out.w, h = i / out.w % out.h, c = i / out.w / out.h % C;
                const size_t n = i / out.w / out.h / C;
                double most = -9, sum = 0, count = 0;
                for (size_t s = 2 * h; s < 2 * h + 3; s++)
                    for (size_t t = w; t < w + 2; t++)
                        if (s >= 1 && s - 1 < H && t >= 1 && t - 1 < W) {
                            const double v = x[image_at(&in, n, c, s - 1, t - 1)];
                            most = v > most ? v : most;
                            sum += v;
                            count++;
                        }
                near("pool", y[image_at(&out, n, c, h, w)],
                     kind == 0 ? most : sum / (kind == 1 ? count : 6), 1e-15);
            }
        }
}

/* Ties give to the first, and NaN wins. */
static void pooled_ties(weft_context *ctx) {
    const weft_images in = {WEFT_F32, WEFT_NCHW, 1, 1, 2, 4};
    const weft_pool pool = {.kernel_h = 2, .kernel_w = 2};
    const float x[8] = {1, 3, 2, NAN, 3, 3, 9, 5}, dy[2] = {5, 7};
    const float right[8] = {0, 5, 0, 7, 0, 0, 0, 0};
    float y[2], dx[8];
    assert_int_equal(weft_pool_forward(ctx, &in, &pool, x, y), WEFT_OK);
    assert_true(y[0] == 3 && y[1] != y[1]);
    assert_int_equal(weft_pool_backward(ctx, &in, &pool, x, dy, dx), WEFT_OK);
    assert_memory_equal(dx, right, sizeof right);
}

static void upsampled(weft_context *ctx) {
    enum {
        H = 3,
        W = 2,
        OUT_H = 7,
        OUT_W = 4
    };
    const weft_images in = {WEFT_F64, WEFT_NHWC, 1, 1, H, W};
    double x[H * W], y[OUT_H * OUT_W];
    test_random r = test_random_at(6);
    draw(&r, H * W, x);
    for (int how = 0; how < 2; how++) {
        assert_int_equal(
            weft_upsample_forward(ctx, &in, (weft_interpolation)how, OUT_H, OUT_W, x, y), WEFT_OK);
        for (int p = 0; p < OUT_H; p++)
            for (int q = 0; q < OUT_W; q++) {
                const double down = (p + 0.5) * H / OUT_H, across = (q + 0.5) * W / OUT_W;
                const double v = fmin(fmax(down - 0.5, 0), H - 1);
                const double u = fmin(fmax(across - 0.5, 0), W - 1);
                const int i = (int)v, j = (int)u, k = i + 1 < H ? i + 1 : i,
                          l = j + 1 < W ? j + 1 : j;
                const double a = v - i, b = u - j;
                const double right = (1 - a) * ((1 - b) * x[i * W + j] + b * x[i * W + l]) +
                                     a * ((1 - b) * x[k * W + j] + b * x[k * W + l]);
                near("upsample", y[p * OUT_W + q], how ? right : x[(int)down * W + (int)across],
                     1e-14);
            }
    }
}

static void elements(weft_context *ctx) {
    enum {
        N = 700
    };
    static float x[N], y[N], dy[N], dx[N];
    test_random r = test_random_at(7);
    test_fill(&r, TEST_ANY, WEFT_F32, N, x);
    test_fill(&r, TEST_ANY, WEFT_F32, N, dy);
    x[0] = NAN;
    x[1] = -INFINITY;
    x[2] = INFINITY;
    x[3] = -0.0f;
    for (int kind = WEFT_RELU; kind <= WEFT_TANH; kind++) {
        memcpy(y, x, sizeof x);
        assert_int_equal(weft_activation_forward(ctx, (weft_activation)kind, WEFT_F32, N, y, y),
                         WEFT_OK);
        assert_int_equal(
            weft_activation_backward(ctx, (weft_activation)kind, WEFT_F32, N, y, dy, dx), WEFT_OK);
        assert_true(y[0] != y[0]);
        for (int i = 1; i < N; i++) {
            const double v = (double)x[i], f = (double)y[i];
            const double right = kind == WEFT_RELU      ? fmax(v, 0)
                                 : kind == WEFT_SIGMOID ? 1 / (1 + exp(-v))
                                                        : tanh(v);
            const double slope = kind == WEFT_RELU      ? v > 0
                                 : kind == WEFT_SIGMOID ? f * (1 - f)
                                                        : 1 - f * f;
            if (isfinite(right))
                near("activation", f, right, 3e-7 * (1 + fabs(right)));
            else
                assert_true(f == right);
            near("its gradient", (double)dx[i], slope * (double)dy[i], 1e-6);
            if (kind == WEFT_RELU && !(f > 0))
                assert_true(f == 0 && !signbit(f));
        }
    }
}

static void softmax(weft_context *ctx) {
    enum {
        N = 5,
        CLASSES = 37
    };
    double x[N * CLASSES], y[N * CLASSES], loss[N];
    int32_t label[N];
    test_random r = test_random_at(8);
    for (size_t i = 0; i < N * CLASSES; i++)
        x[i] = 900 * test_unit(&r);
    for (int i = 0; i < N; i++)
        label[i] = (int32_t)(7 * i);
    label[2] = CLASSES;
    assert_int_equal(weft_softmax_forward(ctx, WEFT_F64, N, CLASSES, x, y), WEFT_OK);
    assert_int_equal(weft_cross_entropy_forward(ctx, WEFT_F64, N, CLASSES, x, label, loss),
                     WEFT_OK);
    for (size_t i = 0; i < N; i++) {
        long double most = x[i * CLASSES], sum = 0;
        for (size_t k = 0; k < CLASSES; k++)
            most = x[i * CLASSES + k] > most ? x[i * CLASSES + k] : most;
        for (size_t k = 0; k < CLASSES; k++)
            sum += expl(x[i * CLASSES + k] - most);
        for (size_t k = 0; k < CLASSES; k++)
            near("softmax", y[i * CLASSES + k], (double)(expl(x[i * CLASSES + k] - most) / sum),
                 1e-14);
        if (i == 2)
            assert_true(loss[i] != loss[i]);
        else
            near("loss", loss[i], (double)(logl(sum) + most - x[i * CLASSES + (size_t)label[i]]),
                 1e-11);
    }
}

static void normalised(weft_context *ctx) {
    enum {
        N = 3,
        C = 5,
        H = 4,
        W = 3,
        ALL = N * C * H * W,
        M = N * H * W
    };
    static float x[ALL], y[ALL], z[ALL], scale[C], shift[C], mean[C], inverse[C], running[2][C];
    test_random r = test_random_at(9);
    for (int layout = 0; layout < 2; layout++) {
        const weft_images in = {WEFT_F32, (weft_layout)layout, N, C, H, W};
        for (size_t i = 0; i < ALL; i++)
            x[i] = (float)(1000 + test_unit(&r)); /* far from 0: sums must not cancel */
        for (size_t c = 0; c < C; c++) {
            scale[c] = (float)test_unit(&r);
            shift[c] = (float)test_unit(&r);
            running[0][c] = 3;
            running[1][c] = 4;
        }
        assert_int_equal(weft_batch_norm_forward(ctx, &in, 1e-5, 0.25, x, scale, shift, y, mean,
                                                 inverse, running[0], running[1]),
                         WEFT_OK);
        for (size_t c = 0; c < C; c++) {
            double sum = 0, squares = 0;
            for (size_t i = 0; i < M; i++)
                sum += (double)x[image_at(&in, i / (H * W), c, i / W % H, i % W)];
            for (size_t i = 0; i < M; i++) {
                const double v =
                    (double)x[image_at(&in, i / (H * W), c, i / W % H, i % W)] - sum / M;
                squares += v * v;
            }
            const double root = 1 / sqrt(squares / M + 1e-5);
            near("mean", (double)mean[c], sum / M, 1e-4);
            near("inverse", (double)inverse[c], root, 1e-6 * root);
            near("running mean", (double)running[0][c], 0.75 * 3 + 0.25 * sum / M, 1e-4);
            near("running variance", (double)running[1][c], 0.75 * 4 + 0.25 * squares / (M - 1),
                 1e-6);
            for (size_t i = 0; i < M; i++) {
                const size_t at = image_at(&in, i / (H * W), c, i / W % H, i % W);
                near("y", (double)y[at],
                     ((double)x[at] - sum / M) * root * (double)scale[c] + (double)shift[c], 3e-4);
            }
            running[1][c] = (float)(squares / M);
        }
        assert_int_equal(
            weft_batch_norm_inference(ctx, &in, 1e-5, x, scale, shift, mean, running[1], z),
            WEFT_OK);
        for (size_t i = 0; i < ALL; i++)
            near("inference", (double)z[i], (double)y[i], 1e-5);
    }
}

/* ---- steps ---- */

static void steps(weft_context *ctx) {
    enum {
        N = 333
    };
    static double g[N], w[N], v[N], right[N], velocity[N], first[N], second[N], m[N], u[N];
    const weft_sgd sgd = {.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01};
    const weft_sgd plain = {.rate = 0.5};
    weft_adam adam = {0.01, 0.9, 0.99, 1e-8, 0.1, 1};
    test_random r = test_random_at(10);
    draw(&r, N, w);
    memcpy(right, w, sizeof w);
    for (int k = 0; k < 3; k++, adam.step++) {
        draw(&r, N, g);
        assert_int_equal(weft_sgd_step(ctx, &sgd, WEFT_F64, N, g, w, v), WEFT_OK);
        assert_int_equal(weft_adam_step(ctx, &adam, WEFT_F64, N, g, w, first, second), WEFT_OK);
        assert_int_equal(weft_sgd_step(ctx, &plain, WEFT_F64, N, g, w, NULL), WEFT_OK);
        for (int i = 0; i < N; i++) {
            velocity[i] = 0.9 * velocity[i] + g[i] + 0.01 * right[i];
            right[i] -= 0.1 * velocity[i];
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            u[i] = 0.99 * u[i] + 0.01 * g[i] * g[i];
            const double a = m[i] / (1 - pow(0.9, k + 1)), b = u[i] / (1 - pow(0.99, k + 1));
            right[i] -= 0.01 * (0.1 * right[i] + a / (sqrt(b) + 1e-8));
            right[i] -= 0.5 * g[i];
            near("step", w[i], right[i], 1e-12);
        }
    }
}

/* Sums over many pixels: exact in f64 on whole numbers, in both layouts. */
static void sums(weft_context *ctx) {
    enum {
        N = 9,
        C = 37,
        SIDE = 17,
        ALL = N * C * SIDE * SIDE
    };
    static float dy[ALL], db[C];
    test_random r = test_random_at(11);
    test_fill(&r, TEST_SMALL, WEFT_F32, ALL, dy);
    for (int layout = 0; layout < 2; layout++) {
        const weft_images x = {WEFT_F32, (weft_layout)layout, N, C, SIDE, SIDE};
        assert_int_equal(weft_bias_backward(ctx, &x, dy, db), WEFT_OK);
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (size_t i = 0; i < N * SIDE * SIDE; i++)
                sum += (double)dy[image_at(&x, i / (SIDE * SIDE), c, i / SIDE % SIDE, i % SIDE)];
            near("sum of biases", (double)db[c], sum, 0);
        }
    }
}

/* Arrays in memory of the place that begin anywhere, of any length: the same bits as elsewhere. */
static void anywhere(weft_context *ctx) {
    enum {
        N = 2,
        C = 3,
        PLANE = 7 * 5,
        ALL = N * C * PLANE,
        ARRAYS = 4
    };
    const weft_images x = {WEFT_F32, WEFT_NCHW, N, C, 7, 5};
    const weft_sgd sgd = {.rate = 0.1, .momentum = 0.5, .weight_decay = 0.1};
    static float source[ARRAYS][ALL], right[ARRAYS][ALL], now[ALL];
    test_random r = test_random_at(12);
    for (int k = 0; k < ARRAYS; k++)
        test_fill(&r, TEST_ANY, WEFT_F32, ALL, source[k]);
    for (size_t offset = 0; offset < 3; offset++) {
        test_buffer b[ARRAYS];
        float *p[ARRAYS];
        for (int k = 0; k < ARRAYS; k++) {
            b[k] = test_buffer_open(ctx, ctx->kind == WI_CUDA, sizeof source[k] + 64);
            test_buffer_load(&b[k], source[k], sizeof source[k], k < 2 ? offset * 4 : 0);
            p[k] = (float *)(void *)b[k].p;
        }
        assert_int_equal(weft_activation_backward(ctx, WEFT_TANH, WEFT_F32, ALL, p[0], p[1], p[2]),
                         WEFT_OK);
        assert_int_equal(weft_bias_forward(ctx, &x, p[0], p[1], p[3]), WEFT_OK);
        assert_int_equal(weft_sgd_step(ctx, &sgd, WEFT_F32, ALL, p[2], p[0], p[1]), WEFT_OK);
        for (int k = 0; k < ARRAYS; k++) {
            memcpy(now, test_buffer_read(&b[k], "anywhere"), sizeof now);
            if (offset == 0)
                memcpy(right[k], now, sizeof now);
            assert_memory_equal(now, right[k], sizeof now);
            test_buffer_close(&b[k]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(gradients),   TEST_ON_EACH_PLACE(pooled),
        TEST_ON_EACH_PLACE(pooled_ties), TEST_ON_EACH_PLACE(upsampled),
        TEST_ON_EACH_PLACE(elements),    TEST_ON_EACH_PLACE(softmax),
        TEST_ON_EACH_PLACE(normalised),  TEST_ON_EACH_PLACE(steps),
        TEST_ON_EACH_PLACE(sums),        TEST_ON_EACH_PLACE(anywhere),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
