/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of f16. */
#include "nn/conv_boxes_plan.cuh"
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_f16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring<wi_conv_ring_engine<__half>, __half>(ctx, args);
}

double wi_conv_ring_f16_seconds(const weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_by_ring_seconds<__half>(ctx, args);
}
