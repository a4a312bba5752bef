/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of layers on images: pooling, up-sampling, biases, batch normalisation. */
#include <math.h>

#include "nn/layers.h"

static wi_array in_place_of(wi_array array, int other) {
    array.in_place = 1u << other;
    return array;
}

static weft_status check_images(weft_context *ctx, const char *call, const weft_images *x) {
    const weft_status status = wi_check_context(ctx);
    return status == WEFT_OK ? wi_images_check(ctx, call, "x", x) : status;
}

static wi_sampling sampling_of(const weft_images *x, const weft_images *y, int kind) {
    const size_t products = 2 * (y->h > y->w ? y->h : y->w) + 1;
    return (wi_sampling){.x = wi_image_steps_of(x),
                         .y = wi_image_steps_of(y),
                         .height = (int)x->h,
                         .width = (int)x->w,
                         .out_height = (int)y->h,
                         .out_width = (int)y->w,
                         .kind = kind,
                         .part_h = y->h ? 0.5 / (double)y->h : 0,
                         .part_w = y->w ? 0.5 / (double)y->w : 0,
                         .narrow = products * (x->h > x->w ? x->h : x->w) <= UINT32_MAX};
}

/* ---- pooling ---- */

static weft_status check_pad(weft_context *ctx, const char *call, const wi_window *w) {
    if (w->pad < w->kernel)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %zu, not below %s, %zu: a window would have no pixel",
                   call, w->pad_name, w->pad, w->kernel_name, w->kernel);
}

static weft_status check_pool(weft_context *ctx, const char *call, const weft_images *x,
                              const weft_pool *pool, weft_images *y) {
    weft_status status = check_images(ctx, call, x);
    if (status != WEFT_OK)
        return status;
    if (!pool)
        return wi_fail(ctx, WEFT_EARG, "%s: pool is NULL; pass a weft_pool", call);
    if (pool->kind != WEFT_POOL_MAX && pool->kind != WEFT_POOL_AVERAGE &&
        pool->kind != WEFT_POOL_AVERAGE_PADDED)
        return wi_fail(ctx, WEFT_EARG, "%s: kind is %d; pass WEFT_POOL_MAX or another", call,
                       (int)pool->kind);
    const wi_window down = {"kernel_h",     "stride_h",
                            "pad_h",        NULL,
                            pool->kernel_h, pool->stride_h ? pool->stride_h : pool->kernel_h,
                            pool->pad_h,    1};
    const wi_window across = {"kernel_w",     "stride_w",
                              "pad_w",        NULL,
                              pool->kernel_w, pool->stride_w ? pool->stride_w : pool->kernel_w,
                              pool->pad_w,    1};
    status = wi_window_check(ctx, call, &down);
    if (status == WEFT_OK)
        status = wi_window_check(ctx, call, &across);
    if (status == WEFT_OK)
        status = check_pad(ctx, call, &down);
    if (status == WEFT_OK)
        status = check_pad(ctx, call, &across);
    if (status != WEFT_OK)
        return status;
    *y = *x;
    y->h = x->h ? wi_window_count(&down, x->h) : 0;
    y->w = x->w ? wi_window_count(&across, x->w) : 0;
    return wi_images_check(ctx, call, "the result", y);
}

static wi_sampling pooling_of(const weft_images *x, const weft_images *y, const weft_pool *pool) {
    wi_sampling s = sampling_of(x, y, (int)pool->kind);
    s.kernel_h = (int)pool->kernel_h;
    s.kernel_w = (int)pool->kernel_w;
    s.stride_h = (int)(pool->stride_h ? pool->stride_h : pool->kernel_h);
    s.stride_w = (int)(pool->stride_w ? pool->stride_w : pool->kernel_w);
    s.pad_h = (int)pool->pad_h;
    s.pad_w = (int)pool->pad_w;
    return s;
}

weft_status weft_pool_output(weft_context *ctx, const weft_images *x, const weft_pool *pool,
                             weft_images *y) {
    static const char name[] = "weft_pool_output";
    weft_images out;
    const weft_status status = check_pool(ctx, name, x, pool, &out);
    if (status != WEFT_OK)
        return status;
    if (!y)
        return wi_fail(ctx, WEFT_EARG, "%s: y is NULL; pass a weft_images", name);
    *y = out;
    return WEFT_OK;
}

