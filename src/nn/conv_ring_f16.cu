/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung ring, of f16. */
#include "nn/conv_ring.cuh"

weft_status wi_conv_ring_f16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_ring_engine<__half>, __half>(ctx, args);
}
