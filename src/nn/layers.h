/* SPDX-License-Identifier: Apache-2.0 */
/* Layers other than convolutions inside the library: one checked call as the rungs get it, and the
 * rungs. */
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

/* A layer that adds up over the pixels of each channel runs in two steps where other ranks have
 * pixels of it, too. Two numbers of each channel are between them: of WI_LAYER_NORM the mean, and
 * the sum of squared differences from it; of WI_LAYER_NORM_BACK the sums of dy and of dy (x -
 * mean); of WI_LAYER_BIAS_BACK that of dy. */
typedef enum wi_layer_step {
    WI_LAYER_WHOLE = 0, /* both */
    WI_LAYER_SUMS,      /* writes `sums` of its own pixels, of which there are some */
    WI_LAYER_REST       /* takes `sums` of `pixels`, those of all ranks, a channel */
} wi_layer_step;

/* One checked call on memory that the place can access. */
typedef struct wi_layer_args {
    wi_layer layer;
    wi_layer_step step;
    weft_type type;
    weft_images in;       /* of calls on images */
    size_t n, classes;    /* elements, or rows of so many classes */
    int kind;             /* weft_activation */
    wi_sampling sampling; /* of pooling and up-sampling */
    double factor[WI_LAYER_FACTORS];
    double first_power, second_power; /* 1 - beta^step of Adam */
    void *array[WI_LAYER_ARRAYS];     /* in the order above */
    double *sums, pixels;             /* of a step */
} wi_layer_args;

extern const wi_ladder wi_layers_ladder;

/* Pixels of a channel that sums stand for. */
static inline double wi_layer_pixels(const wi_layer_args *a) {
    return a->step == WI_LAYER_REST ? a->pixels : (double)(a->in.n * a->in.h * a->in.w);
}

/* Begins the description of a call. */
void wi_layer_begin(wi_call *call, const char *name);

/* Ends a public call whose description is complete: checks its arrays and runs it, also over ranks
 * and GPUs, unless array `result` of it has no elements. */
weft_status wi_layer_call(weft_context *ctx, wi_call *call, wi_layer_args *args, int result);

/* Ends one that is refused: over ranks all learn it. */
weft_status wi_layer_refuse(weft_context *ctx, const char *call, weft_status status);

/* Runs a checked call that fills args->array from the arrays of the call; of a step, the last one
 * is `sums`. */
weft_status wi_layer_run(weft_context *ctx, wi_call *call, wi_layer_args *args);

/* The same over ranks, where `status` is what the checks have said; and over GPUs. */
weft_status wi_layer_over_ranks(weft_context *ctx, const wi_call *call, const wi_layer_args *args,
                                int result, weft_status status);
bool wi_layer_wants_gpus(weft_context *ctx, const wi_call *call, const wi_layer_args *args);
weft_status wi_layer_over_gpus(weft_context *ctx, const wi_call *call, const wi_layer_args *args,
                               int result);

/* The rungs. */
weft_status wi_layers_loops(weft_context *ctx, const void *args);
weft_status wi_layers_streams(weft_context *ctx, const void *args);
weft_status wi_layers_ranks(weft_context *ctx, const void *request);

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
