/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of nn for the tests of all calls: with no context, with wrong arguments, and with each
 * of their allocations failed. */
#include <math.h>
#include <stdint.h>

#include "arguments.h"
#include "cases.h"
#include "nn/conv.h"
#include "nn/layers.h"

static const weft_images images = {WEFT_F32, WEFT_NCHW, 1, 2, 4, 4};
static const weft_conv conv = {.filters = 2, .kernel_h = 3, .kernel_w = 3};
static const weft_pool pool = {.kernel_h = 2, .kernel_w = 2};
static const weft_sgd sgd = {.rate = 0.1, .momentum = 0.9};
static const weft_adam adam = {0.001, 0.9, 0.999, 1e-8, 0, 1};

static void without_context(void) {
    float x[64] = {1}, y[64] = {2}, z[64] = {3}, u[4] = {0}, v[4] = {0};
    const int32_t label[1] = {0};
    weft_images out;
    assert_int_equal(weft_conv_output(NULL, &images, &conv, &out), WEFT_EARG);
    assert_int_equal(weft_conv_forward(NULL, &images, &conv, x, z, y), WEFT_EARG);
    assert_int_equal(weft_conv_backward_data(NULL, &images, &conv, y, z, x), WEFT_EARG);
    assert_int_equal(weft_conv_backward_weights(NULL, &images, &conv, x, y, z), WEFT_EARG);
    assert_int_equal(weft_pool_output(NULL, &images, &pool, &out), WEFT_EARG);
    assert_int_equal(weft_pool_forward(NULL, &images, &pool, x, y), WEFT_EARG);
    assert_int_equal(weft_pool_backward(NULL, &images, &pool, x, y, z), WEFT_EARG);
    assert_int_equal(weft_upsample_forward(NULL, &images, WEFT_NEAREST, 4, 4, x, y), WEFT_EARG);
    assert_int_equal(weft_upsample_backward(NULL, &images, WEFT_NEAREST, 4, 4, y, x), WEFT_EARG);
    assert_int_equal(weft_bias_forward(NULL, &images, x, u, y), WEFT_EARG);
    assert_int_equal(weft_bias_backward(NULL, &images, x, u), WEFT_EARG);
    assert_int_equal(weft_activation_forward(NULL, WEFT_RELU, WEFT_F32, 4, x, y), WEFT_EARG);
    assert_int_equal(weft_activation_backward(NULL, WEFT_RELU, WEFT_F32, 4, x, y, z), WEFT_EARG);
    assert_int_equal(weft_softmax_forward(NULL, WEFT_F32, 1, 4, x, y), WEFT_EARG);
    assert_int_equal(weft_cross_entropy_forward(NULL, WEFT_F32, 1, 4, x, label, y), WEFT_EARG);
    assert_int_equal(weft_cross_entropy_backward(NULL, WEFT_F32, 1, 4, 1, x, label, y), WEFT_EARG);
    assert_int_equal(weft_batch_norm_forward(NULL, &images, 0.1, 0, x, u, u, y, v, v, NULL, NULL),
                     WEFT_EARG);
    assert_int_equal(weft_batch_norm_inference(NULL, &images, 0.1, x, u, u, v, v, y), WEFT_EARG);
    assert_int_equal(weft_batch_norm_backward(NULL, &images, x, u, v, v, y, z, u, u), WEFT_EARG);
    assert_int_equal(weft_sgd_step(NULL, &sgd, WEFT_F32, 4, x, y, z), WEFT_EARG);
    assert_int_equal(weft_adam_step(NULL, &adam, WEFT_F32, 4, x, y, z, x), WEFT_EARG);
}

/* ---- wrong arguments ---- */

/* A convolution with one member changed. */
#define BAD_CONV(word, member, value)                                                              \
    do {                                                                                           \
        weft_conv bad = conv;                                                                      \
        bad.member = (value);                                                                      \
        REFUSED("weft_conv_forward", word, weft_conv_forward(ctx, &images, &bad, r.x, r.y, r.z));  \
    } while (0)

/* Images with one member changed. */
#define BAD_IMAGES(word, member, value)                                                            \
    do {                                                                                           \
        weft_images bad = images;                                                                  \
        bad.member = (value);                                                                      \
        REFUSED("weft_conv_forward", word, weft_conv_forward(ctx, &bad, &conv, r.x, r.y, r.z));    \
        REFUSED("weft_pool_forward", word, weft_pool_forward(ctx, &bad, &pool, r.x, r.z));         \
        REFUSED("weft_bias_forward", word, weft_bias_forward(ctx, &bad, r.x, r.y, r.z));           \
    } while (0)

