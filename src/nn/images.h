/* SPDX-License-Identifier: Apache-2.0 */
/* What all layers share: checks of images, and where their elements are. */
#ifndef WI_NN_IMAGES_H
#define WI_NN_IMAGES_H

#include "core/call.h"
#include "weft/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_IMAGES_MOST = 1 << 30 /* of each extent of an image, and of what is done to it */
};

/* Elements from one image, channel, row or column to the next. */
typedef struct wi_image_steps {
    size_t n, c, h, w;
} wi_image_steps;

static inline wi_image_steps wi_image_steps_of(const weft_images *x) {
    if (x->layout == WEFT_NCHW)
        return (wi_image_steps){x->c * x->h * x->w, x->h * x->w, x->w, 1};
    return (wi_image_steps){x->h * x->w * x->c, 1, x->w * x->c, x->c};
}

static inline size_t wi_image_elements(const weft_images *x) {
    return x->n * x->c * x->h * x->w;
}

/* Refuses what is no type of floats. */
weft_status wi_nn_check_type(weft_context *ctx, const char *call, weft_type type);

/* Is it f16 or bf16? */
static inline bool wi_nn_is_half(weft_type type) {
    return type == WEFT_F16 || type == WEFT_BF16;
}

/* Of sums and of numbers that stand for many pixels: f32 for f16 and bf16. */
static inline weft_type wi_nn_wide_type(weft_type type) {
    return wi_nn_is_half(type) ? WEFT_F32 : type;
}

/* Refuses a description that is NULL, has a type or layout that there is not, or images of more
 * than 2^31 - 1 elements, or more in all than memory can hold. `which` names it. */
weft_status wi_images_check(weft_context *ctx, const char *call, const char *which,
                            const weft_images *x);

/* How a window moves along one direction of an image: names of the arguments are for messages. */
typedef struct wi_window {
    const char *kernel_name, *stride_name, *pad_name, *dilation_name;
    size_t kernel, stride, pad, dilation;
} wi_window;

/* Refuses what is 0 or too large. */
weft_status wi_window_check(weft_context *ctx, const char *call, const wi_window *w);

/* How many windows there are in `extent` pixels. */
static inline size_t wi_window_count(const wi_window *w, size_t extent) {
    const size_t reach = w->dilation * (w->kernel - 1) + 1, padded = extent + 2 * w->pad;
    return padded < reach ? 0 : (padded - reach) / w->stride + 1;
}

/* An array of all elements of the images. */
static inline wi_array wi_images_array(const char *name, const void *p, const weft_images *x,
                                       unsigned use) {
    return wi_elements(name, p, wi_image_elements(x), x->type, use);
}

#ifdef __cplusplus
}
#endif
#endif
