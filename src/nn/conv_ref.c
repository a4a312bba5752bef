/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of conv: the definition. The result begins as zeros, and takes in one product
 * after the other, by fused multiply-adds. */
#include <math.h>
#include <string.h>

#include "nn/conv.h"
#include "nn/widen.h"

#define NAME(f) f##_f32
#define REAL float
#define FMA fmaf
#include "nn/conv_ref_loops.inc"

#define NAME(f) f##_f64
#define REAL double
#define FMA fma
#include "nn/conv_ref_loops.inc"

void wi_conv_clear(const wi_conv_args *a) {
    memset(wi_conv_result(a), 0, wi_conv_result_bytes(a));
}

weft_status wi_conv_widened(weft_context *ctx, const wi_conv_args *args,
                            weft_status (*run)(weft_context *ctx, const void *args)) {
    wi_conv_args a = *args;
    wi_widening w = {.type = args->in.type};
    const wi_conv_pass pass = a.pass;
    wi_widening_add(&w, &a.x, wi_image_elements(&a.in), pass == WI_CONV_DATA ? WI_OUT : WI_IN);
    wi_widening_add(&w, &a.y, wi_image_elements(&a.out), pass == WI_CONV_FORWARD ? WI_OUT : WI_IN);
    if (a.f_type != WEFT_F32)
        wi_widening_add(&w, &a.f, a.out.c * wi_conv_weights(&a),
                        pass == WI_CONV_WEIGHTS ? WI_OUT : WI_IN);
    a.in.type = a.out.type = a.f_type = WEFT_F32;
    const weft_status status = wi_widening_begin(ctx, &w);
    return status == WEFT_OK ? wi_widening_end(ctx, &w, run(ctx, &a)) : status;
}

weft_status wi_conv_serial(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    if (wi_nn_is_half(a->in.type))
        return wi_conv_widened(ctx, a, wi_conv_serial);
    wi_conv_clear(a);
    (a->in.type == WEFT_F32 ? convolve_f32 : convolve_f64)(a);
    return WEFT_OK;
}
