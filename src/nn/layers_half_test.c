/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of f16 and bf16 on every place, against the same calls in f64 on the same numbers:
 * each result is off by one rounding, and by what f32 makes of sums and of exponentials. Arrays
 * begin anywhere. */
#include <math.h>
#include <string.h>

#include "testing.h"

enum {
    MOST = 1000,
    ARRAYS = 4,
    CHANNELS = 16,
    MOST_OFFSET = 2
};

/* A call's arrays: those of the type, and the same numbers in f64. */
typedef struct half_rig {
    weft_context *ctx;
    weft_type type;
    size_t n, offset;
    test_random random;
    test_buffer narrow[ARRAYS];
    double wide[ARRAYS][MOST];
    float channel[8][CHANNELS]; /* numbers of channels are f32 */
    double wide_channel[8][CHANNELS];
} half_rig;

/* Array k: drawn numbers, as the type has them. */
static void fill(half_rig *r, int k, double scale) {
    uint16_t numbers[MOST];
    test_value value[MOST];
    for (size_t i = 0; i < r->n; i++)
        test_store(r->type, numbers, i, (test_value){.f = scale * test_unit(&r->random)});
    test_widen(r->type, r->n, numbers, value);
    for (size_t i = 0; i < r->n; i++)
        r->wide[k][i] = value[i].f;
    test_buffer_load(&r->narrow[k], numbers, r->n * sizeof *numbers, r->offset * sizeof *numbers);
}

static void fill_channels(half_rig *r, int k) {
    for (size_t c = 0; c < CHANNELS; c++) {
        r->channel[k][c] = (float)test_unit(&r->random);
        r->wide_channel[k][c] = (double)r->channel[k][c];
    }
}

static void ok(const half_rig *r, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(r->ctx));
}

/* Array k is `right`, but for one rounding and for `slack`, an error of f32. */
static void same(half_rig *r, const char *what, int k, double slack) {
    const void *const now = test_buffer_read(&r->narrow[k], what);
    for (size_t i = 0; i < r->n; i++) {
        const double found = test_load(r->type, now, i).f, right = r->wide[k][i];
        const double room =
            fabs(right) * test_roundoff(r->type) * 1.01 + test_half_tiny(r->type) + slack;
        if (!(fabs(found - right) <= room))
            fail_msg("%s of %s, n %zu, offset %zu: element %zu is %.9g, should be %.9g", what,
                     test_type_name(r->type), r->n, r->offset, i, found, right);
    }
}

static void same_channels(const half_rig *r, const char *what, int k, size_t count, double slack) {
    for (size_t c = 0; c < count; c++) {
        const double found = (double)r->channel[k][c], right = r->wide_channel[k][c];
        if (!(fabs(found - right) <= slack * (1 + fabs(right))))
            fail_msg("%s of %s: channel %zu is %.9g, should be %.9g", what, test_type_name(r->type),
                     c, found, right);
    }
}

/* ---- the calls ---- */

static void activations(half_rig *r) {
    for (int kind = WEFT_RELU; kind <= WEFT_TANH; kind++) {
        const weft_activation k = (weft_activation)kind;
        fill(r, 0, 3);
        fill(r, 2, 1);
        ok(r, weft_activation_forward(r->ctx, k, r->type, r->n, r->narrow[0].p, r->narrow[1].p));
        ok(r, weft_activation_forward(r->ctx, k, WEFT_F64, r->n, r->wide[0], r->wide[1]));
        same(r, "activation", 1, 1e-6);
        ok(r, weft_activation_backward(r->ctx, k, r->type, r->n, r->narrow[0].p, r->narrow[2].p,
                                       r->narrow[2].p));
        ok(r,
           weft_activation_backward(r->ctx, k, WEFT_F64, r->n, r->wide[0], r->wide[2], r->wide[2]));
        same(r, "gradient of an activation", 2, 3e-6);
    }
}

