/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of bf16. */
#include "nn/conv_boxes_plan.cuh"
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_bf16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring<wi_conv_ring_engine<__nv_bfloat16>, __nv_bfloat16>(ctx, args);
}

double wi_conv_ring_bf16_seconds(const weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring_seconds<__nv_bfloat16>(ctx, args);
}
