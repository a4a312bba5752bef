/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of images with a few channels, as the first of a network, for conv's rung ring: they
 * become convolutions of images with whole lines of channels.
 *
 * Forward, and the gradient for weights: what a row of the window meets lies together in memory.
 * So for each pixel of y along its row, and each `stride` rows of x, a line of 64 elements is laid
 * out, and the window is as high as before and one line wide.
 *
 * Gradient for data, pixels of x that lie apart: all classes of pixels at once, a block of x of
 * stride x stride pixels being one pixel with as many channels. */
#ifndef WI_CONV_NARROW_CUH
#define WI_CONV_NARROW_CUH

#include "nn/conv_cuda.cuh"

/* Makes a call whose images have whole lines of channels. */
typedef weft_status wi_conv_runner(weft_context *ctx, const wi_conv_args *a);

/* The call that this one becomes, its arrays left NULL; false if it is to be made as it is. Of f16
 * and bf16. */
bool wi_conv_widen_lines(const wi_conv_args *a, wi_conv_args *wide);

/* Makes it, by way of that. */
weft_status wi_conv_narrow(weft_context *ctx, const wi_conv_args *a, wi_conv_args wide,
                           wi_conv_runner *run);

#endif
