/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_LAYERS_H
#define WI_LAYERS_H

#include "core/rows.h"
#include "nn/images.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_LAYER_ARRAYS = 8,
    WI_LAYER_FACTORS = 5
};

/* The layers, and which arrays and factors each has. */
typedef enum wi_layer {
    WI_LAYER_POOL,            /* x, y */
    WI_LAYER_POOL_BACK,       /* x (or NULL), dy, dx */
    WI_LAYER_UPSAMPLE,        /* x, y */
    WI_LAYER_UPSAMPLE_BACK,   /* dy, dx */
    WI_LAYER_BIAS,            /* x, bias, y */
    WI_LAYER_BIAS_BACK,       /* dy, dbias */
    WI_LAYER_ACTIVATION,      /* x, y */
    WI_LAYER_ACTIVATION_BACK, /* y, dy, dx */
    WI_LAYER_SOFTMAX,         /* x, y */
    WI_LAYER_LOSS,            /* x, label, loss */
    WI_LAYER_LOSS_BACK,       /* x, label, dx; scale */
    WI_LAYER_NORM,            /* x, scale, shift, y, mean, inverse, running mean and variance (or
                                 NULL); epsilon, momentum */
    WI_LAYER_NORM_INFERENCE,  /* x, scale, shift, mean, variance, y; epsilon */
    WI_LAYER_NORM_BACK,       /* x, scale, mean, inverse, dy, dx, dscale, dshift */
    WI_LAYER_SGD,             /* gradient, w, velocity (or NULL); rate, momentum, decay */
    WI_LAYER_ADAM             /* gradient, w, first, second; WI_ADAM_RATE ... */
} wi_layer;

enum {
    WI_ADAM_RATE,
    WI_ADAM_BETA1,
    WI_ADAM_BETA2,
    WI_ADAM_EPSILON,
    WI_ADAM_DECAY
};

/* How pixels of y are made of those of x, or the gradient the other way; sizes fit an int. */
typedef struct wi_sampling {
    wi_image_steps x, y;
    int height, width, out_height, out_width;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w; /* of pooling */
    int kind;                                                 /* weft_pooling, weft_interpolation */
    bool narrow;           /* products of up-sampling fit 32 bits */
    double part_h, part_w; /* 1 / (2 out_height), 1 / (2 out_width) */
} wi_sampling;

/* One checked call on memory that the place can access. */
typedef struct wi_layer_args {
    wi_layer layer;
    weft_type type;
    weft_images in;       /* of calls on images */
    size_t n, classes;    /* elements, or rows of so many classes */
    int kind;             /* weft_activation */
    wi_sampling sampling; /* of pooling and up-sampling */
    double factor[WI_LAYER_FACTORS];
    double first_power, second_power; /* 1 - beta^step of Adam */
    void *array[WI_LAYER_ARRAYS];     /* in the order above */
} wi_layer_args;

extern const wi_ladder wi_layers_ladder;

/* Runs a checked call that fills args->array from the arrays of the call. */
weft_status wi_layer_run(weft_context *ctx, wi_call *call, wi_layer_args *args);

/* The rungs. */
weft_status wi_layers_loops(weft_context *ctx, const void *args);
weft_status wi_layers_streams(weft_context *ctx, const void *args);

#ifdef WEFT_CUDA
/* The parts of `streams`. */
weft_status wi_layers_elements(weft_context *ctx, const wi_layer_args *args);
weft_status wi_layers_pixels(weft_context *ctx, const wi_layer_args *args);
weft_status wi_layers_channels(weft_context *ctx, const wi_layer_args *args);
#endif

#ifdef __cplusplus
}
#endif
#endif
