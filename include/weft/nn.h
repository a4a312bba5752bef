/* SPDX-License-Identifier: Apache-2.0 */
/* nn: the layers of convolutional networks, their gradients, and steps of training. A dense layer
 * is a weft_gemm: y = x Wt, dx = dy W, dW = dyt x; or a convolution of images of one pixel,
 * which over ranks needs no exchange but for dW. */
#ifndef WEFT_NN_H
#define WEFT_NN_H

#include "weft/core.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How images lie in memory, without gaps. The index that changes fastest is the last letter:
 * element (image i, channel j, row r, column s) is, for NCHW, ((i c + j) h + r) w + s and, for
 * NHWC, ((i h + r) w + s) c + j. */
typedef enum weft_layout {
    WEFT_NCHW = 0,
    WEFT_NHWC
} weft_layout;

/* A batch of n images of c channels, each of h rows and w columns: f64, f32, f16 or bf16. An image
 * has fewer than 2^31 elements; n, c, h and w may be 0. Of f16 and bf16 all calls compute in f32,
 * or in f64 where they say so, and round results. What stands for many pixels is then f32: numbers
 * of channels (biases, scales, means ...), losses, weights and moments of a step. */
typedef struct weft_images {
    weft_type type;
    weft_layout layout;
    size_t n, c, h, w;
} weft_images;

/* All calls of this header: `x` describes the images that go into the layer, also for gradients.
 * Arrays may be host or device memory, mixed freely; with all of them on the device the call is
 * queued on the context's stream. An array that is written shares no memory with another one,
 * unless the call says so. The same call gives the same bits each time on the same place, whatever
 * the number of threads; there are no atomic additions of floats.
 *
 * Over ranks (place mpi) each passes images, rows or elements of its own, of any number, 0 too:
 * x->n and n may differ, all else is the same on all ranks. Filters, biases and all other numbers
 * of channels are whole on every rank, and must be the same. What sums over images sums over those
 * of all ranks, and all get the result with the same bits: weft_conv_backward_weights,
 * weft_bias_backward, weft_batch_norm_forward and _backward. Each rank sums over its own images as
 * one place does, and keeps that sum in f64 (of weights, in the type of sums); then the ranks' sums
 * are added in f64, in the order of the ranks, and rounded once. On a GPU these calls wait for the
 * device. All others need nothing of other ranks. So training on a batch that is dealt out is the
 * program for one place, under mpirun: each rank steps its own copy of the weights, by the same
 * gradients. The mean of losses is weft_mean of them. */

/* ---- convolutions ---- */

/* How a convolution is computed; combined with |. Of f32 also WEFT_TF32 and WEFT_F32_STRICT of
 * weft/gemm.h, at most one of the two. */
enum {
    WEFT_F32_WEIGHTS = 1 << 8 /* of f16 and bf16: weft_conv_backward_weights writes f32 */
};

/* A convolution. All members that are 0 have a meaning, so that an initializer can leave them out.
 */
typedef struct weft_conv {
    size_t filters;                /* channels of y; at least 1, a multiple of groups */
    size_t kernel_h, kernel_w;     /* rows and columns of a filter; at least 1 */
    size_t stride_h, stride_w;     /* pixels of x from one pixel of y to the next; 0: 1 */
    size_t pad_h, pad_w;           /* rows and columns of zeros added on each of the four sides */
    size_t dilation_h, dilation_w; /* pixels of x from one weight to the next; 0: 1 */
    size_t groups; /* 0: 1. Group g of the filters sees group g of the channels only. As many groups
                      as channels: each channel is filtered by itself (depthwise) */
    unsigned how;  /* WEFT_TF32, WEFT_F32_STRICT, WEFT_F32_WEIGHTS */
} weft_conv;

/* Describes the images that the convolution makes of `x`: filters channels, and
 * (h + 2 pad_h - dilation_h (kernel_h - 1) - 1) / stride_h + 1 rows, 0 if that numerator is below
 * 0; columns likewise. */