static void rows(half_rig *r) {
    enum {
        CLASSES = 13
    };
    const size_t all = r->n, n = all / CLASSES;
    int32_t label[MOST];
    float loss[MOST];
    double right[MOST];
    for (size_t i = 0; i < n; i++)
        label[i] = (int32_t)test_below(&r->random, CLASSES);
    r->n = n * CLASSES;
    fill(r, 0, 20);
    ok(r, weft_softmax_forward(r->ctx, r->type, n, CLASSES, r->narrow[0].p, r->narrow[1].p));
    ok(r, weft_softmax_forward(r->ctx, WEFT_F64, n, CLASSES, r->wide[0], r->wide[1]));
    same(r, "softmax", 1, 1e-6);
    ok(r, weft_cross_entropy_forward(r->ctx, r->type, n, CLASSES, r->narrow[0].p, label, loss));
    ok(r, weft_cross_entropy_forward(r->ctx, WEFT_F64, n, CLASSES, r->wide[0], label, right));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)loss[i] - right[i]) <= 1e-5 * (1 + right[i])))
            fail_msg("loss %zu is %g, should be %g", i, (double)loss[i], right[i]);
    ok(r, weft_cross_entropy_backward(r->ctx, r->type, n, CLASSES, 0.5, r->narrow[0].p, label,
                                      r->narrow[0].p));
    ok(r, weft_cross_entropy_backward(r->ctx, WEFT_F64, n, CLASSES, 0.5, r->wide[0], label,
                                      r->wide[0]));
    same(r, "gradient of the loss", 0, 1e-6);
    r->n = all;
}

/* Steps: gradients are of the type, all else is f32. */
static void steps(half_rig *r) {
    static float w[MOST], first[MOST], second[MOST];
    static double wide_w[MOST], wide_first[MOST], wide_second[MOST];
    const weft_sgd sgd = {.rate = 0.1, .momentum = 0.9, .weight_decay = 0.01};
    const weft_sgd plain = {.rate = 0.5};
    const weft_adam adam = {0.01, 0.9, 0.99, 1e-6, 0.1, 3};
    for (size_t i = 0; i < r->n; i++) {
        wide_w[i] = w[i] = (float)test_unit(&r->random);
        wide_first[i] = first[i] = (float)test_unit(&r->random);
        wide_second[i] = second[i] = (float)fabs(test_unit(&r->random));
    }
    fill(r, 0, 1);
    ok(r, weft_sgd_step(r->ctx, &sgd, r->type, r->n, r->narrow[0].p, w, first));
    ok(r, weft_sgd_step(r->ctx, &sgd, WEFT_F64, r->n, r->wide[0], wide_w, wide_first));
    ok(r, weft_sgd_step(r->ctx, &plain, r->type, r->n, r->narrow[0].p, w, NULL));
    ok(r, weft_sgd_step(r->ctx, &plain, WEFT_F64, r->n, r->wide[0], wide_w, NULL));
    ok(r, weft_adam_step(r->ctx, &adam, r->type, r->n, r->narrow[0].p, w, first, second));
    ok(r,
       weft_adam_step(r->ctx, &adam, WEFT_F64, r->n, r->wide[0], wide_w, wide_first, wide_second));
    for (size_t i = 0; i < r->n; i++)
        if (!(fabs((double)w[i] - wide_w[i]) <= 2e-6 &&
              fabs((double)first[i] - wide_first[i]) <= 2e-6 &&
              fabs((double)second[i] - wide_second[i]) <= 2e-6))
            fail_msg("weight %zu is %.9g, should be %.9g", i, (double)w[i], wide_w[i]);
}

static void biases(half_rig *r, weft_images x) {
    weft_images wide = x;
    wide.type = WEFT_F64;
    fill(r, 0, 2);
    fill_channels(r, 0);
    ok(r, weft_bias_backward(r->ctx, &x, r->narrow[0].p, r->channel[1]));
    ok(r, weft_bias_backward(r->ctx, &wide, r->wide[0], r->wide_channel[1]));
    same_channels(r, "gradient of biases", 1, x.c, 1e-7);
    ok(r, weft_bias_forward(r->ctx, &x, r->narrow[0].p, r->channel[0], r->narrow[0].p));
    ok(r, weft_bias_forward(r->ctx, &wide, r->wide[0], r->wide_channel[0], r->wide[0]));
    same(r, "biases", 0, 1e-6);
}

