/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what describes images and windows. */
#include "nn/images.h"

#include "core/rows.h"

weft_status wi_nn_check_type(weft_context *ctx, const char *call, weft_type type) {
    const weft_status status = wi_check_type(ctx, call, type);
    if (status != WEFT_OK || WI_TYPE(type) & WI_FLOATS)
        return status;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; there are f64, f32, f16 and bf16", call,
                   weft_type_name(type));
}

static weft_status check_extents(weft_context *ctx, const char *call, const char *which,
                                 const weft_images *x) {
    const size_t extents[] = {x->c, x->h, x->w};
    static const char *const names[] = {"c", "h", "w"};
    size_t image = 1, all;
    for (size_t k = 0; k < sizeof extents / sizeof *extents; k++) {
        if (extents[k] > WI_IMAGES_MOST)
            return wi_fail(ctx, WEFT_EARG, "%s: %s has %s = %zu; at most 2^30 are possible", call,
                           which, names[k], extents[k]);
        if (__builtin_mul_overflow(image, extents[k], &image) || image > INT32_MAX)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: an image of %s has %zu x %zu x %zu elements; split images of 2^31 "
                           "or more",
                           call, which, x->c, x->h, x->w);
    }
    if (__builtin_mul_overflow(image, x->n, &all) || all > PTRDIFF_MAX / sizeof(double))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s has n = %zu images, more than the address space holds", call, which,
                       x->n);
    return WEFT_OK;
}

weft_status wi_images_check(weft_context *ctx, const char *call, const char *which,
                            const weft_images *x) {
    if (!x)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass a weft_images", call, which);
    const weft_status status = wi_nn_check_type(ctx, call, x->type);
    if (status != WEFT_OK)
        return status;
    if (x->layout != WEFT_NCHW && x->layout != WEFT_NHWC)
        return wi_fail(ctx, WEFT_EARG, "%s: layout of %s is %d; pass WEFT_NCHW or WEFT_NHWC", call,
                       which, (int)x->layout);
    return check_extents(ctx, call, which, x);
}

static weft_status check_size(weft_context *ctx, const char *call, const char *name, size_t value,
                              size_t least) {
    if (value >= least && value <= WI_IMAGES_MOST)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %zu; pass %zu to 2^30", call, name, value, least);
}

weft_status wi_window_check(weft_context *ctx, const char *call, const wi_window *w) {
    weft_status status = check_size(ctx, call, w->kernel_name, w->kernel, 1);
    if (status == WEFT_OK)
        status = check_size(ctx, call, w->stride_name, w->stride, 1);
    if (status == WEFT_OK)
        status = check_size(ctx, call, w->pad_name, w->pad, 0);
    if (status == WEFT_OK && w->dilation_name)
        status = check_size(ctx, call, w->dilation_name, w->dilation, 1);
    if (status == WEFT_OK && w->dilation * (w->kernel - 1) >= WI_IMAGES_MOST)
        status =
            wi_fail(ctx, WEFT_EARG, "%s: %s is %zu; its windows reach over 2^30 pixels or more",
                    call, w->kernel_name, w->kernel);
    return status;
}
