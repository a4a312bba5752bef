/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution layers inside the library: one checked call as the rungs get it, and the rungs. */
#ifndef WI_CONV_H
#define WI_CONV_H

#include "core/rows.h"
#include "gemm/gemm.h"
#include "nn/images.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_conv_pass {
    WI_CONV_FORWARD, /* writes y */
    WI_CONV_DATA,    /* writes x */
    WI_CONV_WEIGHTS  /* writes f */
} wi_conv_pass;

/* One checked call on memory that the place can access; what it writes has elements. x, f and y are
 * the arrays or, where the call computes it, their gradients. */
typedef struct wi_conv_args {
    wi_conv_pass pass;
    weft_images in, out;
    weft_type f_type; /* of f: f32 for gradients of weights that are asked for so, else in.type */
    wi_accuracy accuracy; /* of f32 */
    size_t groups, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    void *x, *f, *y;
} wi_conv_args;

extern const wi_ladder wi_conv_ladder;

/* A call as its user makes it, of `args`, which have no arrays. */
typedef struct wi_conv_call {
    const char *name;
    const weft_images *x;
    const weft_conv *conv;
    const wi_conv_args *args;
    const void *first, *second; /* as the public function takes them */
    void *result;
} wi_conv_call;

/* Runs it over ranks; unless `status`, which the checks have said, is WEFT_OK, nothing but its name
 * is valid. And over all GPUs. */
weft_status wi_conv_over_ranks(weft_context *ctx, const wi_conv_call *call, weft_status status);
bool wi_conv_wants_gpus(weft_context *ctx, const wi_conv_call *call);
weft_status wi_conv_over_gpus(weft_context *ctx, const wi_conv_call *call);

/* Channels of x, and filters, of a group. */
static inline size_t wi_conv_channels(const wi_conv_args *a) {
    return a->in.c / a->groups;
}
static inline size_t wi_conv_filters(const wi_conv_args *a) {
    return a->out.c / a->groups;
}

/* Weights of a filter. */
static inline size_t wi_conv_weights(const wi_conv_args *a) {
    return wi_conv_channels(a) * a->kernel_h * a->kernel_w;
}

/* Elements from one filter, channel, row or column of weights to the next. */
static inline wi_image_steps wi_conv_filter_steps(const wi_conv_args *a) {
    const weft_images filters = {a->in.type,          a->in.layout, a->out.c,
                                 wi_conv_channels(a), a->kernel_h,  a->kernel_w};
    return wi_image_steps_of(&filters);
}

/* Additions and multiplications. */
static inline double wi_conv_flops(const wi_conv_args *a) {
    return 2 * (double)a->out.n * (double)a->out.h * (double)a->out.w * (double)a->out.c *
           (double)wi_conv_weights(a);
}

/* Is the matrix of columns (conv_columns.h) the image itself? */
static inline bool wi_conv_is_pointwise(const wi_conv_args *a) {
    return a->kernel_h == 1 && a->kernel_w == 1 && a->stride_h == 1 && a->stride_w == 1 &&
           a->pad_h == 0 && a->pad_w == 0;
}

/* Elements of the result. */
static inline size_t wi_conv_results(const wi_conv_args *a) {
    return a->pass == WI_CONV_FORWARD ? wi_image_elements(&a->out)
           : a->pass == WI_CONV_DATA  ? wi_image_elements(&a->in)
                                      : a->out.c * wi_conv_weights(a);
}
static inline void *wi_conv_result(const wi_conv_args *a) {
    return a->pass == WI_CONV_FORWARD ? a->y : a->pass == WI_CONV_DATA ? a->x : a->f;
}
static inline size_t wi_conv_result_bytes(const wi_conv_args *a) {
    return wi_conv_results(a) * weft_type_size(a->pass == WI_CONV_WEIGHTS ? a->f_type : a->in.type);
}

/* Makes what the call writes zero: on a cpu. */
void wi_conv_clear(const wi_conv_args *a);

/* A call on f16 or bf16 by a cpu's rung for f32: its arrays are widened, and the result is rounded.
 */
weft_status wi_conv_widened(weft_context *ctx, const wi_conv_args *args,
                            weft_status (*run)(weft_context *ctx, const void *args));

/* The rungs. */
weft_status wi_conv_serial(weft_context *ctx, const void *args);
weft_status wi_conv_columns(weft_context *ctx, const void *args);
weft_status wi_conv_direct(weft_context *ctx, const void *args);
weft_status wi_conv_unrolled(weft_context *ctx, const void *args);
weft_status wi_conv_implicit(weft_context *ctx, const void *args);
weft_status wi_conv_depthwise(weft_context *ctx, const void *args);
weft_status wi_conv_tensor(weft_context *ctx, const void *args);
weft_status wi_conv_ring(weft_context *ctx, const void *args);
weft_status wi_conv_ranks(weft_context *ctx, const void *request);

/* What ring is predicted to take where the copy engine gathers; 0 where threads do. */
double wi_conv_ring_seconds(const weft_context *ctx, const wi_conv_args *args);

#ifdef __cplusplus
}
#endif
#endif