static void convolutions(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_images out;
    REFUSED("weft_conv_forward", "x", weft_conv_forward(ctx, NULL, &conv, r.x, r.y, r.z));
    REFUSED("weft_conv_forward", "conv", weft_conv_forward(ctx, &images, NULL, r.x, r.y, r.z));
    REFUSED("weft_conv_forward", "x_data", weft_conv_forward(ctx, &images, &conv, NULL, r.y, r.z));
    REFUSED("weft_conv_forward", "f", weft_conv_forward(ctx, &images, &conv, r.x, NULL, r.z));
    REFUSED("weft_conv_forward", "y", weft_conv_forward(ctx, &images, &conv, r.x, r.y, NULL));
    REFUSED("weft_conv_forward", "y", weft_conv_forward(ctx, &images, &conv, r.x, r.y, r.x));
    REFUSED("weft_conv_backward_data", "dy",
            weft_conv_backward_data(ctx, &images, &conv, NULL, r.y, r.z));
    REFUSED("weft_conv_backward_data", "dx",
            weft_conv_backward_data(ctx, &images, &conv, r.x, r.y, NULL));
    REFUSED("weft_conv_backward_weights", "df",
            weft_conv_backward_weights(ctx, &images, &conv, r.x, r.y, NULL));
    REFUSED("weft_conv_output", "y", weft_conv_output(ctx, &images, &conv, NULL));
    assert_int_equal(weft_conv_output(ctx, &images, &conv, &out), WEFT_OK);
    assert_true(out.n == 1 && out.c == 2 && out.h == 2 && out.w == 2);
    BAD_CONV("filters", filters, 0);
    BAD_CONV("filters", filters, SIZE_MAX);
    BAD_CONV("kernel_h", kernel_h, 0);
    BAD_CONV("kernel_w", kernel_w, 0);
    BAD_CONV("kernel_w", kernel_w, SIZE_MAX);
    BAD_CONV("stride_h", stride_h, SIZE_MAX);
    BAD_CONV("pad_h", pad_h, SIZE_MAX);
    BAD_CONV("pad_w", pad_w, (size_t)1 << 31);
    BAD_CONV("dilation_w", dilation_w, SIZE_MAX);
    BAD_CONV("kernel_h", dilation_h, (size_t)1 << 30);
    BAD_CONV("groups", groups, 3);
    BAD_CONV("groups", groups, 4);
    BAD_CONV("how", how, 1);
    BAD_CONV("WEFT_TF32", how, WEFT_TF32 | WEFT_F32_STRICT);
    weft_images narrow = images;
    weft_conv bad_how = conv;
    narrow.type = WEFT_BF16;
    bad_how.how = WEFT_TF32;
    REFUSED("weft_conv_backward_data", "WEFT_TF32",
            weft_conv_backward_data(ctx, &narrow, &bad_how, r.x, r.y, r.z));
    narrow.type = WEFT_F64;
    bad_how.how = WEFT_F32_WEIGHTS;
    REFUSED("weft_conv_backward_weights", "WEFT_F32_WEIGHTS",
            weft_conv_backward_weights(ctx, &narrow, &bad_how, r.x, r.y, r.z));
    BAD_IMAGES("layout", layout, (weft_layout)2);
    BAD_IMAGES("n", n, SIZE_MAX);
    BAD_IMAGES("c", c, SIZE_MAX);
    BAD_IMAGES("x", h, (size_t)1 << 30);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        BAD_IMAGES("type", type, bad_types[k]);
    weft_images ints = images;
    ints.type = WEFT_I32;
    test_refused(ctx, weft_conv_forward(ctx, &ints, &conv, r.x, r.y, r.z), WEFT_EUNSUPPORTED,
                 "weft_conv_forward", NULL);
    rig_close(&r);
}