WEFT_API weft_status weft_conv_output(weft_context *ctx, const weft_images *x,
                                      const weft_conv *conv, weft_images *y);

/* y(i, k, p, q) = sum over c, r, s of f(k, c, r, s) x(i, g + c, p stride_h - pad_h + r dilation_h,
 * q stride_w - pad_w + s dilation_w), where c counts the channels of the filter's group and g is
 * the group's first. This is a correlation, as networks use it. Pixels outside of x are zeros.
 *
 * f has `filters` filters of C = x->c / groups channels: for NCHW as [filters][C][kernel_h]
 * [kernel_w], for NHWC as [filters][kernel_h][kernel_w][C].
 *
 * Products and sums are those of the type; f32 at full accuracy: the error of a sum of t products
 * is at most about t 2^-24 of the sum of their magnitudes (f64: t 2^-53). WEFT_TF32 allows factors
 * to be cut to 11 significant bits, as weft_gemm has it. Of f16 and bf16 products are exact and
 * sums are f32: that error, on tensor cores twice it, and one rounding of the result. Factors of
 * f16 below 2^-14 may count there as if they were 2^-14. The order of sums is that of the variant,
 * so bits differ between places.
 *
 * A GPU may compute large filters with strides of 1, of f64 and of f32 without WEFT_F32_STRICT, by
 * Fourier transforms of whole planes. The error of a result is then relative to its planes: up to
 * about 2^-23 (f64: 2^-52) log2(pixels) times the sum of |plane of x| |plane of f| over the
 * channels, where |...| is the root of the sum of squares; of gradients with planes of dy in place
 * of those of x or f, over what they sum. NaN and infinity then spread over their plane.
 *
 * On a GPU images of f16, bf16 and, with WEFT_TF32, f32 may be copied to temporary memory first,
 * unless they are NHWC, their channels of a group fill 16 bytes, and they begin at a multiple of
 * 16. */
WEFT_API weft_status weft_conv_forward(weft_context *ctx, const weft_images *x,
                                       const weft_conv *conv, const void *x_data, const void *f,
                                       void *y);

/* The gradient for x, given that for y: dx(i, g + c, h, w) is the sum of f(k, c, r, s)
 * dy(i, k, p, q) over all k of the group, r, s, p and q for which the forward call multiplies
 * f(k, c, r, s) by x(i, g + c, h, w). */
WEFT_API weft_status weft_conv_backward_data(weft_context *ctx, const weft_images *x,
                                             const weft_conv *conv, const void *dy, const void *f,
                                             void *dx);

/* The gradient for f, given that for y: df(k, c, r, s) is the sum over i, p, q of dy(i, k, p, q)
 * times the pixel that the forward call multiplies by f(k, c, r, s) for it. With WEFT_F32_WEIGHTS
 * df is f32, whatever the type of x. */
WEFT_API weft_status weft_conv_backward_weights(weft_context *ctx, const weft_images *x,
                                                const weft_conv *conv, const void *x_data,
                                                const void *dy, void *df);

/* ---- pooling ---- */

typedef enum weft_pooling {
    WEFT_POOL_MAX = 0, /* the largest pixel; NaN if there is one. Those outside x do not count */
    WEFT_POOL_AVERAGE, /* the mean of the pixels that are in x */
    WEFT_POOL_AVERAGE_PADDED /* the same, but pixels outside x count as zeros */
} weft_pooling;

/* Windows of pixels. pad_h < kernel_h and pad_w < kernel_w, so that each window has a pixel of x.
 */
typedef struct weft_pool {
    weft_pooling kind;
    size_t kernel_h, kernel_w; /* of a window; at least 1 */
    size_t stride_h, stride_w; /* from one window to the next; 0: as large as the window */
    size_t pad_h, pad_w;       /* on each of the four sides */
} weft_pool;

