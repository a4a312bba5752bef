/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of f16 and bf16: machine code that is almost the same is compressed together.
 */
#include "nn/conv_boxes_plan.cuh"
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_f16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring<wi_conv_ring_engine<__half>, __half>(ctx, args);
}

double wi_conv_ring_f16_seconds(const weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring_seconds<__half>(ctx, args);
}

weft_status wi_conv_ring_bf16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring<wi_conv_ring_engine<__nv_bfloat16>, __nv_bfloat16>(ctx, args);
}

double wi_conv_ring_bf16_seconds(const weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring_seconds<__nv_bfloat16>(ctx, args);
}
