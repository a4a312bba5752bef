/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of conv: the definition. The result begins as zeros, and takes in one product
 * after the other, by fused multiply-adds. */
#include <math.h>
#include <string.h>

#include "nn/conv.h"

#define NAME(f) f##_f32
#define REAL float
#define FMA fmaf
#include "nn/conv_ref_loops.inc"

#define NAME(f) f##_f64
#define REAL double
#define FMA fma
#include "nn/conv_ref_loops.inc"

void wi_conv_clear(const wi_conv_args *a) {
    const size_t width = weft_type_size(a->in.type);
    if (a->pass == WI_CONV_FORWARD)
        memset(a->y, 0, wi_image_elements(&a->out) * width);
    else if (a->pass == WI_CONV_DATA)
        memset(a->x, 0, wi_image_elements(&a->in) * width);
    else
        memset(a->f, 0, a->out.c * wi_conv_weights(a) * width);
}

weft_status wi_conv_serial(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    (void)ctx;
    wi_conv_clear(a);
    (a->in.type == WEFT_F32 ? convolve_f32 : convolve_f64)(a);
    return WEFT_OK;
}