/* As weft_conv_output; y has as many channels as x. */
WEFT_API weft_status weft_pool_output(weft_context *ctx, const weft_images *x,
                                      const weft_pool *pool, weft_images *y);

WEFT_API weft_status weft_pool_forward(weft_context *ctx, const weft_images *x,
                                       const weft_pool *pool, const void *x_data, void *y);

/* dx: each pixel gets the sum of what its windows give it. The largest pixel of a window gets the
 * window's dy (of several equal ones the first in the order of rows; NaN counts as larger than all
 * numbers); with averages, each pixel gets dy divided by what the forward call divides by. x_data
 * is read only for WEFT_POOL_MAX, and may else be NULL. */
WEFT_API weft_status weft_pool_backward(weft_context *ctx, const weft_images *x,
                                        const weft_pool *pool, const void *x_data, const void *dy,
                                        void *dx);

/* ---- up-sampling ---- */

typedef enum weft_interpolation {
    WEFT_NEAREST = 0, /* row p of y is row floor((p + 1/2) h / out_h) of x */
    WEFT_BILINEAR     /* at (p + 1/2) h / out_h - 1/2, clamped to 0 ... h - 1, between two rows */
} weft_interpolation;

/* y has x->n images of x->c channels of out_h x out_w pixels: more than x has, or fewer. Columns
 * are treated as rows are. If y has pixels, x must have some. */
WEFT_API weft_status weft_upsample_forward(weft_context *ctx, const weft_images *x,
                                           weft_interpolation how, size_t out_h, size_t out_w,
                                           const void *x_data, void *y);

/* dx: each pixel gets what it contributes to y, times dy, summed row by row. */
WEFT_API weft_status weft_upsample_backward(weft_context *ctx, const weft_images *x,
                                            weft_interpolation how, size_t out_h, size_t out_w,
                                            const void *dy, void *dx);

/* ---- biases and activations ---- */

/* y = x + bias[c] for each pixel of channel c. y may be x_data. */
WEFT_API weft_status weft_bias_forward(weft_context *ctx, const weft_images *x, const void *x_data,
                                       const void *bias, void *y);

/* dbias[c] = the sum of dy over all pixels of channel c, made in f64 and rounded once. bias and
 * dbias have x->c elements of x->type; of f16 and bf16, f32. */
WEFT_API weft_status weft_bias_backward(weft_context *ctx, const weft_images *x, const void *dy,
                                        void *dbias);

typedef enum weft_activation {
    WEFT_RELU = 0, /* x if x > 0, NaN if x is NaN, else +0.0; gradient 1 if y > 0, else 0 */
    WEFT_SIGMOID,  /* 1 / (1 + exp(-x)); gradient y (1 - y) */
    WEFT_TANH      /* gradient 1 - y y */
} weft_activation;

/* y = the activation of n elements of f64, f32, f16 or bf16. y may be x. */
WEFT_API weft_status weft_activation_forward(weft_context *ctx, weft_activation kind,
                                             weft_type type, size_t n, const void *x, void *y);

/* dx = dy times the gradient, which is made of y, the output of the forward call. dx may be dy. */
WEFT_API weft_status weft_activation_backward(weft_context *ctx, weft_activation kind,
                                              weft_type type, size_t n, const void *y,
                                              const void *dy, void *dx);

/* ---- softmax and cross-entropy ---- */

/* Each of the n rows of `classes` elements: y = exp(x) / sum exp(x), computed from x minus the
 * row's largest, so that nothing overflows; sums in f64. y may be x. */
WEFT_API weft_status weft_softmax_forward(weft_context *ctx, weft_type type, size_t n,
                                          size_t classes, const void *x, void *y);

/* The loss of each row: loss[i] = -log softmax(x_i)[label[i]]. Labels from 0 to classes - 1; with
 * another one the loss, and below the row of dx, is NaN. Losses have the type of x; of f16 and
 * bf16, f32. */