weft_status weft_pool_forward(weft_context *ctx, const weft_images *x, const weft_pool *pool,
                              const void *x_data, void *y) {
    static const char name[] = "weft_pool_forward";
    weft_images out;
    wi_call call;
    const weft_status status = check_pool(ctx, name, x, pool, &out);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_POOL,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(&out),
                          .sampling = pooling_of(x, &out, pool)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, wi_images_array("y", y, &out, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 1);
}

weft_status weft_pool_backward(weft_context *ctx, const weft_images *x, const weft_pool *pool,
                               const void *x_data, const void *dy, void *dx) {
    static const char name[] = "weft_pool_backward";
    weft_images out;
    wi_call call;
    const weft_status status = check_pool(ctx, name, x, pool, &out);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_POOL_BACK,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(x),
                          .sampling = pooling_of(x, &out, pool)};
    const bool reads_x = pool->kind == WEFT_POOL_MAX;
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", reads_x ? x_data : NULL, x,
                                       WI_IN | (reads_x ? 0 : WI_OPTIONAL)));
    wi_call_add(&call, wi_images_array("dy", dy, &out, WI_IN));
    wi_call_add(&call, wi_images_array("dx", dx, x, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 2);
}

/* ---- up-sampling ---- */

static weft_status check_upsample(weft_context *ctx, const char *call, const weft_images *x,
                                  weft_interpolation how, size_t out_h, size_t out_w,
                                  weft_images *y) {
    const weft_status status = check_images(ctx, call, x);
    if (status != WEFT_OK)
        return status;
    if (how != WEFT_NEAREST && how != WEFT_BILINEAR)
        return wi_fail(ctx, WEFT_EARG, "%s: how is %d; pass WEFT_NEAREST or WEFT_BILINEAR", call,
                       (int)how);
    if ((x->h == 0 && out_h > 0) || (x->w == 0 && out_w > 0))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, of images with %zu x %zu pixels; pass 0, as they are empty",
                       call, x->h == 0 ? "out_h" : "out_w", x->h == 0 ? out_h : out_w, x->h, x->w);
    *y = *x;
    y->h = out_h;
    y->w = out_w;
    return wi_images_check(ctx, call, "the result, out_h x out_w,", y);
}

weft_status weft_upsample_forward(weft_context *ctx, const weft_images *x, weft_interpolation how,
                                  size_t out_h, size_t out_w, const void *x_data, void *y) {
    static const char name[] = "weft_upsample_forward";
    weft_images out;
    wi_call call;
    const weft_status status = check_upsample(ctx, name, x, how, out_h, out_w, &out);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_UPSAMPLE,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(&out),
                          .sampling = sampling_of(x, &out, (int)how)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, wi_images_array("y", y, &out, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 1);
}

weft_status weft_upsample_backward(weft_context *ctx, const weft_images *x, weft_interpolation how,
                                   size_t out_h, size_t out_w, const void *dy, void *dx) {
    static const char name[] = "weft_upsample_backward";
    weft_images out;
    wi_call call;
    const weft_status status = check_upsample(ctx, name, x, how, out_h, out_w, &out);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_UPSAMPLE_BACK,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(x),
                          .sampling = sampling_of(x, &out, (int)how)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("dy", dy, &out, WI_IN));
    wi_call_add(&call, wi_images_array("dx", dx, x, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 1);
}

/* ---- biases ---- */

static wi_array channels_of(const char *name, const void *p, const weft_images *x, unsigned use) {
    return wi_elements(name, p, x->c, wi_nn_wide_type(x->type), use);
}

weft_status weft_bias_forward(weft_context *ctx, const weft_images *x, const void *x_data,
                              const void *bias, void *y) {
    static const char name[] = "weft_bias_forward";
    wi_call call;
    const weft_status status = check_images(ctx, name, x);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {
        .layer = WI_LAYER_BIAS, .type = x->type, .in = *x, .n = wi_image_elements(x)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, channels_of("bias", bias, x, WI_IN));
    wi_call_add(&call, in_place_of(wi_images_array("y", y, x, WI_OUT), 0));
    return wi_layer_call(ctx, &call, &args, 2);
}