static void pools(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_pool bad = pool;
    weft_images empty = images;
    REFUSED("weft_pool_forward", "pool", weft_pool_forward(ctx, &images, NULL, r.x, r.z));
    REFUSED("weft_pool_output", "y", weft_pool_output(ctx, &images, &pool, NULL));
    REFUSED("weft_pool_backward", "x_data",
            weft_pool_backward(ctx, &images, &pool, NULL, r.y, r.z));
    bad.kind = (weft_pooling)3;
    REFUSED("weft_pool_forward", "kind", weft_pool_forward(ctx, &images, &bad, r.x, r.z));
    bad = pool;
    bad.kernel_w = 0;
    REFUSED("weft_pool_forward", "kernel_w", weft_pool_forward(ctx, &images, &bad, r.x, r.z));
    bad = pool;
    bad.pad_h = 2;
    REFUSED("weft_pool_forward", "pad_h", weft_pool_forward(ctx, &images, &bad, r.x, r.z));
    REFUSED("weft_upsample_forward", "how",
            weft_upsample_forward(ctx, &images, (weft_interpolation)2, 4, 4, r.x, r.z));
    REFUSED("weft_upsample_forward", "out_w",
            weft_upsample_forward(ctx, &images, WEFT_NEAREST, 4, SIZE_MAX, r.x, r.z));
    empty.h = 0;
    REFUSED("weft_upsample_forward", "out_h",
            weft_upsample_forward(ctx, &empty, WEFT_NEAREST, 4, 4, r.x, r.z));
    REFUSED("weft_upsample_backward", "dx",
            weft_upsample_backward(ctx, &images, WEFT_NEAREST, 2, 2, r.x, NULL));
    assert_int_equal(weft_pool_forward(ctx, &empty, &pool, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_upsample_forward(ctx, &empty, WEFT_NEAREST, 0, 4, NULL, NULL), WEFT_OK);
    rig_close(&r);
}

static void rows(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_activation_forward", "kind",
            weft_activation_forward(ctx, (weft_activation)3, WEFT_F32, 4, r.x, r.z));
    REFUSED("weft_activation_forward", "type",
            weft_activation_forward(ctx, WEFT_RELU, bad_types[0], 4, r.x, r.z));
    REFUSED("weft_activation_backward", "dx",
            weft_activation_backward(ctx, WEFT_RELU, WEFT_F32, 4, r.x, r.y, NULL));
    REFUSED("weft_softmax_forward", "classes", weft_softmax_forward(ctx, WEFT_F32, 4, 0, r.x, r.z));
    REFUSED("weft_softmax_forward", "n",
            weft_softmax_forward(ctx, WEFT_F32, SIZE_MAX, 4, r.x, r.z));
    REFUSED("weft_cross_entropy_forward", "label",
            weft_cross_entropy_forward(ctx, WEFT_F32, 4, 4, r.x, NULL, r.z));
    REFUSED("weft_cross_entropy_backward", "dx",
            weft_cross_entropy_backward(ctx, WEFT_F32, 4, 4, 1, r.x, r.y, NULL));
    assert_int_equal(weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, 0, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_softmax_forward(ctx, WEFT_F32, 0, 4, NULL, NULL), WEFT_OK);
    rig_close(&r);
}

static void norms(weft_context *ctx) {
    rig r = rig_open(ctx);
    float *const z = (float *)r.z;
    REFUSED("weft_bias_forward", "bias", weft_bias_forward(ctx, &images, r.x, NULL, r.z));
    REFUSED("weft_bias_backward", "dbias", weft_bias_backward(ctx, &images, r.x, NULL));
    REFUSED("weft_batch_norm_forward", "epsilon",
            weft_batch_norm_forward(ctx, &images, -1, 0, r.x, r.y, r.y + 2, z, z + 32, z + 34, NULL,
                                    NULL));
    REFUSED("weft_batch_norm_forward", "momentum",
            weft_batch_norm_forward(ctx, &images, 0, NAN, r.x, r.y, r.y + 2, z, z + 32, z + 34,
                                    NULL, NULL));
    REFUSED("weft_batch_norm_forward", "running_variance",
            weft_batch_norm_forward(ctx, &images, 0, 0, r.x, r.y, r.y + 2, z, z + 32, z + 34,
                                    z + 36, NULL));
    REFUSED("weft_batch_norm_forward", "inverse",
            weft_batch_norm_forward(ctx, &images, 0, 0, r.x, r.y, r.y + 2, z, z + 32, NULL, NULL,
                                    NULL));
    REFUSED("weft_batch_norm_inference", "variance",
            weft_batch_norm_inference(ctx, &images, 0, r.x, r.y, r.y, r.y, NULL, z));
    REFUSED("weft_batch_norm_backward", "dscale",
            weft_batch_norm_backward(ctx, &images, r.x, r.y, r.y, r.y, r.x, z, NULL, z + 32));
    rig_close(&r);
}