WEFT_API weft_status weft_cross_entropy_forward(weft_context *ctx, weft_type type, size_t n,
                                                size_t classes, const void *x, const int32_t *label,
                                                void *loss);

/* dx = scale (softmax(x) - 1 at the label): the gradient of `scale` times the sum of the losses;
 * with scale = 1 / n that of their mean. dx may be x. */
WEFT_API weft_status weft_cross_entropy_backward(weft_context *ctx, weft_type type, size_t n,
                                                 size_t classes, double scale, const void *x,
                                                 const int32_t *label, void *dx);

/* ---- batch normalisation ---- */

/* Training: y = (x - mean[c]) inverse[c] scale[c] + shift[c], with the mean and inverse =
 * 1 / sqrt(variance + epsilon) of the m pixels of channel c in the batch, which are written for the
 * backward call; the variance divides by m. Sums are made in f64. running_mean and running_variance
 * become (1 - momentum) times themselves plus momentum times the batch's mean, and variance times
 * m / (m - 1) (m = 1: the variance, 0); both NULL: none are kept. With m = 0 nothing is written.
 * All vectors have x->c elements of x->type; of f16 and bf16, f32. */
WEFT_API weft_status weft_batch_norm_forward(weft_context *ctx, const weft_images *x,
                                             double epsilon, double momentum, const void *x_data,
                                             const void *scale, const void *shift, void *y,
                                             void *mean, void *inverse, void *running_mean,
                                             void *running_variance);

/* Inference: the same with mean and variance as given. y may be x_data. */
WEFT_API weft_status weft_batch_norm_inference(weft_context *ctx, const weft_images *x,
                                               double epsilon, const void *x_data,
                                               const void *scale, const void *shift,
                                               const void *mean, const void *variance, void *y);

/* Gradients of the training call, with the mean and inverse that it wrote and
 * z = (x - mean[c]) inverse[c]:
 * dshift[c] = sum dy, dscale[c] = sum dy z, dx = scale[c] inverse[c] (dy - (dshift[c] + z
 * dscale[c]) / m). dx may be dy. With m = 0, dscale and dshift are zeros. */
WEFT_API weft_status weft_batch_norm_backward(weft_context *ctx, const weft_images *x,
                                              const void *x_data, const void *scale,
                                              const void *mean, const void *inverse, const void *dy,
                                              void *dx, void *dscale, void *dshift);

/* ---- steps ---- */

typedef struct weft_sgd {
    double rate, momentum, weight_decay;
} weft_sgd;

/* g = gradient + weight_decay w; velocity = momentum velocity + g; w = w - rate velocity, for n
 * elements. Without momentum, velocity may be NULL. `type` is that of the gradient, and of w and
 * velocity too, which of f16 and bf16 are f32: small steps would be lost otherwise. weft_convert
 * (weft/expr.h) rounds the weights for the next forward pass. */
WEFT_API weft_status weft_sgd_step(weft_context *ctx, const weft_sgd *sgd, weft_type type, size_t n,
                                   const void *gradient, void *w, void *velocity);

typedef struct weft_adam {
    double rate, beta1, beta2, epsilon; /* usual: 0.001, 0.9, 0.999, 1e-8 */
    double weight_decay;                /* decoupled from the gradient: w takes off rate times it */
    size_t step;                        /* 1 at the first step, with both moments 0 */
} weft_adam;

/* first = beta1 first + (1 - beta1) gradient; second = beta2 second + (1 - beta2) gradient squared;
 * w = w - rate (weight_decay w + a / (sqrt(b) + epsilon)), with a = first / (1 - beta1^step) and
 * b = second / (1 - beta2^step). Types as for weft_sgd_step. */
WEFT_API weft_status weft_adam_step(weft_context *ctx, const weft_adam *adam, weft_type type,
                                    size_t n, const void *gradient, void *w, void *first,
                                    void *second);

#ifdef __cplusplus
}
#endif
#endif
