/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of f32 cut to tf32, which tensor cores of warp groups take along taps alone;
 * and the choice of the type. */
#include "nn/conv_boxes_plan.cuh"
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_tf32(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring<wi_conv_ring_engine<float>, float>(ctx, args);
}

double wi_conv_ring_tf32_seconds(const weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring_seconds<float>(ctx, args);
}

weft_status wi_conv_ring(weft_context *ctx, const void *arguments) {
    const wi_conv_args *const args = (const wi_conv_args *)arguments;
    switch (args->in.type) {
    case WEFT_F16:
        return wi_conv_ring_f16(ctx, args);
    case WEFT_BF16:
        return wi_conv_ring_bf16(ctx, args);
    default:
        return wi_conv_ring_tf32(ctx, args);
    }
}

double wi_conv_ring_seconds(const weft_context *ctx, const wi_conv_args *args) {
    switch (args->in.type) {
    case WEFT_F16:
        return wi_conv_ring_f16_seconds(ctx, args);
    case WEFT_BF16:
        return wi_conv_ring_bf16_seconds(ctx, args);
    default:
        return wi_conv_ring_tf32_seconds(ctx, args);
    }
}
