/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of networks. The rows at the end name their arguments; "images" stands for five
 * integers: layout, images, channels, rows, columns. The type is that of an array. */
#include "core.h"

static weft_images images_of(const wp_arguments *v, weft_type type) {
    weft_images x = {.type = type,
                     .layout = (weft_layout)v->i[0],
                     .n = (size_t)v->i[1],
                     .c = (size_t)v->i[2],
                     .h = (size_t)v->i[3],
                     .w = (size_t)v->i[4]};
    return x;
}

static weft_conv conv_of(const wp_arguments *v) {
    weft_conv conv = {
        .filters = (size_t)v->i[5],
        .kernel_h = (size_t)v->i[6],
        .kernel_w = (size_t)v->i[7],
        .stride_h = (size_t)v->i[8],
        .stride_w = (size_t)v->i[9],
        .pad_h = (size_t)v->i[10],
        .pad_w = (size_t)v->i[11],
        .dilation_h = (size_t)v->i[12],
        .dilation_w = (size_t)v->i[13],
        .groups = (size_t)v->i[14],
        .how = (unsigned)v->i[15],
    };
    return conv;
}

/* The three calls of a convolution, which take their arrays in the order of the arguments. */
static weft_status convolve(weft_context *ctx, wp_arguments *v,
                            __typeof__(weft_conv_forward) *run) {
    weft_images x = images_of(v, v->a[0].type);
    weft_conv conv = conv_of(v);
    return run(ctx, &x, &conv, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status conv_forward(weft_context *ctx, wp_arguments *v) {
    return convolve(ctx, v, wp.weft_conv_forward);
}

static weft_status conv_backward_data(weft_context *ctx, wp_arguments *v) {
    return convolve(ctx, v, wp.weft_conv_backward_data);
}

static weft_status conv_backward_weights(weft_context *ctx, wp_arguments *v) {
    return convolve(ctx, v, wp.weft_conv_backward_weights);
}

static weft_pool pool_of(const wp_arguments *v) {
    weft_pool pool = {.kind = (weft_pooling)v->i[5],
                      .kernel_h = (size_t)v->i[6],
                      .kernel_w = (size_t)v->i[7],
                      .stride_h = (size_t)v->i[8],
                      .stride_w = (size_t)v->i[9],
                      .pad_h = (size_t)v->i[10],
                      .pad_w = (size_t)v->i[11]};
    return pool;
}

static weft_status pool_forward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    weft_pool pool = pool_of(v);
    return wp.weft_pool_forward(ctx, &x, &pool, v->a[0].p, v->a[1].p);
}

static weft_status pool_backward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[1].type);
    weft_pool pool = pool_of(v);
    return wp.weft_pool_backward(ctx, &x, &pool, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status upsample_forward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_upsample_forward(ctx, &x, (weft_interpolation)v->i[5], (size_t)v->i[6],
                                    (size_t)v->i[7], v->a[0].p, v->a[1].p);
}

static weft_status upsample_backward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_upsample_backward(ctx, &x, (weft_interpolation)v->i[5], (size_t)v->i[6],
                                     (size_t)v->i[7], v->a[0].p, v->a[1].p);
}

static weft_status bias_forward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_bias_forward(ctx, &x, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status bias_backward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_bias_backward(ctx, &x, v->a[0].p, v->a[1].p);
}

static weft_status activation_forward(weft_context *ctx, wp_arguments *v) {
    return wp.weft_activation_forward(ctx, (weft_activation)v->i[0], v->a[0].type, v->a[0].n,
                                      v->a[0].p, v->a[1].p);
}