weft_status weft_bias_backward(weft_context *ctx, const weft_images *x, const void *dy,
                               void *dbias) {
    static const char name[] = "weft_bias_backward";
    wi_call call;
    const weft_status status = check_images(ctx, name, x);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {
        .layer = WI_LAYER_BIAS_BACK, .type = x->type, .in = *x, .n = wi_image_elements(x)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("dy", dy, x, WI_IN));
    wi_call_add(&call, channels_of("dbias", dbias, x, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 1);
}

/* ---- batch normalisation ---- */

static weft_status check_number(weft_context *ctx, const char *call, const char *name, double x,
                                double most) {
    if (x >= 0 && x <= most)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %g; pass a number from 0 to %g", call, name, x, most);
}

weft_status weft_batch_norm_forward(weft_context *ctx, const weft_images *x, double epsilon,
                                    double momentum, const void *x_data, const void *scale,
                                    const void *shift, void *y, void *mean, void *inverse,
                                    void *running_mean, void *running_variance) {
    static const char name[] = "weft_batch_norm_forward";
    wi_call call;
    weft_status status = check_images(ctx, name, x);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "epsilon", epsilon, 1e300);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "momentum", momentum, 1);
    if (status == WEFT_OK && !running_mean != !running_variance)
        status = wi_fail(ctx, WEFT_EARG, "%s: %s is NULL and the other is not; pass both or none",
                         name, running_mean ? "running_variance" : "running_mean");
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_NORM,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(x),
                          .factor = {epsilon, momentum}};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, channels_of("scale", scale, x, WI_IN));
    wi_call_add(&call, channels_of("shift", shift, x, WI_IN));
    wi_call_add(&call, wi_images_array("y", y, x, WI_OUT));
    wi_call_add(&call, channels_of("mean", mean, x, WI_OUT));
    wi_call_add(&call, channels_of("inverse", inverse, x, WI_OUT));
    wi_call_add(&call, channels_of("running_mean", running_mean, x, WI_IN | WI_OUT | WI_OPTIONAL));
    wi_call_add(&call,
                channels_of("running_variance", running_variance, x, WI_IN | WI_OUT | WI_OPTIONAL));
    return wi_layer_call(ctx, &call, &args, 3);
}

weft_status weft_batch_norm_inference(weft_context *ctx, const weft_images *x, double epsilon,
                                      const void *x_data, const void *scale, const void *shift,
                                      const void *mean, const void *variance, void *y) {
    static const char name[] = "weft_batch_norm_inference";
    wi_call call;
    weft_status status = check_images(ctx, name, x);
    if (status == WEFT_OK)
        status = check_number(ctx, name, "epsilon", epsilon, 1e300);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {.layer = WI_LAYER_NORM_INFERENCE,
                          .type = x->type,
                          .in = *x,
                          .n = wi_image_elements(x),
                          .factor = {epsilon}};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, channels_of("scale", scale, x, WI_IN));
    wi_call_add(&call, channels_of("shift", shift, x, WI_IN));
    wi_call_add(&call, channels_of("mean", mean, x, WI_IN));
    wi_call_add(&call, channels_of("variance", variance, x, WI_IN));
    wi_call_add(&call, in_place_of(wi_images_array("y", y, x, WI_OUT), 0));
    return wi_layer_call(ctx, &call, &args, 5);
}

weft_status weft_batch_norm_backward(weft_context *ctx, const weft_images *x, const void *x_data,
                                     const void *scale, const void *mean, const void *inverse,
                                     const void *dy, void *dx, void *dscale, void *dshift) {
    static const char name[] = "weft_batch_norm_backward";
    wi_call call;
    const weft_status status = check_images(ctx, name, x);
    if (status != WEFT_OK)
        return wi_layer_refuse(ctx, name, status);
    wi_layer_args args = {
        .layer = WI_LAYER_NORM_BACK, .type = x->type, .in = *x, .n = wi_image_elements(x)};
    wi_layer_begin(&call, name);
    wi_call_add(&call, wi_images_array("x_data", x_data, x, WI_IN));
    wi_call_add(&call, channels_of("scale", scale, x, WI_IN));
    wi_call_add(&call, channels_of("mean", mean, x, WI_IN));
    wi_call_add(&call, channels_of("inverse", inverse, x, WI_IN));
    wi_call_add(&call, wi_images_array("dy", dy, x, WI_IN));
    wi_call_add(&call, in_place_of(wi_images_array("dx", dx, x, WI_OUT), 4));
    wi_call_add(&call, channels_of("dscale", dscale, x, WI_OUT));
    wi_call_add(&call, channels_of("dshift", dshift, x, WI_OUT));
    return wi_layer_call(ctx, &call, &args, 6);
}