static void steps(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_sgd bad_sgd = sgd;
    weft_adam bad = adam;
    REFUSED("weft_sgd_step", "sgd", weft_sgd_step(ctx, NULL, WEFT_F32, 4, r.x, r.y, r.z));
    REFUSED("weft_sgd_step", "velocity", weft_sgd_step(ctx, &sgd, WEFT_F32, 4, r.x, r.y, NULL));
    bad_sgd.rate = NAN;
    REFUSED("weft_sgd_step", "rate", weft_sgd_step(ctx, &bad_sgd, WEFT_F32, 4, r.x, r.y, r.z));
    REFUSED("weft_adam_step", "adam",
            weft_adam_step(ctx, NULL, WEFT_F32, 4, r.x, r.y, r.z, r.z + 8));
    bad.beta2 = 1;
    REFUSED("weft_adam_step", "beta2",
            weft_adam_step(ctx, &bad, WEFT_F32, 4, r.x, r.y, r.z, r.z + 8));
    bad = adam;
    bad.epsilon = 0;
    REFUSED("weft_adam_step", "epsilon",
            weft_adam_step(ctx, &bad, WEFT_F32, 4, r.x, r.y, r.z, r.z + 8));
    bad = adam;
    bad.step = 0;
    REFUSED("weft_adam_step", "step",
            weft_adam_step(ctx, &bad, WEFT_F32, 4, r.x, r.y, r.z, r.z + 8));
    REFUSED("weft_adam_step", "second",
            weft_adam_step(ctx, &adam, WEFT_F32, 4, r.x, r.y, r.z, NULL));
    rig_close(&r);
}

/* ---- allocations ---- */

/* Images of 4 channels that fill x, as far as 20 x 20 pixels. */
static weft_images images_for(const test_arrays *a) {
    const weft_images x = {WEFT_F32, WEFT_NCHW, a->n / 1600 < 3 ? a->n / 1600 : 3, 4, 20, 20};
    return x;
}

static const weft_conv depthwise = {
    .filters = 4, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .groups = 4};

static weft_status run_forward(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    return weft_conv_forward(ctx, &x, &depthwise, a->x, a->y, a->z);
}

static weft_status run_data(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    return weft_conv_backward_data(ctx, &x, &depthwise, a->x, a->y, a->z);
}

static weft_status run_weights(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    return weft_conv_backward_weights(ctx, &x, &depthwise, a->x, a->y, a->z);
}

static weft_status run_narrow(weft_context *ctx, test_arrays *a) {
    weft_images x = images_for(a);
    x.type = WEFT_BF16;
    return weft_conv_backward_data(ctx, &x, &depthwise, a->x, a->y, a->z);
}

static weft_status run_narrow_pool(weft_context *ctx, test_arrays *a) {
    weft_images x = images_for(a);
    x.type = WEFT_F16;
    return weft_pool_backward(ctx, &x, &pool, a->x, a->y, a->z);
}

static weft_status run_pool(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    return weft_pool_forward(ctx, &x, &pool, a->x, a->z);
}

static weft_status run_bias(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    return weft_bias_backward(ctx, &x, a->x, a->z);
}

static weft_status run_norm(weft_context *ctx, test_arrays *a) {
    const weft_images x = images_for(a);
    const size_t n = 1600 * x.n;
    return weft_batch_norm_forward(ctx, &x, 1e-3, 0, a->x, a->y, a->y + 4, a->z, a->z + n,
                                   a->z + n + 4, NULL, NULL);
}

static weft_status run_activation(weft_context *ctx, test_arrays *a) {
    return weft_activation_forward(ctx, WEFT_RELU, WEFT_F32, a->n, a->x, a->z);
}

static const test_refusal refusals[] = {
    {"nn: convolutions", convolutions},
    {"nn: pools", pools},
    {"nn: rows", rows},
    {"nn: norms", norms},
    {"nn: steps", steps},
};

static const test_call calls[] = {
    {"weft_conv_forward", run_forward, &wi_conv_ladder, NULL},
    {"weft_conv_backward_data", run_data, &wi_conv_ladder, NULL},
    {"weft_conv_backward_weights", run_weights, &wi_conv_ladder, NULL},
    {"weft_conv_backward_data", run_narrow, &wi_conv_ladder, NULL},
    {"weft_pool_forward", run_pool, &wi_layers_ladder, NULL},
    {"weft_pool_backward", run_narrow_pool, &wi_layers_ladder, NULL},
    {"weft_bias_backward", run_bias, &wi_layers_ladder, NULL},
    {"weft_batch_norm_forward", run_norm, &wi_layers_ladder, NULL},
    {"weft_activation_forward", run_activation, &wi_layers_ladder, NULL},
};

const test_cases wi_nn_cases = {.without_context = without_context,
                                .refusals = refusals,
                                .refusal_count = sizeof refusals / sizeof *refusals,
                                .calls = calls,
                                .call_count = sizeof calls / sizeof *calls};