static weft_status activation_backward(weft_context *ctx, wp_arguments *v) {
    return wp.weft_activation_backward(ctx, (weft_activation)v->i[0], v->a[0].type, v->a[0].n,
                                       v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status softmax(weft_context *ctx, wp_arguments *v) {
    return wp.weft_softmax_forward(ctx, v->a[0].type, (size_t)v->i[0], (size_t)v->i[1], v->a[0].p,
                                   v->a[1].p);
}

static weft_status cross_entropy_forward(weft_context *ctx, wp_arguments *v) {
    return wp.weft_cross_entropy_forward(ctx, v->a[0].type, (size_t)v->i[0], (size_t)v->i[1],
                                         v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status cross_entropy_backward(weft_context *ctx, wp_arguments *v) {
    return wp.weft_cross_entropy_backward(ctx, v->a[0].type, (size_t)v->i[0], (size_t)v->i[1],
                                          v->r[0], v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status batch_norm_forward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_batch_norm_forward(ctx, &x, v->r[0], v->r[1], v->a[0].p, v->a[1].p, v->a[2].p,
                                      v->a[3].p, v->a[4].p, v->a[5].p, v->a[6].p, v->a[7].p);
}

static weft_status batch_norm_inference(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_batch_norm_inference(ctx, &x, v->r[0], v->a[0].p, v->a[1].p, v->a[2].p,
                                        v->a[3].p, v->a[4].p, v->a[5].p);
}

static weft_status batch_norm_backward(weft_context *ctx, wp_arguments *v) {
    weft_images x = images_of(v, v->a[0].type);
    return wp.weft_batch_norm_backward(ctx, &x, v->a[0].p, v->a[1].p, v->a[2].p, v->a[3].p,
                                       v->a[4].p, v->a[5].p, v->a[6].p, v->a[7].p);
}

static weft_status sgd_step(weft_context *ctx, wp_arguments *v) {
    weft_sgd sgd = {.rate = v->r[0], .momentum = v->r[1], .weight_decay = v->r[2]};
    return wp.weft_sgd_step(ctx, &sgd, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].p);
}

static weft_status adam_step(weft_context *ctx, wp_arguments *v) {
    weft_adam adam = {.step = (size_t)v->i[0],
                      .rate = v->r[0],
                      .beta1 = v->r[1],
                      .beta2 = v->r[2],
                      .epsilon = v->r[3],
                      .weight_decay = v->r[4]};
    return wp.weft_adam_step(ctx, &adam, v->a[0].type, v->a[0].n, v->a[0].p, v->a[1].p, v->a[2].p,
                             v->a[3].p);
}

#define IMAGES "iiiii"
#define CONV "iiiiiiiiiii" /* filters, kernel, stride, padding, dilation, groups, how */
#define POOL "iiiiiii"     /* kind, kernel, stride, padding */

const wp_row wp_layer_rows[] = {
    {"conv_forward", IMAGES CONV "aao", conv_forward},                   /* x, f, y */
    {"conv_backward_data", IMAGES CONV "aao", conv_backward_data},       /* dy, f, dx */
    {"conv_backward_weights", IMAGES CONV "aao", conv_backward_weights}, /* x, dy, df */
    {"pool_forward", IMAGES POOL "ao", pool_forward},                    /* x, y */
    {"pool_backward", IMAGES POOL "aao", pool_backward},                 /* x or None, dy, dx */
    {"upsample_forward", IMAGES "iiiao", upsample_forward},    /* how, rows, columns, x, y */
    {"upsample_backward", IMAGES "iiiao", upsample_backward},  /* how, rows, columns, dy, dx */
    {"bias_forward", IMAGES "aao", bias_forward},              /* x, bias, y */
    {"bias_backward", IMAGES "ao", bias_backward},             /* dy, dbias */
    {"activation_forward", "iao", activation_forward},         /* kind, x, y */
    {"activation_backward", "iaao", activation_backward},      /* kind, y, dy, dx */
    {"softmax", "iiao", softmax},                              /* rows, classes, x, y */
    {"cross_entropy_forward", "iiaao", cross_entropy_forward}, /* rows, classes, x, label, loss */
    {"cross_entropy_backward", "iiraao", cross_entropy_backward}, /* ..., scale, x, label, dx */
    /* epsilon, momentum, x, scale, shift, y, mean, inverse, running mean and variance or None */
    {"batch_norm_forward", IMAGES "rraaaooooo", batch_norm_forward},
    {"batch_norm_inference", IMAGES "raaaaao", batch_norm_inference}, /* epsilon, x ... y */
    /* x, scale, mean, inverse, dy, dx, dscale, dshift */
    {"batch_norm_backward", IMAGES "aaaaaooo", batch_norm_backward},
    {"sgd_step", "rrraoo", sgd_step}, /* rate, momentum, decay, gradient, w, velocity or None */
    {"adam_step", "irrrrraooo",
     adam_step}, /* step, rate, betas, epsilon, decay, gradient, w, ... */
    {NULL, NULL, NULL},
};