static void norms(half_rig *r, weft_images x) {
    enum {
        SCALE,
        SHIFT,
        MEAN,
        INVERSE,
        RUNNING_MEAN,
        RUNNING_VARIANCE,
        DSCALE,
        DSHIFT
    };
    weft_images wide = x;
    float(*const c)[CHANNELS] = r->channel;
    double(*const w)[CHANNELS] = r->wide_channel;
    wide.type = WEFT_F64;
    fill(r, 0, 2);
    fill(r, 2, 1);
    for (int k = 0; k <= RUNNING_VARIANCE; k++)
        fill_channels(r, k);
    ok(r, weft_batch_norm_forward(r->ctx, &x, 1e-3, 0.25, r->narrow[0].p, c[SCALE], c[SHIFT],
                                  r->narrow[1].p, c[MEAN], c[INVERSE], c[RUNNING_MEAN],
                                  c[RUNNING_VARIANCE]));
    ok(r, weft_batch_norm_forward(r->ctx, &wide, 1e-3, 0.25, r->wide[0], w[SCALE], w[SHIFT],
                                  r->wide[1], w[MEAN], w[INVERSE], w[RUNNING_MEAN],
                                  w[RUNNING_VARIANCE]));
    same(r, "batch normalisation", 1, 1e-5);
    for (int k = MEAN; k <= RUNNING_VARIANCE; k++)
        same_channels(r, "statistics", k, x.c, 1e-6);
    ok(r, weft_batch_norm_backward(r->ctx, &x, r->narrow[0].p, c[SCALE], c[MEAN], c[INVERSE],
                                   r->narrow[2].p, r->narrow[2].p, c[DSCALE], c[DSHIFT]));
    ok(r, weft_batch_norm_backward(r->ctx, &wide, r->wide[0], w[SCALE], w[MEAN], w[INVERSE],
                                   r->wide[2], r->wide[2], w[DSCALE], w[DSHIFT]));
    same(r, "gradient of batch normalisation", 2, 1e-5);
    same_channels(r, "gradient of scales", DSCALE, x.c, 1e-5);
    same_channels(r, "gradient of shifts", DSHIFT, x.c, 1e-5);
    for (size_t k = 0; k < x.c; k++)
        w[MEAN][k] = (double)c[MEAN][k],
        w[RUNNING_VARIANCE][k] = (double)(c[RUNNING_VARIANCE][k] = fabsf(c[SHIFT][k]));
    ok(r, weft_batch_norm_inference(r->ctx, &x, 1e-3, r->narrow[0].p, c[SCALE], c[SHIFT], c[MEAN],
                                    c[RUNNING_VARIANCE], r->narrow[0].p));
    ok(r, weft_batch_norm_inference(r->ctx, &wide, 1e-3, r->wide[0], w[SCALE], w[SHIFT], w[MEAN],
                                    w[RUNNING_VARIANCE], r->wide[0]));
    same(r, "inference", 0, 5e-5);
}

static void halves(weft_context *ctx) {
    static const weft_type types[] = {WEFT_F16, WEFT_BF16};
    static half_rig r;
    memset(&r, 0, sizeof r);
    r.ctx = ctx;
    r.random = test_random_at(21);
    for (int k = 0; k < ARRAYS; k++)
        r.narrow[k] = test_buffer_open(ctx, ctx->kind == WI_CUDA,
                                       (MOST + MOST_OFFSET) * sizeof(uint16_t) + 64);
    for (int turn = 0; turn < 8; turn++) {
        const weft_images x = {types[turn % 2],
                               turn / 2 % 2 ? WEFT_NHWC : WEFT_NCHW,
                               1 + test_below(&r.random, 3),
                               turn / 4 ? 8 : 1 + test_below(&r.random, 11),
                               1 + test_below(&r.random, 6),
                               turn / 4 ? 4 : 1 + test_below(&r.random, 4)};
        r.type = x.type;
        r.n = x.n * x.c * x.h * x.w;
        r.offset = turn / 4 ? 0 : test_below(&r.random, MOST_OFFSET + 1);
        for (int k = 0; k < ARRAYS; k++)
            fill(&r, k, 1);
        activations(&r);
        rows(&r);
        steps(&r);
        biases(&r, x);
        norms(&r, x);
    }
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_close(&r.narrow[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(halves)};
    return cmocka_run_group_tests_name("layers_half", tests, NULL, NULL);
}
