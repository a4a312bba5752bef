/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of bf16. */
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_bf16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_ring_engine<__nv_bfloat16>, __nv_bfloat16>(ctx, args);
}
